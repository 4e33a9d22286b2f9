"""ThresholdClassifier: any classifier, with decisions that optimise an objective."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linnet
from linnet import ThresholdClassifier, evaluate
from linnet.errors import ConfigError, DataError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = (X[:, 0] + RNG.normal(size=400) > 1.5).astype(int)
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
MODEL = linnet.LogisticRegression()


def test_the_threshold_is_the_best_out_of_fold() -> None:
    tuned = ThresholdClassifier(MODEL, "f2", cv=4).fit(X, Y)
    scores = cross_val_predict(MODEL, X, Y, cv=StratifiedKFold(4), method="predict_proba")[:, 1]
    order = np.concatenate([test for _, test in StratifiedKFold(4).split(X, Y)])
    best = evaluate.best_threshold(Y[order], scores[order], "f2")
    assert tuned.threshold_ == best.threshold
    assert tuned.value_ == best.value
    assert tuned.threshold_ < 0.5
    np.testing.assert_array_equal(tuned.predict(X), MODEL.fit(X, Y).predict_proba(X)[:, 1] >= tuned.threshold_)
    np.testing.assert_array_equal(tuned.predict_proba(X), MODEL.predict_proba(X))
    np.testing.assert_array_equal(tuned.decision_function(X), MODEL.decision_function(X))
    np.testing.assert_array_equal(tuned.predict_log_proba(X), MODEL.predict_log_proba(X))


def test_the_spread_over_folds_is_reported() -> None:
    tuned = ThresholdClassifier(MODEL, cv=4).fit(X, Y)
    expected = []
    for train, test in StratifiedKFold(4).split(X, Y):
        p = linnet.LogisticRegression().fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
        expected.append(evaluate.best_threshold(Y[test], p).threshold)
    np.testing.assert_allclose(tuned.fold_thresholds_[:, 0], expected)
    spread = tuned.threshold_spread_
    assert spread["std"] == pytest.approx(np.std(expected))
    assert (spread["min"], spread["max"]) == (min(expected), max(expected))
    assert spread["mean"] == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("objective", ["recall>=0.9", evaluate.RecallAtLeast(0.9)])
def test_recall_on_a_development_set(objective: Any) -> None:
    tuned = ThresholdClassifier(MODEL, objective).fit(X[:200], Y[:200], eval_set=(X[200:], Y[200:]))
    assert evaluate.recall_score(Y[200:], tuned.predict(X[200:])) >= 0.9
    np.testing.assert_array_equal(tuned.estimator_.coef_, linnet.LogisticRegression().fit(X[:200], Y[:200]).coef_)
    weighted = ThresholdClassifier(MODEL, objective).fit(X[:200], Y[:200], eval_set=(X[200:], Y[200:], np.ones(200)))
    assert weighted.threshold_ == tuned.threshold_
    assert tuned.fold_thresholds_.shape == (1, 1)


def test_a_fitted_model_is_only_tuned() -> None:
    fitted = linnet.LogisticRegression().fit(X[:200], Y[:200])
    tuned = ThresholdClassifier(fitted, "precision>=0.7", cv="prefit").fit(X[200:], Y[200:])
    assert tuned.estimator_ is fitted
    assert evaluate.precision_score(Y[200:], tuned.predict(X[200:])) >= 0.7
    near = KNeighborsClassifier().fit(X[:200], Y[:200])  # takes no weights, and is not fitted again
    weighted = ThresholdClassifier(near, cv="prefit").fit(X[200:], Y[200:], sample_weight=np.ones(200))
    assert weighted.threshold_ == ThresholdClassifier(near, cv="prefit").fit(X[200:], Y[200:]).threshold_
    with pytest.raises(ConfigError, match="ages: with cv='prefit' nothing is fitted"):
        ThresholdClassifier(near, cv="prefit").fit(X, Y, ages=Y)


def test_a_part_held_out() -> None:
    tuned = ThresholdClassifier(MODEL, cv=0.3, random_state=0).fit(X, Y)
    assert tuned.fold_thresholds_.shape == (1, 1)
    assert np.isnan(tuned.threshold_spread_["std"])  # one alone has no spread
    assert tuned.threshold_ == ThresholdClassifier(MODEL, cv=0.3, random_state=0).fit(X, Y).threshold_


def test_costs_of_two_classes_move_the_threshold() -> None:
    cheap = ThresholdClassifier(MODEL, [[0, 1], [1, 0]]).fit(X, Y)
    dear = ThresholdClassifier(MODEL, [[0, 1], [20, 0]]).fit(X, Y)
    assert dear.threshold_ < cheap.threshold_
    costs = [[0, 1], [20, 0]]
    assert evaluate.mean_cost(Y, dear.predict(X), costs) < evaluate.mean_cost(Y, cheap.predict(X), costs)
    never = ThresholdClassifier(MODEL, [[0, 9], [0, 0]]).fit(X, Y)
    assert never.threshold_ == np.inf
    assert np.isnan(never.threshold_spread_["std"])
    assert not never.predict(X).any()


def test_costs_are_of_classes_whichever_is_positive() -> None:
    costs = [[0, 1], [20, 0]]
    for model in (MODEL, RidgeClassifier()):
        first, second = (ThresholdClassifier(model, costs, pos_label=label).fit(X, Y) for label in (0, 1))
        assert first.value_ == pytest.approx(second.value_)
        assert (first.predict(X) == second.predict(X)).mean() > 0.98  # a score at the threshold is of either


def test_several_classes_get_a_threshold_each() -> None:
    tuned = ThresholdClassifier(MODEL).fit(IRIS_X, IRIS_Y)
    assert tuned.threshold_.shape == tuned.value_.shape == (3,)
    assert tuned.fold_thresholds_.shape == (5, 3)
    assert tuned.threshold_spread_["max"].shape == (3,)
    margin = tuned.predict_proba(IRIS_X) - tuned.threshold_
    np.testing.assert_array_equal(tuned.predict(IRIS_X), margin.argmax(axis=1))
    assert tuned.score(IRIS_X, IRIS_Y) > 0.95


def test_a_negative_class_is_said_where_nothing_is_reached() -> None:
    names = np.array(["O", "A", "B"])[IRIS_Y]
    tuned = ThresholdClassifier(MODEL, "precision>=0.9", negative_class="O").fit(IRIS_X, names)
    p = tuned.predict_proba(IRIS_X)
    reached = (p >= tuned.threshold_)[:, :2]
    predicted = tuned.predict(IRIS_X)
    assert (predicted[~reached.any(axis=1)] == "O").all()
    assert (predicted[reached[:, 0] & ~reached[:, 1]] == "A").all()
    two = ThresholdClassifier(MODEL, negative_class=1).fit(X, Y)
    assert two.threshold_ == ThresholdClassifier(MODEL, pos_label=0).fit(X, Y).threshold_


def test_costs_of_several_classes_decide_by_expectation() -> None:
    costs = np.ones((3, 3)) - np.eye(3)
    costs[2, 1] = 30
    tuned = ThresholdClassifier(MODEL, costs).fit(IRIS_X, IRIS_Y)
    assert tuned.threshold_ is None
    np.testing.assert_array_equal(tuned.predict(IRIS_X), (tuned.predict_proba(IRIS_X) @ costs).argmin(axis=1))
    assert not ((tuned.predict(IRIS_X) == 1) & (IRIS_Y == 2)).any()
    with pytest.raises(ConfigError, match="needs predict_proba"):
        ThresholdClassifier(RidgeClassifier(), costs).fit(IRIS_X, IRIS_Y)


@pytest.mark.parametrize("pos_label", ["no", "yes"])
@pytest.mark.parametrize("model", [RidgeClassifier(), GaussianNB(), MODEL])
def test_any_library_and_either_class(model: Any, pos_label: str) -> None:
    names = np.array(["no", "yes"])[Y]
    tuned = ThresholdClassifier(model, "recall>=0.95", pos_label=pos_label).fit(X, names)
    assert evaluate.recall_score(names, tuned.predict(X), pos_label=pos_label) > 0.9
    assert hasattr(tuned, "predict_proba") == hasattr(model, "predict_proba")


@pytest.mark.parametrize("objective", ["f2", [[0, 1], [5, 0]], evaluate.PrecisionAtLeast(0.5)])
def test_it_is_pickled_and_cloned(objective: Any) -> None:
    tuned = ThresholdClassifier(MODEL, objective).fit(X, Y)
    again = pickle.loads(pickle.dumps(tuned))
    assert again.threshold_ == tuned.threshold_
    np.testing.assert_array_equal(again.predict(X), tuned.predict(X))
    assert not hasattr(clone(tuned), "threshold_")
    assert clone(tuned).fit(X, Y).threshold_ == tuned.threshold_


def test_parameters_set_after_the_fit_change_no_prediction() -> None:
    for model, y in ((ThresholdClassifier(MODEL, pos_label=0), Y), (ThresholdClassifier(MODEL, np.eye(3)), IRIS_Y)):
        x = X if y is Y else IRIS_X
        before = model.fit(x, y).predict(x)
        np.testing.assert_array_equal(model.set_params(pos_label=1, objective="f1").predict(x), before)


def test_names_of_columns_are_those_of_the_last_fit() -> None:
    tuned = ThresholdClassifier(MODEL).fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert tuned.feature_names_in_.tolist() == list("abcd")
    assert not hasattr(tuned.fit(X, Y), "feature_names_in_")


def test_frames_and_names() -> None:
    names = np.array(["no", "yes"])[Y]
    plain = ThresholdClassifier(MODEL).fit(X, names)
    for frame in (pd.DataFrame(X, columns=list("abcd")), pl.DataFrame(X, schema=list("abcd"))):
        y = pd.Series(names, index=range(1000, 1400)) if isinstance(frame, pd.DataFrame) else pl.Series(names)
        tuned = ThresholdClassifier(MODEL).fit(frame, y)
        np.testing.assert_allclose(tuned.threshold_, plain.threshold_, rtol=1e-12)
        np.testing.assert_array_equal(tuned.predict(frame), plain.predict(X))


def test_in_a_pipeline_and_around_one() -> None:
    inner = make_pipeline(StandardScaler(), linnet.LogisticRegression())
    around = ThresholdClassifier(inner, "f2").fit(X, Y)
    last = make_pipeline(StandardScaler(), ThresholdClassifier(MODEL, "f2")).fit(X, Y)
    assert around.threshold_ == pytest.approx(last[-1].threshold_, abs=0.05)
    search = GridSearchCV(last, {"thresholdclassifier__objective": ["f1", "recall>=0.9"]}, scoring="recall", cv=2)
    assert search.fit(X, Y).best_params_ == {"thresholdclassifier__objective": "recall>=0.9"}
    w = RNG.integers(1, 3, 400)
    weighted = last.fit(X, Y, thresholdclassifier__sample_weight=w)[-1]
    expected = ThresholdClassifier(MODEL, "f2").fit(StandardScaler().fit_transform(X), Y, sample_weight=w)
    assert weighted.threshold_ == expected.threshold_


def test_metadata_is_routed() -> None:
    w, groups = RNG.integers(1, 4, 400).astype(float), np.arange(400) % 5
    expected = ThresholdClassifier(MODEL, "f2", cv=list(GroupKFold(5).split(X, Y, groups))).fit(X, Y, sample_weight=w)
    with config_context(enable_metadata_routing=True):
        inner = linnet.LogisticRegression().set_fit_request(sample_weight=True)
        tuned = ThresholdClassifier(inner, "f2", cv=GroupKFold(5)).fit(X, Y, sample_weight=w, groups=groups)
        assert tuned.threshold_ == expected.threshold_
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner)
        piped = ThresholdClassifier(pipe, "f2").fit(X, Y, sample_weight=w)
        plain = ThresholdClassifier(pipe, "f2").fit(X, Y)
        assert not np.array_equal(piped.estimator_[-1].coef_, plain.estimator_[-1].coef_)
        scorer = make_scorer(f1_score).set_score_request(sample_weight=False)
        outer = ThresholdClassifier(inner).set_fit_request(sample_weight=True)
        search = GridSearchCV(outer, {"objective": ["f1", "f2"]}, scoring=scorer, cv=2)
        assert search.fit(X, Y, sample_weight=w).best_score_ > 0.3
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            ThresholdClassifier(linnet.LogisticRegression()).fit(X, Y, sample_weight=w)


def test_other_arguments_go_to_the_estimator_by_fold() -> None:
    folds = [(np.arange(100, 400), np.arange(100)), (np.arange(300), np.arange(300, 400))]
    seen: list[int] = []

    class Counting(linnet.LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None, ages: Any = None) -> Any:  # type: ignore[override]
            seen.append(len(ages))
            return super().fit(X, y, sample_weight=sample_weight)

    ThresholdClassifier(Counting(), cv=folds).fit(X, Y, ages=np.arange(400))
    assert seen == [300, 300, 400]


def test_it_works_in_scikit_learns_tools() -> None:
    search = GridSearchCV(
        ThresholdClassifier(MODEL), {"objective": ["f1", "f2"], "estimator__C": [0.1, 1]}, scoring="f1", cv=2
    )
    assert search.fit(X, Y).best_score_ > 0.3
    assert cross_val_score(ThresholdClassifier(MODEL), X, Y, scoring="f1", cv=3).mean() > 0.3


def test_rows_of_weight_two_are_rows_twice() -> None:
    folds = [(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]
    times = RNG.integers(1, 3, 400)
    places = np.repeat(np.arange(400), times)
    repeated = [(np.flatnonzero(np.isin(places, a)), np.flatnonzero(np.isin(places, b))) for a, b in folds]
    weighted = ThresholdClassifier(linnet.LogisticRegression(tol=1e-12), cv=folds).fit(X, Y, sample_weight=times)
    twice = ThresholdClassifier(linnet.LogisticRegression(tol=1e-12), cv=repeated).fit(X[places], Y[places])
    assert weighted.threshold_ == pytest.approx(twice.threshold_, rel=1e-9)
    assert weighted.value_ == pytest.approx(twice.value_, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "fit", "error", "message"),
    [
        (ThresholdClassifier(MODEL), (X, np.zeros(400, int)), DataError, "y has one class only"),
        (ThresholdClassifier(MODEL, "f"), (X, Y), ConfigError, "unknown objective 'f'"),
        (
            ThresholdClassifier(MODEL, np.zeros((3, 3))),
            (X, Y),
            ConfigError,
            "matrix is 3 x 3, but y has 2 classes",
        ),
        (ThresholdClassifier(MODEL, cv="refit"), (X, Y), ConfigError, "or 'prefit', got 'refit'"),
        (ThresholdClassifier(MODEL, pos_label=7), (X, Y), ConfigError, "pos_label=7 is not a label"),
        (ThresholdClassifier(MODEL, negative_class=7), (X, Y), ConfigError, "negative_class=7 is not among"),
        (ThresholdClassifier(MODEL, response_method="predict"), (X, Y), ConfigError, "unknown response_method"),
        (ThresholdClassifier(linnet.LinearRegression()), (X, Y), ConfigError, "LinearRegression is not a classifier"),
        (
            ThresholdClassifier(KNeighborsClassifier()),
            (X, Y, np.ones(400)),
            ConfigError,
            "takes no sample_weight: in",
        ),
        (ThresholdClassifier(MODEL), (X, None), DataError, "requires y to be passed"),
    ],
    ids=range(10),
)
def test_what_is_refused(model: Any, fit: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        model.fit(*fit)
    assert not hasattr(model, "threshold_")


def test_a_bad_development_set_is_refused() -> None:
    with pytest.raises(ConfigError, match="cv='prefit' tunes on all rows of X and y"):
        ThresholdClassifier(linnet.LogisticRegression().fit(X, Y), cv="prefit").fit(X, Y, eval_set=(X, Y))
    with pytest.raises(ConfigError, match="eval_set must be"):
        ThresholdClassifier(MODEL).fit(X, Y, eval_set=X)
    with pytest.raises(DataError, match="eval_set has the class 5 in row 0, which y does not have"):
        ThresholdClassifier(MODEL).fit(X, Y, eval_set=(X[:1], [5]))
    with pytest.raises(DataError, match="rows for tuning have one class only"):
        ThresholdClassifier(MODEL).fit(X, Y, eval_set=(X[:2], [0, 0]))
    with pytest.raises(DataError, match="the estimator has the classes"):
        ThresholdClassifier(linnet.LogisticRegression().fit(X, Y), cv="prefit").fit(X[:2], [1, 2])


def test_a_tuned_decision_does_not_change_with_the_parameter(tmp_path: Any) -> None:
    tuned = ThresholdClassifier(MODEL, cv=2).fit(X, Y)
    predicted = tuned.predict(X)
    tuned.set_params(response_method="decision_function")
    np.testing.assert_array_equal(tuned.predict(X), predicted)
    tuned.save(tmp_path / "model")
    np.testing.assert_array_equal(linnet.load(tmp_path / "model").predict(X), predicted)
