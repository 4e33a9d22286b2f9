"""Whether what a file holds is a model: its parts have types and sizes that go together, and a row gets an answer.

`check_part` sees each object as soon as it is read and looks at what native code and loops rely on; `check_answers`
asks the whole model about one made-up row. What is wrong is a FormatError, or an error of Python that `load` makes one.
"""

import inspect
from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import NO_RESULT, Classifier, Estimator, inherited
from linnet.data.encoder import Encoder
from linnet.data.tabular_encoder import Preparer
from linnet.errors import FormatError
from linnet.fit.loop.optimizers import OPTIMIZERS
from linnet.fit.loop.stop_reason import StopReason
from linnet.model.network import Network
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.estimators.mlp.base import NetworkEstimator
    from linnet.tables.kinds import Column
    from linnet.tables.model import TableModel

Array = NDArray[Any]

_MOST_BINS = 1 << 16  # columns of a text
_METHODS = ("predict", "predict_proba", "decision_function")
_LEVEL = str | bool | int | float | np.generic | None
_TYPES: dict[str, Any] = {  # of what fits leave in an estimator, by name
    "best_loss_": float | None,
    "best_validation_score_": float | None,
    "classes_": NDArray[Any],
    "dispersion_": NDArray[np.float64] | float | None,
    "history_": dict[str, list[float]],
    "loss_": float,
    "loss_curve_": list[float],
    "mistakes_": list[int],
    "n_features_in_": int,
    "n_iter_": int | NDArray[np.int32],
    "n_outputs_": int,
    "stop_reason_": StopReason,
    "t_": int,
    "validation_scores_": list[float] | None,
    "_by_probability": bool | None,
    "_encoder": Encoder | Preparer,
    "_fit_params": dict[str, Any],
    "_family": tuple[float, str] | None,
    "_seed": int,
    "_shifts": tuple[str, ...],
}


def check_part(made: Any) -> None:
    """Refuse an object whose parts do not go together."""
    if isinstance(made, Estimator):
        for name, hint in _TYPES.items():
            _need(fits(made.__dict__.get(name), hint) or name not in made.__dict__, made, name)
        _need({*made._fit_params} <= {*inherited(type(made))} - NO_RESULT, made, "_fit_params")
        names = made.__dict__.get("feature_names_in_", np.empty(0, object))
        _need(isinstance(names, np.ndarray) and fits(names.tolist(), list[str]), made, "feature_names_in_")
    for kind in type(made).__mro__:
        if kind.__name__ in _CHECKS:
            _CHECKS[kind.__name__](made)


def _need(condition: object, made: Any, what: str) -> None:
    if not condition:
        raise FormatError(f"{what} of the {type(made).__name__} in it is not what it can be")


# ---- parts ----


def _encoder(made: Encoder) -> None:
    names, columns = made.names or (), [level.column for level in made.levels]
    leveled, marked = {*columns}, {*made.marked}
    _need(made.kind in ("", "array", "sparse", "frame") and made.width >= 0, made, "kind")
    _need((made.names is not None) == (made.kind == "frame"), made, "names")
    _need(made.names is None or len(names) == len({*names}) == made.width, made, "names")
    _need(columns == [name for name in names if name in leveled], made, "levels")
    numbers = [name for name in names if name not in leveled]
    _need([*made.medians] == (numbers if made.kind == "frame" and made.gaps == "fill" else []), made, "medians")
    _need([*made.marked] == [name for name in numbers if name in marked], made, "marked")
    _need(made.gaps == "fill" or not made.marked, made, "marked")


def _level(made: Any) -> None:
    _need(all(isinstance(value, _LEVEL) for value in made.values), made, "values")
    _need(len({*made.values}) == len(made.values) > 0, made, "values")


def _numbers(made: Any) -> None:
    count = len(made.edges)
    _need(made.centre.shape == made.scale.shape == (count,), made, "centre")
    _need(made.gaps.ndim == 1 and ((made.gaps >= 0) & (made.gaps < count)).all(), made, "gaps")
    _need(all(edges.ndim == 1 for edges in made.edges), made, "edges")


def _preparer(made: Preparer) -> None:
    sizes = [len(level.values) for level in made.encoder.levels]
    _need(len(made.codes) == len(sizes), made, "codes")
    for codes, size in zip(made.codes, sizes, strict=True):
        _need(codes.shape == (size + 1,) and codes.dtype.itemsize <= 4 and (codes >= -1).all(), made, "codes")
        _need((codes < size).all(), made, "codes")
    plain = made.encoder.width - len(sizes)
    _need(made.numbers is None or len(made.numbers.edges) == plain, made, "numbers")
    _need(made.largest is None or made.largest.shape == (plain,), made, "largest")


