"""Display of the progress of a training run or solver: a bar, one line per epoch or iteration, or nothing."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from linnet.checks import is_integer, is_name
from linnet.errors import ConfigError
from linnet.fit.loop.steps import Slice
from linnet.fit.loop.training import Epoch
from linnet.fit.solvers.solution import Watch, ignore_progress

if TYPE_CHECKING:
    from rich.console import Console

Verbose = Literal["auto", 0, 1, 2]

console: "Callable[[], Console] | None" = None  # for bars; None: rich's own. The command line sets another


def follow(records: Iterator[Slice | Epoch], epochs: int, verbose: Verbose) -> Iterator[Slice | Epoch]:
    """Yield the records of a run of `epochs` epochs, showing them as they come."""
    if verbose == "auto":
        verbose = 1 if sys.stdout.isatty() else 0
    if verbose == 1:
        return _with_bar(records, epochs)
    return _with_lines(records) if verbose == 2 else records


def check_verbose(verbose: object) -> None:
    """Raise a ConfigError unless `verbose` is 0, 1, 2 or "auto"."""
    is_number = is_integer(verbose) or isinstance(verbose, bool)
    if not (is_name(verbose, "auto") or (is_number and verbose in (0, 1, 2))):
        raise ConfigError(f"verbose must be 0, 1, 2 or 'auto', got {verbose!r}")


def describe(record: Epoch) -> str:
    """Return the epoch's losses and metrics on one line."""
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
                # drawing takes as long as a small epoch: ten times a second is enough
                if perf_counter() - shown > 0.1:
                    shown = perf_counter()
                    bar.update(task, completed=done, done=done, numbers=numbers)
            else:
                bar.update(task, completed=done + record.step / record.steps)
            yield record
        bar.update(task, completed=done, done=done, numbers=numbers)


@contextmanager
def watching(verbose: int, tolerance: float) -> Iterator[Watch]:
    """Show the progress of a solver: with verbose=1 a bar that fills as the suboptimality falls, with 2 lines."""
    if not verbose:
        yield ignore_progress
        return

    def describe_iteration(iteration: int, value: float, gap: float) -> str:
        return f"iteration {iteration}: objective {value:.10g}, suboptimality {gap:.2g}"

    if verbose > 1:
        yield lambda *numbers: print(describe_iteration(*numbers), flush=True)
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
            text, share = describe_iteration(iteration, value, gap), (digits - first) / (last - first)
            bar.update(task, description=text, completed=share)

        yield show
