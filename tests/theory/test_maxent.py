"""Maximum entropy, and the certificate of a softmax regression."""

import doctest
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

import linnet
from linnet.errors import ConfigError, DataError
from linnet.theory import maxent as module
from linnet.theory.certificate import walk
from linnet.theory.maxent import maxent


def test_nothing_known_means_uniform() -> None:
    np.testing.assert_allclose(maxent(np.arange(7)).probabilities, np.full(7, 1 / 7))


@pytest.mark.parametrize("mean", [1.001, 2.0, 3.5, 4.5, 5.99])
def test_a_die_with_a_given_mean_is_exponential(mean: float) -> None:
    faces = np.arange(1, 7)
    die = maxent(faces, mean)
    assert die.probabilities @ faces == pytest.approx(mean, abs=1e-10)
    ratios = die.probabilities[1:] / die.probabilities[:-1]
    np.testing.assert_allclose(ratios, np.exp(die.multipliers[0]), rtol=1e-8)
    assert die.gap == pytest.approx(0, abs=1e-10)


def test_given_mean_and_square_it_is_a_discrete_normal() -> None:
    x = np.linspace(-5, 5, 201)
    p = maxent(np.stack([x, x * x], 1), [0.0, 1.0]).probabilities
    np.testing.assert_allclose(p, np.exp(-x * x / 2) / np.exp(-x * x / 2).sum(), atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_no_other_distribution_with_these_moments_has_more_entropy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(8, 2))
    other = rng.dirichlet(np.ones(8))
    best = maxent(f, other @ f)
    np.testing.assert_allclose(best.moments, other @ f, atol=1e-9)
    assert best.entropy >= -float(other @ np.log(other)) - 1e-12


def test_against_a_solver_of_the_primal_problem() -> None:
    f = np.array([0.0, 1.0, 3.0, 7.0])
    constraint = scipy.optimize.LinearConstraint(np.stack([np.ones(4), f]), [1, 2.5], [1, 2.5])

    def negative_entropy(p: Any) -> float:
        return float(p @ np.log(p))

    primal = scipy.optimize.minimize(
        negative_entropy, np.full(4, 0.25), bounds=[(1e-9, 1)] * 4, constraints=constraint, tol=1e-14
    )
    np.testing.assert_allclose(maxent(f, 2.5).probabilities, primal.x, atol=1e-5)


def test_moments_at_the_edge_leave_some_outcomes_no_probability() -> None:
    np.testing.assert_array_equal(maxent([1, 2, 3, 4, 5, 6], 6).probabilities, [0, 0, 0, 0, 0, 1])
    corner = maxent([[0, 0], [1, 0], [0, 1]], [0.5, 0.5])
    np.testing.assert_allclose(corner.probabilities, [0, 0.5, 0.5], atol=1e-12)
    assert corner.entropy == pytest.approx(np.log(2))


def test_infeasible_moments_are_named() -> None:
    with pytest.raises(DataError, match="moment 0 = 7: its feature lies between 1 and 6"):
        maxent([1, 2, 3, 4, 5, 6], 7)
    with pytest.raises(DataError, match="outside the convex hull"):
        maxent([[0, 0], [1, 0], [0, 1]], [0.8, 0.8])
    with pytest.raises(ConfigError, match="one number per column"):
        maxent([1, 2], [1, 2])


def test_moments_of_another_shape_are_named() -> None:
    with pytest.raises(ConfigError, match=r"one number per column of features, 1 in all, got shape \(1, 1\)"):
        maxent([[0], [1]], [[0.3]])


def test_the_docstring_is_true() -> None:
    assert doctest.testmod(module).failed == 0


# ---- the certificate ----


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("ratio", [0.0, 0.5])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_an_optimum_is_certified(load: object, ratio: float, C: float) -> None:
    x, y = load(return_X_y=True)  # type: ignore[operator]
    certificate = linnet.LogisticRegression(C=C, l1_ratio=ratio).fit(x, y).certificate(x, y)
    assert certificate.mismatch < 1e-5
    assert certificate.gap < 1e-6 * certificate.objective


def test_without_penalty_expected_equals_observed() -> None:
    x, _ = load_iris(return_X_y=True)
    y = np.random.default_rng(0).integers(0, 3, 150)
    certificate = linnet.LogisticRegression(C=np.inf).fit(x, y).certificate(x, y)
    assert not certificate.penalty_gradient.any()
    np.testing.assert_allclose(certificate.expected, certificate.observed, rtol=1e-9)
    np.testing.assert_allclose(certificate.observed[:, :-1], [x[y == k].sum(axis=0) for k in range(3)])
    np.testing.assert_allclose(certificate.observed[:, -1], np.bincount(y))
    assert "estimated gap" in str(certificate)


