"""scikit-learn's estimator interface, without loading scikit-learn, which takes longer than most fits.

Parameters, tags, metadata requests and names of columns follow its developer's guide; its own classes are imported only
where they are needed (docs/decisions/0010-without-base-estimator.md).
"""

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache, wraps
from types import MappingProxyType, MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from linnet.arrays import ArrayLike, Table, Targets
from linnet.data.encoder import AT_ONCE, Encoder
from linnet.data.sparse import as_dense
from linnet.data.table import Array
from linnet.data.targets import as_array, as_values, as_weights
from linnet.errors import ConfigError, DataError, DataTypeError, DataWarning, known_as, warn
from linnet.evaluate.metric import Compared
from linnet.evaluate.metrics import r2
from linnet.export.saved import Saved, changed_since, check_width
from linnet.registry import need, need_types
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs

_NAMES_SHOWN = 5  # names in a message
# Parameters that change no result: the same run gives the same bytes on any number of threads and under any path.
NO_RESULT = frozenset({"threads", "n_jobs", "verbose", "checkpoint"})
_NOT_IN_FILES = NO_RESULT | {"_metadata_request"}
_FORMER_NAMES = {"gaps": "missing"}  # of parameters: still accepted, and the names in files
_Fit = TypeVar("_Fit", bound=Callable[..., Any])


@cache
def parameters(model: type) -> Mapping[str, Any]:
    """Return the parameters of the constructor, by name, with their defaults."""
    given = list(inspect.signature(model.__init__).parameters.values())[1:]  # type: ignore[misc]
    defaults = {each.name: each.default for each in given if each.kind is not each.VAR_KEYWORD}
    return {name: defaults[name] for name in sorted(defaults)}


@cache
def inherited(model: type) -> Mapping[str, Any]:
    """Return the parameters of the constructors of a class and its bases: a subclass may have fewer of its own."""
    defaults: dict[str, Any] = {}
    for kind in reversed(model.__mro__[:-1]):
        if "__init__" in vars(kind):
            defaults |= parameters(kind)
    return defaults


@cache
def metadata(model: type, method: str) -> tuple[str, ...]:
    """Return the names of the metadata of a method: its parameters other than the table and the targets."""
    function = getattr(model, method, None)
    given = [] if function is None else list(inspect.signature(function).parameters.values())[1:]
    names = (each.name for each in given if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD))
    return tuple(sorted(name for name in names if name not in ("X", "y")))


class _Request:
    """`set_<method>_request` of scikit-learn's metadata routing, if the method takes metadata."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.method = name, name.removeprefix("set_").removesuffix("_request")

    def __get__(self, model: "Estimator | None", owner: type) -> Callable[..., Any]:
        known = metadata(owner, self.method)
        if not known:
            raise AttributeError(f"{owner.__name__!r} has no {self.name}: its {self.method} takes no metadata")

        def request(model: "Estimator", **wanted: bool | str | None) -> "Estimator":
            from sklearn import get_config
            from sklearn.utils.metadata_routing import UNCHANGED

            if not get_config()["enable_metadata_routing"]:
                raise RuntimeError(
                    "This method is only available when metadata routing is enabled. You can enable it using "
                    "sklearn.set_config(enable_metadata_routing=True)."
                )
            if unknown := set(wanted) - set(known):
                raise TypeError(f"Unexpected args: {unknown} in {self.method}. Accepted arguments are: {set(known)}")
            requests = Estimator.get_metadata_routing(model)  # its own, also of one that passes metadata on
            for name, alias in wanted.items():
                if alias is not UNCHANGED:
                    getattr(requests, self.method).add_request(param=name, alias=alias)
            model._metadata_request = requests
            return model

        request.__name__ = self.name
        request.__doc__ = f"""Set which metadata meta-estimators pass to `{self.method}`: {", ".join(known)}.

        True: pass it if it is given; False: never; None: giving it is an error; a string: pass what is given by that
        name. Needs sklearn.set_config(enable_metadata_routing=True).
        """
        return request if model is None else MethodType(request, model)


def _accepts_former_names(init: Callable[..., None], names: Mapping[str, str]) -> Callable[..., None]:
    """Return a constructor that also takes parameters by their former names, with a DeprecationWarning."""

    @wraps(init)
    def accepting(self: Any, *values: Any, **params: Any) -> None:
        for former, name in names.items():
            if former in params:
                if name in params:
                    raise ConfigError(f"{former} is now called {name}: give one of them")
                params[name] = _former_value(type(self), former, params.pop(former))
        init(self, *values, **params)

    return accepting


def _former_value(model: type, former: str, value: Any) -> Any:
    warn(f"the parameter {former} of {model.__name__} is now called {_FORMER_NAMES[former]}", DeprecationWarning)
    return value


class _FormerName:
    """An attribute under its former name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            raise AttributeError(self._name)
        return _former_value(owner, self._name, getattr(model, _FORMER_NAMES[self._name]))

    def __set__(self, model: Any, value: Any) -> None:
        setattr(model, _FORMER_NAMES[self._name], _former_value(type(model), self._name, value))


