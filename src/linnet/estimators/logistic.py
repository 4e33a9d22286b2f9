"""Logistic regression for two classes, and softmax regression (the maximum-entropy classifier) for more."""

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._sklearn import Classifier, accuracy, check_fitted
from linnet.arrays import ArrayLike, Table, Targets
from linnet.checks import check_number, check_random
from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.data.rows import Rows
from linnet.data.targets import class_weights, label_index
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


def _with_classes(problem: Problem, present: NDArray[np.bool_]) -> Problem:
    """Restrict a problem to the classes that are present; rows of the others have weight 0."""
    assert problem.rows.labels is not None
    if present.all():
        return problem

    def of(by_class: Any) -> Any:
        return None if by_class is None else by_class[..., present]

    restricted = problem.with_rows(
        labels=np.maximum(np.cumsum(present, dtype=np.int32) - 1, 0)[problem.rows.labels],
        offset=None if problem.rows.offset is None else np.ascontiguousarray(of(problem.rows.offset)),
    )
    return replace(
        restricted,
        outputs=int(present.sum()),
        l2=of(problem.l2),
        l1=of(problem.l1),
        fixed=None if problem.fixed is None or not of(problem.fixed).any() else of(problem.fixed),
    )


def is_reference(reference: object, classes: list[Any]) -> NDArray[np.bool_]:
    """Return a flag per class, True for the reference; raise a ConfigError if it cannot be the reference."""
    place = label_index(reference, classes)
    if place is None:
        raise ConfigError(f"reference={reference!r} is not a class: choose from {classes}")
    if len(classes) == 2 and place > 0:
        raise ConfigError(
            f"reference={reference!r}: with two classes the reference is always the first, {classes[0]!r}: "
            "coefficients are those of the second"
        )
    return np.asarray(np.arange(len(classes)) == place)


