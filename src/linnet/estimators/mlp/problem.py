"""The input of a fit, encoded and checked: training and validation rows, settings, and the targets' specification."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Estimator, check_form
from linnet.data.encoder import Encoder
from linnet.data.rows import Rows
from linnet.data.tabular_encoder import TabularEncoder
from linnet.data.targets import as_weights
from linnet.errors import ConfigError, DataError
from linnet.estimators.mlp.predictor import shift
from linnet.estimators.mlp.settings import Settings
from linnet.estimators.mlp.targets import TargetSpec
from linnet.evaluate.metric import NamedMetric
from linnet.evaluate.metrics import MetricLike, as_metrics, several_metrics
from linnet.fit.loop.training import OptimizerState
from linnet.heads import Head
from linnet.model.network import Theta

Metrics = MetricLike | Sequence[MetricLike] | None

_MIN_LARGEST_WEIGHT = 1e-30  # sums of weights, and their ratios, must not underflow in float32


@dataclass(frozen=True)
class Start:
    """The state from which a fit starts: the parameters, records and optimizer state of the previous fits."""

    theta: Theta | None = None  # None: new parameters
    shapes: Any = None  # of the layers of the previous network
    loss_curve: list[float] = field(default_factory=list)
    history: dict[str, list[float]] = field(default_factory=dict)
    rows_seen: int = 0
    state: OptimizerState = field(default_factory=OptimizerState)


@dataclass(frozen=True)
class Problem:
    """The arguments of a fit, encoded and checked."""

    settings: Settings
    encoder: Encoder | TabularEncoder
    features: Mapping[str, Any]  # n_features_in_ and feature_names_in_
    targets: TargetSpec
    rows: Rows
    validation: Rows | None
    metrics: Sequence[NamedMetric]
    metrics_given: Any  # as checkpoints keep them
    watched: str | None  # the number of each epoch's record that early stopping watches
    shifts: tuple[str, ...]  # which of "offset" and "exposure" were passed
    seed: int
    start: Start

    @property
    def head(self) -> Head:
        """The distribution of the targets."""
        return self.targets.head

    @property
    def outputs(self) -> int:
        """The number of outputs of the network."""
        return self.targets.outputs


def check_weights(rows: Rows) -> None:
    """Refuse row weights that are all 0, or so small or large that their sums underflow or overflow in float32."""
    if rows.weights is None:
        return
    if not rows.weights.any():
        raise DataError("every row has weight 0: there is nothing to learn from")
    if not _MIN_LARGEST_WEIGHT < (largest := float(rows.weights.max())) < 1 / _MIN_LARGEST_WEIGHT:
        raise DataError(f"the largest row weight is {largest:.3g}, too far from 1 for float32: rescale the weights")


def hold_out(rows: Rows, fraction: float, seed: int, *, stratified: bool) -> tuple[Rows, Rows]:
    """Split rows into training and validation rows; `stratified`: both with the same shares of the classes."""
    if rows.weights is not None:
        rows = rows[np.flatnonzero(rows.weights)]  # validation rows of weight 0 would measure nothing
    targets: NDArray[Any] = rows.targets()
    order = np.random.default_rng(seed).permutation(len(rows))
    count = int(np.ceil(fraction * len(rows)))
    if stratified and targets.ndim == 1:
        classes, codes, sizes = np.unique(targets, return_inverse=True, return_counts=True)
        if sizes.min() < 2:
            single = classes[sizes.argmin() :].tolist()[0]
            raise DataError(f"no rows can be held out for early_stopping: class {single!r} has only one row")
        order = order[np.argsort(codes[order], kind="stable")]  # evenly spaced rows then have the shares of the classes
    if not 2 <= count < len(rows):
        raise DataError(
            f"The validation set is too small or too large, {count} of {len(rows)} rows: change "
            "validation_fraction, or pass eval_set"
        )
    held_out = np.zeros(len(rows), np.bool_)
    held_out[order[np.arange(count) * len(rows) // count]] = True
    return rows[np.flatnonzero(~held_out)], rows[np.flatnonzero(held_out)]


def evaluation_rows(
    model: Estimator,
    encoder: Encoder | TabularEncoder,
    targets: TargetSpec,
    eval_set: object,
    offset: object,
    exposure: object,
) -> Rows:
    """Return the rows of `eval_set`, encoded; `model` has the names and the number of the columns that it must have."""
    if isinstance(eval_set, list) and eval_set and all(isinstance(pair, tuple) for pair in eval_set):
        if len(eval_set) > 1:
            raise ConfigError(f"eval_set takes one pair (X, y), got a list of {len(eval_set)}: pass the one to watch")
        eval_set = eval_set[0]  # the convention of other libraries
    if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
        raise ConfigError("eval_set must be (X, y) or (X, y, sample_weight)")
    check_form(model, eval_set[0], reset=False, name="eval_set's X")
    columns = encoder.encode(eval_set[0], "eval_set's X")
    values = targets.encode(eval_set[1], columns.rows, "eval_set's y")
    rows = Rows(columns, **values, offset=shift(offset, exposure, columns.rows, targets.head, targets.outputs))
    if len(eval_set) == 2 or eval_set[2] is None:
        return rows
    return rows.weighted(as_weights(eval_set[2], np.float64, rows=len(rows), name="eval_set's sample_weight"))


def metrics_by_epoch(given: Metrics, targets: TargetSpec, *, early: bool) -> tuple[Sequence[NamedMetric], str | None]:
    """Return the metrics of the validation rows, and the name of the number that early stopping (`early`) watches."""
    wanted = several_metrics(given)
    if early and not wanted:
        wanted = [targets.default_metric]
    metrics = as_metrics([metric for metric in wanted if metric != "loss"], targets.head, targets.outputs)
    if not early:
        return metrics, None
    return metrics, "val_loss" if wanted[0] == "loss" else f"val_{metrics[0].watched().name}"
