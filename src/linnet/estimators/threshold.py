"""ThresholdClassifier: any classifier, with decision thresholds tuned for an objective."""

import inspect
import os
from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import (
    Classifier,
    available_if,
    check_estimator,
    check_fitted,
    encoder_of,
    takes_weights,
    weighed_if,
)
from linnet.checks import check_name, check_random
from linnet.data.encoder import Encoder
from linnet.data.sparse import check_sparse, is_sparse
from linnet.data.table import Array
from linnet.data.targets import as_weights
from linnet.errors import ConfigError, DataError, LinnetError
from linnet.estimators.folds import FORMS_OF_CV, folds
from linnet.estimators.inputs import one_target
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.inputs import Floats, as_score_table, as_scores, index_of, plain, positive_label
from linnet.evaluate.objectives import Cost, Threshold, ThresholdObjective, as_objective
from linnet.evaluate.thresholds import furthest_above, least_cost
from linnet.export.model_file import save
from linnet.registry import need, saved
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs

RESPONSES = ("predict_proba", "decision_function")


def _has(method: str) -> Callable[[Callable[..., Any]], Any]:
    def check(self: "ThresholdClassifier") -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)  # raises what the estimator raises
        return True

    return available_if(check)


def _spread(thresholds: Floats) -> dict[str, float]:
    """Return mean, standard deviation and range of the thresholds of the folds.

    The standard deviation is NaN for a single fold, and the mean inf if a threshold is infinite.
    """
    finite = bool(np.isfinite(thresholds).all())
    return {
        "mean": float(thresholds.mean()) if finite else float("inf"),
        "std": float(thresholds.std()) if finite and len(thresholds) > 1 else float("nan"),
        "min": float(thresholds.min()),
        "max": float(thresholds.max()),
    }


