"""Label trees: classes are told apart group by group, on a way of about log K questions."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.checks import check_whole
from linnet.errors import ConfigError, unknown_name
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.multiclass import trees
from linnet.multiclass.base import Places, Reduction
from linnet.multiclass.learners import TrainingSet
from linnet.multiclass.one_vs_rest import OneVsRestClassifier
from linnet.multiclass.search import best_leaves
from linnet.registry import need, saved
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor

TREES = ("balanced", "huffman", "confusion")


@saved
class LabelTreeClassifier(Reduction):
    """K - 1 classifiers in a binary tree, each on the rows of the classes below it: does the row go left or right?

    P(k) is the product of the probabilities on the way to leaf k. The most probable class is found best first, without
    a look at subtrees that cannot hold it: see `linnet.multiclass.search`.

    `tree`: "balanced" (halves of the sorted classes), "huffman" (frequent classes near the root), "confusion" (classes
    that one-vs-rest classifiers confuse stay together longest: fitted to half of the rows, asked about the other half,
    parted by spectral splits), or pairs of pairs of classes such as (("cat", "dog"), ("car", "bus")).

    Row weights count as repeated rows do, but for the tree of "confusion": it is learned from halves, in which a row of
    weight 2 is on one side and two rows are on both. A row of weight 0 is as one that is not there.
    """

    children_: NDArray[np.int32]  # nodes x (left, right), the root first; -1 - k: class k

    def __init__(self, estimator: Any, *, tree: Any = "balanced", n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.tree = tree
        self.n_jobs = n_jobs

    def _check_learners(self, classes: int, learners: int) -> None:
        """Its nodes must be a tree: native code walks down from the first one."""
        children, nodes = self.children_, classes - 1
        need(fits(children, NDArray[np.int32]) and children.shape == (nodes, 2), self, "children_")
        need(sorted(children.ravel().tolist()) == [*range(-classes, 0), *range(1, nodes)], self, "children_")
        need((children > np.arange(nodes)[:, None]).sum() == max(0, nodes - 1), self, "children_")
        need(learners == nodes, self, "learners_")

    def _code_matrix(self, data: TrainingSet, labels: NDArray[np.int32]) -> CodeMatrix:
        count = len(self.classes_)
        self.children_, leaves = trees.as_arrays(self._tree(data, labels), count)
        place = np.argsort(leaves).astype(np.int32)  # rows of neighbouring leaves are neighbours
        return CodeMatrix.from_dense(trees.node_codes(self.children_, count)[leaves], place[labels])

    def _tree(self, data: TrainingSet, labels: NDArray[np.int32]) -> trees.Tree:
        count = len(self.classes_)
        if not isinstance(self.tree, str):
            return trees.given(self.tree, self.classes_.tolist())
        if self.tree not in TREES:
            raise unknown_name("tree", self.tree, TREES)
        if count <= 2 or self.tree == "balanced":
            return trees.balanced(np.arange(count))
        if self.tree == "huffman":
            return trees.huffman(np.bincount(labels, data.weights, count).astype(np.float64))
        return trees.spectral(self._confusion(data, labels))

    def _confusion(self, data: TrainingSet, labels: NDArray[np.int32]) -> Floats:
        """How probable one-vs-rest classifiers find one class where the other is right, either way."""
        from sklearn.utils import _safe_indexing
        from sklearn.utils.validation import _check_method_params

        if data.params.keys() - {"sample_weight"}:
            raise ConfigError(f"tree='confusion' takes no fit parameters such as {next(iter(data.params))}")
        count, weights = len(self.classes_), np.ones(len(labels)) if data.weights is None else data.weights
        there = np.flatnonzero(weights > 0)
        order = there[np.argsort(labels[there], kind="stable")]
        nth = np.arange(len(order)) - np.searchsorted(labels[order], labels[order])  # of its class
        learn, ask = np.sort(order[nth % 2 == 0]), np.sort(order[nth % 2 == 1])
        if not len(ask):
            return np.ones((count, count))
        params = _check_method_params(data.X, data.params, learn)
        model = OneVsRestClassifier(self.estimator, n_jobs=self.n_jobs)
        model.fit(_safe_indexing(data.X, learn), labels[learn], **params)
        p = model.predict_proba(_safe_indexing(data.X, ask))
        p *= weights[ask, None]
        confusion = np.zeros((count, count))
        known = np.flatnonzero(np.bincount(labels[learn], minlength=count))
        confusion[:, known] = [p[labels[ask] == k].sum(axis=0) for k in range(count)]
        total = np.bincount(labels[ask], weights[ask], count)
        confusion /= np.where(total > 0, total, 1.0)[:, None]
        return np.asarray(confusion + confusion.T)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        return self.top_k(X, 1)[0][:, 0]

    def top_k(self, X: Any, k: int) -> tuple[NDArray[Any], Floats]:
        """Return the k most probable classes of each row, the most probable one first, and their probabilities."""
        table = self._read(X)
        k = min(check_whole(k, "k", at_least=1), len(self.classes_))
        rows = self.learners_.size(table)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_[None], rows, axis=0), np.ones((rows, 1))
        found, p, _ = best_leaves(self.children_, lambda row, node: self.learners_.some(table, row, node), rows, k)
        return np.asarray(self.classes_[found]), p

    def predict_proba(self, X: Any) -> Floats:
        """Return every class' probability."""
        table = self._read(X)
        rows, nodes = self.learners_.size(table), len(self.children_)
        p = np.ones((rows, len(self.classes_)))
        for part, some in self.learners_.blocks(table, 4 * nodes) if nodes else ():
            size = part.stop - part.start
            row, node = np.repeat(np.arange(size), nodes), np.tile(np.arange(nodes, dtype=np.int32), size)
            p[part] = self._products(self.learners_.some(some, row, node).reshape(size, nodes))
        return p

    def _products(self, z: Floats) -> Floats:
        """Products of probabilities on the way to each leaf, from the log-odds of right."""
        p = np.ones((len(z), len(self.classes_)))
        reached = np.ones_like(z)
        for node, (left, right) in enumerate(self.children_):
            for child, sign in ((left, -1), (right, 1)):
                there = reached[:, node] * scipy.special.expit(sign * z[:, node])
                if child >= 0:
                    reached[:, child] = there
                else:
                    p[:, -1 - child] = there
        return p

    def _probabilities(self, log_odds: Floats, scores: Floats) -> Floats:
        return self._products(log_odds)

    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Places:
        return np.asarray(self._products(log_odds).argmax(axis=1))

    def _graph_answers(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        from linnet.export.onnx import network as part
        from linnet.export.onnx.decisions import log_yes

        codes = trees.node_codes(self.children_, len(self.classes_)).T.astype(np.float64)
        right = graph.add("MatMul", log_yes(graph, z), np.maximum(codes, 0))
        left = graph.add("MatMul", log_yes(graph, graph.add("Neg", z)), np.maximum(-codes, 0))
        p = graph.add("Exp", graph.add("Add", right, left))
        return p, part.largest(graph, p)
