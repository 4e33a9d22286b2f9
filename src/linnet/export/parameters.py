"""Parameters of estimators to JSON and back, for checkpoints. Model files have a form of their own: export.tree."""

import hashlib
import inspect
import os
from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np

from linnet.registry import arguments_of, setting_named

_NUMBERS = "biuf"  # kinds of NumPy's types


def to_json(value: Any) -> Any:
    """Return a parameter as JSON; for what JSON cannot hold, such as a function, its name and a digest."""
    if isinstance(value, np.generic) and value.dtype.kind in _NUMBERS:
        return {"number": value.item(), "dtype": value.dtype.str}  # first: a float64 is a float, too
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_json(item) for item in value]}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str if value.dtype.kind in _NUMBERS else "|O"}
    if isinstance(value, Mapping):
        return {"dict": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if (parts := arguments_of(value)) is not None:
        return {"object": type(value).__name__, "with": {name: to_json(part) for name, part in parts.items()}}
    name = getattr(value, "__qualname__", type(value).__name__)
    return {"unknown": name, "digest": hashlib.sha256(repr(_content(value)).encode()).hexdigest()}


def _content(value: Any) -> Any:
    """Return what a function does, as far as it can be compared: code, constants, defaults and enclosed variables."""
    function = getattr(value, "__func__", value)
    code = getattr(function, "__code__", None)
    if code is None:
        inside = getattr(value, "__dict__", {}) if not isinstance(value, type) else {}
        return type(value).__name__, sorted((name, to_json(part)) for name, part in inside.items())
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    return *_code(code), [to_json(part) for part in (*(function.__defaults__ or ()), *enclosed)]


def _code(code: CodeType) -> tuple[Any, ...]:
    constants = [_code(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return code.co_code, code.co_names, constants


def comparable(value: Any) -> Any:
    """Return JSON with lists in place of tuples and arrays, and Python numbers: equal for equivalent parameters.

    Settings have all their arguments, with the defaults of those younger than the file.
    """
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if not isinstance(value, dict):
        return value
    for tag in ("tuple", "array", "number"):
        if tag in value:
            return comparable(value[tag])
    name, given = value.get("object"), value.get("with")
    if isinstance(name, str) and isinstance(given, dict) and (kind := setting_named(name)) is not None:
        value = {**value, "with": {**_defaults(kind), **given}}
    return {key: comparable(item) for key, item in value.items()}


def _defaults(kind: type) -> dict[str, Any]:
    """The defaults of a setting's arguments."""
    parameters = inspect.signature(kind).parameters.items()
    return {name: to_json(each.default) for name, each in parameters if each.default is not each.empty}


def _number_type(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in _NUMBERS:
        raise TypeError(name)
    return dtype


class UnknownObject(Exception):
    """A parameter is something that no file can hold."""


def from_json(value: Any, name: str) -> Any:
    """Return the parameter in JSON; invalid JSON is an error of Python."""
    if isinstance(value, list):
        return [from_json(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(from_json(item, name) for item in value["tuple"])
    if "number" in value:
        return _number_type(value["dtype"]).type(value["number"])
    if "array" in value:
        array = np.array(value["array"])
        return array if value["dtype"] == "|O" else array.astype(_number_type(value["dtype"]))
    if "dict" in value:
        return {from_json(key, name): from_json(item, name) for key, item in value["dict"]}
    if "object" in value and (kind := setting_named(value["object"])) is not None:
        return kind(**{part: from_json(item, name) for part, item in value["with"].items()})
    if value.keys() != {"unknown", "digest"}:
        raise TypeError(name)
    raise UnknownObject(
        f"{name} was {value.get('unknown')}, which no file can hold: pass the model with its parameters, as in "
        "resume(path, X, y, model=MLPRegressor(...))"
    )