@saved
class ThresholdClassifier(Classifier):
    """A classifier whose decision thresholds are optimal for an objective.

    Two classes have one threshold, on the score of the positive class. Several have one each, and the class whose score
    is furthest above its threshold is predicted. A cost matrix of several classes needs no threshold: the class of the
    lowest expected cost is predicted, which relies on calibrated probabilities.

    `predict_proba` and `decision_function` are those of the estimator, in whose unit `threshold_` is; the tuned
    decision does not change them, so that `predict` is not their argmax.

    Parameters
    ----------
    estimator : classifier
        The classifier, which is cloned unless `cv="prefit"`.
    objective : str, cost matrix or ThresholdObjective, default="f1"
        "f1" or any F-beta ("f2", "f0.5"); "recall>=0.9" (the highest precision with that recall); "precision>=0.8" (the
        highest recall with that precision); a matrix whose entry [i][j] is the cost of predicting class j for a row of
        class i; or an object of `linnet.evaluate.thresholds`.
    cv : int, float, splitter, pairs of indices or "prefit", default=5
        The rows for tuning: out-of-fold scores of as many stratified folds, or of the folds of a splitter; for a number
        below 1, a held-out share of the rows. The estimator is then fitted to all rows. "prefit" tunes a fitted
        estimator on all rows.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        The method whose scores are compared with the threshold; "auto" is predict_proba if there is one.
    pos_label : class label or None, default=None
        The positive class of two; None is the second.
    negative_class : class label or None, default=None
        With several classes, the class that is predicted if no score reaches its threshold.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the held-out rows, for a `cv` below 1.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    classes_ : array of shape (classes,)
        The sorted classes.
    threshold_ : float or array of shape (classes,)
        The threshold, or one per class; None for the cost matrix of several classes.
    value_ : float or array of shape (classes,)
        The value of the objective on the tuning rows.
    fold_thresholds_ : array of shape (folds, thresholds)
        The thresholds tuned on each fold alone.
    threshold_spread_ : dict
        Their mean, std, min and max. Trust no more digits of a threshold than the folds agree on.
    """

    classes_: NDArray[Any]
    objective_: ThresholdObjective
    positive_: int  # the index of the positive class of two
    negative_: int | None  # the index of the class predicted where no threshold is reached
    threshold_: Any
    value_: Any
    fold_thresholds_: Floats
    threshold_spread_: dict[str, Any]
    _by_probability: bool | None = None  # what the threshold was tuned on; None in older files
    _file_types: ClassVar[Mapping[str, Any]] = {"_by_probability": bool | None}

    def __init__(
        self,
        estimator: Any,
        objective: Any = "f1",
        *,
        cv: Any = 5,
        response_method: str = "auto",
        pos_label: Any = None,
        negative_class: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.cv = cv
        self.response_method = response_method
        self.pos_label = pos_label
        self.negative_class = negative_class
        self.random_state = random_state

    @weighed_if(lambda self: takes_weights(self.estimator) or isinstance(self.cv, str))
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the estimator and tune its thresholds; if that fails, the model stays as it was.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,)
            The class of each row.
        sample_weight : array of shape (rows,), default=None
            Row weights, in the fit and in tuning.
        eval_set : (X, y) or (X, y, weights), default=None
            A development set to tune on, which the estimator is not fitted to.
        **fit_params
            Further arguments of the estimator's `fit`; each fold gets its rows of those with one entry per row. Under
            scikit-learn's metadata routing they go where they are requested.

        Returns
        -------
        self
            The fitted model.
        """
        before = dict(self.__dict__)
        try:
            return self._fit(X, y, sample_weight, eval_set, fit_params)
        except BaseException:
            self.__dict__ = before
            raise

    def _fit(self, X: Any, y: Any, weights: Any, eval_set: Any, fit_params: dict[str, Any]) -> Self:
        from sklearn.utils import _safe_indexing, indexable
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import _check_method_params, check_is_fitted

        check_estimator(self.estimator)
        if y is None:
            raise DataError("ThresholdClassifier requires y to be passed, but the target y is None")
        try:
            check_classification_targets(y)
            X, y = indexable(check_sparse(X, "X") if is_sparse(X) else X, one_target(y))
        except LinnetError:
            raise
        except (TypeError, ValueError) as error:  # scikit-learn's
            raise DataError(f"X and y cannot be used: {error}") from None
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise DataError("ThresholdClassifier needs at least 2 classes, and y has one class only")
        self._read_parameters()
        weights = None if weights is None else as_weights(weights, np.float64, rows=len(y), table="X")
        tuning: list[tuple[Array, Array, Any]] = []  # scores, class indices, weights
        prefit = isinstance(self.cv, str)
        if prefit and self.cv != "prefit":
            raise ConfigError(f"cv must be {FORMS_OF_CV}, got {self.cv!r}")
        if prefit and eval_set is not None:
            raise ConfigError("cv='prefit' tunes on all rows of X and y: pass the rows of eval_set there")
        if prefit and fit_params:
            raise ConfigError(f"{', '.join(fit_params)}: with cv='prefit' nothing is fitted")
        params, split_params = ({}, {}) if prefit else self._routed(weights, fit_params)
        if prefit:
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            self._check_classes(self.estimator)
            tuning.append(self._scored(self.estimator, X, y, weights))
        elif eval_set is not None:
            if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
                raise ConfigError("eval_set must be (X, y) or (X, y, weights)")
            self.estimator_ = self._trained(X, y, params)
            y_dev, weights_dev = one_target(eval_set[1]), eval_set[2] if len(eval_set) == 3 else None
            weights = None if weights_dev is None else as_weights(weights_dev, np.float64, rows=len(y_dev))
            tuning.append(self._scored(self.estimator_, eval_set[0], y_dev, weights))
        else:
            if not self._by_cost:
                for train, test in folds(self.cv, X, y, self.random_state, split_params):
                    fold_params = _check_method_params(X, params, train)
                    model = self._trained(_safe_indexing(X, train), y[train], fold_params)
                    test_weights = None if weights is None else weights[test]
                    tuning.append(self._scored(model, _safe_indexing(X, test), y[test], test_weights))
            self.estimator_ = self._trained(X, y, params)
        self._tune(tuning)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of a previous fit
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _routed(self, weights: Any, fit_params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arguments of the estimator's fit and those of the splitter's split."""
        from sklearn import get_config
        from sklearn.utils.metadata_routing import process_routing

        if get_config()["enable_metadata_routing"]:
            params = fit_params if weights is None else {**fit_params, "sample_weight": weights}
            routed = process_routing(self, "fit", **params)
            return routed["estimator"]["fit"], routed["splitter"]["split"]
        if weights is None:
            return fit_params, {}
        if not takes_weights(self.estimator):
            raise ConfigError(
                f"{type(self.estimator).__name__}.fit takes no sample_weight: in a pipeline, request it for the step "
                "that does (set_fit_request) under sklearn.set_config(enable_metadata_routing=True)"
            )
        return {**fit_params, "sample_weight": weights}, {}

    def _read_parameters(self) -> None:
        """Set what `predict` needs of the parameters, so that setting them later does not change predictions."""
        check_random(self.random_state)
        objective, count = as_objective(self.objective), len(self.classes_)
        if isinstance(objective, Cost) and len(objective.matrix) != count:
            size = len(objective.matrix)
            raise ConfigError(f"the cost matrix is {size} x {size}, but y has {count} classes")
        negative = self.negative_class
        self.negative_ = None if negative is None else index_of(negative, self.classes_, "negative_class")
        self.objective_, self.positive_ = objective, 1
        if count == 2 and self.pos_label is not None:
            self.positive_ = index_of(positive_label(self.classes_, self.pos_label), self.classes_, "pos_label")
        elif count == 2 and self.negative_ is not None:
            self.positive_ = 1 - self.negative_
        if isinstance(objective, Cost) and self.positive_ == 0:  # from the order of classes to (negative, positive)
            self.objective_ = Cost(objective.matrix[::-1, ::-1])

    @property
    def _by_cost(self) -> bool:
        return isinstance(self.objective_, Cost) and len(self.classes_) > 2

    def _trained(self, X: Any, y: Array, params: dict[str, Any]) -> Any:
        from sklearn.base import clone

        model = clone(self.estimator)
        model.fit(X, y, **params)
        self._check_classes(model)
        return model

    def _check_classes(self, model: Any) -> None:
        model_classes = getattr(model, "classes_", None)
        if model_classes is None:
            raise ConfigError(f"{type(model).__name__} is not a classifier: it has no classes_ after the fit")
        if not np.array_equal(model_classes, self.classes_):
            raise DataError(
                f"the estimator has the classes {np.asarray(model_classes).tolist()}, "
                f"but y has {self.classes_.tolist()}: use fewer folds, or training rows of all classes"
            )

    def _response(self, model: Any) -> str:
        check_name(self.response_method, "response_method", ("auto", *RESPONSES))
        for method in RESPONSES if self.response_method == "auto" else (self.response_method,):
            if hasattr(model, method):
                return method
        raise ConfigError(f"{type(model).__name__} has neither predict_proba nor decision_function")

    @property
    def _decided_by(self) -> str:
        """The method whose scores the threshold was tuned on, even if `response_method` has been set since."""
        if self._by_probability is None:
            return self._response(self.estimator_)
        return RESPONSES[0 if self._by_probability else 1]

    def _scores(self, model: Any, X: Any, response: str | None = None) -> Array:
        """Return the scores: for two classes rows x 1, of the positive class; for several rows x classes."""
        scores = np.asarray(getattr(model, response or self._response(model))(X))
        count = len(self.classes_)
        if count > 2:
            table = as_score_table(scores, len(scores), "scores")
            if table.shape[1] != count:
                raise DataError(f"the estimator's scores have {table.shape[1]} columns, but there are {count} classes")
            return table
        if scores.ndim == 2 and scores.shape[1] == 2:
            scores = scores[:, self.positive_]
        elif self.positive_ == 0:
            scores = -scores
        return as_scores(scores, len(scores), "scores")[:, None]

    def _scored(self, model: Any, X: Any, y: Array, weights: Any) -> tuple[Array, Array, Any]:
        codes = np.searchsorted(self.classes_, y)
        is_known = self.classes_[np.minimum(codes, len(self.classes_) - 1)] == y
        if not np.all(is_known):
            row = int(np.argmin(is_known))
            raise DataError(f"eval_set has the class {plain(y[row])!r} in row {row}, which y does not have")
        return self._scores(model, X), codes, weights

    def _tune(self, tuning: list[tuple[Array, Array, Any]]) -> None:
        self._by_probability = self._response(self.estimator_) == "predict_proba"
        if self._by_cost:
            if not self._by_probability:
                raise ConfigError("the lowest expected cost of several classes needs predict_proba")
            self.threshold_, self.value_ = None, None
            self.fold_thresholds_ = np.empty((0, 0))
            self.threshold_spread_ = {}
            return
        scores, codes, weights = (
            None if parts[0] is None else np.concatenate(parts) for parts in zip(*tuning, strict=True)
        )
        found = self._chosen(scores, codes, weights)
        if None in found:
            raise DataError(
                f"the rows for tuning have one class only, or lack a class: {self.objective_} cannot be tuned"
            )
        by_fold = [found] if len(tuning) == 1 else [self._chosen(*fold) for fold in tuning]
        self.fold_thresholds_ = np.array([[each.threshold if each else np.nan for each in fold] for fold in by_fold])
        spreads = [_spread(column[~np.isnan(column)]) for column in self.fold_thresholds_.T]
        thresholds, values = [each.threshold for each in found if each], [each.value for each in found if each]
        single = len(self.classes_) == 2
        self.threshold_ = thresholds[0] if single else np.array(thresholds)
        self.value_ = values[0] if single else np.array(values)
        self.threshold_spread_ = {
            name: spreads[0][name] if single else np.array([spread[name] for spread in spreads]) for name in spreads[0]
        }

    def _chosen(self, scores: Any, codes: Any, weights: Any) -> list[Threshold | None]:
        """Return the threshold of each class that has one; None where the rows have no positives to tune it on."""
        count, objective = len(self.classes_), self.objective_
        columns = [(self.positive_, 0)] if count == 2 else [(k, k) for k in range(count)]
        chosen: list[Threshold | None] = []
        for label, column in columns:
            flags = (codes == label).view(np.uint8)
            cutoffs = Cutoffs.counted(np.ascontiguousarray(scores[:, column]), flags, weights)
            is_undefined = not len(cutoffs.tp) or (objective.needs_positives and not cutoffs.positives)
            chosen.append(None if is_undefined else objective.choose(cutoffs))
        return chosen

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row by the tuned decision.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows,)
            The predicted classes.
        """
        check_fitted(self)
        if isinstance(self.objective_, Cost) and self._by_cost:
            index = least_cost(self.estimator_.predict_proba(X), self.objective_.matrix)
        elif len(self.classes_) == 2:
            reached = self._scores(self.estimator_, X, self._decided_by)[:, 0] >= self.threshold_
            index = np.where(reached, self.positive_, 1 - self.positive_)
        else:
            index = furthest_above(self._scores(self.estimator_, X, self._decided_by), self.threshold_, self.negative_)
        return np.asarray(self.classes_[index])

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """Return the estimator's class probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows, classes)
            The probabilities, which the thresholds do not change.
        """
        check_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the estimator's class probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows, classes)
            The log-probabilities, which the thresholds do not change.
        """
        check_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """Return the estimator's scores.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.

        Returns
        -------
        array of shape (rows,) or (rows, classes)
            The scores, which the thresholds do not change.
        """
        check_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator, which must be one of linnet's, and its thresholds to a file that `linnet.load` reads.

        A splitter in `cv` is not kept: the loaded model has the default.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced once the new one is complete.
        """
        saved = copy(self)
        if not isinstance(self.cv, int | float | str):
            saved.cv = inspect.signature(type(self)).parameters["cv"].default
        save(saved, path)

    def _check_file(self) -> None:
        super()._check_file()
        if "classes_" in self.__dict__:
            for name, number in {"positive_": self.positive_, "negative_": self.negative_}.items():
                none = number is None and name == "negative_"
                need(none or (fits(number, int) and 0 <= number < len(self.classes_)), self, name)  # type: ignore[operator]

    def _input_encoder(self) -> Encoder | None:
        inside = self.__dict__.get("estimator_")
        return encoder_of(inside)

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx import network as nodes
        from linnet.export.onnx.file import outputs_of

        graph, outputs = inputs.graph, outputs_of(self.estimator_, inputs)
        by_probability = self._decided_by == "predict_proba"
        scores = outputs["probabilities" if by_probability else "scores"]
        if isinstance(self.objective_, Cost) and self._by_cost:
            index = nodes.least_cost(graph, outputs["probabilities"], np.asarray(self.objective_.matrix))
        elif len(self.classes_) > 2:
            index = nodes.furthest_above(graph, scores, self.threshold_, self.negative_)
        else:
            if by_probability:
                scores = nodes.one_column(graph, scores, self.positive_)
            elif self.positive_ == 0:
                scores = graph.add("Neg", scores)
            index = nodes.if_yes(graph, nodes.above(graph, scores, self.threshold_), self.positive_, 1 - self.positive_)
        return {**outputs, "label": nodes.labels(graph, index, self.classes_)}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def get_metadata_routing(self) -> Any:
        """Return the metadata requests of this model, of the estimator's fit and of the splitter's split.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            The requests.
        """
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        return (
            MetadataRouter(owner=self)
            .add_self_request(super().get_metadata_routing())
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags
