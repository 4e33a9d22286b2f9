"""Rows of a table on their way to a model: roles of columns, targets, weights, and columns as a schema reads them."""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.targets import Labelled
from linnet.errors import ConfigError, DataError, DataWarning, warn
from linnet.registry import saved
from linnet.tables.kinds import text_numbers
from linnet.tables.schema import Schema
from linnet.tables.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.data.encoder import Encoded

Array = NDArray[Any]
Floats = NDArray[np.float64]

_MAX_CLASS_CHARACTERS = 10_000  # characters


@saved
@dataclass(frozen=True, slots=True)
class Roles:
    """The columns with a role of their own, none of which is a feature."""

    target: str
    exposure: str | None = None
    offset: str | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        given = [*self.given.items()]
        for place, (role, name) in enumerate(given):
            for other, same in given[:place]:
                if name == same:
                    raise ConfigError(f"column {name!r} is given as {other} and as {role}: it can be one of them")

    @property
    def given(self) -> dict[str, str]:
        """Return the columns by role."""
        return {each.name: name for each in fields(self) if (name := getattr(self, each.name)) is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns that have a role."""
        return tuple(self.given.values())

    @property
    def shifts(self) -> dict[str, str]:
        """Return the exposure and the offset, where given: what is added to the linear predictor."""
        both = {"exposure": self.exposure, "offset": self.offset}
        return {name: column for name, column in both.items() if column is not None}


@dataclass(frozen=True)
class Examples:
    """What an estimator is fitted to."""

    x: "pa.Table | Encoded"
    y: Array | Labelled
    given: dict[str, Array]  # weights, exposure and offset, those there are

    @classmethod
    def of(cls, table: "pa.Table", schema: Schema, roles: Roles, classes: Array | None = None) -> "Examples":
        """Rows that all have a target; `classes`, if they are known."""
        assert schema.task is not None
        x = with_codes(schema.apply(table))
        return cls(x, target_of(table, schema, schema.task, classes), given_of(table, roles))

    def __len__(self) -> int:
        return len(self.y)

    def encoded(self) -> "Examples":
        """Encode the rows once for all linear models, and for what is inferred of them: their encoder is the same."""
        from linnet.data.encoder import Encoded, Encoder

        return replace(self, x=Encoded(*Encoder.learn(self.x, gaps="fill", narrow=True)))


@dataclass(frozen=True)
class AppliedRows:
    """Rows as a schema reads them, before a model's encoder."""

    x: "pa.Table"
    given: dict[str, Array]  # exposure and offset, those there are
    rare: dict[str, int]  # rows with a level never seen in training that counts as one of the rare ones, by column

    @classmethod
    def of(cls, table: "pa.Table", schema: Schema, roles: Roles) -> "AppliedRows":
        """Apply the schema, once for any number of models."""
        if len(table) == 0:
            raise DataError("the table has no rows")
        x = with_codes(schema.apply(table))
        given = {name: numbers_of(table, role) for name, role in roles.shifts.items()}
        return cls(x, given, schema.never_seen(table))

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: Array) -> "AppliedRows":
        """Return some of the rows, in the given order, without the notices."""
        return AppliedRows(self.x.take(rows), {name: values[rows] for name, values in self.given.items()}, {})

    def with_columns(self, columns: dict[str, Any]) -> "AppliedRows":
        """Return the rows with other values in some columns."""
        x = self.x
        for name, values in columns.items():
            x = x.set_column(x.column_names.index(name), name, values)
        return replace(self, x=x)


