"""Values on their way from a student's program to the checker: JSON, arrays as base64. What is read is not trusted."""

import base64
import binascii
import math
from typing import Any

import numpy as np

_KINDS = {"f": "<f8", "i": "<i8", "u": "<u8", "b": "|b1"}
_MAX_DEPTH = 8
_MAX_DIMENSIONS = 8
MAX_BYTES = 2 << 20  # of the arrays of one value


class NoValue(Exception):
    """A value that is not a number, a string or an array, or made of these."""


def to_json(value: object, depth: int = 0) -> Any:
    """Return a value in a form that JSON can hold; raise NoValue if it has none."""
    if depth > _MAX_DEPTH:
        raise NoValue("lists nested too deeply")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        return {"number": repr(value)[:1000]}
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _KINDS:
            raise NoValue(f"an array of dtype {value.dtype}")
        if value.nbytes > MAX_BYTES:
            raise NoValue(f"an array of shape {value.shape}, which is far too large")
        flat = np.ascontiguousarray(value, dtype=_KINDS[value.dtype.kind])
        return {
            "kind": value.dtype.kind,
            "shape": list(value.shape),
            "data": base64.b64encode(flat.tobytes()).decode("ascii"),
        }
    if isinstance(value, list | tuple):
        return [to_json(part, depth + 1) for part in value]
    if isinstance(value, dict):
        return {"keys": {str(name): to_json(part, depth + 1) for name, part in value.items()}}
    raise NoValue(f"a value of type {type(value).__name__}")


def from_json(stated: object, depth: int = 0) -> Any:
    """Return the value that `to_json` encoded; raise ValueError if it cannot have been `to_json`."""
    if depth > _MAX_DEPTH:
        raise ValueError("too deep")
    if stated is None or isinstance(stated, bool | str):
        return stated
    if isinstance(stated, list):
        return [from_json(part, depth + 1) for part in stated]
    if not isinstance(stated, dict):
        raise ValueError("no value")
    if stated.keys() == {"number"} and isinstance(stated["number"], str):
        return float(stated["number"]) if not stated["number"].lstrip("-").isdigit() else int(stated["number"])
    if stated.keys() == {"keys"} and isinstance(stated["keys"], dict):
        return {name: from_json(part, depth + 1) for name, part in stated["keys"].items()}
    if stated.keys() == {"kind", "shape", "data"}:
        return _array(stated["kind"], stated["shape"], stated["data"])
    raise ValueError("no value")


def _array(kind: object, shape: object, data: object) -> np.ndarray[Any, Any]:
    if not isinstance(kind, str) or kind not in _KINDS or not isinstance(data, str) or not isinstance(shape, list):
        raise ValueError("no array")
    if len(shape) > _MAX_DIMENSIONS or not all(type(n) is int and 0 <= n <= MAX_BYTES for n in shape):
        raise ValueError("no shape of an array")
    dtype = np.dtype(_KINDS[kind])
    try:
        content = base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise ValueError("no array") from error
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise ValueError("an array of another size")
    return np.frombuffer(content, dtype).reshape(shape).copy()
