"""TabularClassifier: classes of a table's rows."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from linnet.estimators.mlp.classifier import NetworkClassifier
from linnet.estimators.mlp.settings import Activations
from linnet.estimators.tabular.base import TabularEstimator
from linnet.fit.checkpoint.checkpoint import Checkpoint
from linnet.fit.loop.optimizers import Optimizer
from linnet.fit.loop.schedules import Schedule
from linnet.registry import saved


@saved
class TabularClassifier(TabularEstimator, NetworkClassifier):
    """Classes of a table's rows: a small ensemble of networks with what a practitioner would do by hand.

    Numbers are scaled robustly and beside that cut into bins, missing values filled in and marked, levels of text seen
    in three rows or more are columns. Every network holds out another eighth of the rows and keeps the epoch that
    predicts it best; the rows held out calibrate the probabilities. Four networks, two from 100,000 rows on.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int
        Units of each hidden layer.
    activation : str or Activation, or a sequence of one per hidden layer
        Of the hidden layers.
    solver : str or Optimizer
        "adamw" or another optimizer by name, or an object such as `linnet.SGD(0.1, momentum=0.9)`.
    weight_decay : float
        Of AdamW: the fraction of each weight that a step takes away, times the learning rate.
    alpha, l1 : float
        Strength of the penalties ½ alpha Σ W² and l1 Σ|W|, which are divided by the number of rows.
    dropout : float or sequence of float
        Rate at which hidden units are dropped in training, one for all layers or one per layer.
    batch_size : int
        Rows per step.
    learning_rate : str or Schedule
        "auto" is one epoch of warm-up and then a cosine to zero; else a name or a schedule, as in MLPClassifier.
    learning_rate_init : float
        The highest learning rate.
    max_iter : int or "auto"
        Epochs; "auto" is 220,000 / rows, but 25 at least and 100 at most.
    n_iter_no_change : int or "auto"
        Epochs without a gain after which a network is done; "auto" is a quarter of the epochs that `max_iter="auto"`
        would choose, but 8 at least.
    tol : float
        What counts as a gain.
    validation_fraction : float
        Fraction of the rows that each network holds out.
    clip_norm : float or None
        The largest norm of a gradient; None is any.
    label_smoothing : float
        e trains towards (1 - e) t + e / classes.
    class_weight : dict, "balanced" or None
        Weight of each class by its name.
    random_state : int, RandomState, Generator or None
        Seed. The same one gives the same bytes for any number of threads.
    verbose : int
        1 shows a progress bar, 2 one line per epoch.
    checkpoint : path, Checkpoint or None
        Where `linnet.resume` goes on from after a crash: a path, or Checkpoint(path, epochs= or seconds=).
    threads : int or None
        How many may be used; None is all.

    Learned: `classes_`, `members_` (weights and biases of each network), `coefs_` and `intercepts_` (the first one's),
    `loss_curve_`, `validation_scores_`, `history_` (means over the networks) and `stop_reason_`.

    >>> import numpy as np
    >>> from linnet import TabularClassifier
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> model = TabularClassifier(max_iter=20, random_state=0).fit(x, np.abs(x[:, 0]) < 0.5)
    >>> model.predict([[0.1], [0.9]]).tolist()
    [True, False]
    """

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (128, 128),
        activation: Activations = "silu",
        *,
        solver: str | Optimizer = "adamw",
        weight_decay: float = 0.02,
        alpha: float = 0.0,
        l1: float = 0.0,
        dropout: float | Sequence[float] = 0.1,
        batch_size: int = 128,
        learning_rate: str | Schedule = "auto",
        learning_rate_init: float = 0.012,
        max_iter: int | str = "auto",
        n_iter_no_change: float | str = "auto",
        tol: float = 0.0,
        validation_fraction: float = 0.125,
        clip_norm: float | None = None,
        label_smoothing: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
        verbose: int | bool = False,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
        threads: int | None = None,
    ) -> None:
        self._keep(locals())
