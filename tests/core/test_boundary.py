"""What crosses into the core: sizes beyond 31 bits are right or refused, and what is refused changes nothing.

No test needs the memory it names: tables repeat one row by strides of zero, or lie in files without content.
"""

import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet import _native
from linnet.fit.loop.optimizers import Adam
from linnet.heads import Categorical
from linnet.model.network import Layer, Network

core: Any = _native.core  # families and activations have no names for a type checker
NETWORK = Network(4, (Layer(3),), Categorical())
BEYOND = 2**31 + 5


def columns(*tables: Any) -> Any:
    return core.Columns(len(tables[0]), list(tables), None, 0, [], [])


def repeated(rows: int, cols: int, dtype: str = "float32") -> Any:
    return np.broadcast_to(np.zeros((1, 1), dtype), (rows, cols))


def trainer_on(x: Any, labels: Any, *, batch: int = 16, threads: int = 1) -> Any:
    trainer = core.TrainerF32(NETWORK.to_core(), Adam(0.05).to_core(), batch, 3, threads)
    trainer.write(0, np.linspace(-1, 1, NETWORK.size, dtype=np.float32))
    trainer.set_data(columns(x), labels, None, None, None, True, 1.0)
    return trainer


def epoch(trainer: Any, number: int, seconds: float = 60) -> Any:
    trainer.begin_epoch(number)
    return trainer.run(np.full(trainer.steps, 0.05), seconds, 1)


def theta_of(trainer: Any) -> bytes:
    theta = np.empty(NETWORK.size, np.float32)
    trainer.read(0, theta)
    return theta.tobytes()


@pytest.fixture
def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 4)).astype(np.float32), rng.integers(0, 3, 90).astype(np.int32)


# ---- set_data ----

REFUSED: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "columns": lambda n: (columns(np.ones((n, 5), np.float32)), np.zeros(n, np.int32), None, None, None),
    "labels": lambda n: (columns(np.ones((n, 4), np.float32)), np.zeros(n + 1, np.int32), None, None, None),
    "values": lambda n: (columns(np.ones((n, 4), np.float32)), None, np.ones((n, 2), np.float32), None, None),
    "neither": lambda n: (columns(np.ones((n, 4), np.float32)), None, None, None, None),
    "weights": lambda n: (
        columns(np.ones((n, 4), np.float32)), np.zeros(n, np.int32), None, np.ones(n - 1, np.float32), None
    ),
    "offset": lambda n: (
        columns(np.ones((n, 4), np.float32)), np.zeros(n, np.int32), None, None, np.ones((n, 4), np.float32)
    ),
    "rows": lambda n: (columns(repeated(2**32, 4)), np.zeros(n, np.int32), None, None, None),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused_data_leave_the_trainer_as_it_was(rows: tuple[Any, Any], what: str) -> None:
    x, labels = rows
    one = trainer_on(x, labels)
    x, labels = x.copy(), labels.copy()
    other, held = trainer_on(x, labels), [weakref.ref(x), weakref.ref(labels)]
    del x, labels  # the trainer alone keeps them
    fitted = np.zeros((90, 3), np.float32)
    other.set_fitted(fitted)
    for number in range(2):
        epoch(one, number)
        other.begin_epoch(number)
        rates = np.full(other.steps, 0.05)
        while True:  # in the middle of an epoch, too
            with pytest.raises(ValueError, match=r"."):
                other.set_data(*REFUSED[what](100), True, 1.0)
            assert all(array() is not None for array in held)
            progress = other.run(rates, 0.0, 1)
            if progress.step == progress.steps:
                break
    assert theta_of(one) == theta_of(other)
    assert fitted.all()


