"""Least squares with and without a penalty, for one target or several."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linnet._sklearn import Regressor, r_squared
from linnet.arrays import ArrayLike, Table, Targets
from linnet.checks import check_number
from linnet.data.columns import Columns
from linnet.data.rows import Rows
from linnet.data.targets import as_array, as_values, check_squarable
from linnet.errors import ConfigError
from linnet.estimators.inputs import row_weights
from linnet.estimators.linear.model import LinearModel
from linnet.estimators.linear.settings import Penalties
from linnet.fit.solvers.min_norm import gram, spectrum
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Method, Solution
from linnet.fit.solvers.sums import RowSource
from linnet.heads import Normal
from linnet.registry import need, saved
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs


@saved
class Ridge(Regressor, LinearModel):
    """Linear regression with an L2 penalty, for one target or several: minimises Σ w (z - t)² + alpha Σ coef².

    Parameters
    ----------
    alpha : float or array of shape (targets,), default=1.0
        Strength of the penalty, one for all targets or one per target; 0 gives the minimum-norm solution with any
        solver.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    copy_X : bool, default=True
        Ignored: X is never changed.
    max_iter : int or None, default=None
        The largest number of iterations; None is 1000.
    tol : float, default=1e-12
        Relative tolerance on the objective, for L-BFGS and coordinate descent; Newton's method continues to
        full precision.
    solver : str, default="auto"
        The method: "auto" chooses by the shape of the problem. scikit-learn's names are accepted; all lead to
        the same optimum.
    positive : bool, default=False
        Whether all coefficients must be at least 0.
    random_state : object, default=None
        Ignored: no solver uses random numbers.
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
    coef_ : array of shape (coefficients,) or (targets, coefficients)
        The coefficients. Predictions are computed from `coef_` and `intercept_`, which may be set.
    intercept_ : float or array of shape (targets,)
        The intercepts.
    n_iter_ : int
        The number of iterations.
    solver_ : Method
        The solver that was used, an enum of words: "cholesky", "lbfgs", "sparse_cg", or "coordinate" with
        `positive=True`.
    """

    alpha: float | ArrayLike
    positive: bool
    column_penalty: Penalties | None
    solver: str
    solver_: Method
    max_iter: int | None

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
        missing: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _alpha(self, outputs: int) -> Any:
        """Return the penalty: one number, or one per target."""
        try:
            alpha = np.asarray(self.alpha)
        except ValueError:  # lists of different lengths
            raise ConfigError(f"alpha must be one number, or one per target, got {self.alpha!r}") from None
        if alpha.ndim == 0:
            return check_number(self.alpha, "alpha", at_least=0)
        if alpha.shape != (outputs,):
            raise ConfigError(f"alpha must be one number, or one per target, {outputs} in all, got {self.alpha!r}")
        return np.array([check_number(each, "alpha", at_least=0) for each in alpha.tolist()])

    def _rows(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Rows:
        target = as_array(y, "y")
        outputs = target.shape[1] if target.ndim == 2 else 1
        values = as_values(target, outputs, np.float64, rows=columns.rows, table="X")
        check_squarable(values, "y")
        weights = row_weights(sample_weight, columns.rows)
        shift = self._shift(offset, exposure, columns.rows, outputs)
        return Rows(columns, values=values, weights=weights, offset=shift)

    def _posed(self, data: RowSource) -> Problem:
        return self._make(data, Normal(), data.target_columns, l2=self._alpha(data.target_columns))

    def fit(
        self, X: Table, y: Targets, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None
    ) -> Self:
        """Fit the model; if that fails, it stays as it was.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,) or (rows, targets)
            The targets.
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

    def _accept(self, problem: Problem, solution: Solution) -> tuple[Floats, Floats]:
        self.solver_ = solution.method
        return super()._accept(problem, solution)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "solver_" in state:
            self.solver_ = Method(state["solver_"])  # files have the word

    def _outputs(self) -> None:
        return None  # one per target

    def _take(self, weights: Floats, biases: Floats, y: object) -> None:
        several = len(biases) > 1 or np.asarray(y).ndim == 2
        coefficients = self._coefficients(weights)
        self.coef_ = coefficients if several else coefficients[0]
        self.intercept_ = biases.copy() if several else float(biases[0])

    def predict(self, X: Table, *, offset: ArrayLike | None = None) -> Floats:
        """Return the predicted mean of each row and target.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        array of shape (rows,) or (rows, targets)
            The means, in the shape of the y of the fit.
        """
        z = self._z(X, offset)
        return z if np.ndim(self.coef_) == 2 else z[:, 0]

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        return {"variable": self._z_graph(inputs)}

    def score(
        self, X: Table, y: Targets, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None
    ) -> float:
        """Return R², the share of the targets' variance that the model explains.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        y : array of shape (rows,) or (rows, targets)
            Their targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.

        Returns
        -------
        float
            R², at most 1, averaged over the targets; NaN for fewer than two rows.
        """
        return r_squared(y, self.predict(X, offset=offset), sample_weight)


