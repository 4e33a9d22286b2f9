"""Sums of models without hidden layers over dense, sparse and coded columns, against the twin and one another."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from linnet.data.columns import Columns
from linnet.fit.solvers.problem import Problem
from linnet.fit.solvers.products import linear_output
from linnet.heads import Tweedie, head_named

from .cases import HEADS, Array, HeadCase, assert_close, make_rows, seed_of
from .twin import plain_head

CURVED = [  # with second derivatives that are never negative; categorical heads take labels here
    case
    for case in HEADS
    if case.head.family not in ("laplace", "huber", "quantile", "perceptron", "custom")
    and case.head.parameter <= 2
    and str(case) != "categorical-soft"
]
LAYOUTS = {  # dense columns, sparse columns, levels
    "one column": (1, 0, ()),
    "dense": (5, 0, ()),
    "dense, a panel": (7, 0, ()),
    "sparse": (0, 6, ()),
    "codes": (0, 0, (3, 2)),
    "dense and codes": (4, 0, (5, 3)),
    "all": (3, 4, (3,)),
}


def make_columns(layout: str, n: int, seed: int, kind: str = "C float64") -> tuple[Columns, Array]:
    """Columns and the same as one array."""
    dense, sparse, levels = LAYOUTS[layout]
    rng = np.random.default_rng(seed)
    order, dtype = kind.split()
    table = np.asarray(rng.integers(-8, 9, (n, dense)) / 4, dtype, order=order)  # type: ignore[call-overload]
    matrix = scipy.sparse.csr_array(rng.random((n, sparse)) * (rng.random((n, sparse)) < 0.3))
    types: tuple[type[np.signedinteger[Any]], ...] = (np.int8, np.int16, np.int32)
    codes = tuple(rng.integers(-1, count, n).astype(types[(seed + i) % 3]) for i, count in enumerate(levels))
    hot = [(column[:, None] == np.arange(count)) * 1.0 for column, count in zip(codes, levels, strict=True)]
    columns = Columns(
        n,
        tables=(table,) if dense else (),
        sparse=(matrix.indptr.astype(np.int64), matrix.indices, matrix.data) if sparse else None,
        sparse_columns=sparse,
        codes=codes,
        levels=levels,
    )
    return columns, np.hstack([table.astype(np.float64), matrix.toarray(), *hot])


def make_problem(case: HeadCase, columns: Columns, seed: int, **changes: Any) -> Problem:
    rows = make_rows(case, 1, columns.rows, "float64", seed, weighted=True)
    offset = np.random.default_rng(seed).normal(size=(columns.rows, case.outputs)) / 4
    given: dict[str, Any] = {"labels": rows.labels, "values": rows.values, "weights": rows.weights, "offset": offset}
    return Problem.in_memory(columns, changes.pop("head", case.head), case.outputs, **{**given, **changes})


class Plain:
    """The same objective in NumPy."""

    def __init__(self, problem: Problem, x: Array) -> None:
        self.problem, self.head = problem, plain_head(problem.head)
        shifted = x.copy()
        shifted[:, : problem.columns.dense] -= problem.center
        self.x = np.hstack([shifted, np.ones((len(x), 1))])
        self.t = problem.rows.values if problem.rows.labels is None else np.eye(problem.outputs)[problem.rows.labels]

    def z(self, theta: Array) -> Array:
        z = self.x @ theta.reshape(-1, self.problem.outputs)
        return z if self.problem.rows.offset is None else z + self.problem.rows.offset

    def loss(self, theta: Array) -> float:
        w = self.problem.rows.weights
        return float((w * self.head.loss(self.z(theta), self.t).sum(axis=1)).sum())  # type: ignore[arg-type]

    def gradient(self, theta: Array) -> Array:
        w = self.problem.rows.weights
        dz = self.head.slope(self.z(theta), self.t)  # type: ignore[arg-type]
        return np.asarray((self.x.T @ (w[:, None] * dz)).ravel())  # type: ignore[index]

    def curvature(self, theta: Array) -> Array:
        """By central differences of the gradient."""
        rows = [self.gradient(theta + d) - self.gradient(theta - d) for d in 1e-5 * np.eye(len(theta))]
        return np.array(rows) / 2e-5


def theta_for(problem: Problem, seed: int) -> Array:
    theta: Array = np.random.default_rng([seed, 1]).normal(size=problem.size) / 4
    return theta


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CURVED, ids=str)
def test_sums_and_their_derivatives(case: HeadCase, layout: str) -> None:
    seed = seed_of(str(case), layout)
    columns, x = make_columns(layout, 333, seed)
    problem = make_problem(case, columns, seed)
    plain, theta = Plain(problem, x), theta_for(problem, seed)
    point = problem.at(theta, curvature=True)
    assert point.gradient is not None
    assert point.curvature is not None
    assert point.value == pytest.approx(plain.loss(theta), rel=1e-12)
    assert_close(point.gradient, plain.gradient(theta), 1e-12)
    assert_close(point.curvature, plain.curvature(theta), 1e-7)
    assert_close(problem.at(theta).gradient, point.gradient, 1e-14, "with and without curvature")


@pytest.mark.parametrize("kind", ["C float32", "F float32", "F float64", "C uint8"])
def test_every_kind_of_table(kind: str) -> None:
    case = HEADS[2]
    columns, x = make_columns("dense", 500, 3, kind)
    problem = make_problem(case, columns, 3)
    theta = theta_for(problem, 3)
    assert_close(problem.at(theta).gradient, Plain(problem, x).gradient(theta), 1e-12)


def test_a_table_in_pieces_is_the_table() -> None:
    columns, _ = make_columns("dense, a panel", 400, 4)
    whole = make_problem(HEADS[6], columns, 4)
    pieces = replace(columns, tables=tuple(columns.tables[0][:, j : j + 1] for j in range(7)))
    parts = make_problem(HEADS[6], pieces, 4)
    theta = theta_for(whole, 4)
    one, other = whole.at(theta, curvature=True), parts.at(theta, curvature=True)
    assert one.value == other.value
    np.testing.assert_array_equal(one.gradient, other.gradient)
    np.testing.assert_array_equal(one.curvature, other.curvature)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", [HEADS[2], HEADS[4], HEADS[6]], ids=str)
def test_threads_change_nothing(case: HeadCase, layout: str) -> None:
    columns, _ = make_columns(layout, 9000, 5)
    theta = theta_for(make_problem(case, columns, 5), 5)
    results = []
    for threads in (1, 2, 3, 8):
        problem = make_problem(case, columns, 5, threads=threads)
        point = problem.at(theta, curvature=True)
        assert point.gradient is not None
        assert point.curvature is not None
        results.append((point.value, point.gradient.tobytes(), point.curvature.tobytes()))
    assert len(set(results)) == 1


def test_weights_count_rows() -> None:
    columns, _ = make_columns("all", 300, 6)
    repeats = np.random.default_rng(6).integers(0, 4, 300)
    chosen = np.repeat(np.arange(300), repeats)
    weighted = make_problem(HEADS[6], columns, 6, weights=repeats.astype(float), offset=None)
    assert columns.sparse is not None
    starts, indices, entries = columns.sparse
    matrix = scipy.sparse.csr_array((entries, indices, starts), shape=(300, columns.sparse_columns))[chosen]
    repeated = Columns(
        len(chosen),
        tables=(columns.tables[0][chosen],),
        sparse=(matrix.indptr.astype(np.int64), matrix.indices, matrix.data),
        sparse_columns=columns.sparse_columns,
        codes=tuple(column[chosen] for column in columns.codes),
        levels=columns.levels,
    )
    assert weighted.rows.values is not None
    plain = Problem.in_memory(repeated, weighted.head, weighted.outputs, values=weighted.rows.values[chosen])
    plain.__dict__["center"] = weighted.center  # those of another sample of the rows would differ
    theta = theta_for(weighted, 6)
    one, other = weighted.at(theta, curvature=True), plain.at(theta, curvature=True)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert_close(one.gradient, other.gradient, 1e-12)
    assert_close(one.curvature, other.curvature, 1e-12)


def test_rows_without_weight_do_not_exist() -> None:
    """Not even where their loss is infinite."""
    columns = Columns(40, tables=(np.ones((40, 1)),))
    values, weights = np.ones((40, 1)), np.ones(40)
    offset = np.zeros((40, 1))
    weights[7], offset[7] = 0, 1000.0
    problem = Problem.in_memory(columns, head_named("poisson"), 1, values=values, weights=weights, offset=offset)
    point = problem.at(np.zeros(2), curvature=True)
    assert point.value == 39
    assert np.isfinite(point.gradient).all()  # type: ignore[arg-type]
    assert np.isfinite(point.curvature).all()  # type: ignore[arg-type]


def test_curvature_is_never_negative() -> None:
    """Where the second derivative is, its mean is taken."""
    columns, _ = make_columns("dense", 300, 8)
    problem = make_problem(HEADS[6], columns, 8, head=Tweedie(0, "log"))
    h = problem.at(theta_for(problem, 8), curvature=True).curvature
    assert h is not None
    assert np.linalg.eigvalsh(h).min() > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_products(layout: str) -> None:
    columns, x = make_columns(layout, 700, 9)
    problem = make_problem(HEADS[0], columns, 9)
    plain = Plain(problem, x)
    rng = np.random.default_rng(9)
    w, d = rng.random(700), rng.normal(size=(700, problem.outputs))
    size = columns.count + 1
    sandwich, product, quadratic = np.empty((size, size)), np.empty(problem.size), np.empty(700)
    problem.row_sums.sandwich(w, sandwich)
    assert_close(sandwich, plain.x.T @ (w[:, None] * plain.x), 1e-12)
    w[rng.random(700) < 0.6] = 0
    problem.row_sums.sandwich(w, sandwich)
    assert_close(sandwich, plain.x.T @ (w[:, None] * plain.x), 1e-12, "rows that are left out")
    problem.row_sums.sandwich(np.zeros(700), sandwich)
    assert not sandwich.any()
    problem.row_sums.gradient(d, product)
    assert_close(product, (plain.x.T @ d).ravel(), 1e-12)
    m = rng.normal(size=(size, size))
    m += m.T
    problem.row_sums.quadratic(m, quadratic)
    assert_close(quadratic, np.einsum("ri,ij,rj->r", plain.x, m, plain.x), 1e-12)
    weights, biases = rng.normal(size=(columns.count, 2)), rng.normal(size=2)
    assert_close(linear_output(columns, weights, biases), x @ weights + biases, 1e-12)


@pytest.mark.parametrize("outputs", [1, 3, 40])
@pytest.mark.parametrize("rows_are", ["sorted", "unsorted"])
def test_very_many_sparse_columns(outputs: int, rows_are: str) -> None:
    """They are summed in another way: column by column."""
    rng = np.random.default_rng(outputs)
    n, wide, levels = 90, 36_000 // outputs, 50
    cells = np.sort(rng.choice(n * wide, 20 * n, replace=False))
    matrix = scipy.sparse.csr_array((rng.normal(size=20 * n), np.divmod(cells, wide)), shape=(n, wide))
    indices, values = matrix.indices.astype(np.int64 if outputs == 3 else np.int32), matrix.data
    if rows_are == "unsorted":
        indices, values = indices.copy(), values.copy()
        for r in range(n):
            entries = slice(matrix.indptr[r], matrix.indptr[r + 1])
            indices[entries], values[entries] = indices[entries][::-1].copy(), values[entries][::-1].copy()
    codes = rng.integers(-1, levels, n).astype(np.int32)
    table = rng.normal(size=(n, 3))
    columns = Columns(
        n, (table,), (matrix.indptr.astype(np.int64), indices, values), wide, codes=(codes,), levels=(levels,)
    )
    x = np.hstack([table, matrix.toarray(), (codes[:, None] == np.arange(levels)) * 1.0])
    case = HeadCase("one", head_named("bernoulli"), 1, "yes_no")
    if outputs > 1:
        case = HeadCase("many", head_named("categorical"), outputs, "labels")
    results = set()
    for threads in (1, 2, 3, 8):
        problem = make_problem(case, columns, 1, threads=threads)
        theta = theta_for(problem, 1)
        gradient = problem.at(theta).gradient
        assert gradient is not None
        results.add(gradient.tobytes())
    assert len(results) == 1
    assert_close(gradient, Plain(problem, x).gradient(theta), 1e-12)
    part = problem.at(theta, row_stride=2).gradient
    np.testing.assert_array_equal(problem.at(theta).gradient, gradient, "after a look at part of the rows")
    assert part is not None
    d, product = rng.normal(size=(n, outputs)), np.empty(problem.size)
    problem.row_sums.gradient(d, product)
    assert_close(product, (Plain(problem, x).x.T @ d).ravel(), 1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_some_of_the_columns(layout: str) -> None:
    columns, x = make_columns(layout, 60, 10)
    chosen = np.flatnonzero(np.arange(columns.count) % 3 != 1)
    weights = np.random.default_rng(10).normal(size=(len(chosen), 1))
    part = linear_output(columns.take(chosen), weights, np.zeros(1))
    assert_close(part, x[:, chosen] @ weights, 1e-12)