def test_other_data_take_effect_with_the_next_epoch(rows: tuple[Any, Any]) -> None:
    """Nothing that belonged to the previous data is used with them: neither the position in the epoch nor the means."""
    x, labels = rows
    trainer = trainer_on(x[:20], labels[:20])
    fitted = np.zeros((20, 3), np.float32)
    trainer.set_fitted(fitted)
    trainer.begin_epoch(0)
    trainer.set_data(columns(x), labels, None, None, None, True, 1.0)
    before = theta_of(trainer)
    assert trainer.run(np.full(100, 0.05), 60, 1).steps == 0
    assert theta_of(trainer) == before
    assert epoch(trainer, 0).rows == 90
    assert not fitted.any()


WITHOUT_MEMORY = """
import gc, resource, sys
import numpy as np
sys.path.insert(0, {tests!r})
from core.test_boundary import columns, epoch, repeated, theta_of, trainer_on
rng = np.random.default_rng(0)
x, labels = rng.normal(size=(90, 4)).astype(np.float32), rng.integers(0, 3, 90).astype(np.int32)
one, other = trainer_on(x, labels), trainer_on(x, labels)
epoch(one, 0), epoch(other, 0)
many = np.zeros(300_000_000, np.int32)  # never touched
size = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 28), -1))
try:
    other.set_data(columns(repeated(300_000_000, 4)), many, None, None, None, True, 1.0)
except MemoryError:
    del many
    gc.collect()
    epoch(one, 1), epoch(other, 1)
    sys.exit(0 if theta_of(one) == theta_of(other) else 2)
sys.exit(1)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no such file on this system")
def test_data_too_large_for_the_memory_leave_the_trainer_as_it_was() -> None:
    program = WITHOUT_MEMORY.format(tests=str(Path(__file__).parents[1]))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- sizes ----


def sparse(start: Any, entries: int = 3) -> tuple[Any, Any, Any]:
    return np.asarray(start, np.int64), np.zeros(entries, np.int32), np.ones(entries)


CODES = np.zeros(2, np.int8)
TOO_MUCH: dict[str, tuple[Callable[[], object], str]] = {
    "columns of a table": (
        lambda: columns(repeated(2, BEYOND)),
        f"columns: from 0 to 1073741824, got {BEYOND}",
    ),
    "columns of tables": (lambda: columns(*3 * [repeated(2, 2**29)]), "columns: from 0 to 1073741824, got 1610612736"),
    "columns of a sparse matrix": (
        lambda: core.Columns(1, [], sparse([0, 3]), 2**32 + 3, [], []),
        "columns: from 0 to 1073741824, got 4294967299",
    ),
    "levels": (
        lambda: core.Columns(2, [], None, 0, [CODES, CODES], [2**30, 2**30]),
        "columns: from 0 to 1073741824, got 2147483648",
    ),
    "negative levels": (lambda: core.Columns(2, [], None, 0, [CODES], [-1]), "columns: from 0 to 1073741824, got -1"),
    "columns of all kinds": (
        lambda: core.Columns(2, [repeated(2, 2**30)], None, 0, [CODES], [7]),
        "got 1073741831",
    ),
    "rows": (lambda: columns(repeated(2**50, 1)), "too many"),
    "rows that end before they start": (lambda: core.Columns(2, [], sparse([0, 2, 1]), 1, [], []), "must ascend"),
    "rows that start before the first": (lambda: core.Columns(1, [], sparse([-1, 2]), 1, [], []), "must ascend"),
    "rows that end after the last entry": (
        lambda: core.Columns(1, [], sparse([0, 4]), 1, [], []),
        "end within the entries",
    ),
    "fewer values than columns": (
        lambda: core.Columns(1, [], (*sparse([0, 3])[:2], np.ones(2)), 1, [], []),
        "one value per column index",
    ),
    "no rows of products": (lambda: core.RowProducts(sparse([0], 0), np.ones(1), 1), "rows: from 1 to 65536, got 0"),
    "inputs": (
        lambda: core.LayerSpec(BEYOND, 1, core.Activation.identity, 0, 0, 0, 0, True),
        f"inputs of a layer: from 1 to 1073741824, got {BEYOND}",
    ),
    "outputs": (
        lambda: core.LayerSpec(1, BEYOND, core.Activation.identity, 0, 0, 0, 0, True),
        f"outputs of a layer: from 1 to 16777216, got {BEYOND}",
    ),
    "outputs of a linear model": (
        lambda: core.Linear(columns(repeated(2, 2)), np.zeros(2), core.Family.normal, 0.0, BEYOND, 1),
        f"outputs: from 1 to 16777216, got {BEYOND}",
    ),
    "batch": (
        lambda: core.TrainerF32(NETWORK.to_core(), Adam(0.1).to_core(), 2**60, 0, 1),
        "batch_rows",
    ),
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_what_the_core_cannot_count_is_refused(what: str) -> None:
    make, message = TOO_MUCH[what]
    with pytest.raises(ValueError, match=message):
        make()


X = columns(repeated(2, 2, "float64"))
THREADED: dict[str, Callable[[int], object]] = {
    "objective": lambda threads: core.ObjectiveF64(NETWORK.to_core(), threads),
    "trainer": lambda threads: core.TrainerF64(NETWORK.to_core(), Adam(0.1).to_core(), 5, 0, threads),
    "linear": lambda threads: core.Linear(X, np.zeros(2), core.Family.normal, 0.0, 1, threads),
    "binaries": lambda threads: core.Binaries(X, np.zeros(2), threads),
    "L-BFGS history": lambda threads: core.LbfgsHistoryF64(10, 0, 2, threads),
    "row products": lambda threads: core.RowProducts(sparse([0, 3]), np.ones(1), threads),
    "cutoffs": lambda threads: core.cutoffs(np.ones(2), np.ones(2, np.uint8), np.ones(2), threads),
    "wins": lambda threads: core.pairwise_wins(
        np.ones(2), np.zeros(2, np.int32), None, 0, np.zeros(2), np.zeros(2), threads
    ),
    "first_nonfinite": lambda threads: core.first_nonfinite(np.ones((2, 2)), threads),
}


@pytest.mark.parametrize("what", THREADED)
def test_a_number_of_threads_is_one_that_a_team_can_have(what: str) -> None:
    THREADED[what](1024)
    for threads in (0, -1, 1025, 5000):
        with pytest.raises(ValueError, match=f"threads: from 1 to 1024, got {threads}"):
            THREADED[what](threads)


def test_rows_are_counted_in_64_bits(tmp_path: Path) -> None:
    """A table of 2^32 rows and more, of which the last ones have content: read as if they were alone."""
    count, last = 2**32 + 11, 7
    x = np.memmap(tmp_path / "x", np.uint8, "w+", shape=(count, 4))
    tail = np.random.default_rng(0).integers(0, 9, (last, 4)).astype(np.uint8)
    x[-last:] = tail
    objective = core.ObjectiveF32(NETWORK.to_core(), 1)
    objective.set_theta(np.linspace(-1, 1, NETWORK.size, dtype=np.float32))
    whole, alone = columns(x), columns(tail)
    expected, found = np.empty((last, 3), np.float32), np.empty((last, 3), np.float32)
    objective.predict(alone, 0, last, True, expected)
    objective.predict(whole, count - last, last, True, found)
    assert found.tobytes() == expected.tobytes()
    labels = np.memmap(tmp_path / "labels", np.int32, "w+", shape=count)
    labels[-last:] = np.arange(last) % 3
    total, part = np.empty(NETWORK.size), np.empty(NETWORK.size)
    assert objective.sums(whole, labels, None, None, None, count - last, last, total) == objective.sums(
        alone, labels[-last:].copy(), None, None, None, 0, last, part
    )
    assert total.tobytes() == part.tobytes()
    for first, rows in ((count - last, last + 1), (count, 1), (2**63 - 1, 2), (1, 2**63 - 1), (-1, 1), (0, 0)):
        with pytest.raises(ValueError, match="rows out of range"):
            objective.predict(whole, first, rows, True, found)


def test_widths_are_compared_in_64_bits(tmp_path: Path) -> None:
    """An array of 2^32 + 3 outputs is not one of 3."""
    wide = np.memmap(tmp_path / "wide", np.float32, "w+", shape=(1, 2**32 + 3))
    objective = core.ObjectiveF32(NETWORK.to_core(), 1)
    x = columns(repeated(1, 4))
    with pytest.raises(ValueError, match="values: rows x outputs"):
        objective.sums(x, None, wide, None, None, 0, 1, None)
    with pytest.raises(ValueError, match="offset: rows x outputs"):
        objective.sums(x, np.zeros(1, np.int32), None, None, wide, 0, 1, None)
    with pytest.raises(ValueError, match="out: rows x outputs"):
        objective.predict(x, 0, 1, True, wide)
    trainer = core.TrainerF32(NETWORK.to_core(), Adam(0.1).to_core(), 1, 0, 1)
    trainer.set_data(x, np.zeros(1, np.int32), None, None, None, False, 1.0)
    with pytest.raises(ValueError, match="fitted: rows x outputs"):
        trainer.set_fitted(wide)
    linear = core.Linear(columns(repeated(1, 4)), np.zeros(4), core.Family.categorical, 0.0, 3, 1)
    doubles = np.memmap(tmp_path / "wide", np.float64, "r+", shape=(1, 2**31 + 1))
    with pytest.raises(ValueError, match="out: rows x outputs"):
        linear.predict(np.zeros(15), doubles)
    with pytest.raises(ValueError, match="outputs: from 1 to 16777216"):
        core.head_rows(core.Family.normal, 0.0, doubles, mean=doubles)
    with pytest.raises(ValueError, match=r"fewer than 2\^32"):
        core.permutation(0, 0, np.memmap(tmp_path / "wide", np.uint32, "r+", shape=2**32 + 3))


def test_a_batch_may_be_larger_than_any_table(rows: tuple[Any, Any]) -> None:
    """As it is where the size of a batch is that of a table: those of more than 2^31 rows, too."""
    x, labels = (np.concatenate([part] * 8) for part in rows)
    ends = set()
    for batch in (len(x), 2**31 + 5, 2**40):
        trainer = trainer_on(x, labels, batch=batch)
        assert epoch(trainer, 0).steps == 1
        ends.add(theta_of(trainer))
    assert len(ends) == 1
    assert core.useful_threads(NETWORK.to_core(), 2**40, 4) == 4


# ---- custom losses ----


def test_a_custom_loss_is_called_by_the_calling_thread_alone() -> None:
    """Whatever number of threads the core is asked for."""
    import threading

    callers = set()

    def squares(z: Any, t: Any) -> tuple[Any, Any]:
        callers.add(threading.get_ident())
        return ((z - t) ** 2).sum(axis=1) / 2, z - t

    layer = core.LayerSpec(4, 3, core.Activation.identity, 0, 0, 0, 0, True)
    network = core.Network([layer], core.Family.custom, 0.0, squares)
    core.set_teams_of_any_size(True)
    try:
        assert core.useful_threads(network, 1000, 8) == 1
    finally:
        core.set_teams_of_any_size(False)
    rng = np.random.default_rng(0)
    x, values = rng.normal(size=(300, 4)).astype(np.float32), rng.normal(size=(300, 3)).astype(np.float32)
    ends = set()
    for threads in (1, 2, 3):
        trainer = core.TrainerF32(network, Adam(0.05).to_core(), 50, 3, threads)
        trainer.write(0, np.zeros(15, np.float32))
        trainer.set_data(columns(x), None, values, None, None, True, 1.0)
        trainer.begin_epoch(0)
        trainer.run(np.full(6, 0.05), 60, threads)
        theta, gradient = np.empty(15, np.float32), np.empty(15)
        trainer.read(0, theta)
        objective = core.ObjectiveF32(network, threads)
        objective.set_theta(theta)
        objective.sums(columns(x), None, values, None, None, 0, 300, gradient)
        ends.add(theta.tobytes() + gradient.tobytes())
    assert callers == {threading.get_ident()}
    assert len(ends) == 1


def test_an_error_of_a_custom_loss_reaches_the_caller_from_any_number_of_threads() -> None:
    def broken(z: Any, t: Any) -> tuple[Any, Any]:
        raise KeyError("mine")

    layer = core.LayerSpec(4, 3, core.Activation.identity, 0, 0, 0, 0, True)
    network = core.Network([layer], core.Family.custom, 0.0, broken)
    trainer = core.TrainerF32(network, Adam(0.05).to_core(), 50, 3, 3)
    x, values = np.ones((300, 4), np.float32), np.ones((300, 3), np.float32)
    trainer.set_data(columns(x), None, values, None, None, True, 1.0)
    trainer.begin_epoch(0)
    with pytest.raises(KeyError, match="mine"):
        trainer.run(np.full(6, 0.05), 60, 3)
    with pytest.raises(KeyError, match="mine"):
        core.ObjectiveF32(network, 3).sums(columns(x), None, values, None, None, 0, 300, None)


# ---- one call at a time ----


def test_an_object_that_computes_refuses_a_second_call() -> None:
    """From inside a custom loss, where the moment is certain; what is refused spoils nothing."""
    refused: list[str] = []
    calls: dict[str, Callable[[], object]] = {}

    def squares(z: Any, t: Any) -> tuple[Any, Any]:
        for name, call in calls.items():
            with pytest.raises(RuntimeError, match="in use by another call"):
                call()
            refused.append(name)
        return ((z - t) ** 2).sum(axis=1) / 2, z - t

    layer = core.LayerSpec(4, 3, core.Activation.identity, 0, 0, 0, 0, True)
    network = core.Network([layer], core.Family.custom, 0.0, squares)
    rng = np.random.default_rng(0)
    x, values = columns(rng.normal(size=(60, 4))), rng.normal(size=(60, 3))
    out, theta, rates = np.empty((60, 3)), np.empty(15), np.full(2, 0.05)
    objective = core.ObjectiveF64(network, 1)
    objective.set_theta(np.linspace(-1, 1, 15))
    alone = objective.sums(x, None, values, None, None, 0, 60, theta)
    calls |= {
        "use_threads": lambda: objective.use_threads(1),
        "set_theta": lambda: objective.set_theta(np.zeros(15)),
        "sums": lambda: objective.sums(x, None, values, None, None, 0, 60, None),
        "predict": lambda: objective.predict(x, 0, 60, True, out),
    }
    assert objective.sums(x, None, values, None, None, 0, 60, theta) == alone
    assert set(refused) == set(calls)

    def trained() -> bytes:
        trainer.write(0, np.linspace(-1, 1, 15))
        trainer.set_data(x, None, values, None, None, True, 1.0)
        trainer.begin_epoch(0)
        trainer.run(rates, 60, 1)
        end = np.empty(15)
        trainer.read(0, end)
        return end.tobytes()

    refused.clear()
    calls.clear()
    trainer = core.TrainerF64(network, Adam(0.05).to_core(), 30, 3, 1)
    expected = trained()
    trainer = core.TrainerF64(network, Adam(0.05).to_core(), 30, 3, 1)
    calls |= {
        "set_data": lambda: trainer.set_data(x, None, values, None, None, True, 1.0),
        "forget_data": trainer.forget_data,
        "set_fitted": lambda: trainer.set_fitted(None),
        "begin_epoch": lambda: trainer.begin_epoch(1),
        "run": lambda: trainer.run(rates, 60, 1),
        "read": lambda: trainer.read(0, theta),
        "write": lambda: trainer.write(0, theta),
        "finite": trainer.finite,
        "updates": lambda: setattr(trainer, "updates", 3),
    }
    assert trained() == expected
    assert set(refused) == set(calls)
