"""Intervals have the right coverage; comparisons agree with references."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference
from statsmodels.stats.proportion import proportion_confint

import linnet
from linnet import evaluate as ev
from linnet.errors import ConfigError, DataError
from linnet.evaluate.intervals import NAMES, measure
from linnet.evaluate.metrics import ALIASES

AREAS = ("roc_auc", "average_precision", "pr_auc")
LOSSES = ("log_loss", "brier", "ece")
SCORES = {*AREAS, *LOSSES}
AVERAGED = [name for name in NAMES if name.startswith(("macro_", "micro_", "weighted_"))]
COSTS = [[0, 1], [5, -1]]


def drawn(rng: np.random.Generator, n: int, a: float = 1.0, b: float = 2.0) -> tuple[Any, Any, Any]:
    """Rows drawn from a model, with its own (correct) probabilities."""
    p = rng.beta(a, b, n)
    y = (rng.random(n) < p).astype(int)
    return y, p, (p >= 0.4).astype(int)


def direct(name: str, y: Any, p: Any, y_pred: Any) -> float:
    """The metric by its own function."""
    if name in AREAS:
        return float(getattr(ev.Cutoffs.of(y, p), name))
    if name in LOSSES:
        losses: Any = {"log_loss": ev.log_loss, "brier": ev.brier_score_loss, "ece": ev.expected_calibration_error}
        return float(losses[name](y, p))
    if name == "mean_cost":
        return ev.mean_cost(y, y_pred, COSTS)
    if name in AVERAGED:
        how, what = name.split("_", 1)
        if what in ("f1", "f_beta"):
            return float(ev.fbeta_score(y, y_pred, average=how, beta=2 if what == "f_beta" else 1))
        return float(getattr(ev, f"{what}_score")(y, y_pred, average=how))
    rates = ev.binary_rates(y, y_pred)
    name = ALIASES.get(name, name)
    name = "accuracy" if name in ("categorical_accuracy", "binary_accuracy") else name  # as Keras calls it
    return rates.f_beta(2) if name == "f_beta" else float(getattr(rates, name))


def options_of(name: str) -> dict[str, Any]:
    return {"beta": 2} if name.endswith("f_beta") else {"costs": COSTS} if name == "mean_cost" else {}


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_has_both_intervals_and_they_agree(name: str) -> None:
    y, p, y_pred = drawn(np.random.default_rng(1), 600)
    predictions, options = p if name in SCORES else y_pred, options_of(name)
    analytic = ev.interval(name, y, predictions, **options)
    by_draws = ev.interval(name, y, predictions, method="bootstrap", n_resamples=600, **options)
    assert analytic.value == by_draws.value == pytest.approx(direct(name, y, p, y_pred), rel=1e-12)
    assert by_draws.low < analytic.value < by_draws.high
    assert analytic.low < analytic.value < analytic.high
    if name != "ece":  # its draws are biased upwards
        assert analytic.high - analytic.low == pytest.approx(by_draws.high - by_draws.low, rel=0.2)


@pytest.mark.parametrize("name", ["accuracy", "recall", "f1", "mcc", "macro_f1", "balanced_accuracy", *AREAS, "brier"])
@pytest.mark.parametrize(("a", "b"), [(1, 2), (0.3, 3)], ids=["a third positive", "9 % positive"])
def test_coverage(name: str, a: float, b: float) -> None:
    rng = np.random.default_rng(7)
    truth = direct(name, *drawn(rng, 1_000_000, a, b))
    hits = 0
    for _ in range(400):
        y, p, y_pred = drawn(rng, 200, a, b)
        found = ev.interval(name, y, p if name in SCORES else y_pred)
        hits += found.low <= truth <= found.high
    assert 0.915 <= hits / 400 <= 0.985


def test_wilson_is_the_reference() -> None:
    y, y_pred = [1] * 20 + [0] * 5, [1] * 13 + [0] * 10 + [1] * 2
    found = ev.interval("accuracy", y, y_pred, level=0.9)
    low, high = proportion_confint(16, 25, alpha=0.1, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)
    assert ev.interval("recall", y, y_pred).low == pytest.approx(proportion_confint(13, 20, method="wilson")[0])
    assert str(found).startswith("accuracy 0.6400 (90%: 0.4")


def test_delong_by_its_definition() -> None:
    rng = np.random.default_rng(3)
    y, s = rng.integers(0, 2, 40), np.round(rng.normal(size=40), 1)
    positives, negatives = s[y == 1], s[y == 0]
    wins = (positives[:, None] > negatives) + 0.5 * (positives[:, None] == negatives)
    expected = wins.mean(axis=1).var(ddof=1) / len(positives) + wins.mean(axis=0).var(ddof=1) / len(negatives)
    prepared: Any = measure("roc_auc", y, s)
    assert (prepared.influence() ** 2).sum() == pytest.approx(expected, rel=1e-12)
    found, area = ev.interval("roc_auc", y, s), wins.mean()
    half = stats.t.ppf(0.975, min(len(positives), len(negatives)) - 1) * np.sqrt(expected) / (area * (1 - area))
    logit = np.log(area / (1 - area))
    assert found.low == pytest.approx(1 / (1 + np.exp(half - logit)), rel=1e-12)
    assert found.high == pytest.approx(1 / (1 + np.exp(-half - logit)), rel=1e-12)
    assert found.method == "delong"


TABLES: list[dict[str, Any]] = [
    {},
    {"average": "weighted"},
    {"average": "micro"},
    {"multi_class": "ovo"},
    {"multi_class": "ovo", "average": "weighted"},
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", AREAS)
def test_influence_is_the_slope_in_a_row_s_weight(name: str, classes: int) -> None:
    rng = np.random.default_rng(3)
    y = np.append(np.arange(classes), rng.integers(0, classes, 40 - classes))
    s = np.round(rng.normal(size=(40, classes)) + (y[:, None] == np.arange(classes)), 1)  # with ties
    w = rng.integers(1, 4, 40).astype(float)
    for options in TABLES if classes > 2 else [{}]:
        if "multi_class" in options and name != "roc_auc":
            continue
        prepared: Any = measure(name, y, s, sample_weight=w, **options)
        expected = np.empty(40)
        for row in range(40):
            step = 1e-6 * (np.arange(40) == row)
            expected[row] = (prepared.value(w + step) - prepared.value(w - step)) / 2e-6
        found = prepared.influence()
        assert w @ found == pytest.approx(0, abs=1e-12)
        if name == "roc_auc":  # DeLong's has n - 1 in place of n
            np.testing.assert_allclose(found, expected, rtol=0.1, atol=2e-3)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("options", TABLES, ids=str)
@pytest.mark.parametrize("name", AREAS)
def test_areas_of_several_classes(name: str, options: Any) -> None:
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]
    s = np.round(rng.normal(size=(300, 3)) + (y[:, None] == np.array(["a", "b", "c"])), 1)
    if "multi_class" in options and name != "roc_auc":
        with pytest.raises(ConfigError, match="multi_class='ovo' needs roc_auc"):
            ev.interval(name, y, s, **options)
        return
    score: Any = {"roc_auc": ev.roc_auc_score, "average_precision": ev.average_precision_score}.get(
        name, ev.pr_auc_score
    )
    analytic = ev.interval(name, y, s, **options)
    assert analytic.value == pytest.approx(score(y, s, **options), rel=1e-12)
    by_draws = ev.interval(name, y, s, method="bootstrap", n_resamples=300, **options)
    assert analytic.high - analytic.low == pytest.approx(by_draws.high - by_draws.low, rel=0.2)
    several = (y[:, None] == np.array(["a", "b", "c"])).astype(int)
    if "multi_class" not in options:
        as_labels = ev.interval(name, several, s, **options)
        assert (as_labels.low, as_labels.high) == pytest.approx((analytic.low, analytic.high), rel=1e-9)


def test_the_delta_method_by_its_definition() -> None:
    y, y_pred = [1] * 30 + [0] * 70, [1] * 20 + [0] * 10 + [1] * 15 + [0] * 55
    found = ev.interval("f1", y, y_pred)
    tp, fp, fn = 20.5, 15.5, 10.5  # two rows are added, half a row a cell
    under = 2 * tp + fp + fn
    slopes = {tp: 2 * (fp + fn) / under**2, fp: -2 * tp / under**2, fn: -2 * tp / under**2}
    deviation = np.sqrt(sum(count * slope**2 for count, slope in slopes.items()))
    middle = 2 * tp / under
    logit = np.log(middle / (1 - middle)) + stats.norm.ppf(0.975) * deviation / (middle * (1 - middle))
    assert found.high == pytest.approx(1 / (1 + np.exp(-logit)), rel=1e-9)


@pytest.mark.parametrize("name", ["macro_f1", "weighted_f1", "mcc", "balanced_accuracy"])
def test_many_classes(name: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 100, 10_000)
    y_pred = np.where(rng.random(10_000) < 0.7, y, rng.integers(0, 100, 10_000))
    analytic = ev.interval(name, y, y_pred)
    by_draws = ev.interval(name, y, y_pred, method="bootstrap", n_resamples=500)
    width = by_draws.high - by_draws.low
    assert analytic.high - analytic.low == pytest.approx(width, rel=0.2)
    assert (analytic.low + analytic.high) / 2 == pytest.approx(analytic.value, abs=0.1 * width)


def test_only_some_classes_are_averaged() -> None:
    rng = np.random.default_rng(0)
    y = np.array(["A", "B", "O"])[rng.choice(3, 400, p=[0.1, 0.2, 0.7])]
    y_pred = np.where(rng.random(400) < 0.8, y, rng.permutation(y))
    for name in AVERAGED:
        how, what = name.split("_", 1)
        if what == "f_beta":
            continue
        options: dict[str, Any] = {"negative_class": "O"}
        found = ev.interval(name, y, y_pred, **options)
        assert found.value == pytest.approx(getattr(ev, f"{what}_score")(y, y_pred, average=how, **options), rel=1e-12)
        by_draws = ev.interval(name, y, y_pred, method="bootstrap", n_resamples=500, **options)
        assert found.high - found.low == pytest.approx(by_draws.high - by_draws.low, rel=0.2)


def test_weights_count_rows() -> None:
    rng = np.random.default_rng(0)
    y, p, y_pred = drawn(rng, 80)
    w = rng.integers(0, 4, 80)
    for name in NAMES:
        predictions, options = p if name in SCORES else y_pred, options_of(name)
        weighted = ev.interval(name, y, predictions, sample_weight=w, **options)
        repeated = ev.interval(name, np.repeat(y, w), np.repeat(predictions, w), **options)
        assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high), rel=1e-9), name
        draws: Any = {"method": "bootstrap", "n_resamples": 1000, **options}
        weighted = ev.interval(name, y, predictions, sample_weight=w, **draws)
        repeated = ev.interval(name, np.repeat(y, w), np.repeat(predictions, w), **draws)
        assert weighted.high - weighted.low == pytest.approx(repeated.high - repeated.low, rel=0.15), name
    with pytest.raises(DataError, match="sample_weight sums to 1, but a row of weight w counts as w rows"):
        ev.interval("f1", y, y_pred, sample_weight=w / w.sum())


def test_perfect_and_hopeless_models_have_intervals() -> None:
    y = np.array([0, 1] * 10)
    for name in ("accuracy", "f1", "mcc", "macro_f1", "balanced_accuracy", "geometric_mean", *AREAS):
        found = ev.interval(name, y, y)
        assert found.high == found.value == pytest.approx(1)
        assert 0.4 < found.low < 0.9
        worst = ev.interval(name, y, 1 - y)
        assert worst.low == worst.value or name in AREAS
        assert worst.high > worst.value + 0.1
    alone = ev.interval("roc_auc", [1, 1], [0.1, 0.2])
    assert np.isnan(alone.value)
    assert ev.interval("average_precision", [1, 1], [0.1, 0.2]).value == 1


def test_the_same_draws_for_the_same_seed_whatever_the_threads() -> None:
    y, p, y_pred = drawn(np.random.default_rng(0), 200)
    for name, predictions in (("f1", y_pred), ("roc_auc", p), ("log_loss", p)):
        found = []
        for threads in (1, 3):
            with linnet.threads(threads):
                found.append(ev.interval(name, y, predictions, method="bootstrap", n_resamples=50, random_state=4))
        assert found[0] == found[1]
        other = ev.interval(name, y, predictions, method="bootstrap", n_resamples=50, random_state=5)
        assert other != found[0]
    for made in (np.random.default_rng, np.random.RandomState):
        one, same = (ev.interval("f1", y, y_pred, method="bootstrap", random_state=made(4)) for _ in range(2))
        assert one == same
    with pytest.raises(ConfigError, match="random_state must be an integer of at least 0"):
        ev.interval("f1", y, y_pred, method="bootstrap", random_state="a")


def test_other_names_of_a_rate() -> None:
    y, _, y_pred = drawn(np.random.default_rng(0), 100)
    for other, name in ((other, name) for other, name in ALIASES.items() if other in NAMES):
        a, b = ev.interval(other, y, y_pred), ev.interval(name, y, y_pred)
        assert (a.metric, a.low, a.high) == (other, b.low, b.high)


def test_any_function_by_the_bootstrap() -> None:
    y, p, _ = drawn(np.random.default_rng(0), 100)

    def error(truth: Any, y_pred: Any) -> float:
        return float(np.abs(truth - y_pred).mean())

    found = ev.interval(error, y, p, method="bootstrap", n_resamples=100)
    assert found.metric == "error"
    assert found.low < found.value == error(y, p) < found.high
    again = ev.interval(error, y, p, method="bootstrap", n_resamples=100)
    assert found == again
    assert ev.interval(error, y, p, method="bootstrap", n_resamples=100, random_state=1) != found
    with pytest.raises(ConfigError, match="use method='bootstrap'"):
        ev.interval(error, y, p)
    with pytest.raises(ConfigError, match="cannot be used with a function"):
        ev.interval(error, y, p, sample_weight=np.ones(100))
    assert ev.interval(error, p, p / 2, method="bootstrap", n_resamples=50).value == error(p, p / 2)


@pytest.mark.parametrize(("right_a", "right_b"), [(3, 9), (30, 14), (0, 4), (200, 180)])
@pytest.mark.parametrize("exact", [True, False])
def test_mcnemar_is_the_reference(right_a: int, right_b: int, exact: bool) -> None:
    y = np.ones(right_a + right_b + 20, int)
    a, b = y.copy(), y.copy()
    b[:right_a] = 0
    a[right_a : right_a + right_b] = 0
    found = ev.mcnemar(y, a, b, exact=exact)
    theirs = reference([[20, right_a], [right_b, 0]], exact=exact)
    assert (found.only_a, found.only_b) == (right_a, right_b)
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-12)
    plain = ev.mcnemar(y, a, b, exact=False, correction=False)
    assert plain.statistic == pytest.approx(
        reference([[20, right_a], [right_b, 0]], exact=False, correction=False).statistic
    )
    assert ev.mcnemar(y, a, b).exact == (right_a + right_b < 25)


def test_equal_models_differ_by_nothing() -> None:
    y, p, y_pred = drawn(np.random.default_rng(0), 100)
    assert ev.mcnemar(y, y_pred, y_pred).p_value == 1
    same = ev.compare("roc_auc", y, p, p, n_resamples=100)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_paired_bootstrap_sees_what_pairing_shows() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    a = np.where(rng.random(300) < 0.9, y, 1 - y)
    b = a.copy()
    wrong = np.flatnonzero(a == y)[:18]
    b[wrong] = 1 - y[wrong]  # never better than a, so a paired comparison is sure
    found = ev.compare("accuracy", y, a, b, n_resamples=500)
    assert found.difference == pytest.approx(18 / 300)
    assert 0 < found.low < found.difference < found.high
    assert found.p_value == pytest.approx(2 / 501)
    assert ev.compare("accuracy", y, b, a, n_resamples=500).high < 0
    assert "accuracy: " in str(found)
    assert ev.interval("accuracy", y, a).low < ev.interval("accuracy", y, b).high  # unpaired they overlap


def test_a_null_difference_is_rejected_as_often_as_it_should() -> None:
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(60):
        y = rng.integers(0, 2, 80)
        a, b = (np.where(rng.random(80) < 0.8, y, 1 - y) for _ in range(2))
        p_values.append(ev.compare("accuracy", y, a, b, n_resamples=100).p_value)
    assert np.mean(np.array(p_values) < 0.1) < 0.25
    assert np.mean(np.array(p_values) < 0.5) > 0.25


def test_names_are_checked() -> None:
    for call, message in (
        (lambda: ev.interval("acuracy", [0, 1], [0, 1]), "unknown metric 'acuracy': did you mean 'accuracy'"),
        (lambda: ev.interval("f1", [0, 1], [0, 1], method="exact"), "unknown method 'exact'"),
        (lambda: ev.interval("f1", [0, 1], [0, 1], level=1), "level must be above 0 and below 1"),
        (lambda: ev.interval("f1", ["a", "b"], ["a", "b"]), "pos_label must name"),
        (lambda: ev.interval("f1", [0, 0], [0, 0]), "pos_label=1 occurs neither in y_true nor in y_pred"),
        (lambda: ev.compare("f1", [0, 1], [0, 1], [0, 1], n_resamples=0), "n_resamples must be"),
    ):
        with pytest.raises(ConfigError, match=message):
            call()


def test_draws_that_lack_a_class_count_for_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ev.interval("roc_auc", [0, 1, 1], [0.1, 0.2, 0.3], method="bootstrap", n_resamples=50)
    assert (found.low, found.high) == (1, 1)
    assert np.isnan(measure("precision", [0, 1], [0, 0]).value(None))
