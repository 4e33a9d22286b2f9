"""Objects as JSON and arrays, and back: numbers, texts, lists, arrays, and objects of known classes.

| value | in JSON |
|---|---|
| None, true, false, whole and finite numbers, texts, lists | themselves |
| other numbers | {"float": "nan"} |
| tuples, dicts | {"tuple": [...]}, {"dict": [[key, value], ...]} |
| numbers of NumPy | {"number": ..., "dtype": "int64"} |
| arrays | {"array": name of a block}, with "dtype" for dates and times |
| arrays of texts or objects | {"items": [...], "shape": [...], "dtype": "|O"} |
| objects | {"object": name of the class, "state": {name: value}} |

Reading makes objects of the classes that are registered (`linnet.registry`), and of no others: no code is looked up by
a name from a file. Values of a dataclass must have the annotated types.
"""

import math
import re
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.characters import broken, is_whole
from linnet.errors import ConfigError, FormatError
from linnet.export.long_json import LongJSON, Made, Memory, size_of, size_of_pairs
from linnet.registry import class_named, name_of, state_of
from linnet.texts import MANY, Texts
from linnet.untrusted import as_text, fits

_SCALARS = (str, bool, int, float, np.generic, type(None))
_DTYPE = re.compile(r"[<>|=]?([biuf]\d{1,2}|U\d{1,9}|O|[mM]8(\[\d*\w+\])?)")
_NOT_FINITE = ("nan", "inf", "-inf")
_MAX_PADDED_BYTES = 1 << 20  # of any array of texts, however much is padding
_MAX_BYTES_PER_CHARACTER = 32  # of an array of texts, counting 8 more characters for each text


def _attributes(kind: type, count: int) -> int:
    """Return the bytes that the attributes of an object take, besides their values and the references to them."""
    return 0 if hasattr(kind, "__slots__") else size_of_pairs(count)


def _in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda key: (key.startswith("_"), key))


@cache
def _kept_fields(kind: Any) -> tuple[str, ...] | None:
    """The fields of a dataclass that files have, in order; None of a class that says itself what is kept."""
    if hasattr(kind, "_file_state") or not is_dataclass(kind):
        return None
    return tuple(_in_order(each.name for each in fields(kind) if each.metadata.get("saved", True)))


