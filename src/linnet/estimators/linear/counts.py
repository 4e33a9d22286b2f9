"""Regression for counts: Poisson and negative binomial."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.arrays import ArrayLike, Table
from linnet.checks import check_random
from linnet.errors import FitWarning, warn
from linnet.estimators.linear.glm import PenalisedRegressor
from linnet.estimators.linear.settings import Penalties
from linnet.fit.solvers.problem import Floats, Problem
from linnet.heads import HEADS, Head, NegativeBinomial, Poisson
from linnet.heads.negative_binomial import MIN_ALPHA, best_alpha_of
from linnet.registry import saved

_MAX_DISPERSION_ROUNDS = 200  # in each, the dispersion and then the coefficients are estimated
_DISPERSION_TOLERANCE = 1e-12  # relative


class CountRegressor(PenalisedRegressor):
    """A regressor for counts, whose predicted distribution follows from the mean and the dispersion."""

    def target_distribution(self) -> tuple[Head, Floats]:
        """Return the fitted head and the dispersion around its means.

        Returns
        -------
        head : Head
            The distribution of the target.
        dispersion : array of shape (1,)
            The dispersion parameter; 1 for Poisson.
        """
        return self._fitted_head(), np.array([self._spread()])

    def predict_interval(
        self, X: Table, level: float = 0.95, *, offset: ArrayLike | None = None, exposure: ArrayLike | None = None
    ) -> tuple[Floats, Floats]:
        """Return the ends of the interval that contains a new row's count with probability `level`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        level : float, default=0.95
            The probability, between 0 and 1.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        low, high : arrays of shape (rows,)
            The lower and upper ends, which belong to the interval.
        """
        mean = self.predict(X, offset=offset, exposure=exposure)[:, None]
        head, spread = self.target_distribution()
        low, high = head.interval(mean, spread, level)
        return low[:, 0], high[:, 0]

    def sample(
        self, X: Table, random_state: Any = None, *, offset: ArrayLike | None = None, exposure: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Return a count for each row, drawn from the predicted distribution.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        random_state : int, RandomState, Generator or None, default=None
            Source of random numbers; None uses NumPy's global one.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        array of shape (rows,)
            One count per row.
        """
        mean = self.predict(X, offset=offset, exposure=exposure)[:, None]
        head, spread = self.target_distribution()
        return head.draw(mean, spread, check_random(random_state))[:, 0]

    def _spread(self) -> float:
        """Return the dispersion of the fitted distribution."""
        return 1.0


def count_regressors() -> dict[str, type[CountRegressor]]:
    """Return the count regressors by the family of their head, in the order of `count_heads`."""
    found = {kind()._head().family: kind for kind in CountRegressor.__subclasses__()}
    return {family: found[family] for family in HEADS if family in found}


@saved
class PoissonRegressor(CountRegressor):
    """Poisson regression for counts: mean e^z, loss e^z - t z.

    Minimises Σ w loss / Σ w + alpha Σ (l1_ratio |coef| + (1 - l1_ratio) coef² / 2); the intercept is not penalised.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 fits without one.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    solver : str, default="auto"
        The method: "auto" chooses by the shape of the problem. scikit-learn's names are accepted; all lead to
        the same optimum.
    max_iter : int, default=1000
        The largest number of iterations.
    tol : float, default=1e-12
        Relative tolerance on the objective, for L-BFGS and coordinate descent; Newton's method continues to
        full precision.
    warm_start : bool, default=False
        Whether a fit starts from the coefficients of the previous one.
    verbose : int, default=0
        1 shows a progress bar, 2 prints one line per iteration.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, from 0 (L2 only) to 1 (L1 only).
    column_penalty : dict, array or None, default=None
        Factor of each coefficient's penalty: a dict by column name (1 for the others), or one number per
        coefficient.
    missing : {"refuse", "fill"}, default="refuse"
        Missing values in data frames: refuse them, or fill them in (numeric columns with the median, and an
        indicator column; text and categories with a level of their own).
    threads : int or None, default=None
        The largest number of threads; None uses as many as pay off. The result has the same bytes for any
        number.

    Attributes
    ----------
    coef_ : array of shape (coefficients,)
        The coefficients, in the order of `get_feature_names_out`. Predictions are computed from `coef_` and
        `intercept_`, which may be set.
    intercept_ : float
        The intercept.
    n_iter_ : int
        The number of iterations.
    """

    def _head(self) -> Head:
        return Poisson()


