"""The base class of reductions of several classes to binary problems."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Classifier, check_estimator, check_fitted, check_form, takes_weights, weighed_if
from linnet.arrays import ArrayLike, Table, Targets
from linnet.checks import is_integer
from linnet.data.encoder import Encoder
from linnet.data.sparse import check_sparse, is_sparse
from linnet.data.table import empty
from linnet.errors import ConfigError, DataError
from linnet.estimators.class_labels import class_numbers
from linnet.estimators.inputs import row_weights
from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.multiclass.binary_problems import BinaryProblems
from linnet.multiclass.decisions import with_winner
from linnet.multiclass.learners import Learners, TrainingSet, train
from linnet.registry import need

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs
    from linnet.export.onnx.graph import Graph, Tensor

Indices = NDArray[np.intp]


class Reduction(Classifier):
    """A classifier for several classes made of binary classifiers, each a clone of `estimator`.

    Each reduction defines the positive and negative rows of its binary problems, and how their outputs combine to class
    probabilities and to the predicted class, which always is the most probable one.
    """

    estimator: Any
    n_jobs: int | None
    classes_: NDArray[Any]
    learners_: Learners

    @abstractmethod
    def _code_matrix(self, data: TrainingSet, labels: NDArray[np.int32]) -> CodeMatrix:
        """The rows of each binary problem, and the class of each; `data` has no problems yet."""

    @abstractmethod
    def _probabilities(self, log_odds: Floats, scores: Floats) -> Floats:
        """Class probabilities, rows x classes, from the outputs of all binary classifiers."""

    @abstractmethod
    def _winners(self, log_odds: Floats, scores: Floats, draws: Floats | None = None) -> Indices:
        """The index of each row's predicted class; `draws`: one value in [0, 1) per row, where ties are drawn."""

    def _draws(self, X: Any) -> Floats | None:
        """Return one value in [0, 1) per row of a table, if ties are broken at random."""
        return None

    @weighed_if(lambda self: takes_weights(self.estimator))
    def fit(self, X: Table, y: Targets, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit all binary classifiers; if that fails, the model stays as it was.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,)
            The class of each row.
        sample_weight : array of shape (rows,), default=None
            Row weights. Only in the signature if `estimator.fit` takes them.
        **fit_params : dict
            Further arguments of `estimator.fit`; of those with one entry per row, each binary problem gets the entries
            of its rows. Under scikit-learn's metadata routing they go where they are requested.

        Returns
        -------
        self
            The fitted model.
        """
        before = dict(self.__dict__)
        try:
            check_estimator(self.estimator)
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
        if jobs is None or (is_integer(jobs) and int(jobs) != 0):
            return jobs
        raise ConfigError(f"n_jobs must be None, a number of processes or -1 for all processors, got {jobs!r}")

    def _labels(self, y: Any, count: int) -> NDArray[np.int32]:
        """Return the index of each row's class."""
        self.classes_, labels = class_numbers(y, count, fewest=1)
        return labels

    def _routed(self, weights: Floats | None, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the estimator's fit besides X and y."""
        params = fit_params if weights is None else {**fit_params, "sample_weight": weights}
        if not params:
            return {}
        from sklearn import get_config
        from sklearn.utils.metadata_routing import process_routing

        if get_config()["enable_metadata_routing"]:
            routed: dict[str, Any] = process_routing(self, "fit", **params)["estimator"]["fit"]
            return routed
        if weights is not None and not takes_weights(self.estimator):
            advice = "use a classifier that does, or repeat rows"
            if hasattr(self.estimator, "steps"):
                advice = (
                    "request it for the step that does (set_fit_request) under set_config(enable_metadata_routing=True)"
                )
            raise ConfigError(f"{type(self.estimator).__name__}.fit takes no sample_weight: {advice}")
        return params

    @property
    def estimators_(self) -> list[Any]:
        """The fitted binary classifiers; for a problem with rows of one class only, its log-odds as a float.

        If they are linnet's LogisticRegression, their coefficients are views: set them, as in
        `model.estimators_[0].intercept_ = -1.0`, or change them in place, and the reduction predicts with the change.
        """
        check_fitted(self)
        return self.learners_.models()

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        check_fitted(self)
        return len(self.classes_)

    def binary_problems(self, y: Targets) -> BinaryProblems:
        """Return which rows each binary problem uses, and as which class; print the result for a table.

        Parameters
        ----------
        y : array of shape (rows,), or (rows, labels) if the model was fitted to several labels per row
            The classes of some rows, such as those of the fit.

        Returns
        -------
        BinaryProblems
            The sign of each row in each problem.
        """
        check_fitted(self)
        return BinaryProblems(np.asarray(y), tuple(self._problem_names()), self._signs(y))

    def _signs(self, y: Targets) -> NDArray[np.int8]:
        found, labels = class_numbers(y, len(np.asarray(y)), fewest=1, quiet=True)
        places = {label: place for place, label in enumerate(self.classes_.tolist())}
        if unknown := [label for label in found.tolist() if label not in places]:
            raise DataError(f"y has the class {unknown[0]!r}, but the model has {self.classes_.tolist()}")
        return self._codes_by_class()[np.array([places[label] for label in found.tolist()], np.intp)[labels]]

    @abstractmethod
    def _codes_by_class(self) -> NDArray[np.int8]:
        """The code matrix, classes x problems."""

    def _problem_names(self) -> list[str]:
        """What each binary problem is called in a table."""
        return [str(number) for number in range(1, self.learners_.count + 1)]

    def _read(self, X: Any) -> Any:
        check_fitted(self)
        X = as_rows(X)
        check_form(self, X, reset=False)
        return self.learners_.read(X)

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
        table = self._read(X)
        draws = self._draws(X)
        winners = np.zeros(self.learners_.size(table), np.intp)
        if len(self.classes_) > 1:
            for rows, block in self.learners_.blocks(table, 4 * self.learners_.count):
                winners[rows] = self._winners(*self.learners_.outputs(block), None if draws is None else draws[rows])
        return np.asarray(self.classes_[winners])

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
        draws = self._draws(X)
        p = np.ones((self.learners_.size(table), len(self.classes_)))
        if len(self.classes_) > 1:
            for rows, block in self.learners_.blocks(table, self._width()):
                outputs = self.learners_.outputs(block)
                winners = self._winners(*outputs, None if draws is None else draws[rows])
                p[rows] = with_winner(self._probabilities(*outputs), winners)
        return p

    def predict_log_proba(self, X: Table) -> Floats:
        """Return the logarithms of the class probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows, classes)
            The log-probability of each class, in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _width(self) -> int:
        """Return the number of float64 values per row that computing probabilities takes."""
        return 4 * self.learners_.count

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx import network as nodes
        from linnet.export.onnx.decisions import with_winner

        graph = inputs.graph
        if len(self.classes_) == 1:
            raise ConfigError("to_onnx needs a model of at least two classes, got one")
        z = self.learners_.z_graph(inputs)
        p, winner = self._graph_outputs(graph, z)
        p = with_winner(graph, p, winner, len(self.classes_))
        return {"label": nodes.labels(graph, winner, self.classes_), "probabilities": p}

    def _graph_outputs(self, graph: "Graph", z: "Tensor") -> "tuple[Tensor, Tensor]":
        """Class probabilities and the predicted class in an ONNX graph, from the log-odds."""
        raise ConfigError(f"{type(self).__name__} cannot be exported to ONNX")

    def _check_file(self) -> None:
        super()._check_file()
        if "learners_" in self.__dict__:
            need(isinstance(self.learners_, Learners), self, "learners_")
            need(self.classes_.ndim == 1 and len(self.classes_), self, "classes_")
            self._check_learners(len(self.classes_), self.learners_.count)

    @abstractmethod
    def _check_learners(self, classes: int, learners: int) -> None:
        """Refuse a file whose number of binary classifiers does not match its number of classes."""

    def _input_encoder(self) -> Encoder | None:
        return self.learners_.input_encoder() if "learners_" in self.__dict__ else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learners_")

    def get_metadata_routing(self) -> Any:
        """Return the metadata requests of this model and of `estimator.fit`, which alone may request `sample_weight`.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            The requests.
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
    """Return a table that can be indexed by rows: an array, a data frame, or a sparse matrix in CSR format."""
    if hasattr(X, "tocsr"):
        return (check_sparse(X, "X") if is_sparse(X) else X).tocsr()
    try:
        X = X if isinstance(getattr(X, "shape", None), tuple) else np.asarray(X)
    except ValueError:
        raise DataError("X is not a table: its rows have different lengths") from None
    if len(X.shape) != 2:
        raise DataError(f"X must be two-dimensional, got shape {tuple(X.shape)}: Reshape your data")
    if 0 in X.shape:
        raise empty(tuple(X.shape), "X")
    return X
