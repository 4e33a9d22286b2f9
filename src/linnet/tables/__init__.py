"""Tables: reading them, judging their columns, and the models of whole tables."""
