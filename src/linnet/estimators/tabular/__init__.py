"""Networks for tables: ensembles with the preprocessing and calibration that a practitioner would do by hand."""
