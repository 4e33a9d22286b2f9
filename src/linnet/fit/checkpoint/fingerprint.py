"""The identity of a run, in comparable form: its settings by value, its data by digest."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from linnet.data.columns import as_columns
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.fit.loop.optimizers import defaults_of
from linnet.fit.loop.training import Plan
from linnet.model.network import Network

Settings = Mapping[str, Any]  # name: number, text, bool or None
Digests = Mapping[str, Mapping[str, Any]]  # array: its type, its shape and the digest of its values

_BYTES_PER_BLOCK = 1 << 22  # hashed at a time


def settings_of(network: Network, plan: Plan) -> Settings:
    """Return every setting that affects the result, by name: the number of threads does not."""
    settings = {
        field.name: getattr(plan, field.name) for field in fields(plan) if field.name not in ("threads", "rate_name")
    }
    settings["metrics"] = [metric.name for metric in plan.metrics]
    return {
        name: value for top, setting in {"network": network, **settings}.items() for name, value in _flat(top, setting)
    }


def digests_of(rows: Rows, validation: Rows | None) -> Digests:
    """Return what identifies the data: type, shape and SHA-256 of every array."""
    arrays = [*_arrays(rows, ""), *(_arrays(validation, "validation ") if validation is not None else ())]
    return {
        name: {"type": str(array.dtype), "shape": list(array.shape), "sha256": _digest(array)} for name, array in arrays
    }


def with_new_settings(old: Settings, plan: Plan) -> Settings:
    """Return the settings of a checkpoint, with defaults for settings of the optimizer that are newer than the file."""
    defaults = {f"optimizer.{name}": value for name, value in defaults_of(type(plan.optimizer)).items()}
    return {**old, **{name: value for name, value in defaults.items() if name not in old}}


def check_settings(old: Settings, new: Settings) -> None:
    """Raise a ConfigError that names the changed settings, if any."""
    changed: list[str] = []
    for name in [*old, *(name for name in new if name not in old)]:
        within = any(name.startswith((f"{parent}.", f"{parent}[")) for parent in changed)
        if old.get(name) != new.get(name) and not within:
            changed.append(name)
    if changed:
        changes = "; ".join(f"{name} was {old.get(name)}, now {new.get(name)}" for name in changed)
        raise ConfigError(f"cannot resume with other parameters: {changes}")


def check_data(old: Digests, new: Digests) -> None:
    """Raise a DataError that names the changed arrays, if any."""
    if changes := list(_data_changes(old, new)):
        raise DataError(f"cannot resume with other data: {'; '.join(changes)}")


def _data_changes(old: Digests, new: Digests) -> Iterator[str]:
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            yield f"{name} was given, now it is not"
        elif name not in old:
            yield f"{name} was not given, now it is"
        elif old[name]["shape"] != new[name]["shape"]:
            yield f"{name} had the shape {tuple(old[name]['shape'])}, now {tuple(new[name]['shape'])}"
        elif old[name]["type"] != new[name]["type"]:
            yield f"{name} was {old[name]['type']}, now {new[name]['type']}"
        elif old[name]["sha256"] != new[name]["sha256"]:
            yield f"{name} has other values"


def _arrays(rows: Rows, prefix: str) -> Iterable[tuple[str, Array]]:
    x = as_columns(rows.x)
    for index, table in enumerate(x.tables):
        yield f"{prefix}X" if len(x.tables) == 1 else f"{prefix}X (table {index})", table
    if x.sparse is not None:
        yield from zip(
            [f"{prefix}X ({part})" for part in ("starts of rows", "columns", "entries")], x.sparse, strict=True
        )
    for index, codes in enumerate(x.codes):
        yield f"{prefix}X (levels {index})", codes
    targets = rows.labels if rows.labels is not None else rows.values
    if rows.user_targets is not None and rows.user_targets.dtype.kind in "biuf":
        targets = rows.user_targets  # standardised targets would be the same in any unit
    for name, array in {"y": targets, "weights": rows.weights, "offset": rows.offset}.items():
        if array is not None:
            yield prefix + name, array


def _digest(array: Array) -> str:
    """Return the SHA-256 of the values in row order, whatever the memory layout."""
    digest = hashlib.sha256()
    rows = max(1, _BYTES_PER_BLOCK // max(1, array[:1].nbytes))
    for start in range(0, len(array), rows):
        block = np.ascontiguousarray(array[start : start + rows])
        digest.update(block.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _flat(name: str, value: object) -> Iterator[tuple[str, Any]]:
    """Yield a setting and the settings inside it."""
    if value is None or isinstance(value, bool | int | float | str):
        yield name, value
    elif isinstance(value, np.generic):
        yield name, value.item()
    elif isinstance(value, list | tuple):
        yield name, f"{len(value)} of them"
        for index, item in enumerate(value):
            yield from _flat(f"{name}[{index}]", item)
    else:
        yield name, type(value).__name__
        inside = [field.name for field in fields(value)] if is_dataclass(value) else getattr(value, "__dict__", {})
        for item in inside:
            yield from _flat(f"{name}.{item}", getattr(value, item))
