"""Fitting: the training loop with its optimizers and schedules, exact solvers, and checkpoints."""
