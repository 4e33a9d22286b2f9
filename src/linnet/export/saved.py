"""What every model can do with files; what that takes is loaded when it is done."""

import os
from collections.abc import Mapping
from typing import Any

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


def check_width(width: int, size: int) -> None:
    """Refuse a model with more columns than bytes of its file."""
    if not 0 < width <= size:
        raise FormatError(f"it has {width} columns, and {size:,} bytes to say what it does with them")


def changed_since(fit_params: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a fit that are others by now."""
    plain = (bool, int, float, str)
    return {
        name: value
        for name, value in fit_params.items()
        if value is not (now := state.get(name))
        and not (type(value) is type(now) and isinstance(value, plain) and value == now)
    }
