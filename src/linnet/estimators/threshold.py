"""ThresholdClassifier: any classifier, with its decision tuned to what it is for."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from numbers import Integral
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
from linnet.checks import check_name, check_random, check_whole
from linnet.data.encoder import Encoder
from linnet.data.sparse import check_sparse, is_sparse
from linnet.data.table import Array
from linnet.data.targets import as_weights
from linnet.errors import ConfigError, DataError, LinnetError
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
    """How far thresholds of several folds lie apart; unknown for one alone, and where one is infinite."""
    finite = bool(np.isfinite(thresholds).all())
    return {
        "mean": float(thresholds.mean()) if finite else float("inf"),
        "std": float(thresholds.std()) if finite and len(thresholds) > 1 else float("nan"),
        "min": float(thresholds.min()),
        "max": float(thresholds.max()),
    }


_CV = "a number of folds, a part, a splitter, pairs of row numbers to train and to tune on, or 'prefit'"


def _are_places(rows: object) -> bool:
    """Whether these may be numbers of rows, or flags of them."""
    found = np.asarray(rows) if isinstance(rows, list | tuple | range | np.ndarray) else np.empty((0, 0))
    return found.ndim == 1 and (found.dtype.kind in "iub" or not len(found))


@saved
class ThresholdClassifier(Classifier):
    """A classifier whose threshold is the best one for an objective.

    `objective`: "f1" or any F-beta ("f2", "f0.5"), "recall>=0.9" (with the highest precision), "precision>=0.8" (with
    the highest recall), a cost matrix (`[i][j]`: saying class j of a row of class i), or an object of
    `linnet.evaluate.thresholds`.

    Two classes get one threshold on the score of the positive class (`pos_label`, by default the second). Several get
    one each, and the class furthest above its threshold is said; with `negative_class` that class is said where none
    is reached. A cost matrix of several classes needs no threshold: the class of the lowest expected cost is said,
    which trusts the probabilities.

    `cv`: thresholds are tuned on out-of-fold scores of so many stratified folds (or those of a splitter), a number
    below 1 on that part of the rows held out, and the estimator is then fitted to all rows; "prefit" takes a fitted
    estimator and all rows to tune. `fit(..., eval_set=(X, y))` fits to the rows and tunes on the development set given.

    Learned: `estimator_`, `classes_`, `threshold_` (one number, or one a class), `value_` (of the objective, on the
    rows it was tuned on), `fold_thresholds_` (folds x thresholds) and `threshold_spread_`, their mean, standard
    deviation, least and greatest: a threshold that moves a lot from fold to fold should not be trusted to its digits.

    `predict_proba` and `decision_function` are the estimator's own, in whose unit `threshold_` is: no decision bends
    them, so that `predict` is not their arg max.

    `sample_weight` weighs rows in the fit and in tuning. Other arguments of `fit` go to the estimator's `fit`, those
    with one entry a row by fold; under scikit-learn's metadata routing, to whom asks for them.
    """

    classes_: NDArray[Any]
    objective_: ThresholdObjective
    positive_: int  # the number of the positive class of two
    negative_: int | None  # the number of the class said where no threshold is reached
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
        """Fit the estimator and tune its thresholds, or leave everything as it was.

        `eval_set`: a development set (X, y) or (X, y, weights) to tune on, of which the estimator sees nothing.
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
        tuning: list[tuple[Array, Array, Any]] = []  # scores, class numbers, weights
        prefit = isinstance(self.cv, str)
        if prefit and self.cv != "prefit":
            raise ConfigError(f"cv must be {_CV}, got {self.cv!r}")
        if prefit and eval_set is not None:
            raise ConfigError("eval_set: with cv='prefit' all rows are to tune on; give these rows as X and y")
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
            y_dev, given = one_target(eval_set[1]), eval_set[2] if len(eval_set) == 3 else None
            weights = None if given is None else as_weights(given, np.float64, rows=len(y_dev))
            tuning.append(self._scored(self.estimator_, eval_set[0], y_dev, weights))
        else:
            if not self._by_cost:
                for train, test in self._splits(X, y, split_params):
                    part = _check_method_params(X, params, train)
                    fold = self._trained(_safe_indexing(X, train), y[train], part)
                    left = None if weights is None else weights[test]
                    tuning.append(self._scored(fold, _safe_indexing(X, test), y[test], left))
            self.estimator_ = self._trained(X, y, params)
        self._tune(tuning)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of a fit before
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _routed(self, weights: Any, fit_params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What goes to the estimator's fit and to the splitter's split."""
        from sklearn import get_config
        from sklearn.utils.metadata_routing import process_routing

        if get_config()["enable_metadata_routing"]:
            given = fit_params if weights is None else {**fit_params, "sample_weight": weights}
            routed = process_routing(self, "fit", **given)
            return routed["estimator"]["fit"], routed["splitter"]["split"]
        if weights is None:
            return fit_params, {}
        if not takes_weights(self.estimator):
            raise ConfigError(
                f"{type(self.estimator).__name__}.fit takes no sample_weight: in a pipeline, let the step that takes "
                "it ask for it (set_fit_request) under sklearn.set_config(enable_metadata_routing=True)"
            )
        return {**fit_params, "sample_weight": weights}, {}

    def _read_parameters(self) -> None:
        """Set what predict needs of the parameters, so that it does not change with them."""
        check_random(self.random_state)
        objective, count = as_objective(self.objective), len(self.classes_)
        if isinstance(objective, Cost) and len(objective.matrix) != count:
            size = len(objective.matrix)
            raise ConfigError(f"the cost matrix is {size} x {size}, but y has {count} classes")
        given = self.negative_class
        self.negative_ = None if given is None else index_of(given, self.classes_, "negative_class")
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

    def _splits(self, X: Any, y: Array, params: dict[str, Any]) -> Iterator[tuple[Array, Array]]:
        from sklearn.model_selection import StratifiedShuffleSplit, check_cv

        cv = self.cv
        if isinstance(cv, float) and 0 < cv < 1:
            splitter = StratifiedShuffleSplit(1, test_size=cv, random_state=check_random(self.random_state))
        else:
            if isinstance(cv, Integral):
                cv = check_whole(cv, "cv", at_least=2)
            elif isinstance(cv, bytes) or not (cv is None or hasattr(cv, "split") or np.iterable(cv)):
                raise ConfigError(f"cv must be {_CV}, got {cv!r}")
            splitter = check_cv(cv, y=y, classifier=True)
        found = False
        try:
            for split in splitter.split(X, y, **params):
                if not (isinstance(split, tuple | list) and len(split) == 2 and all(map(_are_places, split))):
                    raise ConfigError(f"cv must be {_CV}; one of its splits is {split!r}")
                found = True
                yield split[0], split[1]
            if not found:
                raise ConfigError(f"cv must be {_CV}; it has no splits: {cv!r}")
        except LinnetError:
            raise
        except (TypeError, AttributeError) as error:
            raise ConfigError(f"cv must be {_CV}, got {cv!r}: {error}") from None
        except ValueError as error:  # such as a class with fewer rows than folds
            raise DataError(f"the rows cannot be split by cv={self.cv!r}: {error}") from None

    def _trained(self, X: Any, y: Array, params: dict[str, Any]) -> Any:
        from sklearn.base import clone

        model = clone(self.estimator)
        model.fit(X, y, **params)
        self._check_classes(model)
        return model

    def _check_classes(self, model: Any) -> None:
        known = getattr(model, "classes_", None)
        if known is None:
            raise ConfigError(f"{type(model).__name__} is no classifier: it has no classes_ once it is fitted")
        if not np.array_equal(known, self.classes_):
            raise DataError(
                f"the estimator knows the classes {np.asarray(known).tolist()}, but y has {self.classes_.tolist()}: "
                "take fewer folds, or rows of all classes"
            )

    def _response(self, model: Any) -> str:
        check_name(self.response_method, "response_method", ("auto", *RESPONSES))
        for method in RESPONSES if self.response_method == "auto" else (self.response_method,):
            if hasattr(model, method):
                return method
        raise ConfigError(f"{type(model).__name__} has neither predict_proba nor decision_function")

    @property
    def _decided_by(self) -> str:
        """The method whose scores the threshold was tuned on, whatever `response_method` says by now."""
        if self._by_probability is None:
            return self._response(self.estimator_)
        return RESPONSES[0 if self._by_probability else 1]

    def _scores(self, model: Any, X: Any, response: str | None = None) -> Array:
        """Rows x 1 for two classes, the score of the positive one; rows x classes for several."""
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
        known = self.classes_[np.minimum(codes, len(self.classes_) - 1)] == y
        if not np.all(known):
            row = int(np.argmin(known))
            raise DataError(f"eval_set has the class {plain(y[row])!r} in row {row}, which y has not")
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
                f"the rows to tune on have one class only, or lack a class: {self.objective_} cannot be tuned"
            )
        folds = [found] if len(tuning) == 1 else [self._chosen(*fold) for fold in tuning]
        self.fold_thresholds_ = np.array([[one.threshold if one else np.nan for one in fold] for fold in folds])
        spreads = [_spread(column[~np.isnan(column)]) for column in self.fold_thresholds_.T]
        thresholds, values = [one.threshold for one in found if one], [one.value for one in found if one]
        single = len(self.classes_) == 2
        self.threshold_ = thresholds[0] if single else np.array(thresholds)
        self.value_ = values[0] if single else np.array(values)
        self.threshold_spread_ = {
            name: spreads[0][name] if single else np.array([spread[name] for spread in spreads]) for name in spreads[0]
        }

    def _chosen(self, scores: Any, codes: Any, weights: Any) -> list[Threshold | None]:
        """The threshold of each class that has one; None where these rows have no positives to tune it on."""
        count, objective = len(self.classes_), self.objective_
        wanted = [(self.positive_, 0)] if count == 2 else [(k, k) for k in range(count)]
        chosen: list[Threshold | None] = []
        for label, column in wanted:
            flags = (codes == label).view(np.uint8)
            cutoffs = Cutoffs.counted(np.ascontiguousarray(scores[:, column]), flags, weights)
            lacking = not len(cutoffs.tp) or (objective.needs_positives and not cutoffs.positives)
            chosen.append(None if lacking else objective.choose(cutoffs))
        return chosen

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row by the tuned decision."""
        check_fitted(self)
        if isinstance(self.objective_, Cost) and self._by_cost:
            said = least_cost(self.estimator_.predict_proba(X), self.objective_.matrix)
        elif len(self.classes_) == 2:
            reached = self._scores(self.estimator_, X, self._decided_by)[:, 0] >= self.threshold_
            said = np.where(reached, self.positive_, 1 - self.positive_)
        else:
            said = furthest_above(self._scores(self.estimator_, X, self._decided_by), self.threshold_, self.negative_)
        return np.asarray(self.classes_[said])

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """Return the estimator's probabilities."""
        check_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Array:
        """Return the estimator's log probabilities."""
        check_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """Return the estimator's scores."""
        check_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator, if it is one of linnet's, and its decision to a file of data that `linnet.load` reads.

        A splitter given as `cv` is not kept: the model read has the default.
        """
        kept = copy(self)
        if not isinstance(self.cv, int | float | str):
            kept.cv = inspect.signature(type(self)).parameters["cv"].default
        save(kept, path)

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
        from linnet.export.onnx import network as part
        from linnet.export.onnx.file import outputs_of

        graph, answers = inputs.graph, outputs_of(self.estimator_, inputs)
        by_probability = self._decided_by == "predict_proba"
        scores = answers["probabilities" if by_probability else "scores"]
        if isinstance(self.objective_, Cost) and self._by_cost:
            said = part.least_cost(graph, answers["probabilities"], np.asarray(self.objective_.matrix))
        elif len(self.classes_) > 2:
            said = part.furthest_above(graph, scores, self.threshold_, self.negative_)
        else:
            if by_probability:
                scores = part.one_column(graph, scores, self.positive_)
            elif self.positive_ == 0:
                scores = graph.add("Neg", scores)
            said = part.if_yes(graph, part.above(graph, scores, self.threshold_), self.positive_, 1 - self.positive_)
        return {**answers, "label": part.labels(graph, said, self.classes_)}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def get_metadata_routing(self) -> Any:
        """Return who may be given what: the estimator's fit, the splitter's split, and this fit itself."""
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
