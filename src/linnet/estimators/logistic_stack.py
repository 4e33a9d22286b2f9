"""Many logistic regressions with the same parameters on one table, each of which is also a model of its own."""

import os
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet.arrays import ArrayLike, Table, Targets
from linnet.data.encoder import Encoder
from linnet.estimators.linear.coefficients import as_coefficients, as_parameters
from linnet.estimators.linear.messages import FitMessages
from linnet.estimators.linear.settings import LinearSettings
from linnet.estimators.logistic import LogisticRegression, is_reference
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.fit.solvers.many import BinaryProblems, fit_many
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Solution

_CLASSES = np.arange(2)  # of each problem: negative and positive


@dataclass(frozen=True)
class StackFit:
    """Fitted logistic regressions, one per problem."""

    coef: Floats  # problems x coefficients
    intercepts: Floats  # one per problem
    iterations: NDArray[np.intp]  # one number per problem


@dataclass(frozen=True)
class StackFitter:
    """Fits one logistic regression per column of a code matrix, with the checked parameters of an estimator."""

    encoder: Encoder
    settings: LinearSettings
    problems: BinaryProblems
    joint: bool  # whether problems may be solved jointly

    @staticmethod
    def of(estimator: LogisticRegression, X: object, codes: CodeMatrix, weights: Floats | None) -> "StackFitter":
        """Check an estimator's parameters and encode a table. `weights`: one per row."""
        estimator._check_params()
        if estimator.reference is not None:
            is_reference(estimator.reference, _CLASSES.tolist())
        settings = estimator._settings
        encoder, columns = settings.encode(X)
        (strength, l1_ratio), factors = estimator._penalty(), settings.penalty_factors(encoder)
        problems = BinaryProblems(
            columns,
            codes,
            l2=strength * (1 - l1_ratio) * factors,
            l1=strength * l1_ratio * factors,
            weights=weights,
            class_weight=estimator.class_weight,
            intercept=settings.fit_intercept,
            threads=settings.threads,
        )
        return StackFitter(encoder, settings, problems, estimator.reference is None)

    def fit(self) -> StackFit:
        """Solve all problems, jointly where that is faster, and issue the warnings about those solved separately."""
        messages = FitMessages(self.encoder, _CLASSES)

        def solve_one(problem: Problem) -> Solution:
            solution = self.settings.solve(problem)
            messages.report(problem, solution)
            return solution

        solutions = fit_many(
            self.problems, solve_one, solver=self.settings.solver, max_iter=self.settings.iterations, joint=self.joint
        )
        return StackFit(as_coefficients(solutions.weights, self.encoder), solutions.biases, solutions.iterations)


class StackMember(LogisticRegression):
    """One of many logistic regressions, whose coefficients are views of the arrays that all share.

    Values assigned to `coef_` or `intercept_` are written into those arrays. A member that is fitted again gets arrays
    of its own; copies, pickles and files are an ordinary LogisticRegression.
    """

    _linked = False

    @classmethod
    def of(cls, params: dict[str, Any], encoder: Encoder, coef: Floats, intercept: Floats, iterations: int) -> Self:
        """Return a model with these parameters and views of shapes (1, coefficients) and (1,)."""
        model = cls(**params)
        model._encoder, model.n_features_in_ = encoder, encoder.width
        if encoder.names is not None:
            model.feature_names_in_ = np.array(encoder.names, object)
        model.coef_, model.intercept_, model.classes_ = coef, intercept, _CLASSES.copy()
        model.n_iter_ = np.array([iterations], np.int32)
        model._linked = True
        return model

    def __setattr__(self, name: str, value: Any) -> None:
        if self._linked and name in ("coef_", "intercept_"):
            own = {"coef_": self.coef_, "intercept_": self.intercept_, name: value}
            weights, biases = as_parameters(own["coef_"], own["intercept_"], self._encoder, 1)
            self.intercept_[...] = biases
            self.coef_[...] = weights.T[:, self._encoder.order()]
            return
        super().__setattr__(name, value)

    def fit(
        self, X: Table, y: Targets, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None
    ) -> Self:
        """Fit the model by itself, with coefficients of its own; if that fails, it stays as it was.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,)
            The class of each row.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        self
            The fitted model.
        """
        self.__dict__.pop("_linked", None)
        return super().fit(X, y, sample_weight, offset=offset)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `linnet.load` reads as an ordinary LogisticRegression.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced once the new one is complete.
        """
        copy(self).save(path)

    def __reduce__(self) -> Any:
        state = {name: value for name, value in self.__dict__.items() if name != "_linked"}
        return _ordinary, (state,)


def _ordinary(state: dict[str, Any]) -> LogisticRegression:
    model = LogisticRegression.__new__(LogisticRegression)
    model.__setstate__(state)
    return model
