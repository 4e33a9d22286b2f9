"""Logistic regression for two classes, softmax regression (the maximum-entropy classifier) for more."""

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._sklearn import Classifier, accuracy, check_fitted
from linnet.checks import check_number, check_random
from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.data.rows import Rows
from linnet.data.targets import class_weights, label_place
from linnet.errors import ConfigError, DataError
from linnet.estimators.class_labels import class_numbers
from linnet.estimators.inputs import row_weights
from linnet.estimators.linear.messages import FitMessages
from linnet.estimators.linear.model import LinearModel, ReportedOutput
from linnet.estimators.linear.settings import Penalties
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.sums import RowSource
from linnet.heads import Bernoulli, Categorical, draw_class, log_softmax
from linnet.registry import saved
from linnet.theory.certificate import Certificate, certify, walk

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs


def _some(problem: Problem, present: NDArray[np.bool_]) -> Problem:
    """The problem in the classes that are present; rows of others have no weight."""
    assert problem.rows.labels is not None
    if present.all():
        return problem

    def of(by_class: Any) -> Any:
        return None if by_class is None else by_class[..., present]

    some = problem.with_rows(
        labels=np.maximum(np.cumsum(present, dtype=np.int32) - 1, 0)[problem.rows.labels],
        offset=None if problem.rows.offset is None else np.ascontiguousarray(of(problem.rows.offset)),
    )
    return replace(
        some,
        outputs=int(present.sum()),
        l2=of(problem.l2),
        l1=of(problem.l1),
        fixed=None if problem.fixed is None or not of(problem.fixed).any() else of(problem.fixed),
    )


def is_reference(reference: object, classes: list[Any]) -> NDArray[np.bool_]:
    """Which of the classes is the reference; a ConfigError if it cannot be."""
    place = label_place(reference, classes)
    if place is None:
        raise ConfigError(f"reference={reference!r} is not a class: choose from {classes}")
    if len(classes) == 2 and place > 0:
        raise ConfigError(
            f"reference={reference!r}: of two classes the first, {classes[0]!r}, is the reference: "
            "coefficients are those of the second"
        )
    return np.asarray(np.arange(len(classes)) == place)