def _former_names(current: Container[str]) -> dict[str, str]:
    """Return the new names by the former ones, of those that are among the parameters."""
    return {former: name for former, name in _FORMER_NAMES.items() if name in current}


def _renamed(state: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return parameters and attributes under other names, also those of the fit."""
    renamed = {names.get(name, name): value for name, value in state.items()}
    if "_fit_params" in renamed:
        renamed["_fit_params"] = {names.get(name, name): value for name, value in renamed["_fit_params"].items()}
    return renamed


class Estimator(Saved, ABC):
    """A model whose parameters are those of its constructor, kept unchanged under their names."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _encoder: Any  # of its tables, if it has one
    _metadata_request: Any
    _file_types: ClassVar[Mapping[str, Any]] = {  # of what fits leave; subclasses add to it
        "n_features_in_": int,
        "_fit_params": dict[str, Any],
    }
    _fit_params: Mapping[str, Any] = MappingProxyType({})  # of the last fit; files have them only if they differ

    set_fit_request = _Request()
    set_partial_fit_request = _Request()
    set_predict_request = _Request()
    set_predict_proba_request = _Request()
    set_predict_log_proba_request = _Request()
    set_decision_function_request = _Request()
    set_score_request = _Request()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            names = _former_names(parameters(cls))
            if names:
                cls.__init__ = _accepts_former_names(cls.__init__, names)  # type: ignore[method-assign]
            for former in names:
                setattr(cls, former, _FormerName(former))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _FORMER_NAMES]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the estimator.

        Parameters
        ----------
        deep : bool, default=True
            Include the parameters of parameters that are estimators, as name__parameter.

        Returns
        -------
        dict
            Values by name.
        """
        params: dict[str, Any] = {}
        for name in parameters(type(self)):
            value = params[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{inner}": part for inner, part in value.get_params().items()}
        return params

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Set the parameters of a constructor, its `locals()`, as attributes."""
        self.__dict__.update((name, value) for name, value in given.items() if name not in ("self", "__class__"))

    @property
    def _params(self) -> dict[str, Any]:
        """The parameters of all constructors, also of a base class whose subclass has fewer."""
        return {name: getattr(self, name) for name in inherited(type(self)) if hasattr(self, name)}

    def _keep_params(self) -> None:
        """Record the parameters of a fit: parameters that are set later take effect at the next fit."""
        self._fit_params = {name: value for name, value in self._params.items() if name not in NO_RESULT}

    def _fitted_with(self, name: str) -> Any:
        """Return the value of a parameter in the fit."""
        return self._fit_params.get(name, getattr(self, name))

    def _as_fitted(self) -> Self:
        """Return the model with the parameters of its fit: itself, unless some were set since."""
        if not changed_since(self._fit_params, self.__dict__):
            return self
        found = object.__new__(type(self))
        found.__dict__ = {**self.__dict__, **self._fit_params}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator.

        Parameters
        ----------
        **params
            Values by name; those of a parameter that is an estimator as name__parameter.

        Returns
        -------
        self
            The estimator.
        """
        nested: dict[str, dict[str, Any]] = {}
        for given, value in params.items():
            name, inside, inner = given.partition("__")
            if name not in parameters(type(self)) and _FORMER_NAMES.get(name) in parameters(type(self)):
                name = _FORMER_NAMES[_former_value(type(self), name, name)]
            if name not in parameters(type(self)):
                known = list(parameters(type(self)))
                raise ConfigError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known!r}.")
            if inside:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, inner_params in nested.items():
            getattr(self, name).set_params(**inner_params)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state from a file, with defaults for parameters that are newer than the file."""
        self.__dict__.update({**parameters(type(self)), **_renamed(state, _former_names(inherited(type(self))))})

    def _file_state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.__getstate__() or {}  # type: ignore[assignment]
        state = {name: value for name, value in state.items() if name not in _NOT_IN_FILES}
        if given := changed_since(state.pop("_fit_params", {}), state):
            state["_fit_params"] = given  # what was fitted is what counts
        return _renamed(state, {name: former for former, name in _former_names(inherited(type(self))).items()})

    def _check_file(self) -> None:
        for kind in type(self).__mro__:
            need_types(self, vars(kind).get("_file_types", {}))
        need({*self._fit_params} <= {*inherited(type(self))} - NO_RESULT, self, "_fit_params")
        names = self.__dict__.get("feature_names_in_", np.empty(0, object))
        need(isinstance(names, np.ndarray) and fits(names.tolist(), list[str]), self, "feature_names_in_")

    def _check_outputs(self, outputs: int, *, several: bool = False) -> None:
        """Refuse an estimator from a file that cannot have `outputs` outputs.

        `several`: rows may have several labels.
        """

    def _input_encoder(self) -> Encoder | None:
        """Return the encoder of the model's tables, if it is known."""
        return None

    def _by_epoch(self) -> Mapping[str, Sequence[float]]:
        """Return losses and metrics by epoch, by name, if the model is trained by epochs."""
        return {}

    def _made_up_row(self, size: int) -> Any:
        if not self.__sklearn_is_fitted__():
            return None
        check_width(self.n_features_in_, size)
        encoder, wide = self._input_encoder(), self.n_features_in_ > AT_ONCE
        if encoder is None or encoder.kind != "frame":
            return encoder.row_of_zeros() if wide and encoder is not None else np.zeros((1, self.n_features_in_))
        import pyarrow as pa

        zero = pa.array([0.0])
        for part in encoder.parts():  # a row of all columns would take more memory than the model
            levels = part.known_levels()
            row = pa.table({name: [levels[name]] if name in levels else zero for name in part.names or ()})
            if not wide:
                return row
            part.encode_table(row)
        return encoder.row_of_zeros()

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a function of raw columns to an ONNX file: see docs/guide/tables.md. Needs onnx.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced once the new one is complete.
        """
        check_fitted(self)
        super().to_onnx(path)

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        """Add the model to an ONNX graph."""
        raise ConfigError(f"{type(self).__name__} has no form in ONNX")

    def __repr__(self) -> str:
        name, defaults = type(self).__name__, parameters(type(self))
        changed = [
            f"{parameter}={value!r}"
            for parameter, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[parameter])
        ]
        line, lines = ", ".join(changed), (",\n" + " " * (len(name) + 1)).join(changed)
        return f"{name}({line if len(name + line) < 79 else lines})"

    def _repr_html_(self) -> str | None:
        """Return scikit-learn's diagram for notebooks, unless it is set to show text."""
        from sklearn import get_config
        from sklearn.utils import estimator_html_repr

        return estimator_html_repr(self) if get_config()["display"] == "diagram" else None

    def _get_params_html(self, *how: Any, **by_name: Any) -> Any:
        """Return the table of parameters in the diagram."""
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_params_html(self, *how, **by_name)

    def _get_fitted_attr_html(self, *how: Any, **by_name: Any) -> Any:
        """Return the table of fitted attributes in the diagram."""
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_fitted_attr_html(self, *how, **by_name)

    def get_metadata_routing(self) -> Any:
        """Return the requested metadata, as scikit-learn's MetadataRequest."""
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if hasattr(self, "_metadata_request"):
            return get_routing_for_object(self._metadata_request)
        requests = MetadataRequest(owner=type(self).__name__)
        for each in vars(Estimator).values():
            if isinstance(each, _Request):
                for name in metadata(type(self), each.method):
                    getattr(requests, each.method).add_request(param=name, alias=None)
        return requests

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))


