"""Networks on dense tables, sparse rows and codes: the bytes of the same numbers in one dense table."""

import resource
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from linnet.data.columns import Columns
from linnet.data.rows import Rows
from linnet.fit.loop.optimizers import SGD, Adam
from linnet.fit.loop.training import Plan, Training
from linnet.fit.objective import NetworkObjective
from linnet.heads.activations import ACTIVATIONS
from linnet.model.network import Network

from .agreement import assert_agrees
from .cases import ALL_HEADS, DTYPES, HEADS, Array, HeadCase, assert_close, make_network, make_rows, make_theta, seed_of
from .designs import DESIGNS, Whole, as_dense, make_columns, make_pair, sorted_rows
from .test_determinism import Accuracy
from .test_training import OPTIMIZERS

Result = tuple[bytes, list[object]]  # theta, then the records and the optimizer's arrays

CASE = HEADS[4]
# Hidden widths: a narrow first layer (up to 16 outputs), one in panels, one that threads divide by its outputs.
HIDDEN = {"none": (), "thin": (9,), "panels": (20, 5), "wide": (260, 30)}


def trained(
    network: Network, rows: Rows, plan: Plan, dtype: str, held: Rows | None = None
) -> tuple[bytes, list[object]]:
    theta = make_theta(network, 3).astype(dtype)
    training = Training(network, theta, rows, plan, held)
    records = [dict(record.numbers) for record in training]
    assert np.abs(training.theta - theta).max() > 1e-4
    return training.theta.tobytes(), [*records, *(array.tobytes() for array in training.state().arrays)]


def network_for(
    rows: Rows, case: HeadCase, hidden: tuple[int, ...], names: tuple[str, ...] = ("relu",), **layer: Any
) -> Network:
    assert isinstance(rows.x, Columns)
    return make_network(case, rows.x.count, hidden, names, **layer)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", DESIGNS)
@pytest.mark.parametrize("case", ALL_HEADS, ids=str)
def test_every_head(case: HeadCase, kind: str, dtype: str) -> None:
    rows, dense = make_pair(kind, case, 40, dtype, seed_of(case.name, kind), weighted=True)
    plan = Plan(Adam(0.01), batch_size=16)
    for hidden in ((), (18,)):
        network = network_for(rows, case, hidden, ("tanh",), l2=0.01)
        assert trained(network, rows, plan, dtype) == trained(network, dense, plan, dtype)


@pytest.mark.pairwise
@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("batch", [1, 7, 540])
@pytest.mark.parametrize("kind", DESIGNS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(name: str, kind: str, batch: int, clip: float | None) -> None:
    n = 540 if batch == 540 else 30
    rows, dense = make_pair(kind, CASE, n, "float32", seed_of(name, kind, batch))
    plan = Plan(OPTIMIZERS[name](clip), epochs=2, batch_size=batch, seed=4)
    for hidden in ((), (18,)):
        for l1, l2 in ((0, 0), (0.002, 0.03)):
            network = network_for(rows, CASE, hidden, l1=l1, l2=l2)
            assert trained(network, rows, plan, "float32") == trained(network, dense, plan, "float32")


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", DESIGNS)
@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "identity"])
def test_every_activation(name: str, kind: str, dtype: str) -> None:
    rows, dense = make_pair(kind, CASE, 40, dtype, seed_of(name, kind))
    plan = Plan(Adam(0.01), batch_size=11)
    for hidden in ((9,), (20, 5)):
        network = network_for(rows, CASE, hidden, (name,))
        assert trained(network, rows, plan, dtype) == trained(network, dense, plan, dtype)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [7, 32, 600])
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("kind", DESIGNS)
def test_threads_change_nothing(kind: str, hidden: str, batch: int, dtype: str) -> None:
    n = 600 if batch == 600 else 60
    rows, dense = make_pair(kind, CASE, n, dtype, seed_of(kind, hidden), weighted=True)
    held, _ = make_pair(kind, CASE, 530, dtype, 1)
    network = network_for(rows, CASE, HIDDEN[hidden], dropout=0.25, l2=0.01)
    if hidden == "thin":  # dropping the first layer's inputs would keep it from using the narrow kernels
        network = replace(network, layers=(replace(network.layers[0], dropout=0.0), *network.layers[1:]))
    plan = Plan(Adam(0.01), epochs=2, batch_size=batch, seed=5, metrics=[Accuracy()], threads=1)
    one = trained(network, rows, plan, dtype, held)
    for threads in (2, 3, 8):
        assert trained(network, rows, replace(plan, threads=threads), dtype, held) == one, f"{threads} threads"
    assert trained(network, dense, replace(plan, threads=2), dtype)[0] == one[0]


