"""The targets and the weights of rows: what each head takes, or an error that names the row."""

from typing import Any

import numpy as np
import pytest

from linnet.data.rows import Rows
from linnet.data.targets import as_labels, as_values, as_weights, check_values
from linnet.errors import DataError


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float64", ">i4"])
def test_labels_of_any_numeric_type(dtype: str) -> None:
    labels = as_labels(np.array([0, 2, 1], dtype), 3, rows=3)
    assert labels.dtype == np.int32
    assert labels.flags.c_contiguous
    assert labels.tolist() == [0, 2, 1]
    assert as_labels(np.array([[0], [2], [1]], dtype), 3, rows=3).tolist() == [0, 2, 1]


def test_labels_of_the_right_type_are_not_copied() -> None:
    y = np.array([0, 2, 1], np.int32)
    assert np.shares_memory(as_labels(y, 3, rows=3), y)
    assert as_labels([True, False], 2, rows=2).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 3], "y contains class 3 in row 2, but the model has 3 outputs: classes must be 0 to 2"),
        ([0, -1, 3], "y contains class -1 in row 1, but the model has 3 outputs"),
        ([0, 2**40, 0], "y contains class 1099511627776 in row 1, but"),
        ([0, 1.5, 1], "y contains 1.5 in row 1: class indices must be integers"),
        ([0, np.nan, 1], "y contains NaN in row 1: fill in or drop"),
        ([0, 1, np.inf], "y contains infinity in row 2: fill in or drop"),
        (["a", "b", "c"], "y has type <U1: it must hold class indices from 0 to 2"),
        ([0, 1], "y has 2 rows, but x has 3"),
        (np.zeros((3, 2)), "y must have one number per row, got shape \\(3, 2\\)"),
        (1, "y must have one entry per row, got the single value 1$"),
        ([[0], [1, 2], [0]], "y is not an array: its rows have different lengths"),
    ],
    ids=[f"case {i}" for i in range(11)],
)
def test_bad_labels_are_refused(y: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_labels(y, 3, rows=3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_of_the_right_type_are_not_copied(dtype: str) -> None:
    y = np.arange(6, dtype=dtype).reshape(3, 2)
    assert np.shares_memory(as_values(y, 2, dtype, rows=3), y)
    flat = np.arange(3, dtype=dtype)
    values = as_values(flat, 1, dtype, rows=3)
    assert values.shape == (3, 1)
    assert np.shares_memory(values, flat)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "y", [[[1, 2], [3, 4]], np.asfortranarray([[1.0, 2], [3, 4]]), np.array([[1, 2], [3, 4]], ">i2")]
)
def test_other_values_are_converted(y: Any, dtype: str) -> None:
    values = as_values(y, 2, dtype, rows=2)
    assert values.dtype == np.dtype(dtype)
    assert values.flags.c_contiguous
    assert values.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("y", "outputs", "message"),
    [
        ([[1, 2], [3, np.nan], [5, 6]], 2, "y contains NaN in row 1, column 1: fill in or drop"),
        ([1, 2, -np.inf], 1, "y contains minus infinity in row 2: fill in or drop"),
        ([1, 2], 1, "y has 2 rows, but x has 3"),
        (np.zeros((3, 2)), 1, "y has shape \\(3, 2\\), but the model has 1 output$"),
        (np.zeros(3), 2, "y has shape \\(3,\\), but the model has 2 outputs$"),
        (np.zeros((3, 2, 1)), 2, "y has shape \\(3, 2, 1\\), but the model has 2 outputs$"),
        (["a", "b", "c"], 1, "y has type <U1: it must hold numbers"),
        (np.zeros(3, complex), 1, "y has type complex128: it must hold numbers"),
        (None, 1, "y must have one entry per row, got the single value"),
        ([[0], [1, 2], [0]], 1, "y is not an array: its rows have different lengths"),
    ],
    ids=[f"case {i}" for i in range(10)],
)
def test_bad_values_are_refused(y: object, outputs: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_values(y, outputs, "float64", rows=3)


def test_values_out_of_range_are_named() -> None:
    small = np.array([[0.0, 1.0], [1.5, -2.0]])
    check_values(small, small < 2, "y", "reason")
    with pytest.raises(DataError, match=r"^y contains 1.5 in row 1, column 0: between 0 and 1 please$"):
        check_values(small, (small >= 0) & (small <= 1), "y", "between 0 and 1 please")
    with pytest.raises(DataError, match=r"^y contains -2 in row 1: reason$"):
        check_values(small[:, 1:], small[:, 1:] >= 0, "y", "reason")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights(dtype: str) -> None:
    w = np.array([0, 1.5, 2], dtype)
    assert np.shares_memory(as_weights(w, dtype, rows=3), w)
    assert as_weights([[0], [1], [2]], dtype, rows=3).tolist() == [0, 1, 2]
    assert as_weights([True, False, True], dtype, rows=3).dtype == np.dtype(dtype)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2.5, 1], "sample_weight contains -2.5 in row 1: weights must be at least 0"),
        ([1, 1, np.nan], "sample_weight contains NaN in row 2: fill in"),
        ([np.inf, 1, 1], "sample_weight contains infinity in row 0: fill in"),
        ([0, 0, 0], "sample_weight is zero for every row: at least one weight must be above 0"),
        ([1, 1], "sample_weight has 2 rows, but x has 3"),
        (np.ones((3, 2)), "sample_weight must have one number per row, got shape \\(3, 2\\)"),
        (["a", "b", "c"], "sample_weight has type <U1: it must hold numbers"),
        (2.0, "sample_weight must have one entry per row, got the single value"),
    ],
    ids=[f"case {i}" for i in range(8)],
)
def test_bad_weights_are_refused(weights: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_weights(weights, "float64", rows=3)


def test_targets_go_by_the_name_they_are_given() -> None:
    with pytest.raises(DataError, match=r"^validation y has 1 rows, but x has 3$"):
        as_labels([0], 2, rows=3, name="validation y")
    with pytest.raises(DataError, match=r"^validation y has shape"):
        as_values([0], 2, "float32", rows=3, name="validation y")
    with pytest.raises(DataError, match=r"^class weight contains -1 in row 0"):
        as_weights([-1], "float32", rows=1, name="class weight")


def test_rows_are_cut_without_copies() -> None:
    x, values, weights = np.ones((5, 2)), np.arange(5.0)[:, None], np.arange(1.0, 6.0)
    rows = Rows(x, values=values, weights=weights)
    part = rows[1:4]
    assert len(part) == 3
    assert part.labels is None
    assert np.shares_memory(part.x, x)
    assert part.targets().tolist() == [[1], [2], [3]]
    assert part.weight_sum == 2 + 3 + 4
    assert part.weighted(None).weight_sum == 3
    labels = np.arange(5, dtype=np.int32)
    assert Rows(x, labels=labels)[3:].targets().tolist() == [3, 4]