@saved
class NegativeBinomialRegressor(CountRegressor):
    """Negative binomial regression for overdispersed counts: mean m = e^z, variance m + d m² with a dispersion d.

    Minimises Σ w loss / Σ w + alpha Σ (l1_ratio |coef| + (1 - l1_ratio) coef² / 2); the intercept is not penalised.

    Parameters
    ----------
    dispersion : float or "estimate", default="estimate"
        d. "estimate" finds it by maximum likelihood, alternating with the coefficients until both have converged. Where
        the counts are not overdispersed the estimate is 0, with a warning.
    alpha : float, default=1.0
        Strength of the penalty; 0 fits without one.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    solver : str, default="auto"
        The method: "auto" chooses by the shape of the problem. scikit-learn's names are accepted; all lead to
        the same optimum.
    max_iter : int, default=1000
        The largest number of iterations.
    tol : float, default=1e-12
        Relative tolerance on the objective, for L-BFGS and coordinate descent; Newton's method continues to
        full precision.
    warm_start : bool, default=False
        Whether a fit starts from the coefficients of the previous one.
    verbose : int, default=0
        1 shows a progress bar, 2 prints one line per iteration.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, from 0 (L2 only) to 1 (L1 only).
    column_penalty : dict, array or None, default=None
        Factor of each coefficient's penalty: a dict by column name (1 for the others), or one number per
        coefficient.
    missing : {"refuse", "fill"}, default="refuse"
        Missing values in data frames: refuse them, or fill them in (numeric columns with the median, and an
        indicator column; text and categories with a level of their own).
    threads : int or None, default=None
        The largest number of threads; None uses as many as pay off. The result has the same bytes for any
        number.

    Attributes
    ----------
    dispersion_ : float
        d, fixed or estimated; R's `theta` is 1 / dispersion_.
    coef_ : array of shape (coefficients,)
        The coefficients, in the order of `get_feature_names_out`. Predictions are computed from `coef_` and
        `intercept_`, which may be set.
    intercept_ : float
        The intercept.
    n_iter_ : int
        The number of iterations, summed over all fits of the coefficients.
    """

    dispersion: float | str
    dispersion_: float

    def __init__(
        self,
        *,
        dispersion: float | str = "estimate",
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-12,
        warm_start: bool = False,
        verbose: int = 0,
        l1_ratio: float = 0.0,
        column_penalty: Penalties | None = None,
        missing: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _check_params(self) -> None:
        super()._check_params()
        NegativeBinomial.of_dispersion(self.dispersion)

    def _head(self) -> Head:
        head = NegativeBinomial.of_dispersion(self.dispersion)
        dispersion = getattr(self, "dispersion_", None)
        return replace(head, alpha=dispersion) if head.estimated and dispersion is not None else head

    def _spread(self) -> float:
        return self.dispersion_

    def _minimise(self, problem: Problem) -> tuple[Floats, Floats]:
        head = problem.head
        assert isinstance(head, NegativeBinomial)
        if not head.estimated:
            self.dispersion_ = float(head.alpha)
            return super()._minimise(problem)
        start, iterations = self._warm_start(problem), 0
        dispersion, problem = 0.0, replace(problem, head=Poisson())
        for _ in range(_MAX_DISPERSION_ROUNDS):
            solution = self._settings.solve(problem, start)
            start, iterations = solution.theta, iterations + solution.iterations
            if not np.isfinite(start).all():
                return self._accept(problem, solution)  # which raises the error
            fitted = replace(head, alpha=best_alpha_of(problem.sums.totals_at(start)))
            if abs(fitted.alpha - dispersion) <= _DISPERSION_TOLERANCE * fitted.alpha:
                break
            dispersion, problem = fitted.alpha, replace(problem, head=fitted)
        else:
            text = f"the dispersion has not converged after {_MAX_DISPERSION_ROUNDS} rounds"
            warn(f"{text}: its estimate is {dispersion:.6g}", FitWarning)
        if dispersion <= MIN_ALPHA:
            warn(
                "the counts are not overdispersed, so the estimated dispersion is 0: use PoissonRegressor",
                FitWarning,
            )
        weights, biases = self._accept(problem, solution)
        self.n_iter_, self.dispersion_ = iterations, float(dispersion)
        return weights, biases
