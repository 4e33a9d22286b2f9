"""Training by gradient steps: the loop, optimizers, schedules, stopping."""

from linnet._lazy import lazily

__getattr__ = lazily(__name__, {"training": ("Epoch", "Plan", "Slice", "Training")})
