"""Binary trees over classes, which decide the order in which a label tree separates them."""

import heapq
from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.errors import ConfigError
from linnet.evaluate.inputs import Floats

_MAX_LEVELS = 500
Tree = Any  # the index of a class, or a pair of trees


def balanced(classes: NDArray[np.intp]) -> Tree:
    """Return the tree that halves the classes in their order."""
    if len(classes) == 1:
        return int(classes[0])
    half = (len(classes) + 1) // 2
    return balanced(classes[:half]), balanced(classes[half:])


def huffman(weights: Floats) -> Tree:
    """Return the Huffman tree, which minimises the mean depth of rows: it joins the two lightest subtrees in turn."""
    heap: list[tuple[float, int, Tree]] = [(float(weight), index, index) for index, weight in enumerate(weights)]
    heapq.heapify(heap)
    next_index = len(heap)  # breaks ties of weight
    while len(heap) > 1:
        light, _, left = heapq.heappop(heap)
        heavy, _, right = heapq.heappop(heap)
        heapq.heappush(heap, (light + heavy, next_index, (left, right)))
        next_index += 1
    return heap[0][2]


def spectral(similarity: Floats, classes: NDArray[np.intp] | None = None) -> Tree:
    """Return the tree of recursive spectral splits of a symmetric similarity matrix A of the classes.

    Classes are sorted by the second eigenvector of D^-1/2 A D^-1/2 (D: the row sums) and split where the normalised cut
    is smallest: the similarity between the two sides, divided by the total similarity of each side. Each side has at
    least a quarter of the classes, so a tree of K leaves is no deeper than log K / log(4/3).
    """
    if classes is None:
        classes = np.arange(len(similarity))
    count = len(classes)
    if count <= 2:
        return int(classes[0]) if count == 1 else (int(classes[0]), int(classes[1]))
    a = similarity[np.ix_(classes, classes)]
    a = a + (a.mean() or 1.0) * 1e-6  # row sums stay above 0 for classes that are similar to no other
    scale = 1 / np.sqrt(a.sum(axis=1))
    _, vectors = scipy.linalg.eigh(a * scale * scale[:, None], subset_by_index=[count - 2, count - 1])
    second = vectors[:, 0] * scale
    second = second if second[np.abs(second).argmax()] > 0 else -second  # eigenvectors have no sign of their own
    order = np.argsort(second, kind="stable")
    a = a[np.ix_(order, order)]
    total, inside = a.sum(axis=1).cumsum(), np.array([a[: k + 1, : k + 1].sum() for k in range(count)])
    left, between = total[:-1], (total - inside)[:-1]
    cut = between / left + between / np.maximum(total[-1] - left, 1e-300)
    min_size = max(1, count // 4)
    size = min_size + int(cut[min_size - 1 : count - min_size].argmin())
    return spectral(similarity, classes[order[:size]]), spectral(similarity, classes[order[size:]])


def from_user(tree: Any, classes: list[Any]) -> Tree:
    """Return a user's tree, nested pairs of classes, as nested pairs of class indices."""
    indices = {name: index for index, name in enumerate(classes)}
    seen: list[Any] = []

    def convert(subtree: Any, depth: int = 0) -> Tree:
        if isinstance(subtree, tuple | list) or (isinstance(subtree, np.ndarray) and subtree.ndim):
            if len(subtree) != 2:
                raise ConfigError(f"tree must consist of nested pairs of classes, got {subtree!r} in it")
            if depth == _MAX_LEVELS:
                raise ConfigError(
                    f"tree has more than {_MAX_LEVELS} levels: nest pairs on both sides to make it flatter"
                )
            return convert(subtree[0], depth + 1), convert(subtree[1], depth + 1)
        if not isinstance(subtree, Hashable) or subtree not in indices:
            raise ConfigError(f"tree contains {subtree!r}, which is not a class: choose from {classes}")
        seen.append(subtree)
        return indices[subtree]

    converted = convert(tree)
    if len(seen) != len(classes) or len({*seen}) != len(seen):
        missing = [name for name in classes if name not in seen]
        problem = (
            f"lacks {missing}" if missing else f"contains {next(name for name in seen if seen.count(name) > 1)!r} twice"
        )
        raise ConfigError(f"tree {problem}: every class must appear exactly once")
    return converted


def as_arrays(tree: Tree, classes: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the children of each node and the classes from left to right.

    Children are nodes x (left, right) in breadth-first order, the root first; -1 - k stands for the leaf of class k.
    """
    children = np.zeros((classes - 1, 2), np.int32)
    level, next_node = [tree] if classes > 1 else [], 1
    node = 0
    while level:
        next_level = []
        for pair in level:
            for side in (0, 1):
                if isinstance(pair[side], tuple):
                    children[node, side] = next_node
                    next_node += 1
                    next_level.append(pair[side])
                else:
                    children[node, side] = -1 - pair[side]
            node += 1
        level = next_level
    leaves: list[int] = []
    stack = [tree]
    while stack:
        subtree = stack.pop()
        if isinstance(subtree, tuple):
            stack += [subtree[1], subtree[0]]
        else:
            leaves.append(subtree)
    return children, np.array(leaves, np.int32)


def node_codes(children: NDArray[np.int32], classes: int) -> NDArray[np.int8]:
    """Return a code matrix, classes x nodes: -1 for classes left of the node, +1 right of it, 0 elsewhere."""
    codes = np.zeros((classes, len(children)), np.int8)
    for node in range(len(children) - 1, -1, -1):  # children have higher indices than their parents
        for side, child in enumerate(children[node]):
            below = codes[:, child] != 0 if child >= 0 else np.arange(classes) == -1 - child
            codes[below, node] = 2 * side - 1
    return codes
