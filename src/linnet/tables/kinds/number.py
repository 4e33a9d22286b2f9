"""Numbers, also as they are written in text; of times of day and lengths of time the hours."""

from dataclasses import dataclass, field
from datetime import time, timedelta
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linnet.tables.kinds.base import Column, ColumnKind, Floats, Kind, retyped, type_named

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor
    from linnet.tables.kinds.raw import RawColumn

_NO_NUMBER = ["", "-", "--", ".", "none", "unknown", "missing", "nil", "n.a.", "na", "n/a", "nan", "null", "?"]
_STYLES = {  # pattern, what to take out, the decimal sign
    "1,234.5": (r"^[-+]?((\d{1,3}(,\d{3})+|\d+)(\.\d*)?|\.\d+)([eE][-+]?\d+)?$", ",", "."),
    "1.234,5": (r"^[-+]?((\d{1,3}(\.\d{3})+|\d+)(,\d*)?|,\d+)([eE][-+]?\d+)?$", ".", ","),
}


@dataclass(frozen=True, slots=True)
class Numbers:
    """Facts about a column's numbers, missing ones not counted."""

    count: int
    infinite: int
    whole: bool  # whether all are
    rising: bool  # whether each is larger than the one before; only known of whole ones
    style: str = ""  # of numbers in text
    note: str = ""
    counts: dict[str, Any] = field(default_factory=dict)  # of numbers in text: where they differ from those of the text

    @classmethod
    def of(cls, values: NDArray[Any], **more: Any) -> Self:
        """Look at the numbers of one column."""
        infinite = int(np.count_nonzero(np.isinf(values))) if values.dtype.kind == "f" else 0
        whole = not infinite and (values.dtype.kind != "f" or bool((values == np.floor(values)).all()))
        return cls(len(values), infinite, whole, whole and bool((values[1:] > values[:-1]).all()), **more)


class Number(ColumnKind):
    """A number; missing ones are left to the encoder."""

    kind = Kind.NUMBER
    learned = is_number = is_offered = may_be_pixel = True
    styles = tuple(_STYLES)

    def recognise(self, raw: "RawColumn") -> Column | None:  # noqa: D102
        if is_time(raw.type):
            what = "a length of time" if pa.types.is_duration(raw.type) else "a time of day"
            return raw.column(self.kind, note=f"{what}, in hours")
        found = raw.numbers
        if found is None:
            return None
        note = f"{found.infinite} infinite values count as missing" if found.infinite else ""
        return raw.column(self.kind, note=found.note or note, style=found.style, **found.counts)

    def type_to_read(self, column: Column) -> pa.DataType:
        """Files may later contain 2.5 or a missing value where there were whole numbers."""
        type_ = ColumnKind.type_to_read(self, column)
        return pa.float64() if pa.types.is_integer(type_) else type_

    def is_plain(self, column: Column) -> bool:  # noqa: D102
        return not is_time(type_named(column.type))

    def apply(self, column: Column, values: Any) -> list[Any]:  # noqa: D102
        return [self.numbers(column, values)]

    def numbers(self, column: Column, values: Any) -> Any:
        """Finite numbers, the others missing."""
        if is_time(values.type) and is_time(type_named(column.type)):
            return hours(values)
        if pa.types.is_string(values.type):
            found = text_numbers(values, column.style or "1,234.5")
            if not column.style and len(text_words(values, found)):
                raise retyped(column, text_words(values, found), "numbers")
            values = found
        type_ = values.type
        number = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)
        if not number or is_time(type_named(column.type)):
            raise retyped(column, values, f"values of type {column.type}" if number else "numbers")
        if not pa.types.is_floating(type_) or pc.all(finite := pc.is_finite(values), min_count=0).as_py():
            return values
        return pc.if_else(finite, values, pa.scalar(None, type_))

    def made_up_value(self, column: Column, level: Any) -> Any:  # noqa: D102
        if column.style:
            return "0"
        if is_time(type_named(column.type)):
            return timedelta(0) if column.type.startswith("duration") else time(0)
        return 0

    def compared(self, column: Column, values: pa.ChunkedArray) -> Floats:  # noqa: D102
        if column.style:
            values = text_numbers(values, column.style)
        if is_time(values.type):
            values = hours(values)
        return finite_or_nan(values)

    def to_graph(self, column: Column, graph: "Graph") -> "list[Tensor]":  # noqa: D102
        from linnet.export.onnx.columns import NUMBERS

        return [finite_input(graph, column.name, NUMBERS)]


def is_time(type_: pa.DataType) -> bool:
    """Whether values are times of day or lengths of time, which count in hours."""
    return bool(pa.types.is_time(type_) or pa.types.is_duration(type_))


def hours(values: Any) -> Any:
    """Times of day and lengths of time as hours."""
    unit = {"s": 3600.0, "ms": 3.6e6, "us": 3.6e9, "ns": 3.6e12}[values.type.unit]
    whole = values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64())
    return pc.divide(whole.cast(pa.float64()), unit)


def known_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """The values of a column of numbers that are not missing."""
    values = np.asarray(column.drop_null().to_numpy(), np.float64)
    return values[~np.isnan(values)]


def finite_or_nan(values: pa.ChunkedArray) -> Floats:
    """A column as numbers, NaN where one is missing or infinite."""
    numbers = values.cast(pa.float64(), safe=False).to_numpy()
    return np.where(np.isfinite(numbers), numbers, np.nan)


def number_style(sample: Any) -> str:
    """The format of the numbers in a sample of text, "" if it has none."""
    best, most = "", 0.8
    lowered = pc.utf8_lower(pc.utf8_trim_whitespace(sample))
    sample = sample.filter(pc.invert(pc.is_in(lowered, pa.array(_NO_NUMBER))))
    for style in _STYLES:
        share = 1 - text_numbers(sample, style).null_count / max(1, len(sample))
        if share > most:
            best, most = style, share
    return best


def text_numbers(column: Any, style: str) -> Any:
    """The numbers in a column of text, missing where there is none; marks of thousands, $ and % are taken out."""
    pattern, mark, decimal = _STYLES[style]
    text = pc.replace_substring_regex(column, r"^\s*[$€£]|[$€£%]\s*$|\s|'", "")
    text = pc.if_else(pc.match_substring_regex(text, pattern), text, pa.scalar(None, pa.string()))
    text = pc.replace_substring(text, mark, "")
    if decimal != ".":
        text = pc.replace_substring(text, decimal, ".")
    return text.cast(pa.float64())


def text_words(column: Any, values: Any) -> Any:
    """The texts that are neither numbers nor words for missing values."""
    odd = column.filter(pc.and_(pc.is_valid(column), pc.is_null(values)))
    return odd.filter(pc.invert(pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(odd)), pa.array(_NO_NUMBER))))


def finite_input(graph: "Graph", name: str, what: str) -> "Tensor":
    """An input of numbers for an ONNX graph; infinite ones are missing."""
    x = graph.input(name, "float64", 1, what)
    finite = graph.add("LessOrEqual", graph.add("Abs", x), float(np.finfo(np.float64).max), type="bool")
    return graph.add("Where", finite, x, np.array(np.nan), type="float64")
