"""Tables in every form that linear models may be given, sound and broken, in fit and in predict."""

import copy
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import linnet
from linnet.errors import DataError
from linnet.multiclass import OneVsRestClassifier

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 3)) * (RNG.random((N, 3)) < 0.6)
Y = X[:, 0] + RNG.normal(size=N)
CSR = scipy.sparse.csr_array(X)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
LEVELS = FRAME[["a"]].assign(level=["u", "v", "w"] * 20)
COEF = linnet.Ridge().fit(X, Y).coef_


# ---- sparse matrices ----


def unsorted() -> Any:
    """Every row's entries from last to first."""
    order = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in zip(CSR.indptr, CSR.indptr[1:], strict=False)])
    return scipy.sparse.csr_array((CSR.data[order], CSR.indices[order], CSR.indptr), shape=CSR.shape)


def doubled() -> Any:
    """Every entry in two halves."""
    parts = np.repeat(CSR.data / 2, 2), np.repeat(CSR.indices, 2), CSR.indptr * 2
    return scipy.sparse.csr_array(parts, shape=CSR.shape)


def with_index_type(dtype: Any) -> Any:
    matrix = CSR.copy()
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    return matrix


def with_zeros() -> Any:
    parts = np.r_[CSR.data, 0, 0], np.r_[CSR.indices, 0, 1], np.r_[CSR.indptr[:-1], CSR.indptr[-1] + 2]
    return scipy.sparse.csr_array(parts, shape=CSR.shape)


SOUND: dict[str, Any] = {
    "csr_matrix": lambda: scipy.sparse.csr_matrix(X),
    "csc": lambda: scipy.sparse.csc_array(X),
    "coo": lambda: scipy.sparse.coo_array(X),
    "lil": lambda: scipy.sparse.lil_array(X),
    "bsr": lambda: scipy.sparse.bsr_array(X),
    "int64": lambda: with_index_type(np.int64),
    "int16": lambda: with_index_type(np.int16),
    "unsorted": unsorted,
    "duplicates": doubled,
    "entries of zero": with_zeros,
}


@pytest.mark.parametrize("case", SOUND)
def test_every_form_of_sparse_matrix(case: str) -> None:
    matrix = SOUND[case]()
    model = linnet.Ridge().fit(matrix, Y)
    np.testing.assert_allclose(model.coef_, COEF, rtol=1e-12)
    np.testing.assert_allclose(model.predict(matrix), model.predict(X), rtol=1e-12)
    if hasattr(matrix, "indices"):  # and it is left as it was
        before = SOUND[case]()
        np.testing.assert_array_equal(matrix.indices, before.indices)
        np.testing.assert_array_equal(matrix.data, before.data)


def changed(array: str, place: int, value: int, matrix: Any = CSR) -> Any:
    out = matrix.copy()
    getattr(out, array)[place] = value
    return out


def cut(array: str) -> Any:
    out = CSR.copy()
    setattr(out, array, getattr(out, array)[:-3])
    return out


def with_part(format: str, part: str, change: Any) -> Any:
    """A matrix in a format, with one of its parts changed."""
    out: Any = scipy.sparse.csr_array(X)
    out = out.asformat(format)
    changed = change(getattr(out, part))
    if part != "_dict":
        object.__setattr__(out, part, changed)
    return out


def put(place: int, value: Any) -> Any:
    def change(array: Any) -> Any:
        array = copy.deepcopy(array)
        array[place] = value
        return array

    return change


