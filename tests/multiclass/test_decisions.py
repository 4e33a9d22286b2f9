"""Decisions of the reductions from binary predictions, against the textbook and brute force."""

import signal
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

import linnet
from linnet.errors import ConfigError
from linnet.multiclass import codes, couple, trees
from linnet.multiclass.decisions import with_winner
from linnet.multiclass.search import best_leaves

Array = NDArray[Any]
MINIMIZE: Any = scipy.optimize.minimize


def test_with_winner_is_the_nearest_distribution_in_which_it_leads() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(5) * 0.7, 40)
    winner = rng.integers(0, 5, 40)
    found = with_winner(p, winner)
    assert (found.argmax(axis=1) == winner).all()
    assert np.allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
    for row in range(40):
        ahead = partial(lambda w, q: q[w] - q, winner[row])
        limits: list[Any] = [{"type": "ineq", "fun": ahead}]
        limits.append({"type": "eq", "fun": lambda q: q.sum() - 1})
        best = MINIMIZE(
            partial(lambda there, q: ((q - there) ** 2).sum(), p[row]), np.full(5, 0.2), constraints=limits, tol=1e-12
        )
        assert np.allclose(found[row], best.x, rtol=0, atol=1e-5)


@pytest.mark.parametrize("classes", [3, 5, 8])
def test_a_winner_among_near_ties(classes: int) -> None:
    """Where probabilities differ by roundings only, the search for the winner's ends, too."""
    rng = np.random.default_rng(0)
    p: Array = 1 + rng.integers(-3, 4, (2000, classes)) * 2.0**-52
    p /= p.sum(axis=1, keepdims=True)
    winner = rng.integers(0, classes, 2000)

    def late(*_: object) -> None:
        raise AssertionError("the search does not end")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    try:
        found = with_winner(p, winner)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert (found.argmax(axis=1) == winner).all()
    assert np.allclose(found, 1 / classes, rtol=0, atol=1e-14)


def test_coupling_minimises_its_objective() -> None:
    rng = np.random.default_rng(0)
    r = rng.uniform(0.05, 0.95, (20, 4, 4))
    r = np.triu(r, 1) + np.tril(1 - np.swapaxes(np.triu(r, 1), 1, 2), -1)
    found = couple(r)

    def objective(p: Array, r: Array) -> float:
        return float(sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(4) for j in range(4) if i != j))

    for row in range(20):
        best = MINIMIZE(
            objective, np.full(4, 0.25), (r[row],), bounds=[(0, 1)] * 4, tol=1e-14,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        )  # fmt: skip
        assert objective(found[row], r[row]) <= best.fun + 1e-12
        assert np.allclose(found[row], best.x, rtol=0, atol=1e-4)


def test_coupling_gives_back_probabilities_that_pairs_agree_on() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(7), 10)
    pairs = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    assert np.allclose(couple(pairs), p, rtol=0, atol=1e-6)


def test_one_vs_rest_errs_as_soon_as_one_of_its_classifiers_does() -> None:
    X = np.eye(4).repeat(10, axis=0)
    y = np.arange(4).repeat(10)
    model = linnet.OneVsRestClassifier(linnet.LogisticRegression(C=100)).fit(X, y)
    assert model.score(X, y) == 1
    learners: Any = model.learners_
    learners.biases[2] += 100  # the classifier of class 2 accepts every row
    assert model.score(X, y) == 0.25
    learners.biases[2] -= 200  # and now no
    assert model.score(X, y) == 0.75


