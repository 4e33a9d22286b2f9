"""A run that is left, read from its file and continued ends with the bytes of one that was never left."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.data.rows import Rows
from linnet.errors import CheckpointWarning, ConfigError, FitError
from linnet.fit.checkpoint import checkpoint as checkpoint_module
from linnet.fit.checkpoint.checkpoint import Checkpoint, checkpointed, read_checkpoint, resumed
from linnet.fit.loop.optimizers import SGD, Adam
from linnet.fit.loop.schedules import Cosine
from linnet.fit.loop.training import Epoch, OptimizerState, Plan, Training
from linnet.heads import Normal
from linnet.model.network import Layer, Network

from .runs import BASE, HELD, NETWORK, PLANS, ROWS, leave_after, start, training_of, without_times


def finish(path: Path, plan: Plan) -> tuple[Training, list[Any]]:
    saved = read_checkpoint(path)
    training = resumed(saved, training_of(plan))
    return training, [*saved.history, *checkpointed(training, Checkpoint(path), saved=saved)]


def state_bytes(training: Training) -> tuple[Any, ...]:
    state = training.state()
    return training.theta.tobytes(), [a.tobytes() for a in state.arrays], state.updates, state.epochs, state.slowdown


@pytest.mark.usefixtures("teams_of_any_size")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", PLANS)
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(name: str, threads: int, tmp_path: Path) -> None:
    plan = replace(PLANS[name], threads=3 - threads)
    whole = training_of(plan)
    history = list(whole)
    for epochs in {0, 1, 2, len(history) // 2, len(history) - 1, len(history)}:
        path = tmp_path / f"{epochs}.ckpt"
        leave_after(epochs, training_of(plan), path, every=5)
        assert read_checkpoint(path).finished == (epochs == len(history))
        training, records = finish(path, replace(plan, threads=threads))
        assert without_times(records) == without_times(history)
        assert state_bytes(training) == state_bytes(whole)
        assert training.stop_reason == whole.stop_reason


def test_the_plans_do_what_they_are_there_for() -> None:
    """The test above is about patience, plateaus and tolerance only if they act, and on epochs of both parts."""
    patient = training_of(PLANS["patience"])
    assert 5 < len(list(patient)) < 50
    assert "did not improve" in patient.stop_reason
    slowed = training_of(PLANS["plateau"])
    list(slowed)
    assert slowed.state().slowdown < 0.5**2
    converged = training_of(PLANS["tolerance"])
    assert 3 < len(list(converged)) < 50
    assert "converged" in converged.stop_reason


def test_a_run_may_be_resumed_after_every_epoch(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    plan = PLANS["patience"]
    whole = training_of(plan)
    history = list(whole)
    leave_after(1, training_of(plan), path)
    while not (saved := read_checkpoint(path)).finished:
        leave_after(1, resumed(saved, training_of(plan)), path, saved=saved)
    training, records = finish(path, plan)
    assert without_times(records) == without_times(history)
    assert state_bytes(training) == state_bytes(whole)


def test_a_second_run_on_the_same_optimizer_is_resumed_as_the_second(tmp_path: Path) -> None:
    """Its epochs are counted from the first run's end, and so is the schedule."""
    path = tmp_path / "run.ckpt"
    plan = replace(BASE, optimizer=Adam(Cosine(0.05, epochs=10)), epochs=4)
    first = training_of(plan)
    list(first)

    def second() -> Training:
        return Training(NETWORK, first.theta, ROWS, plan, HELD, first.state())

    whole = second()
    history = list(whole)
    assert [record.epoch for record in history] == [5, 6, 7, 8]
    leave_after(2, second(), path)
    training, records = finish(path, plan)
    assert without_times(records) == without_times(history)
    assert state_bytes(training) == state_bytes(whole)


