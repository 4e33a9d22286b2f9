"""Probabilities and scores that agree with a decision."""

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.evaluate.inputs import Floats

_HAIR = 1 + 2.0**-50  # what a winner has more than those it is tied with


def log_yes(z: Floats) -> Floats:
    """log(1 / (1 + e^-z)), exact also where the probability itself is 0."""
    return np.asarray(-np.logaddexp(0.0, -z))


def log_yes_and_no(z: Floats) -> tuple[Floats, Floats]:
    """`log_yes` of z and of -z."""
    rest = np.log1p(np.exp(-np.abs(z)))
    return np.minimum(z, 0) - rest, np.minimum(-z, 0) - rest


def shares(log_p: Floats) -> Floats:
    """e^log_p over its sum, row by row."""
    return np.asarray(scipy.special.softmax(log_p, axis=1))


def with_winner(p: Floats, winner: NDArray[np.intp]) -> Floats:
    """The distribution nearest to p in which each row's winner has the largest probability.

    Nearest in squares: the winner gets v and all others keep min(p_k, v), where v - p_winner = Σ_k max(p_k - v, 0). The
    winner keeps a hair more, so that it is the arg max. p may be scores, too, if winners have scores above 0: their sum
    and their signs stay what they were.
    """
    wrong = np.flatnonzero(p.argmax(axis=1) != winner)
    if not len(wrong):
        return p
    p = p.copy()
    some, place = p[wrong], (np.arange(len(wrong)), winner[wrong])
    own = some[place]
    some[place] = 0
    most, before = own, np.full_like(own, -1.0)
    while (most > before).any():  # Newton's method, which ends after as many rounds as there are pieces, or sooner
        over = some > most[:, None]
        following = (own + np.where(over, some, 0).sum(axis=1)) / (1 + over.sum(axis=1))
        before, most = most, np.maximum(most, following)  # it only rises: among near ties rounding may take it back
    some = np.minimum(some, before[:, None])
    some[place] = before * _HAIR
    p[wrong] = some
    return p
