"""TabularRegressor: regression on the rows of a table by an ensemble of networks."""

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
    """Regression on the rows of a table: a small ensemble of networks with a practitioner's preprocessing.

    Columns and networks are those of TabularClassifier. Targets are standardised in training, and predictions stay
    within the range of the training targets; counts and positive amounts (loss "poisson" and "gamma") are used as they
    are. `history_` is in units of the standardised target.

    Parameters
    ----------
    loss : str or function, default="squared_error"
        As in MLPRegressor: "squared_error", "absolute_error", "huber", "quantile", "poisson", "negative_binomial",
        "gamma" or a function.
    hidden_layer_sizes : int or sequence of int, default=(128, 128)
        Units of each hidden layer.
    activation : str or Activation, or a sequence of one per hidden layer, default="auto"
        The activation of the hidden layers; "auto" is "gelu", or "silu" for counts and positive amounts.
    solver : str or Optimizer, default="adamw"
        An optimizer by name, or an object such as `linnet.SGD(0.1, momentum=0.9)`.
    weight_decay : float, default=0.02
        Weight decay of AdamW: each step multiplies the weights by 1 - weight_decay times the learning rate.
    alpha, l1 : float, default=0.0
        Strength of the penalties ½ alpha Σ W² and l1 Σ|W|, which are divided by the number of rows.
    dropout : float or sequence of float, default=0.1
        Rate at which hidden units are dropped in training, one for all hidden layers or one per layer.
    batch_size : int, default=128
        Rows per step.
    learning_rate : str or Schedule, default="auto"
        "auto" is one epoch of warm-up and then cosine decay to zero; else a name or a schedule, as in MLPClassifier.
    learning_rate_init : float or "auto", default="auto"
        The highest learning rate; "auto" is 0.02, or 0.012 for counts and positive amounts.
    max_iter : int or "auto", default="auto"
        Epochs; "auto" is 220,000 / rows, but at least 25 and at most 100.
    n_iter_no_change : int or "auto", default="auto"
        Epochs without an improvement after which the training of a network ends; "auto" is a quarter of the epochs of
        `max_iter="auto"`, but at least 8.
    tol : float, default=0.0
        The smallest improvement that counts.
    validation_fraction : float, default=0.125
        Fraction of the rows that each network holds out.
    clip_norm : float, None or "auto", default="auto"
        The largest norm of a gradient, which is scaled down to it; None is no limit. "auto" is None, for counts 1000
        times their mean and for positive amounts 1000, which only diverging steps reach.
    huber_delta : float, default=1.0
        The residual beyond which the Huber loss is linear.
    quantile : float, default=0.5
        The quantile that loss="quantile" predicts, between 0 and 1.
    dispersion : float or "estimate", default="estimate"
        The dispersion of loss="negative_binomial", as in MLPRegressor.
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same seed gives the same bytes for any number of threads.
    verbose : int, default=False
        1 shows a progress bar, 2 prints one line per epoch.
    checkpoint : path, Checkpoint or None, default=None
        The file from which `linnet.resume` continues after a crash: a path, or Checkpoint(path, epochs= or seconds=).
    threads : int or None, default=None
        The largest number of threads; None uses as many as pay off.

    Attributes
    ----------
    dispersion_ : array of shape (targets,) or None
        The dispersion of the residuals; None if the loss has no distribution.
    coefs_, intercepts_ : list of arrays
        The weights (inputs x units) and the biases of each layer of the first network.
    members_ : list of list of Block
        The weights and biases of each layer of each network of the ensemble.
    loss_curve_ : list of float
        The training loss of each epoch.
    validation_scores_ : list of float or None
        The metric that early stopping watches, by epoch.
    history_ : dict of list of float
        All losses and metrics by epoch.
    stop_reason_ : StopReason
        Why training ended.

    Examples
    --------

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
