"""Binary classifiers of any kind, fitted one by one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Classifier, encoder_of
from linnet.data.encoder import Encoder
from linnet.errors import ConfigError
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.many import constant_log_odds
from linnet.multiclass.learners.base import Learners
from linnet.multiclass.learners.training import TrainingSet
from linnet.registry import need, saved
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.graph import Tensor

_LOG_ODDS_RANGE = (-745.0, 37.0)  # log-odds of the float64 next to 0 and to 1
_MAX_SCORE = 1e100  # sums of squares stay finite


@saved
@dataclass
class SeparateLearners(Learners):
    """Binary classifiers of any kind, fitted one by one."""

    each: list[Any]  # per problem: a fitted classifier, or the log-odds if it has rows of one class only
    reliable: list[Any]  # for classifiers without scores: the log-odds of rows predicted as 0, and as 1
    usual: Floats  # per problem: the log-odds of all training rows

    def _check_file(self) -> None:
        need(len(self.each) == len(self.reliable) and self.usual.shape == (len(self.each),), self, "each")
        need(all(isinstance(model, float | Classifier) for model in self.each), self, "each")
        need(all(fits(log_odds, list[float] | None) for log_odds in self.reliable), self, "reliable")

    def input_encoder(self) -> Encoder | None:
        """Return the encoder of the first classifier that has one."""
        return next((encoder_of(model) for model in self.each if not isinstance(model, float)), None)

    @property
    def count(self) -> int:  # type: ignore[override]
        """The number of problems."""
        return len(self.each)

    @staticmethod
    def fitted(estimator: Any, data: TrainingSet) -> "SeparateLearners":
        """Fit clones of the estimator, `n_jobs` at a time."""
        from sklearn.utils.parallel import Parallel, delayed

        solvable = np.flatnonzero((data.codes.side_weights(data.weights) > 0).all(axis=1))
        constant = constant_log_odds(data.codes, data.weights)
        jobs = (delayed(_train)(estimator, data, int(problem)) for problem in solvable)
        max_jobs = max(1, len(solvable))
        n_jobs = data.n_jobs and max(-max_jobs, min(data.n_jobs, max_jobs))
        done = Parallel(n_jobs=n_jobs, verbose=data.verbose)(jobs)
        each: list[Any] = [float(z) for z in constant]
        reliable: list[Any] = [None] * len(each)
        for problem, (model, shares) in zip(solvable, done, strict=True):
            each[problem], reliable[problem] = model, shares
        return SeparateLearners(each, reliable, constant)

    def read(self, X: Any) -> Any:
        """Return the table as it is."""
        return X

    def take(self, table: Any, rows: Any) -> Any:
        """Return the given rows."""
        from sklearn.utils import _safe_indexing

        return _safe_indexing(table, np.arange(self.size(table))[rows])

    def size(self, table: Any) -> int:
        """Return the number of rows."""
        return int(table.shape[0] if hasattr(table, "shape") else len(table))

    def outputs(self, table: Any, problems: slice = slice(None)) -> tuple[Floats, Floats]:
        """Log-odds and scores, rows x problems."""
        chosen = range(len(self.each))[problems]
        shape = (self.size(table), len(chosen))
        log_odds, scores = np.empty(shape), np.empty(shape)
        for column, problem in enumerate(chosen):
            log_odds[:, column], scores[:, column] = self._problem_outputs(table, problem)
        return log_odds, scores

    def log_odds_of_pairs(self, table: Any, row: NDArray[np.int64], problem: NDArray[np.int32]) -> Floats:
        """Return the log-odds for (row, problem) pairs."""
        z = np.empty(len(row))
        order = np.argsort(problem, kind="stable")
        ends = np.flatnonzero(np.diff(problem[order], append=-1)) + 1
        for first, last in zip(np.append(0, ends[:-1]), ends, strict=True):
            pairs = order[first:last]  # of one problem
            z[pairs] = self._problem_outputs(self.take(table, row[pairs]), int(problem[pairs[0]]))[0]
        return z

    def models(self) -> list[Any]:
        """Return the classifiers."""
        return list(self.each)

    def z_graph(self, inputs: "Inputs") -> "Tensor":
        """Return the log-odds of linnet's own classifiers in an ONNX graph: their z, or from their probabilities."""
        from linnet.export.onnx.file import outputs_of
        from linnet.export.onnx.network import log_odds

        graph, z = inputs.graph, {}
        models = {problem: model for problem, model in enumerate(self.each) if not isinstance(model, float)}
        if not models:
            raise ConfigError("to_onnx needs at least one binary problem with rows of both classes, got none")
        inputs.types_differ = True  # networks compute in float32, or in float64 if their rows are few
        for problem, model in models.items():
            outputs = outputs_of(model, inputs)
            score = (
                outputs["scores"]
                if "scores" in outputs
                else log_odds(graph, outputs["probabilities"], *_LOG_ODDS_RANGE)
            )
            z[problem] = graph.cast(score, "float64")
        for problem in set(range(self.count)) - models.keys():
            z[problem] = graph.repeat(np.array([self.each[problem]]))
        return graph.join([z[problem] for problem in range(self.count)])

    def _problem_outputs(self, table: Any, problem: int) -> tuple[Any, Any]:
        """Log-odds and scores of one problem."""
        model = self.each[problem]
        if isinstance(model, float):
            return model, model
        score, usual = None, self.usual[problem]
        if hasattr(model, "decision_function"):
            score = _finite(np.asarray(model.decision_function(table), np.float64).ravel(), usual)
        if hasattr(model, "predict_proba"):
            p = np.asarray(model.predict_proba(table), np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_odds = np.clip(_finite(np.log(p[:, 1]) - np.log(p[:, 0]), usual), *_LOG_ODDS_RANGE)
            return log_odds, _finite(2 * p[:, 1] - 1, np.tanh(usual / 2)) if score is None else score
        if score is not None:
            return score, score
        predicted = np.asarray(model.predict(table)) == 1
        return np.where(predicted, self.reliable[problem][1], self.reliable[problem][0]), np.where(predicted, 1.0, -1.0)


def _finite(scores: Floats, usual: float) -> Floats:
    """Scores with NaN replaced by `usual`, clipped to finite values."""
    return np.clip(np.where(np.isnan(scores), usual, scores), -_MAX_SCORE, _MAX_SCORE)


def _train(estimator: Any, data: TrainingSet, problem: int) -> tuple[Any, Any]:
    """Return a fitted clone and, if it only predicts classes, the log-odds of the training rows by prediction."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import _check_method_params

    rows, t = data.codes.rows(problem)
    has_all = len(rows) == len(data.codes.group)
    X = data.X if has_all else _safe_indexing(data.X, rows)
    params = _check_method_params(data.X, data.params, None if has_all else rows)
    model = clone(estimator)
    model.fit(X, t, **params)
    if not np.array_equal(getattr(model, "classes_", None), [0, 1]):  # type: ignore[arg-type]
        raise ConfigError(
            f"{type(model).__name__} is not a binary classifier: after a fit to 0 and 1 its classes_ are "
            f"{getattr(model, 'classes_', None)!r}"
        )
    if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
        return model, None
    predicted = np.asarray(model.predict(X)) == 1
    return model, [
        float(np.log1p(t[flags].sum()) - np.log1p((1 - t[flags]).sum())) for flags in (~predicted, predicted)
    ]
