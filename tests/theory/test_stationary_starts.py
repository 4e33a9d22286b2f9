"""Problems with known answers from many starts: all reported points are right, and none is made up."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from linnet.errors import FitError
from linnet.theory import lagrange


@dataclass(frozen=True)
class Problem:
    f: Callable[[Any], Any]
    constraints: list[Callable[[Any], Any]]
    size: int
    kinds: dict[str, Any]  # the points there are, by kind
    found: int  # of 40 starts, at least
    anywhere: bool = False  # whether f is defined for all numbers


def total(x: Any) -> Any:
    return x.sum() - 1


def entropy(p: Any) -> Any:
    return -(p * np.log(p)).sum()


TILTED = np.exp(-18.0 * np.arange(2))
LAST = (-2 + (4 + 12 * 0.96) ** 0.5) / 6  # the root of p0 p1 = p2², with p0 = p1 + 0.2
APART = ((0.8 - LAST) / 2 + 0.2, (0.8 - LAST) / 2, LAST)
PROBLEMS = {
    "entropy": Problem(entropy, [total], 4, {"maximum": np.full(4, 0.25)}, 40),
    "a probability of 1e-8": Problem(
        lambda p: entropy(p) - 18 * p[1], [total], 2, {"maximum": TILTED / TILTED.sum()}, 30
    ),
    "two constraints": Problem(entropy, [total, lambda p: p[0] - p[1] - 0.2], 3, {"maximum": APART}, 30),
    "likelihood": Problem(
        lambda p: 3 * np.log(p[0]) + 2 * np.log(p[1]) + 5 * np.log(p[2]), [total], 3, {"maximum": (0.3, 0.2, 0.5)}, 20
    ),
    "a class without rows": Problem(lambda p: 3 * np.log(p[0]) + 2 * np.log(p[1]) + 0 * p[2], [total], 3, {}, 0),
    "no constraint": Problem(lambda x: x[0] * np.log(x[0]), [], 1, {"minimum": np.exp(-1)}, 40),
    "an edge without slope": Problem(lambda x: x[0] ** 2 * np.log(x[0]), [], 1, {"minimum": np.exp(-0.5)}, 15),
    "a constraint that holds at the edge alone": Problem(lambda x: np.log(x).sum(), [lambda x: x[0] * x[1]], 2, {}, 0),
    "a root": Problem(lambda x: np.sqrt(x[0]) - x[0], [], 1, {"maximum": 0.25}, 40),
    "fading": Problem(lambda x: np.exp(-x[0]) + x[1] ** 2, [], 2, {}, 0, True),
    "circle": Problem(
        lambda x: x[0] + x[1],
        [lambda x: x[0] ** 2 + x[1] ** 2 - 1],
        2,
        {"maximum": np.full(2, 0.5**0.5), "minimum": np.full(2, -(0.5**0.5))},
        40,
        True,
    ),
    "inactive": Problem(
        lambda x: (x[0] - 1) ** 2 + (x[1] - 2) ** 2, [lambda x: 0 * x[0]], 2, {"minimum": (1, 2)}, 40, True
    ),
    "saddle": Problem(lambda x: x[0] * x[1], [], 2, {"saddle": (0, 0)}, 40, True),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_found_from_any_start_is_right(name: str) -> None:
    problem, rng, found = PROBLEMS[name], np.random.default_rng(0), 0
    for trial in range(40):
        scale = 10.0 ** rng.integers(-6, 2) if trial % 2 else 1.0
        start = rng.exponential(scale, problem.size)
        if problem.anywhere:
            start = rng.normal(scale=3, size=problem.size)
        try:
            point = lagrange(problem.f, problem.constraints, start)
        except FitError:
            continue
        assert point.kind in problem.kinds, (start, str(point))
        assert point.x == pytest.approx(np.broadcast_to(problem.kinds[point.kind], problem.size), rel=1e-5, abs=1e-9)
        found += 1
    assert found >= problem.found
