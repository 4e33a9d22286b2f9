"""Which rows each binary problem of a reduction is trained on, as a table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAX_ROWS, _MAX_PROBLEMS = 30, 20  # shown


@dataclass(frozen=True, slots=True, eq=False)
class BinaryProblems:
    """The rows of each binary problem; print it for a table with + for positive rows, - for negative ones.

    Parameters
    ----------
    targets : array of shape (rows,) or (rows, labels)
        The class of each row.
    names : tuple of str
        The name of each problem: for one-vs-one the two classes, of which the second is positive.
    signs : array of shape (rows, problems)
        +1 for a positive row of a problem, -1 for a negative one, 0 for a row that it leaves out.
    """

    targets: NDArray[Any]
    names: tuple[str, ...]
    signs: NDArray[np.int8]

    def rows(self, problem: int) -> NDArray[np.intp]:
        """Return the rows that a problem is trained on.

        Parameters
        ----------
        problem : int
            Its number, from 0.

        Returns
        -------
        array of int
            The numbers of the rows, from 0.
        """
        return np.flatnonzero(self.signs[:, problem])

    def __str__(self) -> str:
        names = self.names[:_MAX_PROBLEMS]
        targets = [_text(target) for target in self.targets[:_MAX_ROWS].tolist()]
        rows = [["row", "class", *names]]
        rows += [
            [str(number), target, *("-+"[sign > 0] if sign else "" for sign in signs[:_MAX_PROBLEMS])]
            for number, (target, signs) in enumerate(zip(targets, self.signs.tolist(), strict=False), 1)
        ]
        rows.append(["", "rows", *map(str, np.count_nonzero(self.signs, axis=0)[:_MAX_PROBLEMS])])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(f"{cell:^{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        if len(self.targets) > _MAX_ROWS:
            lines.insert(-1, f"... {len(self.targets) - _MAX_ROWS} more rows")
        if len(self.names) > _MAX_PROBLEMS:
            lines.append(f"... and {len(self.names) - _MAX_PROBLEMS} more problems")
        return "\n".join(lines)


def _text(target: Any) -> str:
    return ", ".join(map(str, target)) if isinstance(target, list) else str(target)
