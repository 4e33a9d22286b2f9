"""Data of any kind as a table: files, data frames, tables of pyarrow, columns by name, rows by name.

| given | read by |
|---|---|
| a path, or a list of paths: files or folders of one table, "-" for standard input | `open_source` |
| a source that `open_source` has opened | itself |
| a table or record batch of pyarrow; a data frame of pandas, polars and other libraries that narwhals knows | Arrow |
| a stream (`__arrow_c_stream__`) such as a reader of record batches, a query of DuckDB; of any size | `open_stream` |
| a dict of columns: {"size": [1.0, 2.0], "colour": ["red", "blue"]} | Arrow |
| a list of dicts, a row each: [{"size": 1.0, "colour": "red"}]; what a row lacks is missing | Arrow |
| a dict of values, one row: {"size": 1.0, "colour": "red"} | Arrow |
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from linnet.data.characters import broken, check_names, first_broken
from linnet.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.tables.io.sources import Source
    from linnet.tables.io.types import Types

Data = Any  # one of the kinds above


def as_source(data: Data, delimiter: str | None = None) -> "Source | None":
    """The files of a table, opened; None where data are in memory. `delimiter`: see `open_source`."""
    from linnet.tables.io.sources import Source, open_source, open_stream

    if isinstance(data, Source):
        return data
    if paths := paths_of(data):
        return open_source(paths, delimiter=delimiter)
    return open_stream(data) if _is_stream(data) else None


def paths_of(data: Data) -> list[str]:
    """The paths that data name; none where they are something else."""
    if _is_path(data):
        return [os.fspath(data)]
    if isinstance(data, list | tuple) and data and all(map(_is_path, data)):
        return [os.fspath(path) for path in data]
    return []


def as_arrow(data: Data, types: "Types | None" = None) -> "pa.Table":
    """Return all rows of data of any kind as a table of plain types; `types`: of columns of files, where known."""
    import pyarrow as pa

    from linnet.tables.io.types import converted

    source = as_source(data)
    if source is not None:
        return source.read(types=types)
    table = data if isinstance(data, pa.Table) else _made(data)
    names = table.column_names
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the table has several columns called {twice!r}: give each a name of its own")
    return converted(table, {}, "the table", 0)


def without_nested(table: "pa.Table") -> tuple["pa.Table", list[str]]:
    """The table without columns of lists or objects, and the names of these."""
    import pyarrow as pa

    nested = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    return (table.drop_columns(nested) if nested else table), nested


def _is_stream(data: Data) -> bool:
    """Whether rows come as a stream of Arrow, which may be larger than memory, and are not in a table already."""
    if not hasattr(data, "__arrow_c_stream__"):
        return False
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    if isinstance(data, pa.Table | pa.RecordBatch):
        return False
    try:
        return not isinstance(nw.from_native(data, pass_through=True), nw.DataFrame)
    except nw.exceptions.NarwhalsError:  # a frame with two columns of one name, which is told when it is read
        return False


def _is_path(value: object) -> TypeGuard["str | os.PathLike[str]"]:
    return isinstance(value, str | os.PathLike)


def _made(data: Data) -> "pa.Table":
    import pyarrow as pa

    from linnet.data.frames import as_frame

    if isinstance(data, Mapping):
        return _of_columns(data) if not data or any(map(_is_column, data.values())) else _of_rows([data])
    if isinstance(data, list | tuple) and data and all(isinstance(row, Mapping) for row in data):
        return _of_rows(data)
    try:
        frame = None if data is None or isinstance(data, list | tuple) else as_frame(data, "the table")
        if frame is not None:
            return frame.to_arrow()
    except (pa.ArrowException, TypeError) as error:  # such as numbers and text in one column
        raise DataError(f"the data frame cannot be read as a table: {' '.join(map(str, error.args))}") from None
    what = f"a list of {type(data[0]).__name__}" if isinstance(data, list | tuple) and data else type(data).__name__
    raise DataError(
        "a model of a table takes a path or several, a data frame, a table of pyarrow, a dict of columns or a list of "
        f"dicts, not {what}"
    )


def _is_column(values: Any) -> bool:
    return not isinstance(values, str) and hasattr(values, "__len__")


def _of_columns(columns: Mapping[Any, Any]) -> "pa.Table":
    """Return a table from columns by name."""
    import pyarrow as pa

    check_names(list(map(str, columns)), "the table")
    made: dict[str, Any] = {}
    for name, values in columns.items():
        if str(name) in made:
            raise DataError(f"the table has several columns called {str(name)!r}: give each a name of its own")
        if not _is_column(values):
            raise DataError(f"column {str(name)!r} must be a list of values, one per row, got {values!r:.60}")
        if hasattr(values, "to_arrow"):  # a column of polars
            values = values.to_arrow()
        try:
            made[str(name)] = values if isinstance(values, pa.ChunkedArray) else pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError) as error:
            if isinstance(error, UnicodeError) and (place := first_broken(list(values))) >= 0:
                raise broken(list(values)[place], f"column {str(name)!r} of the table has in row {place}") from None
            raise DataError(f"column {str(name)!r} cannot be read: {error}") from None
    lengths = {name: len(column) for name, column in made.items()}
    if len({*lengths.values()}) > 1:
        first, *others = lengths
        other = next(name for name in others if lengths[name] != lengths[first])
        raise DataError(
            f"column {first!r} has {lengths[first]:,} values and column {other!r} {lengths[other]:,}: give one per row"
        )
    return pa.table(made)


def _of_rows(rows: Sequence[Mapping[Any, Any]]) -> "pa.Table":
    """Return a table from rows, each a dict."""
    names = dict.fromkeys(name for row in rows for name in row)
    return _of_columns({name: [row.get(name) for row in rows] for name in names})
