"""What the reductions of several classes to binary problems have in common."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Classifier, check_fitted, check_form, takes_weights, weighed_if
from linnet.data.encoder import Encoder
from linnet.data.sparse import check_sparse, is_sparse
from linnet.data.table import empty
from linnet.errors import ConfigError, DataError
from linnet.estimators.class_labels import class_numbers
from linnet.estimators.inputs import row_weights
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.multiclass.decisions import with_winner
from linnet.multiclass.learners import Learners, TrainingSet, train
from linnet.registry import need

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs
    from linnet.export.onnx.graph import Graph, Tensor

Places = NDArray[np.intp]


class Reduction(Classifier):
    """Several classes told apart by binary classifiers, each a clone of `estimator`.

    Each reduction says which rows a binary problem has as yes and which as no, and what the answers mean: the
    probability of every class, and the class to say, which always is the most probable one.
    """

    estimator: Any
    n_jobs: int | None
    classes_: NDArray[Any]
    learners_: Learners

    @abstractmethod
    def _code_matrix(self, data: TrainingSet, labels: NDArray[np.int32]) -> CodeMatrix:
        """Which rows each binary problem sees, and as which class; `data` has no problems yet."""

    @abstractmethod
    def _probabilities(self, log_odds: Floats, scores: Floats) -> Floats:
        """BinaryProblems x classes, from the answers to all problems."""

    @abstractmethod
    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Places:
        """The number of the class to say of each row; `draws`: its number in [0, 1), where ties are broken by one."""

    def _draws(self, X: Any) -> Floats | None:
        """A random number for each row of a table, if ties are broken by it."""
        return None

    @weighed_if(lambda self: takes_weights(self.estimator))
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit all binary classifiers, or leave everything as it was.

        `sample_weight` needs an estimator that takes it, and is not in the signature of a reduction over another one.
        `fit_params` go to the estimator's fit, those with one entry a row in part; under scikit-learn's metadata
        routing, to whom asks for them.
        """
        before = dict(self.__dict__)
        try:
            if y is None:
                raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            self._fit(as_rows(X), y, sample_weight, fit_params)
            self._keep_params()
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> None:
        count = X.shape[0]
        labels = self._labels(y, count)
        check_form(self, X, reset=True)
        weights = row_weights(sample_weight, count)
        params = self._routed(weights, fit_params)
        data = TrainingSet(X, CodeMatrix.empty(labels), weights, params, self._jobs(), getattr(self, "verbose", 0))
        self.learners_ = train(self.estimator, data.with_codes(self._code_matrix(data, labels)))

    def _jobs(self) -> int | None:
        jobs = self.n_jobs
        if jobs is None or (isinstance(jobs, int | np.integer) and not isinstance(jobs, bool) and jobs != 0):
            return jobs
        raise ConfigError(f"n_jobs must be None, a number of processes or -1 for all processors, got {jobs!r}")

    def _labels(self, y: Any, count: int) -> NDArray[np.int32]:
        """The number of each row's class."""
        self.classes_, labels = class_numbers(y, count, fewest=1)
        return labels

    def _routed(self, weights: Floats | None, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What goes to the estimator's fit."""
        given = fit_params if weights is None else {**fit_params, "sample_weight": weights}
        if not given:
            return {}
        from sklearn import get_config
        from sklearn.utils.metadata_routing import process_routing

        if get_config()["enable_metadata_routing"]:
            routed: dict[str, Any] = process_routing(self, "fit", **given)["estimator"]["fit"]
            return routed
        if weights is not None and not takes_weights(self.estimator):
            way = "use a classifier that does, or repeat rows"
            if hasattr(self.estimator, "steps"):
                way = (
                    "let the step that does ask for it (set_fit_request) under set_config(enable_metadata_routing=True)"
                )
            raise ConfigError(f"{type(self.estimator).__name__}.fit takes no sample_weight: {way}")
        return given

    @property
    def estimators_(self) -> list[Any]:
        """The binary classifiers; of a problem that had nothing to learn from, its log-odds, a number.

        Those of linnet's LogisticRegression have views of the coefficients: set these, as in
        `model.estimators_[0].intercept_ = -1.0`, or change them in place, and the reduction predicts with the change.
        """
        check_fitted(self)
        return self.learners_.models()

    @property
    def n_classes_(self) -> int:
        """How many classes there are."""
        check_fitted(self)
        return len(self.classes_)

    def _read(self, X: Any) -> Any:
        check_fitted(self)
        X = as_rows(X)
        check_form(self, X, reset=False)
        return self.learners_.read(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row: the most probable one."""
        table = self._read(X)
        draws = self._draws(X)
        said = np.zeros(self.learners_.size(table), np.intp)
        if len(self.classes_) > 1:
            for part, some in self.learners_.blocks(table, 4 * self.learners_.count):
                said[part] = self._winners(*self.learners_.answers(some), None if draws is None else draws[part])
        return np.asarray(self.classes_[said])

    def predict_proba(self, X: Any) -> Floats:
        """Return every class' probability."""
        table = self._read(X)
        draws = self._draws(X)
        p = np.ones((self.learners_.size(table), len(self.classes_)))
        if len(self.classes_) > 1:
            for part, some in self.learners_.blocks(table, self._width()):
                answers = self.learners_.answers(some)
                winners = self._winners(*answers, None if draws is None else draws[part])
                p[part] = with_winner(self._probabilities(*answers), winners)
        return p

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of every class' probability."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _width(self) -> int:
        """How many numbers a row takes on the way to its probabilities."""
        return 4 * self.learners_.count

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx import network as part
        from linnet.export.onnx.decisions import with_winner

        graph = inputs.graph
        if len(self.classes_) == 1:
            raise ConfigError("to_onnx: a model of one class has nothing to compute")
        z = self.learners_.z_graph(inputs)
        p, winner = self._graph_answers(graph, z)
        p = with_winner(graph, p, winner, len(self.classes_))
        return {"label": part.labels(graph, winner, self.classes_), "probabilities": p}

    def _graph_answers(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        """Probabilities and winners in an ONNX graph, from the log-odds."""
        raise ConfigError(f"{type(self).__name__} has no form in ONNX")

    def _check_file(self) -> None:
        super()._check_file()
        if "learners_" in self.__dict__:
            need(isinstance(self.learners_, Learners), self, "learners_")
            need(self.classes_.ndim == 1 and len(self.classes_), self, "classes_")
            self._check_learners(len(self.classes_), self.learners_.count)

    @abstractmethod
    def _check_learners(self, classes: int, learners: int) -> None:
        """Refuse a reduction from a file that cannot have so many binary classifiers for so many classes."""

    def _input_encoder(self) -> Encoder | None:
        return self.learners_.input_encoder() if "learners_" in self.__dict__ else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learners_")

    def get_metadata_routing(self) -> Any:
        """Return who may be given what: the estimator's fit, which alone says whether it takes row weights, and what is
        asked for by the other methods.
        """
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        own = super().get_metadata_routing()
        own.fit.requests.pop("sample_weight", None)
        return (
            MetadataRouter(owner=self)
            .add_self_request(own)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        )

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def as_rows(X: Any) -> Any:
    """Return a table of which some rows can be taken: an array, a data frame, or a sparse matrix by rows."""
    if hasattr(X, "tocsr"):
        return (check_sparse(X, "X") if is_sparse(X) else X).tocsr()
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise DataError(f"X must have rows and columns, got shape {tuple(X.shape)}: Reshape your data")
    if 0 in X.shape:
        raise empty(tuple(X.shape), "X")
    return X
