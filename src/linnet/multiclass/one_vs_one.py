"""One-vs-one: a classifier for every two classes, trained on their rows alone."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._native import core
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.multiclass.base import Places, Reduction
from linnet.multiclass.learners import TrainingSet
from linnet.registry import need, saved

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor

_TOGETHER = 4096  # pairs that vote at a time
_LEAST = 1e-7  # of the probability of one class against another, as in LIBSVM: keeps the equations solvable


def couple(pairs: Floats) -> Floats:
    """Class probabilities p from r_ij, the probability of class i where the class is i or j (rows x K x K).

    Wu, Lin and Weng's second method: the p that minimises Σ_{i≠j} (r_ji p_i - r_ij p_j)² with Σ p = 1. With
    Q_ii = Σ_{j≠i} r_ji² and Q_ij = -r_ji r_ij it solves Q p = c 1 for some c, and as Q + 11' is positive definite, p is
    the solution of (Q + 11') p = 1 over its sum.
    """
    count = pairs.shape[1]
    r = np.clip(pairs, _LEAST, 1 - _LEAST)
    every = np.arange(count)
    r[:, every, every] = 0
    turned = np.swapaxes(r, 1, 2)
    q = 1 - turned * r
    q[:, every, every] += (turned**2).sum(axis=2)
    p = np.ones((len(r), count))
    core.solve_each(np.ascontiguousarray(q), p)
    np.maximum(p, 0.0, out=p)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


@saved
class OneVsOneClassifier(Reduction):
    """K (K - 1) / 2 classifiers, one for every two classes; the class with most votes is said.

    Classes with as many votes are told apart by the sum of the scores for them. Probabilities are those of pairwise
    coupling (`couple`); where they would have another class ahead of the one with most votes, the two share what they
    have together: see `linnet.multiclass.decisions`.
    """

    def __init__(self, estimator: Any, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def _check_learners(self, classes: int, learners: int) -> None:
        need(learners == classes * (classes - 1) // 2, self, "learners_")

    def _code_matrix(self, data: TrainingSet, labels: NDArray[np.int32]) -> CodeMatrix:
        return CodeMatrix.from_pairs(*self._pairs, len(self.classes_), labels)

    @property
    def _pairs(self) -> tuple[Places, Places]:
        return np.triu_indices(len(self.classes_), 1)

    def decision_function(self, X: Any) -> Floats:
        """Return votes plus less than half a vote for the scores, one number a class; the score alone for two."""
        table = self._read(X)
        if len(self.classes_) == 2:
            return np.ascontiguousarray(self.learners_.answers(table)[1][:, 0])
        return self._votes_on(table)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row: the one with most votes, and with them the most probable one."""
        if len(getattr(self, "classes_", ())) <= 2:
            return super().predict(X)
        return np.asarray(self.classes_[self._votes_on(self._read(X)).argmax(axis=1)])

    def _votes_on(self, table: Any) -> Floats:
        """The votes of all rows, of some rows and some pairs at a time."""
        out = np.empty((self.learners_.size(table), len(self.classes_)))
        for part, some in self.learners_.blocks(table, 4 * min(self.learners_.count, _TOGETHER)):
            out[part] = self._votes(part.stop - part.start, partial(self._scores, some))
        return out

    def _scores(self, table: Any, pairs: slice) -> Floats:
        return self.learners_.answers(table, pairs)[1]

    def _votes(self, rows: int, scores: Callable[[slice], Floats]) -> Floats:
        """Votes of the classes, and the sums of scores squeezed into less than half a vote."""
        first, second = self._pairs
        votes = np.tile(np.bincount(first, minlength=len(self.classes_)) * 1.0, (rows, 1))
        sums = np.zeros_like(votes)
        for start in range(0, len(first), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            says, sides = scores(some), self._for_and_against(first[some], second[some])
            sums += says @ sides
            votes += (says > 0) @ sides
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))

    def _for_and_against(self, first: Places, second: Places) -> Any:
        """Pairs x classes: a yes is for the second class of the pair and against the first."""
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

    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Places:
        if len(self.classes_) == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        return np.asarray(self._votes(len(scores), lambda pairs: scores[:, pairs]).argmax(axis=1))

    def _graph_answers(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        from linnet.export.onnx import network as part
        from linnet.export.onnx.decisions import coupled

        first, second = self._pairs
        if len(self.classes_) == 2:
            return part.yes_and_no(graph, z), part.if_yes(graph, part.above(graph, z, 0.0, reached=False))
        matrix = self._for_and_against(first, second).toarray()
        said = graph.cast(part.above(graph, z, 0.0, reached=False), "float64")
        votes = graph.add("Add", graph.add("MatMul", said, matrix), np.bincount(first, minlength=len(matrix.T)) * 1.0)
        sums = graph.add("MatMul", z, matrix)
        squeezed = graph.add("Div", sums, graph.add("Mul", graph.add("Add", graph.add("Abs", sums), 1.0), 3.0))
        p = coupled(graph, z, first, second, len(self.classes_), _LEAST)
        return p, part.largest(graph, graph.add("Add", votes, squeezed))
