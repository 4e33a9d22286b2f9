"""The factor of a symmetric matrix against SciPy's, and against a plain twin where rows depend on others."""

import numpy as np
import pytest
import scipy.linalg

from linnet._native import core

from .cases import Array, assert_close

SIZES = [*range(1, 71), 257, 1000]  # blocks have 48 columns
TOLERANCE = 1e-10


def make(n: int, seed: int = 0, rank: int | None = None) -> Array:
    """Scaled to a diagonal of ones; with a rank, the rows past it depend on those before."""
    x = np.random.default_rng([seed, n]).normal(size=(2 * n, n))
    if rank is not None:
        x[:, rank:] = x[:, :rank] @ np.random.default_rng(seed).normal(size=(rank, n - rank))
    x /= np.linalg.norm(x, axis=0)
    return np.asarray(x.T @ x)


def factored(a: Array, tolerance: float = TOLERANCE) -> tuple[Array, Array]:
    lower, kept = a.copy(), np.empty(len(a), np.uint8)
    core.cholesky(lower, tolerance, kept)
    assert (np.triu(lower, 1) == np.triu(a, 1)).all()  # only the lower triangle is written
    return np.tril(lower), kept.astype(bool)


def plain(a: Array, tolerance: float = TOLERANCE) -> tuple[Array, Array]:
    """l_ij = (a_ij - Σ_k<j l_ik l_jk) / l_jj; a row without a pivot is left out."""
    n = len(a)
    lower, kept = np.zeros_like(a), np.zeros(n, bool)
    for i in range(n):
        for j in np.flatnonzero(kept[:i]):
            lower[i, j] = (a[i, j] - lower[i, :j] @ lower[j, :j]) / lower[j, j]
        pivot = a[i, i] - lower[i, :i] @ lower[i, :i]
        kept[i] = pivot > tolerance * a[i, i]
        lower[i, i] = np.sqrt(pivot) if kept[i] else 0
        lower[i] *= kept[i]
    return lower, kept


@pytest.mark.parametrize("n", SIZES)
def test_scipy_agrees(n: int) -> None:
    a = make(n)
    lower, kept = factored(a)
    assert kept.all()
    assert_close(lower, scipy.linalg.cholesky(a, lower=True), 1e-13)
    b = np.random.default_rng(n).normal(size=(3, n))
    x = b.copy()
    core.cholesky_solve(lower, kept.astype(np.uint8), x)
    assert_close(x, scipy.linalg.solve(a, b.T, assume_a="pos").T, 1e-11)


@pytest.mark.parametrize("n", [2, 7, 23, 47, 48, 49, 70, 120])
def test_rows_that_depend_on_others_are_left_out(n: int) -> None:
    """Wherever they are: the rows of a matrix without full rank in some order, compared with the twin."""
    order = np.random.default_rng(n).permutation(n)
    a = make(n, 1, rank=(2 * n + 2) // 3)[np.ix_(order, order)]
    lower, kept = factored(a)
    expected, plain_kept = plain(a)
    np.testing.assert_array_equal(kept, plain_kept)
    assert kept.sum() == (2 * n + 2) // 3
    assert not lower[~kept].any()
    assert not lower[:, ~kept].any()
    # the last pivots before the rank is reached may be small, and their rows lose digits by it
    assert_close(lower @ lower.T, np.where(np.outer(kept, kept), a, 0), 1e-13)
    assert_close(lower, expected, 1e-13 / np.diagonal(lower)[kept].min() ** 2)
    x = np.random.default_rng(n).normal(size=(1, n)) @ a
    b = x.copy()
    core.cholesky_solve(lower, kept.astype(np.uint8), x)
    assert not x[0, ~kept].any()
    assert_close(x @ a, b, 1e-9)


@pytest.mark.parametrize("noise", [1e-3, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("place", [1, 47, 48, 60])
def test_near_dependence_is_a_matter_of_the_tolerance(place: int, noise: float) -> None:
    """A row that others determine but for a part `noise` has a pivot of noise²."""
    rng = np.random.default_rng(place)
    x = rng.normal(size=(400, 80))
    x[:, place] = x[:, 0] + noise * x[:, place]
    x /= np.linalg.norm(x, axis=0)
    lower, kept = factored(x.T @ x)
    assert kept.all() == (noise**2 > TOLERANCE)
    assert np.delete(kept, place).all()
    if kept[place]:
        assert_close(lower, scipy.linalg.cholesky(x.T @ x, lower=True), 1e-14 / noise**2)


def test_an_ill_conditioned_matrix() -> None:
    for n in range(2, 12):
        a = scipy.linalg.hilbert(n)
        lower, kept = factored(a, 0.0)
        assert kept.all()
        assert_close(lower @ lower.T, a, 1e-15)
        assert_close(lower, scipy.linalg.cholesky(a, lower=True), 1e-16 * np.linalg.cond(a))


@pytest.mark.parametrize("row", [0, 5, 47, 48, 69])
def test_what_is_no_number_stays_in_its_row(row: int) -> None:
    a = make(70)
    a[row, : row + 1] = np.nan
    lower, kept = factored(a)
    assert np.flatnonzero(~kept).tolist() == [row]
    others = np.arange(70) != row
    without = factored(a[np.ix_(others, others)])[0]
    assert_close(lower[np.ix_(others, others)], without, 1e-14)
    assert np.isfinite(lower).all()


def test_nothing_to_go_by() -> None:
    lower, kept = factored(np.zeros((30, 30)))
    assert not kept.any()
    assert not lower.any()
    x = np.ones((2, 30))
    core.cholesky_solve(lower, kept.astype(np.uint8), x)
    assert not x.any()


@pytest.mark.parametrize("n", [1, 5, 64, 257])
def test_a_solution_does_not_depend_on_its_company(n: int) -> None:
    lower, kept = factored(make(n))
    together = np.random.default_rng(n).normal(size=(37, n))
    alone = together.copy()
    core.cholesky_solve(lower, kept.astype(np.uint8), together)
    for r in range(37):
        core.cholesky_solve(lower, kept.astype(np.uint8), alone[r : r + 1])
    assert together.tobytes() == alone.tobytes()