class Packer:
    """Collects arrays while it turns values into JSON. An array that occurs twice is kept once."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.size = 0  # bytes that the values but for arrays will take when they are read, as Unpacker counts them
        self._seen: dict[int, tuple[str, NDArray[Any]]] = {}  # with the array, which keeps its id from being used again

    def pack(self, value: Any, path: str) -> Any:
        """Return the value as JSON; `path` is its name in messages and, for arrays, in the file."""
        kind: Any = type(value)
        if (names := _kept_fields(kind)) is not None and (name := name_of(kind)) is not None:  # there may be very many
            return self._object(kind, name, names, value, path)
        if isinstance(value, str) and not is_whole(value):
            raise broken(value, f"{path} holds")
        self.size += size_of(value)
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
            return self._list(value, path)
        if isinstance(value, Texts):  # stays together
            self.size += value.size
            return {"tuple": list(value)}
        if isinstance(value, tuple):
            if len(value) >= MANY and {*map(type, value)} == {str}:
                return self.pack(Texts(value), path)  # as it will be read
            return {"tuple": self._list(value, path)}
        if isinstance(value, Mapping):
            self.size += size_of_pairs(len(value))
            return {"dict": [[self.pack(key, path), self._part(item, path, key)] for key, item in value.items()]}
        name = name_of(kind)
        if name is None:
            what = "a function" if callable(value) else f"of type {kind.__module__.split('.')[0]}.{kind.__qualname__}"
            raise ConfigError(
                f"{path} is {what}, which a model file cannot hold, as it holds data and no code: use linnet's own"
            )
        # by name, since the order in which a model got its attributes depends on how it came about
        given = state_of(value)
        state = {key: self._part(given[key], path, key) for key in _in_order(given)}
        self.size += _attributes(kind, len(state))
        return {"object": name, "state": state}

    def _object(self, kind: type, name: str, names: Sequence[str], value: Any, path: str) -> dict[str, Any]:
        """An object of a dataclass. `names`: its fields."""
        state, interned = {}, 0
        for key in names:
            item = getattr(value, key)
            if item is None or item is True or item is False:
                state[key], interned = item, interned + 1
            else:
                state[key] = self._part(item, path, key)
        self.size += size_of(value) + _attributes(kind, len(names)) + interned * size_of(None)
        return {"object": name, "state": state}

    def _list(self, values: Sequence[Any], path: str) -> list[Any]:
        if {*map(type, values)} == {str} and "".join(values).isascii():
            self.size += sum(map(size_of, values))
            return list(values)
        return [self._part(item, path, index) for index, item in enumerate(values)]

    def _part(self, value: Any, path: str, key: object) -> Any:
        """A value within another one; most are plain, and need no path of their own."""
        kind = type(value)
        if value is None or kind is bool or kind is int or (isinstance(value, str) and value.isascii()):
            self.size += size_of(value)
            return value
        return self.pack(value, f"{path}.{key}")

    def _array(self, array: NDArray[Any], path: str) -> Any:
        if array.dtype.kind in "OUS":
            texts = array.ravel().tolist()
            items = self._list(texts, path)
            dtype = array.dtype if array.nbytes <= _widest(items) else np.array(texts).dtype
            if dtype.kind == "U" and dtype.itemsize * len(items) > _widest(items):
                dtype = np.dtype(object)  # one text is so much longer than the others that padding would be most of it
            return {"items": items, "shape": list(array.shape), "dtype": dtype.str}
        node: dict[str, Any] = {}
        if array.dtype.kind in "mM":
            node["dtype"], array = array.dtype.str, array.view(np.int64)
        elif array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise ConfigError(f"{path} is an array of {array.dtype}, which a model file cannot hold")
        # one wide character would make the whole header take four times its memory
        name, _ = self._seen.setdefault(id(array), (path if path.isascii() else ascii(path), array))
        self.arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        return {"array": name, **node}


def _widest(items: list[Any]) -> int:
    """Return how many bytes an array of these texts may take, padded to the longest."""
    return _MAX_BYTES_PER_CHARACTER * sum(8 + len(item) for item in items if isinstance(item, str))


class Unpacker:
    """Turns JSON and arrays into values again; an invalid object is a FormatError, or an error of Python."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], memory: Memory) -> None:
        self._arrays, self._memory = arrays, memory

    def read(self, content: LongJSON) -> Any:
        """Return the next value in a text, which ends with the object that contains it."""
        content.made, content.named = self.unpack, _load_class
        node = content.value()
        content.close()
        return self.unpack(node)

    def unpack(self, node: Any) -> Any:
        """Return the value; any form but those above is a FormatError."""
        memory = self._memory
        memory.left -= size_of(node)
        if isinstance(node, str):
            return as_text(node)
        if node is None or isinstance(node, bool | int | float):
            return node
        if isinstance(node, Texts):
            return self._texts(node)
        if isinstance(node, list):
            return self._list(node)
        match tuple(sorted(node)):
            case ("float",) if node["float"] in _NOT_FINITE:
                return float(node["float"])
            case ("tuple",) if isinstance(node["tuple"], Texts):
                return node["tuple"]
            case ("tuple",) if isinstance(node["tuple"], list):
                return self._tuple(node["tuple"])
            case ("dict",):
                pairs = self._list(node["dict"])
                found = dict(pairs)
                memory.take(size_of_pairs(len(found)) - sum(map(size_of, pairs)))  # these are no longer there
                if len(found) == len(pairs):
                    return found
            case ("dtype", "number"):
                number = _plain(node["dtype"], "biufU").type(self.unpack(node["number"]))
                if isinstance(number, np.generic):
                    return number
            case ("array",):
                return self._arrays[node["array"]]
            case ("array", "dtype"):
                if (array := self._arrays[node["array"]]).dtype == np.int64:
                    return array.view(_plain(node["dtype"], "mM"))
            case ("dtype", "items", "shape"):
                return self._items(node["items"], node["shape"], _plain(node["dtype"], "OU"))
            case ("object", "state"):
                name = as_text(node["object"])
                if (kind := class_named(name)) is None:  # first: a class that is loaded registers those of its parts
                    raise FormatError(f"the file holds a {name[:60]}, which this version of linnet does not know")
                state = {as_text(name): self.unpack(item) for name, item in node["state"].items()}
                memory.left -= _attributes(kind, len(state))
                return _object(kind, name, state)
        keys = ", ".join(name[:20] for name in list(node)[:5])
        raise FormatError(f"the file holds something with {keys or 'nothing in it'}, which this version does not know")

    def _list(self, nodes: list[Any]) -> list[Any]:
        """Return the values of a list: the list itself if it holds only numbers and texts, which may be millions."""
        if type(nodes) is Made:
            return list(nodes)
        for place, node in enumerate(nodes):
            if not isinstance(node, str | int | float | None):
                return [*nodes[:place], *(self.unpack(item) for item in nodes[place:])]
            self.unpack(node)
        return nodes

    def _tuple(self, nodes: list[Any]) -> tuple[Any, ...] | Texts:
        if len(nodes) < MANY or {*map(type, nodes)} != {str}:
            return tuple(self._list(nodes))
        as_text("".join(nodes))
        texts = Texts(nodes)
        self._memory.take(texts.size)
        return texts

    def _texts(self, texts: Texts) -> list[str]:
        """Return a list of very many texts."""
        self._memory.take(sum(map(size_of, texts)))
        return list(texts)

    def _items(self, nodes: Any, shape: list[int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array of texts or objects."""
        if isinstance(nodes, Texts):
            nodes = Made(self._texts(nodes))
        if not isinstance(nodes, list) or not fits(shape, list[int]) or min(shape, default=0) < 0:
            raise FormatError("the file holds an array of texts without a list of them, or without a shape")
        items = self._list(nodes)
        if not all(isinstance(item, str if dtype.kind == "U" else _SCALARS) for item in items):
            raise FormatError("the file holds an array of texts with something else among them")
        if dtype.itemsize * len(items) > _widest(items) and dtype.kind == "U":
            raise FormatError(f"the file holds an array of {dtype}, and {len(items)} much shorter texts for it")
        if dtype.itemsize * len(items) > _MAX_PADDED_BYTES + _widest(items) // 4:
            dtype = np.dtype(object)  # without padding, which would be most of the memory
        self._memory.take((8 + dtype.itemsize) * len(items))
        array = np.empty(len(items), object)
        array[:] = items
        return array.reshape(shape).astype(dtype)


def _load_class(name: object) -> None:
    """Load a class by name, which registers those of its parts."""
    if isinstance(name, str):
        class_named(as_text(name))


def _object(kind: type, name: str, state: dict[str, Any]) -> Any:
    if hasattr(kind, "_from_file"):  # a class that has its own form in files
        made: Any = kind._from_file(state)
    elif is_dataclass(kind):
        hints, kept = _hints(kind), {}
        for field in (field for field in fields(kind) if field.init and field.name in state):
            kept[field.name] = state[field.name]
            if not fits(kept[field.name], hints[field.name]):
                raise FormatError(f"{field.name} of a {name} has the wrong type: {_short(kept[field.name])}")
        made = kind(**kept)
    else:
        for key in state:
            if hides(kind, key):
                raise FormatError(f"the file holds a {name} with an attribute {key[:60]!r}, which cannot be one")
        made = object.__new__(kind)
        restore = getattr(made, "__setstate__", made.__dict__.update)
        restore(state)
    if hasattr(made, "_check_file"):
        made._check_file()
    return made


def hides(known: type, name: str) -> bool:
    """Return whether an attribute would replace a method, or has a name that no program can have set."""
    of_class = getattr(known, name, None)
    return not name.isidentifier() or name.startswith("__") or callable(of_class) or hasattr(of_class, "__get__")


@cache
def _hints(known: type) -> dict[str, Any]:
    return typing.get_type_hints(known)


def _short(value: object) -> str:
    """Describe a value briefly."""
    return f"{type(value).__name__} {str(value)[:40]}" if isinstance(value, _SCALARS) else type(value).__name__


def _plain(name: object, kinds: str) -> np.dtype[Any]:
    if not isinstance(name, str) or not _DTYPE.fullmatch(name) or (dtype := np.dtype(name)).kind not in kinds:
        raise FormatError(
            f"the file holds values of type {str(name)[:60]!r}, which this version of linnet does not know"
        )
    return dtype
