"""The network with the interface of Keras."""
