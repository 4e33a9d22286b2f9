"""The network: layers, parameters and their initial values."""
