"""How many threads a training takes, and threads after a fork."""

import os
import signal
import time

import numpy as np
import pytest

from linnet import Dense, Sequential
from linnet.fit.loop.threads import ThreadChoice


def chosen(choice: ThreadChoice, cost: dict[int, float], turns: int) -> list[int]:
    """The numbers of threads chosen on a machine with these costs per row."""
    taken = []
    for _ in range(turns):
        taken.append(choice.take())
        choice.record(taken[-1], 100 * cost[taken[-1]], 100)
    return taken


def test_more_threads_are_tried_while_they_pay() -> None:
    assert chosen(ThreadChoice(6), {1: 4.0, 2: 2.0, 4: 1.5, 6: 1.2}, 6) == [1, 2, 4, 6, 6, 6]


def test_trying_ends_when_more_do_not_pay() -> None:
    assert chosen(ThreadChoice(8), {1: 1.0, 2: 2.0}, 10) == [1, 2] + 8 * [1]


def test_a_trial_is_short() -> None:
    choice = ThreadChoice(2)
    assert choice.choosing
    choice.record(1, 1.0, 1)
    assert choice.choosing
    choice.record(2, 0.5, 1)
    assert not choice.choosing


def test_a_machine_that_changes_is_found_out() -> None:
    choice = ThreadChoice(2)
    assert chosen(choice, {1: 1.0, 2: 0.5}, 30)[-1] == 2
    assert chosen(choice, {1: 1.0, 2: 3.0}, 60)[-1] == 1
    assert chosen(choice, {1: 1.0, 2: 0.5}, 200)[-1] == 2


def test_one_slow_turn_is_soon_forgotten() -> None:
    choice = ThreadChoice(2)
    chosen(choice, {1: 1.0, 2: 0.5}, 30)
    choice.record(2, 1000.0, 1)  # something else had the machine
    assert choice.take() == 1
    assert chosen(choice, {1: 1.0, 2: 0.5}, 25)[-1] == 2


def test_a_neighbour_is_tried_once_in_a_while_only() -> None:
    taken = chosen(ThreadChoice(2), {1: 1.0, 2: 0.5}, 2000)
    trials = [turn for turn, threads in enumerate(taken) if threads == 1]
    waits = np.diff(trials)
    assert waits[0] <= 25
    assert (np.diff(waits) >= 0).all()
    assert waits[-1] == 160


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_trains_with_threads_of_its_own() -> None:
    """The child has the parent's model but none of its threads: as in multiprocessing on Linux."""
    x = np.random.default_rng(0).normal(size=(400, 20)).astype(np.float32)
    y = (x[:, :1] > 0).astype(np.float32)
    model = Sequential([Dense(64, input_dim=20, activation="relu"), Dense(1, activation="sigmoid")])
    model.compile(optimizer="adam", loss="binary_crossentropy")
    records = model.fit_stream(x, y, epochs=4, threads=2)
    next(records)
    child = os.fork()
    if child == 0:
        losses = [record.numbers["loss"] for record in records]
        os._exit(0 if len(losses) == 3 and losses[-1] < 0.69 else 1)
    end = time.monotonic() + 30
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
        time.sleep(0.01)
    if done[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert done == (child, 0)
    assert len(list(records)) == 3
