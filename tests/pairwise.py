"""Part of a product of parameters, in which every pair of values still meets.

A test with the mark `pairwise` states that its parameters act on the program two at a time at most: of all combinations
of head, shape, type and weights, a subset runs in which each head meets each shape, each shape each type, and so on.
`@pytest.mark.pairwise(apart="head optimizer")` states in addition that those two act independently, so that each of
their values must only run with each value of the others. LINNET_ALL=1 (`make test-all`) runs every combination.
"""

import heapq
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from random import Random

import pytest

Pair = tuple[tuple[str, Hashable], ...]


def subset(cases: Sequence[Mapping[str, Hashable]], apart: Sequence[str] = ()) -> list[int]:
    """Return the indices of cases, in order, that have every pair of values that some case has.

    `apart` names parameters whose values need not meet each other.
    """
    pairs = [_pairs(case, frozenset(apart)) for case in cases]
    missing: set[Pair] = set().union(*pairs)
    order = Random(len(cases)).sample(range(len(cases)), len(cases))  # so that no value is preferred
    queue = [(-len(each), turn, index) for turn, index, each in zip(order, range(len(cases)), pairs, strict=True)]
    heapq.heapify(queue)
    chosen = []
    while missing:  # what a case would add can only fall: the first whose number is up to date adds most
        count, turn, index = heapq.heappop(queue)
        adds = len(pairs[index] & missing)
        if adds == -count:
            chosen.append(index)
            missing -= pairs[index]
        elif adds:
            heapq.heappush(queue, (-adds, turn, index))
    return sorted(chosen)


def _pairs(case: Mapping[str, Hashable], apart: frozenset[str]) -> set[Pair]:
    values = sorted(case.items())
    single: set[Pair] = {(value,) for value in values}
    return single | {pair for pair in combinations(values, 2) if not {name for name, _ in pair} <= apart}


def thin_out(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the tests to run and those to leave out, both in order."""
    families: dict[tuple[object, ...], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("pairwise") and hasattr(item, "callspec"):
            families[item.path, item.parent, getattr(item, "originalname", item.name)].append(item)
    left_out = set()
    for family in families.values():
        mark = family[0].get_closest_marker("pairwise")
        assert mark is not None
        # one object per value, whatever it is: some have no order and no hash
        cases = [{k: id(value) for k, value in item.callspec.params.items()} for item in family]  # type: ignore[attr-defined]
        unknown = set(mark.kwargs.get("apart", "").split()) - set(cases[0])
        if unknown:
            raise pytest.UsageError(f"{family[0].nodeid}: no parameter {', '.join(sorted(unknown))} to keep apart")
        kept = {family[index] for index in subset(cases, mark.kwargs.get("apart", "").split())}
        left_out |= set(family) - kept
    return [item for item in items if item not in left_out], [item for item in items if item in left_out]
