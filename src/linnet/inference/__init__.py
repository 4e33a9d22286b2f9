"""Statistical inference for the coefficients of fitted linear models."""
