"""What scikit-learn asks of an estimator, without loading scikit-learn, which takes longer than most fits.

Parameters, tags, requests for metadata and names of columns follow its developer's guide; its own classes are imported
where one of them is asked for (docs/decisions/0010-without-base-estimator.md).
"""

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from numpy.typing import NDArray

from linnet.errors import ConfigError
from linnet.estimators.saved import Saved
from linnet.estimators.scores import accuracy

if TYPE_CHECKING:
    from linnet.estimators.onnx_file import Answers
    from linnet.persist.onnx_columns import Inputs

_Fit = TypeVar("_Fit", bound=Callable[..., Any])


@cache
def parameters(model: type) -> Mapping[str, Any]:
    """The parameters of the constructor, by name, and their defaults."""
    given = list(inspect.signature(model.__init__).parameters.values())[1:]  # type: ignore[misc]
    defaults = {each.name: each.default for each in given if each.kind is not each.VAR_KEYWORD}
    return {name: defaults[name] for name in sorted(defaults)}


@cache
def inherited(model: type) -> Mapping[str, Any]:
    """The same with those of the classes it is made from: a subclass may have fewer of its own."""
    defaults: dict[str, Any] = {}
    for kind in reversed(model.__mro__[:-1]):
        if "__init__" in vars(kind):
            defaults |= parameters(kind)
    return defaults


@cache
def metadata(model: type, method: str) -> tuple[str, ...]:
    """What the method takes besides the table and the targets."""
    function = getattr(model, method, None)
    given = [] if function is None else list(inspect.signature(function).parameters.values())[1:]
    names = (each.name for each in given if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD))
    return tuple(sorted(name for name in names if name not in ("X", "y")))


class _Request:
    """`set_<method>_request` of scikit-learn's metadata routing, there if the method takes metadata."""

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
        request.__doc__ = f"""Say which metadata meta-estimators pass to `{self.method}`: {", ".join(known)}.

        True: if it is given; False: never; None: giving it is an error; a text: what is given by that name. Needs
        sklearn.set_config(enable_metadata_routing=True).
        """
        return request if model is None else MethodType(request, model)


class Estimator(Saved, ABC):
    """A model with parameters: all that its constructor takes, kept as they were given under their names."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _metadata_request: Any

    set_fit_request = _Request()
    set_partial_fit_request = _Request()
    set_predict_request = _Request()
    set_predict_proba_request = _Request()
    set_predict_log_proba_request = _Request()
    set_decision_function_request = _Request()
    set_score_request = _Request()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; `deep`: those of parameters that are estimators too, as name__parameter."""
        params: dict[str, Any] = {}
        for name in parameters(type(self)):
            value = params[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{inner}": part for inner, part in value.get_params().items()}
        return params

    @property
    def _params(self) -> dict[str, Any]:
        """What the constructors have kept, that of a subclass with fewer parameters and those behind it."""
        return {name: getattr(self, name) for name in inherited(type(self)) if hasattr(self, name)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of a parameter that is an estimator as name__parameter."""
        nested: dict[str, dict[str, Any]] = {}
        for given, value in params.items():
            name, inside, inner = given.partition("__")
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
        """Take what a file kept; of a parameter that is younger than the file the default."""
        self.__dict__.update({**parameters(type(self)), **state})

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a function of raw columns to an ONNX file: see docs/guide/tables.md. Needs onnx."""
        check_fitted(self)
        super().to_onnx(path)

    def _to_graph(self, inputs: "Inputs") -> "Answers":
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
        """scikit-learn's diagram for notebooks, unless it is told to show text."""
        from sklearn import get_config
        from sklearn.utils import estimator_html_repr

        return estimator_html_repr(self) if get_config()["display"] == "diagram" else None

    def _get_params_html(self, *how: Any, **by_name: Any) -> Any:
        """The table of parameters in that diagram."""
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_params_html(self, *how, **by_name)

    def _get_fitted_attr_html(self, *how: Any, **by_name: Any) -> Any:
        """The table of what was learned in that diagram."""
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_fitted_attr_html(self, *how, **by_name)

    def get_metadata_routing(self) -> Any:
        """Return which metadata are asked for, as scikit-learn's MetadataRequest."""
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

    @abstractmethod
    def predict(self, X: object) -> NDArray[Any]:
        """Return the class of each row."""

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the share of rows whose class, or all of whose labels, are predicted."""
        return accuracy(y, self.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


class Regressor(Estimator):
    """An estimator that predicts numbers."""

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags


def check_fitted(model: Estimator) -> None:
    """Raise scikit-learn's NotFittedError for a model that has learned nothing yet."""
    if model.__sklearn_is_fitted__():
        return
    from sklearn.exceptions import NotFittedError

    raise NotFittedError(
        f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using "
        "this estimator."
    )


class _AvailableIf:
    """A method that only some models have."""

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
    """Decorate a method that a model has if its parameters are such that the condition holds."""
    return lambda method: _AvailableIf(condition, method)


class _WeighedIf:
    """A `fit` that shows `sample_weight` for some models only; of the others it refuses it when it is given."""

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
    """Decorate the fit of a model around an estimator: scikit-learn's tools read from its signature whether rows may
    have weights, which depends on the estimator inside.
    """

    def decorate(method: _Fit) -> _Fit:
        return cast(_Fit, _WeighedIf(condition, method))

    return decorate


def takes_weights(estimator: Any) -> bool:
    """Whether its fit has a `sample_weight`."""
    fit = getattr(estimator, "fit", None)
    return fit is None or "sample_weight" in inspect.signature(fit).parameters
