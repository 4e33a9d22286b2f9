"""Separation by one column at a time, found from its smallest and largest values among the classes, at any size.

For an output, rows of t = 1 (or of its class) must not decrease, rows of t = 0 (or of other classes, or with a count of
0) must not increase, and all others must not move. Then no row loses by moving z by x_j - c if

    x_j <= c in all rows that must not increase    and    x_j >= c in all rows that must not decrease,

and likewise by c - x_j with the roles exchanged. Examples are a level whose rows are all of one class, or all have a
count of 0, and a number that is above c in one class only. Directions by which no row loses add up to another one.
"""

import numpy as np
from numpy.typing import NDArray

from linnet.fit.solvers.problem import Floats, Problem

Ends = tuple[Floats, Floats]  # smallest and largest values, outputs x columns


def intercept_alone(problem: Problem) -> Floats | None:
    """Return the direction along which the intercept separates: a class has no rows, or all rows are of one kind."""
    if not problem.intercept:
        return None
    counted = slice(None) if problem.rows.weights is None else problem.rows.weights > 0
    target = problem.rows.targets()[counted]
    if problem.rows.labels is not None:
        biases = -1.0 * (np.bincount(target, minlength=problem.outputs) == 0)
    else:
        ways = problem.head.recession_directions(target)
        assert ways is not None
        biases = 1.0 * (ways == 1).all(axis=0) - 1.0 * (ways == -1).all(axis=0)
    return problem.from_user(np.zeros((problem.columns.count, problem.outputs)), biases) if biases.any() else None


def one_column_each(problem: Problem, bare: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.intp]] | None:
    """Return the sum of the directions of all columns that separate, and their signs.

    `bare`: columns without a penalty. The signs, columns x outputs, are those by which each column moves each output:
    -1, 0 or 1.
    """
    (low, high), (low_other, high_other) = _classes(problem) if problem.rows.labels is not None else _values(problem)
    levels = slice(problem.columns.dense + problem.columns.sparse_columns, None)
    for ends in (low[:, levels], low_other[:, levels]):  # only a level's own rows move: other rows have another level
        ends[ends == 1] = 0
    rises = (high_other <= low) & (low_other < high)
    sinks = (high <= low_other) & (low < high_other)
    if not problem.intercept:  # c is zero then
        rises &= (high_other <= 0) & (low >= 0)
        sinks &= (high <= 0) & (low_other >= 0)
    ways = (rises.astype(np.intp) - sinks) * bare
    if not ways.any():
        return None
    each = np.where(ways != 0, np.maximum(high, high_other) - np.minimum(low, low_other), 1.0)
    each *= np.linspace(1, 2, len(bare))  # so that no two cancel each other
    weights = ways / each
    middle = np.where(rises, high_other, high) / 2 + np.where(rises, low, low_other) / 2
    biases = -(weights * np.where(ways != 0, middle, 0.0)).sum(axis=1)
    return problem.from_user(np.ascontiguousarray(weights.T), biases), ways.T


def _classes(problem: Problem) -> tuple[Ends, Ends]:
    """Return the smallest and largest values among the rows of each class, and among all other rows."""
    assert problem.rows.labels is not None
    group = problem.rows.labels.astype(np.intp)
    if problem.rows.weights is not None:
        group[problem.rows.weights == 0] = -1
    low, high = problem.table.ends(group, problem.outputs)
    return (low, high), (_least_of_others(low), -_least_of_others(-high))


def _least_of_others(low: Floats) -> Floats:
    two_smallest = np.partition(low, 1, axis=0)[:2]
    return np.asarray(np.where(low == two_smallest[0], two_smallest[1], two_smallest[0]))


def _values(problem: Problem) -> tuple[Ends, Ends]:
    """Return the smallest and largest values of rows that must not decrease, and of rows that must not increase.

    Each is outputs x columns.
    """
    assert problem.rows.values is not None
    extremes: list[list[Floats]] = [[], [], [], []]
    ways = problem.head.recession_directions(problem.rows.values)
    assert ways is not None
    for direction in ways.T:
        group = np.where(direction == -1, 0, np.where(direction == 1, 1, 2))  # 2: must not move
        if problem.rows.weights is not None:
            group[problem.rows.weights == 0] = -1
        low, high = problem.table.ends(group, 3)
        for ends, end in zip(
            extremes, (low[1:].min(0), high[1:].max(0), low[::2].min(0), high[::2].max(0)), strict=True
        ):
            ends.append(end)
    low, high, low_other, high_other = (np.stack(ends) for ends in extremes)
    return (low, high), (low_other, high_other)
