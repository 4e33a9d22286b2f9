"""Generalized linear models with scikit-learn's names, solved to the last digit.

Every one of them is a network without hidden layers: z = x W + b + offset, a head on top (`linnet.heads`), and

    objective = Σ_i w_i loss(z_i, t_i) + penalty

Defaults that differ from scikit-learn's on purpose: tol=1e-12, solver="auto" and max_iter=1000, as problems are solved
to the last digit. Parameters of scikit-learn's own solvers (copy_X, n_jobs, random_state) are taken and change nothing;
`verbose=1` shows a progress bar, `verbose=2` a line an iteration. `gaps="fill"` takes data frames with missing values:
in numbers they become the median, with a column that says where, in text and categories a level of their own.

`coef_` and `intercept_` are what predicts: set them by hand, whole or in place, to recalibrate a model.
"""

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linnet._sklearn import Regressor, r_squared
from linnet.checks import check_number, check_random
from linnet.data.columns import Columns
from linnet.data.targets import as_array, as_values, check_values
from linnet.errors import ConfigError, DataWarning, FitWarning, known_as, unknown_name, warn
from linnet.estimators.linear_model import LinearModel, Penalties, one_target, row_weights
from linnet.fit.solvers.min_norm import gram, spectrum
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Solution
from linnet.heads import Gamma, Head, NegativeBinomial, Normal, Poisson, Tweedie
from linnet.heads.negative_binomial import LEAST_ALPHA
from linnet.inference.glm import null_deviance

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Answers

_ROUNDS = 200  # of estimating a dispersion and coefficients in turn
_SETTLED = 1e-12  # part of a dispersion: changes below it are rounding


class _Regressor(Regressor, LinearModel):
    """One target with a penalised mean loss: (1 / Σw) Σ w loss + alpha (l1_ratio |coef| + (1 - l1_ratio) coef² / 2)."""

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-12,
        warm_start: bool = False,
        verbose: int = 0,
        l1_ratio: float = 0.0,
        column_penalty: Penalties | None = None,
        gaps: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.l1_ratio = l1_ratio
        self.column_penalty = column_penalty
        self.gaps = gaps
        self.threads = threads

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.alpha, "alpha", at_least=0)
        check_number(self.l1_ratio, "l1_ratio", at_least=0, at_most=1)

    @abstractmethod
    def _head(self) -> Head:
        """The distribution of the target."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        head = self._head()
        tags.target_tags.positive_only = head.positive_only
        return tags

    def fit(
        self, X: object, y: object, sample_weight: object = None, *, offset: object = None, exposure: object = None
    ) -> Self:
        """Fit the model. `offset` is added to z; `exposure` multiplies the mean (its logarithm is an offset)."""
        return self._fit(X, y, sample_weight, offset, exposure)

    def _report(self, weights: Floats, biases: Floats, y: object) -> None:
        self.coef_ = self._coefficients(weights)[0]
        self.intercept_ = float(biases[0])

    def _problem(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Problem:
        values = as_values(one_target(y), 1, np.float64, rows=columns.rows, table="X")
        check_values(values, self._head().is_valid(values), "y", self._head().wanted)
        weights = row_weights(sample_weight, columns.rows)
        total = float(columns.rows) if weights is None else float(weights.sum())
        return self._make(
            columns,
            self._head(),
            1,
            values=values,
            weights=weights,
            offset=self._shift(offset, exposure, columns.rows, 1),
            l2=self.alpha * (1 - self.l1_ratio) * total,
            l1=self.alpha * self.l1_ratio * total,
        )

    def _has_log_link(self) -> bool:
        return self._head().output.name == "exponential"

    def _fitted_head(self) -> Head:
        """The distribution that the coefficients belong to, whatever the parameters say by now."""
        return self._as_fitted()._head()

    def predict(self, X: object, *, offset: object = None, exposure: object = None) -> Floats:
        """Return the mean of each row's distribution."""
        return self._fitted_head().mean(self._z(X, offset, exposure))[:, 0]

    def _to_graph(self, inputs: "Inputs") -> "Answers":
        from linnet.export.onnx.network import mean

        return {"variable": mean(inputs.graph, self._fitted_head(), self._z_graph(inputs))}

    def score(
        self, X: object, y: object, sample_weight: object = None, *, offset: object = None, exposure: object = None
    ) -> float:
        """Return D², the part of the null model's deviance that the model explains (R² for squared error).

        The null model knows the mean of y, and the offset and exposure.
        """
        columns = self._read(X)
        if columns.rows < 2:
            warn("D² is not defined for less than two rows", known_as("UndefinedMetricWarning", DataWarning))
            return float("nan")
        problem = self._as_fitted()._problem(columns, y, sample_weight, offset, exposure)
        problem = replace(problem, intercept=True)
        weights = np.ones(columns.rows) if problem.weights is None else problem.weights
        z = self._z_of(columns)
        left = problem.head.deviance(z if problem.offset is None else z + problem.offset, problem.target, weights)
        return _explained(left, null_deviance(problem))


