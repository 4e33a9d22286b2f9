"""What tests with the mark `pairwise` leave out: no pair of values."""

from collections.abc import Sequence
from itertools import combinations, product

import pytest

from .pairwise import subset

Case = dict[str, int]


def all_cases(sizes: Sequence[int]) -> list[Case]:
    return [dict(zip("abcdef", values, strict=False)) for values in product(*map(range, sizes))]


def pairs(cases: Sequence[Case], apart: str = "") -> set[tuple[tuple[str, int], ...]]:
    both = {
        pair for case in cases for pair in combinations(case.items(), 2) if not {pair[0][0], pair[1][0]} <= {*apart}
    }
    return both | {(value,) for case in cases for value in case.items()}


@pytest.mark.parametrize("apart", ["", "ab"])
@pytest.mark.parametrize("sizes", [(3,), (4, 5), (9, 5, 2, 2), (38, 9, 2, 2), (4, 4, 4, 4, 4, 4)], ids=str)
def test_every_pair_is_there(sizes: tuple[int, ...], apart: str) -> None:
    cases = all_cases(sizes)
    chosen = subset(cases, [*apart])
    assert pairs([cases[index] for index in chosen], apart) == pairs(cases, apart)
    assert chosen == sorted(set(chosen))
    assert chosen == subset(cases, [*apart])


def test_little_more_than_the_largest_pair_is_chosen() -> None:
    assert len(subset(all_cases((9, 5, 2, 2)))) == 45
    assert len(subset(all_cases((38, 9, 2, 2)))) == 38 * 9
    assert len(subset(all_cases((38, 9, 2, 2)), ["a", "b"])) == 38 * 2
    assert len(subset(all_cases((4, 4, 4, 4, 4, 4)))) < 40


def test_of_an_incomplete_product_its_own_pairs_are_there() -> None:
    cases = [case for case in all_cases((3, 3, 3)) if case["a"] <= case["b"]]
    assert pairs([cases[index] for index in subset(cases)]) == pairs(cases)


def test_values_that_are_kept_apart_are_used_equally() -> None:
    cases = all_cases((60, 3))
    used = [cases[index]["b"] for index in subset(cases, ["a", "b"])]
    assert len(used) == 60
    assert min(used.count(value) for value in range(3)) >= 10
