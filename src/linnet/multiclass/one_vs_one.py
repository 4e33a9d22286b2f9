"""One-vs-one: one classifier for each pair of classes, trained on the rows of these two classes only."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._native import core
from linnet._sklearn import check_fitted
from linnet.arrays import Table
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.multiclass.base import Indices, Reduction
from linnet.multiclass.learners import TrainingSet
from linnet.registry import need, saved

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor

_PAIRS_PER_BLOCK = 4096
_MIN_PAIR_PROBABILITY = 1e-7  # of one class against another, as in LIBSVM: keeps the equations solvable


def couple(pairs: Floats) -> Floats:
    """Return class probabilities from the probabilities of pairs of classes, by pairwise coupling.

    The second method of Wu, Lin and Weng: p minimises Σ_{i≠j} (r_ji p_i - r_ij p_j)² subject to Σ p = 1. With
    Q_ii = Σ_{j≠i} r_ji² and Q_ij = -r_ji r_ij it solves Q p = c 1 for some c. As Q + 11' is positive definite, p is the
    solution of (Q + 11') p = 1, divided by its sum.

    Parameters
    ----------
    pairs : array of shape (rows, K, K)
        r_ij, the probability of class i given that the class is i or j. The diagonal is ignored.

    Returns
    -------
    array of shape (rows, K)
        The probability of each class; rows sum to 1.
    """
    count = pairs.shape[1]
    r = np.clip(pairs, _MIN_PAIR_PROBABILITY, 1 - _MIN_PAIR_PROBABILITY)
    diagonal = np.arange(count)
    r[:, diagonal, diagonal] = 0
    transposed = np.swapaxes(r, 1, 2)
    q = 1 - transposed * r
    q[:, diagonal, diagonal] += (transposed**2).sum(axis=2)
    p = np.ones((len(r), count))
    core.solve_each(np.ascontiguousarray(q), p)
    np.maximum(p, 0.0, out=p)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


@saved
class OneVsOneClassifier(Reduction):
    """One-vs-one reduction: one classifier for each pair of classes, decided by votes.

    K (K - 1) / 2 classifiers, each trained on the rows of its two classes only, cast one vote each. The class with the
    most votes is predicted; ties are broken by the sums of the scores. Probabilities come from pairwise coupling
    (`linnet.multiclass.couple`); where these would rank another class above the one with the most votes, they are
    replaced by the nearest distribution that ranks it first.

    Parameters
    ----------
    estimator : classifier
        The binary classifier, cloned for each pair. It needs `predict_proba`, `decision_function` or `predict`.
    n_jobs : int, default=None
        The number of classifiers fitted in parallel, -1 for one per processor. Not used by linnet's
        LogisticRegression, whose problems are solved jointly.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes.
    estimators_ : list of classifiers
        The fitted classifiers of the pairs (0, 1), (0, 2), ..., (1, 2), ...; the second class of a pair is positive.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of shape (columns,)
        The names of the columns, if X has names.
    """

    def __init__(self, estimator: Any, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def _check_learners(self, classes: int, learners: int) -> None:
        need(learners == classes * (classes - 1) // 2, self, "learners_")

    def _code_matrix(self, data: TrainingSet, labels: NDArray[np.int32]) -> CodeMatrix:
        return CodeMatrix.from_pairs(*self._pairs, len(self.classes_), labels)

    @property
    def pairs_(self) -> list[tuple[Any, Any]]:
        """The two classes of each classifier in `estimators_`; the second one is positive."""
        check_fitted(self)
        first, second = self._pairs
        return list(zip(self.classes_[first].tolist(), self.classes_[second].tolist(), strict=True))

    def _codes_by_class(self) -> NDArray[np.int8]:
        first, second = self._pairs
        return np.asarray(self._pair_signs(first, second).toarray().T, np.int8)

    def _problem_names(self) -> list[str]:
        return [f"{first} or {second}" for first, second in self.pairs_]

    @property
    def _pairs(self) -> tuple[Indices, Indices]:
        return np.triu_indices(len(self.classes_), 1)

    def decision_function(self, X: Table) -> Floats:
        """Return the votes for each class, with ties broken by the scores.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows, classes), or (rows,) for two classes
            Votes plus s / (3 (|s| + 1)), where s is the sum of a class' scores: less than half a vote. For two classes
            the score of the only classifier, above 0 for the second class.
        """
        table = self._read(X)
        if len(self.classes_) == 2:
            return np.ascontiguousarray(self.learners_.outputs(table)[1][:, 0])
        return self._table_votes(table)

    def predict(self, X: Table) -> NDArray[Any]:
        """Return the predicted class of each row: the one with the most votes, ties broken by the scores.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows,)
            The predicted classes.
        """
        if len(getattr(self, "classes_", ())) <= 2:
            return super().predict(X)
        return np.asarray(self.classes_[self._table_votes(self._read(X)).argmax(axis=1)])

    def _table_votes(self, table: Any) -> Floats:
        """Return the votes of all rows, computed by blocks of rows and of pairs to bound the memory."""
        out = np.empty((self.learners_.size(table), len(self.classes_)))
        for rows, block in self.learners_.blocks(table, 4 * min(self.learners_.count, _PAIRS_PER_BLOCK)):
            out[rows] = self._votes(rows.stop - rows.start, partial(self._scores, block))
        return out

    def _scores(self, table: Any, pairs: slice) -> Floats:
        return self.learners_.outputs(table, pairs)[1]

    def _votes(self, rows: int, scores: Callable[[slice], Floats]) -> Floats:
        """Votes of the classes plus the sums of their scores, squashed to less than half a vote."""
        first, second = self._pairs
        votes = np.tile(np.bincount(first, minlength=len(self.classes_)) * 1.0, (rows, 1))
        sums = np.zeros_like(votes)
        for start in range(0, len(first), _PAIRS_PER_BLOCK):
            block = slice(start, start + _PAIRS_PER_BLOCK)
            block_scores, signs = scores(block), self._pair_signs(first[block], second[block])
            sums += block_scores @ signs
            votes += (block_scores > 0) @ signs
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))

    def _pair_signs(self, first: Indices, second: Indices) -> Any:
        """Pairs x classes: +1 for the second class of the pair, which is positive, -1 for the first."""
        pair = np.arange(len(first))
        ones = np.ones(len(first))
        return scipy.sparse.csr_array(
            (np.concatenate([-ones, ones]), (np.concatenate([pair, pair]), np.concatenate([first, second]))),
            shape=(len(first), len(self.classes_)),
        )

    def _width(self) -> int:
        return 8 * len(self.classes_) ** 2

    def _probabilities(self, log_odds: Floats, scores: Floats) -> Floats:
        if len(self.classes_) == 2:
            return np.asarray(scipy.special.expit(np.hstack([-log_odds, log_odds])))
        first, second = self._pairs
        pairs = np.zeros((len(log_odds), len(self.classes_), len(self.classes_)))
        pairs[:, second, first] = scipy.special.expit(log_odds)
        pairs[:, first, second] = scipy.special.expit(-log_odds)
        return couple(pairs)

    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Indices:
        if len(self.classes_) == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        return np.asarray(self._votes(len(scores), lambda pairs: scores[:, pairs]).argmax(axis=1))

    def _graph_outputs(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        from linnet.export.onnx import network as nodes
        from linnet.export.onnx.decisions import coupled

        first, second = self._pairs
        if len(self.classes_) == 2:
            return nodes.yes_and_no(graph, z), nodes.if_yes(graph, nodes.above(graph, z, 0.0, reached=False))
        signs = self._pair_signs(first, second).toarray()
        positive = graph.cast(nodes.above(graph, z, 0.0, reached=False), "float64")
        votes = graph.add("Add", graph.add("MatMul", positive, signs), np.bincount(first, minlength=len(signs.T)) * 1.0)
        sums = graph.add("MatMul", z, signs)
        squashed = graph.add("Div", sums, graph.add("Mul", graph.add("Add", graph.add("Abs", sums), 1.0), 3.0))
        p = coupled(graph, z, first, second, len(self.classes_), _MIN_PAIR_PROBABILITY)
        return p, nodes.largest(graph, graph.add("Add", votes, squashed))
