"""The estimators: models with `fit` and `predict`."""
