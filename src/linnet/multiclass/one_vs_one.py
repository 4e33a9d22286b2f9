"""One-vs-one: a classifier for every two classes, trained on their rows alone."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.evaluate.inputs import Floats
from linnet.fit.binaries import Sides
from linnet.multiclass.base import Places, Reduction
from linnet.multiclass.learners import Rows

if TYPE_CHECKING:
    from linnet.persist.onnx_graph import Graph, Tensor

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
    p = np.maximum(np.linalg.solve(q, np.ones((len(r), count, 1)))[:, :, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


class OneVsOneClassifier(Reduction):
    """K (K - 1) / 2 classifiers, one for every two classes; the class with most votes is said.

    Classes with as many votes are told apart by the sum of the scores for them. Probabilities are those of pairwise
    coupling (`couple`); where they would have another class ahead of the one with most votes, the two share what they
    have together: see `linnet.multiclass.decisions`.
    """

    def __init__(self, estimator: Any, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def _sides(self, rows: Rows, labels: NDArray[np.int32]) -> Sides:
        return Sides.of_pairs(*self._pairs, len(self.classes_), labels)

    @property
    def _pairs(self) -> tuple[Places, Places]:
        return np.triu_indices(len(self.classes_), 1)

    def decision_function(self, X: Any) -> Floats:
        """Return votes plus less than half a vote for the scores, one number a class; the score alone for two."""
        table = self._read(X)
        out = np.empty((self.learners_.size(table), len(self.classes_)))
        for part, some in self.learners_.blocks(table, self._width()):
            scores = self.learners_.answers(some)[1]
            out[part] = self._votes(scores) if len(self.classes_) > 2 else np.hstack([-scores, scores])
        return np.ascontiguousarray(out[:, 1]) if len(self.classes_) == 2 else out

    def _votes(self, scores: Floats) -> Floats:
        """Votes of the classes, and the sums of scores squeezed into less than half a vote."""
        first, _ = self._pairs
        sums, votes = scores @ self._for_and_against, (scores > 0) @ self._for_and_against
        votes = votes + np.bincount(first, minlength=len(self.classes_))
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))

    @property
    def _for_and_against(self) -> Any:
        """Pairs x classes: a yes is for the second class of the pair and against the first."""
        first, second = self._pairs
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

    def _winners(self, log_odds: Floats, scores: Floats) -> Places:
        if len(self.classes_) == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        return np.asarray(self._votes(scores).argmax(axis=1))

    def _graph_answers(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        from linnet.persist import onnx_network as part
        from linnet.persist.onnx_decisions import coupled

        first, second = self._pairs
        if len(self.classes_) == 2:
            return part.yes_and_no(graph, z), part.if_yes(graph, part.above(graph, z, 0.0, reached=False))
        matrix = self._for_and_against.toarray()
        said = graph.cast(part.above(graph, z, 0.0, reached=False), "float64")
        votes = graph.add("Add", graph.add("MatMul", said, matrix), np.bincount(first, minlength=len(matrix.T)) * 1.0)
        sums = graph.add("MatMul", z, matrix)
        squeezed = graph.add("Div", sums, graph.add("Mul", graph.add("Add", graph.add("Abs", sums), 1.0), 3.0))
        p = coupled(graph, z, first, second, len(self.classes_), _LEAST)
        return p, part.largest(graph, graph.add("Add", votes, squeezed))