def test_what_is_no_optimum_gets_no_certificate() -> None:
    x, y = load_iris(return_X_y=True)
    model = linnet.LogisticRegression(C=1.0).fit(x, y)
    best = model.certificate(x, y)
    model.coef_ = model.coef_ + 0.02 * np.random.default_rng(1).normal(size=model.coef_.shape)
    worse = model.certificate(x, y)
    assert worse.mismatch > 1e-3
    # the gap bounds the possible improvement
    assert worse.objective - best.objective <= worse.gap * (1 + 1e-6)
    assert worse.gap > 1e-4


def test_the_gap_is_a_bound_with_an_intercept_too() -> None:
    x, y = load_iris(return_X_y=True)
    model = linnet.LogisticRegression(C=1.0).fit(x, y)
    best = model.certificate(x, y)
    assert best.is_bound
    assert "duality gap" in str(best)
    rng = np.random.default_rng(1)
    found, weights, biases = model, model.coef_, model.intercept_
    for size in (1e-6, 1e-3, 1.0):
        found.coef_ = weights + size * rng.normal(size=weights.shape)
        found.intercept_ = biases + size * rng.normal(size=biases.shape)
        worse = found.certificate(x, y)
        assert worse.objective - best.objective <= worse.gap * (1 + 1e-9)


@pytest.mark.parametrize("change", [{"C": np.inf}, {"column_penalty": {"x0": 0}}])
def test_a_fit_that_has_not_begun_gets_no_certificate(change: dict[str, object]) -> None:
    x, _ = load_iris(return_X_y=True)
    y = (x[:, 0] + np.random.default_rng(0).normal(size=150) > 6).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        none = linnet.LogisticRegression(max_iter=0, **change).fit(x, y).certificate(x, y)  # type: ignore[arg-type]
    best = linnet.LogisticRegression(**change).fit(x, y).certificate(x, y)  # type: ignore[arg-type]
    assert not none.is_bound
    assert none.gap > 0.5 * (none.objective - best.objective)
    if "C" in change:
        assert none.gap == pytest.approx(none.objective - best.objective, rel=0.5), "an estimate, and a good one"
    assert best.gap < 1e-9 * best.objective


def test_the_sums_of_a_reference_class() -> None:
    x, y = load_iris(return_X_y=True)
    model = linnet.LogisticRegression(C=0.1, reference=1).fit(x, y)
    certificate = model.certificate(x, y)
    p = model.predict_proba(x)
    np.testing.assert_allclose(certificate.expected[:, :-1], p.T @ x, rtol=1e-9)
    np.testing.assert_allclose(certificate.expected[:, -1], p.sum(axis=0), rtol=1e-9)
    assert certificate.mismatch < 1e-9


def test_the_mismatch_is_the_same_in_any_units() -> None:
    x, _ = load_iris(return_X_y=True)
    y = np.random.default_rng(0).integers(0, 3, 150)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = linnet.LogisticRegression(C=np.inf, max_iter=1)
        found = [model.fit(x * unit, y).certificate(x * unit, y).mismatch for unit in (1e-9, 1.0, 1e9)]
    np.testing.assert_allclose(found, found[1], rtol=1e-6)


