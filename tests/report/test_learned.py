from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from linnet.report import facts_of, importance, page
from linnet.report.importance import dependences, importances
from linnet.tables.predictions import Evaluation
from linnet.tables.schema import made_of

from .small_tables import case, facts, table, trained


@pytest.mark.parametrize(
    ("task", "model"),
    [("two classes", "logistic"), ("many classes", "softmax"), ("counts", "poisson"), ("a number", "linear")],
)
def test_coefficients_have_the_intervals_of_inference(task: str, model: str) -> None:
    one, found = case(task, model), facts(task, model).coefficients
    assert found is not None
    assert set(one.training.given) == ({"exposure"} if task == "counts" else set())
    inference = one.model.estimator.inference(one.training.x, one.training.y, **one.training.given)
    by_name = {(f"{row.of_class}: " if row.of_class else "") + row.name: row for row in found.rows}
    assert sorted(by_name) == sorted(inference.names)
    for place, name in enumerate(inference.names):
        row = by_name[name]
        expected = [getattr(inference, key)[place] for key in ("coef", "low", "high", "p_value")]
        assert [row.value, row.low, row.high, row.p_value] == pytest.approx(expected, nan_ok=True)
    assert by_name["size" if task != "many classes" else "red: size"].scale == pytest.approx(1, abs=0.2)


ODD_NAMES = [
    "intercept",
    "(intercept)",
    "(other)",
    "prediction",
    "sample",
    "sample missing",
    "level=low",
    "red: sample",
]


@pytest.mark.parametrize(("task", "model"), [("two classes", "logistic"), ("many classes", "softmax")])
def test_columns_may_be_named_like_what_the_report_names_itself(task: str, model: str) -> None:
    random, whole = np.random.default_rng(2), table(task)
    odd = {name: (k + 1) * random.normal(size=len(whole)) for k, name in enumerate(ODD_NAMES)}
    one = trained(pa.table({**odd, **{name: whole[name] for name in whole.column_names}}), "y", task, model=model)
    estimator = one.model.estimator
    inference = estimator.inference(one.training.x, one.training.y)
    assert inference.is_intercept.sum() == len(estimator.intercept_)
    assert inference.coef[inference.is_intercept] == pytest.approx(estimator.intercept_)
    for training in (None, one.training):
        found = facts_of(one.model, one.held_out, training=training)
        assert found.coefficients is not None
        rows = found.coefficients.rows
        for k, output in enumerate([""] if task == "two classes" else estimator.classes_):
            mine = [row for row in rows if row.of_class == output]
            assert [row.value for row in mine if row.is_intercept] == pytest.approx([estimator.intercept_[k]])
            named = sorted((row.name, row.value) for row in mine if not row.is_intercept)
            assert named == sorted(zip(estimator.get_feature_names_out(), estimator.coef_[k], strict=True))
            alike = sorted(row.scale for row in mine if row.name == "level=low")  # a level, and a column of numbers
            assert alike == pytest.approx([1, 7], rel=0.2)
        if task == "two classes":
            assert page(found).count("<em>intercept</em>") == 1
        if training is not None:
            expected = sorted(zip(inference.coef, inference.low, inference.p_value, strict=True))
            assert sorted((row.value, row.low, row.p_value) for row in rows) == expected


def test_without_training_rows_there_are_coefficients_only() -> None:
    one = case("two classes", "logistic")
    found = facts_of(one.model, one.held_out).coefficients
    assert found is not None
    assert found.level is None
    assert all(row.low is None and row.p_value is None for row in found.rows)
    values = {row.name: row.value for row in found.rows}
    names = one.model.estimator.get_feature_names_out()
    assert [values[name] for name in names] == pytest.approx(one.model.estimator.coef_[0])


def test_a_perceptron_has_coefficients_and_its_mistakes() -> None:
    found = facts("two classes", "perceptron")
    assert found.coefficients is not None
    assert "not a statistical model" in found.coefficients.notes[0]
    assert "mistakes" in found.history
    assert found.coefficients.link == "identity"
    assert "Odds ratio" not in page(found)


@pytest.mark.parametrize("task", ["two classes", "many classes", "counts", "a number"])
def test_the_columns_that_the_target_depends_on_matter_to_a_network(task: str) -> None:
    found = facts(task, "mlp")
    ranked = [one.name for one in found.importance]
    assert sorted(ranked) == ["level", "noise", "size"]
    assert ranked[0] == "size"
    assert all(one.low <= one.rise <= one.high for one in found.importance)
    assert found.coefficients is None
    assert set(found.history) >= {"loss", "val_loss"}


