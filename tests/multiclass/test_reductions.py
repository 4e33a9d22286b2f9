"""Laws that hold for every reduction with every kind of learner."""

import functools
import pickle
import warnings
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import linnet
from linnet.errors import ConfigError, DataError, DataWarning

Array = NDArray[Any]


class OnlyPredict(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that predicts classes only, without scores."""

    def fit(self, X: Array, y: Array) -> "OnlyPredict":
        self.classes_ = np.unique(y)
        means = np.stack([np.asarray(X)[y == k].mean(axis=0) for k in self.classes_])
        self.way, self.middle = means[1] - means[0], means.mean(axis=0)
        return self

    def predict(self, X: Array) -> Array:
        return self.classes_[((np.asarray(X) - self.middle) @ self.way > 0).astype(int)]  # type: ignore[no-any-return]


REDUCTIONS: dict[str, Any] = {
    "rest": linnet.OneVsRestClassifier,
    "rest-random": lambda e, **p: linnet.OneVsRestClassifier(e, tie_break="random", random_state=3, **p),
    "one": linnet.OneVsOneClassifier,
    "codes": lambda e, **p: linnet.OutputCodeClassifier(e, random_state=0, **p),
    "codes-hamming": lambda e, **p: linnet.OutputCodeClassifier(e, decoding="hamming", random_state=0, **p),
    "codes-sparse": lambda e, **p: linnet.OutputCodeClassifier(
        e, code="sparse", code_size=4, decoding="loss", random_state=0, **p
    ),
    "tree": linnet.LabelTreeClassifier,
    "tree-confusion": lambda e, **p: linnet.LabelTreeClassifier(e, tree="confusion", **p),
}
LEARNERS = {
    "linnet": linnet.LogisticRegression(),
    "sure": linnet.LogisticRegression(C=1e6),
    "theirs": TheirLogistic(max_iter=500),
    "tree": DecisionTreeClassifier(random_state=0),
    "svm": LinearSVC(random_state=0),
    "only-predict": OnlyPredict(),
}


def scaled(load: Any) -> tuple[Array, Array]:
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def pair(a: object, b: object) -> object:
    return a, b


def noisy(rows: int = 300, classes: int = 5, columns: int = 4, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    return rng.normal(size=(classes, columns))[y] + rng.normal(size=(rows, columns)), y


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_predict_is_the_arg_max_of_probabilities_that_sum_to_one(name: str, learner: str) -> None:
    X, y = noisy()
    far = np.vstack([X, 1e3 * X[:50], -1e3 * X[:50]])  # saturated scores, and rows that all classifiers reject
    names = np.array(["e", "a", "d", "b", "c"])[y]
    model = REDUCTIONS[name](LEARNERS[learner]).fit(X, names)
    p = model.predict_proba(far)
    assert p.shape == (400, 5)
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert np.allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(far)).all()
    assert model.score(X, names) > 0.4
    assert model.classes_.tolist() == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_one_class_and_two(name: str) -> None:
    X, y = noisy(60, 2)
    for learner in (LEARNERS["linnet"], LEARNERS["theirs"], LEARNERS["only-predict"]):
        two = REDUCTIONS[name](learner).fit(X, y)
        assert len(two.estimators_) == 1
        assert (two.predict_proba(X).argmax(axis=1) == two.predict(X)).all()
        one = REDUCTIONS[name](learner).fit(X, np.full(60, "x"))
        assert one.predict_proba(X).tolist() == [[1.0]] * 60
        assert set(one.predict(X)) == {"x"}


@pytest.mark.parametrize("name", ["rest", "one", "codes", "tree"])
def test_two_classes_are_one_logistic_regression(name: str) -> None:
    X, y = noisy(80, 2)
    alone = linnet.LogisticRegression().fit(X, y)
    both = REDUCTIONS[name](linnet.LogisticRegression()).fit(X, y)
    assert np.allclose(both.predict_proba(X), alone.predict_proba(X), rtol=0, atol=1e-7)
    assert (both.predict(X) == alone.predict(X)).all()


@pytest.mark.parametrize("name", ["rest", "codes", "tree"])
def test_a_thousand_classes(name: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 1000
    X = (3 * rng.normal(size=(1000, 8)))[y] + 0.3 * rng.normal(size=(4000, 8))
    options = {"code_size": 0.1} if name == "codes" else {}
    model = REDUCTIONS[name](linnet.LogisticRegression(C=100), **options).fit(X, y)
    p = model.predict_proba(X[:200])
    assert p.shape == (200, 1000)
    assert np.allclose(p.sum(axis=1), 1, rtol=0, atol=1e-9)
    assert (p.argmax(axis=1) == model.predict(X[:200])).all()
    assert model.score(X, y) > 0.002  # by chance: 0.001; lines do not part random halves of clouds


def test_one_vs_one_of_many_classes_with_two_rows_each() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(600) % 300
    X = (3 * rng.normal(size=(300, 2)))[y] + 0.1 * rng.normal(size=(600, 2))
    model = linnet.OneVsOneClassifier(linnet.LogisticRegression(C=10)).fit(X, y)
    assert model.learners_.count == 44_850
    p = model.predict_proba(X[:3])
    assert np.allclose(p.sum(axis=1), 1)
    assert (p.argmax(axis=1) == model.predict(X[:3])).all()
    assert model.score(X[:100], y[:100]) > 0.3


@pytest.mark.parametrize("name", REDUCTIONS)
def test_dense_sparse_and_frames_are_the_same(name: str) -> None:
    X, y = noisy()
    X = np.round(X)
    whole = REDUCTIONS[name](linnet.LogisticRegression()).fit(X, y).predict_proba(X)
    columns = {f"c{j}": X[:, j] for j in range(4)}
    for form in (scipy.sparse.csr_array(X), scipy.sparse.coo_array(X), pd.DataFrame(columns), pl.DataFrame(columns)):
        other = REDUCTIONS[name](linnet.LogisticRegression()).fit(form, y).predict_proba(form)
        assert np.allclose(other, whole, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["rest", "one", "codes", "tree"])
def test_levels_of_frames(name: str) -> None:
    X, y = noisy(400, 4)
    frame = pd.DataFrame({"x": X[:, 0], "level": np.array(["p", "q", "r"])[np.arange(400) % 3], "z": X[:, 1]})
    ones = np.column_stack([X[:, 0], *(frame["level"] == v for v in "pqr"), X[:, 1]]).astype(float)
    a = REDUCTIONS[name](linnet.LogisticRegression()).fit(frame, y)
    b = REDUCTIONS[name](linnet.LogisticRegression()).fit(ones, y)
    assert np.allclose(a.predict_proba(frame), b.predict_proba(ones), rtol=0, atol=1e-9)


@pytest.mark.parametrize("learner", ["linnet", "theirs", "tree"])
@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name != "tree-confusion"])  # which halves the rows
def test_whole_weights_are_repeated_rows(name: str, learner: str) -> None:
    X, y = noisy()
    w = 1 + np.arange(300) % 3
    estimator = TheirLogistic(tol=1e-10, solver="newton-cholesky") if learner == "theirs" else LEARNERS[learner]
    weighed = REDUCTIONS[name](estimator).fit(X, y, sample_weight=w)
    repeated = REDUCTIONS[name](estimator).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.allclose(weighed.predict_proba(X), repeated.predict_proba(X), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_rows_without_weight_are_as_rows_that_are_not_there(name: str) -> None:
    X, y = noisy()
    w = (np.arange(300) % 4 != 1) * (1 + np.arange(300) % 3)
    weighed = REDUCTIONS[name](linnet.LogisticRegression()).fit(X, y, sample_weight=w)
    fewer = REDUCTIONS[name](linnet.LogisticRegression()).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert np.allclose(weighed.predict_proba(X), fewer.predict_proba(X), rtol=0, atol=1e-7)


def test_weights_count_in_what_is_confused() -> None:
    """Of rows that are asked about, too: the classes that heavy rows confuse stay together."""
    X = np.array([0.0, 10.0, 20.0, 30.0])[:, None].repeat(40, axis=1).T.reshape(-1, 1)
    y = np.tile(np.arange(4), 40)
    rows = np.arange(40).repeat(4)
    X[(y == 0) & (rows % 4 == 1)] = 20.0  # of the second half: once 0 seems to be 2, and once 1
    X[(y == 0) & (rows % 4 == 3)] = 10.0
    for heavy, together in ((1, {0, 2}), (3, {0, 1})):
        w = np.where((y == 0) & (rows % 4 == heavy), 10.0, 1.0)
        tree = linnet.LabelTreeClassifier(DecisionTreeClassifier(random_state=0), tree="confusion")
        children = tree.fit(X, y, sample_weight=w).children_
        assert any({-1 - left, -1 - right} == together for left, right in children.tolist()), children


@pytest.mark.parametrize("name", REDUCTIONS)
def test_classifiers_whose_answers_are_no_numbers(name: str) -> None:
    """A normal distribution of columns that do not vary has none: the shares of the classes are what is left."""
    tables = (
        (np.ones((30, 2)), np.arange(30) % 5),
        (np.array([[0.0, 0], [0, 0], [1, 2], [3, 1], [2, 5], [4, 4]]), np.array([0, 1, 2, 2, 3, 3])),
    )
    for X, y in tables:
        with np.errstate(all="ignore"):
            model = REDUCTIONS[name](GaussianNB()).fit(X, y)
            p, predicted = model.predict_proba(X), model.predict(X)
        assert np.isfinite(p).all()
        assert np.allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
        assert (p.argmax(axis=1) == predicted).all()


class Unbounded(OnlyPredict):
    """A classifier whose scores may be infinite, or none."""

    def decision_function(self, X: Array) -> Array:
        z = (np.asarray(X) - self.middle) @ self.way
        return np.where(np.abs(z) > 1, np.sign(z) * np.inf, np.where(np.abs(z) < 0.1, np.nan, z))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_infinite_scores(name: str) -> None:
    X, y = noisy()
    model = REDUCTIONS[name](Unbounded()).fit(X, y)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    assert np.allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (p.argmax(axis=1) == model.predict(X)).all()
    if hasattr(model, "decision_function"):
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_class_without_weight_is_never_predicted_and_nothing_breaks(name: str) -> None:
    X, y = noisy()
    w = (y != 2).astype(float)
    for learner in ("linnet", "tree"):
        model = REDUCTIONS[name](LEARNERS[learner]).fit(X, y, sample_weight=w)
        p = model.predict_proba(X)
        assert np.isfinite(p).all()
        assert np.allclose(p.sum(axis=1), 1)
        assert p[:, 2].mean() < 0.1


@pytest.mark.usefixtures("teams_of_any_size")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_threads_and_jobs_change_nothing(name: str) -> None:
    X, y = noisy()
    for one, two in (
        (
            REDUCTIONS[name](linnet.LogisticRegression(threads=1)),
            REDUCTIONS[name](linnet.LogisticRegression(threads=3)),
        ),
        (REDUCTIONS[name](LEARNERS["tree"], n_jobs=1), REDUCTIONS[name](LEARNERS["tree"], n_jobs=2)),
    ):
        assert one.fit(X, y).predict_proba(X).tobytes() == two.fit(X, y).predict_proba(X).tobytes()


@pytest.mark.filterwarnings("ignore:Maximum iterations")
@pytest.mark.parametrize("learner", ["linnet", "perceptron", "mlp"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_file_gives_the_same_bytes(name: str, learner: str, tmp_path: Path) -> None:
    X, y = noisy(100, 3)
    names = np.array(["left", "right", "up"])[y]
    estimator: Any = {
        "linnet": linnet.LogisticRegression(),
        "perceptron": linnet.Perceptron(max_iter=5),
        "mlp": linnet.MLPClassifier((3,), max_iter=5, random_state=0),
    }[learner]
    model = REDUCTIONS[name](estimator).fit(X, names)
    model.save(tmp_path / "model")
    again = linnet.load(tmp_path / "model")
    for other in (again, pickle.loads(pickle.dumps(model))):
        assert other.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
        assert (other.predict(X) == model.predict(X)).all()
        assert repr(other) == repr(model)


def test_a_foreign_learner_is_refused_by_name(tmp_path: Path) -> None:
    X, y = noisy(60, 3)
    model = linnet.OneVsRestClassifier(TheirLogistic()).fit(X, y)
    with pytest.raises(ConfigError, match=r"estimator is of type sklearn\.LogisticRegression"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with pytest.raises(ConfigError, match="to_onnx"):
        model.to_onnx(tmp_path / "model.onnx")


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    X, y = noisy(60, 3)
    model = linnet.OneVsOneClassifier(linnet.LogisticRegression()).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(DataError, match="y has 59 rows"):
        model.fit(X, y[:-1])
    assert (model.predict_proba(X) == before).all()


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (linnet.OneVsRestClassifier(linnet.LogisticRegression(), tie_break="scores"), "did you mean 'score'"),
        (linnet.OutputCodeClassifier(linnet.LogisticRegression(), decoding="hammin"), "did you mean 'hamming'"),
        (linnet.OutputCodeClassifier(linnet.LogisticRegression(), code="densest"), "did you mean 'dense'"),
        (linnet.OutputCodeClassifier(linnet.LogisticRegression(), code_size=0), "code_size must be above 0"),
        (linnet.LabelTreeClassifier(linnet.LogisticRegression(), tree="hufman"), "did you mean 'huffman'"),
        (linnet.LabelTreeClassifier(linnet.LogisticRegression(), tree=((0, 1), 7)), "7, which is not a class"),
        (linnet.LabelTreeClassifier(linnet.LogisticRegression(), tree=(0, 1)), r"lacks \[2\]"),
        (linnet.LabelTreeClassifier(linnet.LogisticRegression(), tree=((0, 1), (2, 0))), "contains 0 twice"),
        (linnet.LabelTreeClassifier(linnet.LogisticRegression(), tree=np.array([0, 1])), r"lacks \[2\]"),
        (linnet.LabelTreeClassifier(linnet.LogisticRegression(), tree=({0}, 1)), r"\{0\}, which is not a class"),
        (
            linnet.LabelTreeClassifier(linnet.LogisticRegression(), tree=functools.reduce(pair, range(502), None)),
            "more than 500 levels",
        ),
        (linnet.OneVsRestClassifier(linnet.LogisticRegression), "estimator must be a classifier"),
        (linnet.OneVsRestClassifier(linnet.LogisticRegression(C=-1)), "C must be above 0"),
        (linnet.OneVsRestClassifier(linnet.LogisticRegression(class_weight="balance")), "class_weight must be a dict"),
        (linnet.OneVsOneClassifier(linnet.LogisticRegression(), n_jobs=0), "n_jobs must be None, a number"),
        (linnet.LabelTreeClassifier(linnet.LogisticRegression(), n_jobs=cast(Any, "2")), "n_jobs must be .* got '2'"),
        (linnet.OneVsRestClassifier(linnet.Ridge()), "Ridge is not a binary classifier"),
    ],
)
def test_parameters_without_a_meaning_are_named(model: Any, what: str) -> None:
    X, y = noisy(60, 3)
    with pytest.raises(ConfigError, match=what):
        model.fit(X, y)


def test_a_model_of_gigabytes_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(60, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linnet.OneVsOneClassifier(linnet.LogisticRegression()).fit(X, y)
    monkeypatch.setattr("linnet.multiclass.learners.stacked._MIN_BYTES_WARNED", 3 * 5 * 8)
    with pytest.warns(DataWarning, match=r"3 classifiers of 4 columns take 0\.0 GB of memory"):
        linnet.OneVsOneClassifier(linnet.LogisticRegression()).fit(X, y)


def test_verbose_is_heard(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = noisy(60, 3)
    linnet.OneVsRestClassifier(TheirLogistic(), verbose=10).fit(X, y)
    predicted = capfd.readouterr()
    assert "3 out of   3" in predicted.out + predicted.err


@pytest.mark.parametrize("learner", ["linnet", "theirs", "only-predict"])
def test_some_pairs_at_a_time_vote_as_all_do(learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(200, 6)
    model = linnet.OneVsOneClassifier(LEARNERS[learner]).fit(X, y)
    whole, predicted = model.decision_function(X), model.predict(X)
    monkeypatch.setattr("linnet.multiclass.one_vs_one._PAIRS_PER_BLOCK", 4)  # of 15
    assert np.allclose(model.decision_function(X), whole, rtol=0, atol=1e-12)
    assert (model.predict(X) == predicted).all()
    assert (model.predict_proba(X).argmax(axis=1) == predicted).all()


@pytest.mark.parametrize("name", ["rest", "one", "codes", "tree"])
def test_weights_are_routed_to_a_learner_that_asks_for_them(name: str) -> None:
    X, y = noisy(60, 3)
    w = np.arange(60) % 3
    plain = GridSearchCV(REDUCTIONS[name](linnet.LogisticRegression()), {"estimator__C": [2]}, cv=2)
    direct = plain.fit(X, y, sample_weight=w).best_estimator_
    with sklearn.config_context(enable_metadata_routing=True):
        learner = linnet.LogisticRegression().set_fit_request(sample_weight=True)
        model = REDUCTIONS[name](learner).set_score_request(sample_weight=False)
        asking = GridSearchCV(model, {"estimator__C": [2]}, cv=2)
        routed = asking.fit(X, y, sample_weight=w).best_estimator_
        with pytest.raises(ValueError, match=r"LogisticRegression\.set_fit_request"):
            plain.estimator.fit(X, y, sample_weight=w)
    assert (routed.predict_proba(X) == direct.predict_proba(X)).all()
    assert (routed.predict_proba(X) != REDUCTIONS[name](linnet.LogisticRegression()).fit(X, y).predict_proba(X)).any()


def test_weights_a_learner_does_not_take() -> None:
    X, y = noisy(60, 3)
    with pytest.raises(ConfigError, match=r"OnlyPredict\.fit takes no sample_weight"):
        linnet.OneVsRestClassifier(OnlyPredict()).fit(X, y, sample_weight=np.ones(60))


DATA = {"iris": load_iris, "wine": load_wine, "digits": load_digits}


@pytest.mark.parametrize("name", DATA)
def test_agreement_with_scikit_learns_three(name: str) -> None:
    from sklearn import multiclass as theirs

    X, y = scaled(DATA[name])
    learner = TheirLogistic(tol=1e-10, solver="newton-cholesky")
    rest = linnet.OneVsRestClassifier(linnet.LogisticRegression()).fit(X, y)
    their_rest = theirs.OneVsRestClassifier(learner).fit(X, y)
    assert np.allclose(rest.decision_function(X), their_rest.decision_function(X), rtol=0, atol=1e-4)
    assert np.allclose(rest.predict_proba(X), their_rest.predict_proba(X), rtol=0, atol=1e-5)
    assert (rest.predict(X) == their_rest.predict(X)).all()
    one = linnet.OneVsOneClassifier(linnet.LogisticRegression()).fit(X, y)
    their_one = theirs.OneVsOneClassifier(learner).fit(X, y)
    assert np.allclose(one.decision_function(X), their_one.decision_function(X), rtol=0, atol=1e-5)
    assert (one.predict(X) == their_one.predict(X)).all()
    codes = linnet.OutputCodeClassifier(linnet.LogisticRegression(), code_size=4, decoding="loss", random_state=0)
    codes.fit(X, y)
    assert codes.score(X, y) > 0.9
    their_codes = theirs.OutputCodeClassifier(learner, code_size=4, random_state=0).fit(X, y)
    their_codes.code_book_ = codes.code_book_.astype(float)  # theirs may have columns that part nothing
    their_codes.estimators_ = codes.estimators_
    assert (codes.predict(X) == their_codes.predict(X)).all()


def test_agreement_over_the_same_foreign_learners() -> None:
    from sklearn import multiclass as theirs

    X, y = scaled(load_digits)
    for learner in (LinearSVC(random_state=0), TheirLogistic(solver="newton-cholesky")):
        ours = linnet.OneVsOneClassifier(learner).fit(X, y)
        other = theirs.OneVsOneClassifier(learner).fit(X, y)
        assert np.allclose(ours.decision_function(X), other.decision_function(X), rtol=0, atol=1e-12)
        mine, rest = (kind.OneVsRestClassifier(learner).fit(X, y) for kind in (linnet, theirs))
        assert (mine.predict(X) == rest.predict(X)).all()


def test_an_error_explains_how_lists_of_labels_become_columns() -> None:
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(DataError, match="MultiLabelBinarizer"):
        linnet.OneVsRestClassifier(linnet.LogisticRegression()).fit(X, [["a"], ["b", "c"], []])


def test_weights_for_a_classifier_that_takes_none() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ConfigError, match=r"Perceptron.fit takes no sample_weight: use a classifier that does"):
        linnet.OneVsRestClassifier(linnet.Perceptron()).fit(X, y, sample_weight=np.ones(len(y)))
