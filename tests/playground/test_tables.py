"""Uploaded tables: what becomes of their columns, the plane through them, and the notices about them."""

import re
from pathlib import Path

import numpy as np
import pytest

from linnet.errors import DataError
from linnet.playground.session import Session
from linnet.playground.state import State
from linnet.playground.tables import Table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    rng = np.random.default_rng(0)
    rows = ["id,height,weight,colour,sort,egg_count"]
    for row in range(80):
        sort = "ab"[row % 2]
        height = rng.normal(10 + 5 * (row % 2))
        gap = "" if row == 7 else f"{rng.normal(100, 20):.3f}"
        rows.append(f"bird-{row},{height:.3f},{gap},{'red' if row % 3 else 'blue'},{sort},{rng.poisson(3)}")
    path = tmp_path / "birds.csv"
    path.write_text("\n".join(rows) + "\n")
    return Table.read([path])


def test_columns_become_inputs_as_models_of_tables_have_them(table: Table) -> None:
    data = table.dataset("sort")
    assert data.task == "two classes"
    assert data.classes == ("a", "b")
    assert data.inputs == ("height", "weight", "egg_count", "weight missing", "colour=blue", "colour=red")
    assert np.allclose(data.x[:, :3].mean(axis=0), 0, atol=1e-5)
    assert np.allclose(data.x[:, :3].std(axis=0), 1, atol=1e-5)
    assert data.x[:, 3].tolist() == [float(row == 7) for row in range(80)]
    assert (data.x[:, 4:].sum(axis=1) == 1).all()
    assert any("'id' is left out" in note for note in data.notes)


def test_two_columns_on_the_axes_hold_the_others_at_what_is_usual(table: Table) -> None:
    data = table.dataset("sort", ["weight", "height"])
    assert data.axes == ("weight", "height")
    assert data.points[0].tolist() == pytest.approx(
        [float(table.table["weight"][0].as_py()), table.table["height"][0].as_py()]
    )
    at = np.array([[100.0, 12.0], [140.0, 9.0]])
    x = data.plane(at)
    centre, scale = table.prepared("sort").centre, table.prepared("sort").scale
    assert np.allclose(x[:, 0] * scale[0] + centre[0], at[:, 1], rtol=1e-5)
    assert np.allclose(x[:, 1] * scale[1] + centre[1], at[:, 0], rtol=1e-5)
    assert x[:, 2:].tolist() == [[0, 0, 0, 1]] * 2  # the mean number of eggs, a weight that is there, red


def test_every_task_can_be_played(table: Table) -> None:
    for target, task in (
        ("sort", "two classes"),
        ("colour", "two classes"),
        ("height", "a number"),
        ("egg_count", "counts"),
    ):
        session = Session(State(data="table", target=target), table)
        first = session.scores()[0]
        for _ in range(20):
            session.one_epoch()
        assert session.data.task == task
        assert session.scores()[0] < first


@pytest.mark.parametrize("size", [1e-7, 1.0, 1e9])
def test_points_have_the_digits_that_can_be_seen(tmp_path: Path, size: float) -> None:
    path = tmp_path / "sizes.csv"
    path.write_text("a,b,y\n" + "".join(f"{(k * 13 % 50 + 0.5) * size},{k % 7 + 0.25},{k % 2}\n" for k in range(50)))
    table = Table.read([path])
    session = Session(State(data="table", target="y", axes=("a", "b")), table)
    shown = np.array(session.facts()["points"])
    assert np.abs(shown - session.data.points).max(axis=0) == pytest.approx([0, 0], abs=50 * size * 1e-3)
    assert len(np.unique(shown[:, 0])) == 50


def test_what_the_page_offers(table: Table) -> None:
    facts = table.facts()
    assert facts["name"] == "birds.csv"
    assert facts["rows"] == 80
    assert facts["targets"] == ["height", "weight", "colour", "sort", "egg_count"]
    assert facts["axes"] == ["height", "weight", "egg_count"]


def test_what_cannot_be_is_told_by_name(table: Table, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="unknown column 'sorte': did you mean 'sort'"):
        table.dataset("sorte")
    with pytest.raises(DataError, match="axes: column 'colour' is not a numeric input"):
        table.dataset("sort", ["colour", "height"])
    with pytest.raises(DataError, match="axes: column 'sort'"):
        table.dataset("sort", ["sort", "height"])
    few = tmp_path / "few.csv"
    few.write_text("a,b\n1,2\n2,3\n")
    with pytest.raises(DataError, match="only 2 rows"):
        Table.read([few]).dataset("b")


def test_only_what_can_be_predicted_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    rows = [f"{k % 2},{k % 12},c{k % 12},{'x' if k < 5 else ''},same" for k in range(60)]
    path.write_text("y,class,sort,gap,one\n" + "\n".join(rows) + "\n")
    table = Table.read([path])
    assert table.facts()["targets"] == ["y"]  # 12 classes, 12 classes, 5 rows, one value
    assert table.last_target() == "y"
    with pytest.raises(DataError, match="'sort' has 12 classes, more than 10"):
        table.dataset("sort")


def test_a_table_without_a_target_or_without_inputs_says_so(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("when,one\n" + "".join(f"2024-01-{k + 1:02},same\n" for k in range(30)))
    with pytest.raises(DataError, match=r"own\.csv: no column can be predicted: .* 2 to 10 classes"):
        Table.read([path]).last_target()
    path.write_text("y\n" + "".join(f"{k % 5}.5\n" for k in range(30)))
    with pytest.raises(DataError, match="there is no column to learn from: 'y' is the only one"):
        Table.read([path]).dataset("y")
    path.write_text("one,y\n" + "".join(f"same,{k % 5}.5\n" for k in range(30)))
    with pytest.raises(DataError, match="there is no column to learn from: column 'one' is left out: it has the same"):
        Table.read([path]).dataset("y")


def test_numbers_to_predict_are_standardised_and_say_so(table: Table) -> None:
    data = table.dataset("height")
    assert data.y.mean() == pytest.approx(0, abs=1e-12)
    assert data.y.std() == pytest.approx(1)
    assert data.own(data.y) == pytest.approx(table.table["height"].to_numpy())
    assert any("'height' is standardised, (height - " in note and "loss" in note for note in data.notes)
    for target in ("sort", "egg_count"):  # classes and counts are what they are
        assert not table.dataset(target).is_scaled
        assert not any("learned as" in note for note in table.dataset(target).notes)


def test_wide_tables_are_narrowed_and_say_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"n{column}" for column in range(230)]
    levels = [f"level {row % 40}" for row in range(240)]
    rows = [",".join([*names, "many", "y"])]
    rows += [",".join([*(f"{v:.4f}" for v in rng.normal(size=230)), levels[row], str(row % 2)]) for row in range(240)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(rows) + "\n")
    table = Table.read([path])
    data = table.dataset("y")
    assert 100 < data.x.shape[1] <= 200
    left_out = [note for note in data.notes if "would make more than 200 inputs" in note]
    assert len(left_out) == 1  # not a sentence for each of dozens
    assert len(left_out[0]) < 120
    assert re.match(r"\d\d columns are left out \('n", left_out[0])
    session = Session(State(data="table", target="y"), table)
    session.one_epoch()
