"""Probabilities that agree with a decision."""

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.evaluate.inputs import Floats

_HAIR = 1 + 2.0**-50  # what a winner has more than those it is tied with


def log_yes(z: Floats) -> Floats:
    """log(1 / (1 + e^-z)), exact also where the probability itself is 0."""
    return np.asarray(-np.logaddexp(0.0, -z))


def shares(log_p: Floats) -> Floats:
    """e^log_p over its sum, row by row."""
    return np.asarray(scipy.special.softmax(log_p, axis=1))


def with_winner(p: Floats, winner: NDArray[np.intp]) -> Floats:
    """The distribution nearest to p in which each row's winner has the largest probability.

    Nearest in squares: the winner and those that exceed it share what they have together. The winner keeps a hair more,
    so that it is the arg max.
    """
    wrong = np.flatnonzero(p.argmax(axis=1) != winner)
    if not len(wrong):
        return p
    p = p.copy()
    some, won = p[wrong], winner[wrong]
    rows, count = np.arange(len(wrong)), p.shape[1]
    own = some[rows, won]
    some[rows, won] = -1.0  # behind all others
    order = np.argsort(-some, axis=1, kind="stable")
    ranked = np.take_along_axis(some, order, axis=1)[:, : count - 1]
    with_all_before = own[:, None] + np.cumsum(ranked, axis=1) - ranked
    pooled = (ranked >= with_all_before / np.arange(1, count)).cumprod(axis=1).sum(axis=1)  # how many share
    total = own + np.where(np.arange(count - 1) < pooled[:, None], ranked, 0.0).sum(axis=1)
    each = total / (pooled + 1)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(count)[None], axis=1)
    some = np.where(place < pooled[:, None], each[:, None], some)
    some[rows, won] = each * _HAIR
    p[wrong] = some
    return p
