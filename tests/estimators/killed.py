"""Runs that are killed at random moments, again and again."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from linnet.fit.checkpoint.checkpoint import read_checkpoint


def leave_behind(
    path: Path, begin: Callable[[], Any], go_on: Callable[[], Any], whole: Callable[[], None], seconds: float
) -> None:
    """Kill processes that train, beginning or going on with the run in a checkpoint, until runs were left behind at
    four different epochs. Each has at most so many `seconds`, and more every time: a busy machine needs longer for an
    epoch. `whole` goes on with the run at `path` and checks its end; then nothing else is left in the folder.
    """
    rng, kills = np.random.default_rng(0), 0
    epochs: set[int] = set()
    while len(epochs) < 4:
        if _killed(go_on if path.exists() else begin, float(rng.uniform(0, seconds * (1 + 0.05 * kills)))):
            if path.exists():
                epochs.add(len(read_checkpoint(path).history))
        else:
            whole()
            for file in path.parent.iterdir():
                file.unlink()
        kills += 1
        assert kills < 500
    whole()
    assert {entry.name for entry in path.parent.iterdir()} <= {path.name, f"{path.name}.previous"}


def _killed(train: Callable[[], Any], pause: float) -> bool:
    """Whether a training process was still running after this many seconds; it is killed then."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            train()
            status = 0
        finally:
            os._exit(status)
    time.sleep(pause)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return not os.WIFEXITED(status)
