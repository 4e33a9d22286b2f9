"""Reading of untrusted data: JSON, arrays in safetensors format and values of stated types, or a FormatError.

JSON that is parsed here takes at most twenty times the memory of its text, whatever it contains. Model files take less:
see `export.long_json`.
"""

import json
import math
import types
import typing
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linnet.errors import FormatError
from linnet.texts import Texts

MAX_JSON_BYTES = 100_000_000  # bytes, the limit of safetensors for its headers
_FREE_ITEMS = 100_000  # lists and objects, or keys, in any text
_BYTES_PER_CONTAINER = 16  # of text, for each further list or object, which take 64 or 200 bytes of memory
_BYTES_IN_HEADER = 40  # of a header, for each further list or object: it has a digest of 64 characters for each array
_BYTES_PER_KEY = 30  # of a header, for each further key, which takes 300 bytes of memory
_BYTES_PER_ATTRIBUTE = 12  # of other texts, for each further key: few of them differ
_TENSOR = {"dtype", "shape", "data_offsets"}
_DTYPES = {
    **{f"{letter}{8 * size}": np.dtype(f"<{letter.lower()}{size}") for letter in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
    "BOOL": np.dtype(np.bool_),
}


def parse_json(text: str, *, nan: bool = False, header: bool = False) -> Any:
    """Read JSON without repeated keys, without NaN unless it is allowed, and with few lists for its length."""
    check_json_size(text, header=header)
    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=float if nan else no_constant)
    except RecursionError:
        raise FormatError("lists are nested too deeply") from None
    except ValueError as error:
        raise error if isinstance(error, FormatError) else FormatError(f"invalid JSON: {error}") from None


def check_json_size(text: str, *, header: bool = False) -> None:
    """Refuse a text that would take far more memory once it is parsed."""
    if len(text) > MAX_JSON_BYTES:
        raise FormatError(f"{len(text):,} characters of JSON, more than {MAX_JSON_BYTES:,}")
    limits = [("[{", "lists and objects", _BYTES_IN_HEADER if header else _BYTES_PER_CONTAINER)]
    limits.append((":", "keys", _BYTES_PER_KEY if header else _BYTES_PER_ATTRIBUTE))
    for signs, what, each in limits:
        most = _FREE_ITEMS + len(text) // each
        if sum(map(text.count, signs)) > most and (found := _outside_strings(text, signs)) > most:
            raise FormatError(f"{found:,} {what} in {len(text):,} characters of JSON, more than {most:,}")


