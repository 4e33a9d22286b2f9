"""Label trees: a binary tree of classifiers, which classifies a row by about log K decisions."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.arrays import Table
from linnet.checks import check_name, check_whole
from linnet.errors import ConfigError
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.multiclass import trees
from linnet.multiclass.base import Indices, Reduction
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
    """Label tree: K - 1 binary classifiers in a tree whose leaves are the K classes.

    The classifier of a node is trained on the rows of the classes below it and sends a row left or right. P(k) is the
    product of the probabilities on the path to leaf k. The most probable class is found by best-first search, which
    skips subtrees that cannot contain it (`linnet.multiclass.search`).

    A row of weight 2 counts as two equal rows, except for `tree="confusion"`: the tree is learned from two halves of
    the rows, and a row of weight 2 is in one of them where two rows are in both. Rows of weight 0 do not count.

    Parameters
    ----------
    estimator : classifier
        The binary classifier, cloned for each node. It needs `predict_proba`, `decision_function` or `predict`.
    tree : {"balanced", "huffman", "confusion"} or nested pairs of classes, default="balanced"
        The tree: "balanced" halves the sorted classes; "huffman" puts frequent classes near the root; "confusion" keeps
        classes that are often confused together longest, by spectral splits of the confusions of one-vs-rest
        classifiers that are fitted to one half of the rows and predict the other. A tree of your own is given as pairs
        of pairs, such as `(("cat", "dog"), ("car", "bus"))`.
    n_jobs : int, default=None
        The number of classifiers fitted in parallel, -1 for one per processor. Not used by linnet's
        LogisticRegression, whose problems are solved jointly.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes.
    children_ : array of shape (classes - 1, 2)
        The left and right child of each node, the root first; -1 - k stands for class k.
    estimators_ : list of classifiers
        The fitted classifiers, one per node.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of shape (columns,)
        The names of the columns, if X has names.
    """

    children_: NDArray[np.int32]

    def __init__(self, estimator: Any, *, tree: Any = "balanced", n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.tree = tree
        self.n_jobs = n_jobs

    def _check_learners(self, classes: int, learners: int) -> None:
        """Refuse nodes that do not form a tree: native code walks down from the first one."""
        children, nodes = self.children_, classes - 1
        need(fits(children, NDArray[np.int32]) and children.shape == (nodes, 2), self, "children_")
        need(sorted(children.ravel().tolist()) == [*range(-classes, 0), *range(1, nodes)], self, "children_")
        need((children > np.arange(nodes)[:, None]).sum() == max(0, nodes - 1), self, "children_")
        need(learners == nodes, self, "learners_")

    def _code_matrix(self, data: TrainingSet, labels: NDArray[np.int32]) -> CodeMatrix:
        count = len(self.classes_)
        self.children_, leaves = trees.as_arrays(self._tree(data, labels), count)
        position = np.argsort(leaves).astype(np.int32)  # rows of neighbouring leaves become neighbours
        return CodeMatrix.from_dense(trees.node_codes(self.children_, count)[leaves], position[labels])

    def _codes_by_class(self) -> NDArray[np.int8]:
        return trees.node_codes(self.children_, len(self.classes_))

    def _tree(self, data: TrainingSet, labels: NDArray[np.int32]) -> trees.Tree:
        count = len(self.classes_)
        if not isinstance(self.tree, str):
            return trees.from_user(self.tree, self.classes_.tolist())
        check_name(self.tree, "tree", TREES)
        if count <= 2 or self.tree == "balanced":
            return trees.balanced(np.arange(count))
        if self.tree == "huffman":
            return trees.huffman(np.bincount(labels, data.weights, count).astype(np.float64))
        return trees.spectral(self._confusion(data, labels))

    def _confusion(self, data: TrainingSet, labels: NDArray[np.int32]) -> Floats:
        """Symmetric confusions: the mean probability of class j in rows of class i, plus that of i in rows of j.

        The probabilities are those of one-vs-rest classifiers fitted to one half of the rows, for the other half.
        """
        from sklearn.utils import _safe_indexing
        from sklearn.utils.validation import _check_method_params

        if data.params.keys() - {"sample_weight"}:
            raise ConfigError(
                f"tree='confusion' supports no fit parameters other than sample_weight, got {next(iter(data.params))}"
            )
        count, weights = len(self.classes_), np.ones(len(labels)) if data.weights is None else data.weights
        weighted = np.flatnonzero(weights > 0)
        order = weighted[np.argsort(labels[weighted], kind="stable")]
        rank = np.arange(len(order)) - np.searchsorted(labels[order], labels[order])  # within the class
        train, test = np.sort(order[rank % 2 == 0]), np.sort(order[rank % 2 == 1])
        if not len(test):
            return np.ones((count, count))
        params = _check_method_params(data.X, data.params, train)
        model = OneVsRestClassifier(self.estimator, n_jobs=self.n_jobs)
        model.fit(_safe_indexing(data.X, train), labels[train], **params)
        p = model.predict_proba(_safe_indexing(data.X, test))
        p *= weights[test, None]
        confusion = np.zeros((count, count))
        present = np.flatnonzero(np.bincount(labels[train], minlength=count))
        confusion[:, present] = [p[labels[test] == k].sum(axis=0) for k in range(count)]
        total = np.bincount(labels[test], weights[test], count)
        confusion /= np.where(total > 0, total, 1.0)[:, None]
        return np.asarray(confusion + confusion.T)

    def predict(self, X: Table) -> NDArray[Any]:
        """Return the predicted class of each row: the most probable one.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows,)
            The predicted classes.
        """
        return self.top_k(X, 1)[0][:, 0]

    def top_k(self, X: Table, k: int) -> tuple[NDArray[Any], Floats]:
        """Return the k most probable classes of each row, and their probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.
        k : int
            The number of classes per row; all classes if there are fewer.

        Returns
        -------
        classes : array of shape (rows, k)
            The classes, the most probable one first; equally probable ones are in the order of `classes_`.
        probabilities : array of shape (rows, k)
            The probabilities of these classes.
        """
        table = self._read(X)
        k = min(check_whole(k, "k", at_least=1), len(self.classes_))
        rows = self.learners_.size(table)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_[None], rows, axis=0), np.ones((rows, 1))
        leaves, p, _ = best_leaves(
            self.children_, lambda row, node: self.learners_.log_odds_of_pairs(table, row, node), rows, k
        )
        return np.asarray(self.classes_[leaves]), p

    def predict_proba(self, X: Table) -> Floats:
        """Return class probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows, classes)
            The probability of each class, in the order of `classes_`; rows sum to 1.
        """
        table = self._read(X)
        count, nodes = self.learners_.size(table), len(self.children_)
        p = np.ones((count, len(self.classes_)))
        for rows, block in self.learners_.blocks(table, 4 * nodes) if nodes else ():
            size = rows.stop - rows.start
            row, node = np.repeat(np.arange(size), nodes), np.tile(np.arange(nodes, dtype=np.int32), size)
            p[rows] = self._leaf_probabilities(self.learners_.log_odds_of_pairs(block, row, node).reshape(size, nodes))
        return p

    def _leaf_probabilities(self, z: Floats) -> Floats:
        """Return the product of the probabilities on the path to each leaf, from the log-odds of going right."""
        p = np.ones((len(z), len(self.classes_)))
        reached = np.ones_like(z)
        for node, (left, right) in enumerate(self.children_):
            for child, sign in ((left, -1), (right, 1)):
                p_child = reached[:, node] * scipy.special.expit(sign * z[:, node])
                if child >= 0:
                    reached[:, child] = p_child
                else:
                    p[:, -1 - child] = p_child
        return p

    def _probabilities(self, log_odds: Floats, scores: Floats) -> Floats:
        return self._leaf_probabilities(log_odds)

    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Indices:
        return np.asarray(self._leaf_probabilities(log_odds).argmax(axis=1))

    def _graph_outputs(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        from linnet.export.onnx import network as nodes
        from linnet.export.onnx.decisions import log_yes

        codes = trees.node_codes(self.children_, len(self.classes_)).T.astype(np.float64)
        right = graph.add("MatMul", log_yes(graph, z), np.maximum(codes, 0))
        left = graph.add("MatMul", log_yes(graph, graph.add("Neg", z)), np.maximum(-codes, 0))
        p = graph.add("Exp", graph.add("Add", right, left))
        return p, nodes.largest(graph, p)