def test_no_gap_is_below_zero() -> None:
    """What the best intercepts gain is a difference of two objectives, which may be rounding alone."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        x, y = rng.normal(size=(400, 3)), rng.integers(0, 2 + seed % 2, 400)
        certificate = linnet.LogisticRegression(C=10.0 ** (seed % 5 - 2)).fit(x, y).certificate(x, y)
        assert certificate.is_bound
        assert 0 <= certificate.gap <= 1e-9 * certificate.objective


def test_segments_of_a_frame_with_levels() -> None:
    x, y = load_iris(return_X_y=True)
    frame = pd.DataFrame({"a": x[:, 0], "level": np.array(["u", "v", "w"])[np.arange(150) % 3], "b": x[:, 2]})
    model = linnet.LogisticRegression().fit(frame, y)
    ends = frame.iloc[0], frame.iloc[149]
    plain = model.certificate(frame, y, segments=[ends]).segments[0]
    assert plain.pieces[0][0] == model.predict(frame[:1])[0]
    assert plain.pieces[-1][0] == model.predict(frame[149:])[0]
    for form in (dict, list, lambda row: pd.DataFrame([row]), lambda row: pl.DataFrame([dict(row)])):
        certificate = model.certificate(frame, y, segments=[(form(ends[0]), form(ends[1]))])
        assert certificate.segments[0] == plain


def test_segments_between_rows_of_the_table_fitted_on() -> None:
    x, y = load_iris(return_X_y=True)
    ends = linnet.LogisticRegression().fit(x, y).certificate(x, y, segments=[(x[0], x[149])]).segments
    sparse, frame = scipy.sparse.csr_array(x), pd.DataFrame(x)  # whose columns are called 0, 1, 2, 3
    turned = frame[[3, 1, 0, 2]]
    for table, start, end in (
        (x, x[[0]], x[[149]]),
        (sparse, sparse[[0]], sparse[[149]]),
        (sparse, sparse[0], sparse[149]),
        (scipy.sparse.csr_matrix(x), sparse[[0]], x[149]),
        (frame, frame.iloc[0], frame.iloc[149]),
        (frame, turned.iloc[:1], turned.iloc[149]),
        (frame, x[[0]], x[149].tolist()),
    ):
        found = linnet.LogisticRegression().fit(table, y).certificate(table, y, segments=[(start, end)]).segments
        assert [piece[0] for piece in found[0].pieces] == [piece[0] for piece in ends[0].pieces]
        np.testing.assert_allclose([p[1:] for p in found[0].pieces], [p[1:] for p in ends[0].pieces], rtol=1e-9)
    model = linnet.LogisticRegression().fit(frame, y)
    for bad, message in (
        (frame.iloc[:2], "a row must be one row, got a table of 2"),
        ({"0": 1.0}, "a row lacks the columns \\['1', '2', '3'\\]"),
        ([1.0], "a row has 1 values, but the model takes 4"),
        ([1.0, None, 2.0, 3.0], "a row has no value in column '1'"),
        ([1.0, np.inf, 2.0, 3.0], "column '1' of the rows contains infinity"),
    ):
        with pytest.raises(DataError, match=message):
            model.certificate(frame, y, segments=[(bad, bad)])


def test_regions_are_convex_along_segments() -> None:
    x, y = load_iris(return_X_y=True)
    model = linnet.LogisticRegression().fit(x, y)
    rng = np.random.default_rng(2)
    pairs = [(x[i], x[j]) for i, j in rng.integers(0, 150, (50, 2))]
    certificate = model.certificate(x, y, segments=pairs)
    for (start, end), segment in zip(pairs, certificate.segments, strict=True):
        assert segment.convex
        assert segment.pieces[0][1] == 0
        assert segment.pieces[-1][2] == 1
        for name, low, high in segment.pieces:
            middle = start + (low + high) / 2 * (end - start)
            assert model.predict(middle[None])[0] == name


def test_a_walk_meets_the_upper_envelope() -> None:
    segment = walk(np.array([1.0, 0.5, 0.0]), np.array([0.0, 0.5, 1.0]), ["a", "b", "c"])
    assert [piece[0] for piece in segment.pieces] == ["a", "c"]
    same = walk(np.zeros(2), np.zeros(2), ["a", "b"])
    assert same.pieces == (("a", 0.0, 1.0),)


@pytest.mark.parametrize("size", [1e9, 1e15])
def test_moments_of_features_of_very_different_sizes_are_reached(size: float) -> None:
    found = maxent([0, 0, size], 0.5)
    assert found.moments[0] == pytest.approx(0.5, rel=1e-8)
    assert found.probabilities[2] == pytest.approx(0.5 / size, rel=1e-8)


def test_two_moments_of_very_different_sizes() -> None:
    features = np.column_stack([[0, 0, 1e9, 5], [0, 1, 1e-9, 3]])
    found = maxent(features, [3, 0.5])
    np.testing.assert_allclose(found.probabilities @ features, [3, 0.5], rtol=1e-8)
    np.testing.assert_allclose(found.moments, [3, 0.5], rtol=1e-8)
    with pytest.raises(DataError, match="could not be reached"):  # rather than a distribution with other moments
        maxent(np.column_stack([[0, 0, 1e15, 5], [0, 1, 1e-15, 3]]), [3, 0.5])


def test_at_the_edge_multipliers_are_infinite_on_the_side_of_what_is_left() -> None:
    for moment, sign in ((3.0, 1.0), (1.0, -1.0)):
        found = maxent([1, 2, 3], moment)
        assert found.multipliers[0] == sign * np.inf
        assert found.probabilities.tolist() == [float(number == moment) for number in (1, 2, 3)]
        assert str(found.entropy) == "0.0"
