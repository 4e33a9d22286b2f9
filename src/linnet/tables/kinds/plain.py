"""Plain numeric columns, whose facts are computed for many columns at once: a table may have 100,000 of them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from linnet.data.runs import Run
from linnet.tables.kinds.number import Numbers
from linnet.tables.kinds.raw import EXAMPLES, HEAD, RawColumn

_LOOKED_AT = 16  # numbers that most often have enough different ones


class PlainNumbers(RawColumn):
    """A column of numbers with all of its facts known."""

    def __init__(self, name: str, values: pa.ChunkedArray, target: bool, numbers: Numbers, distinct: int) -> None:
        super().__init__(name, values, target)
        known: dict[str, Any] = {"numbers": numbers, "missing": self.rows - numbers.count, "counted": (distinct, False)}
        self.__dict__.update(known, dates=None, is_text=False)  # in place of what would be computed


def raw_columns(run: Run, target: str | None) -> Iterator[RawColumn]:
    """The columns of a run, whose kind is to be found."""
    values = run.matrix
    rows = values.shape[1]
    known = rows - np.count_nonzero(np.isnan(values), axis=1) if run.is_float else np.full(len(run), rows)
    ordered = np.sort(values, axis=1)  # NaN last, each of which differs from what is before it
    differing = np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    distinct = np.where(known > 0, differing - (rows - known) + 1, 0)
    whole, infinite = np.ones(len(run), np.bool_), np.zeros(len(run), np.intp)
    if run.is_float:
        infinite = np.count_nonzero(np.isinf(values), axis=1)
        with np.errstate(invalid="ignore"):
            whole = (np.count_nonzero(values == np.floor(values), axis=1) == known) & (infinite == 0)
    rising = (values[:, 1:] > values[:, :-1]).all(axis=1)
    facts = zip(*(each.tolist() for each in (known, infinite, whole, rising, distinct)), strict=True)
    both = zip(run.columns.column_names, run.columns.itercolumns(), strict=True)
    for place, ((name, column), (count, inf, is_whole, rises, different)) in enumerate(zip(both, facts, strict=True)):
        if is_whole and count < rows:
            of_known = _known(values[place])
            rises = bool((of_known[1:] > of_known[:-1]).all())
        raw = PlainNumbers(name, column, name == target, Numbers(count, inf, is_whole, is_whole and rises), different)
        raw.examples = _examples(values[place], count == rows)
        yield raw


def _known(values: NDArray[Any]) -> NDArray[Any]:
    found: NDArray[Any] = values[~np.isnan(values)]
    return found


def _examples(values: NDArray[Any], all_known: bool) -> tuple[str, ...]:
    known = values if all_known else _known(values)
    for most in (_LOOKED_AT, HEAD):
        few = [*dict.fromkeys(known[:most].tolist())][:EXAMPLES]
        if len(few) == EXAMPLES or len(known) <= most:
            break
    return tuple(map(str, few))
