"""Generalized linear models of one target: penalised regression with any head, and regression for positive amounts."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from linnet._sklearn import Regressor
from linnet.arrays import ArrayLike, Table, Targets
from linnet.checks import check_name, check_number
from linnet.data.columns import Columns
from linnet.data.rows import Rows
from linnet.data.targets import as_values, check_squarable, check_values
from linnet.errors import DataWarning, known_as, warn
from linnet.estimators.inputs import one_target, row_weights
from linnet.estimators.linear.model import LinearModel
from linnet.estimators.linear.settings import Penalties
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.sums import RowSource
from linnet.heads import Gamma, Head, Tweedie
from linnet.inference.glm import null_deviance
from linnet.registry import saved

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs


class PenalisedRegressor(Regressor, LinearModel):
    """A model of one target that minimises Σ w loss / Σ w + alpha Σ (l1_ratio |coef| + (1 - l1_ratio) coef² / 2)."""

    alpha: float
    l1_ratio: float
    column_penalty: Penalties | None
    solver: str
    max_iter: int
    warm_start: bool
    verbose: int

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
        missing: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

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
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Fit the model; if that fails, it stays as it was.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,)
            The targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        self
            The fitted model.
        """
        return self._fit(X, y, sample_weight, offset, exposure)

    def _take(self, weights: Floats, biases: Floats, y: object) -> None:
        self.coef_ = self._coefficients(weights)[0]
        self.intercept_ = float(biases[0])

    def _rows(self, columns: Columns, y: object, sample_weight: object, offset: object, exposure: object) -> Rows:
        values = as_values(one_target(y), 1, np.float64, rows=columns.rows, table="X")
        check_values(values, self._head().is_valid(values), "y", self._head().target_requirement)
        if self._head().quadratic:
            check_squarable(values, "y")
        weights = row_weights(sample_weight, columns.rows)
        return Rows(columns, values=values, weights=weights, offset=self._shift(offset, exposure, columns.rows, 1))

    def _posed(self, data: RowSource) -> Problem:
        total = data.weight
        return self._make(
            data,
            self._head(),
            1,
            l2=self.alpha * (1 - self.l1_ratio) * total,
            l1=self.alpha * self.l1_ratio * total,
        )

    @property
    def has_log_link(self) -> bool:
        """Whether the mean is e^z, so that effects multiply it."""
        return self._head().log_link

    def _fitted_head(self) -> Head:
        """Return the distribution that was fitted, even if parameters have been set since."""
        return self._as_fitted()._head()

    def predict(self, X: Table, *, offset: ArrayLike | None = None, exposure: ArrayLike | None = None) -> Floats:
        """Return the predicted mean of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        array of shape (rows,)
            The means.
        """
        return self._fitted_head().mean(self._z(X, offset, exposure))[:, 0]

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.network import mean

        return {"variable": mean(inputs.graph, self._fitted_head(), self._z_graph(inputs))}

    def score(
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """Return D², the share of the null model's deviance that the model explains (R² for squared error).

        The null model has an intercept, the offset and the exposure only.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        y : array of shape (rows,)
            Their targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        float
            D², at most 1; NaN for fewer than two rows.
        """
        columns = self._read(X)
        if columns.rows < 2:
            warn("D² is not defined for fewer than two rows", known_as("UndefinedMetricWarning", DataWarning))
            return float("nan")
        problem = self._as_fitted()._problem(columns, y, sample_weight, offset, exposure)
        problem = replace(problem, intercept=True)
        weights = np.ones(columns.rows) if problem.rows.weights is None else problem.rows.weights
        z = self._z_of(columns)
        deviance = problem.head.deviance(
            z if problem.rows.offset is None else z + problem.rows.offset, problem.rows.targets(), weights
        )
        null = null_deviance(problem)
        return 1 - deviance / null if null > 0 else float(deviance == 0)


@saved
class GammaRegressor(PenalisedRegressor):
    """Gamma regression for positive amounts: mean e^z, loss t e^-z + z.

    Minimises Σ w loss / Σ w + alpha Σ (l1_ratio |coef| + (1 - l1_ratio) coef² / 2); the intercept is not penalised.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 fits without one.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    solver : str, default="auto"
        The method: "auto" chooses by the shape of the problem. scikit-learn's names are accepted; all lead to
        the same optimum.
    max_iter : int, default=1000
        The largest number of iterations.
    tol : float, default=1e-12
        Relative tolerance on the objective, for L-BFGS and coordinate descent; Newton's method continues to
        full precision.
    warm_start : bool, default=False
        Whether a fit starts from the coefficients of the previous one.
    verbose : int, default=0
        1 shows a progress bar, 2 prints one line per iteration.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, from 0 (L2 only) to 1 (L1 only).
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
    coef_ : array of shape (coefficients,)
        The coefficients, in the order of `get_feature_names_out`. Predictions are computed from `coef_` and
        `intercept_`, which may be set.
    intercept_ : float
        The intercept.
    n_iter_ : int
        The number of iterations.
    """

    def _head(self) -> Head:
        return Gamma()


@saved
class TweedieRegressor(PenalisedRegressor):
    """Tweedie regression: the variance of the target is proportional to mean^power.

    Minimises Σ w loss / Σ w + alpha Σ (l1_ratio |coef| + (1 - l1_ratio) coef² / 2) with half the unit deviance as the
    loss, up to terms of the targets alone; the intercept is not penalised.

    Parameters
    ----------
    power : float, default=0.0
        0 is normal, 1 Poisson, 2 gamma, 3 inverse Gaussian; between 1 and 2, amounts of which some are exactly 0.
        Powers between 0 and 1 have no distribution.
    link : {"auto", "log", "identity"}, default="auto"
        The link function; "auto" is the identity for power <= 0 and the log above.
    alpha : float, default=1.0
        Strength of the penalty; 0 fits without one.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    solver : str, default="auto"
        The method: "auto" chooses by the shape of the problem. scikit-learn's names are accepted; all lead to
        the same optimum.
    max_iter : int, default=1000
        The largest number of iterations.
    tol : float, default=1e-12
        Relative tolerance on the objective, for L-BFGS and coordinate descent; Newton's method continues to
        full precision.
    warm_start : bool, default=False
        Whether a fit starts from the coefficients of the previous one.
    verbose : int, default=0
        1 shows a progress bar, 2 prints one line per iteration.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, from 0 (L2 only) to 1 (L1 only).
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
    coef_ : array of shape (coefficients,)
        The coefficients, in the order of `get_feature_names_out`. Predictions are computed from `coef_` and
        `intercept_`, which may be set.
    intercept_ : float
        The intercept.
    n_iter_ : int
        The number of iterations.
    """

    power: float
    link: str
    _family: tuple[float, str] | None = None  # power and link of the fit; None in older files
    _file_types: ClassVar[Mapping[str, Any]] = {"_family": tuple[float, str] | None}

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
        missing: str = "refuse",
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.power, "power")
        check_name(self.link, "link", ("auto", "log", "identity"))
        self._head()

    def _head(self) -> Head:
        link = ("log" if self.power > 0 else "identity") if self.link == "auto" else self.link
        return Tweedie(self.power, link)

    def _take(self, weights: Floats, biases: Floats, y: object) -> None:
        super()._take(weights, biases, y)
        self._family = float(self.power), "log" if self.has_log_link else "identity"

    def _fitted_head(self) -> Head:
        return super()._fitted_head() if self._family is None else Tweedie(*self._family)