def _explained(left: float, null: float) -> float:
    """1 - left / null; where there is nothing to explain, 1 for a perfect model and else 0."""
    return 1 - left / null if null > 0 else float(left == 0)


class _Counts(_Regressor):
    """Counts, whose distribution is known once the mean is."""

    def predict_interval(
        self, X: object, level: float = 0.95, *, offset: object = None, exposure: object = None
    ) -> tuple[Floats, Floats]:
        """Return the ends of the interval that holds the count of a new row with probability `level`."""
        mean = self.predict(X, offset=offset, exposure=exposure)[:, None]
        low, high = self._fitted_head().interval(mean, np.array([self._spread()]), level)
        return low[:, 0], high[:, 0]

    def sample(
        self, X: object, random_state: Any = None, *, offset: object = None, exposure: object = None
    ) -> NDArray[Any]:
        """Return a count for each row, drawn from the predicted distribution.

        `random_state`: a whole number, a RandomState or Generator of numpy.random, or None for NumPy's own.
        """
        mean = self.predict(X, offset=offset, exposure=exposure)[:, None]
        return self._fitted_head().draw(mean, np.array([self._spread()]), check_random(random_state))[:, 0]

    def _spread(self) -> float:
        """The dispersion that the fit has found."""
        return 1.0


class PoissonRegressor(_Counts):
    """Counts, with mean e^z and the loss e^z - t z."""

    def _head(self) -> Head:
        return Poisson()


class NegativeBinomialRegressor(_Counts):
    """Counts that spread more than Poisson's: mean m = e^z and variance m + d m², with a dispersion d.

    dispersion="estimate" finds d by maximum likelihood, in turn with the coefficients, until neither moves; a number
    holds it. `dispersion_` is d: R's `theta` is 1 / dispersion_. Where the counts spread no more than Poisson's there
    is no d above 0, and a warning says so.
    """

    dispersion_: float

    def __init__(
        self,
        *,
        dispersion: float | str = "estimate",
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-12,
        warm_start: bool = False,
        verbose: int = 0,
        l1_ratio: float = 0.0,
        column_penalty: Penalties | None = None,
        gaps: str = "refuse",
        threads: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            fit_intercept=fit_intercept,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            verbose=verbose,
            l1_ratio=l1_ratio,
            column_penalty=column_penalty,
            gaps=gaps,
            threads=threads,
        )
        self.dispersion = dispersion

    def _check_params(self) -> None:
        super()._check_params()
        NegativeBinomial.of_dispersion(self.dispersion)

    def _head(self) -> Head:
        head = NegativeBinomial.of_dispersion(self.dispersion)
        known = getattr(self, "dispersion_", None)
        return replace(head, alpha=known) if head.estimated and known is not None else head

    def _spread(self) -> float:
        return self.dispersion_

    def _minimise(self, problem: Problem) -> tuple[Floats, Floats]:
        head = problem.head
        assert isinstance(head, NegativeBinomial)
        if not head.estimated:
            self.dispersion_ = float(head.alpha)
            return super()._minimise(problem)
        assert problem.values is not None
        start, iterations = self._warm(problem), 0
        known, values, problem = 0.0, problem.values, replace(problem, head=Poisson())
        for _ in range(_ROUNDS):
            solution = self._solve(problem, start)
            start, iterations = solution.theta, iterations + solution.iterations
            fitted = head.with_estimate(problem.head.mean(problem.z(start)), values, problem.weights)
            if abs(fitted.alpha - known) <= _SETTLED * fitted.alpha:
                break
            known, problem = fitted.alpha, replace(problem, head=fitted)
        else:
            warn(f"the dispersion has not settled after {_ROUNDS} rounds: it is about {known:.6g}", FitWarning)
        if known <= LEAST_ALPHA:
            warn(
                "the counts spread no more than Poisson's, so that the best dispersion is 0: use PoissonRegressor",
                FitWarning,
            )
        found = self._accept(problem, solution)
        self.n_iter_, self.dispersion_ = iterations, float(known)
        return found


class GammaRegressor(_Regressor):
    """Positive amounts, with mean e^z and the loss t e^-z + z."""

    def _head(self) -> Head:
        return Gamma()


class TweedieRegressor(_Regressor):
    """Tweedie's distributions: variance mean^power; link "auto" is the identity for power <= 0 and the log above."""

    _family: tuple[float, str] | None = None  # power and link of the fit; None in older files

    def __init__(
        self,
        *,
        power: float = 0.0,
        link: str = "auto",
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-12,
        warm_start: bool = False,
        verbose: int = 0,
        l1_ratio: float = 0.0,
        column_penalty: Penalties | None = None,
        gaps: str = "refuse",
        threads: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            fit_intercept=fit_intercept,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            verbose=verbose,
            l1_ratio=l1_ratio,
            column_penalty=column_penalty,
            gaps=gaps,
            threads=threads,
        )
        self.power = power
        self.link = link

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.power, "power")
        if self.link not in ("auto", "log", "identity"):
            raise unknown_name("link", self.link, ("auto", "log", "identity"))
        self._head()

    def _head(self) -> Head:
        link = ("log" if self.power > 0 else "identity") if self.link == "auto" else self.link
        return Tweedie(self.power, link)

    def _report(self, weights: Floats, biases: Floats, y: object) -> None:
        super()._report(weights, biases, y)
        self._family = float(self.power), "log" if self._has_log_link() else "identity"

    def _fitted_head(self) -> Head:
        return super()._fitted_head() if self._family is None else Tweedie(*self._family)


