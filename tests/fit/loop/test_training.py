"""The training loop: what a plan may contain, what the records hold, and how a run ends."""

from itertools import pairwise

import numpy as np
import pytest

from linnet.data.rows import Rows
from linnet.errors import ConfigError, FitError
from linnet.fit.loop import training as loop
from linnet.fit.loop.optimizers import SGD, Adam, Optimizer
from linnet.fit.loop.schedules import ExponentialDecay
from linnet.fit.loop.steps import ONE_STEP, Slice
from linnet.fit.loop.stopping import EarlyStopping
from linnet.fit.loop.training import Epoch, OptimizerState, Plan, Training
from linnet.heads import Normal
from linnet.model.network import Layer, Network

from .scripted import bias_of, training_of

LINE = Network(1, (Layer(1),), Normal())


@pytest.mark.parametrize("name", ["epochs", "batch_size"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3", None])
def test_a_plan_counts_in_whole_numbers(name: str, value: object) -> None:
    message = f"{name} must be an integer of at least 1, got {value!r}"
    with pytest.raises(ConfigError, match=message):
        Plan(SGD(), **{name: value})  # type: ignore[arg-type]
    assert getattr(Plan(SGD(), **{name: np.int64(3)}), name) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1e-3, float("nan"), float("inf")])
def test_a_plan_has_a_tolerance_of_at_least_zero(value: float) -> None:
    with pytest.raises(ConfigError, match=f"tolerance must be at least 0 and finite, got {value!r}"):
        Plan(SGD(), tolerance=value)


def test_records_tell_the_epochs_and_the_rates() -> None:
    training = training_of([5.0, 6.0, 7.0], rate=ExponentialDecay(1.0, decay=0.5))
    assert training.stop_reason == "not started"
    records = list(training)
    assert [record.epoch for record in records] == [1, 2, 3]
    assert [record.numbers["score"] for record in records] == [5.0, 6.0, 7.0]
    assert [record.learning_rate for record in records] == [1.0, 0.5, 0.25]
    assert all(record.seconds >= 0 for record in records)
    assert records[0].numbers["loss"] == 1e6
    assert records[1].numbers["loss"] == 1e6 - 1
    assert training.stop_reason == "all 3 epochs done"
    assert not training.interrupted
    assert bias_of(training) == 1.75


def test_slices_count_the_steps_of_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_SLICE_SECONDS", 0)
    rows = Rows(np.zeros((100, 1)), values=np.zeros((100, 1)))
    training = Training(LINE, np.zeros(2), rows, Plan(SGD(), epochs=2, batch_size=1))
    records = list(training.records())
    epochs = [record for record in records if isinstance(record, Epoch)]
    slices = [record for record in records if isinstance(record, Slice)]
    assert [record.epoch for record in epochs] == [1, 2]
    assert {record.steps for record in slices} == {100}
    first = [record.step for record in slices if record.epoch == 1]
    assert len(first) > 1
    assert first == sorted(set(first))
    assert all(0 < step < 100 for step in first)


def test_a_run_can_go_step_by_step_and_be_looked_at_inside_an_epoch() -> None:
    rows = Rows(np.ones((5, 1)), values=np.full((5, 1), 2.0))
    plan = Plan(SGD(0.1), epochs=2, batch_size=1, threads=1)
    whole = Training(LINE, np.zeros(2), rows, plan)
    for _ in whole:
        pass
    stepped = Training(LINE, np.zeros(2), rows, plan)
    stepped.slice_seconds = ONE_STEP
    seen = [stepped.now()[0] for _ in stepped.records()]
    assert len(seen) == 10
    assert all(before < after for before, after in pairwise(seen))
    assert np.array_equal(stepped.theta, whole.theta)


@pytest.mark.parametrize(("tolerance", "epochs"), [(0.5, 2), (0.34, 3), (0.2, 4), (0.12, 5), (0.0, 6), (None, 6)])
def test_convergence_is_a_change_within_a_part_of_the_loss(tolerance: float | None, epochs: int) -> None:
    """Steps of 1, 1/2, 1/4 ... leave losses of 3, 2, 3/2, 5/4, 9/8: changes of 1/2, 1/3, 1/5, 1/9 of themselves."""
    training = training_of(target=3.0, rate=ExponentialDecay(1.0, decay=0.5), epochs=6, tolerance=tolerance)
    losses = [record.numbers["loss"] for record in training]
    assert losses == [3, 2, 1.5, 1.25, 1.125, 1.0625][:epochs]
    done = epochs == 6
    reason = "all 6 epochs done" if done else f"converged: the loss changed by less than {tolerance:g} of itself"
    assert training.stop_reason == reason


