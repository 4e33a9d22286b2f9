"""The parameters that linear models share, checked."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from linnet.checks import check_flag, check_name, check_number, check_random, check_whole
from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.errors import ConfigError
from linnet.fit.loop.progress import watching
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.select import solve
from linnet.fit.solvers.solution import Solution

HANDLING_OF_MISSING = ("refuse", "fill")
Penalties = Mapping[str, float] | Any
_DEFAULT_MAX_ITER = 1000


@dataclass(frozen=True, slots=True)
class LinearSettings:
    """The parameters that linear models share, by name; one that a model does not have keeps its default."""

    fit_intercept: bool
    missing: str
    tol: float
    solver: str = "auto"
    max_iter: int | None = None
    positive: bool = False
    warm_start: bool = False
    verbose: int = 0
    random_state: object = None
    column_penalty: Penalties | None = None
    threads: int | None = None

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Self:
        """Select the settings from an estimator's parameters."""
        return cls(**{each.name: params[each.name] for each in fields(cls) if each.name in params})

    def check(self) -> None:
        """Raise a ConfigError that names the first invalid parameter."""
        for name in ("fit_intercept", "positive", "warm_start"):
            check_flag(getattr(self, name), name)
        check_missing(self.missing)
        check_number(self.tol, "tol", at_least=0)
        check_random(self.random_state)
        if self.max_iter is not None:
            check_whole(self.max_iter, "max_iter")
        if not isinstance(self.verbose, bool):
            check_whole(self.verbose, "verbose")

    @property
    def iterations(self) -> int:
        """The largest number of iterations."""
        return _DEFAULT_MAX_ITER if self.max_iter is None else self.max_iter

    def encode(self, X: object) -> tuple[Encoder, Columns]:
        """Return the encoder of a table, and the table's columns."""
        return Encoder.learn(X, gaps="fill" if self.missing == "fill" else "refuse", narrow=True)

    def solve(self, problem: Problem, start: Floats | None = None) -> Solution:
        """Solve a problem, from `start` unless it is None, and show progress according to `verbose`."""
        # squares that overflow are found after the fit, which names their column: see FitMessages.check_scales
        with np.errstate(over="ignore", invalid="ignore"), watching(self.verbose, self.tol) as watch:
            return solve(problem, self.solver, max_iter=self.iterations, start=start, tolerance=self.tol, watch=watch)

    def penalty_factors(self, encoder: Encoder) -> Floats:
        """Return the factor of each column's penalty, in the core's order of columns."""
        penalties, order = self.column_penalty, encoder.order()
        factors = np.ones(len(order))
        if penalties is None:
            return factors
        if isinstance(penalties, Mapping):
            indices = encoder.coefficient_indices()
            for name, value in penalties.items():
                if name not in indices:
                    raise ConfigError(f"column_penalty names {name!r}, which is not a column of X")
                factors[indices[name]] = check_number(value, "column_penalty", repr(name), at_least=0)
        else:
            try:
                factors = np.array(penalties, np.float64)
            except (TypeError, ValueError, OverflowError):
                factors = np.empty(0)
            if factors.shape != order.shape or not (np.isfinite(factors).all() and (factors >= 0).all()):
                raise ConfigError(
                    "column_penalty must have one finite number of at least 0 for every coefficient, "
                    f"{len(order)} in all, or a dict of them by column, got {penalties!r}"
                )
        in_core_order = np.empty_like(factors)
        in_core_order[order] = factors
        return in_core_order


def check_missing(missing: object) -> None:
    """Raise a ConfigError unless `missing` is "refuse" or "fill"."""
    check_name(missing, "value of missing", HANDLING_OF_MISSING)