@saved
class LogisticRegression(Classifier, LinearModel):
    """Two classes: P(second) = 1 / (1 + e^-z). More: P(k) = e^z_k / Σ_l e^z_l.

    Minimises Σ w loss + (1/C) (l1_ratio |coef| + (1 - l1_ratio) coef² / 2), without a penalty on the biases; C=inf fits
    without a penalty. Softmax regression has one set of coefficients too many: without a penalty their mean over the
    classes is zero, and `reference=<class>` fixes that class' coefficients at zero instead. `column_penalty` multiplies
    the penalty of each column (a list, or a dict by name). `gaps="fill"` accepts data frames with missing values: see
    `linnet.estimators.linear`. `verbose=1` shows a progress bar, `verbose=2` one line per iteration. dual,
    intercept_scaling, random_state and n_jobs are accepted and ignored. Defaults that differ from scikit-learn's on
    purpose: tol=1e-12, solver="auto" and max_iter=1000, as problems are solved to the last digit.
    """

    penalty: str | None
    C: float
    l1_ratio: float
    class_weight: Mapping[Any, float] | str | None
    reference: object
    column_penalty: Penalties | None
    solver: str
    max_iter: int
    warm_start: bool
    verbose: int

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        dual: bool = False,
        tol: float = 1e-12,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: object = None,
        solver: str = "auto",
        max_iter: int = 1000,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        reference: object = None,
        column_penalty: Penalties | None = None,
        gaps: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def fit(self, X: object, y: object, sample_weight: object = None, *, offset: object = None) -> Self:
        """Fit the model."""
        return self._fit(X, y, sample_weight, offset)

    def _take(self, weights: Floats, biases: Floats, y: object) -> None:
        if len(self.classes_) > 2 and self._fixed() is None:  # of all equal solutions the one with a mean of zero
            unpenalised = (self._settings.penalty_factors(self._encoder) == 0) | (self._penalty()[0] == 0)
            biases = biases - biases.mean()
            weights[unpenalised] -= weights[unpenalised].mean(axis=1, keepdims=True)
        self.coef_ = self._coefficients(weights)
        self.intercept_ = biases.copy()
        self.n_iter_ = np.array([self.n_iter_], np.int32)

    @property
    def link_(self) -> str:
        """What z is of the probabilities: "logit"."""
        return "logit"

    def _learn(self, X: object, y: object) -> Columns:
        columns = super()._learn(X, y)
        self.classes_, _ = class_numbers(y, columns.rows)
        return columns

    def _learn_encoder(self, encoder: Encoder, classes: object) -> None:
        super()._learn_encoder(encoder, classes)
        if self.class_weight is not None:
            raise ConfigError("class_weight needs rows in memory: give the rows weights instead")
        self.classes_ = np.asarray(classes)

    def _rows(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Rows:
        classes, labels = class_numbers(y, columns.rows, quiet=True)
        if len(classes) != len(self.classes_) or (classes != self.classes_).any():
            raise DataError(f"y has the classes {classes.tolist()}, the model {self.classes_.tolist()}")
        weights = row_weights(sample_weight, columns.rows)
        if self.class_weight is not None:
            labels = labels.astype(np.int32, copy=False)
            by_class = class_weights(self.class_weight, classes, labels, weights)
            weights = by_class[labels] if weights is None else weights * by_class[labels]
        if weights is not None and len(np.unique(labels[weights > 0])) < 2:
            raise DataError("only one class of y has rows with a weight above 0: there is nothing to tell apart")
        shift = self._shift(offset, exposure, columns.rows, self._outputs())
        if len(classes) == 2:
            return Rows(columns, values=labels.astype(np.float64, copy=False)[:, None], weights=weights, offset=shift)
        return Rows(columns, labels=labels, weights=weights, offset=shift)

    def _posed(self, data: RowSource) -> Problem:
        (strength, ratio), fixed = self._penalty(), self._fixed()
        of_two = self._outputs() == 1
        return self._make(
            data,
            Bernoulli() if of_two else Categorical(),
            self._outputs(),
            l2=strength * (1 - ratio),
            l1=strength * ratio,
            fixed=None if of_two else fixed,
        )

    def _messages(self) -> FitMessages:
        return FitMessages(self._encoder, self.classes_)

    def _for_inference(self, problem: Problem) -> tuple[Floats, Floats, Problem, list[ReportedOutput]]:
        """Without a penalty, coefficients are relative to those of the reference class, the first unless chosen."""
        weights, biases, problem = self._held_to(problem)
        if problem.outputs == 1:
            return weights, biases, problem, [ReportedOutput(0, 0, "")]
        places = np.arange(problem.outputs)
        if problem.rows.weights is not None:  # a class without rows does not count
            present = np.bincount(problem.rows.targets(), problem.rows.weights, problem.outputs) > 0
            problem = _some(problem, present)
            weights, biases, places = weights[:, present], biases[present], places[present]
        if not problem.ridge.any() and problem.l1 is None and problem.fixed is None:
            problem = replace(problem, fixed=np.arange(problem.outputs) == 0)
        chosen = np.ones(problem.outputs, np.bool_) if problem.fixed is None else ~problem.fixed
        outputs = [
            ReportedOutput(int(k), int(places[k]), f"{self.classes_[places[k]]}: ") for k in np.flatnonzero(chosen)
        ]
        return weights, biases, problem, outputs

    def sparsify(self) -> Self:
        """Make `coef_` a sparse matrix, which is smaller where most are zero; predictions stay as they are."""
        check_fitted(self)
        self.coef_ = scipy.sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make `coef_` an array again."""
        check_fitted(self)
        if hasattr(self.coef_, "toarray"):
            self.coef_ = self.coef_.toarray()
        return self

    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `linnet.load` reads; a sparse `coef_` becomes an array there."""
        dense = copy(self).densify() if scipy.sparse.issparse(getattr(self, "coef_", None)) else self
        super(LogisticRegression, dense).save(path)

    def decision_function(self, X: object, *, offset: object = None) -> Floats:
        """Return z: one score per row for two classes (above 0: the second), one per row and class for more."""
        z = self._z(X, offset)
        return z[:, 0] if len(self.classes_) == 2 else z

    def predict(self, X: object, *, offset: object = None) -> NDArray[Any]:
        """Return the most probable class of each row."""
        z = self.decision_function(X, offset=offset)
        index = (z > 0).astype(np.intp) if z.ndim == 1 else z.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def _scores(self, X: object, offset: object) -> Floats:
        """One score per class; of two classes the first has 0."""
        z = self._z(X, offset)
        return z if len(self.classes_) > 2 else np.hstack([np.zeros_like(z), z])

    def predict_log_proba(self, X: object, *, offset: object = None) -> Floats:
        """Return the log-probability of each class, exact also where the probability underflows to 0."""
        return log_softmax(self._scores(X, offset))

    def predict_proba(self, X: object, *, offset: object = None) -> Floats:
        """Return the probability of each class."""
        return Categorical().mean(self._scores(X, offset))

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.network import by_z

        return by_z(inputs.graph, self._z_graph(inputs), self.classes_)

    def score(self, X: object, y: object, sample_weight: object = None, *, offset: object = None) -> float:
        """Return the accuracy: the (weighted) share of rows classified correctly."""
        return accuracy(y, self.predict(X, offset=offset), sample_weight)

    def sample(self, X: object, random_state: Any = None, *, offset: object = None) -> NDArray[Any]:
        """Return a class for each row, drawn from its predicted distribution.

        `random_state`: an integer, a RandomState or Generator of numpy.random, or None for NumPy's own.
        """
        check_fitted(self)
        return np.asarray(self.classes_[draw_class(self.predict_proba(X, offset=offset), check_random(random_state))])

    def certificate(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        *,
        offset: object = None,
        segments: Sequence[tuple[object, object]] = (),
    ) -> Certificate:
        """Return a proof that the fit is optimal on these data: see `linnet.theory.certificate`.

        `segments`: pairs of rows, as sequences, dicts or rows of a data frame; the certificate lists the classes
        predicted along the straight line between them. Between two levels of a category a row belongs partly to both.
        """
        columns = self._read(X)
        problem = self._as_fitted()._problem(columns, y, sample_weight, offset, None)
        walks = []
        for start, end in segments:
            z = self._z_of(self._encoder.encode_rows([start, end]))
            z = np.stack([np.zeros(2), z[:, 0]], axis=1) if problem.outputs == 1 else z
            walks.append(walk(z[0], z[1], self.classes_.tolist()))
        names = [*self._encoder.coefficient_names, *(["intercept"] if problem.intercept else [])]
        weights, biases, problem = self._held_to(problem)
        theta = problem.from_user(weights, biases)
        return certify(problem, theta, names, self._encoder.order(), tuple(walks))

    def _check_params(self) -> None:
        super()._check_params()
        self._penalty()

    def _penalty(self) -> tuple[float, float]:
        """The strength of the penalty, 1/C, and the share of l1 in it."""
        kinds = {"deprecated": None, "l2": 0.0, "l1": 1.0, "elasticnet": None, None: 0.0}
        if not isinstance(self.penalty, str | None) or self.penalty not in kinds:
            raise ConfigError(f"penalty must be 'l1', 'l2', 'elasticnet' or None, got {self.penalty!r}")
        check_number(self.C, "C", above=0, at_most=np.inf)
        ratio = 0.0 if self.l1_ratio is None else check_number(self.l1_ratio, "l1_ratio", at_least=0, at_most=1)
        named = kinds[self.penalty]
        ratio = ratio if named is None else named
        return (0.0 if self.penalty is None else 1 / self.C), ratio

    def _fixed(self) -> NDArray[np.bool_] | None:
        """Which class has coefficients of zero, if one is the reference."""
        return None if self.reference is None else is_reference(self.reference, self.classes_.tolist())