def test_random_ties_are_uniform_among_those_who_say_yes_and_reproducible() -> None:
    X = np.eye(4).repeat(1000, axis=0) + 0.05 * np.random.default_rng(0).normal(size=(4000, 4))
    y = np.arange(4).repeat(1000)
    model = linnet.OneVsRestClassifier(linnet.LogisticRegression(), tie_break="random", random_state=0).fit(X, y)
    learners: Any = model.learners_
    learners.biases[[1, 3]] += 100  # they accept every row, and class 0 its own
    predicted = model.predict(X)
    assert (predicted == model.predict(X)).all()
    assert (predicted[::-1] == model.predict(X[::-1])).all()
    assert [model.predict(X[i : i + 1])[0] for i in range(0, 4000, 100)] == predicted[::100].tolist()
    counts = np.bincount(predicted[:1000], minlength=4)
    assert counts[2] == 0
    assert (np.abs(counts[[0, 1, 3]] - 1000 / 3) < 60).all()
    assert (np.abs(np.bincount(predicted[1000:2000], minlength=4)[[1, 3]] - 500) < 70).all()
    assert (model.predict_proba(X).argmax(axis=1) == predicted).all()
    scores, own = model.decision_function(X), learners.outputs(model._read(X))[1]
    assert (scores.argmax(axis=1) == predicted).all()
    assert (np.sign(scores) == np.sign(own)).all()
    assert np.allclose(scores.sum(axis=1), own.sum(axis=1))
    led = own.argmax(axis=1) == predicted
    assert 0 < led.sum() < 4000
    assert (scores[led] == own[led]).all()
    learners.biases[:] -= 5000  # no classifier accepts: the highest score
    assert (model.predict(X) == model.decision_function(X).argmax(axis=1)).all()
    other = linnet.OneVsRestClassifier(linnet.LogisticRegression(), tie_break="random", random_state=1).fit(X, y)
    other.learners_ = model.learners_
    learners.biases[:] += 5000
    assert (other.predict(X) != predicted).any()


WITH_ZEROS = np.array(
    [
        [1, 1, 1, 1, 1, 1, 0, 0],
        [-1, -1, -1, -1, -1, -1, 1, 0],
        [1, 1, 1, -1, -1, -1, 0, -1],
        [-1, -1, -1, 1, 1, 1, 0, 1],
        [1, -1, -1, 1, -1, -1, -1, 0],
        [-1, 1, -1, -1, 1, -1, 1, -1],
    ]
)


@pytest.mark.parametrize("code", ["exhaustive", "dense", "bch", "sparse", WITH_ZEROS])
def test_codes_correct_half_their_distance(code: Any) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(600) % 6
    X = np.eye(6)[y]
    size = 40 if isinstance(code, str) and code == "sparse" else 4
    model = linnet.OutputCodeClassifier(
        linnet.LogisticRegression(C=1e4), code=code, code_size=size, decoding="hamming", random_state=0
    ).fit(X, y)
    errors = int(np.ceil(model.row_distance_ / 2)) - 1  # fewer than d / 2
    assert errors >= (0 if code is WITH_ZEROS else 2)
    signs = model.code_book_[y].astype(np.float64)
    for count, stands in ((errors, True), (len(signs.T), False)):
        for other in range(6):
            wrong = signs.copy()
            for row, own in zip(wrong, signs, strict=True):  # those that never saw the class say what another's row has
                row[own == 0] = np.where(model.code_book_[other] == 0, rng.choice([-1, 1]), model.code_book_[other])[
                    own == 0
                ]
                seen = np.flatnonzero(own)
                row[rng.choice(seen, min(count, len(seen)), replace=False)] *= -1
            predicted = model._winners(3 * wrong, 3 * wrong)
            assert (predicted == y).all() == stands


