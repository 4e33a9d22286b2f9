"""The task, inferred from the target: two classes, many classes, counts or a number."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linnet.checks import check_name
from linnet.errors import DataError
from linnet.tables.kinds import Column, is_time, known_numbers, text_numbers
from linnet.words import Word


class Task(Word):
    """The kind of target to predict."""

    TWO_CLASSES = "two classes"
    MANY_CLASSES = "many classes"
    COUNTS = "counts"
    NUMBER = "a number"

    @property
    def has_classes(self) -> bool:
        """Whether a class is predicted per row, rather than a number or a count."""
        return self in (Task.TWO_CLASSES, Task.MANY_CLASSES)


_MAX_CLASSES = 30  # of whole numbers
_MAX_WHOLE_SHOWN = 1e15
_NAMED_CLASS = re.compile(r"(?i).*(class|target|label|type|category|species|group|digit|letter).*")
_NAMED_COUNT = re.compile(
    r"(?i).*(count|cnt|visits|claims|number|trips|events|incidents).*|(n|nb|num)[_. ].*|.*([a-z]Nb|_n)"
)


def read_task(target: Column, column: pa.ChunkedArray) -> tuple[Task, str]:
    """Return the task and the reason for it; a DataError if the column cannot be predicted."""
    name, distinct = target.name, target.distinct
    _check_varied(target)
    if target.how.no_target:
        raise DataError(f"the target {name!r} {target.how.no_target}")
    if target.is_number and target.style:
        column = column.filter(pc.is_valid(text_numbers(column, target.style)))
    if distinct == 2:
        return Task.TWO_CLASSES, f"{name!r} has two values: {', '.join(sorted(_two(column)))}"
    if not target.is_number:
        rows = len(column) - target.missing
        if distinct > 0.5 * rows:
            raise DataError(
                f"the target {name!r} is text with {distinct:,} different values in {rows:,} rows: not classes"
            )
        return Task.MANY_CLASSES, f"{name!r} is text with {distinct:,} different values"
    if is_time(column.type):
        what = "lengths of time" if pa.types.is_duration(column.type) else "times of day"
        return Task.NUMBER, f"{name!r} has {what}, in hours"
    values = known_numbers(text_numbers(column, target.style) if target.style else column)
    values = values[np.isfinite(values)]
    if not (values == np.floor(values)).all():
        return Task.NUMBER, f"{name!r} has numbers with decimals"
    low, high = values.min(), values.max()
    span = f"{name!r} has {distinct:,} whole numbers from {_whole(low)} to {_whole(high)}"
    if distinct <= _MAX_CLASSES and _NAMED_CLASS.fullmatch(name):
        return Task.MANY_CLASSES, f"{span}, and is named like a class"
    if low < 0:
        return Task.NUMBER, f"{span}, some of them negative"
    if _NAMED_COUNT.fullmatch(name):
        return Task.COUNTS, f"{span}, and is named like a count"
    middle, spread = np.median(values), values.std()
    skewed = ((values - values.mean()) ** 3).mean() > 0.5 * spread**3
    if skewed and low <= 1 and middle <= 20:
        return Task.COUNTS, f"{span}, most of them small"
    if distinct <= 10 and high - low < 10 and not _one_peak(values):
        return Task.MANY_CLASSES, f"{span}, which do not look like amounts"
    return Task.NUMBER, span


def check_task(task: str, target: Column) -> Task:
    """Return the task that a user requests; raise a DataError if the target does not suit it."""
    wanted = Task(check_name(task, "task", list(Task)))
    _check_varied(target)
    if wanted is Task.TWO_CLASSES and target.distinct != 2:
        raise DataError(
            f"the target {target.name!r} has {target.distinct:,} values, and the task 'two classes' needs 2: choose "
            "'many classes'"
        )
    if not wanted.has_classes and not target.is_number:
        raise DataError(
            f"the target {target.name!r} holds no numbers, but {target.kind} such as {target.examples[0]!r}: the task "
            f"{task!r} needs them"
        )
    return wanted


def _check_varied(target: Column) -> None:
    if not target.distinct:
        raise DataError(f"the target {target.name!r} has no values")
    if target.distinct < 2:
        only = target.examples[0]
        raise DataError(f"the target {target.name!r} has one value only ({only}): there is nothing to learn")


def _two(column: pa.ChunkedArray) -> list[str]:
    return [str(value) for value in pc.unique(column).to_pylist() if value is not None and value == value]


def _whole(number: float) -> str:
    return f"{number:,.0f}" if abs(number) < _MAX_WHOLE_SHOWN else f"{number:.3g}"


def _one_peak(values: NDArray[np.float64]) -> bool:
    """Whether frequencies rise to one peak and fall from it, as those of amounts do."""
    counts = np.bincount((values - values.min()).astype(np.intp))
    rises = np.sign(np.diff(counts))
    rises = rises[rises != 0]
    return bool((np.diff(rises) <= 0).all())
