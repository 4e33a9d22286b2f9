"""Binary trees over classes: which are told apart first."""

import heapq
from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.errors import ConfigError
from linnet.evaluate.inputs import Floats

_DEEPEST = 500
Tree = Any  # the number of a class, or a pair of trees


def balanced(classes: NDArray[np.intp]) -> Tree:
    """Halves of the classes in their order."""
    if len(classes) == 1:
        return int(classes[0])
    half = (len(classes) + 1) // 2
    return balanced(classes[:half]), balanced(classes[half:])


def huffman(weights: Floats) -> Tree:
    """Huffman's tree: the two lightest subtrees are joined until one is left, so that on average rows take the fewest
    steps.
    """
    heap: list[tuple[float, int, Tree]] = [(float(weight), place, place) for place, weight in enumerate(weights)]
    heapq.heapify(heap)
    following = len(heap)
    while len(heap) > 1:
        light, _, left = heapq.heappop(heap)
        heavy, _, right = heapq.heappop(heap)
        heapq.heappush(heap, (light + heavy, following, (left, right)))
        following += 1
    return heap[0][2]


def spectral(likeness: Floats, classes: NDArray[np.intp] | None = None) -> Tree:
    """Recursive spectral splits of a symmetric matrix of how alike two classes are.

    Classes are put in the order of the second eigenvector of D^-1/2 A D^-1/2 and cut where the normalised cut, what is
    between the parts over what each part has in all, is least; no part has less than a quarter of the classes, so that
    a tree of K leaves is no deeper than log K / log(4/3).
    """
    if classes is None:
        classes = np.arange(len(likeness))
    count = len(classes)
    if count <= 2:
        return int(classes[0]) if count == 1 else (int(classes[0]), int(classes[1]))
    a = likeness[np.ix_(classes, classes)]
    a = a + (a.mean() or 1.0) * 1e-6  # classes that are like no other still have a place
    scale = 1 / np.sqrt(a.sum(axis=1))
    _, vectors = scipy.linalg.eigh(a * scale * scale[:, None], subset_by_index=[count - 2, count - 1])
    second = vectors[:, 0] * scale
    second = second if second[np.abs(second).argmax()] > 0 else -second  # of the two signs always the same one
    order = np.argsort(second, kind="stable")
    a = a[np.ix_(order, order)]
    total, inside = a.sum(axis=1).cumsum(), np.array([a[: k + 1, : k + 1].sum() for k in range(count)])
    left, between = total[:-1], (total - inside)[:-1]
    cut = between / left + between / np.maximum(total[-1] - left, 1e-300)
    least = max(1, count // 4)
    place = least + int(cut[least - 1 : count - least].argmin())
    return spectral(likeness, classes[order[:place]]), spectral(likeness, classes[order[place:]])


def given(tree: Any, classes: list[Any]) -> Tree:
    """A user's tree of classes, as pairs of pairs, in their numbers."""
    places = {name: place for place, name in enumerate(classes)}
    seen: list[Any] = []

    def walk(part: Any, depth: int = 0) -> Tree:
        if isinstance(part, tuple | list | np.ndarray):
            if len(part) != 2:
                raise ConfigError(f"tree must be pairs of pairs, with classes at the ends, got {part!r} in it")
            if depth == _DEEPEST:
                raise ConfigError(f"tree has more than {_DEEPEST} levels: let pairs have pairs on both sides")
            return walk(part[0], depth + 1), walk(part[1], depth + 1)
        if not isinstance(part, Hashable) or part not in places:
            raise ConfigError(f"tree has {part!r}, which is not a class: choose from {classes}")
        seen.append(part)
        return places[part]

    found = walk(tree)
    if len(seen) != len(classes) or len({*seen}) != len(seen):
        lost = [name for name in classes if name not in seen]
        what = f"lacks {lost}" if lost else f"has {next(name for name in seen if seen.count(name) > 1)!r} twice"
        raise ConfigError(f"tree {what}: every class has one place")
    return found


def as_arrays(tree: Tree, classes: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Nodes x (left, right), the root first and levels one after the other, a leaf being -1 - its class; and the
    classes from left to right.
    """
    children = np.zeros((classes - 1, 2), np.int32)
    level, used = [tree] if classes > 1 else [], 1
    node = 0
    while level:
        following = []
        for pair in level:
            for side in (0, 1):
                if isinstance(pair[side], tuple):
                    children[node, side] = used
                    used += 1
                    following.append(pair[side])
                else:
                    children[node, side] = -1 - pair[side]
            node += 1
        level = following
    leaves: list[int] = []
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += [part[1], part[0]]
        else:
            leaves.append(part)
    return children, np.array(leaves, np.int32)


def node_codes(children: NDArray[np.int32], classes: int) -> NDArray[np.int8]:
    """Classes x nodes: -1 left of the node, +1 right of it, 0 elsewhere."""
    codes = np.zeros((classes, len(children)), np.int8)
    for node in range(len(children) - 1, -1, -1):  # those below a node come after it
        for side, child in enumerate(children[node]):
            below = codes[:, child] != 0 if child >= 0 else np.arange(classes) == -1 - child
            codes[below, node] = 2 * side - 1
    return codes
