"""Binary problems solved jointly are the problems solved alone."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import linnet
from linnet._native import core
from linnet.data.columns import Columns
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.fit.solvers.joint_newton import _ROW_STRIDE, JointNewton

Array = NDArray[Any]


def clouds(rows: int = 500, classes: int = 6, columns: int = 7) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, classes, rows).astype(np.int32)
    return rng.normal(size=(classes, columns))[y] + rng.normal(size=(rows, columns)) + 100, y


CODES = np.array(
    [
        [1, -1, 1, 0, 1],
        [-1, 1, 1, 0, -1],
        [-1, -1, -1, 1, 0],
        [-1, -1, 1, -1, 0],
        [-1, -1, 0, 0, 1],
        [-1, -1, -1, 0, 1],
    ],
    np.int8,
)


def fitted_alone(column: int, X: Any, y: Any, w: Any, options: dict[str, Any]) -> linnet.LogisticRegression:
    """The binary problem of a column of the codes, by itself."""
    rows = CODES[y, column] != 0
    weights = None if w is None else w[rows]
    return linnet.LogisticRegression(**options).fit(X[rows], CODES[y[rows], column], sample_weight=weights)


@pytest.mark.parametrize(
    "options", [{}, {"C": 0.01}, {"C": 1e4}, {"fit_intercept": False}, {"class_weight": "balanced"}]
)
@pytest.mark.parametrize("weighed", [False, True])
def test_coefficients_are_those_of_separate_fits(options: dict[str, Any], weighed: bool) -> None:
    X, y = clouds()
    w = np.random.default_rng(0).integers(0, 4, len(y)) * 0.7 if weighed else None
    model = linnet.OutputCodeClassifier(linnet.LogisticRegression(**options), code=CODES).fit(X, y, sample_weight=w)
    for column, found in enumerate(model.estimators_):
        alone = fitted_alone(column, X, y, w, options)
        assert np.allclose(found.coef_, alone.coef_, rtol=0, atol=1e-7)
        assert np.allclose(found.intercept_, alone.intercept_, rtol=0, atol=1e-5)  # at columns of about 100
        assert (found.predict(X) == (alone.predict(X) > 0)).all()


@pytest.mark.parametrize("seed", [0, 2])
def test_coefficients_that_hardly_bend_the_objective_are_those_of_the_minimum(seed: int) -> None:
    """Of columns that few rows have, with next to no penalty: together, alone, and by steps in long numbers."""
    rng = np.random.default_rng(seed)
    y = rng.choice(6, 1500, p=[0.35, 0.3, 0.2, 0.1, 0.04, 0.01])
    X = rng.normal(size=(6, 6))[y] * 0.1 + rng.normal(size=(1500, 6)) * 0.12
    X[:, 4], X[:, 5] = rng.random(1500) < 0.003, 0.5 * (rng.random(1500) < 0.01)
    model = linnet.OutputCodeClassifier(linnet.LogisticRegression(C=1e4), code=CODES).fit(X, y)
    for column, found in enumerate(model.estimators_):
        alone = fitted_alone(column, X, y, None, {"C": 1e4})
        rows = CODES[y, column] != 0
        x = np.column_stack([X[rows], np.ones(rows.sum())]).astype(np.longdouble)
        sign = CODES[y[rows], column].astype(np.longdouble)
        ridge = np.append(np.full(6, np.longdouble("1e-4")), 0)
        theta = np.append(alone.coef_, alone.intercept_).astype(np.longdouble)
        for _ in range(5):
            wrong = 1 / (1 + np.exp(sign * (x @ theta)))
            bend = (x * (wrong * (1 - wrong))[:, None]).T @ x + np.diag(ridge)
            gradient = x.T @ (-sign * wrong) + ridge * theta
            theta -= np.linalg.solve(bend.astype(np.float64), gradient.astype(np.float64))
        for coefficients in (found.coef_, alone.coef_):
            assert np.allclose(coefficients, theta[:-1].astype(np.float64), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["rest", "one", "tree"])
def test_also_in_the_other_reductions(kind: str) -> None:
    X, y = clouds()
    estimator = linnet.LogisticRegression()
    if kind == "rest":
        model: Any = linnet.OneVsRestClassifier(estimator).fit(X, y)
        codes = [([k], [j for j in range(6) if j != k]) for k in range(6)]
    elif kind == "one":
        model = linnet.OneVsOneClassifier(estimator).fit(X, y)
        codes = [([j], [i]) for i in range(6) for j in range(i + 1, 6)]
    else:
        model = linnet.LabelTreeClassifier(estimator, tree=((0, (4, 1)), (2, (3, 5)))).fit(X, y)
        codes = [([2, 3, 5], [0, 1, 4]), ([1, 4], [0]), ([3, 5], [2]), ([1], [4]), ([5], [3])]
    assert len(model.estimators_) == len(codes)
    for found, (yes, no) in zip(model.estimators_, codes, strict=True):
        rows = np.isin(y, yes + no)
        alone = linnet.LogisticRegression().fit(X[rows], np.isin(y[rows], yes))
        assert np.allclose(found.coef_, alone.coef_, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "options", [{"C": np.inf}, {"l1_ratio": 0.5}, {"solver": "lbfgs"}, {"column_penalty": [0, 1, 1, 1, 1, 1, 1]}]
)
def test_what_is_not_solved_together_is_solved_alone(options: dict[str, Any]) -> None:
    X, y = clouds()
    model = linnet.OneVsRestClassifier(linnet.LogisticRegression(**options)).fit(X, y)
    for k, found in enumerate(model.estimators_):
        alone = linnet.LogisticRegression(**options).fit(X, y == k)
        assert np.allclose(found.coef_, alone.coef_, rtol=0, atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"C": 1e4}, {"fit_intercept": False}, {"class_weight": "balanced"}])
@pytest.mark.parametrize("weighed", [False, True])
def test_a_start_from_fewer_rows_ends_in_the_same_place(options: dict[str, Any], weighed: bool) -> None:
    X, y = clouds(2500, 6, 3)
    w = np.random.default_rng(0).integers(0, 4, len(y)) * 0.7 if weighed else None
    codes = CodeMatrix.from_dense(CODES, y)
    assert JointNewton(Columns(2500, (X,)), codes, np.ones(3))._subsampled()[1].sum() == 4  # not the one of two classes
    model = linnet.OutputCodeClassifier(linnet.LogisticRegression(**options), code=CODES).fit(X, y, sample_weight=w)
    for column, found in enumerate(model.estimators_):
        alone = fitted_alone(column, X, y, w, options)
        assert np.allclose(found.coef_, alone.coef_, rtol=0, atol=1e-7)


def test_a_code_matrix_of_fewer_rows() -> None:
    y = clouds(4000)[1]
    codes = CodeMatrix.from_dense(CODES, y)
    whole = np.zeros((5, 2), np.bool_)
    whole[0, 1] = whole[3] = True
    fewer = codes.subsampled(_ROW_STRIDE, whole)
    for p in range(5):
        (all_rows, t), (some, u) = codes.rows(p), fewer.rows(p)
        assert (np.isin(some, all_rows)).all()
        assert (t[np.searchsorted(all_rows, some)] == u).all()
        for side in range(2):
            left = (u == side).sum() / (t == side).sum()
            assert left == 1 if whole[p, side] else 0.12 < left < 0.13


def test_rows_that_bend_nothing_are_left_out_of_second_derivatives_alone() -> None:
    X, y = clouds()
    X -= 100
    codes = CodeMatrix.from_dense(CODES, y)
    theta = 2 * np.random.default_rng(2).normal(size=(5, 8))
    sums = core.Binaries(Columns(500, (X,)).to_core(), np.zeros(7), 1)
    ones = np.column_stack([X, np.ones(500)])
    found = []
    for least in (0.0, 1e-2, np.inf):
        value, gradient, curvature = np.empty(5), np.empty((5, 8)), np.empty((5, 8, 8))
        rows_of = codes.row_order, codes.group_starts, codes.starts, codes.problem, codes.sign
        sums.sums(theta, *rows_of, None, None, np.full(5, least), value, gradient, curvature)
        found.append(value.tobytes() + gradient.tobytes())
        for p in range(5):
            x = ones[codes.rows(p)[0]]
            bend = 0.25 / np.cosh(x @ theta[p] / 2) ** 2
            bend[bend <= least] = 0
            assert np.allclose(curvature[p], (x * bend[:, None]).T @ x, rtol=0, atol=1e-10)
    assert len(set(found)) == 1


def test_sums_are_those_of_a_plain_computation() -> None:
    X, y = clouds(rows=700)
    X -= 100
    rng = np.random.default_rng(2)
    w, side_weights = rng.random(700), rng.random((5, 2)) + 0.5
    theta = 0.3 * rng.normal(size=(5, 8))
    codes = CodeMatrix.from_dense(CODES, y)
    value, gradient, curvature = np.empty(5), np.empty((5, 8)), np.empty((5, 8, 8))
    center = rng.normal(size=7)
    for threads in (1, 2, 5):
        sums = core.Binaries(Columns(700, (X,)).to_core(), center, threads)
        rows_of = codes.row_order, codes.group_starts, codes.starts, codes.problem, codes.sign
        sums.sums(theta, *rows_of, w, side_weights, None, value, gradient, curvature)
        if threads == 1:
            first = [part.tobytes() for part in (value, gradient, curvature)]
        assert [part.tobytes() for part in (value, gradient, curvature)] == first
    ones = np.column_stack([X - center, np.ones(700)])
    for p in range(5):
        rows, t = codes.rows(p)
        x, v = ones[rows], w[rows] * side_weights[p, t]
        z = x @ theta[p]
        q = 1 / (1 + np.exp(-z))
        assert np.isclose(value[p], (v * (np.logaddexp(0, z) - t * z)).sum(), rtol=1e-12)
        assert np.allclose(gradient[p], x.T @ (v * (q - t)), rtol=0, atol=1e-10)
        assert np.allclose(curvature[p], (x * (v * q * (1 - q))[:, None]).T @ x, rtol=0, atol=1e-10)


def test_dots_of_any_columns_are_the_linear_output() -> None:
    X, y = clouds(classes=4)
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(level=np.array(["u", "v", "w"])[np.arange(500) % 3])
    for table in (X, frame):
        learners = linnet.OneVsRestClassifier(linnet.LogisticRegression()).fit(table, y).learners_
        read = learners.read(table)
        z, _ = learners.outputs(read)
        row, problem = np.repeat(np.arange(500), 4), np.tile(np.arange(4, dtype=np.int32), 500)
        assert np.allclose(learners.log_odds_of_pairs(read, row, problem).reshape(500, 4), z, rtol=0, atol=1e-9)
        some = np.array([7, 3, 499], np.int64), np.array([2, 0, 3], np.int32)
        assert (
            learners.log_odds_of_pairs(read, *some)
            == learners.log_odds_of_pairs(read, row, problem)[some[0] * 4 + some[1]]
        ).all()


def test_groups_of_problems_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = clouds()
    codes = CodeMatrix.from_pairs(*np.triu_indices(6, 1), 6, y)
    whole = JointNewton(Columns(500, (X,)), codes, np.ones(7)).minimise()
    monkeypatch.setattr("linnet.fit.solvers.joint_newton._HESSIAN_BYTES", 16 * 64 * 4)  # four problems at a time
    parts = JointNewton(Columns(500, (X,)), codes, np.ones(7)).minimise()
    for name in ("weights", "biases", "iterations", "converged"):
        assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes()
    assert whole.converged.all()