def _coefficients(encoder: Encoder | Preparer) -> int:
    """How many columns it makes."""
    if isinstance(encoder, Preparer):
        return len(encoder.sources)
    return encoder.width - len(encoder.levels) + len(encoder.marked) + sum(len(one.values) for one in encoder.levels)


def _parameters_of(made: Any, network: Any, theta: Any) -> None:
    _need(isinstance(theta, np.ndarray) and theta.dtype in (np.float32, np.float64), made, "theta")
    _need(network is None or (isinstance(network, Network) and theta.shape == (network.size,)), made, "theta")


def _network_estimator(made: "NetworkEstimator") -> None:
    if not made.__sklearn_is_fitted__():
        return
    predictor = made._predictor
    network, members = predictor.network, predictor.members
    _parameters_of(made, network, predictor.theta)
    _need(isinstance(network, Network) and len({id(member) for member in members}) == len(members), made, "members")
    kind = predictor.theta.dtype, predictor.theta.shape
    _need(all(isinstance(one, np.ndarray) and (one.dtype, one.shape) == kind for one in members), made, "members")
    _need(_coefficients(made._encoder) == network.inputs, made, "network")
    _need(fits(predictor.shifts, tuple[str, ...]), made, "shifts")
    spread = made.__dict__.get("dispersion_")
    _need(spread is None or (spread.shape == (network.outputs,) and (spread >= 0).all()), made, "dispersion_")
    _classes(made, network.outputs, several=getattr(made, "_multilabel", False))


def _linear(made: Any) -> None:
    if "coef_" in made.__dict__:
        _, biases = made._parameters()  # which checks them, as users may set them by hand
        fitted = made._as_fitted()  # scores and inference rely on what the fit was given
        fitted._check_params()
        if getattr(fitted, "column_penalty", None) is not None:
            fitted._column_factors()
        _classes(made, len(biases))
        _need(fits(made.__dict__.get("_spectrum"), tuple[int, NDArray[np.float64]] | None), made, "rank_")
        _need(made.__dict__.get("_products") is None, made, "rank_")
        spread = made.__dict__.get("dispersion_", 1.0)
        _need(isinstance(spread, float) and 0 < spread < np.inf, made, "dispersion_")


def _perceptron(made: Any) -> None:
    if "coef_" in made.__dict__:
        _, biases = made._parameters()
        _classes(made, len(biases))


def _classes(made: Any, outputs: int, *, several: bool = False) -> None:
    """A classifier has a class for each output, or two for one."""
    if isinstance(made, Classifier):
        count = 2 if outputs == 1 and not several else outputs
        _need(made.__dict__["classes_"].shape == (count,), made, "classes_")


def _rebuilt(made: Any) -> None:
    """An object whose constructor checks what it is given, and keeps it under the same names."""
    named = {"learning_rate": "schedule"}
    given = {
        name: getattr(made, named.get(name, name)) for name in inspect.signature(type(made)).parameters if name != "lr"
    }
    again = type(made)(**given)
    _need(made.__dict__.keys() == again.__dict__.keys(), made, "state")


def _dense(made: Any) -> None:
    from linnet.estimators.sequential.layers import Regularizer
    from linnet.heads.activations import Activation
    from linnet.model.initialise import check_initialiser

    _need(isinstance(made.activation, Activation), made, "activation")
    _need(fits(made.kernel_regularizer, Regularizer | None) and fits(made.use_bias, bool), made, "kernel_regularizer")
    _need(fits(made.columns, int | None), made, "columns")
    check_initialiser(made.kernel_initializer)
    made.to_layer(0.0)


def _dropout(made: Any) -> None:
    _need(fits(made.rate, float) and 0 <= made.rate < 1 and fits(made.columns, int | None), made, "rate")


def _stack(made: Any) -> None:
    from linnet.estimators.sequential.layers import Dense, Dropout

    _need(fits(made.layers, list[Dense | Dropout]) and fits(made.columns, int | None), made, "layers")


