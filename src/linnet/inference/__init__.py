"""Standard errors, tests and intervals for the coefficients of fitted linear models."""
