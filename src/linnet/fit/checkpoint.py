"""Checkpoints: a run in a file, from which it goes on, and ends with the bytes it would have ended with.

    records = checkpointed(training, Checkpoint("run.ckpt", seconds=30))

and, in another process,

    saved = read_checkpoint("run.ckpt")
    training = resumed(saved, training)
    records = checkpointed(training, Checkpoint("run.ckpt", seconds=30), saved=saved)

for one training or an ensemble of them. The file is data only: a line of JSON and the arrays as safetensors, kept as
`fit/generations.py` says.
"""

import json
import os
import warnings
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, overload

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

import linnet
from linnet._native import isa
from linnet.checks import check_number, check_whole
from linnet.errors import CheckpointWarning, ConfigError, FormatError
from linnet.files import remove_leftovers
from linnet.fit import generations
from linnet.fit.ensemble import Ensemble
from linnet.fit.fingerprint import Digests, Settings, check_data, check_settings, digests_of, settings_of
from linnet.fit.loop import Epoch, Memory, OptimizerState, Slice, Snapshot, Training
from linnet.fit.stopping import Seen

_KIND = "linnet checkpoint 3"


@dataclass(frozen=True)
class Checkpoint:
    """A file to keep a run in, written every so many `epochs` or `seconds`; without either, every epoch.

    Whatever the interval, it is also written before the first epoch and when the run ends, by Ctrl-C too. The file
    before is kept as `path.previous`.
    """

    path: str | os.PathLike[str]
    epochs: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise ConfigError(f"a checkpoint needs the path of a file, got {self.path!r}")
        if self.epochs is not None and self.seconds is not None:
            raise ConfigError("a checkpoint is written every so many epochs or every so many seconds: give one of them")
        if self.epochs is not None:
            check_whole(self.epochs, "epochs", at_least=1)
        if self.seconds is not None:
            check_number(self.seconds, "seconds", at_least=0)

    def due(self, epochs: int, seconds: float) -> bool:
        """Whether to write, so long after the last time."""
        return seconds >= self.seconds if self.seconds is not None else epochs >= (self.epochs or 1)


@dataclass(frozen=True)
class Saved:
    """What a checkpoint holds: a run between two epochs, its records so far, and what it is a run of."""

    snapshots: tuple[Snapshot, ...]  # of each member: one, or those of an ensemble
    history: tuple[Epoch, ...]
    settings: Settings
    data: Digests
    model: Mapping[str, Any]  # anything its owner wants to find again, of what JSON can say
    build: str

    @property
    def finished(self) -> bool:
        """Whether the run is over: resumed, it has nothing left to do."""
        return all(snapshot.memory.end is not None for snapshot in self.snapshots)


def checkpointed(
    training: Training | Ensemble,
    checkpoint: Checkpoint,
    *,
    saved: Saved | None = None,
    model: Mapping[str, Any] | None = None,
) -> Generator[Slice | Epoch, None, None]:
    """Pass on the records of a run, writing checkpoints between them.

    `saved` is what the run was resumed from, if it was; `model` is kept in the file for whoever reads it. A path that
    cannot be written to is a ConfigError now; when that happens later, a warning, and the run goes on.
    """
    path = Path(checkpoint.path).resolve()
    if saved is None:
        _refuse_to_overwrite(path)
        saved = Saved(_snapshots(training), (), *_identity(training), model or {}, _build())
    writer = _Writer(path, checkpoint, saved)
    if not saved.finished:
        writer.begin()
    return _written(training, writer)


def read_checkpoint(path: str | os.PathLike[str]) -> Saved:
    """Read the newest checkpoint. Damage is a warning where the previous one is whole, and else a FormatError."""
    path = Path(path).resolve()
    try:
        return _unpacked(generations.read(path, _KIND))
    except (SafetensorError, ValueError, TypeError, LookupError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path} is not a checkpoint as this version of linnet writes it: {error!r}") from error


@overload
def resumed(saved: Saved, training: Training) -> Training: ...


@overload
def resumed(saved: Saved, training: Ensemble) -> Ensemble: ...


