"""Problems with an l1 penalty end at their optimum, whatever the number of parameters that are not zero."""

from typing import Any

import numpy as np
import pytest

import linnet
from linnet.fit.solvers import cholesky, coordinate

RNG = np.random.default_rng(0)


def broken(model: Any, x: Any, y: Any, strength: float) -> float:
    """By how much a slope breaks the conditions of an optimum, in units of the largest that the column could have."""
    z = x @ model.coef_.T + model.intercept_
    if len(model.classes_) == 2:
        slope = 1 / (1 + np.exp(-z)) - y[:, None]
    else:
        p = np.exp(z - z.max(axis=1, keepdims=True))
        slope = p / p.sum(axis=1, keepdims=True) - (y[:, None] == model.classes_)
    g, w = x.T @ slope, model.coef_.T
    beyond = np.where(w == 0, np.maximum(np.abs(g) - strength, 0), np.abs(g + strength * np.sign(w)))
    return float((beyond / np.abs(x).sum(axis=0)[:, None]).max())


def classes_of(rows: int, columns: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, columns))
    y = (2 * x @ rng.normal(size=(columns, classes)) / columns**0.5 + rng.gumbel(size=(rows, classes))).argmax(axis=1)
    y[:classes] = np.arange(classes)
    return x, y


def test_more_classes_and_columns_than_one_set_of_old() -> None:
    """15 columns of 100 classes: the working set must hold more than 1,500 parameters."""
    x, y = classes_of(300, 15, 100)
    model = linnet.LogisticRegression(C=1.0, l1_ratio=1.0).fit(x, y)
    assert (np.abs(model.coef_).max(axis=0) > 0).all()
    assert broken(model, x, y, 1.0) < 1e-9


@pytest.mark.parametrize("classes", [2, 5])
def test_more_than_can_be_solved_for_together_take_turns(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = classes_of(300, 40, classes)
    whole = linnet.LogisticRegression(C=1.0, l1_ratio=1.0).fit(x, y)
    monkeypatch.setattr(coordinate, "_MAX_PARAMETERS_WITHOUT_WORKING_SET", 1)
    monkeypatch.setattr(coordinate, "_MAX_WORKING_PARAMETERS", 12 * classes)
    monkeypatch.setattr(coordinate, "_FIRST_WORKING_COLUMNS", 4)
    model = linnet.LogisticRegression(C=1.0, l1_ratio=1.0).fit(x, y)
    assert (np.abs(model.coef_).max(axis=0) > 0).sum() > 11
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=0, atol=1e-6)
    assert broken(model, x, y, 1.0) < 1e-8


def test_columns_of_any_scale_enter_the_working_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a column of 1e9 the slopes of the others are small, but not nothing."""
    monkeypatch.setattr(coordinate, "_MAX_PARAMETERS_WITHOUT_WORKING_SET", 1)
    x, y = classes_of(300, 30, 2)
    x[:, 7] *= 1e9
    model = linnet.LogisticRegression(C=1.0, l1_ratio=1.0).fit(x, y)
    assert broken(model, x, y, 1.0) < 1e-9


@pytest.mark.parametrize("scale", [1.0, 1e10])
def test_next_to_no_penalty_on_more_columns_than_rows(scale: float) -> None:
    """Thirty columns fit equally well, and the penalty decides which: plain coordinate descent would take forever."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 40))
    y = rng.poisson(np.exp(x @ rng.normal(size=40) / 40**0.5)).astype(float)
    model = linnet.PoissonRegressor(alpha=1e-12 * scale, l1_ratio=1.0).fit(scale * x, y)
    assert model.n_iter_ < 60
    assert 20 < (model.coef_ != 0).sum() <= 31


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_the_classes_weights_of_a_column_move_together(ratio: float) -> None:
    """Where the penalty is small they hardly bend the objective: the optimum has as much of it either way."""
    x, y = classes_of(120, 20, 3)
    model = linnet.LogisticRegression(C=1e9, l1_ratio=ratio).fit(x * 1e5, y)
    assert model.n_iter_[0] < 60
    w, strength = model.coef_, 1e-9
    pull = strength * (ratio * np.sign(w) + (1 - ratio) * w)
    free = strength * ratio * (w == 0)  # what a weight of zero may add
    assert (np.abs(pull.sum(axis=0)) <= free.sum(axis=0) + 1e-9 * strength).all()


@pytest.mark.parametrize("seed", [7, 9, 29, 83, 256])
def test_no_last_step_is_made_of_roundings(seed: int) -> None:
    """Where all rows are certain the equations of the last digits have none: the objective must not rise for them."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(30, 10)), np.append(np.arange(6), rng.integers(0, 6, 24))
    values = []
    for ratio in (0.0, 1.0):
        model = linnet.LogisticRegression(C=1e12, l1_ratio=ratio).fit(x, y)
        log_p = model.predict_log_proba(x)[np.arange(30), y]
        values.append(1e-12 * np.abs(model.coef_).sum() - log_p.sum())
    assert values[1] <= values[0] + 1e-9


def test_many_aliased_columns_leave_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more columns than rows, nearly all leave the model: factoring again for each took most of the time."""
    factored: list[int] = []
    factor = cholesky.factor

    def counted(matrix: Any, *given: Any, **how: Any) -> Any:
        factored.append(len(matrix))
        return factor(matrix, *given, **how)

    monkeypatch.setattr(coordinate, "factor", counted)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 120))
    y = np.where(x[:, 0] > 0, 1.0, 0.0)
    strength = 1e-6
    model = linnet.PoissonRegressor(alpha=strength, l1_ratio=1.0).fit(x, y)
    slope = x.T @ (model.predict(x) - y) / len(x)
    used = model.coef_ != 0
    assert 0 < used.sum() <= len(x)
    assert np.abs(slope[~used]).max() <= strength * (1 + 1e-4)
    np.testing.assert_allclose(slope[used], -strength * np.sign(model.coef_[used]), rtol=0, atol=1e-4 * strength)
    assert sum(size > len(x) + 1 for size in factored) < 20 * model.n_iter_  # one each for every column that left
