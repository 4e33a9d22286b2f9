"""The network as users of Keras write it."""
