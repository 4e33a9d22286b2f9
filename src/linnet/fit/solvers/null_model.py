"""The null model, with biases and offsets but no columns: the start of fits, and their baseline."""

from dataclasses import replace

import numpy as np

from linnet._native import core
from linnet.data.columns import Columns
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.products import column_dots

_ROWS_PER_BLOCK = 1 << 14  # summed at a time
_MIN_RELATIVE_MEAN = 0.1  # initial mean of any row, relative to the targets' mean


def without_columns(problem: Problem) -> Problem:
    """Return the problem without columns and penalties."""
    empty = problem.with_rows(x=Columns(problem.columns.rows))
    return replace(empty, l2=None, l1=None, fixed=None, positive=False)


def constant_loss(problem: Problem, biases: Floats) -> float:
    """Return Σ_i w_i loss(z_i, t_i) of the model without columns, z = b + offset."""
    totals, head = problem.sums.targets, problem.head
    if totals.offset is not None or not head.linear_in_target:
        if problem.has_rows:  # without reading the table
            return without_columns(problem).at(biases, gradient=False).value
        return problem.sums.at(np.concatenate([np.zeros(problem.size - problem.outputs), biases]))[0]
    if head.coupled:
        classes = np.arange(problem.outputs, dtype=np.int32)
        losses = head.loss(np.tile(biases, (problem.outputs, 1)), classes)
        return core.dot(totals.target, losses)
    mean = totals.target / totals.weight  # for one z the loss is linear in t
    return float(totals.weight * head.loss(biases[None], mean[None])[0])


def null_biases(problem: Problem) -> Floats:
    """Return the best biases of the model without columns.

    With offsets they are approximate, unless rows in memory have a head with the log link.
    """
    totals, head = problem.sums.targets, problem.head
    if head.coupled:
        z = np.log(np.where(totals.target > 0, totals.target, 1e-3))
        return np.asarray(z - z.mean())
    if totals.offset is not None and head.log_link and problem.has_rows:
        return _with_exposure(problem)
    mean = head.link(totals.target / totals.weight)
    if totals.offset is None or totals.min_offset is None:
        return mean
    biases = np.asarray(mean - totals.offset / totals.weight)
    if head.positive_mean:  # whatever the offsets, no mean is 0 or less
        biases = np.maximum(biases, _MIN_RELATIVE_MEAN * mean - totals.min_offset)
    return biases


def _with_exposure(problem: Problem) -> Floats:
    """Return the best biases under a head with the log link and the variance mean^q.

    e^b = Σ w t e^((1-q) offset) / Σ w e^((2-q) offset)
    """
    values, weights, offset = problem.rows.values, problem.rows.weights, problem.rows.offset
    assert values is not None
    assert offset is not None
    if weights is not None:  # rows without weight may have any offset
        has_weight = weights > 0
        values, weights, offset = values[has_weight], weights[has_weight], offset[has_weight]
    q = problem.head.variance_power
    above = values if problem.sums.targets.target.any() else np.broadcast_to(1e-10, values.shape)
    below = np.broadcast_to(1.0, values.shape)
    return _log_sum(above, 1 - q, offset, weights) - _log_sum(below, 2 - q, offset, weights)


def _log_sum(values: Floats, factor: float, offset: Floats, weights: Floats | None) -> Floats:
    """Return log Σ_i w_i value_i e^(factor · offset_i) per output, without overflow."""
    if factor == 0:
        return np.asarray(np.log(values.sum(axis=0) if weights is None else column_dots(weights, values)))
    blocks = [slice(first, first + _ROWS_PER_BLOCK) for first in range(0, len(values), _ROWS_PER_BLOCK)]
    highest = [(factor * offset[block]).max(axis=0, where=values[block] > 0, initial=-np.inf) for block in blocks]
    top = np.max(highest, axis=0)
    total = np.zeros(values.shape[1])
    for block in blocks:
        each = values[block] * np.exp(np.minimum(factor * offset[block] - top, 0.0))
        total += each.sum(axis=0) if weights is None else column_dots(weights[block], each)
    return np.asarray(np.log(total) + top)
