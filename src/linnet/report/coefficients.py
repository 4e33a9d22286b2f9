"""Coefficients of a linear model with their intervals, and weights as images."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet._sklearn import encoder_of
from linnet.errors import LinnetError, hearing
from linnet.estimators.linear.model import LinearModel
from linnet.inference.glm import Inference
from linnet.tables.model import TableModel
from linnet.tables.predictions import Evaluation
from linnet.tables.rows import Examples, Floats

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_KEPT = 200
_MAX_INFERRED = 1500  # coefficients whose intervals are computed
_SIDES = {64: 8, 784: 28}  # of square images, by the number of columns
_MAX_IMAGES = 26


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient; a value that cannot be computed is None."""

    name: str
    value: float
    low: float | None  # limit of the interval
    high: float | None
    p_value: float | None
    scale: float  # standard deviation of the column; 1 for levels
    of_class: str = ""  # of several classes
    is_intercept: bool = False  # a column may be called "intercept", too


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The most important coefficients by their test (or by coefficient x scale).

    A single intercept comes first, several intercepts last.
    """

    rows: tuple[Coefficient, ...]
    count: int  # of all coefficients
    link: str  # "logit", "log" or "identity"
    level: float | None  # of the intervals, if there are any
    notes: tuple[str, ...] = ()
    fit: Mapping[str, float] | None = None  # deviance and likelihood on the training rows, if known


@dataclass(frozen=True, slots=True)
class WeightImage:
    """The weights of one class or number, row by row of a square image."""

    of: str
    weights: tuple[float, ...]


def coefficients(evaluation: Evaluation, training: Examples | None) -> Coefficients:
    """Return the coefficients of a linear model, with intervals if its training rows are given."""
    model, estimator = evaluation.model, evaluation.model.estimator
    names, scales = _names(estimator), _scales(estimator, evaluation.rows.applied.x)
    values = np.atleast_2d(np.asarray(estimator.coef_, np.float64))
    intercepts = np.atleast_1d(np.asarray(estimator.intercept_, np.float64))
    rows = []
    for k, output in enumerate(_outputs(model, len(values))):
        rows.append(Coefficient("intercept", float(intercepts[k]), None, None, None, 1.0, output, is_intercept=True))
        for name, value, scale in zip(names, values[k], scales, strict=True):
            rows.append(Coefficient(name, float(value), None, None, None, scale, output))
    level, notes, fit = None, ["Intervals need the training rows."], None
    order = -np.abs([row.value * row.scale for row in rows])
    if training is not None and len(rows) > _MAX_INFERRED:
        notes = [f"Intervals are not computed for more than {_MAX_INFERRED:,} coefficients; there are {len(rows):,}."]
    elif training is not None:
        inferred = _infer(model, training, rows, 1 + len(names))
        if isinstance(inferred, str):
            notes = [inferred]
        else:
            rows, order, level, notes, fit = inferred
    ranked = [rows[index] for index in np.argsort(order, kind="stable")]
    first = [row for row in ranked if row.is_intercept]
    others = [row for row in ranked if not row.is_intercept]
    kept = [*first, *others] if len(first) == 1 else [*others, *first]
    return Coefficients(tuple(kept[:_MAX_KEPT]), len(rows), estimator.link_, level, tuple(notes), fit)


def _infer(
    model: TableModel, training: Examples, known: list[Coefficient], per_output: int
) -> tuple[list[Coefficient], Floats, float, list[str], dict[str, float]] | str:
    """Return coefficients with intervals, their sort keys, the level, notes and the fit; or why there are none.

    `known`: all coefficients, for each output the intercept and then the columns; `per_output`: their number.
    """
    if not isinstance(model.estimator, LinearModel):
        return f"{type(model.estimator).__name__} is not a statistical model: its coefficients have no intervals."
    given: dict[str, Any] = training.given
    y: Any = training.y  # encoded already, which `inference` takes as well
    try:
        with hearing():  # its warnings were shown when the model was fitted
            found = model.estimator.inference(training.x, y, **given)
    except LinnetError as error:
        return f"There are no intervals: {error}"
    rows = [
        replace(known[index], value=float(value), low=float(low), high=float(high), p_value=float(p))
        for index, value, low, high, p in zip(
            _indices(found, per_output), found.coef, found.low, found.high, found.p_value, strict=True
        )
    ]
    fit = {
        "deviance": found.deviance,
        "null_deviance": found.null_deviance,
        "degrees_of_freedom": found.df_residual,
        "log_likelihood": found.log_likelihood,
        "aic": found.aic,
        "bic": found.bic,
    }
    spread = found.dispersion if found.head.has_dispersion else None if model.law is None else model.law.parameter
    if spread is not None:
        fit["dispersion"] = spread
    return rows, np.nan_to_num(-np.abs(found.statistic), nan=0.0), found.level, list(found.notes), fit


def _indices(found: Inference, per_output: int) -> Iterator[int]:
    """Yield, for each row of the table of inference, the index of its coefficient.

    Names may be alike, and a class may be left out.
    """
    columns = Counter[int]()  # seen so far, by output
    for output, is_intercept in zip(found.output.tolist(), found.is_intercept.tolist(), strict=True):
        if not is_intercept:
            columns[output] += 1
        yield output * per_output + (0 if is_intercept else columns[output])


def weight_images(model: TableModel) -> tuple[WeightImage, ...]:
    """Return an image for each class or number of a linear model, if the columns are the pixels of a square image."""
    columns, estimator = model.schema.columns, model.estimator
    side = _SIDES.get(len(columns))
    if side is None or not all(column.how.may_be_pixel for column in columns):
        return ()
    encoder = encoder_of(estimator)
    assert encoder is not None
    if encoder.levels or encoder.marked:  # boolean pixels, or pixels with missing values
        return ()
    values = np.atleast_2d(np.asarray(estimator.coef_, np.float64))
    pixels = {column.name: index for index, column in enumerate(columns)}
    out = []
    for row, of in zip(values[:_MAX_IMAGES], _outputs(model, len(values)), strict=False):
        image = np.zeros(side * side)
        image[[pixels[name] for name in encoder.sources]] = row
        out.append(WeightImage(of or str(model.roles.target), tuple(image.tolist())))
    return tuple(out)


def _names(estimator: Any) -> list[str]:
    return [str(name) for name in estimator.get_feature_names_out()]


def _outputs(model: TableModel, count: int) -> list[str]:
    """Return the class of each row of coefficients; "" if there is only one row."""
    return [""] if count == 1 or model.classes is None else [str(name) for name in model.classes]


def _scales(estimator: Any, x: "pa.Table") -> list[float]:
    """Return the standard deviation of each coefficient's column; 1 for levels and indicators of missing values."""
    encoder = encoder_of(estimator)
    assert encoder is not None
    numeric = encoder.width - len(encoder.levels)  # number of numeric columns, which come first
    known = [_scale(x[source]) for source in encoder.sources[:numeric]]
    return [known[index] if index < numeric else 1.0 for index in encoder.order().tolist()]


def _scale(column: "pa.ChunkedArray") -> float:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(column.type):
        return 1.0
    spread = pc.stddev(column).as_py()
    return float(spread) if spread and np.isfinite(spread) else 1.0
