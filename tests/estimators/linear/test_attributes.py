"""Attributes that scikit-learn's linear models have beside their coefficients."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.linear_model as sk

import linnet
from linnet.errors import FormatError
from linnet.fit.solvers.solution import Method

RNG = np.random.default_rng(0)
Y = RNG.normal(size=300)


@pytest.mark.parametrize("weights", [None, RNG.uniform(0.1, 2, 300)], ids=["plain", "weights"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("rows", "columns"), [(300, 5), (20, 40), (20, 20), (300, 1)])
def test_rank_and_singular_values_are_scikit_learns(rows: int, columns: int, intercept: bool, weights: Any) -> None:
    x, y = RNG.normal(size=(rows, columns)) * RNG.uniform(0.1, 10, columns) + 3, Y[:rows]
    weights = None if weights is None else weights[:rows]
    theirs = sk.LinearRegression(fit_intercept=intercept).fit(x, y, weights)
    several = np.stack([y, -2 * y], axis=1)
    frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(columns)])
    for table, target in ((x, y), (x, several), (frame, y), (scipy.sparse.csr_array(x), y)):
        ours = linnet.LinearRegression(fit_intercept=intercept).fit(table, target, weights)
        assert ours.rank_ == theirs.rank_
        np.testing.assert_allclose(ours.singular_, theirs.singular_, rtol=1e-9, atol=1e-7 * theirs.singular_[0])


def test_the_rank_of_columns_that_determine_each_other(tmp_path: Path) -> None:
    x = RNG.normal(size=(300, 3))
    x = np.column_stack([x, x[:, 0] + x[:, 1], np.ones(300)])
    model = linnet.LinearRegression().fit(x, Y)
    copied = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "model")
    for each in (model, copied, linnet.load(tmp_path / "model")):
        assert each.rank_ == 3
        assert (each.singular_ > 1e-6 * each.singular_[0]).sum() == 3
    for constant in (1 / 3, 1e6 + 0.1):
        x[:, 4] = constant
        assert linnet.LinearRegression().fit(scipy.sparse.csr_array(x), Y).rank_ == 3
    again = model.fit(x[:, :2], Y)
    assert (again.rank_, len(again.singular_)) == (2, 2)


def test_what_is_not_known_is_no_attribute() -> None:
    model = linnet.LinearRegression(positive=True)
    assert not hasattr(model, "rank_")
    assert not hasattr(model.fit(RNG.normal(size=(300, 2)), Y), "singular_")


def test_ridge_tells_its_solver() -> None:
    x = RNG.normal(size=(300, 4))
    assert linnet.Ridge().fit(x, Y).solver_ == "cholesky"
    assert linnet.Ridge().fit(x[:3], Y[:3]).solver_ == "cholesky"
    assert linnet.Ridge(solver="lsqr").fit(x, Y).solver_ == "lbfgs"
    assert linnet.Ridge(positive=True).fit(x, Y).solver_ == "coordinate"


def test_the_solver_is_a_word_of_an_enum_in_files_too(tmp_path: Path) -> None:
    model = linnet.Ridge().fit(RNG.normal(size=(300, 4)), Y)
    model.save(tmp_path / "model")
    for each in (model, pickle.loads(pickle.dumps(model)), linnet.load(tmp_path / "model")):
        assert each.solver_ is Method.CHOLESKY
        assert (repr(each.solver_), str(each.solver_)) == ("'cholesky'", "cholesky")
    model.solver_ = "guessed"  # type: ignore[assignment]
    model.save(tmp_path / "model")
    with pytest.raises(FormatError, match="guessed"):
        linnet.load(tmp_path / "model")


def test_coefficients_may_be_sparse(tmp_path: Path) -> None:
    x = RNG.normal(size=(300, 6))
    model = linnet.LogisticRegression(C=0.05, l1_ratio=1).fit(x, x[:, 0] > 0)
    before, predicted = model.coef_, model.predict_proba(x)
    assert scipy.sparse.issparse(model.sparsify().coef_)
    assert model.coef_.nnz == np.count_nonzero(before) < 6
    np.testing.assert_array_equal(model.predict_proba(x), predicted)
    model.save(tmp_path / "model")
    assert scipy.sparse.issparse(model.coef_)
    np.testing.assert_array_equal(linnet.load(tmp_path / "model").coef_, before)
    np.testing.assert_array_equal(model.densify().coef_, before)