@dataclass(frozen=True)
class KnownRows:
    """Rows whose target is known, read once for any number of models of the same schema."""

    table: "pa.Table"  # as it came, without the rows that have no target
    applied: AppliedRows
    y: Array
    weights: Floats | None  # scaled to sum to the number of rows

    @classmethod
    def of(cls, table: "pa.Table", schema: Schema, roles: Roles, classes: Array | None) -> "KnownRows":
        """Read the rows of a table that have a target."""
        assert schema.task is not None
        if roles.target not in table.column_names:
            raise DataError(f"the table has no target {roles.target!r} to compare with")
        table = with_target(table, schema)
        if len(table) < 2:
            raise DataError(f"only {len(table)} rows have a value of {roles.target!r}: nothing can be measured")
        return cls.with_targets(table, target_of(table, schema, schema.task, classes), schema, roles)

    @classmethod
    def with_targets(cls, table: "pa.Table", y: Array, schema: Schema, roles: Roles) -> "KnownRows":
        """Read rows whose targets have been read before."""
        weights = None
        if roles.weights is not None and roles.weights in table.column_names:
            weights = numbers_of(table, roles.weights)
            if not (weights.min() >= 0 and weights.sum() > 0):
                raise DataError(f"the weights in {roles.weights!r} are negative, or all 0")
            weights = weights * (len(weights) / weights.sum())
        return cls(table, AppliedRows.of(table, schema, roles), y, weights)

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class TableRows:
    """Rows as a table's model has read them, and what it noticed: `TableModel.read` makes it."""

    x: "pa.Table | Encoded"  # as the estimator takes them
    given: dict[str, Array]  # exposure and offset, those there are
    unseen: dict[str, int]  # rows with a level never seen in training, which has no effect, by column
    rare: dict[str, int]  # rows with a level never seen in training that counts as one of the rare ones, by column
    filled: dict[str, int]  # rows with a missing value where training had none, by column

    def __len__(self) -> int:
        return len(self.x)

    def warn(self) -> None:
        """Warn of what was noticed about the rows, if anything."""
        for what, counts in (
            ("levels never seen in training, which have no effect", self.unseen),
            ("levels never seen in training, which count as rare ones", self.rare),
            ("missing values where training had none, filled with the median", self.filled),
        ):
            if counts:
                rows = ", ".join(f"{count} in column {name!r}" for name, count in counts.items())
                warn(f"the table has rows with {what}: {rows}", DataWarning)


