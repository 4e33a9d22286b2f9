"""Logistic regression for two classes, softmax regression (the maximum-entropy classifier) for more."""

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._sklearn import Classifier, accuracy, check_fitted, is_discrete
from linnet.checks import check_number, check_random
from linnet.data.characters import broken, first_broken
from linnet.data.columns import Columns
from linnet.data.targets import Labelled, class_weights, missing
from linnet.errors import ConfigError, DataError, warn
from linnet.estimators.linear_model import LinearModel, Penalties, one_target, row_weights
from linnet.fit.solvers.problem import Floats, Problem
from linnet.heads import Bernoulli, Categorical, Head, draw_class, log_softmax
from linnet.inference.separation.detect import Separation
from linnet.theory.certificate import Certificate, certify, walk

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Answers

_FEW = 20  # rows, which may well have a class each


def class_numbers(
    y: object, rows: int, *, quiet: bool = False, fewest: int = 2
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted classes, no fewer than `fewest`, and, for every row, which of them it has."""
    classes, labels = _classes(y, rows, quiet)
    if len(classes) < fewest:
        raise DataError(f"y has only one class, {classes.tolist()[0]!r}: there is nothing to tell apart")
    return classes, labels


def _classes(y: object, rows: int, quiet: bool) -> tuple[NDArray[Any], NDArray[np.int32]]:
    if isinstance(y, Labelled):
        return y.classes, y.codes
    target = one_target(y, quiet=quiet)
    if target.ndim != 1:
        raise DataError(f"y must have one class a row, got shape {target.shape}")
    if len(target) != rows:
        raise DataError(f"y has {len(target)} rows, but X has {rows}")
    if target.dtype.kind in "bui":
        return _whole_classes(target)
    lacking = missing(target)
    if lacking.any():
        raise DataError(f"y has no class in row {int(lacking.argmax())}: fill in or drop missing values first")
    try:
        classes, labels = np.unique(target, return_inverse=True)
    except TypeError:
        raise DataError("y must hold numbers or names, not both: y = [str(label) for label in y] makes names") from None
    if (place := first_broken(classes.tolist())) >= 0:
        row = int((labels == place).argmax())
        raise broken(classes.tolist()[place], f"y has in row {row} as a class")
    if not is_discrete(target):
        from sklearn.utils.multiclass import check_classification_targets  # which says what is wrong

        check_classification_targets(target)
    if rows > _FEW and len(classes) > rows / 2 and not quiet:
        warn(
            "The number of unique classes is greater than 50% of the number of samples: y could represent a regression "
            "problem, not a classification problem",
            UserWarning,
        )
    return classes, labels.astype(np.int32)


def _whole_classes(target: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The same for whole numbers, which need no sorting if they lie close together."""
    low, high = int(target.min()), int(target.max())
    if high - low > len(target) + 1000 or high > np.iinfo(np.int64).max:
        classes, labels = np.unique(target, return_inverse=True)
        return classes, labels.astype(np.int32)
    above = target.astype(np.int64, copy=False)
    if low:
        above = above - low
    found = np.bincount(above, minlength=high - low + 1) > 0
    if found.all():
        return np.arange(low, high + 1).astype(target.dtype), above.astype(np.int32)
    place = np.cumsum(found, dtype=np.int32) - 1
    return (np.flatnonzero(found) + low).astype(target.dtype), place[above]


def _some(problem: Problem, present: NDArray[np.bool_]) -> Problem:
    """The problem in some of the classes; rows of others have no weight."""
    assert problem.labels is not None
    if present.all():
        return problem

    def of(by_class: Any) -> Any:
        return None if by_class is None else by_class[..., present]

    return replace(
        problem,
        outputs=int(present.sum()),
        labels=np.maximum(np.cumsum(present, dtype=np.int32) - 1, 0)[problem.labels],
        offset=None if problem.offset is None else np.ascontiguousarray(of(problem.offset)),
        l2=of(problem.l2),
        l1=of(problem.l1),
        fixed=None if problem.fixed is None or not of(problem.fixed).any() else of(problem.fixed),
    )


class LogisticRegression(Classifier, LinearModel):
    """Two classes: P(second) = 1 / (1 + e^-z). More: P(k) = e^z_k / Σ_l e^z_l.

    Minimises Σ w loss + (1/C) (l1_ratio |coef| + (1 - l1_ratio) coef² / 2), the biases free; C=inf fits without a
    penalty. Softmax regression has one set of coefficients too many: without a penalty they are given with a mean of
    zero over the classes, and `reference=<class>` holds that class' coefficients at zero instead. `column_penalty`
    multiplies the penalty column by column (a list, or a dict by name). `gaps="fill"` takes data frames with missing
    values: see `linnet.estimators.linear`. `verbose=1` shows a progress bar, `verbose=2` a line an iteration. dual,
    intercept_scaling, random_state and n_jobs are taken and change nothing. Defaults that differ from scikit-learn's on
    purpose: tol=1e-12, solver="auto" and max_iter=1000, as problems are solved to the last digit.
    """

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
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.reference = reference
        self.column_penalty = column_penalty
        self.gaps = gaps
        self.threads = threads

    def fit(self, X: object, y: object, sample_weight: object = None, *, offset: object = None) -> Self:
        """Fit the model."""
        return self._fit(X, y, sample_weight, offset)

    def _report(self, weights: Floats, biases: Floats, y: object) -> None:
        if len(self.classes_) > 2 and self._fixed() is None:  # of all equal solutions the one in the middle
            unpenalised = (self._column_factors() == 0) | (self._penalty()[0] == 0)
            biases = biases - biases.mean()
            weights[unpenalised] -= weights[unpenalised].mean(axis=1, keepdims=True)
        self.coef_ = self._coefficients(weights)
        self.intercept_ = biases.copy()
        self.n_iter_ = np.array([self.n_iter_], np.int32)

    def _learn(self, X: object, y: object) -> Columns:
        columns = super()._learn(X, y)
        self.classes_, _ = class_numbers(y, columns.rows)
        return columns

    def _problem(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Problem:
        strength, ratio = self._penalty()
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
        fixed = self._fixed()
        head: Head = Categorical()
        outputs = len(classes)
        given: dict[str, Any] = {"labels": labels, "fixed": fixed}
        if len(classes) == 2:
            head, outputs, given = Bernoulli(), 1, {"values": labels.astype(np.float64, copy=False)[:, None]}
        return self._make(
            columns,
            head,
            outputs,
            weights=weights,
            offset=self._shift(offset, exposure, columns.rows, outputs),
            l2=strength * (1 - ratio),
            l1=strength * ratio,
            **given,
        )

    def _separated(self, found: Separation, problem: Problem) -> str:
        outputs = found.outputs if problem.outputs > 1 else (0, 1)
        return (
            "class"
            + "es" * (len(outputs) > 1)
            + " "
            + " and ".join(repr(self.classes_[k : k + 1].tolist()[0]) for k in outputs)
        )

    def _for_inference(self, problem: Problem) -> tuple[Floats, Floats, Problem, list[tuple[int, str]]]:
        """Without a penalty coefficients are told from those of the reference class, the first unless chosen."""
        weights, biases, problem = self._held_to(problem)
        if problem.outputs == 1:
            return weights, biases, problem, [(0, "")]
        classes = self.classes_
        if problem.weights is not None:  # a class without rows does not count
            present = np.bincount(problem.target, problem.weights, problem.outputs) > 0
            problem = _some(problem, present)
            weights, biases, classes = weights[:, present], biases[present], classes[present]
        if not problem.ridge.any() and problem.l1 is None and problem.fixed is None:
            problem = replace(problem, fixed=np.arange(problem.outputs) == 0)
        chosen = np.ones(problem.outputs, np.bool_) if problem.fixed is None else ~problem.fixed
        labels = [(int(k), f"{classes[k]}: ") for k in np.flatnonzero(chosen)]
        return weights, biases, problem, labels

    def sparsify(self) -> Self:
        """Make `coef_` a sparse matrix, which is smaller where most are zero; predictions are the same."""
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
        """Write the model to a file of data, which `linnet.load` reads; its `coef_` is an array there."""
        dense = copy(self).densify() if scipy.sparse.issparse(getattr(self, "coef_", None)) else self
        super(LogisticRegression, dense).save(path)

    def decision_function(self, X: object, *, offset: object = None) -> Floats:
        """Return z: one score a row for two classes (above 0: the second), one a class for more."""
        z = self._z(X, offset)
        return z[:, 0] if len(self.classes_) == 2 else z

    def predict(self, X: object, *, offset: object = None) -> NDArray[Any]:
        """Return the most probable class of each row."""
        z = self.decision_function(X, offset=offset)
        index = (z > 0).astype(np.intp) if z.ndim == 1 else z.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def _scores(self, X: object, offset: object) -> Floats:
        """A score for each class; of two, the first has 0."""
        z = self._z(X, offset)
        return z if len(self.classes_) > 2 else np.hstack([np.zeros_like(z), z])

    def predict_log_proba(self, X: object, *, offset: object = None) -> Floats:
        """Return the logarithm of every class' probability, exact also where the probability itself is 0."""
        return log_softmax(self._scores(X, offset))

    def predict_proba(self, X: object, *, offset: object = None) -> Floats:
        """Return every class' probability."""
        return Categorical().mean(self._scores(X, offset))

    def _to_graph(self, inputs: "Inputs") -> "Answers":
        from linnet.export.onnx.network import by_z

        return by_z(inputs.graph, self._z_graph(inputs), self.classes_)

    def score(self, X: object, y: object, sample_weight: object = None, *, offset: object = None) -> float:
        """Return the share of rows whose class is predicted."""
        return accuracy(y, self.predict(X, offset=offset), sample_weight)

    def sample(self, X: object, random_state: Any = None, *, offset: object = None) -> NDArray[Any]:
        """Return a class for each row, drawn from its predicted distribution.

        `random_state`: a whole number, a RandomState or Generator of numpy.random, or None for NumPy's own.
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
        """Return the proof that the fit reached its optimum on these data: see `linnet.theory.certificate`.

        `segments`: pairs of rows, as sequences, dicts or rows of a data frame; the certificate tells which classes are
        met on the straight way between them. On the way from one level to another a row is partly of both.
        """
        columns = self._read(X)
        problem = self._problem(columns, y, sample_weight, offset, None)
        ways = []
        for start, end in segments:
            z = self._z_of(self._encoder.encode_rows([start, end]))
            z = np.stack([np.zeros(2), z[:, 0]], axis=1) if problem.outputs == 1 else z
            ways.append(walk(z[0], z[1], self.classes_.tolist()))
        names = [*self._encoder.coefficient_names, *(["intercept"] if problem.intercept else [])]
        weights, biases, problem = self._held_to(problem)
        theta = problem.from_user(weights, biases)
        return certify(problem, theta, names, self._encoder.order(), tuple(ways))

    def _check_params(self) -> None:
        super()._check_params()
        self._penalty()

    def _penalty(self) -> tuple[float, float]:
        """Its strength and the share of l1."""
        kinds = {"deprecated": None, "l2": 0.0, "l1": 1.0, "elasticnet": None, None: 0.0}
        if not isinstance(self.penalty, str | None) or self.penalty not in kinds:
            raise ConfigError(f"penalty must be 'l1', 'l2', 'elasticnet' or None, got {self.penalty!r}")
        check_number(self.C, "C", above=0, at_most=np.inf)
        ratio = 0.0 if self.l1_ratio is None else check_number(self.l1_ratio, "l1_ratio", at_least=0, at_most=1)
        named = kinds[self.penalty]
        ratio = ratio if named is None else named
        return (0.0 if self.penalty is None else 1 / self.C), ratio

    def _fixed(self) -> NDArray[np.bool_] | None:
        if self.reference is None:
            return None
        names = self.classes_.tolist()
        if self.reference not in names:
            raise ConfigError(f"reference={self.reference!r} is not a class: choose from {names}")
        if len(names) == 2 and self.reference != names[0]:
            raise ConfigError(
                f"reference={self.reference!r}: of two classes the first, {names[0]!r}, is the reference: "
                "coefficients are those of the second"
            )
        return np.asarray(np.arange(len(names)) == names.index(self.reference))
