"""Multilayer perceptrons with scikit-learn's names."""
