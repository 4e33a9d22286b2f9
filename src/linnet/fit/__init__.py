"""HOW it is fitted: optimizers, schedules, the training loop, stopping."""
