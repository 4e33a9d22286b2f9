"""Several live runs on the path of one checkpoint: each continues, and the file is a complete checkpoint of one."""

import os
import signal
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.errors import ConfigError
from linnet.files import write_whole
from linnet.fit.checkpoint.checkpoint import Checkpoint, checkpointed, read_checkpoint

from .runs import PLANS, training_of
from .test_killed import exit_code, fork

PLAN = replace(PLANS["sgd"], epochs=6, threads=1)


class Writer:
    """A process that has written half of a file when this returns, and waits before it goes on."""

    def __init__(self, path: Path) -> None:
        half, self._go = os.pipe(), os.pipe()

        def parts() -> Iterator[bytes]:
            yield b"first half, " * 100_000  # more than is kept back for the next write
            os.write(half[1], b"x")
            os.read(self._go[0], 1)
            yield b"second half"

        self.pid = fork(lambda: write_whole(path, parts()))
        assert os.read(half[0], 1) == b"x"

    def go_on(self) -> int:
        os.write(self._go[1], b"x")
        return exit_code(self.pid)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        assert exit_code(self.pid) == -signal.SIGKILL


def temporary(folder: Path) -> list[Path]:
    return list(folder.glob(".*.tmp"))


def test_a_run_that_begins_leaves_the_file_alone_that_another_one_is_writing(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    dead, alive = Writer(path), Writer(path)
    dead.kill()
    assert len(temporary(tmp_path)) == 2
    run = checkpointed(training_of(PLAN), Checkpoint(path))  # has begun now
    assert len(temporary(tmp_path)) == 1
    assert alive.go_on() == 0
    assert path.read_bytes() == b"first half, " * 100_000 + b"second half"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(run)) == PLAN.epochs
    assert read_checkpoint(path).finished
    assert not temporary(tmp_path)


def test_live_runs_on_one_path_all_come_to_their_end(tmp_path: Path) -> None:
    """Runs begin again and again while others write; a reader finds a whole checkpoint of one of them at any moment."""
    path = tmp_path / "run.ckpt"
    ends = {}
    for seed in (1, 2, 3):
        training = training_of(replace(PLAN, seed=seed))
        list(training)
        ends[seed] = training.theta.tobytes()

    def child(seed: int) -> None:
        warnings.simplefilter("error")
        for _ in range(10):
            training = training_of(replace(PLAN, seed=seed))
            list(checkpointed(training, Checkpoint(path)))
            assert training.theta.tobytes() == ends[seed]

    checkpointed(training_of(PLAN), Checkpoint(path)).close()
    running = [fork(lambda seed=seed: child(seed)) for seed in ends]  # type: ignore[misc]
    looks = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while running:
            read_checkpoint(path)
            looks += 1
            for pid, status in [os.waitpid(pid, os.WNOHANG) for pid in running]:
                if pid:
                    assert os.waitstatus_to_exitcode(status) == 0
                    running.remove(pid)
        last = read_checkpoint(path)
    assert last.finished
    assert last.snapshots[0].theta.tobytes() in ends.values()
    assert not temporary(tmp_path)
    assert looks > 10


def test_a_file_that_may_not_be_read_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one that another run renames in the very moment it is looked at an error."""
    path = tmp_path / "run.ckpt"
    path.write_text("precious")
    opened = Path.open

    def refusing(error: OSError) -> None:
        def refused(self: Path, mode: str = "r", **options: object) -> object:
            if self == path and mode == "rb":
                path.replace(tmp_path / "elsewhere")
                raise error
            return opened(self, mode, **options)  # type: ignore[call-overload]

        monkeypatch.setattr(Path, "open", refused)

    refusing(PermissionError(13, "Permission denied"))
    with pytest.raises(ConfigError, match=r"cannot replace the checkpoint .*run.ckpt: Permission denied"):
        checkpointed(training_of(PLAN), Checkpoint(path))
    (tmp_path / "elsewhere").replace(path)
    refusing(FileNotFoundError(2, "No such file"))
    checkpointed(training_of(PLAN), Checkpoint(path)).close()
    monkeypatch.undo()
    assert not read_checkpoint(path).finished
