"""The ideas behind the models, as programs that can be run."""
