"""The libraries that fit generalized linear models, each behind `prepare(workload, data)` and `fit(tolerance)`.

`prepare` does not count: it turns the data into what the library likes best. `fit` is timed, from
that input to coefficients (and standard errors where the workload asks for them). Every side uses both cores if it can.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from linear_workloads import Data, LinearWorkload, Values

# Enough that the tolerance ends every fit.
MAX_ITER = 100_000


@dataclass(frozen=True)
class Fitted:
    """What a side reports: coefficients (outputs x columns), intercepts, and errors (of the intercept first)."""

    coef: Values
    intercept: Values
    iterations: int
    standard_errors: Values | None = None


def _fitted(coef: Any, intercept: Any, iterations: Any, standard_errors: Any = None) -> Fitted:
    errors = None if standard_errors is None else np.asarray(standard_errors, np.float64)
    return Fitted(np.atleast_2d(coef), np.atleast_1d(intercept), int(np.max(iterations)), errors)


class LinearPeer(ABC):
    """One side of the comparison."""

    # What it imports.
    modules: tuple[str, ...]
    # How the side was configured, for the report.
    note: str = ""
    # False where the library has no tolerance to tighten.
    adjustable: bool = True

    @abstractmethod
    def prepare(self, workload: LinearWorkload, data: Data) -> Any:
        """Take the data in the library's own form and return that form of x."""

    @abstractmethod
    def fit(self, tolerance: float) -> Fitted:
        """Fit the model from nothing."""


class Linnet(LinearPeer):
    """The package of this repository, on arrays, sparse matrices and data frames as they are."""

    modules = ("linnet.estimators.linear", "linnet.estimators.logistic", "narwhals.stable.v2")

    def prepare(self, workload: LinearWorkload, data: Data) -> Any:
        """Choose the estimator."""
        from linnet import LogisticRegression, PoissonRegressor

        self.workload, self.data = workload, data
        self.make: Callable[..., Any]
        if workload.family == "poisson":
            alpha = workload.penalty / len(data.y)
            self.make = partial(PoissonRegressor, alpha=alpha, fit_intercept=workload.intercept)
        else:
            strength = 1 / workload.penalty if workload.penalty else np.inf
            self.make = partial(LogisticRegression, C=strength, fit_intercept=workload.intercept)
        return data.x

    def fit(self, tolerance: float) -> Fitted:
        """Fit and infer."""
        data = self.data
        model = self.make(tol=tolerance)
        if data.exposure is None:
            model.fit(data.x, data.y)
        else:
            model.fit(data.x, data.y, exposure=data.exposure)
        errors = model.inference(data.x, data.y).standard_error if self.workload.standard_errors else None
        return _fitted(model.coef_, model.intercept_, model.n_iter_, errors)


class ScikitLearn(LinearPeer):
    """scikit-learn with one of its solvers; exposures become weights of rates, categories columns of a CSR matrix."""

    modules = ("sklearn.linear_model",)

    def __init__(self, solver: str) -> None:
        self.solver = solver

    def prepare(self, workload: LinearWorkload, data: Data) -> Any:
        """Choose the estimator."""
        from sklearn.linear_model import LogisticRegression, PoissonRegressor

        self.x, self.y, self.weights = data.design, data.y, data.exposure
        how = {"solver": self.solver, "max_iter": MAX_ITER, "fit_intercept": workload.intercept}
        if workload.family == "poisson":
            assert data.exposure is not None
            self.y = data.y / data.exposure
            self.make = partial(PoissonRegressor, alpha=workload.penalty / data.exposure.sum(), **how)
        else:
            if self.solver in ("sag", "saga"):
                how["random_state"] = 0
            self.make = partial(LogisticRegression, C=1 / workload.penalty if workload.penalty else np.inf, **how)
        return self.x

    def fit(self, tolerance: float) -> Fitted:
        """Fit."""
        model = self.make(tol=tolerance).fit(self.x, self.y, sample_weight=self.weights)
        return _fitted(model.coef_, model.intercept_, model.n_iter_)


