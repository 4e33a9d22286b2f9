"""The types of the constructor's parameters that all network estimators share."""

import os
from collections.abc import Sequence
from typing import Any

from linnet._sklearn import Estimator
from linnet.estimators.mlp.settings import Activations
from linnet.fit.checkpoint.checkpoint import Checkpoint
from linnet.fit.loop.optimizers import Optimizer
from linnet.fit.loop.schedules import Schedule


class NetworkParameters(Estimator):
    """The parameters of network estimators, which the docstring of each estimator explains."""

    hidden_layer_sizes: int | Sequence[int] | str
    activation: Activations
    solver: str | Optimizer
    alpha: float | str
    l1: float
    dropout: float | Sequence[float] | str
    weight_decay: float | str
    batch_size: int | str
    learning_rate: str | Schedule
    learning_rate_init: float | str
    max_iter: int | str
    n_iter_no_change: float | str
    tol: float | str
    validation_fraction: float | str
    clip_norm: float | str | None
    random_state: Any
    verbose: int | bool
    checkpoint: str | os.PathLike[str] | Checkpoint | None
    threads: int | None
    initializer: str | Sequence[str] = "glorot_uniform"  # also of models in files that are older than it
