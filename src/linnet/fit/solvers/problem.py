"""The convex problem of a network without hidden layers: data, head and penalties.

    objective(θ) = Σ_i w_i loss(z_i, t_i) + ½ Σ_j l2_j θ_j² + Σ_j l1_j |θ_j|        z = x W + b + offset

Sums over rows, not means; biases carry no penalty. Parameters are one vector θ: the weights W, columns x outputs in C
order, followed by the biases. Dense columns are centered internally, so that large means cost no precision: θ belongs
to the centered columns, and `Problem.to_user` and `Problem.from_user` convert between them and the user's columns.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet._cached import cached_property
from linnet._native import core
from linnet.data.columns import Columns, as_columns
from linnet.data.rows import Rows
from linnet.data.targets import Labels
from linnet.fit.solvers.products import column_dots
from linnet.fit.solvers.sums import InMemory, InMemorySums, Layout, RowSource, Sums
from linnet.heads import Head

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Point:
    """The objective at a theta, without the l1 penalty."""

    theta: Floats
    value: float
    gradient: Floats | None = None
    curvature: Floats | None = None  # the Hessian
    z_range: tuple[float, float] = (-np.inf, np.inf)  # the smallest and the largest z of all rows


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, head and penalties of a linear model.

    Parameters
    ----------
    data : RowSource
        The rows, in memory or elsewhere: table, targets, weights and offsets.
    head : Head
        The distribution of the targets.
    outputs : int
        The number of outputs: values of z per row.
    intercept : bool, default=True
        Whether biases are fitted; otherwise they are zero.
    l2, l1 : arrays of shape (columns, outputs), or None, default=None
        Penalties of each weight.
    fixed : array of shape (outputs,), or None, default=None
        Outputs whose parameters are fixed at zero.
    positive : bool, default=False
        Whether weights must not be negative.
    """

    data: RowSource
    head: Head
    outputs: int
    intercept: bool = True
    l2: Floats | None = None
    l1: Floats | None = None
    fixed: NDArray[np.bool_] | None = None
    positive: bool = False

    @classmethod
    def in_memory(
        cls,
        columns: Columns,
        head: Head,
        outputs: int,
        *,
        labels: Labels | None = None,
        values: Floats | None = None,
        weights: Floats | None = None,
        offset: Floats | None = None,
        threads: int | None = None,
        **penalties: Any,
    ) -> Self:
        """Build the problem of a table in memory: see `Rows` and `InMemory`. `penalties`: all other parameters."""
        rows = Rows(columns, labels=labels, values=values, weights=weights, offset=offset)
        return cls(InMemory(rows, threads), head, outputs, **penalties)

    # ---- data ----

    @property
    def columns(self) -> Layout:
        """The shape of the table."""
        return self.data.columns

    @cached_property
    def center(self) -> Floats:
        """The value subtracted from each dense column: about its mean, or zero without an intercept to compensate."""
        return self.data.middle() if self.intercept else np.zeros(self.columns.dense)

    @cached_property
    def sums(self) -> Sums:
        """Sums over the rows."""
        return self.data.sums(self.head, self.outputs, self.center)

    # ---- data in memory ----

    @property
    def has_rows(self) -> bool:
        """Whether the rows are in memory, as some solvers require.

        Only then do `rows`, `table` and `row_sums` exist.
        """
        return self.data.rows is not None

    def _no_rows(self) -> TypeError:
        return TypeError(f"this needs rows in memory: {type(self.data).__name__} only has sums over them")

    @property
    def rows(self) -> Rows:
        """The rows."""
        if self.data.rows is None:
            raise self._no_rows()
        return self.data.rows

    @property
    def table(self) -> Columns:
        """The table of the rows."""
        return as_columns(self.rows.x)

    @property
    def row_sums(self) -> InMemorySums:
        """Sums over the rows, and products of the table with vectors."""
        if not isinstance(self.sums, InMemorySums):
            raise self._no_rows()
        return self.sums

    def with_rows(self, **changes: Any) -> Self:
        """Return the problem with other fields of its rows, such as x or offset."""
        return replace(self, data=InMemory(replace(self.rows, **changes), self.data.threads))

    def z(self, theta: Floats) -> Floats:
        """Return z = x W + b + offset, rows x outputs."""
        return self.row_sums.z(theta)

    # ---- parameters ----

    @cached_property
    def size(self) -> int:
        """Length of theta: (columns + 1) x outputs."""
        return (self.columns.count + 1) * self.outputs

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Which parameters are fitted: all but those of fixed outputs, and biases without an intercept."""
        free = np.ones((self.columns.count + 1, self.outputs), np.bool_)
        free[-1] = self.intercept
        if self.fixed is not None:
            free[:, self.fixed] = False
        return free.ravel()

    @cached_property
    def _held(self) -> NDArray[np.intp]:
        """Indices of the parameters that are not fitted."""
        return np.flatnonzero(~self.free)

    @cached_property
    def nonnegative(self) -> NDArray[np.bool_]:
        """Which parameters must not be negative."""
        return np.arange(self.size) < (self.size - self.outputs if self.positive else 0)

    @cached_property
    def ridge(self) -> Floats:
        """The l2 penalty of each parameter."""
        ridge = np.zeros(self.size)
        if self.l2 is not None:
            ridge.reshape(-1, self.outputs)[:-1] = self.l2
        return ridge

    @cached_property
    def penalised(self) -> bool:
        """Whether all fitted weights carry an l2 penalty."""
        weights = slice(self.size - self.outputs)
        return bool((self.ridge[weights] > 0)[self.free[weights]].all())

    @cached_property
    def is_smooth(self) -> bool:
        """Whether the objective has no corners: no l1 penalty, and no bound on weights."""
        return not self.positive and (self.l1 is None or not self.l1.any())

    def to_user(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return weights (columns x outputs) and biases for the user's columns."""
        weights = theta[: -self.outputs].reshape(-1, self.outputs).copy()
        biases = theta[-self.outputs :] - self._at_center(weights)
        return weights, biases if self.intercept else np.zeros(self.outputs)

    def from_user(self, weights: Floats, biases: Floats) -> Floats:
        """Return the theta of weights and biases for the user's columns.

        Those of a fixed output are subtracted from all.
        """
        if self.fixed is not None:  # predictions do not change
            weights, biases = weights - weights[:, self.fixed], biases - biases[self.fixed]
        moved = biases + self._at_center(weights)
        return np.concatenate([weights.ravel(), moved if self.intercept else np.zeros_like(moved)])

    def _at_center(self, weights: Floats) -> Floats:
        """Return the contribution of the centers to z."""
        return column_dots(self.center, weights[: self.columns.dense])

    # ---- the objective ----

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        """Return the objective without the l1 penalty and, on request, its gradient and Hessian.

        Entries of parameters that are not fitted are zero. `row_stride`: estimate from about one row in `row_stride`.
        """
        g = np.empty(self.size) if gradient else None
        h = np.empty((self.size, self.size)) if curvature else None
        loss, z_range = self.sums.at(theta, g, h, row_stride=row_stride)
        pull = self.ridge * theta
        value = loss + 0.5 * core.dot(pull, theta)
        if g is not None:
            g += pull
            g[self._held] = 0
        if h is not None:
            h.reshape(-1)[:: self.size + 1] += self.ridge  # the diagonal
            if len(self._held):
                h[self._held], h[:, self._held] = 0, 0
        return Point(theta, value, g, h, z_range)
