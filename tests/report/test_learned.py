import numpy as np
import pyarrow as pa
import pytest

from linnet.estimators.table_answers import Answers
from linnet.report import facts_of
from linnet.report.importance import dependences, importances

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
    assert "no statistical model" in found.coefficients.notes[0]
    assert "mistakes" in found.history


@pytest.mark.parametrize("task", ["two classes", "many classes", "counts", "a number"])
def test_a_network_goes_by_what_the_target_depends_on(task: str) -> None:
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
    answers = Answers.of(one.model, one.held_out)
    metric, ranked = importances(answers, 0)
    assert metric == "rmse"
    assert ranked == importances(answers, 0)[1]
    assert ranked != importances(answers, 1)[1]
    assert dependences(answers, ranked, 0) == dependences(answers, ranked, 0)


def test_too_many_columns_are_not_shuffled_one_by_one() -> None:
    random = np.random.default_rng(0)
    columns = {f"column {k}": random.normal(size=60) for k in range(301)}
    one = trained(pa.table({**columns, "y": random.normal(size=60)}), "y", "a number", model="mlp")
    found = facts_of(one.model, one.held_out)
    assert found.importance == ()
    assert "301 columns are too many to tell how much each matters" in found.notices


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
