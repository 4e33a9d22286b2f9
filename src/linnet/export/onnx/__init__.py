"""Models as computations that other programs run."""
