"""Rows that are not in memory: a source in parts, whose sums are added, gives the fit of all rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from linnet.data.columns import Columns
from linnet.errors import ConfigError, FitError
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.select import SOLVERS, solve
from linnet.fit.solvers.sums import InMemory, InMemorySums
from linnet.heads import Bernoulli, Categorical, Gamma, Head, NegativeBinomial, Normal, Poisson, Tweedie, head_named

from .sharded import in_parts

N = 1200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4)) @ RNG.normal(size=(4, 4)) + 2
LEVEL = RNG.integers(0, 3, N).astype(np.int8)
ENTRIES = (RNG.random((N, 3)) < 0.2) * RNG.normal(size=(N, 3))
Z = 0.3 * X[:, :1] - 0.2 * X[:, 1:2] + 0.1 * LEVEL[:, None]
COUNTS = RNG.poisson(np.exp(Z / 2)).astype(float)
TARGETS: dict[str, tuple[Head, int, dict[str, Any]]] = {
    "squared error": (Normal(), 2, {"values": np.hstack([Z, -Z]) + RNG.normal(size=(N, 2))}),
    "two classes": (Bernoulli(), 1, {"values": (RNG.random((N, 1)) < 1 / (1 + np.exp(-Z))).astype(float)}),
    "many classes": (
        Categorical(),
        3,
        {"labels": (Z * [0, 1, 2] + RNG.gumbel(size=(N, 3))).argmax(axis=1).astype(np.int32)},
    ),
    "counts": (Poisson(), 1, {"values": COUNTS}),
    "overdispersed counts": (NegativeBinomial(0.5), 1, {"values": COUNTS}),
    "amounts": (Gamma(), 1, {"values": COUNTS + 0.5}),
    "amounts and zeros": (Tweedie(1.5), 1, {"values": COUNTS}),
}


def table(sparse: bool = True) -> Columns:
    starts = np.concatenate([[0], np.cumsum((ENTRIES != 0).sum(axis=1))])
    entries = (starts, np.nonzero(ENTRIES)[1].astype(np.int32), ENTRIES[ENTRIES != 0])
    return Columns(N, (X,), entries if sparse else None, 3 if sparse else 0, (LEVEL,), (3,))


def make(name: str, **changes: Any) -> Problem:
    head, outputs, targets = TARGETS[name]
    columns = table()
    given: dict[str, Any] = {"l2": np.full((columns.count, outputs), 0.7), **targets, **changes}
    return Problem.in_memory(columns, head, outputs, **given)


CHANGES: dict[str, dict[str, Any]] = {
    "plain": {},
    "weights": {"weights": RNG.random(N) * (np.arange(N) % 4 > 0)},
    "no intercept": {"intercept": False},
    "no penalty": {"l2": None},
}


def assert_same(parts: Problem, ours: Floats, whole: Problem, theirs: Floats, atol: float) -> None:
    """Predictions agree. Coefficients need not where they are aliased, as those of all classes together are."""
    z, right = (whole.z(theta) for theta in (whole.from_user(*parts.to_user(ours)), theirs))
    if whole.head.coupled:
        z, right = (each - each.mean(axis=1, keepdims=True) for each in (z, right))
    np.testing.assert_allclose(z, right, rtol=0, atol=atol)


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("name", TARGETS)
def test_newton_gives_the_fit_of_all_rows(name: str, changes: str) -> None:
    whole = make(name, **CHANGES[changes])
    parts = in_parts(whole)
    ours, theirs = solve(parts), solve(whole)
    assert ours.converged
    assert ours.method == theirs.method
    assert ours.value == pytest.approx(theirs.value, rel=1e-12)
    assert_same(parts, ours.theta, whole, theirs.theta, 1e-9)


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("name", TARGETS)
def test_lbfgs_gives_the_fit_of_all_rows(name: str, changes: str) -> None:
    whole = make(name, **CHANGES[changes])
    parts = in_parts(whole)
    ours, theirs = solve(parts, "lbfgs"), solve(whole)
    assert ours.converged
    assert ours.value == pytest.approx(whole.at(theirs.theta).value, rel=1e-11)
    assert_same(parts, ours.theta, whole, theirs.theta, 1e-4)
    exact = solve(parts, "lbfgs", tolerance=1e-18, start=ours.theta)
    assert_same(parts, exact.theta, whole, theirs.theta, 1e-6)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("name", TARGETS)
def test_offsets(name: str, solver: str) -> None:
    """The start is not the same, but for some heads; the end is."""
    offset = np.random.default_rng(1).normal(size=(N, TARGETS[name][1]))
    whole = make(name, offset=offset)
    ours, theirs = solve(in_parts(whole), solver), solve(whole)
    assert ours.converged
    assert in_parts(whole).at(ours.theta).value == pytest.approx(whole.at(theirs.theta).value, rel=1e-11)


@pytest.mark.parametrize("name", ["squared error", "two classes", "many classes", "counts"])
def test_an_l1_penalty(name: str) -> None:
    outputs = TARGETS[name][1]
    whole = make(name, l1=np.full((10, outputs), 8.0))
    parts = in_parts(whole)
    ours, theirs = solve(parts), solve(whole)
    assert ours.converged
    assert (theirs.theta[:-outputs] == 0).any()
    np.testing.assert_array_equal(ours.theta == 0, theirs.theta == 0)
    np.testing.assert_allclose(parts.to_user(ours.theta)[0], whole.to_user(theirs.theta)[0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_name_of_a_solver_finds_one(solver: str) -> None:
    whole = make("two classes")
    assert solve(in_parts(whole), solver).value == pytest.approx(solve(whole, solver).value, rel=1e-10)


def test_a_start_from_a_sample_of_many_rows() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60_000, 5))
    t = (rng.random((60_000, 1)) < 1 / (1 + np.exp(-x[:, :1]))).astype(float)
    whole = Problem.in_memory(Columns(len(x), (x,)), Bernoulli(), 1, values=t)
    parts = in_parts(whole, (20_000, 45_000))
    ours, theirs = solve(parts), solve(whole)
    assert ours.iterations == theirs.iterations
    np.testing.assert_allclose(parts.to_user(ours.theta)[0], whole.to_user(theirs.theta)[0], rtol=0, atol=1e-9)


def test_one_part_gives_the_bytes_of_the_sums_in_memory() -> None:
    whole = make("many classes", weights=CHANGES["weights"]["weights"])
    one = in_parts(whole, ())
    theta = np.random.default_rng(3).normal(size=whole.size)
    ours, theirs = one.at(theta, curvature=True), whole.at(theta, curvature=True)
    assert ours.value == theirs.value
    for a, b in ((ours.gradient, theirs.gradient), (ours.curvature, theirs.curvature)):
        np.testing.assert_array_equal(a, b)


def test_target_sums_of_parts_add() -> None:
    offset = np.random.default_rng(4).normal(size=(N, 2))
    light = CHANGES["weights"]["weights"].copy()
    light[-1] = 1e-9  # the smallest is not in the first part
    whole = make("squared error", offset=offset, weights=light)
    one, all_rows = in_parts(whole).sums.targets, whole.sums.targets
    weights = whole.rows.weights
    assert weights is not None
    assert all_rows.weight == pytest.approx(weights.sum())
    np.testing.assert_allclose(all_rows.target, weights @ TARGETS["squared error"][2]["values"])
    assert one.weight == pytest.approx(all_rows.weight)
    assert one.min_weight == all_rows.min_weight == weights[weights > 0].min()
    for name in ("target", "offset"):
        np.testing.assert_allclose(getattr(one, name), getattr(all_rows, name))
    np.testing.assert_array_equal(one.min_offset, offset[weights > 0].min(axis=0))


@pytest.mark.parametrize("name", TARGETS)
def test_the_diagonal_is_that_of_the_expected_hessian(name: str) -> None:
    problem = make(name, l2=None)
    theta = np.random.default_rng(5).normal(size=problem.size) / 4
    hessian = np.empty((problem.size, problem.size))
    problem.sums.at(theta, None, hessian, expected=True)
    np.testing.assert_allclose(problem.sums.curvature_diagonal(theta).ravel(), np.diagonal(hessian), rtol=1e-10)


def test_what_needs_rows_says_so() -> None:
    parts = in_parts(make("two classes"))
    assert not parts.has_rows
    for ask in (lambda: parts.rows, lambda: parts.table, lambda: parts.z(np.zeros(parts.size))):
        with pytest.raises(TypeError, match="Sharded only has sums over them"):
            ask()
    whole = Problem.in_memory(
        Columns(N, (X,)), head_named("tweedie_identity", 1.0), 1, values=COUNTS + 1, intercept=False
    )
    with pytest.raises(FitError, match="fit_intercept=True"):
        solve(in_parts(whole))
    wide = Columns(N, (np.zeros((N, 6000)),))
    lasso = Problem.in_memory(wide, Normal(), 1, values=COUNTS, l1=np.ones((6000, 1)))
    with pytest.raises(ConfigError, match="an l2 penalty only"):
        solve(in_parts(lasso))


@dataclass(frozen=True)
class Counted:
    """Rows in memory in a source of another class, recognised by its attribute `rows`."""

    inside: InMemory

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inside, name)


def test_whether_there_are_rows_depends_on_the_source() -> None:
    """Not by its class: wrapped rows in memory are solved as they are without the wrapper, to the last byte."""
    whole = make("squared error", l2=None)
    wrapped = replace(whole, data=Counted(whole.data))  # type: ignore[arg-type]
    assert wrapped.has_rows
    assert wrapped.table.count == whole.table.count
    assert isinstance(wrapped.row_sums, InMemorySums)
    for solver in ("auto", "sparse_cg"):
        ours, theirs = solve(wrapped, solver), solve(whole, solver)
        assert ours.method == theirs.method
        np.testing.assert_array_equal(ours.theta, theirs.theta)
