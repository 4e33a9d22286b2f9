"""Numbers of any size in targets, weights, rows without weight and sparse columns: the right result, a warning that
names the column, or an error that says what to scale. Never a silently wrong result, and never another error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import linnet
from linnet.data.columns import Columns
from linnet.errors import DataError, FitWarning, LinnetError
from linnet.heads import NegativeBinomial
from linnet.multiclass import OneVsOneClassifier, OneVsRestClassifier

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 3))
REAL = X[:, 0] + RNG.normal(size=N)
COUNT = RNG.poisson(np.exp(X[:, 0] / 2) * RNG.gamma(1.0, size=N)).astype(float)
YES = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
THREE = RNG.integers(0, 3, N)
FORMS: dict[str, Callable[[Any], Any]] = {
    "dense": np.asarray,
    "csr": scipy.sparse.csr_array,
    "frame": lambda x: pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]),
}
MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "least squares": (linnet.LinearRegression, REAL),
    "ridge, L-BFGS": (lambda: linnet.Ridge(solver="lbfgs"), REAL),
    "poisson": (lambda: linnet.PoissonRegressor(alpha=0.1), COUNT),
    "negative binomial": (lambda: linnet.NegativeBinomialRegressor(alpha=0.1), COUNT),
    "gamma, L-BFGS": (lambda: linnet.GammaRegressor(alpha=0.1, solver="lbfgs"), COUNT + 1),
    "logistic": (linnet.LogisticRegression, YES),
    "logistic, L-BFGS": (lambda: linnet.LogisticRegression(solver="lbfgs"), YES),
    "lasso": (lambda: linnet.LogisticRegression(l1_ratio=1), YES),
    "softmax": (linnet.LogisticRegression, THREE),
    "one versus rest": (lambda: OneVsRestClassifier(linnet.LogisticRegression()), THREE),
    "one versus one": (lambda: OneVsOneClassifier(linnet.LogisticRegression()), THREE),
    "network": (lambda: linnet.MLPClassifier((3,), max_iter=3, random_state=0), YES),
    "tabular, classes": (lambda: linnet.TabularClassifier(max_iter=3, random_state=0), YES),
    "tabular, numbers": (lambda: linnet.TabularRegressor(max_iter=3, random_state=0), REAL),
}
forms = pytest.mark.parametrize("form", FORMS)


def mean(model: Any, x: Any) -> Any:
    return model.predict_proba(x) if hasattr(model, "predict_proba") else model.predict(x)


@pytest.mark.filterwarnings("ignore")
@forms
@pytest.mark.parametrize("name", MODELS)
def test_rows_of_weight_zero_may_hold_anything(name: str, form: str) -> None:
    """Such as 1e30 for what is unknown, also in most of the rows."""
    make, y = MODELS[name]
    for share, filler in ((0.2, 1e30), (0.7, 1e15), (0.7, -999.0)):
        weights = (np.random.default_rng(1).random(N) > share).astype(float)
        hidden = np.where(weights[:, None] == 0, filler, X)
        plain, other = (mean(make().fit(FORMS[form](x), y, sample_weight=weights), FORMS[form](X)) for x in (X, hidden))
        np.testing.assert_allclose(other, plain, atol=1e-6)


@forms
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_targets_without_squares(form: str, solver: str) -> None:
    """They left all coefficients at zero, at best with a warning to raise max_iter."""
    makers: list[Callable[[], Any]] = [
        linnet.LinearRegression,
        lambda: linnet.Ridge(solver=solver),
        lambda: linnet.Ridge(positive=True),
        lambda: linnet.TweedieRegressor(power=0, alpha=0, solver=solver),
    ]
    for make in makers:
        plain = make().fit(FORMS[form](X), REAL).coef_
        for size in (1e-140, 1e140):
            np.testing.assert_allclose(make().fit(FORMS[form](X), REAL * size).coef_ / size, plain, rtol=1e-6)
        for size, what in ((1e-200, "small"), (1e200, "large")):
            with pytest.raises(
                DataError, match=rf"y has values of about .*, too {what} for their squares to be computed"
            ):
                make().fit(FORMS[form](X), REAL * size)
    assert linnet.Ridge().fit(FORMS[form](X), np.zeros(N)).intercept_ == 0


@forms
def test_weights_without_sums(form: str) -> None:
    for name in ("least squares", "poisson", "logistic", "one versus rest"):
        make, y = MODELS[name]
        with pytest.raises(
            DataError, match=r"sample_weight contains 1e.308 in row 0, too large to be summed over rows"
        ):
            make().fit(FORMS[form](X), y, sample_weight=np.full(N, 1e308))
    with pytest.raises(
        DataError, match=r"column 'x1' of X has values of about .* and row weights of up to 1e.100, too large"
    ):
        linnet.LogisticRegression().fit(FORMS[form](X * [1, 1e148, 1]), YES, np.where(YES, 1e100, 1.0))


@pytest.mark.parametrize("kind", ["least squares", "poisson", "logistic", "lasso"])
def test_sparse_columns_far_from_zero(kind: str) -> None:
    """They are not centered, so that what their numbers differ by is lost: a dense table has the same coefficients."""
    make, y = MODELS[kind]
    x = X + np.array([0, 1e14, 0])
    with pytest.warns(FitWarning, match=r"^x1: large values that hardly vary, in a sparse matrix"):
        make().fit(scipy.sparse.csr_array(x), y)
    some = scipy.sparse.csr_array(x * (np.arange(N) % 2 == 0)[:, None])  # half of the numbers are 0
    columns = Columns(N, sparse=(some.indptr, some.indices, some.data), sparse_columns=3)
    assert columns.far_from_zero(1e6).tolist() == []


@pytest.mark.filterwarnings("ignore")
def test_counts_beyond_all_means() -> None:
    """The dispersion is estimated for means of any size, and an error names what is wrong with a column."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(10, 8)), rng.poisson(1.0, 10).astype(float)
    x[:, 4] *= 1e214
    with pytest.raises(DataError, match=r"column 'x4' of X has values of about .*, too large"):
        linnet.NegativeBinomialRegressor(alpha=100.0).fit(x, y)
    means = np.array([[0.0], [1e-320], [1.0], [1e200], [np.inf]])
    alpha = NegativeBinomial.of_dispersion("estimate").with_estimate(means, np.ones((5, 1)), None).alpha
    assert np.isfinite(alpha)