def test_a_tolerance_of_zero_ends_where_nothing_changes() -> None:
    training = training_of(target=0.0, epochs=6, tolerance=0.0)
    assert [record.numbers["loss"] for record in training] == [0, 0]


def test_a_loss_that_is_not_a_number_names_epoch_step_and_rate() -> None:
    """w goes to 1e160 in the first step; its square, the loss of the second, is infinite."""
    rows = Rows(np.ones((3, 1)), values=np.ones((3, 1)))
    theta = np.zeros(2)
    training = Training(LINE, theta, rows, Plan(SGD(1e160), epochs=5, batch_size=1))
    message = "loss became non-finite at epoch 1, step 2; lower learning_rate from 1e\\+160, or scale the inputs"
    with pytest.raises(FitError, match=message):
        list(training)
    assert training.stop_reason == "diverged"
    np.testing.assert_array_equal(training.theta, theta)


def test_the_last_good_parameters_are_those_of_the_last_whole_epoch() -> None:
    rows = Rows(np.ones((3, 1)), values=np.ones((3, 1)))
    training = Training(LINE, np.zeros(2), rows, Plan(SGD(1e160), epochs=5, batch_size=3))
    records = iter(training)
    next(records)
    good = training.theta.copy()
    assert good.tolist() == [1e160, 1e160]
    with pytest.raises(FitError, match="non-finite at epoch 2, step 1"):
        next(records)
    np.testing.assert_array_equal(training.theta, good)


def test_the_best_parameters_are_kept_when_training_diverges() -> None:
    rows = Rows(np.ones((3, 1)), values=np.ones((3, 1)))
    plan = Plan(SGD(1e60), epochs=50, batch_size=3, stopping=EarlyStopping("loss", patience=50))
    training = Training(LINE, np.zeros(2), rows, plan)
    records = iter(training)
    next(records)
    best = training.theta.copy()
    with pytest.raises(FitError, match="non-finite at epoch "):
        list(records)
    np.testing.assert_array_equal(training.theta, best)


def test_parameters_that_leave_the_range_in_the_last_step_are_caught() -> None:
    """The loss of the only step is finite, but the step is too large for a float32."""
    rows = Rows(np.full((1, 1), 1e3, np.float32), values=np.full((1, 1), 1e3, np.float32))
    theta = np.zeros(2, np.float32)
    training = Training(LINE, theta, rows, Plan(SGD(1e35)))
    with pytest.raises(FitError, match="parameters became non-finite in epoch 1; lower learning_rate from 1e\\+35"):
        list(training)
    np.testing.assert_array_equal(training.theta, theta)


def test_predictions_that_leave_the_range_after_the_last_step_are_caught() -> None:
    """All losses and parameters are finite, but not w x at the parameters of the only step."""
    rows = Rows(np.full((1, 1), 1e150), values=np.ones((1, 1)))
    training = Training(LINE, np.zeros(2), rows, Plan(SGD(1e10)))
    with pytest.raises(FitError, match="predictions became non-finite in epoch 1; lower learning_rate from 1e\\+10"):
        list(training)
    assert training.stop_reason == "diverged"


@pytest.mark.parametrize("optimizer", [SGD(1e160, momentum=0.9), Adam(1e200)], ids=str)
def test_a_run_after_divergence_can_go_on_from_theta_and_state(optimizer: Optimizer) -> None:
    rows = Rows(np.ones((3, 1)), values=np.ones((3, 1)))
    training = Training(LINE, np.zeros(2), rows, Plan(optimizer, epochs=5, batch_size=1))
    with pytest.raises(FitError):
        list(training)
    tamer = SGD(0.1, momentum=0.9) if isinstance(optimizer, SGD) else Adam(0.1)
    second = Training(LINE, training.theta, rows, Plan(tamer, epochs=5), state=training.state())
    assert [np.isfinite(record.numbers["loss"]) for record in second] == [True] * 5


def test_batches_are_no_larger_than_the_table() -> None:
    training = training_of(batch_size=1000)
    records = [record for record in training.records() if isinstance(record, Epoch)]
    assert len(records) == 1
    assert bias_of(training) == 1


def test_a_new_state_is_empty() -> None:
    training = training_of(epochs=2)
    list(training)
    assert training.state() == OptimizerState((), updates=2, epochs=2)
