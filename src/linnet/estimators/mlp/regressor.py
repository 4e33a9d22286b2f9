"""MLPRegressor: scikit-learn's multilayer perceptron for regression, on linnet's engine and with extensions."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Regressor, available_if, r_squared
from linnet.arrays import ArrayLike, Table, Targets
from linnet.checks import check_random
from linnet.errors import ConfigError, unknown_name
from linnet.estimators.inputs import EvalSet, one_target
from linnet.estimators.mlp.base import NetworkEstimator
from linnet.estimators.mlp.preset import PresetEstimator, has_partial_fit
from linnet.estimators.mlp.problem import Metrics
from linnet.estimators.mlp.settings import Activations, Settings
from linnet.estimators.mlp.targets import NumberTargets
from linnet.fit.checkpoint.checkpoint import Checkpoint
from linnet.fit.loop.optimizers import Optimizer
from linnet.fit.loop.schedules import Schedule
from linnet.heads import Custom, Floats, Head, heads_by_loss, losses_with
from linnet.registry import saved
from linnet.theory import graph

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs


class NetworkRegressor(Regressor, NetworkEstimator):
    """The base class of networks for regression."""

    loss: str | Callable[[Any, Any], Any]
    huber_delta: float
    quantile: float
    dispersion: float | str
    dispersion_: Floats | None
    _one_target: bool

    def fit(
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: EvalSet | None = None,
        eval_metric: Metrics = None,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        eval_offset: ArrayLike | None = None,
        eval_exposure: ArrayLike | None = None,
    ) -> Self:
        """Train the model; if that fails, it stays as it was.

        With early_stopping=True, training ends when the first metric (by default R² for squared error, else the loss)
        has not improved for `n_iter_no_change` epochs, and the best parameters are kept. Without `eval_set`, early
        stopping holds out a fraction of the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,) or (rows, targets)
            The targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        eval_set : (X, y) or (X, y, sample_weight), default=None
            Rows to evaluate after every epoch.
        eval_metric : str, NamedMetric, function, or a sequence of these, default=None
            The metrics of the evaluation: names such as "loss", "r2", "rmse" or "mae", or functions of the targets and
            the predictions.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.
        eval_offset, eval_exposure : arrays, default=None
            The offset and the exposure of the rows of `eval_set`.

        Returns
        -------
        self
            The fitted model.
        """
        options = {"eval_set": eval_set, "eval_metric": eval_metric, "offset": offset, "exposure": exposure}
        options |= {"eval_offset": eval_offset, "eval_exposure": eval_exposure}
        return self._fit(X, y, sample_weight, **options)

    def predict(
        self, X: Table, *, offset: ArrayLike | None = None, exposure: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the prediction for each row: the mean, or for loss="quantile" the quantile.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        array of shape (rows,) or (rows, targets)
            The predictions, in the shape of the y of the fit.
        """
        return self._flat(self._output(X, offset, exposure).astype(np.float64))

    def score(
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """Return R² of the predictions.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        y : array of shape (rows,) or (rows, targets)
            Their targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        float
            R², at most 1, averaged over the targets.
        """
        return r_squared(y, self.predict(X, offset=offset, exposure=exposure), sample_weight)

    def predict_interval(
        self, X: Table, level: float = 0.95, *, offset: ArrayLike | None = None, exposure: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of the interval that contains a new row's target with probability `level`.

        The interval is that of the distribution that belongs to the loss, with the dispersion of the residuals: those
        of the validation rows if there were any, else those of the training rows, which a flexible network overfits.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        level : float, default=0.95
            The probability, between 0 and 1.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        low, high : arrays of shape (rows,) or (rows, targets)
            The lower and upper ends.
        """
        mean = self._output(X, offset, exposure).astype(np.float64)
        head, spread = self.target_distribution()
        low, high = head.interval(mean, spread, level)
        return self._flat(low), self._flat(high)

    def sample(
        self, X: Table, random_state: Any = None, *, offset: ArrayLike | None = None, exposure: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Return a target for each row, drawn from the predicted distribution.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        random_state : int, RandomState, Generator or None, default=None
            Source of random numbers; None uses NumPy's global one.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        array of shape (rows,) or (rows, targets)
            The drawn targets.
        """
        mean = self._output(X, offset, exposure).astype(np.float64)
        head, spread = self.target_distribution()
        return self._flat(head.draw(mean, spread, check_random(random_state)))

    # ---- internals ----

    def _settings(self) -> Settings:
        for kind in heads_by_loss().values():  # parameters of other losses are checked, too
            kind.of_regressor(self._params)
        return super()._settings()

    def _learn_targets(self, y: object, rows: int, classes: Any = None) -> tuple[NumberTargets, Mapping[str, Any]]:
        target = one_target(y)
        targets = NumberTargets(self._head(), 1 if target.ndim == 1 else target.shape[1], target.ndim == 1)
        return targets, targets.checked(target, rows, "y")

    @property
    def _targets(self) -> NumberTargets:
        return NumberTargets(self._head(), self.n_outputs_, self._one_target)

    def _head(self) -> Head:
        if callable(self.loss):
            return Custom(_Differentiated(self.loss))
        heads = heads_by_loss()
        if not isinstance(self.loss, str) or self.loss not in heads:
            raise unknown_name("loss", self.loss, heads)
        return heads[self.loss].of_regressor(self._params)

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        return {"variable": self._current().graph(inputs)[1]}

    def target_distribution(self) -> tuple[Head, Floats]:
        """Return the fitted head and the dispersion around its means.

        Returns
        -------
        head : Head
            The distribution of the targets.
        dispersion : array of shape (targets,)
            The dispersion parameter of each target.
        """
        return self._predictor.network.head, self._spread()

    def _spread(self) -> Floats:
        if not hasattr(self, "dispersion_"):
            raise ConfigError("the dispersion of the targets is not known before training has ended")
        if self.dispersion_ is None:
            losses = losses_with(lambda kind: kind.has_distribution())
            raise ConfigError(f"loss={self.loss!r} has no distribution: use {losses}")
        return self.dispersion_

    def _flat(self, values: NDArray[Any]) -> NDArray[Any]:
        return values[:, 0] if self._one_target else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = isinstance(self.loss, str) and self._head().positive_only
        return tags


@saved
class MLPRegressor(PresetEstimator, NetworkRegressor):
    """A multilayer perceptron for regression: numbers, counts and positive amounts.

    Minimises (1/n) (Σ_i w_i loss_i + ½ alpha Σ W² + l1 Σ|W|) with n = Σ_i w_i. With several targets the loss of a row
    is the sum over them:

    | loss | loss of a row, r = prediction - t | prediction |
    |---|---|---|
    | squared_error | r² / 2 | mean |
    | absolute_error | abs(r) | median |
    | huber | r² / 2 up to `huber_delta`, then linear | a mean that is robust to outliers |
    | quantile | max((1 - q) r, -q r), q = `quantile` | the q-quantile |
    | poisson | e^z - t z | e^z, the mean of a count |
    | negative_binomial | (t + 1/d) log(1 + d e^z) - t z | e^z, the mean of a count of variance mean + d mean² |
    | gamma | t e^-z + z | e^z, the mean of a positive amount |
    | a function | f(y, t) in plain NumPy, of predictions and targets | z |

    A function such as `loss=lambda y, t: np.log(np.cosh(y - t))` is differentiated by `linnet.theory.graph`. Its
    arguments are arrays of shape (rows, targets), which it must not change; it returns that shape or one number per
    row.

    "auto" is scikit-learn's default, or with `preset="tabular"` the default of `TabularRegressor`, which also
    standardises targets in training and keeps predictions within their range; any other value is used as it is.

    Parameters
    ----------
    loss : str or function, default="squared_error"
        One of the table above.
    hidden_layer_sizes : int or sequence of int, default="auto"
        Units of each hidden layer.
    activation : str or Activation, or a sequence of one per hidden layer, default="auto"
        The activation of the hidden layers, such as "relu", "tanh", "silu" or "gelu".
    solver : str or Optimizer, default="auto"
        "adam", "adamw", "sgd", "rmsprop", "adagrad", "lbfgs" (full batch, no epochs), or an optimizer object such as
        `linnet.SGD(0.1, momentum=0.9)`.
    alpha : float, default="auto"
        Strength of the penalty ½ alpha Σ W².
    batch_size : int, default="auto"
        Rows per step.
    learning_rate : str or Schedule, default="auto"
        "constant", "invscaling", "adaptive", "cosine", "exponential", "step", or a schedule object.
    learning_rate_init : float, default="auto"
        The initial learning rate.
    power_t : float, default=0.5
        Exponent of learning_rate="invscaling".
    max_iter : int, default="auto"
        The largest number of epochs, or of iterations of "lbfgs".
    shuffle : bool, default=True
        Whether rows are shuffled in each epoch.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial weights and of shuffling. The same seed gives the same bytes for any number of threads.
    tol : float, default="auto"
        The smallest improvement of the loss or metric that counts; for "lbfgs", the largest entry of the gradient at
        the end.
    verbose : int, default=False
        1 shows a progress bar, 2 prints one line per epoch.
    warm_start : bool, default=False
        Whether a fit starts from the parameters of the previous one.
    momentum : float, default=0.9
        Momentum of "sgd".
    nesterovs_momentum : bool, default=True
        Whether "sgd" uses Nesterov's momentum.
    early_stopping : bool, default=False
        Whether training ends when a validation metric stops improving: see `fit`.
    validation_fraction : float, default="auto"
        Fraction of the rows that early stopping holds out.
    beta_1, beta_2 : float, default=0.9 and 0.999
        Decay rates of the moments of "adam" and "adamw".
    epsilon : float, default=1e-8
        Added to the denominator of "adam" and "adamw".
    n_iter_no_change : int or inf, default="auto"
        Epochs without an improvement after which training ends.
    max_fun : int, default=15000
        The largest number of evaluations of the objective by "lbfgs".
    dropout : float or sequence of float, default="auto"
        Rate at which hidden units are dropped in training, one for all hidden layers or one per layer.
    l1 : float, default=0.0
        Strength of the penalty l1 Σ|W|.
    weight_decay : float, default="auto"
        Weight decay of "adamw".
    clip_norm : float or None, default="auto"
        The largest norm of a gradient, which is scaled down to it; None is no limit.
    huber_delta : float, default=1.0
        The residual beyond which the Huber loss is linear.
    quantile : float, default=0.5
        The quantile that loss="quantile" predicts, between 0 and 1.
    dispersion : float or "estimate", default="estimate"
        d of loss="negative_binomial"; "estimate" is its maximum likelihood estimate, updated after every epoch.
    checkpoint : path, Checkpoint or None, default=None
        The file from which `linnet.resume` continues after a crash: a path, or Checkpoint(path, epochs= or seconds=).
    preset : {"tabular"} or None, default=None
        Where the defaults and the training procedure come from: see above.
    threads : int or None, default=None
        The largest number of threads; None uses as many as pay off.
    initializer : str, or a sequence of one per layer, default="glorot_uniform"
        How the weights start: "uniform" (within ±1/sqrt(inputs)), "glorot_uniform", "glorot_normal", "he_uniform",
        "he_normal", or "zeros", with which hidden units stay equal. Biases start at 0.

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
    """

    def __init__(
        self,
        loss: str | Callable[[Any, Any], Any] = "squared_error",
        hidden_layer_sizes: int | Sequence[int] | str = "auto",
        activation: Activations = "auto",
        *,
        solver: str | Optimizer = "auto",
        alpha: float | str = "auto",
        batch_size: int | str = "auto",
        learning_rate: str | Schedule = "auto",
        learning_rate_init: float | str = "auto",
        power_t: float = 0.5,
        max_iter: int | str = "auto",
        shuffle: bool = True,
        random_state: Any = None,
        tol: float | str = "auto",
        verbose: int | bool = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float | str = "auto",
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: float | str = "auto",
        max_fun: int = 15000,
        dropout: float | Sequence[float] | str = "auto",
        l1: float = 0.0,
        weight_decay: float | str = "auto",
        clip_norm: float | str | None = "auto",
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        dispersion: float | str = "estimate",
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
        preset: str | Sequence[str] | None = None,
        threads: int | None = None,
        initializer: str | Sequence[str] = "glorot_uniform",
    ) -> None:
        self._keep(locals())

    @available_if(has_partial_fit)
    def partial_fit(self, X: Table, y: Targets, sample_weight: ArrayLike | None = None) -> Self:
        """Train for one more epoch, on these rows; an unfitted model is initialised first.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training rows.
        y : array of shape (rows,) or (rows, targets)
            Their targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.

        Returns
        -------
        self
            The fitted model.
        """
        return self._fit(X, y, sample_weight, incremental=True)

    @staticmethod
    def _behind() -> type[NetworkEstimator]:
        from linnet.estimators.tabular.regressor import TabularRegressor  # here, as it imports this module

        return TabularRegressor


class _Differentiated:
    """A loss in plain NumPy in the form that a head needs: the loss of each row, and its slope."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def __call__(self, z: Floats, t: Floats) -> tuple[Floats, Floats]:
        z.flags.writeable = t.flags.writeable = False  # it runs twice: if it changed them, the slope would be wrong
        losses = np.asarray(self._function(z, t))
        if losses.dtype.kind not in "biuf" or losses.shape not in (z.shape, z.shape[:1]):
            raise ConfigError(
                f"a loss must return a number for each prediction, shape {z.shape}, or for each row, "
                f"got {losses.dtype} of shape {losses.shape}"
            )
        slope = graph.grad(lambda y: np.sum(self._function(y, t)))(z)
        return losses.sum(axis=1) if losses.ndim == 2 else losses, np.ascontiguousarray(slope, np.float64)
