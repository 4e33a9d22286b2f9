"""Generalized linear models with scikit-learn's names, solved to full precision.

Each is a network without hidden layers: z = x W + b + offset, a head on top (`linnet.heads`), and

    objective = Σ_i w_i loss(z_i, t_i) + penalty

Some defaults differ from scikit-learn's on purpose: tol=1e-12, solver="auto" and max_iter=1000, as problems are solved
to full precision. Parameters of scikit-learn's own solvers (copy_X, n_jobs, random_state) are accepted and ignored.
`verbose=1` shows a progress bar, `verbose=2` one line per iteration. `missing="fill"` accepts data frames with missing
values: numeric columns are filled with their median and get an indicator column; in text and categories missing is a
level of its own.

Predictions are computed from `coef_` and `intercept_`: assign to them, or change them in place, to recalibrate a model.
"""

from linnet.estimators.linear.counts import NegativeBinomialRegressor as NegativeBinomialRegressor
from linnet.estimators.linear.counts import PoissonRegressor as PoissonRegressor
from linnet.estimators.linear.glm import GammaRegressor as GammaRegressor
from linnet.estimators.linear.glm import TweedieRegressor as TweedieRegressor
from linnet.estimators.linear.least_squares import LinearRegression as LinearRegression
from linnet.estimators.linear.least_squares import Ridge as Ridge
