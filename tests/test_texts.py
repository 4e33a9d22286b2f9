"""Texts are a tuple of texts in less memory."""

import copy
import pickle
import sys

import pytest

from linnet.texts import Texts

MANY = [f"{each:x} ü" * (each % 3) for each in range(2000)]


@pytest.mark.parametrize(
    "texts", [[], [""], ["", ""], ["a\0b"], ["a", "\0", ""], MANY, [*MANY, "a\0b"], ["ü", "€", "😀"]]
)
def test_texts_are_those_given(texts: list[str]) -> None:
    found = Texts(iter(texts))
    assert list(found) == texts
    assert len(found) == len(texts)
    assert found == tuple(texts) == found
    assert tuple(texts) == found
    assert found != (*texts, "x")
    assert (*texts, "x") != found
    assert hash(found) == hash(tuple(texts))
    assert repr(found) == repr(tuple(texts))
    assert [found[place] for place in range(len(texts))] == texts
    assert [found[-1 - place] for place in range(len(texts))] == texts[::-1]
    assert found[3:-1:7] == tuple(texts)[3:-1:7]
    assert pickle.loads(pickle.dumps(found)) == found == copy.deepcopy(found)
    assert found.are_distinct() == (len({*texts}) == len(texts))
    with pytest.raises(IndexError):
        found[len(texts)]
    assert found != texts  # no more than a tuple is


def test_distinct_texts() -> None:
    several = [f"{each:x}" for each in range(5000)]
    assert Texts(several).are_distinct()
    assert not Texts([*several, "abc"]).are_distinct()


def test_their_size_is_that_of_the_characters() -> None:
    several = [f"{each:06x}" for each in range(100_000)]
    assert Texts(several).size < 8 * len(several) < sum(map(sys.getsizeof, several)) / 6
