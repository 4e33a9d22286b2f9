"""The form of a table: how many columns it has, and their names, as scikit-learn's estimators keep and compare them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import DataError, DataTypeError, warn
from linnet.estimators.base import Estimator

_SHOWN = 5  # names in a message


def check_form(model: Estimator, X: Any, *, reset: bool, name: str = "X") -> None:
    """Keep the number and the names of the columns (`reset`), or compare them with those kept."""
    if isinstance(X, list | tuple):
        X = np.array(X[:1], dtype=object)  # one row tells
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    if len(shape) != 2:
        return  # what is wrong with it is said elsewhere
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
    """The names of a data frame's columns, of any library, if they are text."""
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
            lines += [f"Feature names {title}:", *(f"- {name}" for name in sorted(names)[:_SHOWN])]
            lines += ["- ..."] * (len(names) > _SHOWN)
    if not (unseen or missing):
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join([*lines, ""])
