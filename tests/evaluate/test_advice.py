"""The advice, and the numbers behind it."""

import numpy as np
import pytest

from linnet import evaluate as ev
from linnet.errors import ConfigError, DataError


def test_rare_positives() -> None:
    y = np.array([1] * 10 + [0] * 990)
    advice = ev.advise(y)
    text = str(advice)
    assert "10 of 1000 rows are positive: 1.0%." in text
    assert advice.misleads["accuracy"] == "always predicting negative already has 0.99, without distinguishing any rows"
    assert "50 false alarms against 10 positives" in advice.misleads["ROC AUC"]
    assert "precision, recall and F1" in advice.suits
    assert "random scores have 0.01," in advice.suits["average precision"]
    assert advice.numbers["constant_f1"] == pytest.approx(ev.f1_score(y, np.ones(1000, int)))
    assert advice.numbers["constant_accuracy"] == ev.accuracy_score(y, np.zeros(1000, int))
    assert "With 10 rows of 1, a recall of 0.8 could be anything from 0.49 to 0.94" in text


def test_balanced_classes() -> None:
    advice = ev.advise([0, 1] * 100)
    assert "accuracy" in advice.suits
    assert "F1" in advice.suits
    assert "ROC AUC" in advice.suits
    assert advice.misleads == {}
    assert "Misleads" not in str(advice)


def test_common_positives() -> None:
    advice = ev.advise([1] * 95 + [0] * 5)
    assert "make the rare class the positive one" in advice.misleads["F1"]
    assert advice.misleads["accuracy"].startswith("always predicting positive already has 0.95")
    assert "balanced accuracy" in advice.suits


def test_the_rarer_of_two_names_is_positive_by_default() -> None:
    y = ["ham"] * 90 + ["spam"] * 10
    assert ev.advise(y).task == "two classes, 'spam' positive"
    assert ev.advise(y, pos_label="ham").numbers["positive_share"] == 0.9
    with pytest.raises(ConfigError, match="pos_label='eggs' is not a label of y"):
        ev.advise(y, pos_label="eggs")
    assert ev.advise([-1, 0, -1]).task == "two classes, 0 positive"


def test_whole_numbers_of_which_each_is_rare_are_a_quantity() -> None:
    y = np.random.default_rng(0).integers(0, 10_000, 2000)
    assert ev.advise(y).task == "a quantity (regression)"
    assert ev.advise(np.repeat(np.arange(150), 40)).task == "150 classes"
    with pytest.raises(ConfigError, match="costs need classes, but y is a quantity"):
        ev.advise(y, costs=[[0, 1], [1, 0]])


def test_costs() -> None:
    y = [0] * 90 + [1] * 10
    advice = ev.advise(y, costs=[[0, 1], [9, 0]])
    assert advice.numbers["cost_never"] == pytest.approx(0.9)
    assert advice.numbers["cost_always"] == pytest.approx(0.9)
    assert advice.numbers["cost_threshold"] == pytest.approx(0.1)
    assert "A miss costs 9 times a false alarm" in str(advice)
    assert "F-beta with beta 3" in advice.suits
    assert "mean cost" in advice.suits
    balanced = ev.advise([0, 1] * 50, costs=[[0, 1], [2, 0]])
    assert "accuracy" not in balanced.suits
    assert balanced.misleads["accuracy"].startswith("it counts misses and false alarms as equally bad")
    turned = ev.advise(["a"] * 10 + ["b"] * 90, costs=[[0, 9], [1, 0]])  # "a" is positive
    assert turned.numbers["cost_threshold"] == pytest.approx(0.1)
    with pytest.raises(DataError, match="costs are 3 x 3, but y has 2 classes"):
        ev.advise(y, costs=np.zeros((3, 3)))
    with pytest.raises(ConfigError, match="costs must be a square matrix"):
        ev.advise(y, costs=[1, 2])


def test_several_classes() -> None:
    y = ["O"] * 900 + ["PER"] * 80 + ["LOC"] * 20
    advice = ev.advise(y, costs=np.ones((3, 3)) - np.eye(3))
    assert "always predicting 'O' has 0.9" in advice.misleads["accuracy and micro F1"]
    assert "micro and macro F1 with negative_class='O'" in advice.suits
    assert advice.misleads["macro F1 without an interval"] == "1 of 3 classes have fewer than 50 rows"
    constant = np.full(1000, "O")
    assert advice.numbers["constant_macro_f1"] == pytest.approx(
        ev.f1_score(y, constant, average="macro", zero_division=0)
    )
    assert advice.numbers["cost_constant"] == pytest.approx(0.1)
    even = ev.advise(np.repeat(np.arange(4), 100))
    assert "accuracy" in even.suits
    assert even.misleads == {}


def test_one_class_and_quantities() -> None:
    assert "always predicts this class" in str(ev.advise([1, 1]))
    rng = np.random.default_rng(0)
    plain = ev.advise(rng.normal(size=200))
    assert plain.task == "a quantity (regression)"
    assert "mean squared error" in plain.suits
    assert "accuracy" in plain.misleads
    wild = ev.advise(np.append(rng.normal(size=200), 1e4))
    assert "mean absolute error" in wild.suits
    assert "mean squared error" in wild.misleads
    assert ev.advise(np.array([0.0, 1.0, 1.0])).task.startswith("two classes")
