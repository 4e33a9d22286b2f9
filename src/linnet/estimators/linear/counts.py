"""Regression of counts: Poisson and negative binomial."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_random
from linnet.errors import FitWarning, warn
from linnet.estimators.linear.glm import PenalisedRegressor
from linnet.estimators.linear.settings import Penalties
from linnet.fit.solvers.problem import Floats, Problem
from linnet.heads import Head, NegativeBinomial, Poisson
from linnet.heads.negative_binomial import MIN_ALPHA, best_alpha_of
from linnet.registry import saved

_MAX_DISPERSION_ROUNDS = 200  # of estimating the dispersion and the coefficients in turn
_DISPERSION_TOLERANCE = 1e-12  # relative


class CountRegressor(PenalisedRegressor):
    """Counts, whose predicted distribution follows from the mean and the dispersion."""

    def target_distribution(self) -> tuple[Head, Floats]:
        """The fitted head and the dispersion around its means."""
        return self._fitted_head(), np.array([self._spread()])

    def predict_interval(
        self, X: object, level: float = 0.95, *, offset: object = None, exposure: object = None
    ) -> tuple[Floats, Floats]:
        """Return lower and upper ends of the interval that contains a new row's count with probability `level`."""
        mean = self.predict(X, offset=offset, exposure=exposure)[:, None]
        head, spread = self.target_distribution()
        low, high = head.interval(mean, spread, level)
        return low[:, 0], high[:, 0]

    def sample(
        self, X: object, random_state: Any = None, *, offset: object = None, exposure: object = None
    ) -> NDArray[Any]:
        """Return a count for each row, drawn from the predicted distribution.

        `random_state`: an integer, a RandomState or Generator of numpy.random, or None for NumPy's own.
        """
        mean = self.predict(X, offset=offset, exposure=exposure)[:, None]
        head, spread = self.target_distribution()
        return head.draw(mean, spread, check_random(random_state))[:, 0]

    def _spread(self) -> float:
        """The dispersion of the fitted distribution."""
        return 1.0


def count_regressors() -> dict[str, type[CountRegressor]]:
    """The regressors of counts by the families of their heads."""
    return {kind()._head().family: kind for kind in CountRegressor.__subclasses__()}


@saved
class PoissonRegressor(CountRegressor):
    """Poisson regression of counts: mean e^z, loss e^z - t z."""

    def _head(self) -> Head:
        return Poisson()


@saved
class NegativeBinomialRegressor(CountRegressor):
    """Negative binomial regression of overdispersed counts: mean m = e^z, variance m + d m² with a dispersion d.

    dispersion="estimate" finds d by maximum likelihood, alternating with the coefficients until both have converged; a
    number fixes it. `dispersion_` is d: R's `theta` is 1 / dispersion_. Where the counts are not overdispersed the
    estimate is 0, and a warning says so.
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
        gaps: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _check_params(self) -> None:
        super()._check_params()
        NegativeBinomial.of_dispersion(self.dispersion)

    def _head(self) -> Head:
        head = NegativeBinomial.of_dispersion(self.dispersion)
        known = getattr(self, "dispersion_", None)
        return replace(head, alpha=known) if head.estimated and known is not None else head

    def _spread(self) -> float:
        return self.dispersion_

    def _minimise(self, problem: Problem) -> tuple[Floats, Floats]:
        head = problem.head
        assert isinstance(head, NegativeBinomial)
        if not head.estimated:
            self.dispersion_ = float(head.alpha)
            return super()._minimise(problem)
        start, iterations = self._warm_start(problem), 0
        known, problem = 0.0, replace(problem, head=Poisson())
        for _ in range(_MAX_DISPERSION_ROUNDS):
            solution = self._settings.solve(problem, start)
            start, iterations = solution.theta, iterations + solution.iterations
            if not np.isfinite(start).all():
                return self._accept(problem, solution)  # which says what is wrong
            fitted = replace(head, alpha=best_alpha_of(problem.sums.totals_at(start)))
            if abs(fitted.alpha - known) <= _DISPERSION_TOLERANCE * fitted.alpha:
                break
            known, problem = fitted.alpha, replace(problem, head=fitted)
        else:
            text = f"the dispersion has not converged after {_MAX_DISPERSION_ROUNDS} rounds: it is about {known:.6g}"
            warn(text, FitWarning)
        if known <= MIN_ALPHA:
            warn(
                "the counts are not overdispersed, so that the best dispersion is 0: use PoissonRegressor",
                FitWarning,
            )
        found = self._accept(problem, solution)
        self.n_iter_, self.dispersion_ = iterations, float(known)
        return found
