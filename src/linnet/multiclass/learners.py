"""Binary classifiers that were trained together: logistic regressions in one table, or any others one by one.

All that a reduction asks of them are, problem by problem, the log-odds log(p / (1 - p)) of yes, always finite, and a
score whose sign is the answer. Where no yes or no no was there to learn from, or a classifier's own answer is not a
number, the answer is log((yes + 1) / (no + 1)), from the rows counted.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet._sklearn import Classifier, Estimator
from linnet.config import usable_threads
from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.data.targets import balanced
from linnet.errors import ConfigError, DataWarning, warn
from linnet.estimators.linear_model import LinearModel, as_parameters
from linnet.estimators.logistic import LogisticRegression
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.joint_newton import Sides, Together
from linnet.fit.solvers.problem import linear_output
from linnet.fit.solvers.select import newton_pays
from linnet.registry import need, saved
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.graph import Tensor

_BYTES = 128_000_000  # of the scores of a block of rows
_FEW_PROBLEMS = 8  # a thread has whole problems: of fewer, with many rows, each is better solved by all threads
_FEW_ROWS = 20_000
_MOST_CELLS = 200_000_000  # of columns of levels and sparse columns as dense ones
_LARGE = 1_000_000_000  # bytes of a model
_SURE = (-745.0, 37.0)  # log-odds of the numbers next to 0 and to 1
_HIGHEST = 1e100  # score: sums of squares of such are finite


@dataclass(frozen=True)
class BinaryProblems:
    """Rows, and the binary problems that are learned from them: which rows each sees, and as what."""

    X: Any
    sides: Sides
    weights: Floats | None = None
    params: dict[str, Any] = field(default_factory=dict)  # for the learner's fit
    n_jobs: int | None = None
    verbose: int = 0

    def of(self, sides: Sides) -> "BinaryProblems":
        """The same rows for these problems."""
        return replace(self, sides=sides)

    def lopsided(self) -> tuple[NDArray[np.bool_], Floats]:
        """Which problems lack a side, and the log-odds by the rows counted, for all of them."""
        counts = np.bincount(self.sides.group, self.weights, len(self.sides.starts) - 1)
        total = self.sides.totals(counts.astype(np.float64))
        return np.asarray((total <= 0).any(axis=1)), np.asarray(np.log1p(total[:, 1]) - np.log1p(total[:, 0]))


class Learners(ABC):
    """Binary classifiers, one a problem."""

    count: int

    @abstractmethod
    def read(self, X: Any) -> Any:
        """A table in the form in which the other methods take it."""

    @abstractmethod
    def part(self, table: Any, rows: Any) -> Any:
        """Some of the rows of such a table."""

    @abstractmethod
    def size(self, table: Any) -> int:
        """Its number of rows."""

    @abstractmethod
    def answers(self, table: Any, problems: slice = slice(None)) -> tuple[Floats, Floats]:
        """Log-odds and scores, rows x (some of the) problems."""

    @abstractmethod
    def some(self, table: Any, row: NDArray[np.int64], problem: NDArray[np.int32]) -> Floats:
        """The log-odds for pairs of a row and a problem, with the bytes they have for any other pairs."""

    @abstractmethod
    def models(self) -> list[Any]:
        """The classifiers one by one; of a problem that had nothing to learn from, its log-odds."""

    @abstractmethod
    def z_graph(self, inputs: "Inputs") -> "Tensor":
        """The log-odds of all problems in an ONNX graph, in float64."""

    @abstractmethod
    def input_encoder(self) -> Encoder | None:
        """What reads their tables, if it is known."""

    def blocks(self, table: Any, width: int) -> Iterator[tuple[slice, Any]]:
        """The table in as many parts as it takes if each row needs so many numbers."""
        rows = self.size(table)
        step = max(1, _BYTES // (8 * max(1, width)))
        if step >= rows:
            yield slice(0, rows), table
            return
        for first in range(0, rows, step):
            part = slice(first, min(first + step, rows))
            yield part, self.part(table, part)


class OneOfStack(LogisticRegression):
    """One of the logistic regressions of a stack: its coefficients are views of the stack's, and what is assigned to
    them is written there. A fit of its own, a copy and a file are an ordinary LogisticRegression's.
    """

    _linked = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._linked and name in ("coef_", "intercept_"):
            given = {"coef_": self.coef_, "intercept_": self.intercept_, name: value}
            weights, biases = as_parameters(given["coef_"], given["intercept_"], self._encoder, 1)
            self.intercept_[...] = biases
            self.coef_[...] = weights.T[:, self._encoder.order()]
            return
        super().__setattr__(name, value)

    def fit(self, X: object, y: object, sample_weight: object = None, *, offset: object = None) -> Self:
        """Fit it by itself: it no longer belongs to the stack."""
        self.__dict__.pop("_linked", None)
        return super().fit(X, y, sample_weight, offset=offset)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file by itself."""
        copy(self).save(path)

    def __reduce__(self) -> Any:
        kept = {name: value for name, value in self.__dict__.items() if name != "_linked"}
        return _ordinary, (kept,)


