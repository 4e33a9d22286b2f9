"""What all linear models share: from the user's table to a solved problem and back to coefficients."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linnet._sklearn import Estimator, check_fitted, check_form
from linnet.checks import check_flag, check_number, check_random, check_whole
from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.data.sparse import as_dense
from linnet.data.table import check_unmasked
from linnet.data.targets import as_array, as_values, as_weights, check_values
from linnet.errors import (
    ConfigError,
    DataError,
    DataWarning,
    FitWarning,
    SeparationWarning,
    known_as,
    unknown_name,
    warn,
)
from linnet.fit.loop.progress import watching
from linnet.fit.solvers.coordinate import lasso
from linnet.fit.solvers.problem import Floats, Problem, linear_output
from linnet.fit.solvers.select import solve
from linnet.fit.solvers.solution import Solution
from linnet.heads import Head
from linnet.inference.glm import Inference, infer
from linnet.inference.separation.detect import Separation, separation

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.graph import Tensor

GAPS = ("refuse", "fill")
_MOST_LEVELS = 5  # of a column that a message names one by one
_EDGE = 1e-9  # of the largest mean: one this small has come to 0
_LARGE = 1e150  # squares of larger numbers, summed over rows, may be infinite

Penalties = Mapping[str, float] | Any


class LinearModel(Estimator):
    """A network without hidden layers, z = x W + b + offset, under a head; each estimator says what it minimises."""

    coef_: Any  # these two are what predicts: users may set them
    intercept_: Any
    _encoder: Encoder
    gaps: str  # what is done about missing values in data frames
    n_iter_: Any
    _shifts: tuple[str, ...] = ()  # which of offset and exposure the fit was given

    @abstractmethod
    def _problem(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Problem:
        """What is minimised for these rows."""

    @abstractmethod
    def _report(self, weights: Floats, biases: Floats, y: object) -> None:
        """Set `coef_` and `intercept_`, and what else users see, from the weights and biases found."""

    def _fit(self, X: object, y: object, sample_weight: object, offset: object, exposure: object = None) -> Self:
        """Fit, or leave everything as it was."""
        before = dict(self.__dict__)
        try:
            self._check_params()
            columns = self._learn(X, y)
            weights, biases = self._minimise(self._problem(columns, y, sample_weight, offset, exposure))
            self._report(weights, biases, y)
            self._shifts = shift_names(offset, exposure)
            self._keep_params()
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _check_params(self) -> None:
        """Raise a ConfigError that names a parameter without a meaning."""
        params = self._params
        for name in ("fit_intercept", "positive", "warm_start"):
            check_flag(params.get(name, False), name)
        if params["gaps"] not in GAPS:
            raise unknown_name("gaps", params["gaps"], GAPS)
        check_number(params["tol"], "tol", at_least=0)
        check_random(params.get("random_state"))
        if params.get("max_iter") is not None:
            check_whole(params["max_iter"], "max_iter")
        if not isinstance(params.get("verbose", 0), bool):
            check_whole(params.get("verbose", 0), "verbose")

    def _make(
        self,
        columns: Columns,
        head: Head,
        outputs: int,
        *,
        weights: Floats | None,
        offset: Floats | None,
        l2: float | Floats,
        l1: float = 0.0,
        **others: Any,
    ) -> Problem:
        params = self._params
        shape = columns.count, outputs
        factors = 1.0 if params.get("column_penalty") is None else self._column_factors()[:, None]
        return Problem(
            columns,
            head,
            outputs,
            weights=weights,
            offset=offset,
            intercept=params["fit_intercept"],
            l2=np.broadcast_to(np.asarray(l2) * factors, shape),  # a view where all are the same
            l1=np.broadcast_to(l1 * factors, shape) if l1 else None,
            positive=params.get("positive", False),
            threads=params.get("threads"),
            **others,
        )

    def _minimise(self, problem: Problem) -> tuple[Floats, Floats]:
        """The best weights, in the core's order of columns, x outputs, and the best biases."""
        return self._accept(problem, self._solve(problem, self._warm(problem)))

    def _warm(self, problem: Problem) -> Floats | None:
        """Where to start, if that is where the last fit ended."""
        params = self._params
        known = coefficient_shape(self.coef_) if params.get("warm_start") and hasattr(self, "coef_") else None
        if known == (problem.outputs, problem.columns.count):
            return problem.from_user(*self._parameters(problem.outputs))
        return None

    def _solve(self, problem: Problem, start: Floats | None) -> Solution:
        params = self._params
        max_iter = params.get("max_iter")
        # squares that are no numbers are found when all is done, and their column is named: _check_scales
        beyond = np.errstate(over="ignore", invalid="ignore")
        with beyond, watching(params.get("verbose", 0), params["tol"]) as watch:
            return solve(
                problem,
                params.get("solver", "auto"),
                max_iter=1000 if max_iter is None else max_iter,
                start=start,
                tolerance=params["tol"],
                watch=watch,
            )

    def _accept(self, problem: Problem, solution: Solution) -> tuple[Floats, Floats]:
        """Weights and biases of a solution, with warnings of what a user should know of it."""
        weights, biases = problem.to_user(solution.theta)
        self._check_scales(problem, solution, weights)
        self.n_iter_ = solution.iterations
        self._warn(problem, solution)
        return weights, biases

    def _warn(self, problem: Problem, solution: Solution) -> None:
        """Say what a user should know of a fit."""
        found = separation(problem, solution)
        if found is not None:
            warn(self._say(found, problem), SeparationWarning)
            return
        aliasing = solution.aliasing
        if aliasing is not None and aliasing.left_out.any():
            rounding = bool((aliasing.left_out & aliasing.inexact).any())
            warn(self._say_left_out(np.flatnonzero(aliasing.left_out).tolist(), rounding=rounding), FitWarning)
        if aliasing is not None and aliasing.cancelling is not None:
            names = self._names(np.flatnonzero(aliasing.cancelling).tolist())
            warn(
                f"{names}: other columns nearly determine these, and their coefficients cancel each other so far that "
                "predictions lose digits: count columns from their middle before powers and products are taken "
                "(year - 2000 instead of year)",
                FitWarning,
            )
        if solution.converged:
            return
        way = "raise max_iter, or add a penalty if the coefficients run away"
        if problem.head.positive_mean and solution.reach[0] < _EDGE * solution.reach[1]:
            way = "some means have come to 0, where the identity link ends: use link='log'"
        warn(
            f"the fit ended after {solution.iterations} iterations with a gradient of {solution.gradient_norm:.3g} "
            f"at the objective {solution.value:.10g}, where up to about {solution.gap:.3g} is left to gain: {way}",
            FitWarning,
        )

    def _check_scales(self, problem: Problem, solution: Solution, weights: Floats) -> None:
        """Raise a DataError for a column whose squares are no numbers: its coefficient could not be found."""
        numbers = problem.columns.dense + problem.columns.sparse_columns
        weights = weights[:numbers]
        lost = np.asarray(solution.dependent.reshape(-1, problem.outputs)[:numbers].any(axis=1))
        lost |= ~(np.isfinite(weights).all(axis=1) & weights.any(axis=1))
        if not lost.any():
            return
        sizes = problem.columns.largest()
        bare = (problem.ridge + lasso(problem)).reshape(-1, problem.outputs)[:numbers].min(axis=1) == 0
        wrong = (sizes > _LARGE) | ((sizes > 0) & (sizes < 1 / _LARGE) & bare & lost)
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            name = self._encoder.coefficient_names[int(np.flatnonzero(self._encoder.order() == place)[0])]
            size = "large" if sizes[place] > 1 else "small"
            raise DataError(
                f"column {name!r} of X has numbers of about {sizes[place]:.3g}, too {size} for their squares to be "
                "computed: scale the column"
            )

    def _say_left_out(self, columns: list[int], *, rounding: bool) -> str:
        """Name columns that others determine. `rounding`: of some, what they add may be lost in it."""
        names = self._names(columns)
        verb, does, it = ("are", "add", "them") if len(columns) > 1 else ("is", "adds", "it")
        text = f"{names} {verb} determined by other columns and {does} nothing to the model: leave {it} out"
        if rounding:
            text += (
                ". That is as far as the digits of their numbers tell: what powers and products of columns add is lost "
                "in rounding unless these count from their middle (year - 2000 instead of year)"
            )
        return text

    def _names(self, columns: Iterable[int]) -> str:
        """Name some columns, levels of a column together if they are many."""
        chosen, sources = set(columns), self._encoder.sources
        by_source: dict[str, list[str]] = {}
        for name, place in zip(self._encoder.coefficient_names, self._encoder.order().tolist(), strict=True):
            if place in chosen:
                by_source.setdefault(sources[place], []).append(name)
        names: list[str] = []
        for source, some in by_source.items():
            many = len(some) > _MOST_LEVELS
            names += [f"{len(some):,} levels of {source} (such as {' and '.join(some[:2])})"] if many else some
        listed = ", ".join(names[:10])
        return listed + (f" and {len(names) - 10} more" if len(names) > 10 else "")

    def _say(self, found: Separation, problem: Problem) -> str:
        """Name the columns and classes of a separation."""
        columns = self._names(found.columns) or "the intercept"
        kind, verb = "complete" if found.complete else "quasi-complete", "tell" if len(found.columns) > 1 else "tells"
        return (
            f"{kind} separation: {columns} {verb} "
            f"{self._separated(found, problem)} apart without error on {found.rows} rows, so the best coefficients are "
            "infinite and those given only large: add a penalty, or leave the columns out"
        )

    def _separated(self, found: Separation, problem: Problem) -> str:
        return "rows of 0 and rows above 0"

    def inference(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        *,
        offset: object = None,
        exposure: object = None,
        covariance: str = "model",
        groups: object = None,
        level: float = 0.95,
    ) -> Inference:
        """Return standard errors, tests and intervals of the coefficients on the data of the fit.

        `covariance`: "model" trusts the head's variance; "HC0" to "HC3" do not; "cluster" also lets rows of the same
        group (`groups`, one a row) depend on each other. Row weights count rows.
        """
        columns, fitted = self._read(X), self._as_fitted()
        problem = fitted._problem(columns, y, sample_weight, offset, exposure)
        weights, biases, problem, outputs = fitted._for_inference(problem)
        k = problem.outputs
        order = self._encoder.order()
        places, names = [], []
        for output, label in outputs:
            if problem.intercept:
                places.append(columns.count * k + output)
                names.append(f"{label}intercept")
            places += [int(place) * k + output for place in order]
            names += [f"{label}{name}" for name in self._encoder.coefficient_names]
        return infer(
            problem,
            problem.from_user(weights, biases),
            names,
            np.array(places, np.intp),
            kind=covariance,
            groups=groups,
            level=level,
        )

    def _for_inference(self, problem: Problem) -> tuple[Floats, Floats, Problem, list[tuple[int, str]]]:
        """Weights, biases, the problem, and the outputs to report with their labels."""
        weights, biases, problem = self._held_to(problem)
        single = problem.outputs == 1
        return (
            weights,
            biases,
            problem,
            [(output, "" if single else f"{output}: ") for output in range(problem.outputs)],
        )

    def _learn(self, X: object, y: object) -> Columns:
        """Columns of the table, whose form is kept for prediction."""
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        encoder, columns = Encoder.learn(X, gaps="fill" if self.gaps == "fill" else "refuse", narrow=True)
        check_form(self, X, reset=True)
        self._encoder = encoder
        return columns

    def _column_factors(self) -> Floats:
        """How much of the penalty each column carries, in the core's order."""
        given = self._params.get("column_penalty")
        order = self._encoder.order()
        factors = np.ones(len(order))
        if given is None:
            return factors
        if isinstance(given, Mapping):
            places = self._encoder.places()
            for name, value in given.items():
                if name not in places:
                    raise ConfigError(f"column_penalty names {name!r}, which is not a column of X")
                factors[places[name]] = check_number(value, f"column_penalty of {name!r}", at_least=0)
        else:
            try:
                factors = np.array(given, np.float64)
            except (TypeError, ValueError):
                factors = np.empty(0)
            if factors.shape != order.shape or not (np.isfinite(factors).all() and (factors >= 0).all()):
                raise ConfigError(
                    "column_penalty must have one finite number of at least 0 for every coefficient, "
                    f"{len(order)} in all, or a dict of them by column, got {given!r}"
                )
        placed = np.empty_like(factors)
        placed[order] = factors
        return placed

    def _coefficients(self, weights: Floats) -> Floats:
        """Weights in the order of the user's columns: outputs x coefficients, in memory the other way round, so that
        predictions need not turn them.
        """
        return weights[self._encoder.order()].T

    def _parameters(self, outputs: int | None = None) -> tuple[Floats, Floats]:
        """What `coef_` and `intercept_` say now: weights in the core's order of columns, x outputs, and biases."""
        return as_parameters(
            self.coef_, self.intercept_, self._encoder, self._outputs() if outputs is None else outputs
        )

    def _outputs(self) -> int | None:
        """How many outputs `coef_` must have; None: as many as it has."""
        return 1

    def _held_to(self, problem: Problem) -> tuple[Floats, Floats, Problem]:
        """Weights, biases and the problem; an intercept that a model without one was given by hand is an offset."""
        weights, biases = self._parameters(problem.outputs)
        if problem.intercept or not biases.any():
            return weights, biases, problem
        offset = biases + (np.zeros((problem.columns.rows, 1)) if problem.offset is None else problem.offset)
        return weights, np.zeros_like(biases), replace(problem, offset=np.ascontiguousarray(offset))

    def _read(self, X: object) -> Columns:
        """Columns of a table in the form of the one learned from."""
        check_fitted(self)
        check_form(self, X, reset=False)
        return self._encoder.encode(X)

    def _z(self, X: object, offset: object = None, exposure: object = None) -> Floats:
        columns = self._read(X)
        z = self._z_of(columns)
        shift = self._shift(offset, exposure, *z.shape)
        return z if shift is None else z + shift

    def _z_of(self, columns: Columns) -> Floats:
        """z without an offset."""
        return linear_output(columns, *self._parameters(), self._params.get("threads"))

    def _z_graph(self, inputs: "Inputs") -> "Tensor":
        """z in an ONNX graph, in float64."""
        from linnet.export.onnx.columns import features
        from linnet.export.onnx.network import linear, shifted

        weights, biases = self._parameters()
        x = features(inputs, self._encoder, "float64")
        shift = inputs.shift(self._shifts, len(biases))
        return shifted(inputs.graph, linear(inputs.graph, x, weights, biases), shift)

    def _has_log_link(self) -> bool:
        return False

    def _shift(self, offset: object, exposure: object, rows: int, outputs: int) -> Floats | None:
        """What is added to z."""
        if exposure is not None and not self._has_log_link():
            raise ConfigError("an exposure needs a model with the log link, such as PoissonRegressor")
        return as_offset(offset, exposure, rows, outputs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a file kept; of older ones not the second copy of the coefficients."""
        super().__setstate__({name: value for name, value in state.items() if name not in ("_weights", "_biases")})

    def get_feature_names_out(self) -> Any:
        """Return a name for every coefficient: the column's, or column=level."""
        check_fitted(self)
        return np.array(self._encoder.coefficient_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def coefficient_shape(coef: Any) -> tuple[int, ...]:
    """Outputs x coefficients of a `coef_` that may have one dimension, or be sparse."""
    shape = np.shape(coef)
    return (1, *shape) if len(shape) == 1 else shape


def as_parameters(coef: Any, intercept: Any, encoder: Encoder, outputs: int | None) -> tuple[Floats, Floats]:
    """`coef_` (outputs x coefficients, or one dimension for one output) and `intercept_` (one number for each output,
    or for all) as weights in the core's order of columns, x outputs, and biases, to be read only. None: as many outputs
    as `coef_` has.
    """
    order = encoder.order() if encoder.levels or encoder.marked else None  # None: it is the same
    count = encoder.width if order is None else len(order)
    given = _numbers(as_dense(coef, "coef_"), "coef_")
    table = given[None] if given.ndim == 1 else given
    if table.ndim != 2 or table.shape[1] != count or outputs not in (None, len(table)) or not len(table):
        wanted = f"{count} coefficients" + ("" if outputs in (None, 1) else f" for each of {outputs} outputs")
        raise DataError(f"coef_ must have {wanted}, as after the fit, got shape {given.shape}")
    biases = _numbers(intercept, "intercept_")
    if biases.ndim > 1 or biases.size not in (1, len(table)):
        wanted = "one number" + ("" if len(table) == 1 else f", or one for each of {len(table)} outputs")
        raise DataError(f"intercept_ must be {wanted}, got shape {biases.shape}")
    weights: Floats = table.T
    if order is not None:
        weights = np.empty((count, len(table)))
        weights[order] = table.T
    return weights, np.ascontiguousarray(np.broadcast_to(biases.ravel(), len(table)))


def _numbers(given: Any, name: str) -> Floats:
    """What a user may have set, as numbers."""
    check_unmasked(given, name)
    try:
        values = np.asarray(given)
        if values.dtype.kind not in "biufO":
            raise TypeError(f"its type is {values.dtype}")
        values = values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers: {error}") from None
    if not np.isfinite(values).all():
        raise DataError(f"{name} holds {values[~np.isfinite(values)][0]}: it must hold finite numbers")
    return values


def one_target(y: object, *, quiet: bool = False) -> Any:
    """Return y as it is, but a single column as one dimension, with scikit-learn's warning."""
    target = as_array(y, "y")
    if target.ndim != 2 or target.shape[1] != 1:
        return target
    if not quiet:
        category = known_as("DataConversionWarning", DataWarning)
        warn("A column-vector y was passed when a 1d array was expected: use y.ravel()", category)
    return target[:, 0]


def row_weights(sample_weight: object, rows: int) -> Floats | None:
    """Return the weights of the rows, if there are any."""
    return None if sample_weight is None else as_weights(sample_weight, np.float64, rows=rows, table="X")


def shift_names(offset: object, exposure: object) -> tuple[str, ...]:
    """Which of them there are."""
    return tuple(name for name, given in (("offset", offset), ("exposure", exposure)) if given is not None)


def as_offset(offset: object, exposure: object, rows: int, outputs: int) -> Floats | None:
    """What is added to z: the offset, and the logarithm of the exposure."""
    total = None
    if offset is not None:
        given = as_array(offset, "offset")
        total = as_values(
            given if given.ndim == 2 else given.reshape(-1, 1),
            given.shape[1] if given.ndim == 2 else 1,
            np.float64,
            rows=rows,
            name="offset",
            table="X",
        )
    if exposure is not None:
        values = as_values(exposure, 1, np.float64, rows=rows, name="exposure", table="X")
        check_values(values, values > 0, "exposure", "exposures must be above 0")
        total = np.log(values) + (0 if total is None else total)
    if total is None:
        return None
    if total.shape[1] not in (1, outputs):
        raise DataError(f"offset has {total.shape[1]} columns, but the model has {outputs} outputs")
    return np.ascontiguousarray(np.broadcast_to(total, (rows, outputs)))
