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


@pytest.mark.parametrize("dual_size", [1, 1500, 2048])
def test_vectors_of_the_dual(dual_size: int) -> None:
    """Coordinates with images under K, then an ordinary entry: the same steps as those of ordinary vectors."""
    rng = np.random.default_rng(dual_size)
    root = rng.random(dual_size) + 0.5  # of K, a diagonal matrix

    def both(v: Array) -> Array:
        return np.concatenate([v[:dual_size] / root, v[:dual_size] * root, v[dual_size:]])

    twice = core.LbfgsHistoryF64(2 * dual_size + 3, dual_size, 4, 2)
    once = core.LbfgsHistoryF64(dual_size + 3, 0, 4, 2)
    for _ in range(6):
        gradient, moved = rng.normal(size=(2, dual_size + 3))
        bent = moved * (rng.random(dual_size + 3) + 0.1)
        assert core.dot(both(gradient), both(moved), dual_size) == pytest.approx(gradient @ moved, rel=1e-10)
        once.push(moved, bent)
        twice.push(both(moved), both(bent))
        step, step_twice = gradient.copy(), both(gradient)
        for history, x in ((once, step), (twice, step_twice)):
            history.forward(x)
            history.backward(x)
        assert_close(step_twice, both(step), 1e-9)


@pytest.mark.parametrize("size", [1, 7, 2048, 5001])
@pytest.mark.parametrize("memory", [1, 3, 12])
def test_two_loops(size: int, memory: int) -> None:
    rng = np.random.default_rng(size + memory)
    inverse = rng.random(size) + 0.5
    histories = [core.LbfgsHistoryF64(size, 0, memory, threads) for threads in (1, 2, 3)]
    changes: list[tuple[Array, Array]] = []
    for turn in range(9):
        if turn == 6:
            changes.clear()
            for history in histories:
                history.clear()
        gradient, moved = rng.normal(size=size), rng.normal(size=size)
        bent = moved * (rng.random(size) + 0.1)
        changes = [*changes, (moved, bent)][-memory:]
        results = set()
        for history in histories:
            history.push(moved, bent)
            assert len(history) == len(changes)
            step = gradient.copy()
            history.forward(step)
            step *= inverse
            history.backward(step)
            results.add(step.tobytes())
        assert len(results) == 1, "threads change nothing"
        assert_close(step, two_loops(gradient, changes, inverse), 1e-11)


def test_an_empty_history() -> None:
    history = core.LbfgsHistoryF64(3, 0, 2, 1)
    x = np.array([1.0, 2.0, 3.0])
    history.forward(x)
    history.backward(x)
    np.testing.assert_array_equal(x, [1, 2, 3])
    with pytest.raises(ValueError, match="wrong length"):
        history.push(x, x[:2])
