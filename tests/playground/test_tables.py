"""Tables of one's own: what becomes of columns, the plane through them, and what is told of it."""

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
    with pytest.raises(DataError, match="axes: column 'colour' is no input of numbers"):
        table.dataset("sort", ["colour", "height"])
    with pytest.raises(DataError, match="axes: column 'sort'"):
        table.dataset("sort", ["sort", "height"])
    few = tmp_path / "few.csv"
    few.write_text("a,b\n1,2\n2,3\n")
    with pytest.raises(DataError, match="only 2 rows"):
        Table.read([few]).dataset("b")


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
    assert any("'many' is left out: it would make more than 200 inputs" in note for note in data.notes)
    session = Session(State(data="table", target="y"), table)
    session.one_epoch()
