"""What a fit works on: rows to train on and to judge by, and what predictions will need of them."""

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
from linnet.estimators.mlp.targets import Targets
from linnet.evaluate.metric import NamedMetric
from linnet.evaluate.metrics import MetricLike
from linnet.fit.loop.training import OptimizerState
from linnet.heads import Head
from linnet.model.network import Theta

Metrics = MetricLike | Sequence[MetricLike] | None

_SMALLEST_WEIGHT = 1e-30  # of the heaviest row: sums and shares of it are still numbers in float32


@dataclass(frozen=True)
class Start:
    """Where a fit that goes on begins: the parameters, the records and the optimizer of the fits before."""

    theta: Theta | None = None  # None: new ones
    shapes: Any = None  # of that network
    loss_curve: list[float] = field(default_factory=list)
    history: dict[str, list[float]] = field(default_factory=dict)
    rows_seen: int = 0
    state: OptimizerState = field(default_factory=OptimizerState)


@dataclass(frozen=True)
class Problem:
    """All that a fit is given, encoded and checked."""

    settings: Settings
    encoder: Encoder | TabularEncoder
    features: Mapping[str, Any]  # n_features_in_ and feature_names_in_
    targets: Targets
    rows: Rows
    validation: Rows | None
    metrics: Sequence[NamedMetric]
    metrics_given: Any  # as checkpoints keep them
    watched: str | None  # the number of each epoch's record that early stopping watches
    shifts: tuple[str, ...]  # which of offset and exposure there are
    seed: int
    start: Start

    @property
    def head(self) -> Head:
        """The distribution of the targets."""
        return self.targets.head

    @property
    def outputs(self) -> int:
        """How many z there are per row."""
        return self.targets.outputs


def check_weights(rows: Rows) -> None:
    """Refuse weights that leave nothing to learn from, or of which float32 cannot form sums."""
    if rows.weights is None:
        return
    if not rows.weights.any():
        raise DataError("every row has weight 0: nothing is left to learn from")
    if not _SMALLEST_WEIGHT < (largest := float(rows.weights.max())) < 1 / _SMALLEST_WEIGHT:
        raise DataError(f"weights of rows are up to {largest:.3g}: give such as are nearer to 1")


def hold_out(rows: Rows, fraction: float, seed: int, *, stratified: bool) -> tuple[Rows, Rows]:
    """Some rows to train on and others for validation, `stratified` with the same mix of classes."""
    if rows.weights is not None:
        rows = rows[np.flatnonzero(rows.weights)]  # those of weight 0 tell nothing of what they are held out for
    given: NDArray[Any] = rows.targets()
    order = np.random.default_rng(seed).permutation(len(rows))
    count = int(np.ceil(fraction * len(rows)))
    if stratified and given.ndim == 1:
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


def evaluation_rows(
    model: Estimator,
    encoder: Encoder | TabularEncoder,
    targets: Targets,
    eval_set: object,
    offset: object,
    exposure: object,
) -> Rows:
    """The rows that a training is evaluated on; `model` knows which columns they must have."""
    if isinstance(eval_set, list) and eval_set and all(isinstance(pair, tuple) for pair in eval_set):
        if len(eval_set) > 1:
            raise ConfigError(f"eval_set takes one pair (X, y), got a list of {len(eval_set)}: give the one to watch")
        eval_set = eval_set[0]  # as other libraries have it
    if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
        raise ConfigError("eval_set must be (X, y) or (X, y, sample_weight)")
    check_form(model, eval_set[0], reset=False, name="eval_set's X")
    columns = encoder.encode(eval_set[0], "eval_set's X")
    values = targets.encode(eval_set[1], columns.rows, "eval_set's y")
    rows = Rows(columns, **values, offset=shift(offset, exposure, columns.rows, targets.head, targets.outputs))
    if len(eval_set) == 2 or eval_set[2] is None:
        return rows
    return rows.weighted(as_weights(eval_set[2], np.float64, rows=len(rows), name="eval_set's sample_weight"))
