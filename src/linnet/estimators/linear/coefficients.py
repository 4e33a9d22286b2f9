"""Between `coef_` and `intercept_`, which users may set, and the weights and biases that predictions are made from."""

from typing import Any

import numpy as np

from linnet._sklearn import Estimator, check_fitted
from linnet.data.encoder import Encoder
from linnet.data.sparse import as_dense
from linnet.data.table import check_unmasked
from linnet.errors import DataError
from linnet.fit.solvers.problem import Floats


class HasCoefficients(Estimator):
    """A model whose output is linear in its columns, z = x W + b of `coef_` and `intercept_`."""

    coef_: Any  # predictions are computed from these two: users may set them
    intercept_: Any
    _encoder: Encoder

    @property
    def link_(self) -> str:
        """What z is of the mean: "identity", "log" or "logit"."""
        return "identity"

    def get_feature_names_out(self) -> Any:
        """Return a name for every coefficient: the column's, or column=level."""
        check_fitted(self)
        return np.array(self._encoder.coefficient_names, dtype=object)

    def _input_encoder(self) -> Encoder | None:
        return self.__dict__.get("_encoder")


def coefficient_shape(coef: Any) -> tuple[int, ...]:
    """Outputs x coefficients of a `coef_` that may be one-dimensional, or sparse."""
    shape = np.shape(coef)
    return (1, *shape) if len(shape) == 1 else shape


def as_coefficients(weights: Floats, encoder: Encoder) -> Floats:
    """`coef_`, outputs x coefficients in the order of the user's columns, from weights, columns x outputs in the
    core's order; a transposed array, so that predictions need not copy it.
    """
    return weights[encoder.order()].T


def as_parameters(coef: Any, intercept: Any, encoder: Encoder, outputs: int | None) -> tuple[Floats, Floats]:
    """Weights, columns x outputs in the core's order, and biases, one per output, from `coef_` and `intercept_`.

    `coef_` is outputs x coefficients, or one-dimensional for one output; `intercept_` one number per output, or one
    for all. `outputs`: how many there must be; None: any number. The arrays may share memory with those given.
    """
    order = encoder.order() if encoder.levels or encoder.marked else None  # None: both orders are the same
    count = encoder.width if order is None else len(order)
    given = _numbers(as_dense(coef, "coef_"), "coef_")
    table = given[None] if given.ndim == 1 else given
    if table.ndim != 2 or table.shape[1] != count or outputs not in (None, len(table)) or not len(table):
        wanted = f"{count} coefficients" + ("" if outputs in (None, 1) else f" for each of {outputs} outputs")
        raise DataError(f"coef_ must have {wanted}, as after the fit, got shape {given.shape}")
    biases = _numbers(intercept, "intercept_")
    if biases.ndim > 1 or biases.size not in (1, len(table)):
        wanted = "one number" + ("" if len(table) == 1 else f", or one for each of {len(table)} outputs")
        raise DataError(f"intercept_ must be {wanted}, got shape {biases.shape}")
    weights: Floats = table.T
    if order is not None:
        weights = np.empty((count, len(table)))
        weights[order] = table.T
    return weights, np.ascontiguousarray(np.broadcast_to(biases.ravel(), len(table)))


def _numbers(given: Any, name: str) -> Floats:
    """An array that a user may have set, as finite numbers."""
    check_unmasked(given, name)
    try:
        values = np.asarray(given)
        if values.dtype.kind not in "biufO":
            raise TypeError(f"its type is {values.dtype}")
        values = values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers: {error}") from None
    if not np.isfinite(values).all():
        raise DataError(f"{name} holds {values[~np.isfinite(values)][0]}: it must hold finite numbers")
    return values
