"""One-vs-rest: one classifier for each class, which separates it from all others."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.arrays import Table, Targets
from linnet.checks import check_name, check_random
from linnet.data.row_keys import row_draws
from linnet.data.sparse import as_dense
from linnet.data.table import check_unmasked
from linnet.errors import ConfigError, DataError
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.multiclass.base import Indices, Reduction, as_rows
from linnet.multiclass.decisions import log_sigmoid, softmax_rows, with_winner
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
    """One-vs-rest reduction: one classifier for each class against all others, decided by the highest score.

    P(k) = p_k / Σ_l p_l, where classifier k estimates p_k, its probability of class k. Two classes take one classifier.

    If y is a table of zeros and ones with one column per label, rows may have several labels: there is one classifier
    per label, each label is predicted by itself, and P(k) = p_k.

    Parameters
    ----------
    estimator : classifier
        The binary classifier, cloned for each class. It needs `predict_proba`, `decision_function` or `predict`.
    tie_break : {"score", "random"}, default="score"
        The decision for a row that several classifiers predict as positive: the highest score, or a random one of these
        classes, with equal probability. If no classifier predicts positive, the highest score decides, and "random"
        draws among equal ones. A draw depends only on `random_state` and the values of the row, so the prediction for a
        row is the same alone, among other rows, and in an array, a sparse matrix or a data frame of numbers.
    random_state : int, RandomState, Generator or None, default=None
        The seed of `tie_break="random"`.
    n_jobs : int, default=None
        The number of classifiers fitted in parallel, -1 for one per processor. Not used by linnet's
        LogisticRegression, whose problems are solved jointly.
    verbose : int, default=0
        The verbosity of joblib, where classifiers are fitted one by one.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes; with several labels per row, the column indices of y.
    label_table_ : bool
        Whether y was a table of labels.
    estimators_ : list of classifiers
        The fitted classifiers, one per class; for two classes, the one of the second class.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of shape (columns,)
        The names of the columns, if X has names.
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
        check_name(self.tie_break, "tie_break", TIE_BREAKS)
        self.seed_ = int(check_random(self.random_state).randint(2**31))
        check_unmasked(y, "y")
        dense = as_dense(y)
        try:
            table = np.asarray(dense)
        except ValueError:  # rows of different lengths
            raise DataError(
                "y has a list of labels in each row: encode it as one column of zeros and ones per label, for example "
                "with scikit-learn's MultiLabelBinarizer"
            ) from None
        self.label_table_ = table.ndim == 2 and table.shape[1] > 1
        if not self.label_table_:
            return super()._labels(table if hasattr(y, "toarray") else y, count)
        if len(table) != count:
            raise DataError(f"y has {len(table)} rows, but X has {count}")
        if not np.isin(table, (0, 1)).all():
            raise DataError("y with several columns must contain only zeros and ones: one column per label")
        self.classes_ = np.arange(table.shape[1])
        self._label_rows, labels = np.unique(table.astype(np.int8), axis=0, return_inverse=True)
        return labels.ravel().astype(np.int32)

    def _code_matrix(self, data: TrainingSet, labels: NDArray[np.int32]) -> CodeMatrix:
        codes = 2 * self.__dict__.pop("_label_rows") - 1 if self.label_table_ else self._codes_by_class()
        return CodeMatrix.from_dense(np.ascontiguousarray(codes, np.int8), labels)

    def _codes_by_class(self) -> NDArray[np.int8]:
        codes = 2 * np.eye(len(self.classes_), dtype=np.int8) - 1
        return codes[:, 1:] if len(codes) <= 2 and not self.label_table_ else codes

    def _signs(self, y: Targets) -> NDArray[np.int8]:
        if not self.label_table_:
            return super()._signs(y)
        table = np.asarray(as_dense(y))
        if table.ndim != 2 or table.shape[1] != len(self.classes_) or not np.isin(table, (0, 1)).all():
            raise DataError(f"y must have {len(self.classes_)} columns of zeros and ones, one per label")
        return np.asarray(2 * table.astype(np.int8) - 1)

    def _problem_names(self) -> list[str]:
        names = [str(label) for label in self.classes_.tolist()]
        return names[1:] if len(names) == 2 and not self.label_table_ else names

    def predict(self, X: Table) -> NDArray[Any]:
        """Return the predicted class of each row, or its predicted labels.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows,), or (rows, labels) for several labels per row
            The predicted classes, or zeros and ones.
        """
        if not getattr(self, "label_table_", False):
            return super().predict(X)
        return (self._outputs(X)[1] > 0).astype(np.int64)

    def predict_proba(self, X: Table) -> Floats:
        """Return class probabilities, or the probability of each label.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows, classes)
            The probability of each class, in the order of `classes_`; rows sum to 1, except for several labels per row.
        """
        if not getattr(self, "label_table_", False):
            return super().predict_proba(X)
        return np.asarray(np.exp(log_sigmoid(self._outputs(X)[0])))

    def decision_function(self, X: Table) -> Floats:
        """Return the scores of the classifiers.

        With `tie_break="random"` they are adjusted, by the least squared change, so that the predicted class has the
        highest score; no sign changes. The classifiers in `estimators_` return the original scores.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows, classes), or (rows,) for two classes
            One score per class; for two classes one score, above 0 for the second class.
        """
        log_odds, scores = self._outputs(X)
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

    def _outputs(self, X: Table) -> tuple[Floats, Floats]:
        table = self._read(X)
        return self.learners_.outputs(table)

    def _probabilities(self, log_odds: Floats, scores: Floats) -> Floats:
        if len(self.classes_) == 2:
            return np.asarray(np.exp(log_sigmoid(np.hstack([-log_odds, log_odds]))))
        return softmax_rows(log_sigmoid(log_odds))

    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Indices:
        if len(self.classes_) == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        if draws is None:
            return np.asarray(scores.argmax(axis=1))
        tied = scores > 0
        tied |= ~tied.any(axis=1, keepdims=True) & (scores == scores.max(axis=1, keepdims=True))
        drawn = np.floor(draws * tied.sum(axis=1))  # the rank of the predicted class among the tied ones
        return np.asarray(((np.cumsum(tied, axis=1) == drawn[:, None] + 1) & tied).argmax(axis=1))

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        if not self.label_table_:
            return super()._to_graph(inputs)
        from linnet.export.onnx.network import above

        graph, z = inputs.graph, self.learners_.z_graph(inputs)
        labels = graph.cast(above(graph, z, 0.0, reached=False), "int64")
        return {"label": labels, "probabilities": graph.add("Sigmoid", z)}

    def _graph_outputs(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        from linnet.export.onnx import network as nodes
        from linnet.export.onnx.decisions import log_yes

        if self._fitted_with("tie_break") != "score":
            raise ConfigError("to_onnx of OneVsRestClassifier needs tie_break='score'")
        if len(self.classes_) == 2:
            return nodes.yes_and_no(graph, z), nodes.if_yes(graph, nodes.above(graph, z, 0.0, reached=False))
        return graph.add("Softmax", log_yes(graph, z), axis=1), nodes.largest(graph, z)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
