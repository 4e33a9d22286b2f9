"""Values in the names of folders: the rows of `sales/year=2024/month=3/part.parquet` have a year and a month.

The folders between the one that was given and the file count, as Hive, Spark and pyarrow write them: `name=value`, with
%20 and the like for what may not be in a name, and `__HIVE_DEFAULT_PARTITION__` for a missing value.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from linnet.data.characters import is_whole
from linnet.errors import DataError
from linnet.tables.io.types import Types

_MISSING = "__HIVE_DEFAULT_PARTITION__"


def folder_values(file: Path, root: Path) -> dict[str, str | None]:
    """The values that the folders below `root` have in their names, None where one is missing."""
    found: dict[str, str | None] = {}
    for folder in file.relative_to(root).parts[:-1] if file != root else ():
        name, sign, value = folder.partition("=")
        if sign and name:
            if not is_whole(folder):
                raise DataError(f"{file}: the name of the folder {folder!a} has a value and is not UTF-8: rename it")
            found[unquote(name)] = None if value == _MISSING else unquote(value)
    return found


@dataclass(frozen=True)
class Partition:
    """A file with columns that are the same in all its rows."""

    part: Any  # a file as linnet.tables.io.sources has them
    values: Mapping[str, str | None]

    @property
    def name(self) -> str:
        """The name as the user gave it."""
        return str(self.part.name)

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return int(self.part.size)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the file, if it has them once for all rows, and those of its folders."""
        return (*self.part.names, *self.values) if self.part.names else ()

    @property
    def known_types(self) -> Types | None:
        """The types of the columns, if they are known without reading rows."""
        inner: Types | None = self.part.known_types
        return None if inner is None else {**inner, **{name: _type(value) for name, value in self.values.items()}}

    def tables(self, columns: set[str] | None, types: Types, progress: Callable[[int], None]) -> Iterator[pa.Table]:
        """The file's rows, with the values of its folders."""
        inner = {name: type_ for name, type_ in types.items() if name not in self.values}
        wanted = None if columns is None else columns - set(self.values)
        if wanted is not None and not wanted:
            wanted = set(self.part.names[:1]) or None  # the rows must be counted
        for table in self.part.tables(wanted, inner, progress):
            for name, value in self.values.items():
                if columns is None or name in columns:
                    type_ = types.get(name, _type(value))
                    one = pa.nulls(1, type_) if value is None else pa.array([value], pa.string()).cast(type_)
                    table = table.append_column(name, pa.repeat(one[0], table.num_rows))
            yield table


def partitioned(part: Any, values: Mapping[str, str | None], notice: Callable[[str], None]) -> Any:
    """Return the file with the columns of its folders, if any; the file's own columns take precedence."""
    own = [name for name in values if name in part.names]
    for name in own:
        notice(f"both the folders' names and the files have a value of {name!r}: that of the files is used")
    values = {name: value for name, value in values.items() if name not in own}
    return Partition(part, values) if values else part


def _type(value: str | None) -> pa.DataType:
    if value is None:
        return pa.null()
    return pa.int64() if re.fullmatch(r"0|-?[1-9]\d{0,17}", value) else pa.string()