class Glum(LinearPeer):
    """glum's iteratively reweighted least squares on tabmat matrices: dense by columns, or with its own categories."""

    modules = ("glum", "tabmat")

    def prepare(self, workload: LinearWorkload, data: Data) -> Any:
        """Convert the data."""
        import tabmat
        from glum import GeneralizedLinearRegressor

        frame = hasattr(data.x, "columns")
        self.x = tabmat.from_pandas(data.x) if frame else tabmat.DenseMatrix(np.asfortranarray(data.x))
        self.y = data.y.astype(np.float64)
        self.weights = data.exposure
        self.errors = workload.standard_errors
        if data.exposure is not None:
            self.y = data.y / data.exposure
        self.make = partial(
            GeneralizedLinearRegressor,
            family="poisson" if workload.family == "poisson" else "binomial",
            alpha=workload.penalty / (len(data.y) if data.exposure is None else data.exposure.sum()),
            l1_ratio=0,
            fit_intercept=workload.intercept,
            max_iter=MAX_ITER,
        )
        return self.x

    def fit(self, tolerance: float) -> Fitted:
        """Fit and infer."""
        model = self.make(gradient_tol=tolerance)
        model.fit(self.x, self.y, sample_weight=self.weights)
        errors = None
        if self.errors:
            # glum multiplies the variance by rows / (rows - coefficients), as if the dispersion had been estimated
            unit = 1 - (self.x.shape[1] + 1) / len(self.y)
            errors = model.coef_table(X=self.x, y=self.y, dispersion=unit, robust=False)["se"]
        return _fitted(model.coef_, model.intercept_, model.n_iter_, errors)


class StatsModels(LinearPeer):
    """statsmodels' Logit (Newton's method) or GLM (reweighted least squares; with a penalty its ridge by BFGS)."""

    modules = ("statsmodels.api",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def prepare(self, workload: LinearWorkload, data: Data) -> Any:
        """Make the dense design with a column of ones, which statsmodels wants."""
        import statsmodels.api as sm

        self.sm, self.workload, self.data = sm, workload, data
        dense = data.design if isinstance(data.design, np.ndarray) else data.design.toarray()
        self.x = sm.add_constant(dense)
        self.adjustable = not workload.penalty
        if workload.penalty:
            self.note = "ridge by BFGS, whose tolerance cannot be set"
        return self.x

    def fit(self, tolerance: float) -> Fitted:
        """Fit and infer."""
        sm, y = self.sm, self.data.y
        if self.kind == "logit":
            found = sm.Logit(y, self.x).fit(method="newton", tol=tolerance, maxiter=100, disp=False)
            iterations = found.mle_retvals["iterations"]
        else:
            family = sm.families.Poisson() if self.workload.family == "poisson" else sm.families.Binomial()
            model = sm.GLM(y, self.x, family=family, exposure=self.data.exposure)
            if self.workload.penalty:
                alpha = np.full(self.x.shape[1], self.workload.penalty / len(y))
                alpha[0] = 0
                found, iterations = model.fit_regularized(alpha=alpha, L1_wt=0.0), 0
            else:
                found = model.fit(tol=tolerance, maxiter=100)
                iterations = found.fit_history["iteration"]
        errors = None
        if self.workload.standard_errors:
            errors, _ = found.bse, found.pvalues
        return _fitted(found.params[1:], found.params[0], iterations, errors)


SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "liblinear", "saga", "sag")
LINEAR_PEERS: dict[str, Callable[[], LinearPeer]] = {
    **{f"sklearn-{solver}": partial(ScikitLearn, solver) for solver in SOLVERS},
    "glum": Glum,
    "statsmodels-logit": partial(StatsModels, "logit"),
    "statsmodels-glm": partial(StatsModels, "glm"),
}
LINEAR_SIDES: dict[str, Callable[[], LinearPeer]] = {"linnet": Linnet, **LINEAR_PEERS}
