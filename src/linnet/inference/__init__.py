"""What is known about the coefficients of a fitted linear model."""
