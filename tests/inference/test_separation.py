"""Whether an optimum exists, against a linear program that looks for a direction without one."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
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
        ones = np.column_stack([x, np.ones(rows)])
        score = x[:, 0] + rng.choice([0.1, 1.0, 5.0]) * rng.standard_normal(rows)
        none = np.zeros((0, columns + 1))
        if family == "categorical":
            t = np.digitize(score, [-0.5, 0.5])
            t[:classes] = range(classes)
            problem = Problem(Encoder().learn(x), Head(family), classes, labels=t.astype(np.int32))
            gains = [  # own class against every other
                np.kron(np.eye(classes)[own] - np.eye(classes)[k], row)
                for row, own in zip(ones, t, strict=True)
                for k in range(classes)
                if k != own
            ]
            endless = no_optimum(np.array(gains), np.zeros((0, classes * (columns + 1))))
        else:
            t = score > 0
            if counts:
                t = rng.poisson(2.0, rows) * (x[:, 0] <= (0 if trial % 4 == 1 else 1))
            t = t.astype(np.intp)
            t[np.argsort(-score if counts else score)[[0, -1]]] = 0, 1
            weights = rng.uniform(0.2, 3, rows) if trial % 3 == 0 else None
            values = np.asarray(t, np.float64)[:, None]
            problem = Problem(Encoder().learn(x), Head(family, power=1.5), 1, values=values, weights=weights)
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


def test_what_the_intercept_alone_tells_apart_is_laid_to_no_column() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    with pytest.warns(SeparationWarning, match="the intercept tells class 0 apart"):
        linnet.LogisticRegression(C=np.inf).fit(X, y, sample_weight=y > 0)
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
