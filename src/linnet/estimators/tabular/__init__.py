"""Networks for tables: what a practitioner would do by hand."""
