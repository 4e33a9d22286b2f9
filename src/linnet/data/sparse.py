"""Sparse matrices of SciPy in CSR format, validated first: SciPy's own conversions trust every index."""

from typing import Any

import numpy as np
import scipy

from linnet.errors import DataError

_COMPRESSED = ("csr", "csc", "bsr")


def is_sparse(x: object) -> bool:
    """Return whether an object is a sparse matrix or array of SciPy."""
    return hasattr(x, "tocsr") and scipy.sparse.issparse(x)


def as_csr(x: object, name: str) -> "scipy.sparse.csr_array[Any]":
    """Return a validated sparse matrix in CSR format, without a copy if it is in CSR format already."""
    matrix: scipy.sparse.csr_array[Any] = _validated(x, name)
    return matrix


def check_sparse(x: object, name: str) -> Any:
    """Return a sparse matrix as it is, or raise a DataError if it is invalid."""
    _validated(x, name)
    return x


def _validated(x: Any, name: str) -> Any:
    """Return the matrix in CSR format, with SciPy's index types, or raise a DataError if it is invalid."""
    if x.ndim != 2:
        raise DataError(f"{name} must be two-dimensional, got shape {x.shape}")
    if x.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} has type {x.dtype}: it must hold numbers")
    if x.dtype.kind not in "biuf":
        raise DataError(f"{name} must hold numbers, got a sparse matrix of type {x.dtype}")
    try:
        return scipy.sparse.csr_array(_checked(x))
    except (AttributeError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(f"{name} is an invalid sparse matrix: {error}") from None


def as_dense(y: object, name: str = "y") -> Any:
    """Return a sparse matrix as an array, and anything else as it is."""
    if is_sparse(y):
        return as_csr(y, name).toarray()
    return y.toarray() if hasattr(y, "toarray") else y


def _checked(x: Any) -> Any:
    """Return the matrix; raise a ValueError if its conversion would access memory outside its arrays."""
    rows, columns = x.shape
    if x.format in _COMPRESSED:
        matrix: Any = getattr(scipy.sparse, f"{x.format}_array")(x)
        matrix.check_format(full_check=True)
        if (np.diff(matrix.indptr) < 0).any():
            raise ValueError("indptr must not decrease")
        return matrix
    if x.format == "coo":
        _check_indices(x.row, rows, len(x.data), "row")
        _check_indices(x.col, columns, len(x.data), "column")
    elif x.format == "dok":
        for row, column in list(x.keys()):
            if not (0 <= row < rows and 0 <= column < columns):
                raise ValueError(f"entry in row {row}, column {column} is outside the shape ({rows}, {columns})")
    elif x.format == "lil":
        lengths = [len(each) for each in x.rows]
        if len(lengths) != rows or lengths != [len(each) for each in x.data]:
            raise ValueError("the numbers of column indices and of entries differ in a row")
        _check_indices(
            np.array([index for each in x.rows for index in each], np.int64), columns, sum(lengths), "column"
        )
    elif x.format == "dia" and (x.data.ndim != 2 or x.offsets.shape != x.data.shape[:1]):
        raise ValueError(f"{x.data.shape} entries for {len(x.offsets)} diagonals")
    return x


def _check_indices(indices: Any, size: int, entries: int, what: str) -> None:
    if indices.shape != (entries,) or indices.dtype.kind not in "iu":
        raise ValueError(f"{indices.shape} {what} indices of type {indices.dtype} for {entries} entries")
    wrong = (indices < 0) | (indices >= size)
    if wrong.any():
        entry = int(wrong.argmax())
        raise ValueError(f"entry {entry} has the {what} index {indices[entry]}, but the matrix has {size} {what}s")