def _ordinary(state: dict[str, Any]) -> LogisticRegression:
    model = LogisticRegression.__new__(LogisticRegression)
    model.__setstate__(state)
    return model


@saved
@dataclass
class StackedLogistic(Learners):
    """Logistic regressions over the same columns: one network with an output a problem."""

    estimator: LogisticRegression
    encoder: Encoder
    biases: Floats
    iterations: NDArray[np.intp]
    coef: Floats = field(default_factory=lambda: np.empty((0, 0)))  # problems x coefficients, in the table's order
    weights: Floats | None = None  # in older files, in the place of `coef`: columns x problems, in the core's order

    def __post_init__(self) -> None:
        if self.weights is not None:
            self.coef, self.weights = self.weights[self.encoder.order()].T, None

    def _check_file(self) -> None:
        need(self.coef.shape == (*self.biases.shape, self.encoder.count), self, "coef")
        need(self.biases.ndim == 1 and self.iterations.shape == self.biases.shape, self, "biases")

    def input_encoder(self) -> Encoder:
        """What reads their tables."""
        return self.encoder

    @property
    def count(self) -> int:  # type: ignore[override]
        """How many there are."""
        return len(self.biases)

    @staticmethod
    def fitted(estimator: LogisticRegression, rows: BinaryProblems) -> "StackedLogistic":
        """Fit them, together where that pays."""
        model = LogisticRegression(**estimator.get_params(deep=False))
        model._check_params()
        columns = LinearModel._learn(model, rows.X, rows.sides.group)
        lacking, constant = rows.lopsided()
        problems = rows.sides.problems
        _announce(8 * problems * (columns.count + 1), problems, columns.count)
        weights, biases = np.zeros((columns.count, problems)), constant.copy()
        iterations, left = np.zeros(problems, np.intp), ~lacking
        dense = _as_dense(columns) if _exact_together(model, columns, rows, int(left.sum())) else None
        if dense is not None:
            chosen = np.flatnonzero(left)
            sides = rows.sides.only(chosen)
            together = Together(
                dense,
                sides,
                ridge=model._penalty()[0] * model._column_factors(),
                weights=rows.weights,
                by_answer=_answer_weights(model, sides, rows.weights),
                intercept=model.fit_intercept,
                threads=usable_threads(model.threads),
            )
            found = together.minimise(max_iter=model.max_iter)
            weights[:, chosen], biases[chosen], iterations[chosen] = found[:3]
            left[chosen] = ~found[3]
        for problem in np.flatnonzero(left):
            some, t = rows.sides.rows(int(problem))
            model.classes_ = np.arange(2)
            w = None if rows.weights is None else rows.weights[some]
            part = columns if len(some) == columns.rows else columns[some]
            of_one, bias = model._minimise(model._problem(part, t, w, None, None))
            weights[:, problem], biases[problem] = of_one[:, 0], bias[0]
            iterations[problem] = model.n_iter_
        return StackedLogistic(estimator, model._encoder, biases, iterations, model._coefficients(weights))

    def read(self, X: Any) -> Columns:
        """The table as columns."""
        return self.encoder.encode(X)

    def part(self, table: Columns, rows: Any) -> Columns:
        """Some of its rows."""
        return table[rows]

    def size(self, table: Columns) -> int:
        """Its number of rows."""
        return table.rows

    @property
    def _threads(self) -> int:
        return usable_threads(self.estimator.threads)

    def answers(self, table: Columns, problems: slice = slice(None)) -> tuple[Floats, Floats]:
        """Log-odds, which are the scores."""
        z = linear_output(table, *self._parameters(problems), self._threads)
        return z, z

    def _parameters(self, problems: slice = slice(None)) -> tuple[Floats, Floats]:
        """Weights in the core's order of columns, x problems, and biases."""
        coef, biases = self.coef[problems], self.biases[problems]
        return as_parameters(coef, biases, self.encoder, len(biases))

    def some(self, table: Columns, row: NDArray[np.int64], problem: NDArray[np.int32]) -> Floats:
        """The log-odds for pairs of a row and a problem."""
        z = np.empty(len(row))
        theta = np.empty((self.count, table.count + 1))
        theta[:, self.encoder.order()], theta[:, -1] = self.coef, self.biases
        core.Binaries(table.to_core(), np.zeros(table.dense), self._threads).dots(theta, row, problem, z)
        return z

    def models(self) -> list[LogisticRegression]:
        """A LogisticRegression of each: what is done to its `coef_` and `intercept_` is done to these."""
        return [self._model(problem) for problem in range(self.count)]

    def _model(self, problem: int) -> LogisticRegression:
        model = OneOfStack(**self.estimator.get_params(deep=False))
        model._encoder, model.n_features_in_ = self.encoder, self.encoder.width
        if self.encoder.names is not None:
            model.feature_names_in_ = np.array(self.encoder.names, object)
        mine = slice(problem, problem + 1)
        model.coef_, model.intercept_, model.classes_ = self.coef[mine], self.biases[mine], np.arange(2)
        model.n_iter_ = np.array([self.iterations[problem]], np.int32)
        model._linked = True
        return model

    def z_graph(self, inputs: "Inputs") -> "Tensor":
        """The log-odds in an ONNX graph."""
        from linnet.export.onnx.columns import features
        from linnet.export.onnx.network import linear

        return linear(inputs.graph, features(inputs, self.encoder, "float64"), *self._parameters())