def _sequential(made: Any) -> None:
    from linnet.estimators.sequential.losses import Loss
    from linnet.estimators.sequential.stack import Stack
    from linnet.fit.loop.optimizers import Optimizer

    if made._network is not None or made._theta is not None:
        _parameters_of(made, made._network, made._theta)
    _need(isinstance(made._stack, Stack) and fits(made.seed, int) and 0 <= made.seed < 2**64, made, "stack")
    _need(fits(made._optimizer, Optimizer | None) and fits(made._loss, Loss | None), made, "loss")
    _need(fits(made._metrics, list[str]), made, "metrics")
    if made._network is not None and made._loss is not None:
        head = made._loss.head(made._stack.dense()[-1].activation).with_parameter(made._network.head.parameter)
        _need(made._network == made._stack.network(head), made, "network")


def _constant(made: Any) -> None:
    if "mean_" in made.__dict__:
        _need(fits(made.mean_, NDArray[np.float64]) and made.mean_.ndim == 1 and len(made.mean_), made, "mean_")
    _need(not made.classes or "mean_" not in made.__dict__ or made.classes_.shape == made.mean_.shape, made, "classes_")


def _stacked(made: Any) -> None:
    _need(made.coef.shape == (*made.biases.shape, _coefficients(made.encoder)), made, "coef")
    _need(made.biases.ndim == 1 and made.iterations.shape == made.biases.shape, made, "biases")


def _separate(made: Any) -> None:
    _need(len(made.each) == len(made.reliable) and made.usual.shape == (len(made.each),), made, "each")
    _need(all(isinstance(one, float | Classifier) for one in made.each), made, "each")
    _need(all(fits(one, list[float] | None) for one in made.reliable), made, "reliable")


def _label_tree(made: Any) -> None:
    """Its nodes must be a tree: native code walks down from the first one."""
    if "learners_" not in made.__dict__:
        return
    children, classes = made.children_, len(made.classes_)
    _need(fits(children, NDArray[np.int32]) and children.shape == (classes - 1, 2), made, "children_")
    _need(sorted(children.ravel().tolist()) == [*range(-classes, 0), *range(1, classes - 1)], made, "children_")
    _need((children[:, :] > np.arange(classes - 1)[:, None]).sum() == max(0, classes - 2), made, "children_")
    _need(made.learners_.count == classes - 1, made, "learners_")


def _output_code(made: Any) -> None:
    if "learners_" in made.__dict__:
        book = made.code_book_
        _need(fits(book, NDArray[np.int8]) and np.isin(book, (-1, 0, 1)).all(), made, "code_book_")
        _need(book.shape == (len(made.classes_), made.learners_.count), made, "code_book_")


