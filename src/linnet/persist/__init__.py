"""Model files: data only, whole or refused."""
