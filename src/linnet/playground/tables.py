"""The user's own table as a data set, read and encoded as linnet's models of tables do.

    data = Table.read(["iris.csv"]).dataset("species", axes=["petal_length", "petal_width"])

Numbers are standardised, a numeric target too: from weights near 0 a network would take for ever to reach prices. Where
two columns are the axes, the others are held at their means, or at their most frequent levels. Otherwise the plane is
that of the first two principal components.
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
from linnet.tables.kinds import Column, judge
from linnet.tables.rows import Roles, target_of, with_target
from linnet.tables.schema import Schema, unknown_column
from linnet.tables.select import MIN_ROWS
from linnet.tables.task import Task, read_task

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_BYTES = 1 << 26  # of a table in memory
_MAX_ROWS = 20_000
_MAX_INPUTS = 200
_MAX_CLASSES = 10
_MAX_NAMED = 3  # columns named for each reason to leave them out


@dataclass(frozen=True)
class Prepared:
    """A table for one target: how its columns are read, and all columns as numbers."""

    schema: Schema
    roles: Roles
    table: "pa.Table"  # rows that have a target
    encoder: Encoder
    names: tuple[str, ...]  # of inputs
    of_number: dict[str, int]  # the index of the input of each numeric column
    x: Floats  # rows x inputs, not standardised
    centre: Floats
    scale: Floats
    usual: Floats  # an input row: means, and the most frequent levels
    y: NDArray[Any]  # class numbers, or the target in its own unit
    classes: tuple[str, ...]
    notes: tuple[str, ...]


class Table:
    """A table in files, one column of which is predicted."""

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
        """Read the files of one table; of a large one a random sample of rows, the same every time."""
        source = open_source(list(files), delimiter=delimiter)
        sample = source.read_some(_MAX_BYTES)
        table, notes = sample.table, list(source.notices)
        if len(table) > _MAX_ROWS:
            chosen = np.sort(np.random.default_rng(0).permutation(len(table))[:_MAX_ROWS])
            table = table.take(chosen)
        if len(table) < sample.rows:
            notes.append(f"{len(table):,} of {sample.rows:,} rows are used, drawn at random")
        return cls(table, [str(file) for file in files], notes, delimiter)

    @property
    def name(self) -> str:
        """The name on the page."""
        return ", ".join(Path(file).name for file in self.files)

    def facts(self) -> dict[str, Any]:
        """Return what the page offers: columns to predict, and columns that may be axes."""
        columns = Schema.of(self.table).columns
        return {
            "name": self.name,
            "rows": len(self.table),
            "targets": [column.name for column in columns if _can_be_predicted(column, self.table)],
            "axes": [column.name for column in columns if column.used and column.is_number],
        }

    def last_target(self) -> str:
        """Return the last column that can be predicted, which is most often the target."""
        targets: list[str] = self.facts()["targets"]
        if targets:
            return targets[-1]
        raise DataError(
            f"{self.name}: no column can be predicted: one must have numbers, or 2 to {_MAX_CLASSES} classes, in at "
            f"least {MIN_ROWS} rows"
        )

    def prepared(self, target: str) -> Prepared:
        """Return the table prepared for a target."""
        if target not in self.table.column_names:
            raise unknown_column(target, self.table.column_names)
        if target not in self._prepared:
            self._prepared[target] = _prepare(self.table, target)
        return self._prepared[target]

    def dataset(self, target: str, axes: Sequence[str] = ()) -> Dataset:
        """Return all rows that have a target, with the plane of two numeric columns or of two principal components."""
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
                f"{target!r} is standardised, ({target} - {centre:,.6g}) / {scale:,.6g}, and the loss is in these "
                "units: predicting the mean for every row has a loss of 1"
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
    if len(table) < MIN_ROWS:
        raise DataError(f"only {len(table)} rows have a value of {target!r}: at least {MIN_ROWS} are needed")
    task = schema.task
    assert task is not None
    y = target_of(table, schema, task)
    classes: tuple[str, ...] = ()
    if task.has_classes:
        kinds, y = np.unique(y, return_inverse=True)
        classes = tuple(map(str, kinds))
        if len(classes) > _MAX_CLASSES:
            raise DataError(f"the target {target!r} has {len(classes)} classes, more than {_MAX_CLASSES}")
    schema = _narrowed(schema, table)
    if not schema.used:
        why = "; ".join(_notes(schema)) or f"{target!r} is the only one"
        raise DataError(f"there is no column to learn from: {why}")
    read = schema.apply(table)
    encoder, columns = Encoder.learn(read, gaps="fill")
    blocks = [np.asarray(block, np.float64) for block in columns.tables]
    if columns.codes:
        blocks.append(columns.entries().toarray())
    x = np.hstack(blocks)
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
        of_number={name: index for index, name in enumerate(numbers)},
        x=x,
        centre=centre,
        scale=scale,
        usual=usual,
        y=y,
        classes=classes,
        notes=tuple(_notes(schema)),
    )


def _can_be_predicted(column: Column, table: "pa.Table") -> bool:
    """Return whether a column has a task that the page can show, whatever other columns there are."""
    if not column.how.is_offered or len(table) - column.missing < MIN_ROWS:
        return False
    values = table[column.name]
    found = judge(column.name, values, target=True)
    try:
        task, _ = read_task(found, values)
    except DataError:
        return False
    return not task.has_classes or found.distinct <= _MAX_CLASSES


def _notes(schema: Schema) -> list[str]:
    """Return which columns are left out, with one sentence per reason."""
    reasons: dict[str, list[str]] = {}
    for column in schema.columns:
        if not column.used:
            reasons.setdefault(column.note, []).append(column.name)
    notes = []
    for reason, names in reasons.items():
        if len(names) == 1:
            notes.append(f"column {names[0]!r} is left out: it {reason}")
            continue
        listed = ", ".join(map(repr, names[:_MAX_NAMED])) + (", …" if len(names) > _MAX_NAMED else "")
        notes.append(f"{len(names)} columns are left out ({listed}): each {reason}")
    return notes


def _narrowed(schema: Schema, table: "pa.Table") -> Schema:
    """Return the schema without text, categories of many levels and, if need be, the last columns, up to 200 inputs."""
    while True:
        if not schema.used:
            return schema
        encoder, columns = Encoder.learn(schema.apply(table), gaps="fill")
        excess = columns.count - _MAX_INPUTS
        if excess <= 0:
            return schema
        left = [column.name for column in schema.used if column.bins][:1]
        if not left and encoder.levels:
            left = [max(encoder.levels, key=lambda level: len(level.values)).column]
        left = left or [column.name for column in schema.used[-excess:]]
        schema = replace(
            schema,
            columns=tuple(
                replace(column, used=False, note=f"would make more than {_MAX_INPUTS} inputs")
                if column.name in left
                else column
                for column in schema.columns
            ),
        )


def _axis(found: Prepared, name: str) -> int:
    if name not in found.of_number:
        raise DataError(f"axes: column {name!r} is not a numeric input: choose from: {', '.join(found.of_number)}")
    return found.of_number[name]


def _through(found: Prepared, one: int, two: int) -> Plane:
    def plane(at: Floats) -> NDArray[np.float32]:
        rows = np.tile(found.usual, (len(at), 1))
        rows[:, one], rows[:, two] = at[:, 0], at[:, 1]
        return ((rows - found.centre) / found.scale).astype(np.float32)

    return plane
