"""A training run on the screen: a progress bar, a line an epoch, or nothing. Reads the record stream only."""

import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Literal

from linnet.fit.loop import Epoch, Training

Verbose = Literal["auto", 0, 1, 2]


def follow(training: Training, verbose: Verbose) -> Iterator[Epoch]:
    """Train and pass on the epochs' records, showing them as they come."""
    if verbose == "auto":
        verbose = 1 if sys.stdout.isatty() else 0
    if verbose == 0:
        yield from training
    elif verbose == 1:
        yield from _with_bar(training)
    else:
        for record in training:
            print(f"Epoch {record.epoch}: {record.seconds:.3g} s, {describe(record)}", flush=True)
            yield record


def describe(record: Epoch) -> str:
    """The epoch's numbers on one line."""
    return "  ".join(f"{name} {value:.4g}" for name, value in record.numbers.items())


def _with_bar(training: Training) -> Iterator[Epoch]:
    # rich is slow to load, and most runs show nothing
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("Epoch"),
        MofNCompleteColumn(),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[numbers]}"),
    )
    with Progress(*columns, refresh_per_second=10) as bar:
        task = bar.add_task("train", total=training.plan.epochs, numbers="")
        shown = perf_counter()
        done = 0
        for record in training.records():
            if isinstance(record, Epoch):
                done += 1
                # drawing costs as much as a small epoch: ten times a second is enough
                if perf_counter() - shown > 0.1 or done == 1:
                    shown = perf_counter()
                    bar.update(task, completed=done, numbers=describe(record))
                last = record
                yield record
            else:
                bar.update(task, completed=done + record.step / record.steps)
        if done:
            bar.update(task, completed=done, numbers=describe(last))
