"""The two loops of L-BFGS against the same in NumPy."""

import numpy as np
import pytest

from linnet._native import core

from .cases import Array, assert_close


def two_loops(gradient: Array, changes: list[tuple[Array, Array]], inverse: Array) -> Array:
    q = gradient.copy()
    factors = []
    for s, y in reversed(changes):
        factors.append(s @ q / (s @ y))
        q -= factors[-1] * y
    r = inverse * q
    for (s, y), a in zip(changes, reversed(factors), strict=True):
        r += (a - y @ r / (s @ y)) * s
    return r


@pytest.mark.parametrize("half", [1, 1500, 2048])
def test_vectors_known_in_two_ways(half: int) -> None:
    """Coordinates with images under K, then an ordinary entry: the same steps as those of ordinary vectors."""
    rng = np.random.default_rng(half)
    root = rng.random(half) + 0.5  # of K, a diagonal matrix

    def both(v: Array) -> Array:
        return np.concatenate([v[:half] / root, v[:half] * root, v[half:]])

    twice = core.Changes(2 * half + 3, half, 4, 2)
    once = core.Changes(half + 3, 0, 4, 2)
    for _ in range(6):
        gradient, moved = rng.normal(size=(2, half + 3))
        bent = moved * (rng.random(half + 3) + 0.1)
        assert core.dot(both(gradient), both(moved), half) == pytest.approx(gradient @ moved, rel=1e-10)
        once.push(moved, bent)
        twice.push(both(moved), both(bent))
        step, step_twice = gradient.copy(), both(gradient)
        for remembered, x in ((once, step), (twice, step_twice)):
            remembered.forward(x)
            remembered.backward(x)
        assert_close(step_twice, both(step), 1e-9)


@pytest.mark.parametrize("size", [1, 7, 2048, 5001])
@pytest.mark.parametrize("memory", [1, 3, 12])
def test_two_loops(size: int, memory: int) -> None:
    rng = np.random.default_rng(size + memory)
    inverse = rng.random(size) + 0.5
    all_changes = [core.Changes(size, 0, memory, threads) for threads in (1, 2, 3)]
    changes: list[tuple[Array, Array]] = []
    for turn in range(9):
        if turn == 6:
            changes.clear()
            for remembered in all_changes:
                remembered.clear()
        gradient, moved = rng.normal(size=size), rng.normal(size=size)
        bent = moved * (rng.random(size) + 0.1)
        changes = [*changes, (moved, bent)][-memory:]
        results = set()
        for remembered in all_changes:
            remembered.push(moved, bent)
            assert len(remembered) == len(changes)
            step = gradient.copy()
            remembered.forward(step)
            step *= inverse
            remembered.backward(step)
            results.add(step.tobytes())
        assert len(results) == 1, "threads change nothing"
        assert_close(step, two_loops(gradient, changes, inverse), 1e-11)


def test_nothing_to_remember() -> None:
    remembered = core.Changes(3, 0, 2, 1)
    x = np.array([1.0, 2.0, 3.0])
    remembered.forward(x)
    remembered.backward(x)
    np.testing.assert_array_equal(x, [1, 2, 3])
    with pytest.raises(ValueError, match="wrong length"):
        remembered.push(x, x[:2])
