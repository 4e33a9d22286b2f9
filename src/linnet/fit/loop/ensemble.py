"""Several trainings in parallel: the members of an ensemble.

Every member trains in one thread; as many members run at a time as there are threads. After each epoch they wait for
each other, and one record has the means of their losses and metrics. A finished member keeps its last values. The
result does not depend on the number of threads. Members resumed from snapshots of the same moment continue as one
ensemble.
"""

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import perf_counter

import numpy as np

from linnet.config import usable_threads
from linnet.fit.loop.steps import Slice
from linnet.fit.loop.stop_reason import StopKind, StopReason
from linnet.fit.loop.training import Epoch, OptimizerState, Plan, Training
from linnet.model.network import Theta


class Ensemble:
    """Several trainings of one plan with the interface of one; `theta` is the first member's."""

    def __init__(self, members: Sequence[Training], threads: int) -> None:
        self.members = list(members)
        self.interrupted = False
        self.stop_reason = StopReason(StopKind.NOT_STARTED)
        self.threads = threads
        self._stop = Event()

    @property
    def plan(self) -> Plan:
        """The first member's plan."""
        return self.members[0].plan

    @property
    def theta(self) -> Theta:
        """The first member's parameters."""
        return self.members[0].theta

    @property
    def ran_out(self) -> bool:
        """Whether the epochs ended before the training converged: never, as members keep their best epoch."""
        return False

    @property
    def learned(self) -> bool:
        """Whether every member has finished an epoch; before that, the mean of their predictions is meaningless."""
        return all(member.last is not None for member in self.members)

    def state(self) -> OptimizerState:
        """Return the first member's optimizer state."""
        return self.members[0].state()

    def interrupt(self) -> None:
        """Record that Ctrl-C ended the run."""
        self.interrupted = True
        self.stop_reason = StopReason(StopKind.INTERRUPTED)

    def records(self) -> Generator[Slice | Epoch, None, None]:
        """Train all members, yielding the mean of their records at every epoch."""
        streams = [member.records() for member in self.members]
        last = [member.last for member in self.members]
        done = max((record.epoch for record in last if record), default=0)

        def advance(index: int) -> Epoch | None:
            for record in streams[index]:
                if isinstance(record, Epoch):
                    return record
                if self._stop.is_set():
                    break
            if self.members[index].interrupted:  # it ran in the main thread: Ctrl-C is meant for all members
                raise KeyboardInterrupt
            return None

        at_once = min(usable_threads(self.threads), len(streams))
        busy, pool = list(range(len(streams))), ThreadPoolExecutor(at_once)
        try:
            for epoch in range(done + 1, self.plan.epochs + 2):
                began = perf_counter()
                results = list(pool.map(advance, busy) if at_once > 1 else map(advance, busy))
                for index, record in zip(busy, results, strict=True):
                    last[index] = record or last[index]
                busy = [index for index, record in zip(busy, results, strict=True) if record]
                if not busy:
                    break
                yield _mean(epoch, [record for record in last if record], perf_counter() - began)
            self.stop_reason = _joined(self.members)
        except KeyboardInterrupt:
            self.interrupt()
        except GeneratorExit:
            if not self.interrupted:
                self.stop_reason = StopReason(StopKind.LEFT_EARLY)
            raise
        except BaseException:
            self.stop_reason = StopReason(StopKind.DIVERGED)
            raise
        finally:
            self._stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            for stream in streams:
                stream.close()


def _mean(epoch: int, records: Sequence[Epoch], seconds: float) -> Epoch:
    numbers = {name: float(np.mean([record.numbers[name] for record in records])) for name in records[0].numbers}
    return Epoch(epoch, numbers, max(record.learning_rate for record in records), seconds)


def _joined(members: Sequence[Training]) -> StopReason:
    if len(members) == 1:
        return members[0].stop_reason
    each = (f"member {index}: {member.stop_reason}" for index, member in enumerate(members, 1))
    return StopReason(StopKind.MEMBERS, "; ".join(each))
