"""A column as a schema stores it, and the interface of kinds of columns."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linnet.errors import ConfigError, DataError, Parameter
from linnet.registry import need, saved
from linnet.texts import Texts
from linnet.words import Word

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor
    from linnet.tables.kinds.raw import RawColumn

Floats = NDArray[np.float64]
Levels = tuple[NDArray[Any], int]  # the code of each row's level, and how many there are

ENOUGH = 20  # rows for unique values to mean something
MAX_BINS = 1 << 16  # columns of a text


class Kind(Word):
    """The content of a column; the last three are never learned from."""

    NUMBER = "number"
    CATEGORY = "category"
    BOOLEAN = "boolean"
    DATE = "date"
    TEXT = "text"
    IDENTIFIER = "identifier"
    CONSTANT = "constant"
    EMPTY = "empty"


@saved
@dataclass(frozen=True, slots=True)
class Column:
    """How a column is read; plain values only."""

    name: str
    kind: Kind
    type: str  # pyarrow's name of it
    used: bool  # whether a model gets it
    missing: int
    distinct: int  # values, missing ones not counted
    estimated: bool = False  # whether `distinct` is
    examples: tuple[str, ...] = ()
    note: str = ""  # in plain words: why it is left out, or what is done with it
    style: str = ""  # how numbers or dates are written in text
    levels: tuple[str, ...] | None = None  # of a category, if not all have a level of their own
    rare: tuple[str, ...] | None = None  # digests of the other levels, unless they are very many
    parts: tuple[str, ...] = ()  # of a date
    start: str = ""  # of a date: the first day
    bins: int = 0  # of a text: columns of hashed n-grams

    def __post_init__(self) -> None:
        if type(self.kind) is not Kind:  # files have the word
            object.__setattr__(self, "kind", Kind(self.kind))

    def _check_file(self) -> None:
        need(0 <= self.bins <= MAX_BINS and self.missing >= 0 and self.distinct >= 0, self, "bins")
        styles = self.how.styles or [style for each in KINDS for style in each.styles]  # any may be written as another
        need(not self.style or (self.style in styles and self.type == "string"), self, "style")
        need({*self.parts} <= {part for each in KINDS for part in each.parts}, self, "parts")
        need(not self.used or self.how.learned, self, "used")
        self.how.check_file(self)

    @property
    def how(self) -> "ColumnKind":
        """The class of its kind, which knows how its columns are read."""
        for each in KINDS:
            if each.kind is self.kind:
                return each
        raise KeyError(self.kind)

    @property
    def is_number(self) -> bool:
        """Whether it is read as a number."""
        return self.how.is_number

    def made_of(self) -> list[str]:
        """The names of the columns that it becomes."""
        return self.how.made_of(self)

    def apply(self, values: pa.ChunkedArray) -> dict[str, Any]:
        """The columns that it becomes, by name; a DataError if values are not of its kind."""
        given = values.type
        if pa.types.is_null(given):
            values = values.cast(type_named(self.type))
        elif pa.types.is_dictionary(given) or pa.types.is_large_string(given):
            values = values.cast(pa.string())
        return dict(zip(self.made_of(), self.how.apply(self, values), strict=True))

    def made_up_value(self, level: Any) -> Any:
        """A value such as the column may have; `level`: of a category."""
        return self.how.made_up_value(self, level)


class ColumnKind:
    """A kind of column: how it is recognised, and all that is done with it. By default it is never learned from."""

    kind: ClassVar[Kind]
    learned: ClassVar[bool] = False  # whether a model may get it; whether it does, `Column.used` says
    is_number: ClassVar[bool] = False
    varies: ClassVar[bool] = True  # whether it has different values
    are_words: ClassVar[bool] = False  # which are learned from as text if there is nothing else
    is_offered: ClassVar[bool] = False  # whether a column of it is offered as something to predict
    may_be_pixel: ClassVar[bool] = False  # whether it may be a pixel of an image: a number, or always the same
    no_target: ClassVar[str] = ""  # why a column of it cannot be predicted, if so
    styles: ClassVar[tuple[str, ...]] = ()  # in which values may be written as text
    parts: ClassVar[tuple[str, ...]] = ()  # that `Column.parts` chooses from

    def recognise(self, raw: "RawColumn") -> Column | None:
        """How a column is read if it is of this kind."""
        raise NotImplementedError

    def check_file(self, column: Column) -> None:
        """Refuse a column from a file that cannot be one of this kind."""

    def type_to_read(self, column: Column) -> pa.DataType:
        """The type to read files with: the column's own, or a wider one for later values."""
        type_ = type_named(column.type)
        return pa.duration("ns") if pa.types.is_duration(type_) else type_

    def made_of(self, column: Column) -> list[str]:
        """The names of the columns that a column of this kind becomes."""
        return [column.name]

    def apply(self, column: Column, values: Any) -> list[Any]:
        """The columns that one becomes, in the order of `made_of`; a DataError for values of another kind."""
        raise NotImplementedError

    def is_plain(self, column: Column) -> bool:
        """Whether finite numbers of NumPy's types are used as they are, without `apply`."""
        return False

    def made_up_value(self, column: Column, level: Any) -> Any:
        """A value such as the column may have; `level`: a known one, where models keep levels."""
        return level

    def compared(self, column: Column, values: pa.ChunkedArray) -> Floats | Levels | None:
        """What the column alone gives for each row: a number, NaN where it is missing, or a level; None: nothing."""
        encoded = values.combine_chunks().dictionary_encode()
        return pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy(), len(encoded.dictionary) + 1

    def to_graph(self, column: Column, graph: "Graph") -> "list[Tensor]":
        """The result of `apply` as parts of an ONNX graph with its own input."""
        raise NotImplementedError


KINDS: list[ColumnKind] = []  # in the order in which they are asked; `linnet.tables.kinds` has it


@cache
def type_named(name: str) -> pa.DataType:
    """The type with a name that pyarrow wrote."""
    zoned = re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", name)
    return pa.timestamp(zoned[1], zoned[2]) if zoned else pa.type_for_alias(name)


def column_facts(column: Column) -> dict[str, Any]:
    """The facts about a column, by name."""
    found = {name: getattr(column, name) for name in Column.__slots__}
    return {name: tuple(value) if isinstance(value, Texts) else value for name, value in found.items()}


def column_of(values: Mapping[str, Any]) -> Column:
    """The column of which `column_facts` made the values."""
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list | tuple)}
    return Column(**{**values, **lists})


def retyped(column: Column, values: Any, expected: str) -> DataError:
    """Build the error for values that are not of a column's kind."""
    known = values.drop_null()
    such = f" such as {str(known[0].as_py())[:40]!r}" if len(known) else ""
    return DataError(f"column {column.name!r} has type {values.type}{such}, where {expected} were expected")


def refuse_export(column: Column, what: str) -> NoReturn:
    """Raise the error for a column that no ONNX graph can read."""
    raise ConfigError(
        f"column {column.name!r} cannot be exported: ONNX has no way to read {what}; train without it (",
        Parameter("drop", column.name),
        "), or with columns of numbers and categories made of it",
    )