def with_codes(table: "pa.Table") -> "pa.Table":
    """Texts as codes of their sorted levels: levels are found here, once, and not by the encoder of every model."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not any(map(pa.types.is_string, table.schema.types)):
        return table
    columns = []
    for column in table.columns:
        if pa.types.is_string(column.type):
            coded = column.combine_chunks().dictionary_encode()
            order = pc.sort_indices(coded.dictionary)
            place = np.empty(len(order), np.int32)
            place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
            levels = coded.dictionary.take(order)
            column = pa.DictionaryArray.from_arrays(pa.array(place).take(coded.indices), levels)
        columns.append(column)
    return pa.table(columns, table.column_names)


def numbers_of(table: "pa.Table", name: str) -> Array:
    """Return a column of finite numbers, or raise an error that names the row and the column."""
    import pyarrow as pa

    if name not in table.column_names:
        raise DataError(f"column {name!r} is missing: the table has {', '.join(table.column_names[:20])}")
    try:
        values = np.asarray(table[name].cast(pa.float64(), safe=False), np.float64)
    except pa.ArrowException:
        raise DataError(f"column {name!r} has type {table[name].type}, where numbers were expected") from None
    if not np.isfinite(values).all():
        raise DataError(f"column {name!r} has no value in row {int(np.argmin(np.isfinite(values)))}")
    return values


def given_of(table: "pa.Table", roles: Roles) -> dict[str, Array]:
    """Return the weights, exposure and offset of the rows, where given, by the names that `fit` uses."""
    columns = {**roles.shifts, **({} if roles.weights is None else {"sample_weight": roles.weights})}
    return {name: numbers_of(table, column) for name, column in columns.items()}


def check_given(table: "pa.Table", roles: Roles, numbers: NDArray[np.int64]) -> None:
    """Refuse weights and exposures that cannot be meant; `numbers` of the rows, as a user counts them."""
    for name, values in given_of(table, roles).items():
        wrong = {"sample_weight": values < 0, "exposure": values <= 0}.get(name)
        if wrong is not None and wrong.any():
            row, what = int(wrong.argmax()), "weights" if name == "sample_weight" else "exposure"
            least = "at least" if name == "sample_weight" else "above"
            raise DataError(
                f"column {getattr(roles, what)!r}, the {what}, has {values[row]:g} in row {numbers[row]:,}: it "
                f"must be {least} 0; correct it, or leave out such rows"
            )
        if name == "sample_weight" and not values.any():
            raise DataError(f"column {roles.weights!r}, the weights, is 0 in every row: no row counts")


def target_of(table: "pa.Table", schema: Schema, task: Task, classes: Array | None = None) -> Array:
    """Return the target as estimators take it: classes as written, numbers as floats."""
    assert schema.target is not None
    name = schema.target.name
    if name not in table.column_names:
        raise DataError(f"the target {name!r} is missing: the table has {', '.join(table.column_names[:20])}")
    if not task.has_classes:
        values = schema.target_numbers(table)
        row = int(np.argmin(np.isfinite(values)))
        if not np.isfinite(values[row]):
            raise DataError(f"the target {name!r} has no value in row {row}")
        if task is Task.COUNTS and (values < 0).any():
            raise DataError(f"the target {name!r} has {values.min():g} in row {int(values.argmin())}: not a count")
        return values
    names, codes = _coded(table[name])
    if classes is not None and schema.target.is_number:
        style = schema.target.style
        names = _as_known(names, style if str(table[name].type) == "string" else "", classes.tolist(), style)
    found = np.asarray(np.array([*names, ""], dtype=object)[codes])
    row, longest = max(enumerate(map(len, found)), key=lambda one: one[1], default=(0, 0))
    if longest > _MAX_CLASS_CHARACTERS:
        raise DataError(f"the target {name!r} has {longest:,} characters in row {row}: not the name of a class")
    if classes is not None:
        check_classes(found, classes, name)
    return found


def check_classes(y: Array, classes: Array, name: str) -> None:
    """Refuse targets that are none of the classes."""
    unknown = ~np.isin(y, classes)
    if unknown.any():
        row = int(unknown.argmax())
        raise DataError(f"the target {name!r} is {y[row]!r} in row {row}, a class the model has not seen")


def _as_known(names: list[str], style: str, classes: list[str], their_style: str) -> list[str]:
    """Numbers by the names that they have among the classes: a 0 is written 0.0 in a column with missing values."""
    import pyarrow as pa

    numbers, known = (
        text_numbers(pa.array(written, pa.string()), how or "1,234.5").to_pylist()
        for written, how in ((names, style), (classes, their_style))
    )
    called = {number: name for number, name in zip(known, classes, strict=True) if number is not None}
    pairs = zip(names, numbers, strict=True)
    return [name if name in classes else called.get(number, name) for name, number in pairs]


def class_codes(column: "pa.ChunkedArray", classes: Array) -> NDArray[np.int32]:
    """Return the index of each row's class among those given, -1 for other classes."""
    names, codes = _coded(column)
    place = {name: code for code, name in enumerate(classes)}
    return np.array([*(place.get(name, -1) for name in names), -1], np.int32)[codes]


def _coded(column: "pa.ChunkedArray") -> tuple[list[str], NDArray[np.int32]]:
    """Return the distinct values of a column, as written, and the index of each row's value."""
    coded = column.combine_chunks().dictionary_encode()
    return [str(value) for value in coded.dictionary.to_pylist()], coded.indices.to_numpy()


def with_target(table: "pa.Table", schema: Schema) -> "pa.Table":
    """Return the rows that have a target."""
    known = schema.has_target(table)
    return table if known.all() else table.filter(known)
