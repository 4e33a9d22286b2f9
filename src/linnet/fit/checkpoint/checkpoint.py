"""Checkpoints: a training run in a file, from which it resumes and ends with the bytes of an uninterrupted run.

    records = checkpointed(training, Checkpoint("run.ckpt", seconds=30))

and, in another process,

    saved = read_checkpoint("run.ckpt")
    training = resumed(saved, training)
    records = checkpointed(training, Checkpoint("run.ckpt", seconds=30), saved=saved)

for one training or an ensemble. The file is data only: a line of JSON and the arrays as safetensors, kept as
`fit/checkpoint/generations.py` describes.
"""

import json
import os
import warnings
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar, get_type_hints, overload

import numpy as np
from safetensors.numpy import save

import linnet
from linnet._native import isa
from linnet.checks import check_number, check_whole
from linnet.errors import CheckpointWarning, ConfigError, FormatError
from linnet.files import check_path, real_path, remove_leftovers
from linnet.fit.checkpoint import generations
from linnet.fit.checkpoint.fingerprint import (
    Digests,
    Settings,
    check_data,
    check_settings,
    digests_of,
    settings_of,
    with_new_settings,
)
from linnet.fit.loop.ensemble import Ensemble
from linnet.fit.loop.steps import Slice
from linnet.fit.loop.stop_reason import StopReason
from linnet.fit.loop.stopping import Seen
from linnet.fit.loop.training import Epoch, Memory, OptimizerState, Snapshot, Training
from linnet.registry import setting
from linnet.untrusted import MAX_JSON_BYTES, fits, header_text, parse_json, place_of, read_tensors, split_tensors

_KIND = "linnet checkpoint 3"
_DATA = tuple[str, list[int], str]  # type, shape and digest of an array
_Kind = TypeVar("_Kind")


@setting
@dataclass(frozen=True)
class Checkpoint:
    """A file that keeps a training run, to resume it after an interruption.

    It is written before the first epoch, at the given intervals, and when the run ends, even by Ctrl-C. The previous
    file is kept as `path.previous`.

    Parameters
    ----------
    path : str or path
        The file.
    epochs : int or None, default=None
        The number of epochs between writes; without `seconds`, None is 1.
    seconds : float or None, default=None
        The time between writes: the file is written after the first epoch that ends this long after the previous write.
    """

    path: str | os.PathLike[str]
    epochs: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise ConfigError(f"a checkpoint needs the path of a file, got {self.path!r}")
        check_path(self.path)
        if self.epochs is not None and self.seconds is not None:
            raise ConfigError(
                f"a checkpoint takes epochs or seconds, not both, got epochs={self.epochs} and seconds={self.seconds}"
            )
        if self.epochs is not None:
            check_whole(self.epochs, "epochs", at_least=1)
        if self.seconds is not None:
            check_number(self.seconds, "seconds", at_least=0)

    def due(self, epochs: int, seconds: float) -> bool:
        """Return whether to write.

        Parameters
        ----------
        epochs : int
            Epochs since the previous write.
        seconds : float
            Seconds since the previous write.

        Returns
        -------
        bool
            Whether the interval has passed.
        """
        return seconds >= self.seconds if self.seconds is not None else epochs >= (self.epochs or 1)


@dataclass(frozen=True)
class Saved:
    """The content of a checkpoint: a run between two epochs, with its records, settings and digests of the data."""

    snapshots: tuple[Snapshot, ...]  # of each member; a single training has one
    history: tuple[Epoch, ...]
    settings: Settings
    data: Digests
    model: Mapping[str, Any]  # whatever the owner of the run wants to keep, as JSON values
    build: str

    @property
    def finished(self) -> bool:
        """Whether the run has ended, so that there is nothing to resume."""
        return all(snapshot.memory.end is not None for snapshot in self.snapshots)


