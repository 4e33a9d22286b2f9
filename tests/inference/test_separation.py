"""Whether an optimum exists, against a linear program that looks for a direction without one."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.typing import NDArray
from scipy.optimize import linprog

import linnet
from linnet.data.encoder import Encoder
from linnet.errors import SeparationWarning
from linnet.fit.solvers.problem import Problem
from linnet.fit.solvers.select import solve
from linnet.heads import head_named
from linnet.inference.separation.detect import _has_optimum, separation

Floats = NDArray[np.float64]


def no_optimum(gains: Any, still: Any) -> bool:
    """Whether some d has gains d >= 0, one of them above 0, and still d = 0."""
    equal: dict[str, Any] = {"A_eq": still, "b_eq": np.zeros(len(still))} if len(still) else {}
    found = linprog(-gains.sum(axis=0), A_ub=-gains, b_ub=np.zeros(len(gains)), bounds=(-1, 1), **equal)
    assert found.status == 0
    return bool(-found.fun > 1e-7)


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "poisson", "tweedie"])
def test_a_proof_of_an_optimum_is_one(family: str) -> None:
    rng = np.random.default_rng(0)
    outcomes = {(proved, endless): 0 for proved in (False, True) for endless in (False, True)}
    for trial in range(300):
        rows, columns, classes = int(rng.integers(8, 40)), int(rng.integers(1, 4)), 3
        counts = family in ("poisson", "tweedie")
        few = (0, 2) if counts else (-2, 3)
        x = rng.integers(*few, (rows, columns)) if trial % 2 else rng.standard_normal((rows, columns))
        x = np.asarray(x, np.float64)
        intercept = bool(trial % 5)
        ones = np.column_stack([x, np.ones(rows)]) if intercept else x
        score = x[:, 0] + rng.choice([0.1, 1.0, 5.0]) * rng.standard_normal(rows)
        none = np.zeros((0, ones.shape[1]))
        if family == "categorical":
            t = np.digitize(score, [-0.5, 0.5])
            t[:classes] = range(classes)
            labels = t.astype(np.int32)
            problem = Problem.in_memory(
                Encoder.learn(x)[1], head_named(family), classes, labels=labels, intercept=intercept
            )
            gains = [  # own class against every other
                np.kron(np.eye(classes)[own] - np.eye(classes)[k], row)
                for row, own in zip(ones, t, strict=True)
                for k in range(classes)
                if k != own
            ]
            endless = no_optimum(np.array(gains), np.zeros((0, classes * ones.shape[1])))
        else:
            t = score > 0
            if counts:
                t = rng.poisson(2.0, rows) * (x[:, 0] <= (0 if trial % 4 == 1 else 1))
            t = t.astype(np.intp)
            t[np.argsort(-score if counts else score)[[0, -1]]] = 0, 1
            weights = rng.uniform(0.2, 3, rows) if trial % 3 == 0 else None
            values = np.asarray(t, np.float64)[:, None]
            given: Any = {"values": values, "weights": weights, "intercept": intercept}
            problem = Problem.in_memory(Encoder.learn(x)[1], head_named(family, 1.5), 1, **given)
            if family == "bernoulli":
                endless = no_optimum(ones * np.where(t, 1, -1)[:, None], none)
            else:
                endless = no_optimum(-ones[t == 0], ones[t > 0])
        solution = solve(problem)
        proved = _has_optimum(problem, solution)
        outcomes[proved, endless] += 1
        assert (separation(problem, solution) is not None) == endless
        assert (separation(problem, solve(problem, "lbfgs")) is not None) == endless
    assert outcomes[True, True] == 0
    assert outcomes[True, False] > 5 * outcomes[False, False]  # the proof is found nearly always
    assert outcomes[False, True] > 20


def test_levels_of_one_kind_are_counted_where_there_are_too_many_for_second_derivatives() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"cell": rng.integers(0, 3000, 12_000).astype(str), "x": rng.normal(size=12_000)})
    counts = rng.poisson(0.4, 12_000)
    empty = pd.Series(counts == 0).groupby(table["cell"]).all()
    rows = int(table["cell"].isin(empty[empty].index).sum())
    message = rf"{empty.sum()} levels of cell \(such as cell=\d+ and cell=\d+\) separate rows of 0 .* on {rows} rows"
    with pytest.warns(SeparationWarning, match=message):
        linnet.PoissonRegressor(alpha=0).fit(table, counts)
    yes = counts > 0
    one_class = pd.Series(yes).groupby(table["cell"]).nunique() == 1
    with pytest.warns(SeparationWarning, match=rf"{one_class.sum()} levels of cell .* separate classes False and True"):
        linnet.LogisticRegression(C=np.inf).fit(table, yes)


@pytest.mark.parametrize("kind", ["classes", "counts"])
def test_columns_that_separate_together_are_named_where_there_are_too_many_for_second_derivatives(kind: str) -> None:
    rng = np.random.default_rng(0)
    n = 16_000
    two = rng.integers(0, 3, (n, 2))
    if kind == "counts":
        two[two.sum(axis=1) < 2] = 1
    rest = scipy.sparse.random(n, 2600, 0.01, random_state=1).toarray()
    x = scipy.sparse.csr_array(np.hstack([two, rest]))
    score = two.sum(axis=1)
    model = linnet.LogisticRegression(C=np.inf) if kind == "classes" else linnet.PoissonRegressor(alpha=0)
    y = np.where(score == 2, rng.integers(0, 2, n), score > 2) if kind == "classes" else rng.poisson(score == 2)
    with pytest.warns(SeparationWarning, match="quasi-complete separation: x0, x1 separate"):
        model.fit(x, y)
    y[np.flatnonzero(score == 3)[:20]] = 0 if kind == "classes" else 1  # now they do not
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        warnings.simplefilter("ignore", UserWarning)
        model.fit(x, y)


def as_frame(x: Floats) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


def two_and_many(rng: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """A table of two columns and many others, their sum, and classes: 2 above 2, 0 or 1 below, and any of them at 2."""
    n = 8000
    two = rng.integers(0, 3, (n, 2))
    score = two.sum(axis=1)
    y = np.where(score == 2, rng.integers(0, 3, n), np.where(score > 2, 2, rng.integers(0, 2, n)))
    return np.hstack([two, scipy.sparse.random(n, 900, 0.02, random_state=1).toarray()]), score, y


def not_separated(model: Any, *data: Any, **others: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        model.fit(*data, **others)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, as_frame])
def test_a_class_that_two_columns_separate_is_named_while_rows_are_unsure_of_the_others(form: Any) -> None:
    x, score, y = two_and_many(np.random.default_rng(0))
    x, model = form(x), linnet.LogisticRegression(C=np.inf)
    with pytest.warns(SeparationWarning, match=f"x0, x1 separate class 2 from the others on {np.sum(score != 2)} rows"):
        model.fit(x, y)
    y[np.flatnonzero(score == 3)[:20]] = 0  # now they do not, and coefficients are large but finite
    not_separated(model, x, y)


def test_weights_offsets_a_reference_and_penalties_on_others_change_nothing_of_what_two_columns_separate() -> None:
    rng = np.random.default_rng(0)
    dense, score, y = two_and_many(rng)
    x, n = scipy.sparse.csr_array(dense), len(y)
    offset = 3 * rng.normal(size=(n, 3))
    for reference in (0, 2):
        model = linnet.LogisticRegression(C=np.inf, reference=reference)
        with pytest.warns(SeparationWarning, match="x0, x1 separate class 2 from the others"):
            model.fit(x, y, offset=offset)
    model = linnet.LogisticRegression(C=np.inf)
    weights = rng.integers(0, 2, n) | (score == 2)
    others = np.where((score > 2) & (weights == 0), 0, y)
    with pytest.warns(
        SeparationWarning, match=f"x0, x1 separate class 2 from the others .* {np.sum((score != 2) & (weights > 0))}"
    ):
        model.fit(x, others, sample_weight=weights)
    not_separated(model, x, others)
    model.set_params(C=1.0, column_penalty=np.where(np.arange(902) < 2, 0.0, 1.0))
    with pytest.warns(SeparationWarning, match="x0, x1 separate class 2 from the others"):
        model.fit(x, y)
    model = linnet.LogisticRegression(C=np.inf)
    pairs = np.where(score == 2, rng.integers(0, 4, n), 2 * (score > 2) + rng.integers(0, 2, n))
    with pytest.warns(SeparationWarning, match="x0, x1 separate classes 0 and 1 and 2 and 3"):
        model.fit(x, pairs)


def _table(rng: np.random.Generator) -> tuple[Any, Floats]:
    """A table of some form, and the same as an array."""
    n, p = int(rng.integers(15, 120)), int(rng.integers(2, 7))
    few = (rng.random((n, p)) < 0.3) * rng.integers(1, 3, (n, p))
    x = np.asarray([rng.integers(0, 3, (n, p)), rng.normal(size=(n, p)), few][rng.integers(3)], np.float64)
    form = rng.integers(3)
    if form < 2:
        return (x if form else scipy.sparse.csr_array(x)), x
    level = rng.integers(0, 4, n)
    levels = np.asarray(level[:, None] == np.unique(level), np.float64)
    return as_frame(x).assign(level=pd.Categorical(level.astype(str))), np.hstack([x, levels])


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("family", ["bernoulli", "categorical", "poisson", "tweedie"])
def test_a_fit_says_what_a_linear_program_does(family: str, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.inference.separation.detect.LARGEST_CURVATURE", 0)  # no second derivatives after L-BFGS
    monkeypatch.setattr("linnet.inference.separation.detect._MAX_PROGRAM_ENTRIES", 0)
    monkeypatch.setattr("linnet.inference.separation.detect.one_column_each", lambda *_: None)
    rng = np.random.default_rng(0)
    outcomes = {False: 0, True: 0}
    for _ in range(200):
        table, x = _table(rng)
        n, k = len(x), int(rng.integers(3, 6)) if family == "categorical" else int(rng.integers(1, 3))
        intercept, noise = bool(rng.random() < 0.8), rng.choice([0.1, 0.5, 2.0])
        ones = np.column_stack([x, np.ones(n)]) if intercept else x
        weights = rng.integers(0, 3, n) + 0.0 if rng.random() < 0.3 else None
        counted = np.ones(n, np.bool_) if weights is None else weights > 0
        given: Any = {"weights": weights, "intercept": intercept}
        if rng.random() < 0.3:
            given["offset"] = 4 * rng.normal(size=(n, k))
        score = x[:, 0] + x[:, 1]
        middle = rng.choice(score, k)
        if family == "categorical":
            side = np.where(score == middle[0], rng.integers(0, 2, n), score > middle[0])
            z = 50.0 * rng.integers(0, 2) * (side[:, None] == rng.integers(0, 2, k))  # classes in two groups, or not
            t = (z + x[:, :2] @ rng.normal(size=(2, k)) + noise * rng.gumbel(size=(n, k))).argmax(axis=1)
            given["labels"] = t.astype(np.int32)
            if rng.random() < 0.3:
                given["fixed"] = np.arange(k) == rng.integers(k)
            apart = np.eye(k)[t][:, None] - np.eye(k)
            gains = np.einsum("ikl,ij->iklj", apart, ones)[counted].reshape(-1, k * ones.shape[1])
            endless = no_optimum(gains, np.zeros((0, gains.shape[1])))
        else:
            t = score[:, None] + noise * rng.normal(size=(n, k)) > middle
            t = t + 0.0 if family == "bernoulli" else rng.poisson(2.0, (n, k)) * ~t + 0.0
            given["values"] = np.ascontiguousarray(t)
            side = 2 * t - 1 if family == "bernoulli" else -1.0 * (t == 0)
            endless = any(
                no_optimum((ones * one[:, None])[counted & (one != 0)], ones[counted & (one == 0)])
                for one in side.T
                if (counted & (one != 0)).any()
            )
        problem = Problem.in_memory(Encoder.learn(table)[1], head_named(family, 1.5), k, **given)
        assert (separation(problem, solve(problem, solver)) is not None) == endless
        outcomes[endless] += 1
    assert min(outcomes.values()) > 20


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, pd.DataFrame])
def test_a_rare_column_of_one_class_is_named_by_every_solver(form: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1500, 260)), rng.integers(0, 10, 1500)
    x[:, 7] = 0
    x[np.flatnonzero(y == 4)[:5], 7] = 1
    table = form(x)
    name = "x7" if form is not pd.DataFrame else "7"
    if form is pd.DataFrame:
        table.columns = table.columns.astype(str)
    with pytest.warns(SeparationWarning, match=f"{name} separates class 4 from the others on 5 rows"):
        linnet.LogisticRegression(C=np.inf).fit(table, y)  # too many for second derivatives
    few = table[["7", "8"]] if form is pd.DataFrame else form(x[:, [7, 8]])
    for solver in ("lbfgs", "newton-cholesky"):
        with pytest.warns(SeparationWarning, match="(x0|7) separates class 4 from the others on 5 rows"):
            linnet.LogisticRegression(C=np.inf, solver=solver).fit(few, y)


def test_complete_separation_tells_all_classes_apart() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        with pytest.warns(SeparationWarning, match="complete separation: .* separate classes 0 and 1 and 2 .* 30 rows"):
            linnet.LogisticRegression(C=np.inf).fit(rng.normal(size=(30, 50)), np.arange(30) % 3)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_columns_that_are_not_needed_are_not_named(classes: int) -> None:
    rng = np.random.default_rng(0)
    x = np.hstack([rng.integers(-2, 3, (150, 2)), rng.normal(size=(150, 40))])
    above = x[:, 0] + x[:, 1] > 2
    x[:, 0] += 0.2 * above
    y = np.where(above, classes - 1, rng.integers(0, classes - 1, 150))
    message = "separation: x0, x1 separate " + (f"class {classes - 1}" if classes > 2 else "classes 0 and 1")
    for solver in ("lbfgs", "newton-cholesky"):
        for table in (x, scipy.sparse.csr_array(x)):
            with pytest.warns(SeparationWarning, match=message):
                linnet.LogisticRegression(C=np.inf, solver=solver).fit(table, y)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_what_a_separation_leaves_undetermined_has_no_standard_error(solver: str) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"level": rng.choice([*"abcdef"], 600), "x": rng.normal(size=600)})
    y = rng.integers(0, 2, 600) * (table["level"] != "c") * (table["level"] != "e")
    there = ~table["level"].isin(["c", "e"]).to_numpy()
    with pytest.warns(SeparationWarning, match="level=c, level=e separate classes 0 and 1"):
        model = linnet.LogisticRegression(C=np.inf, solver=solver).fit(table, y)
    found = model.inference(table, y)
    wanted = linnet.LogisticRegression(C=np.inf).fit(table[there], y[there]).inference(table[there], y[there])
    errors = dict(zip(found.names, found.standard_error, strict=True))
    assert [name for name, error in errors.items() if np.isnan(error)] == ["level=a", "level=c", "level=e"]
    assert any(
        "because of separation: the maximum likelihood estimate is infinite: level=c, level=e." in note
        for note in found.notes
    )
    for name, error in zip(wanted.names, wanted.standard_error, strict=True):
        assert errors[name] == pytest.approx(error, rel=1e-4, nan_ok=True)
    # of three classes, the one that x alone tells apart; the other two are as if it were not there
    x = rng.normal(size=(300, 3))
    three = np.where(x[:, 2] > 1, 2, rng.integers(0, 2, 300))
    with pytest.warns(SeparationWarning, match="x2 separates class 2 from the others"):
        model = linnet.LogisticRegression(C=np.inf, solver=solver).fit(x, three)
    lacking = np.isnan(model.inference(x, three).standard_error)
    np.testing.assert_array_equal(lacking, [False] * 4 + [True] * 4)


@pytest.mark.parametrize("seed", [13, 21, 28, 43])
def test_rare_values_on_their_way_to_infinity_do_not_keep_others_from_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1000, 4))
    z = x @ rng.normal(size=(4, 8)) * 2 + np.linspace(0, -5, 8)
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    y[:8] = range(8)
    table = np.column_stack([x, rng.random(1000) < 0.005, (rng.random(1000) < 0.005) / 2 + 0.5])
    losses = []
    for solver in ("newton-cholesky", "lbfgs"):
        with pytest.warns(SeparationWarning):
            model = linnet.LogisticRegression(C=np.inf, solver=solver).fit(table, y)
        losses.append(-model.predict_log_proba(table)[np.arange(1000), y].sum())
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_what_the_intercept_alone_tells_apart_is_laid_to_no_column() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    for solver in ("auto", "lbfgs"):
        with pytest.warns(SeparationWarning, match="the intercept separates class 0 from the others"):
            linnet.LogisticRegression(C=np.inf, solver=solver).fit(X, y, sample_weight=y > 0)
    for model in (linnet.PoissonRegressor(alpha=0), linnet.TweedieRegressor(power=1.5, alpha=0)):
        with pytest.warns(SeparationWarning, match="the intercept separates rows of 0 from rows above 0"):
            model.fit(X, np.zeros(200))


@pytest.mark.parametrize("power", [1, 1.01, 1.5, 1.99])
def test_a_level_without_amounts_is_named(power: float) -> None:
    rng = np.random.default_rng(0)
    level = rng.choice(list("abcd"), 400)
    amounts = rng.gamma(1, 1, 400) * rng.poisson(1, 400) * (level != "d")
    table = pd.DataFrame({"level": level, "x": rng.normal(size=400)})
    model = linnet.TweedieRegressor(power=power, alpha=0)
    with pytest.warns(SeparationWarning, match=r"level=d separates rows of 0 from rows above 0 on 116 rows"):
        model.fit(table, amounts)
    there = level != "d"
    left = linnet.TweedieRegressor(power=power, alpha=0).fit(table[there], amounts[there])
    mine, without = model.inference(table, amounts), left.inference(table[there], amounts[there])
    assert mine.deviance == pytest.approx(without.deviance, rel=1e-9)
