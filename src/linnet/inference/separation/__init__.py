"""Separation: data for which maximum likelihood coefficients are infinite."""