class Classifier(Estimator):
    """An estimator that predicts classes."""

    _file_types: ClassVar[Mapping[str, Any]] = {"classes_": NDArray[Any]}

    def _check_outputs(self, outputs: int, *, several: bool = False) -> None:
        count = 2 if outputs == 1 and not several else outputs
        need(self.__dict__["classes_"].shape == (count,), self, "classes_")

    @abstractmethod
    def predict(self, X: Table) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.

        Returns
        -------
        array
            One class per row.
        """

    def score(self, X: Table, y: Targets, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of rows classified correctly; with several labels per row, all must be right.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        y : array of one class per row
            Their actual classes.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.

        Returns
        -------
        float
            From 0 to 1.
        """
        return accuracy(y, self.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


class Regressor(Estimator):
    """An estimator that predicts values."""

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags


def prepared_encoder_of(model: object) -> Any:
    """Return the encoder that makes a model's columns from a table; None if the model takes tables unchanged."""
    return getattr(model, "_encoder", None)


def encoder_of(model: object) -> Encoder | None:
    """Return the encoder of a model's tables; None for a model without one, or that is not linnet's."""
    return model._input_encoder() if isinstance(model, Estimator) else None


def history_of(model: object) -> Mapping[str, Sequence[float]]:
    """Return losses and metrics by epoch, by name, of a model that was trained by epochs, else an empty mapping."""
    return model._by_epoch() if isinstance(model, Estimator) else {}


def check_fitted(model: Estimator) -> None:
    """Raise scikit-learn's NotFittedError for a model that has not been fitted yet."""
    if model.__sklearn_is_fitted__():
        return
    from sklearn.exceptions import NotFittedError

    raise NotFittedError(
        f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using "
        "this estimator."
    )


class _AvailableIf:
    """A method that only some models of a class have."""

    def __init__(self, condition: Callable[[Any], bool], method: Callable[..., Any]) -> None:
        self._condition, self._method = condition, method
        self.__doc__ = method.__doc__

    def __get__(self, model: object, owner: type) -> Any:
        if model is None:
            return self._method
        if not self._condition(model):
            raise AttributeError(f"This {owner.__name__!r} has no attribute {self._method.__name__!r}")
        return MethodType(self._method, model)


def available_if(condition: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a method that a model has only if a condition on it holds."""
    return lambda method: _AvailableIf(condition, method)


class _WeighedIf:
    """A `fit` with `sample_weight` in its signature for some models only; others refuse it."""

    def __init__(self, condition: Callable[[Any], bool], method: Callable[..., Any]) -> None:
        self._condition, self._method = condition, method
        self.__doc__ = method.__doc__

        @wraps(method)
        def unweighed(*given: Any, **by_name: Any) -> Any:
            return method(*given, **by_name)

        shown = inspect.signature(method)
        kept = [each for name, each in shown.parameters.items() if name != "sample_weight"]
        unweighed.__signature__ = shown.replace(parameters=kept)  # type: ignore[attr-defined]
        self._unweighed = unweighed

    def __get__(self, model: object, owner: type) -> Any:
        if model is None:
            return self._method
        return MethodType(self._method if self._condition(model) else self._unweighed, model)


def weighed_if(condition: Callable[[Any], bool]) -> Callable[[_Fit], _Fit]:
    """Decorate the fit of a model that wraps an estimator.

    scikit-learn's tools read from its signature whether rows may have weights, which depends on the inner estimator.
    """

    def decorate(method: _Fit) -> _Fit:
        return cast(_Fit, _WeighedIf(condition, method))

    return decorate


def check_estimator(estimator: Any) -> None:
    """Raise a ConfigError unless this is something to clone and to fit."""
    if isinstance(estimator, type) or not callable(getattr(estimator, "fit", None)):
        raise ConfigError(f"estimator must be a classifier, such as LogisticRegression(), got {estimator!r}")


def takes_weights(estimator: Any) -> bool:
    """Return whether an estimator's fit has a `sample_weight`."""
    fit = getattr(estimator, "fit", None)
    return fit is None or "sample_weight" in inspect.signature(fit).parameters


# ---- feature names ----


def check_form(model: Estimator, X: Any, *, reset: bool, name: str = "X") -> None:
    """Keep the number and the names of the columns (`reset`), or compare them with those of the fit."""
    if isinstance(X, list | tuple):
        X = np.array(X[:1], dtype=object)  # one row is enough
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple):
        shape = np.asarray(X).shape
    if len(shape) != 2:
        return  # the error is raised elsewhere
    names = column_names(X)
    if reset:
        model.n_features_in_ = shape[1]
        model.__dict__.pop("feature_names_in_", None)
        if names is not None:
            model.feature_names_in_ = names
        return
    who, known = type(model).__name__, getattr(model, "feature_names_in_", None)
    if names is not None and known is None:
        warn(f"{name} has feature names, but {who} was fitted without feature names", UserWarning)
    elif names is None and known is not None:
        warn(f"{name} does not have valid feature names, but {who} was fitted with feature names", UserWarning)
    elif names is not None and known is not None and names.tolist() != known.tolist():
        raise DataError(_other_names(set(known), set(names)))
    if shape[1] != model.n_features_in_:
        raise DataError(
            f"{name} has {shape[1]} features, but {who} is expecting {model.n_features_in_} features as input."
        )


def column_names(X: Any) -> NDArray[Any] | None:
    """Return the names of a data frame's columns, of any library, if they are text."""
    given = getattr(X, "column_names", None)  # pyarrow's
    names = np.array(list(getattr(X, "columns", ()) if given is None else given), dtype=object)
    kinds = sorted({type(name).__name__ for name in names})
    if len(kinds) > 1 and "str" in kinds:
        raise DataTypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{kinds} as feature name / column name types: use X.columns = X.columns.astype(str)"
        )
    return names if kinds == ["str"] else None


