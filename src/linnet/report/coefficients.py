"""What a linear model has learned: coefficients with their intervals, and weights as images."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linnet.errors import LinnetError, hearing
from linnet.tables.kinds import Kind
from linnet.tables.model import TableModel
from linnet.tables.predictions import Evaluation
from linnet.tables.rows import Examples, Floats

_MOST_KEPT = 200
_MOST_INFERRED = 1500  # parameters
_SIDES = {64: 8, 784: 28}  # of square images, by the number of columns
_MOST_IMAGES = 26


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient; None where there was nothing to compute it from."""

    name: str
    value: float
    low: float | None  # of its interval
    high: float | None
    p_value: float | None
    scale: float  # standard deviation of the column; 1 for levels
    of_class: str = ""  # one of several


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Those that matter most by their test (or by coefficient x scale); a single intercept first, several ones last."""

    rows: tuple[Coefficient, ...]
    count: int  # of all
    link: str  # "logit", "log" or "identity"
    level: float | None  # of the intervals, if there are any
    notes: tuple[str, ...] = ()
    fit: Mapping[str, float] | None = None  # deviance and likelihood on the rows of the training, if they are given


@dataclass(frozen=True, slots=True)
class WeightImage:
    """The weights of one class or number, row by row of a square image."""

    of: str
    weights: tuple[float, ...]


def coefficients(evaluation: Evaluation, training: Examples | None) -> Coefficients | None:
    """The coefficients of a linear model, with intervals if its training rows are given; None of other models."""
    model, estimator = evaluation.model, evaluation.model.estimator
    if not hasattr(estimator, "coef_"):
        return None
    x = evaluation.rows.applied.x
    values, names = np.atleast_2d(np.asarray(estimator.coef_, np.float64)), _names(estimator)
    intercepts = np.atleast_1d(np.asarray(estimator.intercept_, np.float64))
    of = _outputs(model, len(values))
    scales = {name: _scale(x[name]) for name in x.column_names}
    rows = []
    for k, output in enumerate(of):
        rows.append(Coefficient("intercept", float(intercepts[k]), None, None, None, 1.0, output))
        for name, value in zip(names, values[k], strict=True):
            rows.append(Coefficient(name, float(value), None, None, None, scales.get(name, 1.0), output))
    level, notes, fit = None, ["Intervals need the rows of the training."], None
    order = -np.abs([row.value * row.scale for row in rows])
    if training is not None and len(rows) > _MOST_INFERRED:
        notes = [f"Intervals are left out: there are {len(rows):,} coefficients."]
    elif training is not None:
        inferred = _infer(
            model, training, {(f"{row.of_class}: " if row.of_class else "") + row.name: row for row in rows}
        )
        if isinstance(inferred, str):
            notes = [inferred]
        else:
            rows, order, level, notes, fit = inferred
    first = [place for place in np.argsort(order, kind="stable") if rows[place].name == "intercept"]
    others = [place for place in np.argsort(order, kind="stable") if rows[place].name != "intercept"]
    ranked = [*first, *others] if len(first) == 1 else [*others, *first]
    kept = tuple(rows[place] for place in ranked[:_MOST_KEPT])
    return Coefficients(kept, len(rows), _link(model), level, tuple(notes), fit)


def _infer(
    model: TableModel, training: Examples, known: dict[str, Coefficient]
) -> tuple[list[Coefficient], Floats, float, list[str], dict[str, float]] | str:
    """Coefficients with intervals, what to sort them by, the level, notes and the fit; or why there are none."""
    if not hasattr(model.estimator, "inference"):
        return f"{type(model.estimator).__name__} is no statistical model: its coefficients have no intervals."
    try:
        with hearing():  # what it warns of was said when the model was fitted
            found = model.estimator.inference(training.x, training.y, **training.given)
    except LinnetError as error:
        return f"There are no intervals: {error}"
    rows = [
        replace(base, value=float(value), low=float(low), high=float(high), p_value=float(p))
        for name, value, low, high, p in zip(found.names, found.coef, found.low, found.high, found.p_value, strict=True)
        if (base := known.get(name)) is not None
    ]
    tests = -np.abs([s for name, s in zip(found.names, found.statistic, strict=True) if name in known])
    fit = {
        "deviance": found.deviance,
        "null_deviance": found.null_deviance,
        "degrees_of_freedom": found.df_residual,
        "log_likelihood": found.log_likelihood,
        "aic": found.aic,
        "bic": found.bic,
    }
    if (spread := found.dispersion if found.head.has_dispersion else model.law and model.law.parameter) is not None:
        fit["dispersion"] = spread
    return rows, np.nan_to_num(tests, nan=0.0), found.level, list(found.notes), fit


def weight_images(model: TableModel) -> tuple[WeightImage, ...]:
    """One for each class or number, where the columns are the pixels of a square image and the model is linear."""
    columns, estimator = model.schema.columns, model.estimator
    side = _SIDES.get(len(columns))
    if side is None or not hasattr(estimator, "coef_"):
        return ()
    if not all(column.kind in (Kind.NUMBER, Kind.BOOLEAN, Kind.CONSTANT, Kind.EMPTY) for column in columns):
        return ()
    names = _names(estimator)
    values = np.atleast_2d(np.asarray(estimator.coef_, np.float64))
    places = {column.name: place for place, column in enumerate(columns)}
    if not all(name in places for name in names):
        return ()
    out = []
    for row, of in zip(values[:_MOST_IMAGES], _outputs(model, len(values)), strict=False):
        image = np.zeros(side * side)
        image[[places[name] for name in names]] = row
        out.append(WeightImage(of or str(model.roles.target), tuple(image.tolist())))
    return tuple(out)


def _names(estimator: Any) -> list[str]:
    return [str(name) for name in estimator.get_feature_names_out()]


def _outputs(model: TableModel, count: int) -> list[str]:
    """The class that each row of coefficients is of; "" if there is one row only."""
    return [""] if count == 1 or model.classes is None else [str(name) for name in model.classes]


def _scale(column: Any) -> float:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type) or pa.types.is_boolean(column.type):
        return 1.0
    spread = pc.stddev(column).as_py()
    return float(spread) if spread and np.isfinite(spread) else 1.0


def _link(model: TableModel) -> str:
    if model.classes is not None:
        return "logit"
    return "log" if model.estimator.has_log_link else "identity"