@pytest.mark.pairwise
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("hidden", ["none", "panels"])
@pytest.mark.parametrize("kind", DESIGNS)
def test_threads_change_nothing_in_plain_steps(kind: str, hidden: str, batch: int) -> None:
    rows, dense = make_pair(kind, CASE, 25, "float32", seed_of(kind, hidden))
    network, plan = network_for(rows, CASE, HIDDEN[hidden]), Plan(SGD(0.05), batch_size=batch)
    one = trained(network, dense, replace(plan, threads=1), "float32")
    for threads in (1, 2, 3, 8):
        assert trained(network, rows, replace(plan, threads=threads), "float32") == one, f"{threads} threads"


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("kind", DESIGNS)
def test_sums_and_means(kind: str, hidden: str, dtype: str) -> None:
    rows, dense = make_pair(kind, CASE, 1100, dtype, seed_of(kind, hidden), weighted=True)
    network = network_for(rows, CASE, HIDDEN[hidden])
    theta = make_theta(network, 6).astype(dtype)
    if hidden != "wide":
        assert_agrees(network, theta, dense, dtype)
    expected = NetworkObjective(network, dtype, 1).sums(theta, dense, gradient=True)
    z = NetworkObjective(network, dtype, 1).predict(theta, dense.x, mean=False)
    objectives = [NetworkObjective(network, dtype, threads) for threads in (1, 2, 3, 8)]
    sums = [objective.sums(theta, rows, gradient=True) for objective in objectives]
    # rows that take less time come in longer slices: sums of float64 in another order
    assert_close(sums[0].loss, expected.loss, 1e-14, "loss")
    assert sums[0].weight == expected.weight
    assert_close(sums[0].gradient, expected.gradient, 1e-12, "gradient")
    for objective, other in zip(objectives, sums, strict=True):
        assert objective.sums(theta, rows) == (*sums[0][:2], None)
        assert other[:2] == sums[0][:2]
        np.testing.assert_array_equal(other.gradient, sums[0].gradient)
        np.testing.assert_array_equal(objective.predict(theta, rows.x, mean=False), z)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_objective_takes_any_columns(dtype: str) -> None:
    """Dense, mostly zero and dense again, with few rows and with many."""
    rows, dense = make_pair("text", CASE, 700, dtype, 2)
    network = network_for(rows, CASE, (18,))
    objective, theta = NetworkObjective(network, dtype), make_theta(network, 7).astype(dtype)
    whole = objective.predict(theta, dense.x)
    for part in (slice(0, 5), slice(0, 700), slice(3, 90)):
        for x in (rows.x, dense.x):
            np.testing.assert_array_equal(objective.predict(theta, x[part]), whole[part])


@pytest.mark.parametrize("kind", DESIGNS)
def test_dropped_inputs_are_those_of_the_dense_table(kind: str) -> None:
    rows, dense = make_pair(kind, CASE, 600, "float32", seed_of(kind))
    network = network_for(rows, CASE, (20,), dropout=0.4)
    for batch in (32, 600):
        plan = Plan(SGD(0.1), epochs=2, batch_size=batch, seed=9)
        result = trained(network, rows, plan, "float32")
        assert result == trained(network, dense, plan, "float32")
        assert result != trained(network, rows, replace(plan, seed=10), "float32")


