"""The levels of a data frame's column of text or categories, and the code of each row's level."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet.data.columns import Codes, code_type
from linnet.data.frames import categories_of, not_usable, slices_of
from linnet.registry import need, saved
from linnet.texts import Texts

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

_LEVEL = str | bool | int | float | np.generic | None


@saved
@dataclass(frozen=True, slots=True)
class Level:
    """The levels of one column of a data frame, in the order of their codes; None stands for missing values."""

    column: str
    values: tuple[Any, ...]

    def _check_file(self) -> None:
        if isinstance(self.values, Texts):  # used for very many levels, for which a set would take far more memory
            need(self.values.are_distinct(), self, "values")
            return
        need(all(isinstance(value, _LEVEL) for value in self.values), self, "values")
        need(len({*self.values}) == len(self.values) > 0, self, "values")

    def codes_of(self, wanted: Iterable[Any]) -> dict[Any, int]:
        """Return the codes of levels by value; if there are very many, only those of the wanted values."""
        if not isinstance(self.values, Texts):
            return {value: code for code, value in enumerate(self.values)}
        selected = {*wanted}
        return {value: code for code, value in enumerate(self.values) if value in selected}

    def codes_in(self, series: "nw.Series[Any]", name: str) -> Codes:
        """Return the code of each row's level, -1 for an unknown level; `name`: of the table, for errors."""
        kind = code_type(len(self.values))
        if (categories := categories_of(series)) is not None:
            values, own_codes = categories
            by_value = self.codes_of((*values, None))
            code_of = np.array([by_value.get(value, -1) for value in (*values, None)], kind)
            unchanged = np.array_equal(code_of, [*range(len(values)), -1]) and code_of.dtype == own_codes.dtype
            codes: Codes = np.ascontiguousarray(own_codes) if unchanged else np.empty_like(own_codes, code_of.dtype)
            for block in () if unchanged else slices_of(len(own_codes)):
                codes[block] = code_of[own_codes[block]]  # missing values have the code -1: the last entry
            return codes
        codes = np.full(len(series), self.codes_of([None]).get(None, -1), kind)
        present = series.drop_nulls()
        if len(present):
            codes[~series.is_null().to_numpy()] = self._codes_of_present(present, name)
        return codes

    def _codes_of_present(self, series: "nw.Series[Any]", name: str) -> Codes:
        import narwhals.stable.v2 as nw  # loaded by now

        if series.dtype.is_nested():
            raise not_usable(series, name)
        try:
            present = series.unique().to_list()
            by_value = self.codes_of(present)
            codes = [by_value.get(value, -1) for value in present]
        except TypeError:
            raise not_usable(series, name) from None
        # there are few distinct values, which each library replaces quickly in its own way
        by_row: Codes = series.replace_strict(present, codes, return_dtype=nw.Int32).to_numpy()
        return by_row