def test_the_distance_is_the_largest_for_which_that_holds() -> None:
    """By going through all answers: with half of it wrong, some make another row as near."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        matrix = rng.choice([-1, 0, 1], (3, 6))
        answers = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T
        near = answers @ matrix.T  # the larger, the nearer
        least = np.inf
        for k in range(3):
            wrong = ((answers != matrix[k]) & (matrix[k] != 0)).sum(axis=1)
            ahead = np.delete(near, k, axis=1).max(axis=1) >= near[:, k]
            least = min(least, wrong[ahead].min(initial=7))
        assert np.ceil(codes.row_distance(matrix.astype(np.int8)) / 2) == least


def test_code_matrices() -> None:
    rng = np.random.RandomState(0)
    for matrix in (
        codes.exhaustive(5),
        codes.dense(10, 15, rng, 50),
        codes.sparse(10, 30, rng, 50),
        codes.bch(26, 39, rng, 50),
        codes.bch(300, 200, rng, 2),
    ):
        assert len(np.unique(matrix, axis=0)) == len(matrix)
        assert ((matrix > 0).any(axis=0) & (matrix < 0).any(axis=0)).all()
        pairs = [(a.astype(int), b.astype(int)) for i, a in enumerate(matrix) for b in matrix[:i]]
        distances = [(a * b < 0).sum() - abs((a == 0).sum() - (b == 0).sum()) / 2 for a, b in pairs]
        assert codes.row_distance(matrix) == max(min(distances), 0)
    assert codes.exhaustive(5).shape == (5, 15)
    assert codes.row_distance(codes.exhaustive(5)) == 8
    assert codes.row_distance(codes.bch(26, 39, rng, 50)) >= 27  # BCH (63, 7) or (63, 10): designed 31 or 27
    many, one = (codes.row_distance(codes.dense(12, 18, np.random.RandomState(0), draws)) for draws in (200, 1))
    assert many > one
    many, one = (codes.row_distance(codes.sparse(8, 80, np.random.RandomState(0), draws)) for draws in (200, 1))
    assert many > one
    many, one = (codes.row_distance(codes.dense(900, 1000, np.random.RandomState(0), draws)) for draws in (100, 1))
    assert many > one


def test_wrong_code_matrices_are_named() -> None:
    X, y = np.eye(3).repeat(4, axis=0), np.arange(3).repeat(4)
    for code, what in (
        ([[1], [1], [1]], "column 0 of code must contain both -1 and 1"),
        ([[1, -1], [1, -1], [-1, 1]], "rows 0 and 1 of code are equal"),
        ([[1, -1], [-1, 1]], "with 3 rows, one per class"),
        ([[2], [1], [-1]], "a matrix of -1, 0 and 1"),
    ):
        with pytest.raises(ConfigError, match=what):
            linnet.OutputCodeClassifier(linnet.LogisticRegression(), code=code).fit(X, y)
    with pytest.raises(ConfigError, match="'exhaustive' has 524287 columns for 20 classes"):
        codes.exhaustive(20)


def test_likelihood_of_codes_against_brute_force() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 100)
    X = rng.normal(size=(4, 3))[y] + rng.normal(size=(100, 3))
    model = linnet.OutputCodeClassifier(linnet.LogisticRegression(), code="sparse", code_size=3, random_state=0).fit(
        X, y
    )
    yes = np.stack([each.predict_proba(X)[:, 1] for each in model.estimators_], axis=1)
    p = np.array(
        [
            [
                np.prod([{1: q, -1: 1 - q, 0: 0.5}[int(m)] for q, m in zip(row, word, strict=True)])
                for word in model.code_book_
            ]
            for row in yes
        ]
    )
    assert np.allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True), rtol=0, atol=1e-12)


def test_trees() -> None:
    assert trees.balanced(np.arange(5)) == (((0, 1), 2), (3, 4))
    assert trees.huffman(np.array([1.0, 2, 4, 8])) == (((0, 1), 2), 3)
    likeness = np.kron(np.eye(2), np.ones((3, 3))) + 0.01
    left, _ = trees.spectral(np.asarray(likeness, np.float64))
    assert sorted(trees.as_arrays(left, 3)[1].tolist()) in ([0, 1, 2], [3, 4, 5])
    weights = np.random.default_rng(0).random(40)
    children, _ = trees.as_arrays(trees.huffman(weights), 40)
    depths = (trees.node_codes(children, 40) != 0).sum(axis=1)
    even = (trees.node_codes(trees.as_arrays(trees.balanced(np.arange(40)), 40)[0], 40) != 0).sum(axis=1)
    entropy = -(weights / weights.sum() * np.log2(weights / weights.sum())).sum()
    assert (
        entropy <= (weights * depths).sum() / weights.sum() <= min(entropy + 1, (weights * even).sum() / weights.sum())
    )


def test_confused_classes_stay_together() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(800) % 4
    centers = np.array([[0, 0], [10, 0], [0.5, 0], [10.5, 0]])  # 0 with 2, 1 with 3
    X = centers[y] + rng.normal(size=(800, 2))
    model = linnet.LabelTreeClassifier(linnet.LogisticRegression(), tree="confusion").fit(X, y)
    below = trees.node_codes(model.children_, 4)[:, 0]
    assert below[0] == below[2]
    assert below[1] == below[3]
    assert below[0] != below[1]
    assert model.score(X, y) > linnet.LabelTreeClassifier(linnet.LogisticRegression()).fit(X, y).score(X, y) - 0.02


@pytest.mark.parametrize("kind", ["balanced", "huffman"])
def test_the_best_leaves_are_those_of_all_probabilities(kind: str) -> None:
    rng = np.random.default_rng(0)
    count, rows = 37, 50
    tree = trees.balanced(np.arange(count)) if kind == "balanced" else trees.huffman(rng.random(count))
    children, _ = trees.as_arrays(tree, count)
    z = 2 * rng.normal(size=(rows, count - 1))
    z[0] = 0  # all leaves of a level alike
    z[1, ::2] = 1000
    signs = trees.node_codes(children, count)
    p = np.ones((rows, count))
    for node in range(count - 1):
        p *= np.where(signs[:, node] == 0, 1, scipy.special.expit(signs[:, node] * z[:, node : node + 1]))
    for k in (1, 3, count):
        found, values, asked = best_leaves(children, lambda row, node: z[row, node], rows, k)
        assert np.allclose(values, -np.sort(-p, axis=1)[:, :k], rtol=1e-12, atol=1e-300)
        assert np.allclose(np.take_along_axis(p, found, axis=1), values, rtol=1e-12, atol=1e-300)
        assert (np.diff(np.sort(found, axis=1), axis=1) > 0).all()
        assert asked <= rows * (count - 1)


def test_a_search_asks_about_log_k_nodes() -> None:
    rng = np.random.default_rng(0)
    for count in (16, 256, 4096):
        children, _ = trees.as_arrays(trees.balanced(np.arange(count)), count)
        z = 8 * rng.choice([-1.0, 1.0], (100, count - 1))
        _, _, asked = best_leaves(children, partial(lambda z, row, node: z[row, node], z), 100, 1)
        assert asked == 100 * np.log2(count)


def test_top_k() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 9, 500)
    X = rng.normal(size=(9, 3))[y] + rng.normal(size=(500, 3))
    for learner in (linnet.LogisticRegression(), linnet.Perceptron(max_iter=3)):
        model = linnet.LabelTreeClassifier(learner).fit(X, y)
        p = model.predict_proba(X)
        classes, values = model.top_k(X, 4)
        assert np.array_equal(values, -np.sort(-p, axis=1)[:, :4])
        assert np.array_equal(np.take_along_axis(p, classes, axis=1), values)
        assert (classes[:, 0] == p.argmax(axis=1)).all()


def test_labels_by_the_table() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    table = (X[:, :3] + 0.5 * rng.normal(size=(200, 3)) > 0).astype(int)
    table = np.column_stack([table, np.zeros(200, int), np.ones(200, int)])  # nobody and everybody has these
    for y in (table, scipy.sparse.csr_array(table)):
        model = linnet.OneVsRestClassifier(linnet.LogisticRegression()).fit(X, y)
        assert model.multilabel_
        p = model.predict_proba(X)
        for k in range(3):
            alone = linnet.LogisticRegression().fit(X, table[:, k])
            assert np.allclose(p[:, k], alone.predict_proba(X)[:, 1], rtol=0, atol=1e-8)
        assert (model.predict(X) == (p > 0.5)).all()
        assert not model.predict(X)[:, 3].any()
        assert model.predict(X)[:, 4].all()