def checkpointed(
    training: Training | Ensemble,
    checkpoint: Checkpoint,
    *,
    saved: Saved | None = None,
    model: Mapping[str, Any] | None = None,
) -> Generator[Slice | Epoch, None, None]:
    """Yield the records of a run, writing checkpoints between them.

    `saved` is the checkpoint from which the run was resumed, if any; `model` is kept in the file for its readers. A
    path that cannot be written to is a ConfigError at the start; later, a warning, and the run continues.
    """
    path = real_path(checkpoint.path)
    if saved is None:
        _refuse_to_overwrite(path)
        saved = Saved(_snapshots(training), (), *_identity(training), model or {}, _build())
    writer = _Writer(path, checkpoint, saved)
    if not saved.finished:
        writer.begin()
    return _written(training, writer)


def read_checkpoint(path: str | os.PathLike[str]) -> Saved:
    """Read the newest checkpoint. Damage is a warning if the previous one is undamaged, otherwise a FormatError."""
    path = real_path(path)
    content = generations.read(path, _KIND)
    try:
        return _unpacked(content)
    except (FormatError, UnicodeError, ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        why = error if isinstance(error, FormatError) else f"{error!r:.300}"
        raise FormatError(f"{path} is not a checkpoint of this version of linnet: {why}") from None


@overload
def resumed(saved: Saved, training: Training) -> Training: ...


@overload
def resumed(saved: Saved, training: Ensemble) -> Ensemble: ...


def resumed(saved: Saved, training: Training | Ensemble) -> Training | Ensemble:
    """Return the run at the point of a checkpoint; `training` is the run as built before its first epoch.

    Only `threads` may differ; any other difference is an error that names it.
    """
    settings, data = _identity(training)
    check_data(saved.data, data)
    check_settings(with_new_settings(saved.settings, training.members[0].plan), settings)
    if saved.build != _build():
        warnings.warn(
            f"the checkpoint was written by {saved.build} and continues with {_build()}: the result may differ in the "
            "last digits from that of an uninterrupted run",
            CheckpointWarning,
            stacklevel=2,
        )
    for member, (theta, state, _) in zip(training.members, saved.snapshots, strict=True):
        slots = len(member.state().arrays)
        if (theta.shape, theta.dtype) != (member.theta.shape, member.theta.dtype) or len(state.arrays) != slots:
            raise FormatError(
                f"the checkpoint has {theta.size} parameters of type {theta.dtype} and {len(state.arrays)} arrays of "
                f"the optimizer, but the run has {member.theta.size} of type {member.theta.dtype} and {slots}"
            )
    members = [
        Training(member.network, theta, member.rows, member.plan, member.validation, state, memory)
        for member, (theta, state, memory) in zip(training.members, saved.snapshots, strict=True)
    ]
    return Ensemble(members, training.threads) if isinstance(training, Ensemble) else members[0]


def _snapshots(training: Training | Ensemble) -> tuple[Snapshot, ...]:
    return tuple(member.snapshot() for member in training.members)


def _identity(training: Training | Ensemble) -> tuple[Settings, Digests]:
    """Return the settings and data of a run, from the first member: those of the others follow from their number."""
    first = training.members[0]
    settings = {**settings_of(first.network, first.plan), "members": len(training.members)}
    return settings, digests_of(first.rows, first.validation)


class _Writer:
    """Writes checkpoints when they are due."""

    def __init__(self, path: Path, checkpoint: Checkpoint, saved: Saved) -> None:
        self._path = path
        self._checkpoint = checkpoint
        self._latest = saved
        self._on_disk = len(saved.history)  # epochs in the file
        self._tried = self._on_disk  # epochs at the last attempt to write
        self._time = monotonic()
        self._warned = False

    def begin(self) -> None:
        """Write for the first time; here a failure is an error."""
        try:
            remove_leftovers(self._path)
            # a damaged file must not replace an undamaged one
            self._write(rotate=generations.is_whole(self._path, _KIND))
        except OSError as error:
            raise ConfigError(f"cannot write a checkpoint to {self._path}: {error.strerror or error}") from error

    def take(self, record: Epoch, snapshots: tuple[Snapshot, ...]) -> None:
        """Record the next epoch."""
        self._latest = replace(self._latest, snapshots=snapshots, history=(*self._latest.history, record))
        epochs = len(self._latest.history) - self._tried
        if self._latest.finished or self._checkpoint.due(epochs, monotonic() - self._time):
            self._try()

    def end(self) -> None:
        """Write what has not been written yet."""
        if self._on_disk < len(self._latest.history):
            self._try()

    def _try(self) -> None:
        try:
            self._write()
        except OSError as error:
            if not self._warned:
                warnings.warn(
                    f"cannot write a checkpoint to {self._path}: {error.strerror or error}; training continues, and "
                    f"the last good checkpoint is that after {self._on_disk} epochs",
                    CheckpointWarning,
                    stacklevel=4,
                )
            self._warned = True
        finally:
            self._tried, self._time = len(self._latest.history), monotonic()

    def _write(self, *, rotate: bool = True) -> None:
        generations.write(self._path, _KIND, _packed(self._latest), rotate=rotate)
        self._on_disk = len(self._latest.history)


def _written(training: Training | Ensemble, writer: _Writer) -> Generator[Slice | Epoch, None, None]:
    records = training.records()
    try:
        for record in records:
            if isinstance(record, Epoch):
                writer.take(record, _snapshots(training))
            yield record
    finally:
        records.close()
        writer.end()


def _packed(saved: Saved) -> list[bytes]:
    names = list(saved.history[0].numbers) if saved.history else []
    facts = {
        "build": saved.build,
        "settings": saved.settings,
        "data": saved.data,
        "model": saved.model,
        "numbers": names,
        "members": [
            {
                "state": {"updates": state.updates, "epochs": state.epochs, "slowdown": state.slowdown},
                "memory": asdict(replace(memory, best_theta=None)),
            }
            for _, state, memory in saved.snapshots
        ],
    }
    history = [(e.epoch, e.learning_rate, e.seconds, *e.numbers.values()) for e in saved.history]
    arrays = {"history": np.array(history, np.float64).reshape(len(history), 3 + len(names))}
    for member, (theta, state, memory) in enumerate(saved.snapshots):
        arrays |= {f"{member} state {index}": array for index, array in enumerate(state.arrays)}
        arrays[f"{member} theta"] = theta
        if memory.best_theta is not None:
            arrays[f"{member} best_theta"] = memory.best_theta
    return [json.dumps(facts).encode() + b"\n", save(arrays)]


def _unpacked(content: memoryview) -> Saved:
    """Return a checkpoint with all types and sizes checked, or raise a FormatError or one of Python's errors."""
    end = bytes(content[:MAX_JSON_BYTES]).find(b"\n")
    if end < 0:
        raise FormatError("its first line has no end")
    facts = parse_json(str(content[:end], "utf-8"), nan=True)
    header, body = split_tensors(content[end + 1 :])
    entries = parse_json(header_text(header), header=True)
    arrays = read_tensors({name: place_of(name, entry) for name, entry in entries.items()}, body)
    settings, data, names, members = (facts[name] for name in ("settings", "data", "numbers", "members"))
    _need(fits(settings, dict[str, str | bool | int | float | None]), "settings")
    _need(fits(data, dict[str, dict[str, Any]]) and all(fits(each, _DATA) for each in _values(data)), "data")
    _need(fits(facts["model"], dict[str, Any]) and fits(facts["build"], str), "model")
    _need(fits(names, list[str]) and len({*names}) == len(names), "numbers")
    _need(fits(members, list[dict[str, Any]]) and members and len(members) == settings.get("members"), "members")
    snapshots = tuple(_snapshot(member, state, arrays) for member, state in enumerate(members))
    _need(len({(each.theta.shape, each.theta.dtype) for each in snapshots}) == 1, "theta")
    table = arrays.pop("history")
    _need(table.dtype == np.float64 and table.ndim == 2 and table.shape[1] == 3 + len(names), "history")
    _need(not len(table) or np.isfinite(table[:, 0]).all(), "history")
    _need(not arrays, "arrays")
    history = tuple(
        Epoch(int(epoch), dict(zip(names, numbers, strict=True)), rate, seconds)
        for epoch, rate, seconds, *numbers in table.tolist()
    )
    done = [each.state.epochs - each.memory.first for each in snapshots]
    _need(min(done) >= 0 and max(done) == len(history), "epochs")
    _need(not history or "loss" in names, "numbers")
    return Saved(snapshots, history, settings, data, facts["model"], facts["build"])


def _snapshot(member: int, kept: Mapping[str, Any], arrays: dict[str, Any]) -> Snapshot:
    """Return one member's snapshot, and remove its arrays from `arrays`."""
    theta, best = arrays.pop(f"{member} theta"), arrays.pop(f"{member} best_theta", None)
    slots: list[Any] = []
    while (slot := arrays.pop(f"{member} state {len(slots)}", None)) is not None:
        slots.append(slot)
    _need(theta.dtype in (np.float32, np.float64) and theta.ndim == 1, "theta")
    alike = [each is None or (each.shape, each.dtype) == (theta.shape, theta.dtype) for each in (best, *slots)]
    _need(all(alike), "arrays of the optimizer")
    memory = {"parameter": None, "best_parameter": None, **kept["memory"], "best_theta": best}
    for name in ("stopping", "plateau"):
        memory[name] = _made(Seen, memory[name])
        _need(memory[name].waited >= 0, name)
    memory["last"] = None if memory["last"] is None else _made(Epoch, memory["last"])
    memory["end"] = None if memory["end"] is None else StopReason.read(memory["end"])
    state, of_run = _made(OptimizerState, {"arrays": tuple(slots), **kept["state"]}), _made(Memory, memory)
    counts = state.updates, state.epochs, of_run.first, of_run.best_epoch, of_run.cooldown
    _need(all(0 <= count < 2**53 for count in counts) and 0 < state.slowdown < np.inf, "counts")
    _need(all(p is None or 0 < p < np.inf for p in (of_run.parameter, of_run.best_parameter)), "parameter")
    _need((of_run.last is None) == (state.epochs == of_run.first), "last")
    _need(of_run.last is None or "loss" in of_run.last.numbers, "last")
    return Snapshot(theta, state, of_run)


def _made(known: type[_Kind], values: Any) -> _Kind:
    """Return an object of a dataclass from a value of the right type for each of its fields."""
    hints = get_type_hints(known)
    _need(fits(values, dict[str, Any]) and values.keys() == hints.keys(), known.__name__)
    for name, value in values.items():
        _need(fits(value, hints[name]), f"{name} of {known.__name__}")
    return known(**values)


def _values(digests: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """Yield type, shape and digest of all arrays, as tuples."""
    return ((each.get("type"), each.get("shape"), each.get("sha256")) for each in digests.values())


def _need(condition: object, what: str) -> None:
    if not condition:
        raise FormatError(f"invalid {what}")


def _refuse_to_overwrite(path: Path) -> None:
    """Raise a ConfigError if a file exists that is not a checkpoint."""
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            begin = file.read(len(_KIND))
    except FileNotFoundError:  # another run has just renamed it
        return
    except OSError as error:
        raise ConfigError(f"cannot replace the checkpoint {path}: {error.strerror}") from error
    if begin and not begin.startswith(b"linnet checkpoint"):
        raise ConfigError(f"{path} exists and is not a checkpoint: remove it or choose another path")


def _build() -> str:
    return f"linnet {linnet.__version__} ({isa})"