@pytest.mark.parametrize("kind", ["sparse", "mixed", "text", "text and more"])
def test_the_order_of_entries_changes_nothing(kind: str) -> None:
    rows, _ = make_pair(kind, CASE, 50, "float32", 3)
    assert isinstance(rows.x, Columns)
    tidy = sorted_rows(rows.x)
    assert rows.x.sparse is not None
    assert tidy.sparse is not None
    assert (tidy.sparse[1] != rows.x.sparse[1]).any()
    network, plan = network_for(rows, CASE, (20,)), Plan(Adam(0.01), batch_size=8)
    assert trained(network, replace(rows, x=tidy), plan, "float32") == trained(network, rows, plan, "float32")


@pytest.mark.parametrize("kind", DESIGNS)
@pytest.mark.parametrize(
    "part",
    [
        slice(0, 40),
        slice(25, None),
        slice(1, 90, 3),
        slice(None, None, -1),
        np.array([5, 5, 89, 0]),
        np.arange(90) % 4 == 1,
    ],
    ids=str,
)
def test_part_of_the_rows(part: slice | Array, kind: str) -> None:
    rows, dense = make_pair(kind, CASE, 90, "float64", 4, weighted=True)
    assert isinstance(rows.x, Columns)
    some = rows[part]
    assert isinstance(some.x, Columns)
    np.testing.assert_array_equal(as_dense(some.x), as_dense(rows.x)[part])
    assert len(some) == len(dense[part])
    network, plan = network_for(rows, CASE, ()), Plan(SGD(0.05), batch_size=16)
    assert trained(network, some, plan, "float64") == trained(network, dense[part], plan, "float64")


@pytest.mark.parametrize("kind", ["sparse", "text"])
def test_a_slice_of_rows_is_a_view(kind: str) -> None:
    columns = make_columns(kind, 60, 5)
    part = columns[10:30]
    assert columns.sparse is not None
    assert part.sparse is not None
    for whole, some in zip(columns.sparse[1:], part.sparse[1:], strict=True):
        assert np.shares_memory(whole, some)
    assert len(columns[20:10]) == 0


@pytest.mark.parametrize("kind", ["codes", "many levels"])
def test_an_unknown_code_has_no_effect(kind: str) -> None:
    columns = make_columns(kind, 40, 6)
    bad = (-1, 1 << 30, -7)[: len(columns.codes)]
    codes = tuple(np.full_like(column, code) for column, code in zip(columns.codes, bad, strict=True))
    unknown = replace(columns, codes=codes)
    network = make_network(CASE, columns.count, ())
    theta = make_theta(network, 8)
    z = NetworkObjective(network, "float64").predict(theta, unknown, mean=False)
    np.testing.assert_array_equal(z, np.tile(network.blocks(theta)[0].biases, (40, 1)))


@pytest.mark.parametrize("hidden", [(), (20,)], ids=str)
def test_rows_without_entries_still_move_the_biases(hidden: tuple[int, ...]) -> None:
    n = 30
    x = Columns(n, sparse=(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0)), sparse_columns=100)
    rows = replace(make_rows(CASE, 1, n, "float32", 1), x=x)
    dense = replace(rows, x=Whole(n, (np.zeros((n, 100), np.float32),)))
    network, plan = make_network(CASE, 100, hidden), Plan(Adam(0.01), batch_size=4)
    assert trained(network, rows, plan, "float32") == trained(network, dense, plan, "float32")


def test_wide_rows_take_no_memory_for_zeros() -> None:
    """A chunk of 512 rows with a million columns would take two gigabytes."""
    n, wide = 512, 1_000_000
    columns = np.random.default_rng(1).integers(0, wide, (n, 3)).astype(np.int32)
    x = Columns(n, sparse=(np.arange(n + 1) * 3, columns.ravel(), np.ones(3 * n)), sparse_columns=wide)
    rows = Rows(x, values=np.ones((n, 1), np.float32))
    network = make_network(HEADS[2], wide, ())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in Training(network, np.zeros(network.size, np.float32), rows, Plan(Adam(0.01), batch_size=n), rows):
        pass
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
