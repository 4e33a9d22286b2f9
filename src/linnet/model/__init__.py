"""WHAT is fitted: activations, heads, layers, the network they make, its parameters and their first values."""
