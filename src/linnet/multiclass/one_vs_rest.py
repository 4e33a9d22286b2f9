"""One-vs-rest: for each class, is it that class or not."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_random
from linnet.data.row_keys import row_draws
from linnet.data.sparse import as_dense
from linnet.data.table import check_unmasked
from linnet.errors import ConfigError, DataError, unknown_name
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.multiclass.base import Places, Reduction, as_rows
from linnet.multiclass.decisions import log_yes, shares, with_winner
from linnet.multiclass.learners import TrainingSet
from linnet.registry import need, saved
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs
    from linnet.export.onnx.graph import Graph, Tensor

TIE_BREAKS = ("score", "random")


@saved
class OneVsRestClassifier(Reduction):
    """K classifiers, "k or not"; the class whose classifier is most sure of its yes is said.

    P(k) = p_k / Σ_l p_l, where p_k is classifier k's probability of yes. `tie_break="random"` says any one of the
    classes whose classifiers say yes, each as likely as the others (by `random_state` and the row's own values: a row
    gets the same answer alone and among others, from an array, a sparse matrix or a data frame of numbers), and where
    none does the one with the highest score, or one of several such. One wrong yes or no is enough for a wrong answer.

    With a table of zeros and ones for y (a row may have several labels) the classifiers' answers are given label by
    label, and P(k) = p_k. Two classes take one classifier.
    """

    label_table_: bool
    seed_: int

    def __init__(
        self,
        estimator: Any,
        *,
        tie_break: str = "score",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.tie_break = tie_break
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_learners(self, classes: int, learners: int) -> None:
        need(fits(self.label_table_, bool) and fits(self.seed_, int), self, "label_table_")
        need(learners == (classes if self.label_table_ or classes > 2 else classes - 1), self, "learners_")

    @property
    def multilabel_(self) -> bool:
        """Whether rows may have several labels."""
        return self.label_table_

    def _labels(self, y: Any, count: int) -> NDArray[np.int32]:
        if self.tie_break not in TIE_BREAKS:
            raise unknown_name("tie_break", self.tie_break, TIE_BREAKS)
        self.seed_ = int(check_random(self.random_state).randint(2**31))
        check_unmasked(y, "y")
        given = as_dense(y)
        try:
            table = np.asarray(given)
        except ValueError:  # rows of different lengths
            raise DataError(
                "y has a list of labels in each row: make a column of zeros and ones of each label, as scikit-learn's "
                "MultiLabelBinarizer does"
            ) from None
        self.label_table_ = table.ndim == 2 and table.shape[1] > 1
        if not self.label_table_:
            return super()._labels(table if hasattr(y, "toarray") else y, count)
        if len(table) != count:
            raise DataError(f"y has {len(table)} rows, but X has {count}")
        if not np.isin(table, (0, 1)).all():
            raise DataError("y has several columns, which must hold zeros and ones: one column a label")
        self.classes_ = np.arange(table.shape[1])
        self._label_rows, labels = np.unique(table.astype(np.int8), axis=0, return_inverse=True)
        return labels.ravel().astype(np.int32)

    def _code_matrix(self, data: TrainingSet, labels: NDArray[np.int32]) -> CodeMatrix:
        if self.label_table_:
            codes = 2 * self.__dict__.pop("_label_rows") - 1
        else:
            codes = 2 * np.eye(len(self.classes_), dtype=np.int8) - 1
            if len(codes) <= 2:
                codes = codes[:, 1:]
        return CodeMatrix.from_dense(np.ascontiguousarray(codes, np.int8), labels)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, or zeros and ones for every label."""
        if not getattr(self, "label_table_", False):
            return super().predict(X)
        return (self._answers(X)[1] > 0).astype(np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """Return every class' probability; of several labels each has its own."""
        if not getattr(self, "label_table_", False):
            return super().predict_proba(X)
        return np.asarray(np.exp(log_yes(self._answers(X)[0])))

    def decision_function(self, X: Any) -> Floats:
        """Return the scores: one a row for two classes (above 0: the second), one a class for more.

        With tie_break="random" they are the nearest ones, in squares, of which the class that is said has the highest;
        no yes becomes a no, nor a no a yes. `estimators_` have their own.
        """
        log_odds, scores = self._answers(X)
        if self.label_table_ or len(self.classes_) < 2:
            return scores
        if len(self.classes_) == 2:
            return scores[:, 0]
        draws = self._draws(X)
        if draws is None:
            return scores
        winner = self._winners(log_odds, scores, draws)
        tied = (scores == scores.max(axis=1, keepdims=True)) & (np.arange(scores.shape[1]) != winner[:, None])
        tied &= ~(scores > 0).any(axis=1, keepdims=True)
        return with_winner(np.where(tied, np.nextafter(scores, -np.inf), scores), winner)

    def _draws(self, X: Any) -> Floats | None:
        return (
            row_draws(as_rows(X), self.seed_)
            if self._fitted_with("tie_break") == "random" and len(self.classes_) > 2
            else None
        )

    def _answers(self, X: Any) -> tuple[Floats, Floats]:
        table = self._read(X)
        return self.learners_.answers(table)

    def _probabilities(self, log_odds: Floats, scores: Floats) -> Floats:
        if len(self.classes_) == 2:
            return np.asarray(np.exp(log_yes(np.hstack([-log_odds, log_odds]))))
        return shares(log_yes(log_odds))

    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Places:
        if len(self.classes_) == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        if draws is None:
            return np.asarray(scores.argmax(axis=1))
        yes = scores > 0
        yes |= ~yes.any(axis=1, keepdims=True) & (scores == scores.max(axis=1, keepdims=True))
        nth = np.floor(draws * yes.sum(axis=1))
        return np.asarray(((np.cumsum(yes, axis=1) == nth[:, None] + 1) & yes).argmax(axis=1))

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        if not self.label_table_:
            return super()._to_graph(inputs)
        from linnet.export.onnx.network import above

        graph, z = inputs.graph, self.learners_.z_graph(inputs)
        said = graph.cast(above(graph, z, 0.0, reached=False), "int64")
        return {"label": said, "probabilities": graph.add("Sigmoid", z)}

    def _graph_answers(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        from linnet.export.onnx import network as part
        from linnet.export.onnx.decisions import log_yes

        if self._fitted_with("tie_break") != "score":
            raise ConfigError("to_onnx of OneVsRestClassifier needs tie_break='score'")
        if len(self.classes_) == 2:
            return part.yes_and_no(graph, z), part.if_yes(graph, part.above(graph, z, 0.0, reached=False))
        return graph.add("Softmax", log_yes(graph, z), axis=1), part.largest(graph, z)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
