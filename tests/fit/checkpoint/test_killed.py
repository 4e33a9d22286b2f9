"""Runs that are killed at any moment, also while they write, and runs on a disk that is full."""

import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.errors import CheckpointWarning, ConfigError
from linnet.fit.checkpoint import generations
from linnet.fit.checkpoint.checkpoint import Checkpoint, checkpointed, read_checkpoint, resumed
from linnet.fit.loop.stopping import EarlyStopping
from linnet.fit.loop.training import Epoch

from .runs import PLANS, training_of, without_times

PLAN = replace(PLANS["plateau"], epochs=40, threads=1, stopping=EarlyStopping(patience=100))


def fork(child: Callable[[], None]) -> int:
    """Run a function in a process of its own; its exit code is 0 if it came to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the threads of other tests sleep
        pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    return pid


def exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def train(path: Path) -> None:
    """Begin, or go on from the checkpoint; leave the result beside it."""
    if path.exists() or generations.previous(path).exists():
        saved = read_checkpoint(path)
        training = resumed(saved, training_of(PLAN))
        history = [*saved.history, *checkpointed(training, Checkpoint(path), saved=saved)]
    else:
        training = training_of(PLAN)
        history = list(checkpointed(training, Checkpoint(path)))
    path.with_suffix(".result").write_bytes(training.theta.tobytes() + repr(without_times(history)).encode())


def uninterrupted() -> bytes:
    training = training_of(PLAN)
    history = list(training)
    return training.theta.tobytes() + repr(without_times(history)).encode()


def check_files(path: Path, *, begun: bool) -> bool:
    """A whole generation is there once one has been; a file has its name only when it is whole."""
    there = [name for name in (path, generations.previous(path)) if name.exists()]
    assert there or not begun
    for name in there:
        generations.read_one(name, "linnet checkpoint 3")
    assert len(list(path.parent.glob(".*.tmp"))) <= 1
    return bool(there)


def clear(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def finish(path: Path) -> None:
    assert exit_code(fork(lambda: train(path))) == 0
    assert path.with_suffix(".result").read_bytes() == uninterrupted()
    left = sorted(entry.name for entry in path.parent.iterdir())
    assert left == ["run.ckpt", "run.ckpt.previous", "run.result"]


def test_killed_at_random_moments(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    assert exit_code(fork(lambda: train(tmp_path / "whole.ckpt"))) == 0
    longest = (time.perf_counter() - began) / 4
    clear(tmp_path)
    kills, begun, epochs = 0, False, set()
    while kills < 60:
        pid = fork(lambda: train(path))
        time.sleep(rng.uniform(0, longest))
        os.kill(pid, signal.SIGKILL)
        if exit_code(pid) == 0:  # it was done before: once more
            assert path.with_suffix(".result").read_bytes() == uninterrupted()
            clear(tmp_path)
            begun = False
            continue
        kills += 1
        begun = check_files(path, begun=begun)
        if begun:
            epochs.add(len(read_checkpoint(path).history))
    finish(path)
    assert len(epochs) > 5


class Killer:
    """Kills this process after so many of the steps that writing a file consists of."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """From now on, count: opening the file, half of its bytes, all of them, and each flush and rename."""
        killer = self

        class File(io.FileIO):
            def writelines(self, parts: Any) -> None:
                content = b"".join(parts)
                self.write(content[: len(content) // 2])
                killer.step()
                self.write(content[len(content) // 2 :])
                killer.step()

        def after(call: Callable[..., Any]) -> Callable[..., Any]:
            def watched(*args: Any, **options: Any) -> Any:
                result = call(*args, **options)
                killer.step()
                return result

            return watched

        opened = Path.open

        def open_watched(path: Path, mode: str = "r", **options: Any) -> Any:
            return after(File)(path, "x") if mode == "xb" else opened(path, mode, **options)

        Path.open = open_watched  # type: ignore[method-assign, assignment]
        os.fsync, os.replace = after(os.fsync), after(os.replace)


STEPS = 7  # open, half, all, flush, rename, rename, flush the folder


def test_killed_at_every_step_of_writing(tmp_path: Path) -> None:
    """Every step of the first write, of the one at the start of a resumed run, and of one after an epoch."""
    path = tmp_path / "run.ckpt"
    begun, last = False, 0

    def child(steps: int) -> None:
        Killer(steps).watch()
        train(path)

    moments = [*range(1, STEPS), *range(1, 3 * STEPS + 1), *range(1, 3 * STEPS + 1)]
    for steps in moments:
        assert exit_code(fork(lambda steps=steps: child(steps))) == -signal.SIGKILL  # type: ignore[misc]
        begun = check_files(path, begun=begun)
        if begun:
            done = len(read_checkpoint(path).history)
            assert done >= last
            last = done
    assert 0 < last < PLAN.epochs
    finish(path)


def run_out_of_space(path: Path, fill: Callable[[], None], empty: Callable[[], None], reason: str) -> None:
    """Fill the disk after epoch 3 and empty it after epoch 6: one warning, and checkpoints again afterwards."""
    training = training_of(PLAN)
    on_disk = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for record in checkpointed(training, Checkpoint(path)):
            if isinstance(record, Epoch):
                on_disk.append(len(read_checkpoint(path).history))
                assert not list(path.parent.glob(".*.tmp"))
                if record.epoch == 3:
                    fill()
                    with pytest.raises(ConfigError, match=f"cannot write a checkpoint to .*other.ckpt: {reason}"):
                        checkpointed(training_of(PLAN), Checkpoint(path.with_name("other.ckpt")))
                if record.epoch == 6:
                    empty()
    assert on_disk == [1, 2, 3, 3, 3, 3, *range(7, PLAN.epochs + 1)]
    assert [warning.category for warning in caught] == [CheckpointWarning]
    assert f"{path}: {reason}; training continues" in str(caught[0].message)
    expected = training_of(PLAN)
    list(expected)
    assert training.theta.tobytes() == expected.theta.tobytes()
    assert read_checkpoint(path).snapshots[0].memory.end == training.stop_reason


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """The kernel refuses to write beyond a limit (EFBIG)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def child() -> None:
        run_out_of_space(
            tmp_path / "run.ckpt",
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard)),
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard)),
            "File too large",
        )

    assert exit_code(fork(child)) == 0


FULL_DISK = """
import importlib, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
run_out_of_space = importlib.import_module("fit.checkpoint.test_killed").run_out_of_space
folder = Path({folder!r})

def fill():
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass

run_out_of_space(folder / "run.ckpt", fill, (folder / "filler").unlink, "No space left on device")
"""


def test_a_full_disk(tmp_path: Path) -> None:
    """A file system of 256 KB, in a mount namespace of its own."""
    own = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=256k tmpfs '{tmp_path}'"
    if not shutil.which("unshare") or subprocess.run([*own, mount], capture_output=True, check=False).returncode:
        pytest.skip("may not mount a file system here")
    script = FULL_DISK.format(tests=str(Path(__file__).parents[2]), folder=str(tmp_path))
    run = subprocess.run(
        [*own, f"{mount} && exec '{sys.executable}' -c \"$0\"", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert not list(tmp_path.iterdir())