def _announce(size: int, problems: int, columns: int) -> None:
    """Say so if the model alone takes gigabytes."""
    if size >= _LARGE:
        warn(
            f"{problems} classifiers of {columns} columns take {size / 1e9:.1f} GB of memory: OneVsRestClassifier and "
            "LabelTreeClassifier have no more of them than there are classes",
            DataWarning,
        )


def _exact_together(model: LogisticRegression, columns: Columns, rows: BinaryProblems, problems: int) -> bool:
    """Whether Newton's method for all problems at once finds what separate fits find, and sooner."""
    (strength, ratio), wanted = model._penalty(), model.class_weight
    if ratio > 0 or not (strength * model._column_factors() > 0).all() or model.reference is not None:
        return False
    if not (wanted is None or (isinstance(wanted, str) and wanted == "balanced")) or not problems:
        return False
    if model.solver not in ("auto", "newton-cholesky"):
        return False
    if problems < _FEW_PROBLEMS and columns.rows > _FEW_ROWS:
        return False
    seen = rows.sides.totals(np.diff(rows.sides.first).astype(np.float64)).sum() / rows.sides.problems
    return newton_pays(int(seen), columns.count) and columns.rows * columns.count <= _MOST_CELLS


def _answer_weights(model: LogisticRegression, sides: Sides, weights: Floats | None) -> Floats | None:
    """Weights of no and yes in each problem that make both weigh the same, if that is wanted."""
    if model.class_weight is None:
        return None
    return balanced(sides.totals(np.bincount(sides.group, weights, len(sides.starts) - 1).astype(np.float64)))


def _as_dense(columns: Columns) -> Columns:
    """The same columns with levels and sparse ones as tables, in the same order."""
    if columns.dense == columns.count:
        return columns
    tables = list(columns.tables)
    if columns.sparse is not None:
        only = Columns(columns.rows, sparse=columns.sparse, sparse_columns=columns.sparse_columns)
        tables.append(only.entries().toarray())
    for codes, levels in zip(columns.codes, columns.levels, strict=True):
        tables.append((codes[:, None] == np.arange(levels)).view(np.uint8))
    return Columns(columns.rows, tuple(tables))


