"""Patience: when training ends or slows down, decided by scripted metric values."""

from typing import Any

import numpy as np
import pytest

from linnet.errors import ConfigError
from linnet.fit.loop.optimizers import SGD
from linnet.fit.loop.schedules import Schedule, StepDecay
from linnet.fit.loop.stopping import EarlyStopping, ReduceLROnPlateau, Seen, Watch, choose_one

from .scripted import bias_of, training_of

NAN = float("nan")


def improvements(values: list[float], rule: EarlyStopping, *, greater: bool = False) -> list[bool]:
    watch = Watch(rule, {"val_loss": greater}, Seen())
    return [watch.improved({"val_loss": value}) for value in values]


def test_watch_knows_the_direction() -> None:
    values = [2.0, 1.0, 3.0, 3.0]
    assert improvements(values, EarlyStopping()) == [True, True, False, False]
    assert improvements(values, EarlyStopping(), greater=True) == [True, False, True, False]
    assert improvements(values, EarlyStopping(mode="max")) == [True, False, True, False]
    assert improvements(values, EarlyStopping(mode="min"), greater=True) == [True, True, False, False]


def test_watch_asks_for_more_than_min_delta_below_the_best() -> None:
    rule = EarlyStopping(min_delta=0.5)
    assert improvements([4.0, 3.75, 3.5, 3.25, 3.0, 2.5], rule) == [True, False, False, True, False, True]


def test_watch_never_takes_nan_for_an_improvement() -> None:
    assert improvements([NAN, NAN, 2.0, NAN, 1.0], EarlyStopping()) == [False, False, True, False, True]


def test_watch_counts_the_epochs_since_the_best() -> None:
    watch = Watch(EarlyStopping(monitor="loss"), {"loss": False}, Seen())
    waited = []
    for value in [3.0, 4.0, 4.0, 2.0, 2.0]:
        watch.improved({"loss": value})
        waited.append(watch.seen.waited)
    assert waited == [0, 1, 2, 0, 1]
    assert watch.seen.best == 2.0


@pytest.mark.parametrize("rule", [EarlyStopping, ReduceLROnPlateau])
def test_a_number_that_will_not_be_there_is_refused_before_training(rule: Any) -> None:
    name = "stopping" if rule is EarlyStopping else "plateau"
    with pytest.raises(ConfigError, match=r"monitors 'val_loss', but there are no validation rows"):
        training_of([1.0], **{name: rule()})
    with pytest.raises(ConfigError, match="unknown metric to monitor 'los': did you mean 'loss'"):
        training_of([1.0], **{name: rule(monitor="los")})


@pytest.mark.parametrize(
    ("patience", "epochs"),
    [(0, 4), (1, 4), (2, 5), (3, 6), (4, 8)],
)
def test_training_stops_when_patience_runs_out(patience: int, epochs: int) -> None:
    """The best is epoch 3; every epoch adds the learning rate to the bias."""
    values = [3.0, 2.0, 1.0, 1.0, 1.5, 2.0, 0.5, 0.75]
    training = training_of(values, stopping=EarlyStopping("score", patience))
    records = list(training)
    best = 7 if patience == 4 else 3
    assert len(records) == epochs
    assert bias_of(training) == best
    if patience == 4:
        assert training.stop_reason == "all 8 epochs done"
    else:
        waited = max(patience, 1)
        assert training.stop_reason == f"score did not improve for {waited} epochs (best 1 at epoch 3)"


def test_the_last_parameters_stay_unless_the_best_are_asked_for() -> None:
    rule = EarlyStopping("score", patience=2, restore_best_weights=False)
    training = training_of([1.0, 2.0, 3.0, 4.0], stopping=rule)
    assert len(list(training)) == 3
    assert bias_of(training) == 3


def test_the_best_comes_back_when_the_epochs_run_out_too() -> None:
    training = training_of([3.0, 1.0, 2.0], stopping=EarlyStopping("score", patience=10))
    list(training)
    assert bias_of(training) == 2


def test_the_best_comes_back_when_the_reader_leaves() -> None:
    training = training_of([3.0, 1.0, 2.0, 4.0], stopping=EarlyStopping("score", patience=10))
    records = iter(training)
    for _ in range(3):
        next(records)
    assert bias_of(training) == 3
    records.close()  # type: ignore[attr-defined]
    del records
    assert bias_of(training) == 2