def _outside_strings(text: str, signs: str) -> int:
    """Return the number of these signs outside strings."""
    plain = np.frombuffer(text.encode().replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    inside = np.cumsum(plain == ord('"'), dtype=np.uint8) % 2 == 1
    return sum(int(((plain == ord(sign)) & ~inside).sum()) for sign in signs)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; a key that occurs twice is a FormatError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise repeated(counts.most_common(1)[0][0])
    return found


def repeated(key: str) -> FormatError:
    """Build the error for a key that occurs twice in an object."""
    return FormatError(f"the key {key[:60]!r} occurs twice")


def no_constant(name: str) -> float:
    """Refuse NaN and the infinities, which Python accepts in JSON."""
    raise FormatError(f"{name} is not a JSON number")


def as_text(text: str) -> str:
    """Return a text; a lone UTF-16 surrogate, which JSON can contain, is a FormatError."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise FormatError(f"the text {text[:60]!r} has half of a character: {error.reason}") from None
    return text


def check_tensors_start(content: bytes | memoryview) -> None:
    """Raise a FormatError unless the first 9 bytes, or more, are those of a safetensors file."""
    if bytes(content[8:9]) != b"{":
        raise FormatError("it does not start like a safetensors file")


def split_tensors(content: memoryview) -> tuple[memoryview, memoryview]:
    """Return the header of a safetensors file, which is JSON, and the bytes behind it."""
    check_tensors_start(content)
    end = 8 + int.from_bytes(content[:8], "little")
    if end > len(content):
        raise FormatError("it does not start like a safetensors file")
    if end > MAX_JSON_BYTES:
        raise FormatError(f"its header has {end - 8:,} bytes, more than {MAX_JSON_BYTES:,}")
    return content[8:end], content[end:]


def header_text(header: memoryview) -> str:
    """Return the text of a header; invalid UTF-8 is a FormatError."""
    try:
        return str(header, "utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"its header is not UTF-8: {error}") from None


class Place(NamedTuple):
    """The position of an array in the bytes behind a header, with its type and shape."""

    start: int
    end: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def place_of(name: str, described: object) -> Place:
    """Return the position of an array from its entry in a header; an invalid entry is a FormatError."""
    if not isinstance(described, dict) or described.keys() != _TENSOR or str(described["dtype"]) not in _DTYPES:
        raise FormatError(f"array {name[:60]!r} is not described by a known dtype, a shape and offsets")
    shape, offsets = described["shape"], described["data_offsets"]
    if not (_are_sizes(shape) and _are_sizes(offsets) and len(offsets) == 2 and len(shape) <= 32):
        raise FormatError(f"array {name[:60]!r} has an invalid shape or invalid offsets")
    return Place(offsets[0], offsets[1], _DTYPES[described["dtype"]], tuple(shape))


def read_tensors(places: Mapping[str, Place], content: memoryview) -> dict[str, NDArray[Any]]:
    """Return the arrays at these positions, which must follow each other and leave no byte out."""
    arrays: dict[str, NDArray[Any]] = dict.fromkeys(places, np.empty(0))  # in the order of places
    done = 0
    for name in sorted(places, key=lambda name: places[name][:2]):
        start, end, dtype, shape = places[name]
        count = math.prod(shape)
        if start != done or end != start + count * dtype.itemsize or end > len(content):
            raise FormatError(f"array {name[:60]!r} is cut short, or overlaps another one")
        try:
            arrays[name] = np.frombuffer(content, dtype, count, start if count else 0).reshape(shape).copy()
        except ValueError as error:  # a shape without entries, and with sizes that NumPy cannot have
            raise FormatError(f"array {name[:60]!r}: {error}") from None
        done = end
    if done != len(content):
        raise FormatError(f"{len(content) - done:,} bytes are left over")
    return arrays


def _are_sizes(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**63 for value in values)


def fits(value: object, hint: Any) -> bool:
    """Return whether a value has the type of an annotation; an integer is a number, and no function fits."""
    if hint is Any or type(value) is hint:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    if hint is int or hint is float:
        kinds: tuple[type, ...] = (int, np.integer) if hint is int else (int, float, np.integer, np.floating)
        return isinstance(value, kinds) and not isinstance(value, bool)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):  # files have its values
        return isinstance(value, str) and value in list(hint)
    if origin is None:
        return isinstance(hint, type) and isinstance(value, hint)
    if origin is typing.Union or origin is types.UnionType:
        return any(fits(value, one) for one in inside)
    if origin is typing.Literal:
        return any(type(value) is type(one) and value == one for one in inside)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _has_type(value.dtype, inside)
    if origin is tuple and not (len(inside) == 2 and inside[1] is Ellipsis):
        return (
            isinstance(value, tuple)
            and len(value) == len(inside)
            and all(fits(item, one) for item, one in zip(value, inside, strict=True))
        )
    if origin in (tuple, list, Sequence, Collection):
        if isinstance(value, Texts):
            return origin is not list and fits("", inside[0])
        kinds = (list, tuple) if origin in (Sequence, Collection) else (origin,)
        return isinstance(value, kinds) and all(fits(item, inside[0]) for item in value)  # type: ignore[attr-defined]
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(fits(k, inside[0]) and fits(v, inside[1]) for k, v in value.items())
    return origin is not Callable and isinstance(value, origin)


def _has_type(dtype: np.dtype[Any], inside: tuple[Any, ...]) -> bool:
    """Return whether an array's type is that of NDArray[...], which may be any."""
    scalar = (typing.get_args(inside[-1]) or (Any,))[0]
    scalar = typing.get_origin(scalar) or scalar
    return scalar is Any or not isinstance(scalar, type) or issubclass(dtype.type, scalar)
