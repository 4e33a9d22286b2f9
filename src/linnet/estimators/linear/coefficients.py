"""Conversion between `coef_` and `intercept_`, which users may set, and the weights and biases of predictions."""

from typing import Any

import numpy as np

from linnet._sklearn import Estimator, check_fitted
from linnet.data.encoder import Encoder
from linnet.data.sparse import as_dense
from linnet.data.table import check_unmasked
from linnet.errors import DataError
from linnet.fit.solvers.problem import Floats


class HasCoefficients(Estimator):
    """A model whose output is linear in its columns: z = x W + b, with W from `coef_` and b from `intercept_`."""

    coef_: Any  # predictions are computed from these two: users may set them
    intercept_: Any
    _encoder: Encoder

    @property
    def link_(self) -> str:
        """The link function, which maps the mean to z: "identity", "log" or "logit"."""
        return "identity"

    def get_feature_names_out(self) -> Any:
        """Return the name of each coefficient: that of its column, or column=level.

        Returns
        -------
        array of str
            One name per coefficient, in the order of `coef_`.
        """
        check_fitted(self)
        return np.array(self._encoder.coefficient_names, dtype=object)

    def _input_encoder(self) -> Encoder | None:
        return self.__dict__.get("_encoder")


def coefficient_shape(coef: Any) -> tuple[int, ...]:
    """Return the shape of `coef_` as (outputs, coefficients); it may be one-dimensional, or sparse."""
    shape = np.shape(coef)
    return (1, *shape) if len(shape) == 1 else shape


def as_coefficients(weights: Floats, encoder: Encoder) -> Floats:
    """Return `coef_` (outputs x coefficients, in the order of the user's columns) from weights (columns x outputs, in
    the core's order). The result is a transposed array, so that predictions need not copy it.
    """
    return weights[encoder.order()].T


def as_parameters(coef: Any, intercept: Any, encoder: Encoder, outputs: int | None) -> tuple[Floats, Floats]:
    """Return weights (columns x outputs, in the core's order) and biases (one per output).

    `coef` is outputs x coefficients, or one-dimensional for one output; `intercept` is one number per output, or one
    for all. `outputs`: the required number of outputs; None: any. The results may share memory with the arguments.
    """
    order = encoder.order() if encoder.levels or encoder.marked else None  # None: both orders are the same
    count = encoder.width if order is None else len(order)
    array = _numbers(as_dense(coef, "coef_"), "coef_")
    table = array[None] if array.ndim == 1 else array
    if table.ndim != 2 or table.shape[1] != count or outputs not in (None, len(table)) or not len(table):
        expected = f"{count} coefficients" + ("" if outputs in (None, 1) else f" for each of {outputs} outputs")
        raise DataError(f"coef_ must have {expected}, as after the fit, got shape {array.shape}")
    biases = _numbers(intercept, "intercept_")
    if biases.ndim > 1 or biases.size not in (1, len(table)):
        expected = "one number" + ("" if len(table) == 1 else f", or one for each of {len(table)} outputs")
        raise DataError(f"intercept_ must be {expected}, got shape {biases.shape}")
    weights: Floats = table.T
    if order is not None:
        weights = np.empty((count, len(table)))
        weights[order] = table.T
    return weights, np.ascontiguousarray(np.broadcast_to(biases.ravel(), len(table)))


def _numbers(array: Any, name: str) -> Floats:
    """Return an array that a user may have set as finite float64 numbers."""
    check_unmasked(array, name)
    try:
        values = np.asarray(array)
        if values.dtype.kind not in "biufO":
            raise TypeError(f"its type is {values.dtype}")
        values = values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers: {error}") from None
    if not np.isfinite(values).all():
        raise DataError(f"{name} holds {values[~np.isfinite(values)][0]}: it must hold finite numbers")
    return values
