"""`model.save(path)` and `linnet.load(path)`: models as files that hold data only."""

import os
from typing import Any

import numpy as np

from linnet.errors import FormatError
from linnet.export.blocks import open_blocks, write_blocks
from linnet.export.saved import Saved
from linnet.export.tree import Packer, Unpacker
from linnet.files import check_path
from linnet.registry import need

_METHODS = ("predict", "predict_proba", "decision_function")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file; an existing file is replaced once the new one is complete."""
    path, packer = check_path(path), Packer()
    content = packer.pack(model, type(model).__name__)
    write_blocks(path, content, packer.arrays, packer.size)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model in a file.

    No code from the file is run; damage and unknown content are FormatErrors.

    Parameters
    ----------
    path : str or path
        A file written by `model.save`.

    Returns
    -------
    estimator or TableModel
        The fitted model.
    """
    path = check_path(path)
    content, arrays, memory = open_blocks(path)
    try:
        model = Unpacker(arrays, memory).read(content)
        del content, arrays  # the text may be as large as the model
        if not isinstance(model, Saved):
            raise FormatError(f"it holds a value of type {type(model).__name__}, not a model")
        _check_predictions(model, memory.size)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is not a model as this version of linnet writes it: {error!r:.300}") from error
    return model


def _check_predictions(model: Saved, size: int) -> None:
    """Let a model from a file of `size` bytes predict a row; an error is the file's."""
    row = model._made_up_row(size)
    if row is None:
        return
    with np.errstate(all="ignore"):
        for method in _METHODS:
            missing = method == "predict_proba" and not getattr(model, "has_proba", True)
            if hasattr(model, method) and not missing:
                need(len(getattr(model, method)(row)) == 1, model, method)