@saved
@dataclass
class SeparateLearners(Learners):
    """Classifiers of any kind, fitted one by one."""

    each: list[Any]  # a fitted classifier, or log-odds where there was nothing to learn from
    reliable: list[Any]  # of classifiers without scores: log-odds of yes where they say no and where they say yes
    usual: Floats  # log-odds by the rows counted

    def _check_file(self) -> None:
        need(len(self.each) == len(self.reliable) and self.usual.shape == (len(self.each),), self, "each")
        need(all(isinstance(one, float | Classifier) for one in self.each), self, "each")
        need(all(fits(one, list[float] | None) for one in self.reliable), self, "reliable")

    def input_encoder(self) -> Encoder | None:
        """What reads the tables of the first one."""
        return next((one._input_encoder() for one in self.each if isinstance(one, Estimator)), None)

    @property
    def count(self) -> int:  # type: ignore[override]
        """How many there are."""
        return len(self.each)

    @staticmethod
    def fitted(estimator: Any, rows: BinaryProblems) -> "SeparateLearners":
        """Fit clones of the estimator, `n_jobs` at a time."""
        from sklearn.utils.parallel import Parallel, delayed

        lacking, constant = rows.lopsided()
        jobs = (delayed(_train)(estimator, rows, int(problem)) for problem in np.flatnonzero(~lacking))
        done = Parallel(n_jobs=rows.n_jobs, verbose=rows.verbose)(jobs)
        each: list[Any] = [float(z) for z in constant]
        reliable: list[Any] = [None] * len(each)
        for problem, (model, shares) in zip(np.flatnonzero(~lacking), done, strict=True):
            each[problem], reliable[problem] = model, shares
        return SeparateLearners(each, reliable, constant)

    def read(self, X: Any) -> Any:
        """The table as it is."""
        return X

    def part(self, table: Any, rows: Any) -> Any:
        """Some of its rows."""
        from sklearn.utils import _safe_indexing

        return _safe_indexing(table, np.arange(self.size(table))[rows])

    def size(self, table: Any) -> int:
        """Its number of rows."""
        return int(table.shape[0] if hasattr(table, "shape") else len(table))

    def answers(self, table: Any, problems: slice = slice(None)) -> tuple[Floats, Floats]:
        """Log-odds and scores."""
        chosen = range(len(self.each))[problems]
        shape = (self.size(table), len(chosen))
        log_odds, scores = np.empty(shape), np.empty(shape)
        for place, problem in enumerate(chosen):
            log_odds[:, place], scores[:, place] = self._answer(table, problem)
        return log_odds, scores

    def some(self, table: Any, row: NDArray[np.int64], problem: NDArray[np.int32]) -> Floats:
        """The log-odds for pairs of a row and a problem."""
        z = np.empty(len(row))
        order = np.argsort(problem, kind="stable")
        ends = np.flatnonzero(np.diff(problem[order], append=-1)) + 1
        for first, last in zip(np.append(0, ends[:-1]), ends, strict=True):
            mine = order[first:last]
            z[mine] = self._answer(self.part(table, row[mine]), int(problem[mine[0]]))[0]
        return z

    def models(self) -> list[Any]:
        """The classifiers."""
        return list(self.each)

    def z_graph(self, inputs: "Inputs") -> "Tensor":
        """The log-odds of linnet's own classifiers in an ONNX graph: their z, or by their probabilities."""
        from linnet.export.onnx.file import answers_of
        from linnet.export.onnx.network import log_odds

        graph, z = inputs.graph, {}
        models = {problem: model for problem, model in enumerate(self.each) if not isinstance(model, float)}
        if not models:
            raise ConfigError("to_onnx: no problem had anything to learn from")
        inputs.types_differ = True  # networks compute in float32, or in float64 if their rows are few
        for problem, model in models.items():
            answers = answers_of(model, inputs)
            one = answers["scores"] if "scores" in answers else log_odds(graph, answers["probabilities"], *_SURE)
            z[problem] = graph.cast(one, "float64")
        for problem in set(range(self.count)) - models.keys():
            z[problem] = graph.repeat(np.array([self.each[problem]]))
        return graph.join([z[problem] for problem in range(self.count)])

    def _answer(self, table: Any, problem: int) -> tuple[Any, Any]:
        model = self.each[problem]
        if isinstance(model, float):
            return model, model
        score, usual = None, self.usual[problem]
        if hasattr(model, "decision_function"):
            score = _finite(np.asarray(model.decision_function(table), np.float64).ravel(), usual)
        if hasattr(model, "predict_proba"):
            p = np.asarray(model.predict_proba(table), np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_odds = np.clip(_finite(np.log(p[:, 1]) - np.log(p[:, 0]), usual), *_SURE)
            return log_odds, _finite(2 * p[:, 1] - 1, np.tanh(usual / 2)) if score is None else score
        if score is not None:
            return score, score
        said = np.asarray(model.predict(table)) == 1
        return np.where(said, self.reliable[problem][1], self.reliable[problem][0]), np.where(said, 1.0, -1.0)


def _finite(answers: Floats, usual: float) -> Floats:
    """The same, with the usual answer in place of what is not a number, and none infinite."""
    return np.clip(np.where(np.isnan(answers), usual, answers), -_HIGHEST, _HIGHEST)


def _train(estimator: Any, rows: BinaryProblems, problem: int) -> tuple[Any, Any]:
    """A fitted clone and, if it can only say yes or no, how far that can be trusted."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import _check_method_params

    some, t = rows.sides.rows(problem)
    whole = len(some) == len(rows.sides.group)
    X = rows.X if whole else _safe_indexing(rows.X, some)
    params = _check_method_params(rows.X, rows.params, None if whole else some)
    model = clone(estimator)
    model.fit(X, t, **params)
    if not np.array_equal(getattr(model, "classes_", None), [0, 1]):  # type: ignore[arg-type]
        raise ConfigError(f"{type(model).__name__} is no classifier: its classes_ are not those it was fitted to")
    if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
        return model, None
    said = np.asarray(model.predict(X)) == 1
    return model, [float(np.log1p(t[flags].sum()) - np.log1p((1 - t[flags]).sum())) for flags in (~said, said)]


def train(estimator: Any, rows: BinaryProblems) -> Learners:
    """Fit a binary classifier for every problem."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise ConfigError(f"estimator must be a classifier such as linnet.LogisticRegression(), got {estimator!r}")
    if type(estimator) is LogisticRegression and not rows.params.keys() - {"sample_weight"}:
        return StackedLogistic.fitted(estimator, rows)
    return SeparateLearners.fitted(estimator, rows)
