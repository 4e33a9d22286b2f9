"""The most probable leaves of a tree, best first: subtrees that cannot hold one are not looked at."""

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.evaluate.inputs import Floats

Evaluate = Callable[[NDArray[np.int64], NDArray[np.int32]], Floats]  # log-odds of right for pairs of a row and a node


def best_leaves(
    children: NDArray[np.int32], evaluate: Evaluate, rows: int, count: int
) -> tuple[NDArray[np.intp], Floats, int]:
    """The classes of each row's `count` most probable leaves, their probabilities, and how many nodes were asked.

    P(leaf) is the product of the probabilities on its way, and no leaf is more probable than a node above it. Every row
    first goes down where it is more probable; then, as long as it has passed by a node that is as probable as the worst
    of the leaves it has found, down from the most probable such node. Leaves that are equally probable count in the
    order of their classes.
    """
    found, of = np.full((rows, count), -1.0), np.full((rows, count), np.iinfo(np.int32).max, np.intp)
    row, node, p = np.arange(rows), np.zeros(rows, np.int32), np.ones(rows)
    passed_row, passed_node, passed_p = row[:0], node[:0], p[:0]
    asked = 0
    while len(row):
        while len(row):  # down from all of them at once
            asked += len(row)
            z = evaluate(row, node)
            both = np.stack([p * scipy.special.expit(-z), p * scipy.special.expit(z)], axis=1)
            side = (both[:, 1] > both[:, 0]).astype(np.intp)
            here = np.arange(len(row))
            for chosen, way in ((side, True), (1 - side, False)):
                child, reached = children[node, chosen], both[here, chosen]
                ends = child < 0
                _keep(found, of, row[ends], -1 - child[ends], reached[ends])
                if way:
                    down = row[~ends], child[~ends], reached[~ends]
                else:
                    passed_row = np.concatenate([passed_row, row[~ends]])
                    passed_node = np.concatenate([passed_node, child[~ends]])
                    passed_p = np.concatenate([passed_p, reached[~ends]])
            row, node, p = down
            hopes = p >= found[row, -1]
            row, node, p = row[hopes], node[hopes], p[hopes]
        hopes = passed_p >= found[passed_row, -1]
        order = np.lexsort([-passed_p[hopes], passed_row[hopes]])
        passed_row, passed_node, passed_p = passed_row[hopes][order], passed_node[hopes][order], passed_p[hopes][order]
        first = np.append(True, passed_row[1:] != passed_row[:-1])[: len(passed_row)]
        row, node, p = passed_row[first], passed_node[first], passed_p[first]
        passed_row, passed_node, passed_p = passed_row[~first], passed_node[~first], passed_p[~first]
    return of, found, asked


def _keep(found: Floats, of: NDArray[np.intp], row: NDArray[np.intp], label: NDArray[np.int32], p: Floats) -> None:
    """Put leaves, no more than one a row, where they belong among those found."""
    if not len(row):
        return
    all_p = np.concatenate([found[row], p[:, None]], axis=1)
    all_labels = np.concatenate([of[row], label[:, None].astype(np.intp)], axis=1)
    order = np.lexsort([all_labels, -all_p], axis=1)[:, :-1]
    found[row] = np.take_along_axis(all_p, order, axis=1)
    of[row] = np.take_along_axis(all_labels, order, axis=1)