def test_greater_scores_are_better_where_the_metric_says_so() -> None:
    training = training_of([1.0, 3.0, 2.0, 2.0], greater=True, stopping=EarlyStopping("score", patience=2))
    list(training)
    assert bias_of(training) == 2


def test_a_number_that_is_never_defined_ends_training_without_a_best() -> None:
    training = training_of([NAN] * 5, stopping=EarlyStopping("score", patience=2))
    assert len(list(training)) == 2
    assert bias_of(training) == 2
    assert training.stop_reason == "score did not improve for 2 epochs (always NaN)"


def rates(values: list[float], rule: ReduceLROnPlateau, rate: float | Schedule = 1.0) -> list[float]:
    """The learning rate of every epoch, checked against what the bias did."""
    training = training_of(values, plateau=rule, rate=rate)
    recorded, biases = [], [0.0]
    for record in training:
        recorded.append(record.learning_rate)
        biases.append(bias_of(training))
    assert np.diff(biases) == pytest.approx(recorded)
    return recorded


def test_a_plateau_slows_down() -> None:
    rule = ReduceLROnPlateau("score", factor=0.5, patience=2)
    assert rates([1.0] * 8, rule) == [1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.125]
    assert rates([8.0, 7, 6, 5, 4, 3, 2, 1], rule) == [1] * 8
    assert rates([5.0, 5, 4, 4, 3, 3, 3, 3], rule) == [1] * 7 + [0.5]


def test_patience_of_zero_slows_down_after_every_epoch_without_improvement_and_no_other() -> None:
    rule = ReduceLROnPlateau("score", factor=0.5, patience=0)
    assert rates([4.0, 3, 2, 2, 1, 1, 1], rule) == [1, 1, 1, 1, 0.5, 0.5, 0.25]


def test_small_improvements_do_not_count() -> None:
    rule = ReduceLROnPlateau("score", factor=0.5, patience=1, min_delta=0.5)
    assert rates([2.0, 1.75, 1.0, 0.25], rule) == [1, 1, 0.5, 0.5]


def test_a_floor_to_the_rate() -> None:
    rule = ReduceLROnPlateau("score", factor=0.1, patience=1, min_lr=0.05)
    assert rates([1.0] * 6, rule) == pytest.approx([1, 1, 0.1, 0.05, 0.05, 0.05])


def test_a_pause_after_slowing_down() -> None:
    """The epochs of the pause do not count towards the next patience."""
    rule = ReduceLROnPlateau("score", factor=0.5, patience=1, cooldown=2)
    assert rates([1.0] * 9, rule) == [1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125]


def test_a_plateau_comes_on_top_of_a_schedule() -> None:
    rule = ReduceLROnPlateau("score", factor=0.1, patience=1)
    schedule = StepDecay(1.0, drop=0.5, every=2)
    assert rates([1.0] * 5, rule, rate=schedule) == pytest.approx([1, 1, 0.05, 0.005, 0.00025])


def test_callbacks_as_users_of_keras_write_them() -> None:
    stopping, plateau = EarlyStopping(), ReduceLROnPlateau()
    assert choose_one([plateau, stopping]) == (stopping, plateau)
    assert choose_one(None) == (None, None)
    assert choose_one([]) == (None, None)
    for bad in ([stopping, stopping], [plateau, plateau], [SGD()]):
        with pytest.raises(ConfigError, match="callbacks may hold one EarlyStopping and one ReduceLROnPlateau, got "):
            choose_one(bad)


@pytest.mark.parametrize("rule", [EarlyStopping, ReduceLROnPlateau])
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"patience": -1}, "patience must be an integer of at least 0, got -1"),
        ({"min_delta": -0.1}, "min_delta must be at least 0 and finite, got -0.1"),
        ({"min_delta": NAN}, "min_delta must be at least 0 and finite, got nan"),
        ({"mode": "least"}, "unknown mode 'least': choose from: auto, min, max"),
    ],
)
def test_a_bad_rule_is_refused(rule: type, setting: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rule(**setting)


@pytest.mark.parametrize(
    "setting", [{"factor": 0.0}, {"factor": 1.0}, {"factor": NAN}, {"cooldown": -1}, {"min_lr": -1.0}]
)
def test_a_bad_plateau_is_refused(setting: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(setting))):
        ReduceLROnPlateau(**setting)  # type: ignore[arg-type]
