"""Types of what users pass: the aliases that public signatures show."""

from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike as ArrayLike


class DataFrame(Protocol):
    """A data frame of pandas, polars, pyarrow or any other library that narwhals reads."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


class SparseMatrix(Protocol):
    """A sparse matrix or array of SciPy."""

    def tocsr(self) -> Any:
        """Return the matrix in CSR format."""


Table: TypeAlias = ArrayLike | DataFrame | SparseMatrix  # X: rows x columns
Targets: TypeAlias = (
    ArrayLike | DataFrame | SparseMatrix
)  # y: a column (Series are array-likes), or one column per output
