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
from linnet.fit.linear import Problem
from linnet.fit.solve import solve
from linnet.inference.separation import _has_optimum, separation
from linnet.model.heads import Head

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
            problem = Problem(Encoder().learn(x), Head(family), classes, labels=labels, intercept=intercept)
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
            problem = Problem(Encoder().learn(x), Head(family, power=1.5), 1, **given)
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
    said = rf"{empty.sum()} levels of cell \(such as cell=\d+ and cell=\d+\) tell rows of 0 .* on {rows} rows"
    with pytest.warns(SeparationWarning, match=said):
        linnet.PoissonRegressor(alpha=0).fit(table, counts)
    yes = counts > 0
    one_class = pd.Series(yes).groupby(table["cell"]).nunique() == 1
    with pytest.warns(
        SeparationWarning, match=rf"{one_class.sum()} levels of cell .* tell classes False and True apart"
    ):
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
    with pytest.warns(SeparationWarning, match="quasi-complete separation: x0, x1 tell"):
        model.fit(x, y)
    y[np.flatnonzero(score == 3)[:20]] = 0 if kind == "classes" else 1  # now they do not
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        warnings.simplefilter("ignore", UserWarning)
        model.fit(x, y)


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
    with pytest.warns(SeparationWarning, match=f"{name} tells class 4 apart without error on 5 rows"):
        linnet.LogisticRegression(C=np.inf).fit(table, y)  # too many for second derivatives
    few = table[["7", "8"]] if form is pd.DataFrame else form(x[:, [7, 8]])
    for solver in ("lbfgs", "newton-cholesky"):
        with pytest.warns(SeparationWarning, match="(x0|7) tells class 4 apart without error on 5 rows"):
            linnet.LogisticRegression(C=np.inf, solver=solver).fit(few, y)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_what_a_separation_leaves_undetermined_has_no_standard_error(solver: str) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"level": rng.choice([*"abcdef"], 600), "x": rng.normal(size=600)})
    y = rng.integers(0, 2, 600) * (table["level"] != "c") * (table["level"] != "e")
    there = ~table["level"].isin(["c", "e"]).to_numpy()
    with pytest.warns(SeparationWarning, match="level=c, level=e tell classes 0 and 1 apart"):
        model = linnet.LogisticRegression(C=np.inf, solver=solver).fit(table, y)
    found = model.inference(table, y)
    wanted = linnet.LogisticRegression(C=np.inf).fit(table[there], y[there]).inference(table[there], y[there])
    errors = dict(zip(found.names, found.standard_error, strict=True))
    assert [name for name, error in errors.items() if np.isnan(error)] == ["level=a", "level=c", "level=e"]
    assert any("because they tell classes apart without error: level=c, level=e." in note for note in found.notes)
    for name, error in zip(wanted.names, wanted.standard_error, strict=True):
        assert errors[name] == pytest.approx(error, rel=1e-4, nan_ok=True)
    # of three classes, the one that x alone tells apart; the other two are as if it were not there
    x = rng.normal(size=(300, 3))
    three = np.where(x[:, 2] > 1, 2, rng.integers(0, 2, 300))
    with pytest.warns(SeparationWarning, match="x2 tells class 2 apart"):
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
        with pytest.warns(SeparationWarning, match="the intercept tells class 0 apart"):
            linnet.LogisticRegression(C=np.inf, solver=solver).fit(X, y, sample_weight=y > 0)
    for model in (linnet.PoissonRegressor(alpha=0), linnet.TweedieRegressor(power=1.5, alpha=0)):
        with pytest.warns(SeparationWarning, match="the intercept tells rows of 0 and rows above 0 apart"):
            model.fit(X, np.zeros(200))


@pytest.mark.parametrize("power", [1, 1.01, 1.5, 1.99])
def test_a_level_without_amounts_is_named(power: float) -> None:
    rng = np.random.default_rng(0)
    level = rng.choice(list("abcd"), 400)
    amounts = rng.gamma(1, 1, 400) * rng.poisson(1, 400) * (level != "d")
    table = pd.DataFrame({"level": level, "x": rng.normal(size=400)})
    model = linnet.TweedieRegressor(power=power, alpha=0)
    with pytest.warns(SeparationWarning, match=r"level=d tells rows of 0 and rows above 0 apart .* on 116 rows"):
        model.fit(table, amounts)
    there = level != "d"
    left = linnet.TweedieRegressor(power=power, alpha=0).fit(table[there], amounts[there])
    mine, without = model.inference(table, amounts), left.inference(table[there], amounts[there])
    assert mine.deviance == pytest.approx(without.deviance, rel=1e-9)
