"""Training runs in files, from which they can be resumed."""
