"""The model without columns, which knows biases and offsets only: where fits start, and what they are compared with."""

from dataclasses import replace

import numpy as np

from linnet._native import core
from linnet.data.columns import Columns
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.products import column_dots

_COUNTED_ROWS, _SUMMED_ROWS = 1 << 20, 1 << 14  # at a time
_MIN_RELATIVE_MEAN = 0.1  # of the targets' mean: the smallest mean of a row that a fit starts with


def without_columns(problem: Problem) -> Problem:
    """The problem without columns and penalties."""
    return replace(problem, columns=Columns(problem.columns.rows), l2=None, l1=None, fixed=None, positive=False)


def constant_loss(problem: Problem, biases: Floats) -> float:
    """Σ_i w_i loss(z_i, t_i) of the model without columns, z = b + offset."""
    if problem.offset is not None or not problem.head.straight_in_target:
        return without_columns(problem).at(biases, gradient=False).value
    if problem.labels is not None:
        classes = np.arange(problem.outputs, dtype=np.int32)
        losses = problem.head.loss(np.tile(biases, (problem.outputs, 1)), classes)
        return core.dot(class_weight_sums(problem), losses)
    assert problem.values is not None  # for one z the loss is linear in t
    mean = np.average(problem.values, axis=0, weights=problem.weights)
    total = problem.columns.rows if problem.weights is None else problem.weights.sum()
    return float(total * problem.head.loss(biases[None], mean[None])[0])


def class_weight_sums(problem: Problem) -> Floats:
    """The sum of row weights of each class."""
    assert problem.labels is not None
    total = np.zeros(problem.outputs)
    for first in range(0, problem.columns.rows, _COUNTED_ROWS):  # in parts: counting makes a copy of the labels
        part = slice(first, first + _COUNTED_ROWS)
        weights = None if problem.weights is None else problem.weights[part]
        total += np.bincount(problem.labels[part], weights, problem.outputs)
    return total


def null_biases(problem: Problem) -> Floats:
    """The best biases of the model without columns; with offsets and a head without the log link, approximately.

    With the log link and the variance mean^q, e^b = Σ w t e^((1-q) offset) / Σ w e^((2-q) offset).
    """
    weights = problem.weights
    if problem.labels is not None:
        shares = class_weight_sums(problem)
        z = np.log(np.where(shares > 0, shares, 1e-3))
        return np.asarray(z - z.mean())
    assert problem.values is not None
    values, offset = problem.values, problem.offset
    if weights is not None:  # rows without weight may have any offset
        kept = weights > 0
        values, weights = values[kept], weights[kept]
        offset = None if offset is None else offset[kept]
    mean = np.average(values, axis=0, weights=weights)
    if problem.head.log_link and offset is not None:
        q = problem.head.variance_power
        above = values if mean.any() else np.broadcast_to(1e-10, values.shape)
        below = np.broadcast_to(1.0, values.shape)
        return _log_sum(above, 1 - q, offset, weights) - _log_sum(below, 2 - q, offset, weights)
    mean = problem.head.link(mean)
    if offset is None:
        return mean
    biases = np.asarray(mean - np.average(offset, axis=0, weights=weights))
    if problem.head.positive_mean:  # whatever the offsets, no mean is 0 or less
        biases = np.maximum(biases, _MIN_RELATIVE_MEAN * mean - offset.min(axis=0))
    return biases


def _log_sum(values: Floats, factor: float, offset: Floats, weights: Floats | None) -> Floats:
    """log Σ_i w_i value_i e^(factor · offset_i) per output, without overflow."""
    if factor == 0:
        return np.asarray(np.log(values.sum(axis=0) if weights is None else column_dots(weights, values)))
    parts = [slice(first, first + _SUMMED_ROWS) for first in range(0, len(values), _SUMMED_ROWS)]
    highest = [(factor * offset[part]).max(axis=0, where=values[part] > 0, initial=-np.inf) for part in parts]
    top = np.max(highest, axis=0)
    total = np.zeros(values.shape[1])
    for part in parts:
        each = values[part] * np.exp(np.minimum(factor * offset[part] - top, 0.0))
        total += each.sum(axis=0) if weights is None else column_dots(weights[part], each)
    return np.asarray(np.log(total) + top)
