"""Sparse problems with more columns than rows, solved among combinations of the rows."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import linnet.fit.solvers.dual_sparse
import linnet.fit.solvers.newton
from linnet import LogisticRegression
from linnet._native import core
from linnet.data.encoder import Encoder
from linnet.fit.solvers.dual_sparse import SparseDualObjective
from linnet.fit.solvers.lbfgs import Primal, lbfgs
from linnet.fit.solvers.preconditioner import Preconditioner
from linnet.fit.solvers.problem import Problem
from linnet.fit.solvers.select import solve
from linnet.fit.solvers.start import starting_point
from linnet.heads import Bernoulli, Categorical, Poisson

RNG = np.random.default_rng(0)
N, WIDE = 120, 4000


def words(dtype: type = np.float64) -> "scipy.sparse.csr_array[Any]":
    """Rows of words: some in most rows, most in a single one, some in none, and one row without any."""
    often = np.minimum(1.0, 20 / np.arange(1, WIDE + 1))
    x = (RNG.random((N, WIDE)) < often) * RNG.uniform(0.2, 1, (N, WIDE))
    x[5] = 0
    return scipy.sparse.csr_array(x.astype(dtype))


X = words()
COUNTS = RNG.poisson(2, (N, 1)).astype(float)
LABELS = RNG.integers(0, 3, N).astype(np.int32)
PENALTY = RNG.uniform(0.5, 3, WIDE)
PROBLEMS: dict[str, dict[str, Any]] = {
    "two classes": {"head": Bernoulli(), "outputs": 1, "values": (COUNTS > 1).astype(float)},
    "many classes": {"head": Categorical(), "outputs": 3, "labels": LABELS},
    "counts": {"head": Poisson(), "outputs": 1, "values": COUNTS, "offset": np.log(COUNTS + 1)},
    "weights, no intercept": {
        "head": Poisson(),
        "outputs": 1,
        "values": COUNTS,
        "weights": RNG.random(N) * (np.arange(N) % 3 > 0),
        "intercept": False,
    },
}


def make(name: str, **changes: Any) -> Problem:
    given = {**PROBLEMS[name], **changes}
    return Problem.in_memory(Encoder.learn(X)[1], l2=PENALTY[:, None] * np.ones(given["outputs"]), **given)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("places", [np.int32, np.int64])
@pytest.mark.parametrize("outputs", [1, 3])
def test_products_of_rows(dtype: type, places: type, outputs: int) -> None:
    x = words(dtype)
    sparse: Any = x.indptr.astype(np.int64), x.indices.astype(places), x.data
    u = RNG.normal(size=(N, outputs))
    results = []
    for threads in (1, 2, 3, 8):
        out = np.empty_like(u)
        core.RowProducts(sparse, PENALTY, threads).apply(u, out)
        results.append(out)
    several = np.bincount(x.indices, minlength=WIDE) > 1
    dense = x.toarray().astype(float)
    dense[:, several] = dense[:, several].astype(np.float32)  # values are kept in single precision, sums are not
    np.testing.assert_allclose(results[0], (dense / PENALTY) @ (dense.T @ u), rtol=1e-12, atol=1e-12)
    assert len({out.tobytes() for out in results}) == 1, "threads change nothing"
    assert (np.bincount(x.indices, minlength=WIDE) == 1).any(), "a column with a single entry"
    assert several.any()


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_of_the_weights(name: str) -> None:
    problem = make(name)
    assert SparseDualObjective.possible(problem)
    found = solve(problem, "lbfgs", tolerance=1e-13)
    assert found.converged
    plain, first = Preconditioner(problem), starting_point(problem)
    direct = lbfgs(Primal(problem), first, plain.at(first, first=True), refresh=plain.refresh, tolerance=1e-13)
    assert found.value == pytest.approx(direct.value, rel=1e-11)
    point = problem.at(found.theta)
    assert point.gradient is not None
    assert point.value == pytest.approx(found.value, rel=1e-12), "the objective is that of theta"
    start = problem.at(starting_point(problem)).gradient
    assert start is not None
    assert np.abs(point.gradient).max() < 1e-5 * np.abs(start).max()
    np.testing.assert_allclose(problem.z(found.theta), problem.z(direct.theta), atol=1e-5)


def test_gradient_of_a_point() -> None:
    problem = make("many classes")
    rows = SparseDualObjective(problem)
    point = rows.start().theta
    point[: rows.dual_size] = RNG.normal(size=rows.dual_size) / 10
    point[rows.dual_size : 2 * rows.dual_size] = 0
    a = point[: rows.dual_size].reshape(N, 3)
    point[rows.dual_size : 2 * rows.dual_size] = (X @ ((X.T @ a) / PENALTY[:, None])).ravel()
    at, theta = rows.with_full_gradient(rows.at(point)), rows.theta(point)
    plain = problem.at(theta)
    assert at.gradient is not None
    assert plain.gradient is not None
    assert at.value == pytest.approx(plain.value, rel=1e-12)
    steps = rows.theta(at.gradient).reshape(-1, 3)[:-1] * PENALTY[:, None]
    np.testing.assert_allclose(steps.ravel(), plain.gradient[:-3], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(at.gradient[-3:], plain.gradient[-3:], rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("teams_of_any_size")
def test_same_bytes_for_any_number_of_threads() -> None:
    ends = {solve(make("many classes", threads=threads), "lbfgs").theta.tobytes() for threads in (1, 2, 3, 8)}
    assert len(ends) == 1


def test_only_where_it_is_right() -> None:
    problem = make("two classes")
    assert not SparseDualObjective.possible(make("many classes", fixed=np.array([True, False, False])))
    free = PENALTY.copy()
    free[3] = 0
    assert not SparseDualObjective.possible(
        Problem.in_memory(problem.table, Bernoulli(), 1, values=problem.rows.values, l2=free[:, None])
    )
    tall = Encoder.learn(X[:, :50])[1]
    assert not SparseDualObjective.possible(
        Problem.in_memory(tall, Bernoulli(), 1, values=problem.rows.values, l2=np.ones((50, 1)))
    )


def test_columns_of_very_different_scales_end_at_the_same_optimum() -> None:
    """If the dual takes too many steps, a solver that scales the columns takes over."""
    scales = 10.0 ** RNG.integers(-3, 4, WIDE)
    x = scipy.sparse.csr_array(X @ scipy.sparse.diags_array(scales))
    y = COUNTS[:, 0] > 1
    model = LogisticRegression(C=1e-2, max_iter=5000, solver="lbfgs").fit(x, y)
    problem = Problem.in_memory(
        Encoder.learn(x)[1], Bernoulli(), 1, values=y[:, None].astype(float), l2=np.full((WIDE, 1), 1e2)
    )
    point = problem.at(problem.from_user(model.coef_.T, model.intercept_))
    best = solve(problem, "lbfgs", tolerance=1e-14, start=starting_point(problem), max_iter=5000)
    assert point.value == pytest.approx(best.value, rel=1e-8)


@pytest.mark.parametrize("digits", [1e-1, 1e-2, 1e-3])
def test_digits_beyond_single_precision_count(digits: float) -> None:
    """Products with rows are of rounded values; the optimum is that of the values: columns that differ little."""
    x = X.copy()
    x.data = 1 + digits * RNG.normal(size=x.nnz)
    l2 = np.full((WIDE, 1), digits**2)
    problem = Problem.in_memory(Encoder.learn(x)[1], Bernoulli(), 1, values=(COUNTS > 1).astype(float), l2=l2)
    found = solve(problem, "lbfgs", tolerance=1e-12, max_iter=5000)
    assert found.converged
    bound = Primal(problem).suboptimality_bound(problem.at(found.theta), 0.0)
    assert bound is not None
    gained = problem.at(starting_point(problem), gradient=False).value - found.value
    assert bound <= 1.1 * (1e-12 * found.value + 1e-15 * gained), "by the gradient of the values themselves"


def test_an_unsorted_matrix_or_one_with_repeated_entries_is_the_same_matrix() -> None:
    y = COUNTS[:, 0] > 1
    order = np.concatenate([RNG.permutation(np.arange(a, b)) for a, b in zip(X.indptr, X.indptr[1:], strict=False)])
    unsorted = scipy.sparse.csr_array((X.data[order], X.indices[order], X.indptr), X.shape)
    assert not unsorted.has_sorted_indices
    halves = scipy.sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape)
    before = halves.data.copy()
    base = LogisticRegression(solver="lbfgs").fit(X, y)
    for same in (unsorted, halves):
        np.testing.assert_allclose(
            LogisticRegression(solver="lbfgs").fit(same, y).coef_, base.coef_, rtol=1e-9, atol=1e-11
        )
    np.testing.assert_array_equal(halves.data, before)
    np.testing.assert_allclose(base.predict_proba(unsorted), base.predict_proba(X), rtol=1e-12)


def test_too_few_iterations_are_reported() -> None:
    with pytest.warns(UserWarning, match="the fit has not converged after 3 iterations"):
        model = LogisticRegression(max_iter=3, solver="lbfgs").fit(X, COUNTS[:, 0] > 1)
    assert model.n_iter_ == [3]


def test_what_is_left_is_bounded() -> None:
    """On the whole way, and not by much more than there is."""
    for name in PROBLEMS:
        problem = make(name)
        best = solve(problem, "lbfgs", tolerance=1e-15).value
        for steps in (1, 3, 10, 30):
            found = solve(problem, "lbfgs", max_iter=steps, tolerance=0.0)
            assert best <= found.value + 1e-12 * abs(best)
            assert found.value - best <= found.gap * (1 + 1e-9) + 1e-11 * abs(best), (name, steps)


def test_tolerance_is_the_part_of_the_gain_that_is_left() -> None:
    for name in PROBLEMS:
        problem = make(name)
        start, best = problem.at(starting_point(problem)).value, solve(problem, "lbfgs", tolerance=1e-15).value
        for tolerance in (1e-2, 1e-5, 1e-8):
            found = solve(problem, "lbfgs", tolerance=tolerance)
            assert found.converged
            assert found.value - best <= 1.01 * tolerance * (start - best), (name, tolerance)


def test_no_more_iterations_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many solvers are tried in turn."""
    monkeypatch.setattr(linnet.fit.solvers.dual_sparse, "_MAX_ROWS_FOR_DENSE_DUAL", 0)
    monkeypatch.setattr(linnet.fit.solvers.dual_sparse, "_DUAL_MAX_ITER", 2)
    monkeypatch.setattr(
        linnet.fit.solvers.newton, "LARGEST_CURVATURE", N + 1
    )  # Newton's method in the rows' columns only
    iterations_watched: list[int] = []
    for most in (0, 1, 2, 3, 4):
        iterations_watched.clear()
        found = solve(make("counts"), max_iter=most, tolerance=0.0, watch=lambda i, *_: iterations_watched.append(i))
        assert found.iterations <= most
        assert len(iterations_watched) <= most + 3, "each of three ways also tells of its start"
