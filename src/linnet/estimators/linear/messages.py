"""What a user is told about a fit: separation, collinear columns, scales beyond float64, no convergence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.encoder import Encoder
from linnet.data.targets import MAX_SQUARABLE
from linnet.errors import DataError, FitError, FitWarning, SeparationWarning, warn
from linnet.fit.solvers.coordinate import lasso
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Aliasing, Solution
from linnet.fit.solvers.start import starting_point
from linnet.inference.separation.detect import Separation, ruled_out_by_sums, separation

_MAX_LEVELS_NAMED = 5  # of a column; more are counted
_MAX_NAMES = 10
_BOUNDARY_MEAN = 1e-9  # of the largest mean: a smaller one has reached 0
_MAX_OFFSET, _MAX_L1_OFFSET = 1e13, 1e6  # of a sparse column: its mean, in spreads
_ADVICE_TO_CENTER = "(year - 2000 instead of year)"


@dataclass(frozen=True)
class FitMessages:
    """Errors and warnings about a solution, in terms of the user's columns and classes."""

    encoder: Encoder
    classes: NDArray[Any] | None = None  # None: the target is a number

    def report(self, problem: Problem, solution: Solution) -> tuple[Floats, Floats]:
        """Raise or warn what a user should know about a solution; weights, columns x outputs, and biases of it."""
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
        way = "raise max_iter, or add a penalty if the coefficients diverge"
        low, high = solution.z_range
        if problem.head.positive_mean and low < _BOUNDARY_MEAN * high:
            way = "some means have reached 0, the boundary of the identity link: use link='log'"
        warn(
            f"the fit has not converged after {solution.iterations} iterations: the objective {solution.value:.10g} is "
            f"up to about {solution.gap:.3g} above its minimum, with a largest gradient entry of "
            f"{solution.gradient_norm:.3g}: {way}",
            FitWarning,
        )

    def _of_separation(self, problem: Problem, solution: Solution) -> str | None:
        """What to say of a separation, or of one that there may be: by which columns, only single rows tell."""
        if problem.has_rows:
            found = separation(problem, solution)
            return None if found is None else self._separation(found, problem)
        if ruled_out_by_sums(problem, solution):
            return None
        return (
            "predictions are all but certain, and sums over the rows do not tell whether there is a separation: the "
            "maximum likelihood coefficients may be infinite: add a penalty, or fit to rows in memory"
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
                    ". That is as far as their digits tell: powers and products of columns lose what they add to "
                    f"rounding unless the columns are centered first {_ADVICE_TO_CENTER}"
                )
            warn(text, FitWarning)
        if aliasing.cancelling is not None:
            names = self.names(np.flatnonzero(aliasing.cancelling).tolist())
            warn(
                f"{names}: nearly linear combinations of other columns, whose coefficients cancel each other so far "
                "that predictions lose digits: center columns before taking powers and products "
                f"{_ADVICE_TO_CENTER}",
                FitWarning,
            )

    def _warn_of_offsets(self, problem: Problem) -> None:
        """Warn of sparse columns far from 0, which are not centered: what their numbers differ by is lost."""
        if not problem.has_rows:  # sums of the squares of such a column have lost what its numbers differ by
            return
        if problem.table.sparse is None or not problem.intercept:
            return
        most = _MAX_OFFSET if problem.l1 is None else _MAX_L1_OFFSET
        if len(far := problem.table.far_from_zero(most)):
            warn(
                f"{self.names((problem.columns.dense + far).tolist())}: large numbers that hardly differ, in a sparse "
                "matrix, where columns are not centered: their coefficients lose digits; subtract a column's mean, or "
                "use a dense table",
                FitWarning,
            )

    def check_scales(self, problem: Problem, solution: Solution, weights: Floats) -> None:
        """Raise a DataError for a column whose squares, times the rows' weights, overflow or underflow: its coefficient
        could not be found; a FitError where coefficients are not finite for any other reason.
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
                "the coefficients found are not finite numbers: scale the columns and sample_weight, or add a penalty"
            )

    def _check_squares(self, problem: Problem, numbers: int) -> None:
        """Raise a DataError for a column whose sum of squares overflows."""
        squares = problem.sums.curvature_diagonal(starting_point(problem))[:numbers]
        wrong = ~np.isfinite(squares).all(axis=1)
        if wrong.any():
            raise DataError(
                f"column {self._name(int(wrong.argmax()))!r} of X has numbers too large for their squares, times the "
                "rows' weights, to be summed: scale the column"
            )

    def _check_sizes(self, problem: Problem, suspect: NDArray[np.bool_]) -> None:
        """Raise a DataError for a column with numbers too large or, if it is suspect, too small for their squares."""
        numbers, sizes = len(suspect), problem.table.largest()
        bare = (problem.ridge + lasso(problem)).reshape(-1, problem.outputs)[:numbers].min(axis=1) == 0
        heaviest = 1.0 if problem.rows.weights is None else max(1.0, float(problem.rows.weights.max()))
        small = (sizes > 0) & (sizes < 1 / MAX_SQUARABLE) & bare & suspect
        wrong = (sizes > MAX_SQUARABLE / heaviest**0.5) | small
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            found = f"numbers of about {sizes[place]:.3g}"
            if sizes[place] <= MAX_SQUARABLE and not small[place]:
                found += f" and weights of up to {heaviest:.3g}"
            raise DataError(
                f"column {self._name(place)!r} of X has {found}, too {'small' if small[place] else 'large'} for their "
                "squares to be computed: scale the column"
            )

    def _name(self, place: int) -> str:
        """The name of a column, given by its place in the core's order."""
        return self.encoder.coefficient_names[int(np.flatnonzero(self.encoder.order() == place)[0])]

    def names(self, columns: Iterable[int]) -> str:
        """Names of columns, given by their places in the core's order; many levels of a column are counted."""
        chosen, sources = set(columns), self.encoder.sources
        by_source: dict[str, list[str]] = {}
        for name, place in zip(self.encoder.coefficient_names, self.encoder.order().tolist(), strict=True):
            if place in chosen:
                by_source.setdefault(sources[place], []).append(name)
        names: list[str] = []
        for source, some in by_source.items():
            many = len(some) > _MAX_LEVELS_NAMED
            names += [f"{len(some):,} levels of {source} (such as {' and '.join(some[:2])})"] if many else some
        listed = ", ".join(names[:_MAX_NAMES])
        return listed + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")

    def _separation(self, found: Separation, problem: Problem) -> str:
        columns = self.names(found.columns) or "the intercept"
        kind = "complete" if found.complete else "quasi-complete"
        verb = "separate" if len(found.columns) > 1 else "separates"
        return (
            f"{kind} separation: {columns} {verb} {self._separated(found, problem)} on {found.rows} rows, so "
            "the maximum likelihood coefficients are infinite and those of this fit merely large: add a penalty, or "
            "drop the columns"
        )

    def _separated(self, found: Separation, problem: Problem) -> str:
        if self.classes is None:
            return "rows of 0 from rows above 0"
        outputs = found.outputs if problem.outputs > 1 else (0, 1)
        names = " and ".join(repr(self.classes[k : k + 1].tolist()[0]) for k in outputs)
        return f"classes {names}" if len(outputs) > 1 else f"class {names} from the others"
