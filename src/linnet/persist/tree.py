"""Objects as JSON and arrays, and back: numbers, texts, lists, arrays, and objects of known classes.

| value | in JSON |
|---|---|
| None, true, false, whole and finite numbers, texts, lists | themselves |
| other numbers | {"float": "nan"} |
| tuples, dicts | {"tuple": [...]}, {"dict": [[key, value], ...]} |
| numbers of NumPy | {"number": ..., "dtype": "int64"} |
| arrays | {"array": name of a block}, with "dtype" for dates and times |
| arrays of texts or objects | {"items": [...], "shape": [...], "dtype": "object"} |
| objects | {"object": name of the class, "state": {name: value}} |

Reading makes objects of the classes it is given, and of no others: no code is looked up by a name from a file.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError, FormatError

Class = Callable[[str], type | None]  # the class of a name, or None


class Packer:
    """Collects arrays while it turns values into JSON. An array that occurs twice is kept once.

    `known` gives the name of a class, if its objects may be kept; of classes in `empty` they are kept as new ones, and
    attributes in `without` not at all.
    """

    def __init__(
        self, known: Callable[[type], str | None], *, empty: Collection[str] = (), without: Collection[str] = ()
    ) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._known = known
        self._empty, self._without = empty, without
        self._seen: dict[int, str] = {}

    def pack(self, value: Any, path: str) -> Any:
        """Return the value as JSON can say it; `path` is its name in messages and, of arrays, in the file."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return None  # what it has drawn is part of the model; what it will draw is not
        if isinstance(value, np.generic):
            return {"number": self.pack(value.item(), path), "dtype": value.dtype.str}
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, list):
            return [self.pack(item, f"{path}.{index}") for index, item in enumerate(value)]
        if isinstance(value, tuple):
            return {"tuple": [self.pack(item, f"{path}.{index}") for index, item in enumerate(value)]}
        if isinstance(value, Mapping):
            return {"dict": [[self.pack(key, path), self.pack(item, f"{path}.{key}")] for key, item in value.items()]}
        name = self._known(type(value))
        if name is None:
            kind = type(value)
            what = "a function" if callable(value) else f"of type {kind.__module__.split('.')[0]}.{kind.__qualname__}"
            raise ConfigError(
                f"{path} is {what}, which a model file cannot hold: it holds data only, and no code: use linnet's own"
            )
        state = {} if name in self._empty else _state(value)
        kept = {key: item for key, item in state.items() if key not in self._without}
        return {"object": name, "state": {key: self.pack(item, f"{path}.{key}") for key, item in kept.items()}}

    def _array(self, array: NDArray[Any], path: str) -> Any:
        if array.dtype.kind in "OUS":
            items = [self.pack(item, path) for item in array.ravel().tolist()]
            return {"items": items, "shape": list(array.shape), "dtype": array.dtype.str}
        node: dict[str, Any] = {}
        if array.dtype.kind in "mM":
            node["dtype"], array = array.dtype.str, array.view(np.int64)
        elif array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise ConfigError(f"{path} is an array of {array.dtype}, which a model file cannot hold")
        name = self._seen.setdefault(id(array), path)
        self.arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        return {"array": name, **node}


def _state(value: Any) -> dict[str, Any]:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    state = value.__getstate__()
    return dict(state) if state is not None else {}


class Unpacker:
    """Turns JSON and arrays into values again."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], known: Class) -> None:
        self._arrays = arrays
        self._known = known

    def unpack(self, node: Any) -> Any:
        """Return the value; what is not of the forms above is a FormatError."""
        if node is None or isinstance(node, bool | str | int | float):
            return node
        if isinstance(node, list):
            return [self.unpack(item) for item in node]
        kind = next(iter(node), None)
        if kind == "float":
            return float(node["float"])
        if kind == "tuple":
            return tuple(self.unpack(item) for item in node["tuple"])
        if kind == "dict":
            return {self.unpack(key): self.unpack(item) for key, item in node["dict"]}
        if kind == "number":
            return _plain(node["dtype"]).type(self.unpack(node["number"]))
        if kind == "array":
            array = self._arrays[node["array"]]
            return array.view(_plain(node["dtype"])) if "dtype" in node else array
        if kind == "items":
            items = np.empty(len(node["items"]), object)
            items[:] = [self.unpack(item) for item in node["items"]]
            return items.reshape(node["shape"]).astype(_plain(node["dtype"]))
        if kind == "object":
            return self._object(node["object"], {name: self.unpack(item) for name, item in node["state"].items()})
        raise FormatError(f"the file holds {str(node)[:60]}, which this version of linnet does not know")

    def _object(self, name: str, state: dict[str, Any]) -> Any:
        known = self._known(name)
        if known is None:
            raise FormatError(f"the file holds a {name}, which this version of linnet does not know")
        if is_dataclass(known):
            shown = {field.name for field in fields(known) if field.init}
            return known(**{key: value for key, value in state.items() if key in shown})
        made: Any = object.__new__(known)
        restore = getattr(made, "__setstate__", made.__dict__.update)
        restore(state)
        return made


def _plain(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in "biufmMOUS":
        raise FormatError(f"the file holds values of type {name!r}, which this version of linnet does not know")
    return dtype