@saved
class LogisticRegression(Classifier, LinearModel):
    """Logistic regression for two classes, P(second) = 1 / (1 + e^-z); for more, softmax: P(k) = e^z_k / Σ_l e^z_l.

    Minimises Σ w loss + (1/C) Σ (l1_ratio |coef| + (1 - l1_ratio) coef² / 2); the intercepts are not penalised. Softmax
    regression has one set of coefficients too many: without a penalty, their mean over the classes is 0. Some defaults
    differ from scikit-learn's on purpose: tol=1e-12, solver="auto" and max_iter=1000, as problems are solved to full
    precision.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"} or None, default="deprecated"
        scikit-learn's deprecated way to choose the penalty; None fits without one. Use `C` and `l1_ratio`.
    C : float, default=1.0
        Inverse strength of the penalty; inf fits without one.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, from 0 (L2 only) to 1 (L1 only).
    dual : bool, default=False
        Ignored: the solver is chosen by the shape of the problem.
    tol : float, default=1e-12
        Relative tolerance on the objective, for L-BFGS and coordinate descent; Newton's method continues to
        full precision.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    intercept_scaling : float, default=1
        Ignored: the intercept is never penalised.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class, which multiplies the weights of its rows; "balanced" gives all classes the same total.
    random_state : object, default=None
        Ignored: no solver uses random numbers.
    solver : str, default="auto"
        The method: "auto" chooses by the shape of the problem. scikit-learn's names are accepted; all lead to
        the same optimum.
    max_iter : int, default=1000
        The largest number of iterations.
    verbose : int, default=0
        1 shows a progress bar, 2 prints one line per iteration.
    warm_start : bool, default=False
        Whether a fit starts from the coefficients of the previous one.
    n_jobs : int or None, default=None
        Ignored: see `threads`.
    reference : class label or None, default=None
        The class whose coefficients are held at 0, with three classes or more; None treats all alike.
    column_penalty : dict, array or None, default=None
        Factor of each coefficient's penalty: a dict by column name (1 for the others), or one number per
        coefficient.
    missing : {"refuse", "fill"}, default="refuse"
        Missing values in data frames: refuse them, or fill them in (numeric columns with the median, and an
        indicator column; text and categories with a level of their own).
    threads : int or None, default=None
        The largest number of threads; None uses as many as pay off. The result has the same bytes for any
        number.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The sorted classes.
    coef_ : array of shape (1, coefficients) or (classes, coefficients)
        The coefficients: those of the second class for two classes, else those of each class. Predictions are computed
        from `coef_` and `intercept_`, which may be set.
    intercept_ : array of shape (1,) or (classes,)
        The intercepts.
    n_iter_ : array of shape (1,)
        The number of iterations.
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
        missing: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def fit(
        self, X: Table, y: Targets, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None
    ) -> Self:
        """Fit the model; if that fails, it stays as it was.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,)
            The class of each row.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        self
            The fitted model.
        """
        return self._fit(X, y, sample_weight, offset)

    @classmethod
    def with_weights(
        cls, coef: ArrayLike, intercept: ArrayLike = 0.0, classes: ArrayLike | None = None, **parameters: Any
    ) -> Self:
        """Return a model that predicts with given weights, without a fit.

        Parameters
        ----------
        coef : array of shape (columns,), (1, columns) or (classes, columns)
            The weights: those of the second class for two classes, else those of each class.
        intercept : float or array of shape (1,) or (classes,), default=0.0
            The intercepts; a single number is the intercept of all classes.
        classes : array of shape (classes,), default=None
            The classes, in order; by default 0, 1, 2, ...
        **parameters
            Parameters of the model, by name.

        Returns
        -------
        LogisticRegression
            The model, as if it had been fitted.

        >>> from linnet import LogisticRegression
        >>> model = LogisticRegression.with_weights([[1, -1 / 3], [-1 / 2, -1 / 2], [0, 1]])
        >>> model.predict([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
        array([0, 1, 2])
        """
        weights = np.array(coef, np.float64, ndmin=2)
        count = max(2, len(weights))
        biases = np.array(intercept, np.float64, ndmin=1)
        if weights.ndim != 2 or 0 in weights.shape or len(weights) == 2 or biases.shape not in ((1,), (len(weights),)):
            raise DataError(
                "coef must have the shape (columns,) for two classes or (classes, columns) for three or more, and "
                f"intercept one number per row of coef, got the shapes {weights.shape} and {biases.shape}"
            )
        if not (np.isfinite(weights).all() and np.isfinite(biases).all()):
            raise DataError("coef and intercept must be finite numbers")
        known = np.arange(count) if classes is None else np.asarray(classes)
        if known.shape != (count,) or (np.unique(known) != known).any():
            raise DataError(f"classes must be {count} different ones in ascending order, got {known.tolist()}")
        return cls(**parameters)._given(weights, np.broadcast_to(biases, len(weights)).copy(), known)

    def _given(self, weights: Floats, biases: Floats, classes: NDArray[Any]) -> Self:
        self._check_params()
        self._learn(np.zeros((len(classes), weights.shape[1])), classes)
        self.coef_, self.intercept_, self.n_iter_ = weights, biases, np.zeros(1, np.int32)
        self._keep_params()
        return self

    def _take(self, weights: Floats, biases: Floats, y: object) -> None:
        if len(self.classes_) > 2 and self._fixed() is None:  # of all equivalent solutions, that with mean 0
            unpenalised = (self._settings.penalty_factors(self._encoder) == 0) | (self._penalty()[0] == 0)
            biases = biases - biases.mean()
            weights[unpenalised] -= weights[unpenalised].mean(axis=1, keepdims=True)
        self.coef_ = self._coefficients(weights)
        self.intercept_ = biases.copy()
        self.n_iter_ = np.array([self.n_iter_], np.int32)

    @property
    def link_(self) -> str:
        """The link function, which maps probabilities to z: "logit"."""
        return "logit"

    def _learn(self, X: object, y: object) -> Columns:
        columns = super()._learn(X, y)
        self.classes_, _ = class_numbers(y, columns.rows)
        return columns

    def _learn_encoder(self, encoder: Encoder, classes: object) -> None:
        super()._learn_encoder(encoder, classes)
        if self.class_weight is not None:
            raise ConfigError("class_weight needs rows in memory: use row weights instead")
        self.classes_ = np.asarray(classes)

    def _rows(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Rows:
        classes, labels = class_numbers(y, columns.rows, quiet=True)
        if len(classes) != len(self.classes_) or (classes != self.classes_).any():
            raise DataError(f"y has the classes {classes.tolist()}, but the model has {self.classes_.tolist()}")
        weights = row_weights(sample_weight, columns.rows)
        if self.class_weight is not None:
            labels = labels.astype(np.int32, copy=False)
            by_class = class_weights(self.class_weight, classes, labels, weights)
            weights = by_class[labels] if weights is None else weights * by_class[labels]
        if weights is not None and len(np.unique(labels[weights > 0])) < 2:
            raise DataError("only one class of y has rows with a weight above 0: there is nothing to distinguish")
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
        """Return weights, biases, the problem and the reported outputs.

        Without a penalty, coefficients are relative to those of the reference class, by default the first.
        """
        weights, biases, problem = self._held_to(problem)
        if problem.outputs == 1:
            return weights, biases, problem, [ReportedOutput(0, 0, "")]
        places = np.arange(problem.outputs)
        if problem.rows.weights is not None:  # classes without rows are left out
            present = np.bincount(problem.rows.targets(), problem.rows.weights, problem.outputs) > 0
            problem = _with_classes(problem, present)
            weights, biases, places = weights[:, present], biases[present], places[present]
        if not problem.ridge.any() and problem.l1 is None and problem.fixed is None:
            problem = replace(problem, fixed=np.arange(problem.outputs) == 0)
        is_free = np.ones(problem.outputs, np.bool_) if problem.fixed is None else ~problem.fixed
        outputs = [
            ReportedOutput(int(k), int(places[k]), f"{self.classes_[places[k]]}: ") for k in np.flatnonzero(is_free)
        ]
        return weights, biases, problem, outputs

    def sparsify(self) -> Self:
        """Make `coef_` a sparse matrix, which takes less memory if most coefficients are 0; predictions do not change.

        Returns
        -------
        self
            The model.
        """
        check_fitted(self)
        self.coef_ = scipy.sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make `coef_` a dense array again.

        Returns
        -------
        self
            The model.
        """
        check_fitted(self)
        if hasattr(self.coef_, "toarray"):
            self.coef_ = self.coef_.toarray()
        return self

    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `linnet.load` reads; a sparse `coef_` is written as a dense array.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced once the new one is complete.
        """
        dense = copy(self).densify() if scipy.sparse.issparse(getattr(self, "coef_", None)) else self
        super(LogisticRegression, dense).save(path)

    def decision_function(self, X: Table, *, offset: ArrayLike | None = None) -> Floats:
        """Return z, the linear predictor.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        array of shape (rows,) or (rows, classes)
            The log-odds of the second class for two classes, else one score per class.
        """
        z = self._z(X, offset)
        return z[:, 0] if len(self.classes_) == 2 else z

    def predict(self, X: Table, *, offset: ArrayLike | None = None) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        array of shape (rows,)
            The predicted classes.
        """
        z = self.decision_function(X, offset=offset)
        index = (z > 0).astype(np.intp) if z.ndim == 1 else z.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def _scores(self, X: object, offset: object) -> Floats:
        """Return one score per class, which is 0 for the first of two classes."""
        z = self._z(X, offset)
        return z if len(self.classes_) > 2 else np.hstack([np.zeros_like(z), z])

    def predict_log_proba(self, X: Table, *, offset: ArrayLike | None = None) -> Floats:
        """Return the logarithm of the probability of each class, accurate even where the probability underflows to 0.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        array of shape (rows, classes)
            The log-probabilities, in the order of `classes_`.
        """
        return log_softmax(self._scores(X, offset))

    def predict_proba(self, X: Table, *, offset: ArrayLike | None = None) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        array of shape (rows, classes)
            The probabilities, in the order of `classes_`; rows sum to 1.
        """
        return Categorical().mean(self._scores(X, offset))

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.network import by_z

        return by_z(inputs.graph, self._z_graph(inputs), self.classes_)

    def score(
        self, X: Table, y: Targets, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None
    ) -> float:
        """Return the accuracy: the (weighted) share of rows classified correctly.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.
        y : array of shape (rows,)
            Their actual classes.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        float
            The accuracy, from 0 to 1.
        """
        return accuracy(y, self.predict(X, offset=offset), sample_weight)

    def sample(self, X: Table, random_state: Any = None, *, offset: ArrayLike | None = None) -> NDArray[Any]:
        """Return a class for each row, drawn from its predicted distribution.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        random_state : int, RandomState, Generator or None, default=None
            Source of random numbers; None uses NumPy's global one.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        array of shape (rows,)
            One class per row.
        """
        check_fitted(self)
        return np.asarray(self.classes_[draw_class(self.predict_proba(X, offset=offset), check_random(random_state))])

    def certificate(
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        segments: Sequence[tuple[object, object]] = (),
    ) -> Certificate:
        """Return a proof that the fit is optimal on these data: see `linnet.theory.certificate`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The table of the fit.
        y : array of shape (rows,)
            The class of each row.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        segments : sequence of pairs of rows, default=()
            Rows are sequences, dicts or rows of a data frame. The certificate lists the classes predicted along the
            straight line between the two; between two levels of a category a row belongs partly to both.

        Returns
        -------
        Certificate
            The proof, with its bounds.
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
        """Return the strength of the penalty, 1/C, and the share of L1 in it."""
        kinds = {"deprecated": None, "l2": 0.0, "l1": 1.0, "elasticnet": None, None: 0.0}
        if not isinstance(self.penalty, str | None) or self.penalty not in kinds:
            raise ConfigError(f"penalty must be 'l1', 'l2', 'elasticnet' or None, got {self.penalty!r}")
        check_number(self.C, "C", above=0, at_most=np.inf)
        ratio = 0.0 if self.l1_ratio is None else check_number(self.l1_ratio, "l1_ratio", at_least=0, at_most=1)
        ratio_of_kind = kinds[self.penalty]
        ratio = ratio if ratio_of_kind is None else ratio_of_kind
        return (0.0 if self.penalty is None else 1 / self.C), ratio

    def _fixed(self) -> NDArray[np.bool_] | None:
        """Return a flag per class, True for the reference, whose coefficients are 0; None without a reference."""
        return None if self.reference is None else is_reference(self.reference, self.classes_.tolist())
