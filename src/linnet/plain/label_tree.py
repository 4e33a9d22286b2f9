"""A tree over classes: K - 1 binary classifiers, each of which separates the classes left and right of its node.

A tree is the index of a class, or a pair of trees: ((0, 1), (2, 3)). A prediction takes about log2 K decisions. A
binary learner is any function learn(x, t) with t = 0 or 1 that returns a score function: the log-odds of 1 (right).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Score = Callable[[Array], Array]
Learner = Callable[[Array, Array], Score]
Tree = Any  # the index of a class, or (left, right)


def balanced(classes: list[int]) -> Tree:
    """Halve the classes, and the halves again."""
    half = (len(classes) + 1) // 2
    return classes[0] if len(classes) == 1 else (balanced(classes[:half]), balanced(classes[half:]))


def leaves(tree: Tree) -> list[int]:
    """Return the classes of a tree, from left to right."""
    return [tree] if not isinstance(tree, tuple) else leaves(tree[0]) + leaves(tree[1])


def fit(learn: Learner, x: Array, t: Array, tree: Tree) -> Tree:
    """Return the same tree with a score function at each node: (score, left, right)."""
    if not isinstance(tree, tuple):
        return tree
    left, right = tree
    rows = np.isin(t, leaves(tree))
    score = learn(x[rows], np.isin(t[rows], leaves(right)).astype(float))
    return score, fit(learn, x, t, left), fit(learn, x, t, right)


def probabilities(fitted: Tree, x: Array, K: int) -> Array:
    """Return rows x classes: the product of the probabilities on the path to each leaf."""
    if not isinstance(fitted, tuple):
        return np.tile(np.eye(K)[fitted], (len(x), 1))
    score, left, right = fitted
    p = np.exp(-np.logaddexp(0, -score(x)))[:, None]  # sigma, of going right
    return (1 - p) * probabilities(left, x, K) + p * probabilities(right, x, K)


def walk(fitted: Tree, x: Array) -> Array:
    """Descend from the root to the more probable side at each node: a decision per level, usually to the best leaf."""
    if not isinstance(fitted, tuple):
        return np.full(len(x), fitted)
    score, left, right = fitted
    return np.where(score(x) > 0, walk(right, x), walk(left, x))
