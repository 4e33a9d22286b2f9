"""Data: the users' arrays, sparse matrices and data frames, checked once and passed to the core without copies."""
