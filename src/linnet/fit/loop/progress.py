"""A training run or a solver on the screen: a progress bar, a line an epoch or iteration, or nothing."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from linnet.fit.loop.training import Epoch, Slice
from linnet.fit.solvers.solution import Watch, unwatched

if TYPE_CHECKING:
    from rich.console import Console

Verbose = Literal["auto", 0, 1, 2]

console: "Callable[[], Console] | None" = (
    None  # that bars are drawn on, if not rich's own: the command line has another
)


def follow(records: Iterator[Slice | Epoch], epochs: int, verbose: Verbose) -> Iterator[Slice | Epoch]:
    """Pass on the records of a run of so many epochs, showing them as they come."""
    if verbose == "auto":
        verbose = 1 if sys.stdout.isatty() else 0
    if verbose == 1:
        return _with_bar(records, epochs)
    return _with_lines(records) if verbose == 2 else records


def describe(record: Epoch) -> str:
    """The epoch's numbers on one line."""
    return "  ".join(f"{name} {value:.4g}" for name, value in record.numbers.items())


def _with_lines(records: Iterator[Slice | Epoch]) -> Iterator[Slice | Epoch]:
    for record in records:
        if isinstance(record, Epoch):
            print(f"Epoch {record.epoch}: {record.seconds:.3g} s, {describe(record)}", flush=True)
        yield record


def _with_bar(records: Iterator[Slice | Epoch], epochs: int) -> Iterator[Slice | Epoch]:
    # rich is slow to load, and most runs show nothing
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[done]}/{task.total:g}"),
        BarColumn(bar_width=16),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        TextColumn("{task.fields[numbers]}"),
    )
    with Progress(*columns, console=console and console(), refresh_per_second=10) as bar:
        task = bar.add_task("train", total=epochs, numbers="", done=0)
        shown, done, numbers = perf_counter(), 0, ""
        for record in records:
            if isinstance(record, Epoch):
                done += 1
                numbers = describe(record)
                # drawing costs as much as a small epoch: ten times a second is enough
                if perf_counter() - shown > 0.1:
                    shown = perf_counter()
                    bar.update(task, completed=done, done=done, numbers=numbers)
            else:
                bar.update(task, completed=done + record.step / record.steps)
            yield record
        bar.update(task, completed=done, done=done, numbers=numbers)


@contextmanager
def watching(verbose: int, tolerance: float) -> Iterator[Watch]:
    """What a solver tells of itself: with verbose=1 a bar that fills as less is left to gain, with 2 lines."""
    if not verbose:
        yield unwatched
        return

    def tell(iteration: int, value: float, gap: float) -> str:
        return f"iteration {iteration}: objective {value:.10g}, {gap:.2g} left to gain"

    if verbose > 1:
        yield lambda *numbers: print(tell(*numbers), flush=True)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = BarColumn(bar_width=16), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console and console(), refresh_per_second=10) as bar:
        task = bar.add_task("", total=1.0)
        first = 0.0

        def show(iteration: int, value: float, gap: float) -> None:
            nonlocal first
            digits = -math.log10(max(gap, 1e-300) / max(abs(value), 1e-300))
            first = digits if iteration == 0 else first
            last = max(-math.log10(max(tolerance, 1e-16)), first + 1)
            bar.update(task, description=tell(iteration, value, gap), completed=(digits - first) / (last - first))

        yield show
