"""The base class of linear models: from the user's table to a solved problem and back to coefficients."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import check_fitted, check_form
from linnet.arrays import ArrayLike, Table, Targets
from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.data.rows import Rows
from linnet.errors import ConfigError, DataError
from linnet.estimators.inputs import as_offset, shift_names
from linnet.estimators.linear.coefficients import HasCoefficients, as_coefficients, as_parameters, coefficient_shape
from linnet.estimators.linear.messages import FitMessages
from linnet.estimators.linear.settings import LinearSettings
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.products import linear_output
from linnet.fit.solvers.solution import Solution
from linnet.fit.solvers.sums import InMemory, RowSource
from linnet.heads import Head
from linnet.inference.glm import Inference, Term, infer
from linnet.registry import need

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.graph import Tensor


Model = TypeVar("Model", bound="LinearModel")


class ReportedOutput(NamedTuple):
    """An output of a problem whose coefficients are reported."""

    column: int  # the index of the output in the problem
    place: int  # the index of its class in `classes_`, or of its target among the columns of y
    label: str  # put before the names of its coefficients


class LinearModel(HasCoefficients):
    """A network without hidden layers, z = x W + b + offset, with a head; subclasses define what they minimise.

    Predictions are computed from `coef_` and `intercept_`, which users may set.
    """

    n_iter_: Any
    fit_intercept: bool
    missing: str
    tol: float
    threads: int | None
    _shifts: tuple[str, ...] = ()  # which of "offset" and "exposure" were passed to the fit
    _file_types: ClassVar[Mapping[str, Any]] = {
        "n_iter_": int | NDArray[np.int32],
        "_encoder": Encoder,
        "_shifts": tuple[str, ...],
    }

    # ---- what subclasses define ----

    @abstractmethod
    def _rows(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Rows:
        """The rows with their targets, weights and offsets, checked."""

    @abstractmethod
    def _posed(self, data: RowSource) -> Problem:
        """The problem to minimise for rows, in memory or elsewhere."""

    @abstractmethod
    def _take(self, weights: Floats, biases: Floats, y: object) -> None:
        """Set `coef_`, `intercept_` and the other public attributes from weights (columns x outputs) and biases.

        `y`: the targets as the user passed them; None if the rows are elsewhere.
        """

    def _outputs(self) -> int | None:
        """Return the number of outputs that `coef_` must have; None: any."""
        return 1

    @property
    def link_(self) -> str:
        """The link function, which maps the mean to z: "identity", "log" or "logit"."""
        return "log" if self.has_log_link else "identity"

    @property
    def has_log_link(self) -> bool:
        """Whether the mean is e^z, so that effects multiply it."""
        return False

    def _messages(self) -> FitMessages:
        return FitMessages(self._encoder)

    # ---- fitting ----

    @property
    def _settings(self) -> LinearSettings:
        """The parameters that linear models share, unchecked."""
        return LinearSettings.of(self._params)

    def _check_params(self) -> None:
        """Raise a ConfigError that names the first invalid parameter."""
        self._settings.check()

    def _fit(self, X: object, y: object, sample_weight: object, offset: object, exposure: object = None) -> Self:
        """Fit the model; if that fails, it stays as it was."""
        return self._fit_to(
            lambda: self._problem(self._learn(X, y), y, sample_weight, offset, exposure),
            shift_names(offset, exposure),
            y,
        )

    def _fit_rows(self, data: RowSource, encoder: Encoder, classes: object, shifts: tuple[str, ...]) -> Self:
        """Fit to rows in memory or elsewhere; if that fails, the model stays as it was: see `fit_rows`."""

        def problem() -> Problem:
            if encoder.count != data.columns.count:
                raise DataError(f"the encoder makes {encoder.count} columns, but the rows have {data.columns.count}")
            self._learn_encoder(encoder, classes)
            return self._posed(data)

        return self._fit_to(problem, shifts)

    def _fit_to(self, problem: Callable[[], Problem], shifts: tuple[str, ...], y: object = None) -> Self:
        before = dict(self.__dict__)
        try:
            self._check_params()
            weights, biases = self._minimise(problem())
            self._take(weights, biases, y)
            self._shifts = shifts
            self._keep_params()
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _learn(self, X: object, y: object) -> Columns:
        """Return the table's columns, and keep their encoder for prediction."""
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        encoder, columns = self._settings.encode(X)
        check_form(self, X, reset=True)
        self._encoder = encoder
        return columns

    def _learn_encoder(self, encoder: Encoder, classes: object) -> None:
        """Keep the encoder of rows that are not in memory, for prediction."""
        check_form(self, encoder.row_of_zeros(), reset=True)
        self._encoder = encoder

    def _problem(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Problem:
        """Return the problem to minimise for these rows."""
        return self._posed(InMemory(self._rows(columns, y, sample_weight, offset, exposure), self._settings.threads))

    def _make(
        self,
        data: RowSource,
        head: Head,
        outputs: int,
        *,
        l2: float | Floats,
        l1: float = 0.0,
        fixed: NDArray[np.bool_] | None = None,
    ) -> Problem:
        """Return a problem whose penalties are `l2` and `l1` (one number, or one per output) times each column's
        factor.
        """
        settings, shape = self._settings, (data.columns.count, outputs)
        factors = 1.0 if settings.column_penalty is None else settings.penalty_factors(self._encoder)[:, None]
        return Problem(
            data,
            head,
            outputs,
            intercept=settings.fit_intercept,
            l2=np.broadcast_to(np.asarray(l2) * factors, shape),  # a view where all are the same
            l1=np.broadcast_to(l1 * factors, shape) if l1 else None,
            fixed=fixed,
            positive=settings.positive,
        )

    def _minimise(self, problem: Problem) -> tuple[Floats, Floats]:
        """Return the optimal weights, columns x outputs in the core's order of columns, and biases."""
        return self._accept(problem, self._settings.solve(problem, self._warm_start(problem)))

    def _warm_start(self, problem: Problem) -> Floats | None:
        """Return the parameter vector of the last fit if the next one is to start from it and has its shape."""
        shape = coefficient_shape(self.coef_) if self._settings.warm_start and hasattr(self, "coef_") else None
        if shape == (problem.outputs, problem.columns.count):
            return problem.from_user(*self._parameters(problem.outputs))
        return None

    def _accept(self, problem: Problem, solution: Solution) -> tuple[Floats, Floats]:
        """Issue the errors and warnings about a solution, and return its weights and biases."""
        self.n_iter_ = solution.iterations
        return self._messages().report(problem, solution)

    # ---- inference ----

    def inference(
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        covariance: str = "model",
        groups: ArrayLike | None = None,
        level: float = 0.95,
    ) -> Inference:
        """Return standard errors, tests and confidence intervals of the coefficients.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The table of the fit; likewise all further data must be that of the fit.
        y : array of shape (rows,) or (rows, targets)
            The targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.
        covariance : {"model", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="model"
            "model" assumes the head's variance; "HC0" to "HC3" are robust to any other; "cluster" is also robust to
            dependence between rows of the same group.
        groups : array of shape (rows,), default=None
            The group of each row, for "cluster".
        level : float, default=0.95
            Confidence level of the intervals.

        Returns
        -------
        Inference
            A table with one row per coefficient, and statistics of the fit.
        """
        columns, fitted = self._read(X), self._as_fitted()
        problem = fitted._problem(columns, y, sample_weight, offset, exposure)
        weights, biases, problem, outputs = fitted._for_inference(problem)
        k = problem.outputs
        names, order, intercept = self._encoder.coefficient_names, self._encoder.order(), "intercept"
        while intercept in names:
            intercept = f"({intercept})"
        terms = []
        for output in outputs:
            if problem.intercept:
                last = columns.count * k + output.column
                terms.append(Term(f"{output.label}{intercept}", last, output.place, is_intercept=True))
            terms += [
                Term(f"{output.label}{name}", int(place) * k + output.column, output.place)
                for name, place in zip(names, order, strict=True)
            ]
        return infer(problem, problem.from_user(weights, biases), terms, kind=covariance, groups=groups, level=level)

    def _for_inference(self, problem: Problem) -> tuple[Floats, Floats, Problem, list["ReportedOutput"]]:
        """Return weights, biases, the problem they belong to, and the outputs whose coefficients are reported."""
        weights, biases, problem = self._held_to(problem)
        single = problem.outputs == 1
        outputs = [ReportedOutput(k, k, "" if single else f"{k}: ") for k in range(problem.outputs)]
        return weights, biases, problem, outputs

    def _held_to(self, problem: Problem) -> tuple[Floats, Floats, Problem]:
        """Return weights, biases and the problem; an intercept that the user has set in a model without one is an
        offset.
        """
        weights, biases = self._parameters(problem.outputs)
        if problem.intercept or not biases.any():
            return weights, biases, problem
        offset = biases + (np.zeros((problem.columns.rows, 1)) if problem.rows.offset is None else problem.rows.offset)
        return weights, np.zeros_like(biases), problem.with_rows(offset=np.ascontiguousarray(offset))

    # ---- predicting ----

    def _coefficients(self, weights: Floats) -> Floats:
        return as_coefficients(weights, self._encoder)

    def _parameters(self, outputs: int | None = None) -> tuple[Floats, Floats]:
        """Return weights, columns x outputs in the core's order, and biases, from `coef_` and `intercept_`."""
        return as_parameters(
            self.coef_, self.intercept_, self._encoder, self._outputs() if outputs is None else outputs
        )

    def _read(self, X: object) -> Columns:
        """Return the columns of a table that has the form of the training table."""
        check_fitted(self)
        check_form(self, X, reset=False)
        return self._encoder.encode(X)

    def _z(self, X: object, offset: object = None, exposure: object = None) -> Floats:
        """Return z, rows x outputs, with offset and exposure."""
        columns = self._read(X)
        z = self._z_of(columns)
        shift = self._shift(offset, exposure, *z.shape)
        return z if shift is None else z + shift

    def _z_of(self, columns: Columns) -> Floats:
        """x W + b, rows x outputs."""
        return linear_output(columns, *self._parameters(), self._settings.threads)

    def _z_graph(self, inputs: "Inputs") -> "Tensor":
        """z in an ONNX graph, in float64."""
        from linnet.export.onnx.columns import features
        from linnet.export.onnx.network import linear, shifted

        weights, biases = self._parameters()
        x = features(inputs, self._encoder, "float64")
        shift = inputs.shift(self._shifts, len(biases))
        return shifted(inputs.graph, linear(inputs.graph, x, weights, biases), shift)

    def _shift(self, offset: object, exposure: object, rows: int, outputs: int) -> Floats | None:
        """Return what is added to z, rows x outputs; None if nothing is."""
        if exposure is not None and not self.has_log_link:
            raise ConfigError("an exposure needs a model with the log link, such as PoissonRegressor")
        return as_offset(offset, exposure, rows, outputs)

    def _check_file(self) -> None:
        super()._check_file()
        if "coef_" in self.__dict__:
            _, biases = self._parameters()  # which checks them, as users may set them by hand
            fitted = self._as_fitted()  # scores and inference rely on the parameters of the fit
            fitted._check_params()
            fitted._settings.penalty_factors(self._encoder)
            self._check_outputs(len(biases))
            spread = self.__dict__.get("dispersion_", 1.0)
            need(isinstance(spread, float) and 0 < spread < np.inf, self, "dispersion_")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a file; older ones have a second copy of the coefficients, which is dropped."""
        super().__setstate__({name: value for name, value in state.items() if name not in ("_weights", "_biases")})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def fit_rows(
    model: Model, data: RowSource, encoder: Encoder, classes: object = None, *, shifts: tuple[str, ...] = ()
) -> Model:
    """Fit a linear model to rows in memory or elsewhere; if that fails, it stays as it was.

    What needs single rows is left out: the names of columns that separate classes, the warning of sparse columns far
    from 0, and the minimum-norm coefficients of aliased columns.

    Parameters
    ----------
    model : LinearModel
        The model to fit.
    data : RowSource
        The rows. Their columns must be encoded by `encoder`, and their targets valid for the model.
    encoder : Encoder
        Encodes tables for prediction.
    classes : array or None, default=None
        The sorted classes of a classifier. Targets are the indices of the classes, as labels; for two classes, the
        values 0 and 1.
    shifts : tuple of str, default=()
        Which of "offset" and "exposure" the offsets of the rows are made of.

    Returns
    -------
    LinearModel
        The fitted model, which is `model`.
    """
    return model._fit_rows(data, encoder, classes, shifts)
