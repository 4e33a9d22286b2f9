"""What all benchmarks share: sides in processes of their own that take turns, and the table of their times.

A side is an object made in its own process, whose methods the parent calls by name. While one side works the others
sleep. The best time of each counts.
"""

from __future__ import annotations

import itertools
import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, TypeVar

Variant = TypeVar("Variant")
Value = TypeVar("Value")
# Thread pools spin for a while after their last task; let them fall asleep.
PAUSE_SECONDS = 0.25
# Long enough to rank variants of one library, short enough not to matter.
TRIAL_SECONDS = 2.0
TRIAL_TURNS = 4


class LostError(Exception):
    """A side that answers no more: its process died, or was ended because it took too long."""


def serve(make: Callable[[str], Any], name: str, pipe: Connection) -> None:
    """Answer requests in a side's own process until the pipe closes."""
    worker = make(name)
    while True:
        try:
            command, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(getattr(worker, command)(*arguments))
        except Exception as error:  # one broken side must not end the run
            pipe.send(error if isinstance(error, ImportError) else _told(error))


def _told(error: Exception) -> RuntimeError:
    """An exception that survives pickling and keeps the traceback."""
    return RuntimeError("".join(traceback.format_exception(error)))


class Side:
    """The parent's handle on one process."""

    def __init__(self, name: str, make: Callable[[str], Any]) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(make, name, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, command: str, *arguments: Any, seconds: float | None = None) -> Any:
        """Send a request, wait for the answer (for so long at most) and raise what the side raised."""
        try:
            self.pipe.send((command, arguments))
            if not self.pipe.poll(seconds):
                self.process.kill()
                raise LostError(f"no end within {seconds:g} s")
            answer = self.pipe.recv()
        except (EOFError, OSError):
            raise LostError("its process died") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the process."""
        self.pipe.close()
        self.process.join()


@dataclass
class Result:
    """What one side did on one workload."""

    note: str = ""
    seconds: list[float] = field(default_factory=list)
    # Over all threads; on a busy machine it says more than the time on the clock.
    cpu_seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The fewest seconds."""
        return min(self.seconds)

    def add(self, seconds: float, cpu_seconds: float) -> None:
        """Note one more time."""
        self.seconds.append(seconds)
        self.cpu_seconds.append(cpu_seconds)


def clocked(work: Callable[[], Value]) -> tuple[float, float, Value]:
    """Seconds on the clock, seconds of all threads, and what the work returned."""
    start, used = time.perf_counter(), time.process_time()
    value = work()
    return time.perf_counter() - start, time.process_time() - used, value


def take_turns(
    runs: Mapping[str, Callable[[], tuple[float, float]]],
    results: Mapping[str, Result],
    *,
    rounds: int,
    turn_seconds: float,
    fewest: int = 1,
    most_seconds: float = float("inf"),
) -> None:
    """Time all sides in turns, each of `fewest` runs or more; a side ends early after `most_seconds` of its own."""
    for _ in range(rounds):
        for name, run in runs.items():
            if sum(results[name].seconds) >= most_seconds:
                continue
            time.sleep(PAUSE_SECONDS)
            end = time.perf_counter() + turn_seconds
            for turn in itertools.count(1):
                results[name].add(*run())
                if turn >= fewest and time.perf_counter() >= end:
                    break


def race(
    worker: type, names: Iterable[str], setup: str, *, rounds: int, turn_seconds: float
) -> tuple[dict[str, Result], dict[str, Any]]:
    """Set up a process a side, time their `run` in turns, and return the times and what each found."""
    sides = {name: Side(name, worker) for name in names}
    results = {name: Result() for name in sides}
    found: dict[str, Any] = {}

    def turn(name: str) -> tuple[float, float]:
        seconds, used, found[name] = sides[name].ask("run")
        return seconds, used

    for side in sides.values():
        side.ask("setup", setup)
    take_turns({name: partial(turn, name) for name in sides}, results, rounds=rounds, turn_seconds=turn_seconds)
    for side in sides.values():
        side.close()
    return results, found


def fastest(variants: Iterable[Variant], trial: Callable[[Variant], Callable[[], Any]]) -> Variant:
    """Return the variant whose trial ran fastest.

    Variants take turns, so that a busy moment of the machine hits all of them; the
    first turn is a warm-up.
    """
    runs = [(variant, trial(variant)) for variant in variants]
    best = [float("inf")] * len(runs)
    end = float("inf")
    turn = 0
    while turn < TRIAL_TURNS or time.perf_counter() < end:
        for i, (_, run) in enumerate(runs):
            start = time.perf_counter()
            run()
            if turn:
                best[i] = min(best[i], time.perf_counter() - start)
        if not turn:
            end = time.perf_counter() + TRIAL_SECONDS
        turn += 1
    return runs[best.index(min(best))][0]


def compared(
    name: str, title: str, results: Mapping[str, Result], target: float, *, differs: str | None = None
) -> list[str]:
    """A row of linnet and scikit-learn: best times, their ratio (bracketed if something `differs`), processor times."""
    ours, theirs = results["linnet"], results["sklearn"]
    ratio = f"{theirs.best / ours.best:.1f}"
    used = min(theirs.cpu_seconds) / min(ours.cpu_seconds)
    times = [f"{ours.best:.3g} s", f"{theirs.best:.3g} s"]
    return [name, title, *times, f"({ratio}: {differs})" if differs else ratio, f"{used:.1f}", f"{target:g}"]


def show(header: list[str], rows: list[list[str]]) -> None:
    """Print a table, with rich where it is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        columns = list(zip(header, *rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        for line in [header, *rows]:
            print("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)))
        return
    table = Table(*header)
    for line in rows:
        table.add_row(*line)
    console = Console()
    # A report piped to a file has no terminal width to respect.
    (console if console.is_terminal else Console(width=220)).print(table)