def test_dependence_is_the_mean_answer_with_the_value_everywhere() -> None:
    one, found = case("two classes", "mlp"), facts("two classes", "mlp")
    by_name = {each.name: each for each in found.dependence}
    size = by_name["size"]
    at = one.held_out.column_names.index("size")
    for value, mean in zip(size.at, size.means[0], strict=True):
        same = one.held_out.set_column(at, "size", pa.array([float(value)] * len(one.held_out)))
        assert mean == pytest.approx(one.model.predict_proba(same)[:, 1].mean())
    assert size.of == ("yes",)
    assert size.means[0][-1] > size.means[0][0]
    assert set(by_name["level"].at) == {"low", "middle", "high"}


def test_dependence_on_numbers_written_as_text() -> None:
    whole = table("a number")
    text = pa.array([f"{value:,.3f}" for value in 1000 * np.asarray(whole["size"])])
    one = trained(whole.set_column(0, "size", text), "y", "a number", model="mlp")
    size = next(each for each in facts_of(one.model, one.held_out).dependence if each.name == "size")
    assert size.numeric
    assert size.means[0][-1] > size.means[0][0]


def test_the_same_seed_shuffles_alike() -> None:
    one = case("a number", "mlp")
    evaluation = Evaluation.of(one.model, one.held_out)
    metric, ranked = importances(evaluation, 0)
    assert metric == "rmse"
    assert ranked == importances(evaluation, 0)[1]
    assert ranked != importances(evaluation, 1)[1]
    assert dependences(evaluation, ranked, 0) == dependences(evaluation, ranked, 0)


def wide_table(width: int) -> pa.Table:
    """A target that depends on three columns of many: a number, a level and a date."""
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {f"column {k}": random.normal(size=600) for k in range(width)}
    columns["colour"] = random.choice(["red", "blue", "green"], 600)
    columns["day"] = pa.array(np.datetime64("2024-01-01") + random.integers(0, 300, 600))
    days = np.asarray(columns["day"]).astype("datetime64[D]").astype(float)
    y = 3 * columns["column 7"] + 4 * (columns["colour"] == "red") + (days - days.mean()) / 40
    return pa.table({**columns, "y": y})


def test_of_too_many_columns_those_that_move_it_most_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    one = trained(wide_table(40), "y", "a number", model="mlp")
    monkeypatch.setattr(importance, "_MAX_COLUMNS", 35)
    found = facts_of(one.model, one.held_out)
    assert len(found.importance) == 35**2 // 42
    assert {each.name for each in found.importance[:3]} == {"column 7", "colour", "day"}
    assert any("of 42 columns, only the 29 that change the prediction most" in notice for notice in found.notices)
    assert found.dependence
    monkeypatch.setattr(importance, "_MAX_COLUMNS", 10)
    few = importances(Evaluation.of(one.model, one.held_out), 0)[1]
    assert len(few) == 12  # however wide
    assert {each.name for each in few[:3]} == {"column 7", "colour", "day"}


def test_what_comes_from_which_column() -> None:
    one = trained(wide_table(9), "y", "a number", model="mlp")
    encoder = one.model.estimator._encoder
    made = {made: column.name for column in one.model.schema.used for made in made_of(column)}
    assert list(made) == one.model.schema.apply(one.held_out).column_names
    assert len(encoder.sources) == len(encoder.coefficient_names)
    for name, source in zip(encoder.coefficient_names, encoder.sources, strict=True):
        assert name.startswith(source)
        assert made[source] in one.model.schema.types
    linear = trained(wide_table(9), "y", "a number", model="linear").model.estimator._encoder
    ordered = np.array(linear.coefficient_names)[np.argsort(linear.order())]
    assert all(name.startswith(source) for name, source in zip(ordered, linear.sources, strict=True))


def test_weights_of_pixels_are_images_with_left_out_pixels_blank() -> None:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    columns = {f"pixel {place}": x[:500, place] for place in range(64)}
    whole = pa.table({**columns, "digit": [f"digit {k}" for k in y[:500]]})
    one = trained(whole, "digit", "many classes", model="softmax")
    found = facts_of(one.model, one.held_out)
    assert [image.of for image in found.images] == [f"digit {k}" for k in range(10)]
    names = list(one.model.estimator.get_feature_names_out())
    assert len(names) < 64
    for place in range(64):
        name = f"pixel {place}"
        weight = one.model.estimator.coef_[3][names.index(name)] if name in names else 0.0
        assert found.images[3].weights[place] == weight


def test_other_tables_are_no_images() -> None:
    assert facts("two classes", "logistic").images == ()
