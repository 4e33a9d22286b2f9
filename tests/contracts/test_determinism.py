"""The same bytes: for any number of threads, wherever slices end, and for a run that continues after a break."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest

from linnet.config import threads as use_threads
from linnet.data.rows import Rows
from linnet.fit.loop import training as loop
from linnet.fit.loop.optimizers import SGD, Adam
from linnet.fit.loop.schedules import Cosine, ExponentialDecay
from linnet.fit.loop.steps import Slice
from linnet.fit.loop.training import OptimizerState, Plan, Training
from linnet.fit.objective import NetworkObjective
from linnet.model.network import Network

from .cases import DTYPES, HEADS, SHAPES, Array, make_network, make_rows, make_theta
from .test_training import OPTIMIZERS

Result = tuple[bytes, list[dict[str, float]]]

CASE = HEADS[4]


class Accuracy:
    name = "accuracy"
    greater_is_better = True

    def __call__(self, mean: Array, rows: Rows) -> float:
        assert rows.labels is not None
        return float((mean.argmax(axis=1) == rows.labels).mean()) + float(mean.sum())  # the sum shows every bit


def network_of(shape: str, *, dropout: float = 0.25) -> Network:
    inputs, hidden = SHAPES[shape]
    network = make_network(CASE, inputs, hidden, ("relu", "tanh"), l2=0.01, l1=0.001)
    # dropping the first layer's inputs would keep it from using the narrow kernels
    layers = [replace(layer, dropout=dropout if index else 0.0) for index, layer in enumerate(network.layers)]
    return replace(network, layers=tuple(layers))


def result(network: Network, plan: Plan, dtype: str, n: int = 60, state: OptimizerState | None = None) -> Result:
    rows = make_rows(CASE, network.inputs, n, dtype, 1, weighted=True)
    held = make_rows(CASE, network.inputs, 700, dtype, 2)
    training = Training(network, make_theta(network, 3).astype(dtype), rows, plan, held, state)
    records = [dict(record.numbers) for record in training]
    return training.theta.tobytes(), records


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "batch"), [(9, 1), (30, 7), (70, 32), (400, 150), (500, 200), (1300, 600)])
@pytest.mark.parametrize(
    "shape",
    [
        "thin, 37 inputs",
        "thin, 901 inputs",
        "thin, hidden",
        "thin, 300 inputs, hidden",
        "three hidden",
        "thin, in the middle",
        "wide",
        "wide after thin",
    ],
)
def test_threads_change_nothing(shape: str, n: int, batch: int, dtype: str) -> None:
    network = network_of(shape)
    plan = Plan(Adam(0.01), epochs=2, batch_size=batch, seed=5, metrics=[Accuracy()])
    one = result(network, replace(plan, threads=1), dtype, n)
    assert one[1][0].keys() == {"loss", "accuracy", "val_loss", "val_accuracy"}
    for threads in (2, 3, 8):
        assert result(network, replace(plan, threads=threads), dtype, n) == one, f"{threads} threads"


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_threads_change_nothing_with_clipping(name: str) -> None:
    plan = Plan(OPTIMIZERS[name](0.5), batch_size=20, seed=5)
    for shape in ("wide after thin", "thin, 300 inputs, hidden"):
        network = network_of(shape)
        one = result(network, replace(plan, threads=1), "float32")
        for threads in (2, 3):
            assert result(network, replace(plan, threads=threads), "float32") == one, f"{shape}, {threads} threads"
    network, plan = network_of("odd"), replace(plan, batch_size=600)  # summed by blocks of rows
    one = result(network, replace(plan, threads=1), "float32", 700)
    for threads in (2, 3):
        assert result(network, replace(plan, threads=threads), "float32", 700) == one, f"{threads} threads"


@pytest.mark.parametrize("shape", ["thin, hidden", "wide"])
def test_the_number_of_threads_that_pay_changes_nothing(shape: str) -> None:
    network, plan = network_of(shape), Plan(Adam(0.01), batch_size=32)
    with use_threads(1):
        one = result(network, plan, "float32")
    with use_threads(4):
        assert result(network, plan, "float32") == one


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_threads_change_no_sum(shape: str, dtype: str) -> None:
    network = network_of(shape)
    rows, theta = make_rows(CASE, network.inputs, 530, dtype, 4, weighted=True), make_theta(network, 5)
    sums = [NetworkObjective(network, dtype, threads).sums(theta, rows, gradient=True) for threads in (1, 2, 3, 8)]
    means = [NetworkObjective(network, dtype, threads).predict(theta, rows.x).tobytes() for threads in (1, 2, 3, 8)]
    for other, mean in zip(sums[1:], means[1:], strict=True):
        assert other[:2] == sums[0][:2]
        np.testing.assert_array_equal(other.gradient, sums[0].gradient)
        assert mean == means[0]


@pytest.mark.parametrize("shape", ["thin, 37 inputs", "thin, hidden", "odd"])
def test_threads_change_nothing_for_plain_steps_on_single_rows(shape: str) -> None:
    inputs, hidden = SHAPES[shape]
    network = make_network(CASE, inputs, hidden)
    plan = Plan(SGD(0.05), batch_size=1)
    one = result(network, replace(plan, threads=1), "float32", 20)
    for threads in (2, 3):
        assert result(network, replace(plan, threads=threads), "float32", 20) == one, f"{threads} threads"


@pytest.mark.parametrize(("inputs", "hidden"), [(901, ()), (600, (16, 16, 16, 16))], ids=str)
def test_threads_that_lose_their_core_change_nothing(inputs: int, hidden: tuple[int, ...]) -> None:
    """More threads than cores: any of them may be stopped anywhere, and the others must wait for it where it matters.

    Without a penalty, two that take halves of a layer wait for each other least of all.
    """
    network = make_network(CASE, inputs, hidden, ("gelu", "tanh"))
    rows, theta = make_rows(CASE, inputs, 2000, "float32", 1), make_theta(network, 3).astype("float32")

    def trained(threads: int) -> bytes:
        training = Training(network, theta, rows, Plan(Adam(0.001), epochs=10, batch_size=20, threads=threads))
        losses = [record.numbers["loss"] for record in training]
        return training.theta.tobytes() + np.array(losses).tobytes()

    one = trained(1)
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        assert set(pool.map(trained, [2, 2, 3] * (os.cpu_count() or 1))) == {one}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["thin, 901 inputs", "thin, 300 inputs, hidden"])
def test_the_form_of_the_table_changes_nothing(shape: str, dtype: str) -> None:
    """Rows that can be read in place are read by halves; others are not, and give the same bytes."""
    network = network_of(shape)
    rows = make_rows(CASE, network.inputs, 70, dtype, 1, weighted=True)
    x = rows.x
    assert isinstance(x, np.ndarray)
    plan = Plan(Adam(0.01), epochs=2, batch_size=30, seed=5)

    def trained(table: Array, threads: int) -> bytes:
        theta = make_theta(network, 3).astype(dtype)
        training = Training(network, theta, replace(rows, x=table), replace(plan, threads=threads))
        losses = [record.numbers["loss"] for record in training]
        return training.theta.tobytes() + np.array(losses).tobytes()

    one = trained(x, 1)
    other = np.float64 if dtype == "float32" else np.float32
    for table in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], np.repeat(x, 2, axis=0)[::2], x.astype(other)):
        for threads in (1, 2, 3):
            assert trained(table, threads) == one


@pytest.mark.parametrize("shape", ["thin, hidden", "thin, 300 inputs, hidden", "wide after thin"])
def test_other_threads_in_every_slice_change_nothing(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, plan = network_of(shape), Plan(Adam(0.01), epochs=2, batch_size=20, threads=3)
    one = result(network, replace(plan, threads=1), "float32", 200)
    monkeypatch.setattr(loop, "_SLICE_SECONDS", 0)
    turns, taken = cycle([3, 1, 2]), []

    def take(self: object) -> int:
        taken.append(next(turns))
        return taken[-1]

    monkeypatch.setattr("linnet.fit.loop.training.ThreadChoice.take", take)
    assert result(network, plan, "float32", 200) == one
    assert set(taken) == {1, 2, 3}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "batch", "at_least"), [(200, 1, 10), (300, 20, 10), (1300, 1300, 2)])
def test_where_slices_end_changes_nothing(
    n: int, batch: int, at_least: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice of zero seconds ends whenever the clock is read: even inside a step, between two chunks of its rows."""
    network = network_of("three hidden")
    plan = Plan(Adam(0.01), epochs=2, batch_size=batch, seed=6, metrics=[Accuracy()], threads=2)
    monkeypatch.setattr(loop, "_SLICE_SECONDS", 60)
    whole = result(network, plan, dtype, n)
    monkeypatch.setattr(loop, "_SLICE_SECONDS", 0)
    assert result(network, plan, dtype, n) == whole
    rows = make_rows(CASE, network.inputs, n, dtype, 1)
    records = Training(network, make_theta(network, 3).astype(dtype), rows, replace(plan, epochs=1)).records()
    assert sum(isinstance(record, Slice) for record in records) >= at_least


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_going_on_equals_never_having_stopped(name: str, dtype: str) -> None:
    network = network_of("thin, hidden")
    rows = make_rows(CASE, network.inputs, 50, dtype, 7)
    theta = make_theta(network, 8).astype(dtype)
    plan = Plan(OPTIMIZERS[name](None), epochs=5, batch_size=8, seed=9)
    whole = Training(network, theta, rows, plan)
    losses = [record.numbers["loss"] for record in whole]
    first = Training(network, theta, rows, replace(plan, epochs=2))
    parts = [record.numbers["loss"] for record in first]
    second = Training(network, first.theta, rows, replace(plan, epochs=3), state=first.state())
    numbers = [(record.epoch, record.numbers["loss"]) for record in second]
    assert [epoch for epoch, _ in numbers] == [3, 4, 5]
    assert parts + [loss for _, loss in numbers] == losses
    assert second.theta.tobytes() == whole.theta.tobytes()
    for mine, theirs in zip(second.state().arrays, whole.state().arrays, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert (second.state().updates, second.state().epochs) == (whole.state().updates, whole.state().epochs) == (35, 5)


@pytest.mark.parametrize("schedule", [Cosine(0.1, epochs=4), ExponentialDecay(0.1, warmup=3)], ids=str)
def test_a_schedule_goes_on_too(schedule: Cosine) -> None:
    network = network_of("no hidden")
    rows = make_rows(CASE, network.inputs, 50, "float64", 7)
    plan = Plan(SGD(schedule), epochs=6, batch_size=8)
    whole = Training(network, make_theta(network, 8), rows, plan)
    rates = [record.learning_rate for record in whole]
    assert len(set(rates)) > 3
    first = Training(network, make_theta(network, 8), rows, replace(plan, epochs=2))
    parts = [record.learning_rate for record in first]
    second = Training(network, first.theta, rows, replace(plan, epochs=4), state=first.state())
    assert parts + [record.learning_rate for record in second] == rates
    assert second.theta.tobytes() == whole.theta.tobytes()


def test_another_batch_size_does_not_move_the_time_of_a_schedule() -> None:
    """Time runs in epochs: after two epochs the rate is that of time 2, whatever the size of the batches was."""
    network = network_of("no hidden", dropout=0.0)
    rows = make_rows(CASE, network.inputs, 64, "float64", 7)
    plan = Plan(SGD(ExponentialDecay(0.1, decay=0.5)), epochs=2, batch_size=64)
    first = Training(network, make_theta(network, 8), rows, plan)
    assert [record.learning_rate for record in first] == pytest.approx([0.1, 0.05])
    second = Training(network, first.theta, rows, replace(plan, batch_size=32), state=first.state())
    assert [record.learning_rate for record in second] == pytest.approx([0.1 * 0.5**2.5, 0.1 * 0.5**3.5])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_seed_decides(dtype: str) -> None:
    network = network_of("thin, hidden")
    plan = Plan(SGD(0.1), batch_size=8, seed=1)
    assert result(network, plan, dtype) == result(network, plan, dtype)
    assert result(network, plan, dtype) != result(network, replace(plan, seed=2), dtype)
    assert result(network, plan, dtype) != result(network, replace(plan, shuffle=False), dtype)


def test_the_type_of_the_table_decides_nothing() -> None:
    """The same numbers as float32, float64 or bytes, in any order of memory, give the same bytes."""
    network = network_of("thin, hidden")
    plan = Plan(Adam(0.01), epochs=2, batch_size=8)
    labels = make_rows(CASE, network.inputs, 50, "float32", 7).labels
    x = np.random.default_rng(1).integers(0, 3, (50, network.inputs)).astype(np.uint8)
    tables: list[Array] = [
        x,
        x.astype(np.float32),
        x.astype(np.float64),
        np.asfortranarray(x),
        np.asfortranarray(x, np.float32),
    ]
    results = set()
    for table in tables:
        training = Training(network, make_theta(network, 8).astype("float32"), Rows(table, labels=labels), plan)
        list(training)
        results.add(training.theta.tobytes())
    assert len(results) == 1
