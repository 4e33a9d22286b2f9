"""The inputs: read where they lie, or refused with the row and column at fault."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.table import as_table, check_finite, check_fits_float32
from linnet.errors import DataError

Array = NDArray[Any]


class Frame:
    """The relevant part of a data frame: columns with names, and an array."""

    def __init__(self, values: object, columns: list[str]) -> None:
        self.values = np.asarray(values)
        self.columns = columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.values if dtype is None else self.values.astype(dtype)


VIEWS: dict[str, Callable[[Array], Array]] = {
    "as it is": lambda x: x,
    "Fortran order": np.asfortranarray,
    "every second row": lambda x: x[::2],
    "every second column": lambda x: x[:, ::2],
    "backwards": lambda x: x[::-1, ::-1],
    "transposed": lambda x: x.T,
    "one row for all": lambda x: np.broadcast_to(x[0], (5, x.shape[1])),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("view", VIEWS)
def test_what_the_core_reads_is_not_copied(view: str, dtype: str) -> None:
    x = VIEWS[view](np.arange(24).reshape(4, 6).astype(dtype))
    table = as_table(x)
    assert np.shares_memory(table, x)
    assert table.dtype == x.dtype
    assert table.strides == x.strides


def test_a_table_of_truth_values_is_read_as_bytes() -> None:
    x = np.array([[True, False], [False, True]])
    table = as_table(x)
    assert table.dtype == np.uint8
    assert np.shares_memory(table, x)
    np.testing.assert_array_equal(table, [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        ("int8", "float32"),
        ("int16", "float32"),
        ("uint16", "float32"),
        ("float16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("uint64", "float64"),
        ("longdouble", "float64"),
        (">f4", "float64"),
        (">f8", "float64"),
        ("object", "float64"),
        ("str", "float64"),
    ],
)
def test_other_numbers_are_converted_without_loss(dtype: str, result: str) -> None:
    x = np.array([[1, 2], [3, 100]]).astype(dtype)
    table = as_table(x)
    assert table.dtype == np.dtype(result)
    assert table.dtype.isnative
    np.testing.assert_array_equal(table, [[1, 2], [3, 100]])


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", ">i4"])
def test_whole_numbers_take_the_smallest_type_that_holds_them(dtype: str) -> None:
    limits = np.iinfo(dtype)
    for values, result in (
        ([0, 255], "uint8"),
        ([0, 256], "float32"),
        ([-1, 255], "float32"),
        ([-(2**24), 2**24], "float32"),
        ([0, 2**24 + 1], "float64"),
        ([-(2**24) - 1, 0], "float64"),
    ):
        if limits.min <= min(values) and max(values) <= limits.max:
            table = as_table(np.array([values], dtype), narrow=True)
            assert table.dtype == np.dtype(result)
            np.testing.assert_array_equal(table, [values])
    small = np.array([[0, 100]], np.int8)
    assert np.shares_memory(as_table(small, narrow=True), small)


def test_numbers_that_do_not_lie_on_their_grid_are_copied() -> None:
    crooked = np.frombuffer(b"-" + np.arange(6, dtype=np.float32).tobytes(), np.float32, offset=1).reshape(2, 3)
    assert not crooked.flags.aligned
    packed = np.zeros(3, [("flag", "i1"), ("pair", "f8", 2)])
    packed["pair"] = [[1, 2], [3, 4], [5, 6]]
    for x in (crooked, packed["pair"]):
        table = as_table(x)
        assert table.flags.aligned
        assert all(stride % table.itemsize == 0 for stride in table.strides)
        np.testing.assert_array_equal(table, x)


def test_lists_will_do() -> None:
    np.testing.assert_array_equal(as_table([[1, 2.5], [3, 4]]), [[1, 2.5], [3, 4]])


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (
            [1.0, 2.0],
            "x must be two-dimensional, got one dimension. Reshape your data: x.reshape\\(-1, 1\\) for one column",
        ),
        (3.0, "x must be two-dimensional, got a single value"),
        (None, "x must be two-dimensional, got a single value"),
        ("words", "x must be two-dimensional, got a single value"),
        ({"a": [1]}, "x must be two-dimensional, got a single value"),
        (
            np.zeros((2, 3, 4)),
            "x must be two-dimensional, got shape \\(2, 3, 4\\): use x.reshape\\(len\\(x\\), -1\\)",
        ),
        (np.zeros((0, 3)), "x is empty: it has 0 sample"),
        (np.zeros((3, 0)), "x is empty: it has 0 feature"),
        ([[1, 2], [3]], "x is not a table: its rows have different lengths"),
        ([[1, 2], [3, "red"]], "x contains 'red' in row 1, column 1: it must hold numbers; encode categories"),
        (np.array([[1, 2], [None, 3]], object), "x contains NaN in row 1, column 0: fill in or drop missing values"),
        (np.array([[1, 2], [{}, 3]], object), "x contains {} in row 1, column 0: it must hold numbers"),
        (["red", "blue"], "x contains 'red' in row 0: it must hold numbers"),
        (np.zeros((2, 2), complex), "Complex data not supported: x has type complex128: it must hold numbers"),
        (np.zeros((2, 2), "datetime64[s]"), "x has type datetime64\\[s\\]: it must hold numbers"),
    ],
    ids=[f"case {i}" for i in range(15)],
)
def test_what_is_no_table_is_refused(x: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_table(x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (3, 18), (19, 36), (7, 16)])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "minus infinity")])
def test_the_first_bad_number_is_named(value: float, word: str, row: int, column: int, order: Any, dtype: str) -> None:
    x = np.ones((20, 37), dtype, order=order)
    x[row, column] = value
    x[19, 36] = np.nan if (row, column) != (19, 36) else value
    message = f"x contains {word} in row {row}, column {column}: fill in or drop missing values first$"
    with pytest.raises(DataError, match=message):
        as_table(x)
    with pytest.raises(DataError, match=f"in row {19 - row}, column {36 - column}:" if row == 19 else "in row 0, col"):
        as_table(x[::-1, ::-1])


def test_large_numbers_are_not_taken_for_infinity() -> None:
    x = np.full((3, 40), np.finfo(np.float64).max)
    x[1] *= -1
    assert as_table(x) is x
    small = np.full((3, 40), np.finfo(np.float32).max, np.float32)
    assert as_table(small) is small


def test_columns_are_named_where_they_have_names() -> None:
    names = ["age", "height"]
    with pytest.raises(DataError, match="x contains NaN in row 1, column 1 \\('height'\\): fill in"):
        as_table(Frame([[1.0, 2.0], [3.0, np.nan]], names))
    with pytest.raises(DataError, match="x contains 'tall' in row 0, column 1 \\('height'\\): it must hold numbers"):
        as_table(Frame([["1", "tall"]], names))
    frame = Frame(np.ones((2, 2)), names)
    assert np.shares_memory(as_table(frame), frame.values)


def test_a_single_column_needs_no_number() -> None:
    with pytest.raises(DataError, match="x contains NaN in row 2: fill in"):
        as_table([[1.0], [2.0], [np.nan]])


def test_the_number_of_columns_is_the_models() -> None:
    assert as_table(np.zeros((2, 3)), columns=3).shape == (2, 3)
    with pytest.raises(DataError, match=r"^x has 3 columns, but the model takes 4$"):
        as_table(np.zeros((2, 3)), columns=4)


def test_errors_call_the_table_by_the_given_name() -> None:
    with pytest.raises(DataError, match=r"^validation x has 3 columns, but"):
        as_table(np.zeros((2, 3)), columns=4, name="validation x")
    with pytest.raises(DataError, match=r"^validation x contains NaN in row 0, column 1:"):
        check_finite(np.array([[1.0, np.nan]]), "validation x")


def test_numbers_too_large_for_float32_are_named() -> None:
    x = np.ones((4, 3))
    check_fits_float32(x, "x")
    x[2, 1] = -1e39
    with pytest.raises(DataError, match="x contains 1e\\+39 in row 2, column 1, too large for float32: scale"):
        check_fits_float32(x, "x")
    check_fits_float32(np.full((2, 2), np.finfo(np.float32).max), "x")


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_number_that_is_none_is_found(threads: int, dtype: type) -> None:
    """Whatever the layout, the row and the number of threads that share the rows."""
    whole: Array = np.ones((2000, 30), dtype)
    assert core.first_nonfinite(whole, threads) == (-1, -1)
    for row in (0, 1, 999, 1999):
        x = whole.copy()
        x[row, 29] = np.inf
        x[-1, 29] = np.nan
        for same in (x, np.asfortranarray(x), np.hstack([x, x])[:, :30]):
            assert core.first_nonfinite(same, threads) == (row, 29)
        assert core.first_nonfinite(x[:, 29:], threads) == (row, 0)
        assert core.first_nonfinite(np.ascontiguousarray(x[:, 29:]), threads) == (row, 0)
        assert core.first_nonfinite(x.reshape(1, -1), threads) == (0, row * 30 + 29)
