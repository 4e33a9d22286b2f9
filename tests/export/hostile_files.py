"""Forged model files and checkpoints: well-formed down to the last digest, with content that linnet never writes."""

import copy
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 7, 2**31, -(2**63), 2**63, 2**70, 10**400, 0.0, -0.5, 1.5, 1e308, 5e-324),
    *("", "x", "nan", "\x00", "\ud800", "a" * 5000, "array", "frame", "predict", "__class__"),
    *([], {}, [[]], [[[[1]]]], [None], ["x"], [1, 2, 3], [0.5] * 50, {"": 0}, {"x": None}, {"tuple": 3}),
    *({"tuple": []}, {"tuple": [1, "x"]}, {"dict": []}, {"dict": [[1, 2], [1, 3]]}, {"dict": [[[], 1]]}, {"dict": 3}),
    *({"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"float": "1e999"}, {"float": 3}),
    *({"number": 1, "dtype": "<i8"}, {"number": 2**70, "dtype": "|u1"}, {"number": "x", "dtype": "<U400000000"}),
    *({"number": [1, 2], "dtype": "<f8"}, {"number": 1, "dtype": "f8,i4"}, {"number": 1, "dtype": None}),
    *({"array": "absent"}, {"array": []}, {"array": 0, "dtype": "<M8[ns]"}),
    {"items": ["x"], "shape": [1], "dtype": "<U400000000"},
    {"items": ["x"], "shape": [1], "dtype": "|S2000000000"},
    {"items": ["x"], "shape": [10**9, 0], "dtype": "|O"},
    {"items": ["x"], "shape": [-1], "dtype": "|O"},
    {"items": [[1], [2]], "shape": [2], "dtype": "|O"},
    {"items": [1, "x", None], "shape": [3], "dtype": "|O"},
    {"items": [], "shape": [0, 2**62], "dtype": "<U1"},
    {"items": "xyz", "shape": [3], "dtype": "<U1"},
    {"object": "Ridge", "state": {}},
    {"object": "Pipeline", "state": {}},
    {"object": "LogisticRegression", "state": {"predict": 1, "n_features_in_": 10**12}},
    {"object": "Dense", "state": {"units": -1}},
    {"object": "Level", "state": {"column": "x", "values": {"tuple": []}}},
    {"object": "Network", "state": {"inputs": 2**62, "layers": {"tuple": []}, "head": None}},
    {"object": "OptimizerState", "state": {"arrays": 3}},
    {"object": "Encoder", "state": {"kind": "array", "width": 2**62}},
]


def places_of(node: Any) -> list[tuple[Any, Any]]:
    """Every place in JSON that something else can be put in: what holds it, and its key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        pairs = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, item in pairs:
            found.append((part, key))
            waiting.append(item)
    return found


def changed(node: Any, rng: random.Random, extra: list[Any]) -> Any:
    """JSON with one thing changed somewhere: replaced, removed, added, renamed, repeated, nested or swapped."""
    node = copy.deepcopy(node)
    places = places_of(node)
    if not places:
        return rng.choice(VALUES)
    holder, key = rng.choice(places)
    value = copy.deepcopy(rng.choice([*VALUES, *extra]))
    how = rng.randrange(9)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[rng.choice(["extra", "predict", "", "__dict__", "tuple", "array", "classes_"])] = value
    elif how == 2 and isinstance(holder, dict):
        holder[rng.choice(["x", *(name for part in extra if isinstance(part, dict) for name in part)])] = holder.pop(
            key
        )
    elif how == 3 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), value)
    elif how == 4 and isinstance(holder, list):
        holder *= rng.choice([0, 2, 3])
    elif how == 5:
        other, place = rng.choice(places)
        holder[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(holder[key])
    elif how == 6:
        for _ in range(rng.choice([1, 3, 990])):
            holder[key] = rng.choice([[holder[key]], {"tuple": [holder[key]]}])
    elif how == 7 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = rng.choice([-1, 2, 10**9, 1 / 3]) * holder[key] + rng.choice([0, 1, -1])
    else:
        holder[key] = value
    return node


def changed_arrays(arrays: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Arrays, one of them of another type, shape or length, or with other values; or fewer or more of them."""
    arrays = dict(arrays)
    if not arrays or rng.random() < 0.1:
        return {**arrays, "extra": np.zeros(3)}
    name = rng.choice(sorted(arrays))
    array, other = arrays[name], arrays[rng.choice(sorted(arrays))]
    choices = [
        lambda: array.ravel()[:0],
        lambda: array.ravel()[1:],
        lambda: np.append(array.ravel(), array.ravel()[:1]),
        lambda: array.reshape(-1, 1),
        lambda: array.T[..., None],
        lambda: array.astype(rng.choice([np.int8, np.int64, np.float32, np.float64, np.bool_, np.uint16])),
        lambda: np.full_like(array, rng.choice([0, 1, -1 if array.dtype.kind != "u" else 1])),
        lambda: np.full(array.shape, rng.choice([np.nan, np.inf, -np.inf, 1e300, 3])),
        lambda: np.full(array.shape, rng.choice([-(2**31), 2**31 - 1, 100]), np.int32),
        lambda: other,
        lambda: np.zeros((0, 2**31)),
        lambda: np.zeros((3, 3)),
        lambda: np.array(1.0),
    ]
    with np.errstate(all="ignore"):
        made: Any = rng.choice(choices)
        arrays[name] = made()
    if rng.random() < 0.05:
        del arrays[name]
    return arrays


def forge(path: Path, facts: dict[str, Any], header: dict[str, Any] | None = None, tail: bytes = b"") -> int:
    """Write a model file of these facts, arrays described by `header` and bytes behind; return its size."""
    known = {"format": "linnet model", "version": 1, "written_by": "x", "sha256": "0" * 64, "blocks": {}, **facts}
    text = json.dumps(known, separators=(",", ":"))
    return forge_text(
        path, json.dumps({"__metadata__": {"linnet": text}, **(header or {})}, separators=(",", ":")), tail
    )


def forge_text(path: Path, header: str, tail: bytes = b"") -> int:
    """Write a model file with this header, its digest put right."""
    head = len(header.encode()).to_bytes(8, "little") + header.encode()
    head = head.replace(b"0" * 64, hashlib.sha256(head).hexdigest().encode(), 1)
    path.write_bytes(head + tail)
    return len(head) + len(tail)


def forge_checkpoint(path: Path, kind: str, facts: Any, arrays: bytes, *, raw: bytes | None = None) -> None:
    """Write a checkpoint of these facts and arrays in safetensors form, its digest put right."""
    body = (json.dumps(facts).encode() if raw is None else raw) + b"\n" + arrays
    path.write_bytes(f"{kind}\n{hashlib.sha256(body).hexdigest()}\n".encode() + body)
