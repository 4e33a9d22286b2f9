"""Runs in files, from which they go on."""
