"""Plain reductions of many classes to two decide as linnet.multiclass does."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linnet import (
    LabelTreeClassifier,
    LogisticRegression,
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
)
from linnet.data.row_keys import row_draws
from linnet.plain import label_tree, newton, one_vs_one, one_vs_rest, output_code
from linnet.plain.heads import Bernoulli

Array = NDArray[Any]
RNG = np.random.default_rng(9)
K = 5
T = RNG.integers(0, K, 400)
X = RNG.normal(size=(400, 3)) + RNG.normal(size=(K, 3))[T]
NEW = 2 * RNG.normal(size=(500, 3))
BINARY = LogisticRegression(C=1.0, tol=1e-12)


def learn(x: Array, t: Array) -> one_vs_rest.Score:
    """Logistic regression with a little penalty, as a binary learner."""
    w, b = newton.irls(Bernoulli(), x, t, l2=1.0)
    return lambda x: x @ w + b


def test_one_against_the_rest_by_score() -> None:
    s = one_vs_rest.scores(one_vs_rest.fit(learn, X, T, K), NEW)
    model = OneVsRestClassifier(BINARY).fit(X, T)
    np.testing.assert_allclose(s, model.decision_function(NEW), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(one_vs_rest.by_score(s), model.predict(NEW))


def test_one_against_the_rest_by_lot() -> None:
    s = one_vs_rest.scores(one_vs_rest.fit(learn, X, T, K), NEW)
    model = OneVsRestClassifier(BINARY, tie_break="random", random_state=3).fit(X, T)
    chosen = one_vs_rest.by_lot(s, row_draws(NEW, model.seed_))
    np.testing.assert_array_equal(chosen, model.predict(NEW))
    yes = (s > 0).sum(axis=1)
    assert (s[np.arange(500), chosen][yes > 0] > 0).all()
    assert (chosen != s.argmax(axis=1))[yes > 1].mean() == pytest.approx(0.5, abs=0.15)
    np.testing.assert_array_equal(chosen[yes == 0], s.argmax(axis=1)[yes == 0])


def test_lots_are_alike_for_all_who_say_yes() -> None:
    s = np.tile([1.0, -1.0, 2.0, 0.5], (3000, 1))
    chosen = one_vs_rest.by_lot(s, (np.arange(3000) + 0.5) / 3000)
    assert np.bincount(chosen, minlength=4).tolist() == [1000, 0, 1000, 1000]


def test_one_against_one() -> None:
    classifiers = one_vs_one.fit(learn, X, T, K)
    assert len(classifiers) == K * (K - 1) // 2
    model = OneVsOneClassifier(BINARY).fit(X, T)
    np.testing.assert_allclose(one_vs_one.votes(classifiers, NEW, K), model.decision_function(NEW), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(one_vs_one.predict(classifiers, NEW, K), model.predict(NEW))


@pytest.mark.parametrize("code", ["exhaustive", "with zeros"])
@pytest.mark.parametrize("decoding", ["hamming", "likelihood"])
def test_output_codes(decoding: str, code: str) -> None:
    M = output_code.exhaustive(K)
    if code == "with zeros":
        M = np.array([[1, 0, 1, -1, 1], [0, -1, 1, 1, 1], [-1, 1, 0, 1, -1], [1, 1, -1, 0, -1], [-1, -1, -1, -1, 1]])
    s = one_vs_rest.scores(output_code.fit(learn, X, T, M), NEW)
    model = OutputCodeClassifier(BINARY, code=M, decoding=decoding).fit(X, T)
    np.testing.assert_array_equal(getattr(output_code, decoding)(s, M), model.predict(NEW))


def test_exhaustive_codes_correct_wrong_letters() -> None:
    """Rows differ in 2^(K-2) = 8 places: any 3 wrong letters leave the right word the nearest."""
    M = output_code.exhaustive(K)
    distances = (M[:, None] != M).sum(axis=2)
    assert (distances[~np.eye(K, dtype=bool)] == 8).all()
    np.testing.assert_array_equal(M, OutputCodeClassifier(BINARY, code="exhaustive").fit(X, T).code_book_)
    for k in range(K):
        for _ in range(50):
            word = M[k].copy()
            word[RNG.choice(M.shape[1], 3, replace=False)] *= -1
            assert output_code.hamming(word[None], M)[0] == k


def test_label_trees() -> None:
    tree = label_tree.balanced([*range(K)])
    assert tree == (((0, 1), 2), (3, 4))
    fitted = label_tree.fit(learn, X, T, tree)
    model = LabelTreeClassifier(BINARY).fit(X, T)
    p = label_tree.probabilities(fitted, NEW, K)
    np.testing.assert_allclose(p, model.predict_proba(NEW), rtol=0, atol=1e-8)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(NEW))
    walked = label_tree.walk(fitted, NEW)
    assert (walked == p.argmax(axis=1)).mean() > 0.9  # mostly the likeliest leaf, not always
    given = LabelTreeClassifier(BINARY, tree=((4, (0, 2)), (1, 3))).fit(X, T)
    own = label_tree.fit(learn, X, T, ((4, (0, 2)), (1, 3)))
    np.testing.assert_allclose(label_tree.probabilities(own, NEW, K), given.predict_proba(NEW), rtol=0, atol=1e-8)