def resumed(saved: Saved, training: Training | Ensemble) -> Training | Ensemble:
    """Return a run as it was before its first epoch gone on to where a checkpoint is.

    Only `threads` may differ; other changes are refused by name.
    """
    settings, data = _identity(training)
    check_data(saved.data, data)
    check_settings(saved.settings, settings)
    if saved.build != _build():
        warnings.warn(
            f"the checkpoint was written by {saved.build} and goes on with {_build()}: the result may differ in the "
            "last digits from that of an uninterrupted run",
            CheckpointWarning,
            stacklevel=2,
        )
    members = [
        Training(member.network, theta, member.rows, member.plan, member.validation, state, memory)
        for member, (theta, state, memory) in zip(training.members, saved.snapshots, strict=True)
    ]
    return Ensemble(members, training.threads) if isinstance(training, Ensemble) else members[0]


def _snapshots(training: Training | Ensemble) -> tuple[Snapshot, ...]:
    return tuple(member.snapshot() for member in training.members)


def _identity(training: Training | Ensemble) -> tuple[Settings, Digests]:
    """What it is a run of, told by the first member: what the others are follows from it and from their number."""
    first = training.members[0]
    settings = {**settings_of(first.network, first.plan), "members": len(training.members)}
    return settings, digests_of(first.rows, first.validation)


class _Writer:
    """Writes what it is given when it is due."""

    def __init__(self, path: Path, checkpoint: Checkpoint, saved: Saved) -> None:
        self._path = path
        self._checkpoint = checkpoint
        self._latest = saved
        self._on_disk = len(saved.history)  # epochs in the file
        self._tried = self._on_disk
        self._time = monotonic()
        self._warned = False

    def begin(self) -> None:
        """Write for the first time: now a failure is an error."""
        try:
            remove_leftovers(self._path)
            # a damaged file must not take the place of a whole one
            self._write(rotate=generations.is_whole(self._path, _KIND))
        except OSError as error:
            raise ConfigError(f"cannot write a checkpoint to {self._path}: {error.strerror or error}") from error

    def take(self, record: Epoch, snapshots: tuple[Snapshot, ...]) -> None:
        """Take the next epoch."""
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
                    f"cannot write a checkpoint to {self._path}: {error.strerror or error}; training goes on, and the "
                    f"last good checkpoint is that after {self._on_disk} epochs",
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


def _unpacked(content: bytes) -> Saved:
    line, _, rest = content.partition(b"\n")
    facts, arrays = json.loads(line), load(rest)
    snapshots = tuple(_snapshot(member, kept, arrays) for member, kept in enumerate(facts["members"]))
    history = tuple(
        Epoch(int(epoch), dict(zip(facts["numbers"], numbers, strict=True)), rate, seconds)
        for epoch, rate, seconds, *numbers in arrays["history"].tolist()
    )
    return Saved(snapshots, history, facts["settings"], facts["data"], facts["model"], facts["build"])


def _snapshot(member: int, kept: Mapping[str, Any], arrays: Mapping[str, Any]) -> Snapshot:
    memory = {**kept["memory"], "best_theta": arrays.get(f"{member} best_theta")}
    for name in ("stopping", "plateau"):
        memory[name] = Seen(**memory[name])
    memory["last"] = None if memory["last"] is None else Epoch(**memory["last"])
    count = sum(name.startswith(f"{member} state ") for name in arrays)
    slots = tuple(arrays[f"{member} state {index}"] for index in range(count))
    return Snapshot(arrays[f"{member} theta"], OptimizerState(slots, **kept["state"]), Memory(**memory))


def _refuse_to_overwrite(path: Path) -> None:
    """A new run replaces old checkpoints, and nothing else."""
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            begin = file.read(len(_KIND))
    except FileNotFoundError:  # another run has just renamed it
        return
    except OSError as error:
        raise ConfigError(f"cannot write a checkpoint to {path}, which is there already: {error.strerror}") from error
    if begin and not begin.startswith(b"linnet checkpoint"):
        raise ConfigError(f"{path} is there already and is not a checkpoint: remove it or choose another path")


def _build() -> str:
    return f"linnet {linnet.__version__} ({isa})"
