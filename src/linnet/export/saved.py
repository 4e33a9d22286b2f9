"""What every model can do with files; what that takes is loaded when it is done."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import FormatError


class Saved:
    """A model that can be written to files."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of data, which `linnet.load` reads and which cannot run code."""
        from linnet.export.model_file import save

        save(self, path)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a function of raw columns to an ONNX file: see docs/guide/tables.md. Needs onnx."""
        from linnet.export.onnx.file import to_onnx

        to_onnx(self, path)

    def _made_up_row(self, size: int) -> Any:
        """A row that it can predict, to ask a model from a file of so many bytes; None: it has learned nothing."""
        raise AssertionError("every model has its own")


def row_of_zeros(width: int, size: int) -> NDArray[np.float64]:
    """A row of so many columns; more than bytes of the file are a FormatError."""
    if not 0 < width <= size:
        raise FormatError(f"it has {width} columns, and {size:,} bytes to say what it does with them")
    return np.zeros((1, width))
