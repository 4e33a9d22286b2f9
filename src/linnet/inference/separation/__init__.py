"""Separation: coefficients that may grow for ever."""
