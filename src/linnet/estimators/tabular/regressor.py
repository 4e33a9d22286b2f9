"""TabularRegressor: numbers, counts or amounts of a table's rows."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from linnet.estimators.mlp.regressor import NetworkRegressor
from linnet.estimators.mlp.settings import Activations
from linnet.estimators.tabular.base import TabularEstimator
from linnet.fit.checkpoint.checkpoint import Checkpoint
from linnet.fit.loop.optimizers import Optimizer
from linnet.fit.loop.schedules import Schedule
from linnet.registry import saved


@saved
class TabularRegressor(TabularEstimator, NetworkRegressor):
    """Numbers, counts or amounts of a table's rows: a small ensemble of networks with what a practitioner would do by
    hand.

    Columns and networks are those of TabularClassifier. Targets are standardised in training, and predictions stay
    within the range seen; those of counts and amounts (loss "poisson" and "gamma") keep their unit.

    Parameters
    ----------
    loss : str or function
        As in MLPRegressor: "squared_error", "absolute_error", "huber", "quantile", "poisson", "negative_binomial",
        "gamma" or a function.
    hidden_layer_sizes : int or sequence of int
        Units of each hidden layer.
    activation : str or Activation, or a sequence of one per hidden layer
        Of the hidden layers; "auto" is "gelu", for counts and amounts "silu".
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
    learning_rate_init : float or "auto"
        The highest learning rate; "auto" is 0.02, for counts and amounts 0.012.
    max_iter : int or "auto"
        Epochs; "auto" is 220,000 / rows, but 25 at least and 100 at most.
    n_iter_no_change : int or "auto"
        Epochs without a gain after which a network is done; "auto" is a quarter of the epochs that `max_iter="auto"`
        would choose, but 8 at least.
    tol : float
        What counts as a gain.
    validation_fraction : float
        Fraction of the rows that each network holds out.
    clip_norm : float, None or "auto"
        The largest norm of a gradient; None is any. "auto" is None, for counts 1000 times their mean and for amounts
        1000, which only steps that run away reach.
    huber_delta : float
        Where the Huber loss becomes linear.
    quantile : float
        Which one loss="quantile" predicts.
    dispersion : float or "estimate"
        Of loss="negative_binomial", as in MLPRegressor.
    random_state : int, RandomState, Generator or None
        Seed. The same one gives the same bytes for any number of threads.
    verbose : int
        1 shows a progress bar, 2 one line per epoch.
    checkpoint : path, Checkpoint or None
        Where `linnet.resume` goes on from after a crash: a path, or Checkpoint(path, epochs= or seconds=).
    threads : int or None
        How many may be used; None is all.

    Learned: `members_` (weights and biases of each network), `coefs_` and `intercepts_` (the first one's),
    `loss_curve_`, `validation_scores_`, `history_` (means over the networks, for numbers in units of the standardised
    target) and `stop_reason_`.

    >>> import numpy as np
    >>> from linnet import TabularRegressor
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> model = TabularRegressor(max_iter=20, random_state=0).fit(x, 1e6 * x[:, 0] ** 2)
    >>> bool(model.score(x, 1e6 * x[:, 0] ** 2) > 0.9)
    True
    """

    def __init__(
        self,
        loss: str | Callable[[Any, Any], Any] = "squared_error",
        hidden_layer_sizes: int | Sequence[int] = (128, 128),
        activation: Activations = "auto",
        *,
        solver: str | Optimizer = "adamw",
        weight_decay: float = 0.02,
        alpha: float = 0.0,
        l1: float = 0.0,
        dropout: float | Sequence[float] = 0.1,
        batch_size: int = 128,
        learning_rate: str | Schedule = "auto",
        learning_rate_init: float | str = "auto",
        max_iter: int | str = "auto",
        n_iter_no_change: float | str = "auto",
        tol: float = 0.0,
        validation_fraction: float = 0.125,
        clip_norm: float | str | None = "auto",
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        dispersion: float | str = "estimate",
        random_state: Any = None,
        verbose: int | bool = False,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
        threads: int | None = None,
    ) -> None:
        self._keep(locals())
