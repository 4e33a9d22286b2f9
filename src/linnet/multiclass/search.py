"""Best-first search for the most probable leaves of a label tree, which skips subtrees that cannot contain one."""

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.evaluate.inputs import Floats

Evaluate = Callable[[NDArray[np.int64], NDArray[np.int32]], Floats]  # log-odds of going right, for (row, node) pairs


def best_leaves(
    children: NDArray[np.int32], evaluate: Evaluate, rows: int, count: int
) -> tuple[NDArray[np.intp], Floats, int]:
    """Return the classes of each row's `count` most probable leaves, their probabilities and the number of evaluations.

    P(leaf) is the product of the probabilities on its path, so no leaf is more probable than a node above it. Each row
    first descends to the more probable child at each node; then, while a node it has skipped is at least as probable as
    the last of its best leaves, it descends from the most probable such node. Equally probable leaves are ordered by
    class.
    """
    best_p = np.full((rows, count), -1.0)
    best_class = np.full((rows, count), np.iinfo(np.int32).max, np.intp)
    row, node, p = np.arange(rows), np.zeros(rows, np.int32), np.ones(rows)
    skipped_row, skipped_node, skipped_p = row[:0], node[:0], p[:0]
    evaluations = 0
    while len(row):
        while len(row):  # one level down, for all rows at once
            evaluations += len(row)
            z = evaluate(row, node)
            both = np.stack([p * scipy.special.expit(-z), p * scipy.special.expit(z)], axis=1)
            better = (both[:, 1] > both[:, 0]).astype(np.intp)
            index = np.arange(len(row))
            for side, descends in ((better, True), (1 - better, False)):
                child, p_child = children[node, side], both[index, side]
                leaf = child < 0
                _insert(best_p, best_class, row[leaf], -1 - child[leaf], p_child[leaf])
                if descends:
                    down = row[~leaf], child[~leaf], p_child[~leaf]
                else:
                    skipped_row = np.concatenate([skipped_row, row[~leaf]])
                    skipped_node = np.concatenate([skipped_node, child[~leaf]])
                    skipped_p = np.concatenate([skipped_p, p_child[~leaf]])
            row, node, p = down
            open_ = p >= best_p[row, -1]
            row, node, p = row[open_], node[open_], p[open_]
        open_ = skipped_p >= best_p[skipped_row, -1]
        skipped_row, skipped_node, skipped_p = skipped_row[open_], skipped_node[open_], skipped_p[open_]
        order = np.lexsort([-skipped_p, skipped_row])
        skipped_row, skipped_node, skipped_p = skipped_row[order], skipped_node[order], skipped_p[order]
        first = np.append(True, skipped_row[1:] != skipped_row[:-1])[: len(skipped_row)]
        row, node, p = skipped_row[first], skipped_node[first], skipped_p[first]
        skipped_row, skipped_node, skipped_p = skipped_row[~first], skipped_node[~first], skipped_p[~first]
    return best_class, best_p, evaluations


def _insert(
    best_p: Floats, best_class: NDArray[np.intp], row: NDArray[np.intp], label: NDArray[np.int32], p: Floats
) -> None:
    """Insert leaves, at most one per row, into the sorted lists of each row's best leaves."""
    if not len(row):
        return
    all_p = np.concatenate([best_p[row], p[:, None]], axis=1)
    all_labels = np.concatenate([best_class[row], label[:, None].astype(np.intp)], axis=1)
    order = np.lexsort([all_labels, -all_p], axis=1)[:, :-1]
    best_p[row] = np.take_along_axis(all_p, order, axis=1)
    best_class[row] = np.take_along_axis(all_labels, order, axis=1)
