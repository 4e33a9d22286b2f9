"""Errors and warnings about a fit: separation, collinear columns, scales beyond float64, no convergence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.encoder import Encoder
from linnet.data.targets import MAX_SQUARABLE
from linnet.errors import DataError, FitError, FitWarning, SeparationWarning, warn
from linnet.fit.solvers.coordinate import gains_of_columns, lasso, violation
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Aliasing, Solution
from linnet.fit.solvers.start import starting_point
from linnet.inference.separation.detect import Separation, ruled_out_by_sums, separation

_MAX_LEVELS_NAMED = 5  # of a column; more are counted
_MAX_NAMES = 10  # of columns in a message
_MAX_FURTHEST = 3  # columns named of a fit that has not converged
_BOUNDARY_RELATIVE_MEAN = 1e-9  # means below this fraction of the largest have reached 0
_MAX_RELATIVE_MEAN, _MAX_RELATIVE_MEAN_WITH_L1 = 1e13, 1e6  # of a sparse column, in units of its spread
_ADVICE_TO_CENTER = "(year - 2000 instead of year)"


@dataclass(frozen=True)
class FitMessages:
    """Errors and warnings about a solution, in terms of the user's columns and classes."""

    encoder: Encoder
    classes: NDArray[Any] | None = None  # None for regressions

    def report(self, problem: Problem, solution: Solution) -> tuple[Floats, Floats]:
        """Issue the errors and warnings about a solution; return its weights (columns x outputs) and biases."""
        weights, biases = problem.to_user(solution.theta)
        self.check_scales(problem, solution, weights)
        self.warn(problem, solution)
        return weights, biases

    def warn(self, problem: Problem, solution: Solution) -> None:
        """Warn about separation or, without it, about aliased columns and a fit that did not converge."""
        if (text := self._of_separation(problem, solution)) is not None:
            warn(text, SeparationWarning)
            return
        if solution.aliasing is not None:
            self._warn_of_aliasing(solution.aliasing)
        self._warn_of_offsets(problem)
        if solution.converged:
            return
        advice = "raise max_iter, or add a penalty if the coefficients diverge"
        low, high = solution.z_range
        if problem.head.positive_mean and low < _BOUNDARY_RELATIVE_MEAN * high:
            advice = "some means have reached 0, the boundary of the identity link: use link='log'"
        warn(
            f"the fit has not converged after {solution.iterations} iterations: the objective {solution.value:.10g} is "
            f"up to about {solution.gap:.3g} above its minimum{self._furthest(problem, solution)}, and the largest "
            f"entry of the gradient is {solution.gradient_norm:.3g}: {advice}",
            FitWarning,
        )

    def _furthest(self, problem: Problem, solution: Solution) -> str:
        """Name the columns whose coefficients, each by itself, would improve an objective most; "" if none would."""
        point = problem.at(solution.theta)
        assert point.gradient is not None
        with np.errstate(all="ignore"):
            broken = violation(problem, solution.theta, point.gradient, lasso(problem))
            gains = gains_of_columns(problem, solution.theta, broken)
        gains[~np.isfinite(gains)] = 0
        furthest = np.argsort(-gains, kind="stable")[:_MAX_FURTHEST]
        furthest = furthest[gains[furthest] > 0]
        return f", mostly for the coefficients of {self.names(furthest.tolist())}" if len(furthest) else ""

    def _of_separation(self, problem: Problem, solution: Solution) -> str | None:
        """Return the warning of a separation, or of a possible one if the rows are elsewhere; None if there is none.

        Which columns separate can only be determined from single rows.
        """
        if problem.has_rows:
            result = separation(problem, solution)
            return None if result is None else self._separation(result, problem)
        if ruled_out_by_sums(problem, solution):
            return None
        return (
            "predictions are almost certain, and whether the rows are separable cannot be determined from sums over "
            "them, so the maximum likelihood coefficients may be infinite: add a penalty, or fit to rows in memory"
        )

    def _warn_of_aliasing(self, aliasing: Aliasing) -> None:
        if aliasing.left_out.any():
            columns = np.flatnonzero(aliasing.left_out).tolist()
            are, add, them = ("are linear combinations", "add", "them")
            if len(columns) == 1:
                are, add, them = ("is a linear combination", "adds", "it")
            text = f"{self.names(columns)} {are} of other columns and {add} nothing to the model: drop {them}"
            if (aliasing.left_out & aliasing.inexact).any():
                text += (
                    ". This may be due to rounding: powers and products of columns lose precision unless the columns "
                    f"are centered first {_ADVICE_TO_CENTER}"
                )
            warn(text, FitWarning)
        if aliasing.cancelling is not None:
            names = self.names(np.flatnonzero(aliasing.cancelling).tolist())
            warn(
                f"{names}: nearly linear combinations of other columns, whose coefficients cancel so strongly that "
                f"predictions lose precision: center columns before taking powers and products {_ADVICE_TO_CENTER}",
                FitWarning,
            )

    def _warn_of_offsets(self, problem: Problem) -> None:
        """Warn of sparse columns far from 0: as they are not centered, their small differences are lost in rounding."""
        if not problem.has_rows:  # in sums of squares of such a column, differences are lost already
            return
        if problem.table.sparse is None or not problem.intercept:
            return
        limit = _MAX_RELATIVE_MEAN if problem.l1 is None else _MAX_RELATIVE_MEAN_WITH_L1
        if len(far := problem.table.far_from_zero(limit)):
            warn(
                f"{self.names((problem.columns.dense + far).tolist())}: large values that hardly vary, in a sparse "
                "matrix, whose columns are not centered, so that coefficients lose precision: subtract the column's "
                "mean, or use a dense table",
                FitWarning,
            )

    def check_scales(self, problem: Problem, solution: Solution, weights: Floats) -> None:
        """Raise a DataError for a column whose weighted squares overflow or underflow.

        Its coefficient could not be computed. Coefficients that are not finite for any other reason raise a FitError.
        """
        numbers = problem.columns.dense + problem.columns.sparse_columns
        weights = weights[:numbers]
        suspect = np.asarray(solution.aliased.reshape(-1, problem.outputs)[:numbers].any(axis=1))
        suspect |= ~(np.isfinite(weights).all(axis=1) & weights.any(axis=1))
        finite = bool(np.isfinite(solution.theta).all())
        if finite and not suspect.any():
            return
        if problem.has_rows:
            self._check_sizes(problem, suspect)
        else:
            self._check_squares(problem, numbers)
        if not finite:
            raise FitError(
                "the fit gave coefficients that are not finite: scale the columns and sample_weight, or add a penalty"
            )

    def _check_squares(self, problem: Problem, numbers: int) -> None:
        """Raise a DataError for a column whose sum of squares overflows."""
        squares = problem.sums.curvature_diagonal(starting_point(problem))[:numbers]
        wrong = ~np.isfinite(squares).all(axis=1)
        if wrong.any():
            raise DataError(
                f"column {self._name(int(wrong.argmax()))!r} of X has values whose squares, times the row weights, are "
                "too large to be summed: scale the column"
            )

    def _check_sizes(self, problem: Problem, suspect: NDArray[np.bool_]) -> None:
        """Raise a DataError for a column whose squares overflow or, if it is suspect, underflow."""
        numbers, sizes = len(suspect), problem.table.largest()
        unpenalised = (problem.ridge + lasso(problem)).reshape(-1, problem.outputs)[:numbers].min(axis=1) == 0
        max_weight = 1.0 if problem.rows.weights is None else max(1.0, float(problem.rows.weights.max()))
        small = (sizes > 0) & (sizes < 1 / MAX_SQUARABLE) & unpenalised & suspect
        wrong = (sizes > MAX_SQUARABLE / max_weight**0.5) | small
        if wrong.any():
            column = int(np.flatnonzero(wrong)[0])
            sizes_found = f"values of about {sizes[column]:.3g}"
            if sizes[column] <= MAX_SQUARABLE and not small[column]:
                sizes_found += f" and row weights of up to {max_weight:.3g}"
            raise DataError(
                f"column {self._name(column)!r} of X has {sizes_found}, too {'small' if small[column] else 'large'} "
                "for their squares to be computed: scale the column"
            )

    def _name(self, column: int) -> str:
        """Return the name of a column, given by its index in the core's order."""
        return self.encoder.coefficient_names[int(np.flatnonzero(self.encoder.order() == column)[0])]

    def names(self, columns: Iterable[int]) -> str:
        """Names of columns, given by their indices in the core's order; many levels of a column are counted."""
        chosen, sources = set(columns), self.encoder.sources
        by_source: dict[str, list[str]] = {}
        for name, place in zip(self.encoder.coefficient_names, self.encoder.order().tolist(), strict=True):
            if place in chosen:
                by_source.setdefault(sources[place], []).append(name)
        names: list[str] = []
        for source, levels in by_source.items():
            is_shortened = len(levels) > _MAX_LEVELS_NAMED
            names += (
                [f"{len(levels):,} levels of {source} (such as {' and '.join(levels[:2])})"] if is_shortened else levels
            )
        listed = ", ".join(names[:_MAX_NAMES])
        return listed + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")

    def _separation(self, found: Separation, problem: Problem) -> str:
        columns = self.names(found.columns) or "the intercept"
        kind = "complete" if found.complete else "quasi-complete"
        verb = "separate" if len(found.columns) > 1 else "separates"
        return (
            f"{kind} separation: {columns} {verb} {self._separated(found, problem)} on {found.rows} rows, so "
            "the maximum likelihood coefficients are infinite and those of this fit only large: add a penalty, or "
            "drop the columns"
        )

    def _separated(self, found: Separation, problem: Problem) -> str:
        if self.classes is None:
            return "rows of 0 from rows above 0"
        outputs = found.outputs if problem.outputs > 1 else (0, 1)
        names = " and ".join(repr(self.classes[k : k + 1].tolist()[0]) for k in outputs)
        return f"classes {names}" if len(outputs) > 1 else f"class {names} from the others"