def _reduction(made: Any) -> None:
    if "learners_" not in made.__dict__:
        return
    bases = {kind.__name__ for kind in type(made.learners_).__mro__}
    _need("Learners" in bases and made.classes_.ndim == 1 and len(made.classes_), made, "learners_")
    classes, name = len(made.classes_), type(made).__name__
    wanted = {"OneVsOneClassifier": classes * (classes - 1) // 2}
    if name == "OneVsRestClassifier":
        _need(fits(made.label_table_, bool) and fits(made.seed_, int), made, "label_table_")
        wanted[name] = classes if made.label_table_ or classes > 2 else classes - 1
    _need(made.learners_.count == wanted.get(name, made.learners_.count), made, "learners_")


def _threshold(made: Any) -> None:
    if "classes_" in made.__dict__:
        for name, number in {"positive_": made.positive_, "negative_": made.negative_}.items():
            none = number is None and name == "negative_"
            _need(none or (fits(number, int) and 0 <= number < len(made.classes_)), made, name)


def _table_network(made: Any) -> None:
    _need(made.classes_ is None or made.classes_.ndim == 1, made, "classes_")
    _need(fits(made.hidden, list[int] | tuple[int, ...]), made, "hidden")


def _column(made: "Column") -> None:
    from linnet.tables.kinds import Kind, check_read

    least = 1 if made.kind is Kind.TEXT and made.used else 0
    _need(least <= made.bins <= _MOST_BINS and made.missing >= 0 and made.distinct >= 0, made, "bins")
    check_read(made)


def _schema(made: Any) -> None:
    columns = [column.name for column in (*made.columns, *([] if made.target is None else [made.target]))]
    _need(len({*columns}) == len(columns), made, "columns")
    _need(made.task is None or made.target is not None, made, "task")
    assert made.types is not None  # all of them are known to pyarrow


def _table_model(made: "TableModel") -> None:
    from linnet.tables.task import Task

    _need(made.schema.target is not None and made.schema.target.name == made.roles.target, made, "schema")
    _need(made.task == made.schema.task, made, "task")
    _need(made.task.has_classes == (made.classes is not None), made, "classes")
    if made.classes is not None:
        _need(made.classes.ndim == 1 and np.array_equal(made.classes, made.estimator.classes_), made, "classes")
    _need(made.threshold is None or (made.task is Task.TWO_CLASSES and 0 <= made.threshold <= 1), made, "threshold")
    _need(made.variance is None or made.variance >= 0, made, "variance")


_CHECKS: dict[str, Callable[[Any], None]] = {
    "Column": _column,
    "ConstantModel": _constant,
    "Dense": _dense,
    "Dropout": _dropout,
    "Encoder": _encoder,
    "LabelTreeClassifier": _label_tree,
    "Level": _level,
    "LinearModel": _linear,
    "NetworkEstimator": _network_estimator,
    "Numbers": _numbers,
    "OutputCodeClassifier": _output_code,
    "Perceptron": _perceptron,
    "Preparer": _preparer,
    "Reduction": _reduction,
    "Schema": _schema,
    "SeparateLearners": _separate,
    "SequentialModel": _sequential,
    "Stack": _stack,
    "StackedLogistic": _stacked,
    "TableModel": _table_model,
    "TableNetwork": _table_network,
    "ThresholdClassifier": _threshold,
    **{known.__name__: _rebuilt for known in OPTIMIZERS.values()},
}


# ---- the whole ----


def check_answers(model: Any, size: int) -> None:
    """Ask a fitted model, from a file of so many bytes, about a row; an error is the file's."""
    x: Any
    if hasattr(model, "schema"):
        x = _table_row(model)
    elif isinstance(model, Estimator):
        if not model.__sklearn_is_fitted__():
            return
        x = _row(model, size)
    elif getattr(model, "_network", None) is not None:
        x = _zeros(model._network.inputs, size)
    else:
        return  # a Sequential that has no parameters yet
    with np.errstate(all="ignore"):
        for method in _METHODS:
            lacking = method == "predict_proba" and not getattr(model, "has_proba", True)
            if hasattr(model, method) and not lacking:
                _need(len(getattr(model, method)(x)) == 1, model, method)


def _zeros(width: int, size: int) -> Array:
    if not 0 < width <= size:
        raise FormatError(f"it has {width} columns, and {size:,} bytes to say what it does with them")
    return np.zeros((1, width))


def _row(model: Estimator, size: int) -> Any:
    """A row as the model takes it: of an array, or of a data frame with the columns and levels that it knows."""
    encoder = _encoder_of(model)
    zeros = _zeros(model.n_features_in_, size)
    if encoder is None or encoder.kind != "frame":
        return zeros
    import pyarrow as pa

    levels, zero = _known_levels(encoder), pa.array([0.0])
    return pa.table({name: [levels[name]] if name in levels else zero for name in encoder.names or ()})


def _known_levels(encoder: Encoder | None) -> dict[str, Any]:
    """A level of each column that has levels, one that stands for nothing else."""
    found = {}
    for level in () if encoder is None else encoder.levels:
        found[level.column] = next((value for value in level.values if value not in (None, "(other)")), None)
    return found


def _encoder_of(model: Any) -> Encoder | None:
    """The encoder of a model, or of those inside."""
    for name in ("_encoder", "encoder", "estimator_", "learners_"):
        part = getattr(model, name, None)
        if isinstance(part, Encoder):
            return part
        if part is not None:
            return _encoder_of(part)
    return next((_encoder_of(one) for one in getattr(model, "each", ()) if not isinstance(one, float)), None)


def _table_row(model: "TableModel") -> Any:
    """A row of a table with all columns that prediction reads."""
    import pyarrow as pa

    from linnet.tables.kinds import Kind

    levels, types = _known_levels(_encoder_of(model.estimator)), model.schema.types
    found = {}
    for column in model.schema.used:
        type_ = types[column.name]
        first = datetime.fromisoformat(column.start) if column.kind is Kind.DATE else None
        value: Any = {Kind.NUMBER: 0, Kind.BOOLEAN: False, Kind.DATE: first}.get(column.kind, levels.get(column.name))
        if column.style:
            value = "0" if first is None else first.strftime(column.style)
        elif pa.types.is_time(type_) or pa.types.is_duration(type_):
            value = time(0) if pa.types.is_time(type_) else timedelta(0)
        found[column.name] = pa.array([value], type_)
    return pa.table({**found, **{name: pa.array([1.0]) for name in model.roles.shifts.values()}})