@saved
class LinearRegression(Ridge):
    """Least squares for one target or several: minimises Σ w (z - t)²; of several minima, that with the least Σ coef².

    `singular_` and `rank_` are computed from the Gram matrix of the table when first used, so that singular values are
    exact to about 1e-8 of the largest. Neither is available with `positive=True`, or where there are so many columns
    that L-BFGS was used.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    copy_X : bool, default=True
        Ignored: X is never changed.
    tol : float, default=1e-12
        Relative tolerance on the objective, for L-BFGS and coordinate descent; Newton's method continues to
        full precision.
    n_jobs : int or None, default=None
        Ignored: see `threads`.
    positive : bool, default=False
        Whether all coefficients must be at least 0.
    missing : {"refuse", "fill"}, default="refuse"
        Missing values in data frames: refuse them, or fill them in (numeric columns with the median, and an
        indicator column; text and categories with a level of their own).
    threads : int or None, default=None
        The largest number of threads; None uses as many as pay off. The result has the same bytes for any
        number.

    Attributes
    ----------
    coef_ : array of shape (coefficients,) or (targets, coefficients)
        The coefficients. Predictions are computed from `coef_` and `intercept_`, which may be set.
    intercept_ : float or array of shape (targets,)
        The intercepts.
    n_iter_ : int
        The number of iterations.
    rank_ : int
        The rank of the centered and weighted table.
    singular_ : array of shape (min(rows, coefficients),)
        The singular values of the centered and weighted table, the largest first.
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
        missing: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _alpha(self, outputs: int) -> Any:
        return 0.0

    def _accept(self, problem: Problem, solution: Solution) -> tuple[Floats, Floats]:
        self._products, self._spectrum = None if self.positive else gram(problem, solution), None
        self._least = min(problem.columns.rows, problem.columns.count)
        self._known_rank = None if solution.aliasing is None else solution.aliasing.rank
        return super()._accept(problem, solution)

    def _rank_and_singular(self) -> tuple[int, Floats]:
        """Return the rank and the singular values, computed once, after which the Gram matrix is freed."""
        products = self._products  # another thread may have dropped it in the meantime
        if products is not None:
            rank, singular = spectrum(products)
            rank = rank if self._known_rank is None else self._known_rank
            self._spectrum, self._products = (rank, singular[: self._least]), None
        if self._spectrum is None:
            raise AttributeError("rank_ and singular_ are not available after a fit with positive=True or by L-BFGS")
        return self._spectrum

    @property
    def rank_(self) -> int:
        """The rank of the centered table."""
        return self._rank_and_singular()[0]

    @property
    def singular_(self) -> Floats:
        """The singular values of the centered table, the largest first."""
        return self._rank_and_singular()[1]

    def _check_file(self) -> None:
        super()._check_file()
        need(fits(self.__dict__.get("_spectrum"), tuple[int, Floats] | None), self, "rank_")
        need(self.__dict__.get("_products") is None, self, "rank_")

    def __getstate__(self) -> dict[str, Any]:
        if self._products is not None:
            self._rank_and_singular()
        return dict(self.__dict__)
