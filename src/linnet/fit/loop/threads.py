"""The choice of the number of threads. Any number gives the same bytes, so the fastest is found by trial.

Other numbers are tried again from time to time, because the best one changes: when another program uses a core, two
threads are slower than one.
"""

from linnet._native import core
from linnet.config import usable_threads


class ThreadChoice:
    """Chooses among 1, 2, 4, ... `limit` threads by the measured seconds per row."""

    _MIN_TURNS, _MAX_TURNS = 20, 160  # between trials of a neighbouring number; each failed trial doubles the wait

    def __init__(self, limit: int) -> None:
        powers = [1 << k for k in range(limit.bit_length()) if 1 << k < limit]
        self._counts = [*powers, limit]
        self._cost: dict[int, float] = {}
        self._best = 0  # index of the choice
        self._wait = self._MIN_TURNS
        self._turn = 0  # since the last trial
        self._upward = True

    @property
    def choosing(self) -> bool:
        """Whether the next turn is a trial, for which a short turn is enough."""
        return self._next() != self._best or not self._known(self._best)

    def take(self) -> int:
        """Return the number of threads for the next turn."""
        return self._counts[self._next()]

    def record(self, threads: int, seconds: float, rows: int) -> None:
        """Record the time of a turn that trained on `rows` rows."""
        cost = seconds / max(1, rows)
        before = self._best
        if threads == self._counts[before] and self._known(before):  # recent turns count most: the load may change
            cost = 0.5 * self._cost[threads] + 0.5 * cost
        self._cost[threads] = cost  # for other numbers only the last turn counts: earlier ones are out of date
        tried = [index for index in range(len(self._counts)) if self._known(index)]
        self._best = min(tried, key=lambda index: self._cost[self._counts[index]])
        self._turn += 1
        if self._best != before:
            self._wait, self._turn = self._MIN_TURNS, 0
        elif self._turn == self._wait:
            self._wait, self._turn = min(2 * self._wait, self._MAX_TURNS), 0
            self._upward = not self._upward

    def _known(self, index: int) -> bool:
        return self._counts[index] in self._cost

    def _next(self) -> int:
        above = self._best + 1
        if above < len(self._counts) and not self._known(above):
            return above if self._known(self._best) else self._best
        if self._turn == self._wait - 1:
            neighbour = self._best + (1 if self._upward else -1)
            if not 0 <= neighbour < len(self._counts):
                neighbour = self._best - (1 if self._upward else -1)
            if 0 <= neighbour < len(self._counts):
                return neighbour
        return self._best


def max_threads(network: core.Network, rows: int, threads: int | None) -> int:
    """Return the largest number of threads, at most `threads`, that can pay off for `rows` rows at a time."""
    return core.useful_threads(network, rows, usable_threads(threads))