BROKEN: dict[str, Any] = {
    "coo, row too large": lambda: with_part("coo", "row", put(3, 10**6)),
    "coo, negative row": lambda: with_part("coo", "row", put(3, -5)),
    "coo, column too large": lambda: with_part("coo", "col", put(3, 3)),
    "coo, negative column": lambda: with_part("coo", "col", put(3, -1)),
    "coo, columns cut off": lambda: with_part("coo", "col", lambda each: each[:-3]),
    "coo, values cut off": lambda: with_part("coo", "data", lambda each: each[:-3]),
    "lil, column too large": lambda: with_part("lil", "rows", put(2, [0, 1, 10**6])),
    "lil, negative column": lambda: with_part("lil", "rows", put(2, [-1, 1, 2])),
    "lil, more values than columns": lambda: with_part("lil", "data", put(2, [1.0] * 1000)),
    "lil, fewer rows": lambda: with_part("lil", "rows", lambda each: each[:-3]),
    "dok, row too large": lambda: with_part("dok", "_dict", lambda each: each.update({(10**6, 0): 1.0})),
    "dok, negative column": lambda: with_part("dok", "_dict", lambda each: each.update({(0, -7): 1.0})),
    "dia, more diagonals than values": lambda: with_part("dia", "offsets", lambda each: np.arange(10**4)),
    "dok, an entry that is no number": lambda: with_part("dok", "_dict", lambda each: each.update({(0, 0): "x"})),
    "lil, no columns": lambda: with_part("lil", "rows", put(2, None)),
    "dia, no offsets": lambda: with_part("dia", "offsets", lambda each: None),
    "csr, no columns": lambda: with_part("csr", "indices", lambda each: []),
    "bsr, column too large": lambda: with_part("bsr", "indices", put(0, 10**6)),
    "bsr, row ends far away": lambda: with_part("bsr", "indptr", put(2, 10**6)),
    "column too large": lambda: changed("indices", 3, 99),
    "column far too large": lambda: changed("indices", 3, 2**30),
    "negative column": lambda: changed("indices", 3, -1),
    "row ends far away": lambda: changed("indptr", 5, 10**6),
    "row ends before it begins": lambda: changed("indptr", 5, 0),
    "negative start": lambda: changed("indptr", 5, -9),
    "first row begins late": lambda: changed("indptr", 0, 2),
    "last row ends late": lambda: changed("indptr", -1, 10**6),
    "rows but no entries": lambda: changed("indptr", 5, 10**6, scipy.sparse.csr_array((N, 3))),
    "values cut off": lambda: cut("data"),
    "columns cut off": lambda: cut("indices"),
    "rows cut off": lambda: cut("indptr"),
    "csc, row too large": lambda: changed("indices", 3, 2**30, scipy.sparse.csc_array(X)),
    "csc, column ends before it begins": lambda: changed("indptr", 1, 10**6, scipy.sparse.csc_array(X)),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_sparse_matrices(case: str) -> None:
    model, rest = linnet.Ridge().fit(X, Y), OneVsRestClassifier(linnet.LogisticRegression())
    for call in (
        lambda: linnet.LogisticRegression().fit(BROKEN[case](), Y > 0),
        lambda: linnet.MLPRegressor(hidden_layer_sizes=(2,), max_iter=1).fit(BROKEN[case](), Y),
        lambda: linnet.ThresholdClassifier(linnet.LogisticRegression()).fit(BROKEN[case](), Y > 0),
        lambda: rest.fit(BROKEN[case](), Y > 0),
        lambda: rest.fit(X, Y > 0).predict(BROKEN[case]()),
        lambda: model.predict(BROKEN[case]()),
        lambda: model.inference(BROKEN[case](), Y),
    ):
        with pytest.raises(DataError, match="X is an invalid sparse matrix: "):
            call()


@pytest.mark.parametrize("case", BROKEN)
def test_broken_sparse_targets(case: str) -> None:
    labels = (X > 0).astype(int)
    model = OneVsRestClassifier(linnet.LogisticRegression()).fit(X, labels)
    for call in (
        lambda: linnet.MLPClassifier((2,), max_iter=1).fit(X, BROKEN[case]()),
        lambda: OneVsRestClassifier(linnet.LogisticRegression()).fit(X, BROKEN[case]()),
        lambda: model.score(X, BROKEN[case]()),
        lambda: linnet.evaluate.f1_score(BROKEN[case](), labels, average="macro"),
    ):
        with pytest.raises(DataError, match="is an invalid sparse matrix: "):
            call()


def test_sparse_matrices_that_are_no_tables_of_numbers() -> None:
    with pytest.raises(DataError, match=r"X must be two-dimensional, got shape \(60,\)"):
        linnet.Ridge().fit(scipy.sparse.coo_array(X[:, 0]), Y)
    with pytest.raises(DataError, match="Complex data not supported: X has type complex128"):
        linnet.Ridge().fit(CSR.astype(complex), Y)
    for texts in (
        with_part("csr", "data", lambda each: each.astype(object)),
        with_part("csc", "data", lambda each: each.astype(str)),
    ):
        for model in (linnet.Ridge(), linnet.ThresholdClassifier(linnet.LogisticRegression())):
            with pytest.raises(DataError, match="X must hold numbers, got a sparse matrix of type"):
                model.fit(texts, Y > 0)
    with pytest.raises(DataError, match="X has 1,099,511,627,776 columns, but at most 1,073,741,824 are supported"):
        linnet.Ridge().fit(scipy.sparse.csr_array((N, 2**40)), Y)


def test_coefficients_set_to_a_broken_sparse_matrix() -> None:
    model = linnet.Ridge().fit(X, Y)
    model.coef_ = changed("indices", 3, 10**6, scipy.sparse.csc_array(model.coef_[None] + np.ones((4, 3))))
    with pytest.raises(DataError, match="coef_ is an invalid sparse matrix"):
        model.predict(X)


# ---- values ----


def spoilt(value: float) -> Any:
    x = X.copy()
    x[5, 2] = value
    return x


MISSING: dict[str, tuple[Any, str]] = {
    "dense": (spoilt(np.nan), "X contains NaN in row 5, column 2: fill"),
    "csr": (scipy.sparse.csr_array(spoilt(np.nan)), "X contains NaN in row 5, column 2: fill"),
    "csr, infinite": (scipy.sparse.csr_array(spoilt(-np.inf)), "X contains minus infinity in row 5, column 2: fill"),
    "frame": (pd.DataFrame(spoilt(np.nan), columns=["a", "b", "c"]), "X has no value in row 5, column 'c': fill"),
    "frame, infinite": (
        pd.DataFrame(spoilt(np.inf), columns=["a", "b", "c"]),
        "column 'c' of X contains infinity in row 5: fill",
    ),
    "polars": (pl.DataFrame(spoilt(np.nan), schema=["a", "b", "c"]), "column 'c' of X contains NaN in row 5: fill"),
    "levels": (
        LEVELS.assign(level=[None if i == 5 else "u" for i in range(N)]),
        "X has no value in row 5, column 'level': fill in a level",
    ),
    "categories": (
        LEVELS.assign(level=pd.Categorical([None if i == 5 else "u" for i in range(N)])),
        "X has no value in row 5, column 'level': fill in a level",
    ),
}


@pytest.mark.parametrize("case", MISSING)
def test_missing_values_are_named(case: str) -> None:
    table, message = MISSING[case]
    with pytest.raises(DataError, match=message):
        linnet.PoissonRegressor().fit(table, np.ones(N))
    with pytest.raises(DataError, match=message):
        linnet.LogisticRegression().fit(table, Y > 0)


def test_object_columns() -> None:
    """Numbers kept as objects are numbers; whatever else can be told apart is levels."""
    numbers = linnet.Ridge().fit(FRAME.astype(object), Y)
    np.testing.assert_allclose(numbers.coef_, COEF)
    np.testing.assert_allclose(linnet.Ridge().fit(X.astype(object), Y).coef_, COEF)
    mixed = linnet.Ridge().fit(pd.DataFrame({"a": [1, "one", (1, 1)] * 20}), Y)
    assert sorted(mixed.get_feature_names_out()) == ["a=(1, 1)", "a=1", "a=one"]


COLUMNS: dict[str, tuple[Any, str]] = {
    "lists": (pd.DataFrame({"a": [[1], [2]] * 30}), "column 'a' of X has type Object: it must hold numbers or levels"),
    "dates": (pd.DataFrame({"a": pd.date_range("2020", periods=N)}), "column 'a' of X has type Datetime.* must hold"),
    "dates, polars": (pl.DataFrame({"a": pd.date_range("2020", periods=N)}), "column 'a' of X has type Datetime"),
    "complex": (FRAME * 1j, "column 'a' of X has type .*: it must hold numbers"),
    "one name for two": (
        FRAME.set_axis(["a", "b", "a"], axis=1),
        "X has several columns called 'a': column names must be distinct",
    ),
    "text in an array": (
        np.array([["a"]] * N, dtype=object),
        "X contains 'a' in row 0, column 0: it must hold numbers",
    ),
    "a series": (FRAME["a"], r"X must be two-dimensional, got one dimension. .*X.reshape\(-1, 1\)"),
    "three dimensions": (X[:, :, None], r"X must be two-dimensional, got shape \(60, 3, 1\)"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_columns_that_cannot_be_used(case: str) -> None:
    table, message = COLUMNS[case]
    with pytest.raises(DataError, match=message):
        linnet.Ridge().fit(table, Y)


# ---- predict ----


WRONG: dict[str, tuple[Any, Any, str]] = {
    "array, a column less": (X, X[:, :2], "X has 2 features, but Ridge is expecting 3"),
    "sparse, a column less": (CSR, CSR[:, :2], "X has 2 features, but Ridge is expecting 3"),
    "frame, a column less": (FRAME, FRAME[["a", "c"]], "(?s)seen at fit time, yet now missing:.*- b"),
    "frame, a column more": (FRAME, FRAME.assign(d=1.0), "(?s)unseen at fit time:.*- d"),
    "frame, another name": (FRAME, FRAME.rename(columns={"c": "d"}), "(?s)unseen at fit time:.*- d.*missing:.*- c"),
    "frame, another order": (FRAME, FRAME[["c", "a", "b"]], "Feature names must be in the same order"),
    "polars, another order": (pl.DataFrame(X), pl.DataFrame(X)[:, ::-1], "Feature names must be in the same order"),
    "levels, another order": (LEVELS, LEVELS[["level", "a"]], "Feature names must be in the same order"),
    "levels where numbers were": (FRAME, FRAME.assign(c="u"), "column 'c' of X has type String: it must hold numbers"),
    "an array for levels": (LEVELS, X[:, :2], "X must be a data frame with the columns a, level"),
    "sparse for levels": (LEVELS, CSR[:, :2], "X must be a data frame with the columns a, level"),
    "no rows": (X, X[:0], "X is empty: it has 0 sample"),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("case", WRONG)
def test_tables_unlike_those_of_the_fit(case: str) -> None:
    table, other, message = WRONG[case]
    model = linnet.Ridge().fit(table, Y)
    with pytest.raises(DataError, match=message):
        model.predict(other)
    with pytest.raises(DataError, match=message):
        model.inference(other, Y[: other.shape[0]])


@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")
def test_another_form_of_the_same_table() -> None:
    for table in (X, CSR, FRAME, pl.DataFrame(X, schema=["a", "b", "c"])):
        model = linnet.Ridge().fit(table, Y)
        for other in (X, CSR, FRAME, pl.DataFrame(X, schema=["a", "b", "c"]), np.asfortranarray(X)):
            np.testing.assert_allclose(model.predict(other), X @ COEF + model.intercept_, atol=1e-12)


def test_frames_without_rows_yet_and_sparse_columns_are_named() -> None:
    table = pd.DataFrame({"a": np.arange(6.0), "b": pd.arrays.SparseArray([0.0, 0, 1, 0, 2, 0], fill_value=0.0)})
    y = [0, 1, 0, 1, 1, 0]
    with pytest.raises(DataError, match="column 'b' of X is a sparse column of pandas"):
        linnet.LogisticRegression().fit(table, y)
    with pytest.raises(DataError, match=r"X is a lazy frame: use X.collect\(\)"):
        linnet.LogisticRegression().fit(pl.DataFrame({"a": np.arange(6.0)}).lazy(), y)


def test_a_record_batch_is_a_frame() -> None:
    columns = {"a": np.arange(6.0), "g": ["u", "v", "u", "v", "u", "u"]}
    y = [0, 1, 0, 1, 1, 0]
    batch = pa.RecordBatch.from_pydict(columns)
    model = linnet.LogisticRegression().fit(batch, y)
    assert list(model.get_feature_names_out()) == ["a", "g=u", "g=v"]
    same = linnet.LogisticRegression().fit(pd.DataFrame(columns), y)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    np.testing.assert_array_equal(model.predict(batch), same.predict(pd.DataFrame(columns)))


def test_classes_of_the_largest_whole_numbers() -> None:
    y = np.array([2**64 - 1, 2**64 - 5, 2**64 - 1, 2**64 - 5], np.uint64)
    model = linnet.LogisticRegression().fit(np.arange(4.0)[:, None], y)
    assert model.classes_.tolist() == [2**64 - 5, 2**64 - 1]


def test_warnings_point_at_the_line_of_the_user() -> None:
    table, y = pd.DataFrame({"g": ["u", "v"] * 5}), np.arange(10) % 3 % 2
    new = pd.DataFrame({"g": ["w"] * 10})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = linnet.LogisticRegression().fit(table, y[:, None])
        assert len(caught) == 1, "once"
        for ask in (model.predict, model.predict_proba, model.decision_function, model.sample):
            ask(new)
        model.score(new, y)
        model.inference(new, y)
        linnet.Perceptron(max_iter=1).fit(np.arange(10.0)[:, None], y[:, None])
        linnet.LogisticRegression(max_iter=0).fit(table, y)
    assert len(caught) == 9
    assert {warning.filename for warning in caught} == {__file__}