class Ridge(Regressor, LinearModel):
    """Linear regression with an L2 penalty: Σ w (z - t)² + alpha Σ coef²; one target or several.

    `solver_` tells what solved it: "cholesky", "lbfgs", "sparse_cg", or "coordinate" after `positive=True`. With
    `alpha=0` it gives the smallest of all coefficients that fit best, whatever the solver asked for.
    """

    def __init__(
        self,
        alpha: float | ArrayLike = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-12,
        solver: str = "auto",
        positive: bool = False,
        random_state: object = None,
        column_penalty: Penalties | None = None,
        gaps: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.column_penalty = column_penalty
        self.gaps = gaps
        self.threads = threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _alpha(self, outputs: int) -> Any:
        """The penalty, or that of each target."""
        alpha = np.asarray(self.alpha)
        if alpha.ndim == 0:
            return check_number(self.alpha, "alpha", at_least=0)
        if alpha.shape != (outputs,):
            raise ConfigError(f"alpha must be one number, or one a target, {outputs} in all, got {self.alpha!r}")
        return np.array([check_number(each, "alpha", at_least=0) for each in alpha.tolist()])

    def _problem(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Problem:
        target = as_array(y, "y")
        outputs = target.shape[1] if target.ndim == 2 else 1
        return self._make(
            columns,
            Normal(),
            outputs,
            values=as_values(target, outputs, np.float64, rows=columns.rows, table="X"),
            weights=row_weights(sample_weight, columns.rows),
            offset=self._shift(offset, exposure, columns.rows, outputs),
            l2=self._alpha(outputs),
        )

    def fit(self, X: object, y: object, sample_weight: object = None, *, offset: object = None) -> Self:
        """Fit the model."""
        return self._fit(X, y, sample_weight, offset)

    def _accept(self, problem: Problem, solution: Solution) -> tuple[Floats, Floats]:
        self.solver_ = str(solution.method)
        return super()._accept(problem, solution)

    def _outputs(self) -> None:
        return None  # a target each

    def _report(self, weights: Floats, biases: Floats, y: object) -> None:
        several = np.asarray(y).ndim == 2
        coefficients = self._coefficients(weights)
        self.coef_ = coefficients if several else coefficients[0]
        self.intercept_ = biases.copy() if several else float(biases[0])

    def predict(self, X: object, *, offset: object = None) -> Floats:
        """Return the mean of each row's distribution."""
        z = self._z(X, offset)
        return z if np.ndim(self.coef_) == 2 else z[:, 0]

    def _to_graph(self, inputs: "Inputs") -> "Answers":
        return {"variable": self._z_graph(inputs)}

    def score(self, X: object, y: object, sample_weight: object = None, *, offset: object = None) -> float:
        """Return R², the part of the targets' variance that the model explains."""
        return r_squared(y, self.predict(X, offset=offset), sample_weight)


class LinearRegression(Ridge):
    """Least squares: Σ w (z - t)².

    `singular_` and `rank_` are those of the table after centering and weighting, computed from its products when they
    are first asked for: singular values are exact to some 1e-8 of the largest. They are not known after
    `positive=True`, nor where columns are so many that L-BFGS took over.
    """

    _products: Floats | None = None
    _spectrum: tuple[int, Floats] | None = None

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-12,
        n_jobs: int | None = None,
        positive: bool = False,
        gaps: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.gaps = gaps
        self.threads = threads

    def _alpha(self, outputs: int) -> Any:
        return 0.0

    def _accept(self, problem: Problem, solution: Solution) -> tuple[Floats, Floats]:
        self._products, self._spectrum = None if self.positive else gram(problem, solution), None
        self._least = min(problem.columns.rows, problem.columns.count)
        self._known_rank = None if solution.aliasing is None else solution.aliasing.rank
        return super()._accept(problem, solution)

    def _rank_and_singular(self) -> tuple[int, Floats]:
        """Computed once; the products, which may be large, are not kept any longer."""
        products = self._products  # another thread may have found both, and let go of these, in the meantime
        if products is not None:
            rank, singular = spectrum(products)
            rank = rank if self._known_rank is None else self._known_rank
            self._spectrum, self._products = (rank, singular[: self._least]), None
        if self._spectrum is None:
            raise AttributeError("rank_ and singular_ are known after a fit without positive=True and without L-BFGS")
        return self._spectrum

    @property
    def rank_(self) -> int:
        """The rank of the centered table."""
        return self._rank_and_singular()[0]

    @property
    def singular_(self) -> Floats:
        """The singular values of the centered table, the largest first."""
        return self._rank_and_singular()[1]

    def __getstate__(self) -> dict[str, Any]:
        if self._products is not None:
            self._rank_and_singular()
        return dict(self.__dict__)
