"""Output codes: each class has a codeword, and binary classifiers predict its bits."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_name, check_number, check_random, check_whole
from linnet.errors import ConfigError
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.fit.solvers.products import product
from linnet.multiclass import codes as matrices
from linnet.multiclass.base import Indices, Reduction
from linnet.multiclass.decisions import log_sigmoids, softmax_rows
from linnet.multiclass.learners import TrainingSet
from linnet.registry import need, saved
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor

CODES = ("dense", "sparse", "exhaustive", "bch")
_MAX_COLUMNS = 1_000_000  # binary classifiers
DECODINGS = ("likelihood", "hamming", "loss")


@saved
class OutputCodeClassifier(Reduction):
    """Output-code reduction: binary classifiers predict the bits of a codeword, and the nearest codeword wins.

    In the code matrix M (classes x classifiers), classifier l separates the classes with +1 in column l from those with
    -1; classes with 0 are left out of its training. Probabilities are proportional to the likelihood of each codeword;
    where they would rank another class above the predicted one, they are replaced by the nearest distribution that
    ranks it first.

    Parameters
    ----------
    estimator : classifier
        The binary classifier, cloned for each column. It needs `predict_proba`, `decision_function` or `predict`.
    code_size : float, default=1.5
        The number of columns per class of a drawn code.
    code : {"dense", "sparse", "exhaustive", "bch"} or array of shape (classes, columns), default="dense"
        The code matrix: "dense" (entries ±1) and "sparse" (half of the entries 0) are drawn at random; "exhaustive" has
        all 2^(K-1) - 1 splits of up to 12 classes; "bch" has codewords of a Bose-Chaudhuri-Hocquenghem code; or a
        matrix of -1, 0 and 1.
    decoding : {"likelihood", "hamming", "loss"}, default="likelihood"
        The rule that predicts class k from the scores s_l (positive for +1) and the probabilities p_l of +1:
        "likelihood" maximises Σ_l log P(M_kl) with P(1) = p_l, P(-1) = 1 - p_l, P(0) = 1/2;
        "hamming" minimises the number of l where sign(s_l) differs from M_kl, a 0 counting half;
        "loss" minimises Σ_l (M_kl - s_l)², as scikit-learn does.
    draws : int, default=100
        The number of random codes, of which the one with the largest `row_distance_` is used. At most
        3·10^9 / (K² columns) are drawn, and 10,000, which takes about a second: 100 up to 270 classes, 2 for 1,000.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random codes.
    n_jobs : int, default=None
        The number of classifiers fitted in parallel, -1 for one per processor. Not used by linnet's
        LogisticRegression, whose problems are solved jointly.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes.
    code_book_ : array of shape (classes, columns)
        The code matrix, int8.
    row_distance_ : float
        The smallest distance d between two codewords: with "hamming", the actual codeword remains the nearest if fewer
        than d / 2 bits are wrong. Without zeros it is the Hamming distance; with zeros it is smaller than the number of
        differing entries, as a classifier may predict either bit for a class it was not trained on, and it is 0 if such
        classifiers alone can decide.
    estimators_ : list of classifiers
        The fitted classifiers, one per column.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array
        The names of these columns, if X has names.
    """

    code_book_: NDArray[np.int8]
    row_distance_: float

    def __init__(
        self,
        estimator: Any,
        *,
        code_size: float = 1.5,
        code: Any = "dense",
        decoding: str = "likelihood",
        draws: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.code_size = code_size
        self.code = code
        self.decoding = decoding
        self.draws = draws
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_learners(self, classes: int, learners: int) -> None:
        book = self.code_book_
        need(fits(book, NDArray[np.int8]) and np.isin(book, (-1, 0, 1)).all(), self, "code_book_")
        need(book.shape == (classes, learners), self, "code_book_")

    def _code_matrix(self, data: TrainingSet, labels: NDArray[np.int32]) -> CodeMatrix:
        check_name(self.decoding, "decoding", DECODINGS)
        self.code_book_ = self._codes(len(self.classes_))
        self.row_distance_ = matrices.row_distance(self.code_book_)
        return CodeMatrix.from_dense(self.code_book_, labels)

    def _codes_by_class(self) -> NDArray[np.int8]:
        return self.code_book_

    def _codes(self, classes: int) -> NDArray[np.int8]:
        columns = int(min(check_number(self.code_size, "code_size", above=0) * classes, _MAX_COLUMNS + 1))
        if columns > _MAX_COLUMNS:
            raise ConfigError(
                f"code_size={self.code_size!r} requires more than {_MAX_COLUMNS:,} binary classifiers for {classes} "
                "classes: lower it"
            )
        draws, rng = check_whole(self.draws, "draws", at_least=1), check_random(self.random_state)
        if isinstance(self.code, str):
            check_name(self.code, "code", CODES)
            if classes == 1:
                return np.empty((1, 0), np.int8)
            if classes == 2 or self.code == "exhaustive":
                return matrices.exhaustive(classes)
            columns = max(columns, int(np.ceil(np.log2(classes))))
            return {"dense": matrices.dense, "sparse": matrices.sparse, "bch": matrices.bch}[self.code](
                classes, columns, rng, draws
            )
        return matrices.check_codes(self.code, classes)

    def _log_likelihood(self, log_odds: Floats) -> Floats:
        """Return Σ_l log P(M_kl), rows x classes."""
        positive, negative = (self.code_book_ > 0).T.astype(np.float64), (self.code_book_ < 0).T.astype(np.float64)
        log_p, log_q = log_sigmoids(log_odds)
        log_half = np.log(2.0) * (self.code_book_ == 0).sum(axis=1)
        return np.asarray(product(log_p, positive) + product(log_q, negative) - log_half)

    def _probabilities(self, log_odds: Floats, scores: Floats) -> Floats:
        return softmax_rows(self._log_likelihood(log_odds))

    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Indices:
        if self._fitted_with("decoding") == "likelihood":
            return np.asarray(self._log_likelihood(log_odds).argmax(axis=1))
        code = self.code_book_.T.astype(np.float64)
        if self._fitted_with("decoding") == "hamming":  # the distance is (columns - product) / 2
            return np.asarray(product(np.where(scores > 0, 1.0, -1.0), code).argmax(axis=1))
        return np.asarray((2 * product(scores, code) - (code**2).sum(axis=0)).argmax(axis=1))

    def _graph_outputs(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        from linnet.export.onnx import network as nodes
        from linnet.export.onnx.decisions import log_yes

        code = self.code_book_.T.astype(np.float64)
        positive = graph.add("MatMul", log_yes(graph, z), np.maximum(code, 0))
        negative = graph.add("MatMul", log_yes(graph, graph.add("Neg", z)), np.maximum(-code, 0))
        log_half = np.log(2.0) * (code == 0).sum(axis=0)
        likelihood = graph.add("Sub", graph.add("Add", positive, negative), log_half)
        closeness = likelihood
        if self._fitted_with("decoding") == "hamming":
            bits = graph.add(
                "Where", nodes.above(graph, z, 0.0, reached=False), np.array(1.0), np.array(-1.0), type=z.type
            )
            closeness = graph.add("MatMul", bits, code)
        elif self._fitted_with("decoding") == "loss":
            closeness = graph.add("Sub", graph.add("MatMul", graph.add("Mul", z, 2.0), code), (code**2).sum(axis=0))
        return graph.add("Softmax", likelihood, axis=1), nodes.largest(graph, closeness)
