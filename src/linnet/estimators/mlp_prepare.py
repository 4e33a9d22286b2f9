"""From a call of fit to what it works on: rows to train on and to judge by, a network, and where it starts."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.checks import check_random
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.data.targets import as_weights
from linnet.errors import ConfigError, DataError
from linnet.estimators import tabular
from linnet.estimators.base import Classifier, inherited
from linnet.estimators.linear_model import shift_names
from linnet.estimators.mlp_fitted import FittedNetwork
from linnet.estimators.mlp_settings import batch_size, check_values, make_network
from linnet.estimators.written import plain, written
from linnet.evaluate.metrics import MetricLike, NamedMetric, as_metrics, several_metrics
from linnet.fit.ensemble import Ensemble
from linnet.fit.full_batch import FullBatch
from linnet.fit.loop import OptimizerState, Training
from linnet.model.heads import Head
from linnet.model.initialise import initial_theta
from linnet.model.network import Network, Theta

Metrics = MetricLike | Sequence[MetricLike] | None

_LEAST = 1e-30  # largest weight of which sums and shares are still numbers in float32


@dataclass(frozen=True, slots=True)
class Run:
    """What a call of fit works on."""

    network: Network
    theta: Theta
    rows: Rows
    validation: Rows | None
    metrics: list[NamedMetric]
    monitor: str | None  # what early stopping watches
    state: OptimizerState
    batch_size: int = 1
    fitting: tabular.Fitting | None = None  # of a preset's ensemble

    def members(self, training: Training | Ensemble) -> list[Theta]:
        """The parameters of every network, as they are now."""
        return [training.theta] if self.fitting is None else self.fitting.members()

    def going_on(self, training: Training | Ensemble) -> Training | Ensemble:
        """Take a training that goes on from a checkpoint in the place of the new one."""
        if self.fitting is not None and isinstance(training, Ensemble):
            self.fitting.ensemble = training
        return training

    @property
    def greater(self) -> bool:
        """Whether more of what is watched is better."""
        return any(f"val_{metric.name}" == self.monitor and metric.greater_is_better for metric in self.metrics)


class PreparedNetwork(FittedNetwork):
    """A network that knows what a call of fit means."""

    t_: int
    loss_curve_: list[float]
    history_: dict[str, list[float]]
    _state: OptimizerState
    _solver: str  # whose state that is
    _seed: int
    _metrics_given: Any  # as a checkpoint keeps them

    @property
    @abstractmethod
    def _default_metric(self) -> str:
        """What early stopping watches unless told."""

    def _trained_on(self, rows: Rows) -> Rows:
        """Rows with the targets that training aims at; those that it is judged or calibrated by never come here."""
        return rows

    def objective(
        self, X: object, y: object, sample_weight: object = None, *, offset: object = None, exposure: object = None
    ) -> tuple[FullBatch, Array]:
        """Return what training minimises, on these rows and without dropout, and the parameters found, in float64."""
        problem, theta = super().objective(X, y, sample_weight, offset=offset, exposure=exposure)
        return FullBatch(problem.network, self._trained_on(problem.rows), self.threads), theta

    def _prepare(
        self,
        X: object,
        y: object,
        sample_weight: object,
        *,
        eval_set: object = None,
        eval_metric: Metrics = None,
        offset: object = None,
        exposure: object = None,
        eval_offset: object = None,
        eval_exposure: object = None,
        incremental: bool = False,
        seed: int | None = None,
    ) -> Run:
        params = self._params
        full_batch, preset = params["solver"] == "lbfgs", params["preset"] is not None
        self._check_call(params, y, by_epochs=incremental or eval_set is not None, incremental=incremental)
        early = bool(params["early_stopping"]) and not (full_batch or preset)
        fresh = not (hasattr(self, "_theta") and (incremental or bool(params["warm_start"])))
        if fresh:
            self._seed = int(check_random(params["random_state"]).randint(2**31 - 1)) if seed is None else seed
        columns = self._learn(X) if fresh else self._encode(X)
        head, outputs, targets = self._targets(y, columns.rows, "y", fresh=fresh)
        rows = Rows(columns, **targets, offset=self._shift(offset, exposure, columns.rows, head, outputs))
        rows = rows.weighted(self._row_weights(rows, sample_weight))
        if rows.weights is not None and not rows.weights.any():
            raise DataError("every row has weight 0: nothing is left to learn from")
        if rows.weights is not None and not _LEAST < (largest := float(rows.weights.max())) < 1 / _LEAST:
            raise DataError(f"weights of rows are up to {largest:.3g}: give such as are nearer to 1")
        validation = None if eval_set is None else self._evaluation(eval_set, eval_offset, eval_exposure)
        if validation is not None and (rows.offset is None) != (validation.offset is None):
            raise ConfigError("with an offset or exposure eval_set needs eval_offset or eval_exposure, and only then")
        if early and validation is None:
            rows, validation = self._hold_out(rows)
        if eval_metric is not None and validation is None and not preset:
            raise ConfigError("eval_metric needs eval_set=(X, y), or early_stopping=True")
        self._metrics_given = plain(written(eval_metric))
        self._shifts = shift_names(offset, exposure)
        wanted = several_metrics(eval_metric)
        if early and not wanted:
            wanted = [self._default_metric]
        metrics = as_metrics([metric for metric in wanted if metric != "loss"], head, outputs)
        if preset:
            return self._prepare_ensemble(rows, validation, head, outputs, metrics)
        rows = self._trained_on(rows)
        size = len(rows) if full_batch else batch_size(params, len(rows))
        dtype = "float64" if size == len(rows) else "float32"  # the noise of batches drowns that of rounding
        rows = rows.computed_in(dtype)
        validation = None if validation is None else validation.computed_in(dtype)
        self._set_out(make_network(params, columns.count, outputs, head, rows.weight_sum), dtype, fresh=fresh)
        monitor = None
        if early:
            monitor = "val_loss" if wanted[0] == "loss" else f"val_{metrics[0].watched().name}"
        solver = repr(params["solver"])
        state = self._state if incremental and not fresh and self._solver == solver else OptimizerState()
        self._solver = solver
        return Run(self._network, self._theta.astype(dtype), rows, validation, metrics, monitor, state, size)

    def _check_call(self, params: dict[str, Any], y: object, *, by_epochs: bool, incremental: bool) -> None:
        """Refuse what means nothing, and what does not go together."""
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        check_values(params)
        if params["solver"] == "lbfgs" and (by_epochs or params["checkpoint"] is not None):
            raise ConfigError("partial_fit, eval_set and checkpoint need a solver that goes by epochs, not 'lbfgs'")
        if params["solver"] == "lbfgs" and params["clip_norm"] is not None:
            raise ConfigError("clip_norm cuts the steps of a solver that goes by epochs, not those of 'lbfgs'")
        if params["preset"] is not None:
            tabular.check_preset(params)
        elif incremental and params["early_stopping"]:
            raise ConfigError("partial_fit does not support early_stopping=True")

    def _set_out(self, network: Network, dtype: str, *, fresh: bool) -> None:
        """Begin with first parameters and no records, or go on from those there are."""
        if fresh:
            self._take(network, initial_theta(network, self._seed, dtype, ["glorot_uniform"] * len(network.layers)))
            self._state = OptimizerState()
            self.t_, self.loss_curve_, self.history_ = 0, [], {}
        elif network.shapes != self._network.shapes:
            raise ConfigError("hidden_layer_sizes must stay the same to go on with a fitted model: fit a new one")
        else:
            self._take(network, self._parameters())
            self.loss_curve_ = [*self.loss_curve_]  # what a fit that fails leaves alone
            self.history_ = {name: [*numbers] for name, numbers in self.history_.items()}
        self._describe(network)

    def _prepare_ensemble(
        self, rows: Rows, validation: Rows | None, head: Head, outputs: int, metrics: list[NamedMetric]
    ) -> Run:
        fitting = tabular.prepare(
            self._params, inherited(type(self)), rows, validation, head, outputs, metrics, self._seed, self._trained_on
        )
        self.t_, self.loss_curve_, self.history_, self._state = 0, [], {}, OptimizerState()
        self._take(fitting.network, *fitting.members())
        self._range = fitting.range
        self._describe(fitting.network)
        monitor = None if fitting.monitored is None else f"val_{fitting.monitored.name}"
        return Run(fitting.network, self._theta, rows, validation, metrics, monitor, self._state, fitting=fitting)

    def _describe(self, network: Network) -> None:
        self.n_layers_, self.n_outputs_ = len(network.layers) + 1, network.outputs
        output = network.head.output.name
        self.out_activation_ = {"sigmoid": "logistic", "exponential": "exp"}.get(output, output)

    def _evaluation(self, eval_set: object, offset: object, exposure: object) -> Rows:
        if isinstance(eval_set, list) and eval_set and all(isinstance(part, tuple) for part in eval_set):
            if len(eval_set) > 1:
                raise ConfigError(
                    f"eval_set takes one pair (X, y), got a list of {len(eval_set)}: give the one to watch"
                )
            eval_set = eval_set[0]  # as other libraries have it
        if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
            raise ConfigError("eval_set must be (X, y) or (X, y, sample_weight)")
        columns = self._encode(eval_set[0], "eval_set's X")
        head, outputs, targets = self._targets(eval_set[1], columns.rows, "eval_set's y", fresh=False)
        rows = Rows(columns, **targets, offset=self._shift(offset, exposure, columns.rows, head, outputs))
        if len(eval_set) == 2 or eval_set[2] is None:
            return rows
        return rows.weighted(as_weights(eval_set[2], np.float64, rows=len(rows), name="eval_set's sample_weight"))

    def _hold_out(self, rows: Rows) -> tuple[Rows, Rows]:
        """Some rows to train on and others for validation, with the same mix of classes."""
        if rows.weights is not None:
            rows = rows[np.flatnonzero(rows.weights)]  # those of weight 0 say nothing of what they are held out for
        given = rows.targets()
        order = np.random.default_rng(self._seed).permutation(len(rows))
        count = int(np.ceil(self._params["validation_fraction"] * len(rows)))
        if isinstance(self, Classifier) and given.ndim == 1:
            classes, of_rows, sizes = np.unique(given, return_inverse=True, return_counts=True)
            if sizes.min() < 2:
                alone = classes[sizes.argmin() :].tolist()[0]
                raise DataError(f"no rows can be held out for early_stopping: class {alone!r} has only one")
            order = order[np.argsort(of_rows[order], kind="stable")]  # each class takes its share of an even choice
        if not 2 <= count < len(rows):
            raise DataError(
                f"The validation set is too small or too large, {count} of {len(rows)} rows: change "
                "validation_fraction, or give eval_set"
            )
        held = np.zeros(len(rows), np.bool_)
        held[order[np.arange(count) * len(rows) // count]] = True
        return rows[np.flatnonzero(~held)], rows[np.flatnonzero(held)]
