"""A table of one's own as a data set: read and encoded as linnet's models of tables do, numbers standardised, those to
predict too: from weights near 0 a network would take for ever to get to prices.

    data = Table.read(["iris.csv"]).dataset("species", axes=["petal_length", "petal_width"])

Where two columns are the axes, the others are held at their means, or at their most frequent levels. Otherwise the
plane is that of the first two principal components.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.encoder import Encoder
from linnet.errors import DataError
from linnet.playground.datasets import Dataset, Floats, Plane, components, span
from linnet.tables.io.sources import open_source
from linnet.tables.kinds import Column, Kind, judge
from linnet.tables.rows import Roles, target_of, with_target
from linnet.tables.schema import Schema, unknown_column
from linnet.tables.select import LEAST_ROWS
from linnet.tables.task import Task, read_task

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_BYTES = 1 << 26  # of a table in memory
_MOST_ROWS = 20_000
_MOST_INPUTS = 200
_MOST_CLASSES = 10
_MOST_NAMED = 3  # columns that are left out for one reason
_PREDICTED = (Kind.NUMBER, Kind.BOOLEAN, Kind.CATEGORY)


@dataclass(frozen=True)
class Prepared:
    """A table for one target: how its columns are read, and all of them as numbers."""

    schema: Schema
    roles: Roles
    table: "pa.Table"  # rows that have a target
    encoder: Encoder
    names: tuple[str, ...]  # of inputs
    of_number: dict[str, int]  # the input that is a column of numbers
    x: Floats  # rows x inputs, as they are
    centre: Floats
    scale: Floats
    usual: Floats  # an input row: means, and the most frequent levels
    y: NDArray[Any]  # class numbers, or the target as it is
    classes: tuple[str, ...]
    notes: tuple[str, ...]


class Table:
    """A table in files, of which a column is predicted."""

    def __init__(
        self, table: "pa.Table", files: Sequence[str], notes: Sequence[str] = (), delimiter: str | None = None
    ) -> None:
        self.table = table
        self.delimiter = delimiter  # if it was given
        self.files = list(files)
        self.notes = list(notes)
        self._prepared: dict[str, Prepared] = {}

    @classmethod
    def read(cls, files: Sequence[str | Path], *, delimiter: str | None = None) -> "Table":
        """Read files of one table; of a large one some rows at random, the same every time."""
        source = open_source(list(files), delimiter=delimiter)
        some = source.read_some(_MOST_BYTES)
        table, notes = some.table, list(source.notices)
        if len(table) > _MOST_ROWS:
            chosen = np.sort(np.random.default_rng(0).permutation(len(table))[:_MOST_ROWS])
            table = table.take(chosen)
        if len(table) < some.rows:
            notes.append(f"{len(table):,} of {some.rows:,} rows are used, drawn at random")
        return cls(table, [str(file) for file in files], notes, delimiter)

    @property
    def name(self) -> str:
        """What it is called on screen."""
        return ", ".join(Path(file).name for file in self.files)

    def facts(self) -> dict[str, Any]:
        """What the page offers: columns to predict, and columns that may be axes."""
        columns = Schema.of(self.table).columns
        return {
            "name": self.name,
            "rows": len(self.table),
            "targets": [column.name for column in columns if _can_be_predicted(column, self.table)],
            "axes": [column.name for column in columns if column.used and column.kind is Kind.NUMBER],
        }

    def last_target(self) -> str:
        """The last column that can be predicted, which is most often what a table is about."""
        targets: list[str] = self.facts()["targets"]
        if targets:
            return targets[-1]
        raise DataError(
            f"{self.name}: no column can be predicted: one must have numbers, or 2 to {_MOST_CLASSES} classes, in at "
            f"least {LEAST_ROWS} rows"
        )

    def prepared(self, target: str) -> Prepared:
        """The table for a target."""
        if target not in self.table.column_names:
            raise unknown_column(target, self.table.column_names)
        if target not in self._prepared:
            self._prepared[target] = _prepare(self.table, target)
        return self._prepared[target]

    def dataset(self, target: str, axes: Sequence[str] = ()) -> Dataset:
        """All rows that have a target, seen in the plane of two columns of numbers or of two principal components."""
        found = self.prepared(target)
        x = ((found.x - found.centre) / found.scale).astype(np.float32)
        task = found.schema.task
        assert task is not None
        named: tuple[str, str] = ("first principal component", "second principal component")
        points, ranges, plane = components(x)
        if axes:
            one, two = (_axis(found, axis) for axis in axes)
            named = axes[0], axes[1]
            points = found.x[:, [one, two]]
            ranges = span(points[:, 0]), span(points[:, 1])
            plane = _through(found, one, two)
        y, centre, scale, notes = found.y, 0.0, 1.0, [*self.notes, *found.notes]
        if task is Task.NUMBER:
            centre, scale = float(y.mean()), float(y.std())
            y = (y - centre) / scale
            notes.append(
                f"{target!r} is learned as ({target} - {centre:,.6g}) / {scale:,.6g}, and the loss is that of these "
                "numbers: the mean for every row would have a loss of 1"
            )
        return Dataset(
            *("table", task, x, y, points, found.names, plane),
            axes=named,
            ranges=ranges,
            classes=found.classes,
            notes=tuple(notes),
            centre=centre,
            scale=scale,
        )


def _prepare(table: "pa.Table", target: str) -> Prepared:
    schema = Schema.of(table, target)
    table = with_target(table, schema)
    if len(table) < LEAST_ROWS:
        raise DataError(f"only {len(table)} rows have a value of {target!r}: at least {LEAST_ROWS} are needed")
    task = schema.task
    assert task is not None
    y = target_of(table, schema, task)
    classes: tuple[str, ...] = ()
    if task.has_classes:
        kinds, y = np.unique(y, return_inverse=True)
        classes = tuple(map(str, kinds))
        if len(classes) > _MOST_CLASSES:
            raise DataError(f"the target {target!r} has {len(classes)} classes, more than {_MOST_CLASSES}")
    schema = _narrowed(schema, table)
    if not schema.used:
        why = "; ".join(_notes(schema)) or f"{target!r} is the only one"
        raise DataError(f"no column is left to learn from: {why}")
    read = schema.apply(table)
    encoder, columns = Encoder.learn(read, gaps="fill")
    parts = [np.asarray(part, np.float64) for part in columns.tables]
    if columns.codes:
        parts.append(columns.entries().toarray())
    x = np.hstack(parts)
    names = np.empty(columns.count, object)
    names[encoder.order()] = encoder.coefficient_names
    numbers = [name for name in read.column_names if name not in {level.column for level in encoder.levels}]
    centre, scale, usual = np.zeros(x.shape[1]), np.ones(x.shape[1]), np.zeros(x.shape[1])
    width = len(numbers)
    centre[:width], scale[:width] = x[:, :width].mean(axis=0), x[:, :width].std(axis=0)
    scale[scale == 0] = 1
    usual[:width] = centre[:width]
    start = columns.dense
    for count in columns.levels:
        usual[start + int(x[:, start : start + count].sum(axis=0).argmax())] = 1
        start += count
    return Prepared(
        schema=schema,
        roles=Roles(target),
        table=table,
        encoder=encoder,
        names=tuple(map(str, names)),
        of_number={name: place for place, name in enumerate(numbers)},
        x=x,
        centre=centre,
        scale=scale,
        usual=usual,
        y=y,
        classes=classes,
        notes=tuple(_notes(schema)),
    )


def _can_be_predicted(column: Column, table: "pa.Table") -> bool:
    """Whether it has a task that can be shown; whether something is left to learn from shows when it is chosen."""
    if column.kind not in _PREDICTED or len(table) - column.missing < LEAST_ROWS:
        return False
    values = table[column.name]
    found = judge(column.name, values, target=True)
    try:
        task, _ = read_task(found, values)
    except DataError:
        return False
    return not task.has_classes or found.distinct <= _MOST_CLASSES


def _notes(schema: Schema) -> list[str]:
    """Which columns are left out, those with the same reason in one sentence."""
    reasons: dict[str, list[str]] = {}
    for column in schema.columns:
        if not column.used:
            reasons.setdefault(column.note, []).append(column.name)
    notes = []
    for reason, names in reasons.items():
        if len(names) == 1:
            notes.append(f"column {names[0]!r} is left out: it {reason}")
            continue
        some = ", ".join(map(repr, names[:_MOST_NAMED])) + (", …" if len(names) > _MOST_NAMED else "")
        notes.append(f"{len(names)} columns are left out ({some}): each {reason}")
    return notes


def _narrowed(schema: Schema, table: "pa.Table") -> Schema:
    """The same without texts, categories of many levels and, if need be, the last columns: as many as can be shown."""
    while True:
        if not schema.used:
            return schema
        encoder, columns = Encoder.learn(schema.apply(table), gaps="fill")
        excess = columns.count - _MOST_INPUTS
        if excess <= 0:
            return schema
        left = [column.name for column in schema.used if column.kind is Kind.TEXT][:1]
        if not left and encoder.levels:
            left = [max(encoder.levels, key=lambda level: len(level.values)).column]
        left = left or [column.name for column in schema.used[-excess:]]
        schema = replace(
            schema,
            columns=tuple(
                replace(column, used=False, note=f"would make more than {_MOST_INPUTS} inputs")
                if column.name in left
                else column
                for column in schema.columns
            ),
        )


def _axis(found: Prepared, name: str) -> int:
    if name not in found.of_number:
        raise DataError(f"axes: column {name!r} is no input of numbers: choose from: {', '.join(found.of_number)}")
    return found.of_number[name]


def _through(found: Prepared, one: int, two: int) -> Plane:
    def plane(at: Floats) -> NDArray[np.float32]:
        rows = np.tile(found.usual, (len(at), 1))
        rows[:, one], rows[:, two] = at[:, 0], at[:, 1]
        return ((rows - found.centre) / found.scale).astype(np.float32)

    return plane