@pytest.mark.parametrize("size", [1e-42, 1e42, 1e100])
def test_the_preset_predicts_in_any_unit(size: float) -> None:
    """Beyond float32, too, whose infinities made predictions NaN."""
    plain, other = (
        linnet.TabularRegressor(max_iter=5, random_state=0).fit(X, y).predict(X) for y in (REAL, REAL * size)
    )
    np.testing.assert_allclose(other / size, plain, rtol=1e-3, atol=1e-3)


def test_few_rows_of_a_class_are_said_to_be_too_few() -> None:
    with pytest.raises(DataError, match=r"the rows cannot be split by cv=5: .* members in each class"):
        linnet.ThresholdClassifier(linnet.LogisticRegression()).fit(X[:6], [0, 0, 0, 1, 1, 1])


def hostile(rng: np.random.Generator) -> Any:
    """A small table whose columns are of any size, constant, doubled, far from zero, or with one huge number."""
    x = rng.normal(size=(int(rng.choice([1, 3, 10, 40])), int(rng.choice([1, 3, 8, 60]))))
    for j in range(x.shape[1]):
        kind = rng.integers(0, 20)
        if kind == 0:
            x[:, j] *= 10.0 ** rng.integers(-300, 300)
        elif kind == 1:
            x[:, j] = rng.choice([0, 1, 1e12, 5e-324])
        elif kind == 2:
            x[:, j] = x[:, rng.integers(0, x.shape[1])]
        elif kind == 3:
            x[:, j] += 10.0 ** rng.integers(3, 16)
        elif kind == 4:
            x[rng.integers(0, len(x)), j] = 10.0 ** rng.integers(5, 200)
    return x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(20))
def test_fits_end_in_numbers_or_in_an_error_of_ours(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for name in (name for name in MODELS if not name.startswith(("network", "tabular"))):
        make, _ = MODELS[name]
        x = hostile(rng)
        y: Any = (
            rng.poisson(1.0, len(x)) + 1.0
            if "one" not in name and "softmax" not in name
            else rng.integers(0, 3, len(x))
        )
        if "logistic" in name or name == "lasso":
            y = rng.integers(0, 2, len(x))
        among = [None, 10.0 ** rng.integers(-100, 100, len(x)), rng.integers(0, 3, len(x))]
        weights = among[rng.integers(0, 3)]
        for table in (x, scipy.sparse.csr_array(x)):
            try:
                model = make().fit(table, y, sample_weight=weights)
            except LinnetError:
                continue
            assert all(np.isfinite(each).all() for each in np.ravel(getattr(model, "coef_", 0.0)))