def test_float32_stays_float32(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    rows = Rows(np.asarray(ROWS.x, "float32"), labels=ROWS.labels)

    def training() -> Training:
        return Training(NETWORK, start().astype("float32"), rows, BASE)

    whole = training()
    list(whole)
    leave_after(5, training(), path)
    saved = read_checkpoint(path)
    again = resumed(saved, training())
    list(checkpointed(again, Checkpoint(path), saved=saved))
    assert again.theta.dtype == np.float32
    assert again.theta.tobytes() == whole.theta.tobytes()


# ---- when it is written ----


def epochs_on_disk(path: Path, records: Any) -> list[int]:
    """Epochs in the file when each epoch's record comes."""
    return [len(read_checkpoint(path).history) for record in records if isinstance(record, Epoch)]


def test_written_every_so_many_epochs_and_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    records = checkpointed(training_of(replace(BASE, epochs=8)), Checkpoint(path, epochs=3))
    assert len(read_checkpoint(path).history) == 0
    assert epochs_on_disk(path, records) == [0, 0, 3, 3, 3, 6, 6, 8]
    assert read_checkpoint(path).finished
    assert len(read_checkpoint(tmp_path / "run.ckpt.previous").history) == 6


def test_written_every_so_many_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, clock = tmp_path / "run.ckpt", iter(range(1000))
    monkeypatch.setattr(checkpoint_module, "monotonic", lambda: 10 * next(clock))
    records = checkpointed(training_of(replace(BASE, epochs=7)), Checkpoint(path, seconds=25))
    assert epochs_on_disk(path, records) == [0, 0, 3, 3, 3, 6, 7]


def test_leaving_early_keeps_the_last_epoch_whatever_the_interval(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    records = checkpointed(training_of(BASE), Checkpoint(path, seconds=1e6))
    epochs = (record for record in records if isinstance(record, Epoch))
    for _ in range(4):
        next(epochs)
    assert len(read_checkpoint(path).history) == 0
    records.close()
    assert len(read_checkpoint(path).history) == 4
    _, history = finish(path, BASE)
    assert without_times(history) == without_times(training_of(BASE))


def test_divergence_keeps_the_last_good_epoch(tmp_path: Path) -> None:
    plan = Plan(SGD(1e160), epochs=50, batch_size=1)
    rows = Rows(np.ones((3, 1)), values=np.ones((3, 1)))
    training = Training(Network(1, (Layer(1),), Normal()), np.zeros(2), rows, plan)
    with pytest.raises(FitError, match="non-finite"):
        list(checkpointed(training, Checkpoint(tmp_path / "run.ckpt", seconds=1e6)))
    saved = read_checkpoint(tmp_path / "run.ckpt")
    assert np.isfinite(saved.snapshots[0].theta).all()
    assert not saved.finished


def test_ctrl_c_within_an_epoch_keeps_the_epoch_before(tmp_path: Path) -> None:
    class Interrupts:
        name, greater_is_better, calls = "interrupts", True, 0

        def __call__(self, mean: object, rows: Rows) -> float:
            self.calls += 1
            if self.calls == 6:
                raise KeyboardInterrupt
            return 0.0

    path = tmp_path / "run.ckpt"
    training = Training(NETWORK, start(), ROWS, replace(BASE, metrics=[Interrupts()]))
    list(checkpointed(training, Checkpoint(path, epochs=100)))
    assert training.interrupted
    assert len(read_checkpoint(path).history) == 5
    assert not read_checkpoint(path).finished


def test_a_finished_run_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    whole = training_of(PLANS["patience"])
    history = list(checkpointed(whole, Checkpoint(path)))
    before = path.read_bytes(), path.stat().st_mtime_ns
    training, records = finish(path, PLANS["patience"])
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert without_times(records) == without_times(history)
    assert training.theta.tobytes() == whole.theta.tobytes()


@pytest.mark.parametrize("bad", [{"epochs": 0}, {"epochs": 1.5}, {"seconds": -1.0}, {"epochs": 1, "seconds": 1.0}])
def test_an_interval_without_meaning_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"epochs|seconds"):
        Checkpoint("run.ckpt", **bad)


def test_a_path_is_a_path() -> None:
    with pytest.raises(ConfigError, match="needs the path of a file, got True"):
        Checkpoint(True)  # type: ignore[arg-type]


def test_a_path_that_cannot_be_written_to_is_refused_before_the_first_epoch(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.ckpt").mkdir()
    for path in (tmp_path / "nowhere" / "run.ckpt", tmp_path / "file" / "run.ckpt", tmp_path / "folder.ckpt"):
        with pytest.raises(ConfigError, match=f"cannot write a checkpoint to {path}: "):
            checkpointed(training_of(BASE), Checkpoint(path))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder.ckpt"]


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match=r"table.csv exists and is not a checkpoint"):
        checkpointed(training_of(BASE), Checkpoint(path))
    assert path.read_text() == "a,b\n1,2\n"


def test_a_folder_that_vanishes_is_one_warning_and_the_run_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    whole = training_of(BASE)
    list(whole)
    training = training_of(BASE)
    records = checkpointed(training, Checkpoint(folder / "run.ckpt"))
    for record in records:
        if isinstance(record, Epoch) and record.epoch == 3:
            break
    shutil.rmtree(folder)
    with pytest.warns(CheckpointWarning, match=r"run.ckpt: No such .* training continues.* after 3 epochs") as caught:
        list(records)
    assert len(caught) == 1
    assert training.theta.tobytes() == whole.theta.tobytes()


def test_a_relative_path_is_meant_where_the_run_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    records = checkpointed(training_of(BASE), Checkpoint("run.ckpt"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    list(records)
    assert read_checkpoint(tmp_path / "run.ckpt").finished
    assert not list((tmp_path / "elsewhere").iterdir())


# ---- what is in it ----


def test_the_owner_finds_what_it_left(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    model = {"class": "MLPClassifier", "params": {"hidden_layer_sizes": [9]}, "classes": ["a", "b\n", "ç"]}
    leave_after(2, training_of(BASE), path, model=model)
    saved = read_checkpoint(path)
    assert saved.model == model
    leave_after(1, resumed(saved, training_of(BASE)), path, saved=saved)
    assert read_checkpoint(path).model == model


def test_infinite_and_missing_numbers_come_back(tmp_path: Path) -> None:
    class Odd:
        name, greater_is_better = "odd", True

        def __init__(self) -> None:
            self.values = iter([float("nan"), float("inf"), -0.0])

        def __call__(self, mean: object, rows: Rows) -> float:
            return next(self.values)

    path = tmp_path / "run.ckpt"
    training = Training(NETWORK, start(), ROWS, replace(BASE, epochs=3, metrics=[Odd()]))
    history = list(checkpointed(training, Checkpoint(path)))
    assert repr(without_times(read_checkpoint(path).history)) == repr(without_times(history))


def test_a_snapshot_does_not_change_as_the_run_goes_on() -> None:
    training = training_of(PLANS["patience"])
    records = iter(training)
    next(records)
    snapshot = training.snapshot()
    before = repr((snapshot.theta.tobytes(), snapshot.state, snapshot.memory))
    list(records)
    assert repr((snapshot.theta.tobytes(), snapshot.state, snapshot.memory)) == before
    assert isinstance(snapshot.state, OptimizerState)
