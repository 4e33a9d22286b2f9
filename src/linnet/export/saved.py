"""Saving of models to files; the code for it is loaded on use."""

import os
from collections.abc import Mapping
from typing import Any

from linnet.errors import FormatError


class Saved:
    """A model that can be written to files."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of data, which `linnet.load` reads and which cannot run code.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced once the new one is complete.
        """
        from linnet.export.model_file import save

        save(self, path)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a function of raw columns to an ONNX file: see docs/guide/tables.md. Needs onnx.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced once the new one is complete.
        """
        from linnet.export.onnx.file import to_onnx

        to_onnx(self, path)

    def _made_up_row(self, size: int) -> Any:
        """Return a row that the model can predict, to test a model from a file of `size` bytes.

        None: it is not fitted.
        """
        raise AssertionError("every model overrides this")


def check_width(width: int, size: int) -> None:
    """Refuse a model with more columns than bytes of its file."""
    if not 0 < width <= size:
        raise FormatError(f"it has {width} columns, but only {size:,} bytes")


def changed_since(fit_params: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a fit that have changed since."""
    plain = (bool, int, float, str)
    return {
        name: value
        for name, value in fit_params.items()
        if value is not (now := state.get(name))
        and not (type(value) is type(now) and isinstance(value, plain) and value == now)
    }
