"""The training data of a reduction's binary classifiers."""

from dataclasses import dataclass, field, replace
from typing import Any

from linnet.evaluate.inputs import Floats
from linnet.fit.solvers.code_matrix import CodeMatrix


@dataclass(frozen=True)
class TrainingSet:
    """A table, the code matrix that makes binary problems of it, and how their classifiers are fitted.

    Parameters
    ----------
    X : array, data frame or sparse matrix
        The table.
    codes : CodeMatrix
        The rows of each binary problem, and the class of each.
    weights : array of shape (rows,) or None
        Row weights.
    params : dict
        Further arguments of the classifiers' fit.
    n_jobs, verbose : int
        Parameters of joblib, where classifiers are fitted one by one.
    """

    X: Any
    codes: CodeMatrix
    weights: Floats | None = None
    params: dict[str, Any] = field(default_factory=dict)
    n_jobs: int | None = None
    verbose: int = 0

    def with_codes(self, codes: CodeMatrix) -> "TrainingSet":
        """Return the same training data with another code matrix."""
        return replace(self, codes=codes)
