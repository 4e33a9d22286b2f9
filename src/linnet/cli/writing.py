"""What commands share when they write: files that can be written, numbers for programs."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.cli.terminal import shown_json
from linnet.errors import ConfigError
from linnet.files import is_stream, real_path

if TYPE_CHECKING:
    import pyarrow as pa

_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[-+](\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"


def check_out(*paths: Path | None, data: Sequence[str] = ()) -> None:
    """Refuse now what could not, or should not, be written when all the work is done."""
    read = {real_path(name) for name in data if name != "-"}
    seen: set[Path] = set()
    for path in (path for path in paths if path is not None):
        if not path.parent.is_dir():
            raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")
        if path.is_dir():
            raise ConfigError(f"cannot write {path}: it is a folder; name a file in it")
        real = real_path(path)
        if real in read and not is_stream(path):
            raise ConfigError(f"cannot write {path}: it is an input, and would be overwritten; choose another name")
        if real in seen and not is_stream(path):
            raise ConfigError(f"cannot write {path}: two files would have this name; choose another one")
        seen.add(real)


def json_text(facts: Any, *, indent: int | None = 2) -> str:
    """Facts as JSON, which has no NaN and no infinity: null in their place. Control characters are escapes."""
    return shown_json(json.dumps(_finite(facts), indent=indent, ensure_ascii=False, allow_nan=False, default=str))


def formulas(table: "pa.Table") -> dict[str, int]:
    """How many cells of each column, and its name, a spreadsheet would run as formulas: texts that begin with =, +, -,
    @ or white space of lines, and are no numbers.
    """
    import pyarrow.compute as pc

    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        count = int(_is_formula(name)) + (pc.sum(_formulas(column)).as_py() or 0 if _is_text(column) else 0)
        if count:
            found[name] = count
    return found


def for_spreadsheets(table: "pa.Table") -> "pa.Table":
    """The table with an apostrophe before each such cell and name, by which spreadsheets know a text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in table.columns:
        if _is_text(column):
            column = pc.if_else(_formulas(column), pc.binary_join_element_wise("'", column, ""), column)
        columns.append(column)
    return pa.table(columns, [f"'{name}" if _is_formula(name) else name for name in table.column_names])


def _is_formula(text: str) -> bool:
    return bool(re.match(_FORMULA, text) and not re.match(_NUMBER, text))


def _formulas(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    import pyarrow.compute as pc

    begins = pc.match_substring_regex(column, _FORMULA)
    return pc.and_not(begins, pc.match_substring_regex(column, _NUMBER))


def _is_text(column: "pa.ChunkedArray") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
