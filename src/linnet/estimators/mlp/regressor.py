"""MLPRegressor: scikit-learn's multilayer perceptron for numbers on linnet's engine, with what it lacks."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Regressor, available_if, r_squared
from linnet.checks import check_random
from linnet.errors import ConfigError, unknown_name
from linnet.estimators.inputs import one_target
from linnet.estimators.mlp.base import NetworkEstimator
from linnet.estimators.mlp.preset import PresetDoor, goes_by_batches
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
    """What a network for numbers can do."""

    loss: str | Callable[[Any, Any], Any]
    huber_delta: float
    quantile: float
    dispersion: float | str
    dispersion_: Floats | None
    _one_target: bool

    def fit(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        *,
        eval_set: object = None,
        eval_metric: Metrics = None,
        offset: object = None,
        exposure: object = None,
        eval_offset: object = None,
        eval_exposure: object = None,
    ) -> Self:
        """Train. `eval_set` and `eval_metric` (loss, r2, mse, rmse, mae, ...) as in MLPClassifier.

        early_stopping watches R² of a model with squared error, else the validation loss. `offset` is added to the last
        layer's z. `exposure` multiplies the mean of a count or an amount: of a model with loss="poisson" or "gamma" it
        is how long, or on how many, each row was watched. `eval_offset` and `eval_exposure` are those of eval_set.
        """
        how = {"eval_set": eval_set, "eval_metric": eval_metric, "offset": offset, "exposure": exposure}
        how |= {"eval_offset": eval_offset, "eval_exposure": eval_exposure}
        return self._fit(X, y, sample_weight, **how)

    def predict(self, X: object, *, offset: object = None, exposure: object = None) -> NDArray[np.float64]:
        """Return the prediction for each row: the mean, or the quantile that was sought."""
        return self._flat(self._output(X, offset, exposure).astype(np.float64))

    def score(
        self, X: object, y: object, sample_weight: object = None, *, offset: object = None, exposure: object = None
    ) -> float:
        """Return R² of the predictions."""
        return r_squared(y, self.predict(X, offset=offset, exposure=exposure), sample_weight)

    def predict_interval(
        self, X: object, level: float = 0.95, *, offset: object = None, exposure: object = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of the interval that holds a row's target with probability `level`, as the loss' distribution
        has it. Its spread is that of the residuals: of the validation rows if there were any, else of the training
        rows, which a flexible network fits too well.
        """
        mean = self._output(X, offset, exposure).astype(np.float64)
        head, spread = self.target_distribution()
        low, high = head.interval(mean, spread, level)
        return self._flat(low), self._flat(high)

    def sample(
        self, X: object, random_state: Any = None, *, offset: object = None, exposure: object = None
    ) -> NDArray[Any]:
        """Return a target for each row, drawn from the predicted distribution.

        `random_state`: a whole number, a RandomState or Generator of numpy.random, or None for NumPy's own.
        """
        mean = self._output(X, offset, exposure).astype(np.float64)
        head, spread = self.target_distribution()
        return self._flat(head.draw(mean, spread, check_random(random_state)))

    # ---- inside ----

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
        known = heads_by_loss()
        if not isinstance(self.loss, str) or self.loss not in known:
            raise unknown_name("loss", self.loss, known)
        return known[self.loss].of_regressor(self._params)

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        return {"variable": self._current().graph(inputs)[1]}

    def target_distribution(self) -> tuple[Head, Floats]:
        """The head that was fitted and the dispersion around its means."""
        return self._predictor.network.head, self._spread()

    def _spread(self) -> Floats:
        if not hasattr(self, "dispersion_"):
            raise ConfigError("the spread of targets is known when training has ended")
        if self.dispersion_ is None:
            known = losses_with(lambda kind: kind.has_distribution())
            raise ConfigError(f"loss={self.loss!r} has no distribution: use {known}")
        return self.dispersion_

    def _flat(self, values: NDArray[Any]) -> NDArray[Any]:
        return values[:, 0] if self._one_target else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = isinstance(self.loss, str) and self._head().positive_only
        return tags


@saved
class MLPRegressor(PresetDoor, NetworkRegressor):
    """A multilayer perceptron for numbers, counts and amounts.

    Minimises (1/n) (Σ_i w_i loss_i + ½ alpha Σ W² + l1 Σ|W|), as MLPClassifier does. With several targets the loss of a
    row is the sum over them. `loss`:

    | loss | of a row, r = prediction - t | prediction |
    |---|---|---|
    | squared_error | r² / 2 | mean |
    | absolute_error | abs(r) | median |
    | huber | r² / 2 up to `huber_delta`, then linear | a mean that outliers do not move much |
    | quantile | max((1 - q) r, -q r), q = `quantile` | that quantile |
    | poisson | e^z - t z | e^z, the mean of a count |
    | negative_binomial | (t + 1/d) log(1 + d e^z) - t z | e^z, the mean of a count of variance mean + d mean² |
    | gamma | t e^-z + z | e^z, the mean of an amount above 0 |
    | a function | f(y, t) in plain NumPy, of predictions and targets | z |

    `dispersion` is d: a number, or "estimate" for the most likely one, found anew after every epoch.

    `loss=lambda y, t: np.log(np.cosh(y - t))` is differentiated by linnet.theory.graph; it gets arrays of rows x
    targets, which it may not change, and returns either the same shape or one number per row.

    The other parameters are MLPClassifier's. "auto" is scikit-learn's default, or with `preset="tabular"` the default
    of `TabularRegressor`, which also standardises targets in training and keeps predictions within their range; any
    other value is used as it is written.
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
    ) -> None:
        self._keep(locals())

    @available_if(goes_by_batches)
    def partial_fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Go over these rows once, going on from where the model is."""
        return self._fit(X, y, sample_weight, incremental=True)

    @staticmethod
    def _behind() -> type[NetworkEstimator]:
        from linnet.estimators.tabular.regressor import TabularRegressor  # which is made of what is here

        return TabularRegressor


class _Differentiated:
    """A loss in plain NumPy as a head takes it: the loss of each row, and its slope."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def __call__(self, z: Floats, t: Floats) -> tuple[Floats, Floats]:
        z.flags.writeable = t.flags.writeable = False  # it runs twice: what it changed would be another loss' slope
        each = np.asarray(self._function(z, t))
        if each.dtype.kind not in "biuf" or each.shape not in (z.shape, z.shape[:1]):
            raise ConfigError(
                f"a loss must give a number for each prediction, shape {z.shape}, or each row, "
                f"got {each.dtype} of shape {each.shape}"
            )
        slope = graph.grad(lambda y: np.sum(self._function(y, t)))(z)
        return each.sum(axis=1) if each.ndim == 2 else each, np.ascontiguousarray(slope, np.float64)
