"""Logistic regressions over the same columns as one table of coefficients."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.config import usable_threads
from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.errors import DataWarning, warn
from linnet.estimators.linear.coefficients import as_parameters
from linnet.estimators.logistic import LogisticRegression
from linnet.estimators.logistic_stack import StackFitter, StackMember
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.products import linear_output
from linnet.multiclass.learners.base import Learners
from linnet.multiclass.learners.training import TrainingSet
from linnet.registry import need, saved

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.graph import Tensor

_MIN_BYTES_WARNED = 1_000_000_000  # the size of a model


@saved
@dataclass
class StackedLogistic(Learners):
    """Logistic regressions over the same columns: a linear layer with one output per problem."""

    estimator: LogisticRegression
    encoder: Encoder
    biases: Floats
    iterations: NDArray[np.intp]
    coef: Floats = field(default_factory=lambda: np.empty((0, 0)))  # problems x coefficients, in the table's order
    weights: Floats | None = None  # in older files, instead of `coef`: columns x problems, in the core's order

    def __post_init__(self) -> None:
        if self.weights is not None:
            self.coef, self.weights = self.weights[self.encoder.order()].T, None

    def _check_file(self) -> None:
        need(self.coef.shape == (*self.biases.shape, self.encoder.count), self, "coef")
        need(self.biases.ndim == 1 and self.iterations.shape == self.biases.shape, self, "biases")

    def input_encoder(self) -> Encoder:
        """Return the encoder of the table."""
        return self.encoder

    @property
    def count(self) -> int:  # type: ignore[override]
        """The number of problems."""
        return len(self.biases)

    @staticmethod
    def fitted(estimator: LogisticRegression, data: TrainingSet) -> "StackedLogistic":
        """Fit one logistic regression per problem, jointly where that is faster."""
        fitter = StackFitter.of(estimator, data.X, data.codes, data.weights)
        _warn_of_memory(data.codes.problems, fitter.problems.columns.count)
        stack = fitter.fit()
        return StackedLogistic(estimator, fitter.encoder, stack.intercepts, stack.iterations, stack.coef)

    def read(self, X: Any) -> Columns:
        """Return the table as columns."""
        return self.encoder.encode(X)

    def take(self, table: Columns, rows: Any) -> Columns:
        """Return the given rows."""
        return table[rows]

    def size(self, table: Columns) -> int:
        """Return the number of rows."""
        return table.rows

    @property
    def _threads(self) -> int:
        return usable_threads(self.estimator.threads)

    def outputs(self, table: Columns, problems: slice = slice(None)) -> tuple[Floats, Floats]:
        """Log-odds, rows x problems, twice: they are also the scores."""
        z = linear_output(table, *self._parameters(problems), self._threads)
        return z, z

    def _parameters(self, problems: slice = slice(None)) -> tuple[Floats, Floats]:
        """Weights, columns x problems in the core's order, and biases."""
        coef, biases = self.coef[problems], self.biases[problems]
        return as_parameters(coef, biases, self.encoder, len(biases))

    def log_odds_of_pairs(self, table: Columns, row: NDArray[np.int64], problem: NDArray[np.int32]) -> Floats:
        """Return the log-odds for (row, problem) pairs."""
        z = np.empty(len(row))
        theta = np.empty((self.count, table.count + 1))
        theta[:, self.encoder.order()], theta[:, -1] = self.coef, self.biases
        core.Binaries(table.to_core(), np.zeros(table.dense), self._threads).dots(theta, row, problem, z)
        return z

    def models(self) -> list[LogisticRegression]:
        """Return one LogisticRegression per problem, with `coef_` and `intercept_` as views of `coef` and `biases`."""
        params = self.estimator.get_params(deep=False)
        slices = [slice(problem, problem + 1) for problem in range(self.count)]  # views, not copies
        return [
            StackMember.of(params, self.encoder, self.coef[row], self.biases[row], iterations)
            for row, iterations in zip(slices, self.iterations.tolist(), strict=True)
        ]

    def z_graph(self, inputs: "Inputs") -> "Tensor":
        """Return the log-odds in an ONNX graph."""
        from linnet.export.onnx.columns import features
        from linnet.export.onnx.network import linear

        return linear(inputs.graph, features(inputs, self.encoder, "float64"), *self._parameters())


def _warn_of_memory(problems: int, columns: int) -> None:
    size = 8 * problems * (columns + 1)
    if size >= _MIN_BYTES_WARNED:
        warn(
            f"{problems} classifiers of {columns} columns take {size / 1e9:.1f} GB of memory: OneVsRestClassifier and "
            "LabelTreeClassifier need at most one per class",
            DataWarning,
        )
