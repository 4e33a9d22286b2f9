"""Log-probabilities of binary classifiers, and probabilities that agree with the predicted class."""

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.evaluate.inputs import Floats

_WINNER_FACTOR = 1 + 2.0**-50  # by which a winner exceeds classes it is tied with


def log_sigmoid(z: Floats) -> Floats:
    """Return log(1 / (1 + e^-z)), accurate even where the probability underflows to 0."""
    return np.asarray(-np.logaddexp(0.0, -z))


def log_sigmoids(z: Floats) -> tuple[Floats, Floats]:
    """Return the log-sigmoids of z and of -z: the log-probabilities of the positive and the negative class."""
    rest = np.log1p(np.exp(-np.abs(z)))
    return np.minimum(z, 0) - rest, np.minimum(-z, 0) - rest


def softmax_rows(log_p: Floats) -> Floats:
    """Return e^log_p divided by its sum over each row."""
    return np.asarray(scipy.special.softmax(log_p, axis=1))


def with_winner(p: Floats, winner: NDArray[np.intp]) -> Floats:
    """Return the distributions nearest to p, in squared error, in which each row's winner is the most probable class.

    The winner gets v and all other classes min(p_k, v), where v - p_winner = Σ_k max(p_k - v, 0); a factor of 1 + 2^-50
    makes it the arg max. p may also hold scores if winners have scores above 0: sums and signs do not change.

    Parameters
    ----------
    p : array of shape (rows, classes)
        Probabilities or scores.
    winner : array of shape (rows,)
        The index of each row's predicted class.
    """
    wrong = np.flatnonzero(p.argmax(axis=1) != winner)
    if not len(wrong):
        return p
    p = p.copy()
    block, at_winner = p[wrong], (np.arange(len(wrong)), winner[wrong])
    own = block[at_winner]
    block[at_winner] = 0
    most, before = own, np.full_like(own, -1.0)
    while (
        most > before
    ).any():  # Newton's method for a piecewise linear equation: it ends, at the latest on the last piece
        over = block > most[:, None]
        following = (own + np.where(over, block, 0).sum(axis=1)) / (1 + over.sum(axis=1))
        before, most = most, np.maximum(most, following)  # v only rises; rounding might lower it among near ties
    block = np.minimum(block, before[:, None])
    block[at_winner] = before * _WINNER_FACTOR
    p[wrong] = block
    return p
