"""Output codes: every class has a word, binary classifiers guess its letters."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_number, check_random, check_whole
from linnet.errors import unknown_name
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.fit.solvers.products import product
from linnet.multiclass import codes as matrices
from linnet.multiclass.base import Places, Reduction
from linnet.multiclass.decisions import log_yes_and_no, shares
from linnet.multiclass.learners import TrainingSet
from linnet.registry import need, saved
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor

CODES = ("dense", "sparse", "exhaustive", "bch")
DECODINGS = ("likelihood", "hamming", "loss")


@saved
class OutputCodeClassifier(Reduction):
    """A code matrix M, classes x classifiers: classifier l tells the classes with +1 in column l from those with -1.

    `code`: "dense" or "sparse" (drawn, `code_size` times as many columns as classes, of `draws` draws the one whose
    rows are furthest apart), "exhaustive", "bch" (see `linnet.multiclass.codes`), or a matrix. At most
    3·10^9 / (K² columns) codes are drawn, which takes about a second: 100 up to 270 classes, 2 for 1,000. `decoding`
    says which class is said, given scores s_l (above 0: yes) and probabilities p_l of yes:

    | decoding | the class k with the least |
    |---|---|
    | "likelihood" | -Σ_l log P(M_kl), P(1) = p_l, P(-1) = 1 - p_l, P(0) = 1/2: the most probable one |
    | "hamming" | number of l where sign(s_l) is not M_kl, a 0 counting half |
    | "loss" | Σ_l (M_kl - s_l)², as scikit-learn decodes |

    Probabilities are those of the likelihood, in which the class that is said is the most probable one: see
    `linnet.multiclass.decisions`. Learned: `code_book_` and `row_distance_`, the least distance d between two rows:
    fewer than d / 2 wrong answers leave the right row the nearest ("hamming"). With zeros, d is less than the places in
    which rows differ, as classifiers that never saw a class may say anything of it; it is 0 where they alone decide.
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
        if self.decoding not in DECODINGS:
            raise unknown_name("decoding", self.decoding, DECODINGS)
        self.code_book_ = self._codes(len(self.classes_))
        self.row_distance_ = matrices.row_distance(self.code_book_)
        return CodeMatrix.from_dense(self.code_book_, labels)

    def _codes(self, classes: int) -> NDArray[np.int8]:
        columns = int(check_number(self.code_size, "code_size", above=0) * classes)
        draws, rng = check_whole(self.draws, "draws", at_least=1), check_random(self.random_state)
        if isinstance(self.code, str):
            if self.code not in CODES:
                raise unknown_name("code", self.code, CODES)
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
        """Σ_l log P(M_kl), less what all classes have in common."""
        yes, no = (self.code_book_ > 0).T.astype(np.float64), (self.code_book_ < 0).T.astype(np.float64)
        log_p, log_q = log_yes_and_no(log_odds)
        return np.asarray(product(log_p, yes) + product(log_q, no) - np.log(2.0) * (self.code_book_ == 0).sum(axis=1))

    def _probabilities(self, log_odds: Floats, scores: Floats) -> Floats:
        return shares(self._log_likelihood(log_odds))

    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Places:
        if self._fitted_with("decoding") == "likelihood":
            return np.asarray(self._log_likelihood(log_odds).argmax(axis=1))
        code = self.code_book_.T.astype(np.float64)
        if self._fitted_with("decoding") == "hamming":  # places that differ are (columns - products) / 2
            return np.asarray(product(np.where(scores > 0, 1.0, -1.0), code).argmax(axis=1))
        return np.asarray((2 * product(scores, code) - (code**2).sum(axis=0)).argmax(axis=1))

    def _graph_answers(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        from linnet.export.onnx import network as part
        from linnet.export.onnx.decisions import log_yes

        code = self.code_book_.T.astype(np.float64)
        yes = graph.add("MatMul", log_yes(graph, z), np.maximum(code, 0))
        no = graph.add("MatMul", log_yes(graph, graph.add("Neg", z)), np.maximum(-code, 0))
        zeros = np.log(2.0) * (code == 0).sum(axis=0)
        likelihood = graph.add("Sub", graph.add("Add", yes, no), zeros)
        nearest = likelihood
        if self._fitted_with("decoding") == "hamming":
            said = graph.add(
                "Where", part.above(graph, z, 0.0, reached=False), np.array(1.0), np.array(-1.0), type=z.type
            )
            nearest = graph.add("MatMul", said, code)
        elif self._fitted_with("decoding") == "loss":
            nearest = graph.add("Sub", graph.add("MatMul", graph.add("Mul", z, 2.0), code), (code**2).sum(axis=0))
        return graph.add("Softmax", likelihood, axis=1), part.largest(graph, nearest)