def _other_names(known: set[str], given: set[str]) -> str:
    lines = ["The feature names should match those that were passed during fit."]
    unseen, missing = given - known, known - given
    for title, names in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", missing)):
        if names:
            lines += [f"Feature names {title}:", *(f"- {name}" for name in sorted(names)[:_NAMES_SHOWN])]
            lines += ["- ..."] * (len(names) > _NAMES_SHOWN)
    if not (unseen or missing):
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join([*lines, ""])


# ---- scores ----


def accuracy(y: object, predicted: Array, sample_weight: object = None) -> float:
    """Return the share of rows classified correctly; with several labels per row, all must be right."""
    target: Array = as_array(as_dense(y), "y")
    if target.ndim == 2 and target.shape[1] == 1 and predicted.ndim == 1:
        target = target[:, 0]
    alike = target.shape == predicted.shape and len(target) > 0 and is_text(target) == is_text(predicted)
    if not alike or not is_discrete(target) or (target.ndim == 2 and not np.isin(target, (0, 1)).all()):
        from sklearn.metrics import accuracy_score  # it accepts more forms, and raises its own errors

        try:
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        except (TypeError, ValueError) as error:
            raise DataError(f"y cannot be compared with the predictions: {error}") from error
    correct = (target == predicted).reshape(len(target), -1).all(axis=1)
    return Compared(target, predicted, weights=_weights(sample_weight, len(correct))).mean(correct)


def r_squared(y: object, predicted: Array, sample_weight: object = None) -> float:
    """Return 1 - squared error / squared error of the weighted mean, averaged over targets."""
    rows = len(predicted)
    mean = predicted.reshape(rows, -1)
    values = as_values(y, mean.shape[1], np.float64, rows=rows, table="X")
    weights = _weights(sample_weight, rows)
    if rows < 2:
        category = known_as("UndefinedMetricWarning", DataWarning)
        warn("R^2 score is not well-defined with less than two samples.", category)
        return float("nan")
    return r2(Compared(values, mean, weights=weights))


def is_text(target: Array) -> bool:
    """Return whether the target holds text, by its type."""
    return target.dtype.kind in "UO"


def is_discrete(target: Array) -> bool:
    """Return whether the target holds only integers, booleans or text: certainly classes."""
    if target.dtype.kind == "f":
        return bool((np.isfinite(target) & (target == np.floor(target))).all())
    if target.dtype.kind == "O":
        return all(isinstance(value, str) for value in target.flat)
    return target.dtype.kind in "biuU"


def _weights(sample_weight: object, rows: int) -> NDArray[np.float64] | None:
    return None if sample_weight is None else as_weights(sample_weight, np.float64, rows=rows, table="X")
