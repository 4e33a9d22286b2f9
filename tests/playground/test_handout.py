"""The way out: the program and the command that are handed out give the very losses on screen, the file loads."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linnet
from linnet.errors import ConfigError, FitError
from linnet.playground import handout
from linnet.playground.session import Session
from linnet.playground.state import Hidden, State
from linnet.playground.tables import Table

from .programs import facts_of, losses_of, output_of


def birds(folder: Path) -> Table:
    rng = np.random.default_rng(1)
    rows = [(rng.normal(row % 3), "red" if rng.random() < 0.3 else "blue", "abc"[row % 3]) for row in range(90)]
    lines = ["height,colour,sort", *(f"{height:.3f},{colour},{sort}" for height, colour, sort in rows)]
    path = folder / "birds.csv"
    path.write_text("\n".join(lines) + "\n")
    return Table(Table.read([path]).table, ["birds.csv"])


STATES = [
    State(data="spirals", layers=(Hidden(6), Hidden(4, "relu", 0.25)), l2=0.001, features=("x1", "sin(x2)"), seed=2),
    State(data="pinwheels", classes=5, layers=(Hidden(3, "gelu"),), optimizer="nesterov", ratio=0.7, noise=0.2),
    State(data="counts", layers=(), batch=1, optimizer="adagrad"),
    State(data="bursts", head="negative_binomial", layers=(Hidden(3),), l2=0.001),
    State(data="plane", layers=(Hidden(2, "softplus"),), l1=0.01, initialiser="he_normal"),
    State(data="gaussians", layers=(), head="perceptron", optimizer="sgd"),
    State(data="drawn", points=((1.0, 2.0, 0), (2.0, 1.5, 0), (-1.0, 0.25, 3), (-2.0, 0.0, 3))),
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.data)
def test_the_program_gives_the_very_losses_on_screen(state: State, tmp_path: Path) -> None:
    session = Session(state)
    for _ in range(4):
        session.one_epoch()
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())


def test_the_program_repeats_what_was_changed_on_the_way(tmp_path: Path) -> None:
    session = Session(State(layers=(Hidden(4),), batch=50))
    session.edit(0, 0, 1, 0.5)
    session.one_epoch()
    session.advance("step")
    session.apply(State(layers=(Hidden(4),), batch=25, rate=0.05, l2=0.01))
    session.one_epoch()
    session.edit(0, 1, 2, -1.0)
    session.edit(1, None, 0, 0.125)
    session.one_epoch()
    session.one_epoch()
    session.apply(State(layers=(Hidden(4),), batch=25, rate=0.05, optimizer="rmsprop"))
    session.one_epoch()
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())


def test_the_program_repeats_a_run_that_diverged_and_was_mended(tmp_path: Path) -> None:
    session = Session(State(data="multi_gauss", optimizer="momentum", rate=0.1, batch=250, layers=(Hidden(4, "relu"),)))
    with pytest.raises(FitError):
        session.advance("most", seconds=60)
    assert session.epochs > 1
    assert session.is_plain  # the last whole epoch is what the state alone leads to
    for unit in range(4):
        session.edit(0, 0, unit, 0.1 * unit - 0.2)
        session.edit(0, 1, unit, 0.1)
        session.edit(0, None, unit, 0.0)
        session.edit(1, unit, 0, 0.125)
    session.edit(1, None, 0, 0.0)
    for _ in range(3):
        session.one_epoch()
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())


def test_the_program_and_the_file_have_the_dispersion_on_screen(tmp_path: Path) -> None:
    state = State(data="bursts", head="negative_binomial", layers=(Hidden(3),))
    session = Session(state)
    session.one_epoch()
    session.edit(0, 1, 2, -1.0)  # which leaves the dispersion, and the optimizer, as they are
    session.one_epoch()
    session.apply(replace(state, rate=0.05))  # which begins with a new optimizer
    session.edit(0, 1, 1, 0.5)
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())
    session.one_epoch()
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())
    assert session.parameter is not None
    assert 0.1 < session.parameter["value"] < 3
    (tmp_path / "model.linnet").write_bytes(handout.model_file(session))
    model = linnet.load(tmp_path / "model.linnet")
    data, test = session.data, session.test_part
    assert model.evaluate(data.x[test], data.y[test]) == pytest.approx(session.scores()[1], rel=1e-6)
    runtime = pytest.importorskip("onnxruntime", reason="the test group has onnxruntime")
    model.to_onnx(tmp_path / "model.onnx")
    graph = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    found = graph.run(None, {graph.get_inputs()[0].name: data.x[test]})[0]
    np.testing.assert_allclose(found, session.means(test), rtol=1e-5)


def test_the_model_of_a_table_of_counts_spreads_as_on_screen(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    size = rng.normal(size=400)
    visits = rng.poisson(np.exp(1 + 0.5 * size) * rng.gamma(2, 0.5, 400))
    lines = ["size,visits", *(f"{x:.3f},{y}" for x, y in zip(size, visits, strict=True))]
    (tmp_path / "visits.csv").write_text("\n".join(lines))
    table = Table.read([tmp_path / "visits.csv"])
    session = Session(State(data="table", target="visits", head="negative_binomial", layers=()), table)
    for _ in range(30):
        session.one_epoch()
    (tmp_path / "model.linnet").write_bytes(handout.model_file(session))
    model = linnet.load(tmp_path / "model.linnet")
    assert session.parameter is not None
    assert model.law.parameter == session.parameter["value"]
    assert model.law.head.family == "negative_binomial"
    low, high = model.predict_interval(tmp_path / "visits.csv")
    assert 0.92 < ((visits >= low) & (visits <= high)).mean() < 0.99  # Poisson's would hold far fewer


def test_a_program_before_training_shows_the_first_weights(tmp_path: Path) -> None:
    session = Session(State())
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())


def test_the_program_of_a_table_reads_its_file(tmp_path: Path) -> None:
    session = Session(State(data="table", target="sort", axes=("height",) * 2), birds(tmp_path))
    session.one_epoch()
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())


MOVED = [
    State(data="moons", noise=0.7, threshold=0.3),
    State(data="moons", noise=0.7, threshold=0.8, head="categorical"),
    State(data="moons", noise=0.7, threshold=0.9, head="perceptron"),
    State(data="moons", noise=0.7, threshold=1.0, head="perceptron"),
]


@pytest.mark.parametrize("state", MOVED, ids=lambda state: f"{state.head}-{state.threshold}")
def test_the_program_has_the_accuracy_at_a_threshold_that_was_moved(state: State, tmp_path: Path) -> None:
    session = Session(state)
    for _ in range(4):
        session.one_epoch()
    output = output_of(handout.program(session), tmp_path)
    accuracies = [float(value) for value in re.findall(r"accuracy ([\d.]+)", output)]
    assert accuracies == pytest.approx([score.metric for score in session.both_scores()], abs=1e-12)
    assert "'accuracy'" not in output  # that at 0.5
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())


def test_no_name_of_a_class_becomes_code(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    odd = '"b\nraise SystemExit(3)"'
    path.write_text("a,y\n" + "".join(f"{k % 7}.5,{odd if k % 2 else 'a'}\n" for k in range(40)))
    session = Session(State(data="table", target="y", threshold=0.3), Table.read([path]))
    session.one_epoch()
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())


def test_a_delimiter_that_was_given_is_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("a;b;y\n" + "".join(f"{k % 7}.5;{k % 5}.25;{k % 2}\n" for k in range(40)))
    session = Session(State(data="table", target="y"), Table.read([path], delimiter=";"))
    session.one_epoch()
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())
    assert "--delimiter ';'" in handout.command(session)


@pytest.mark.parametrize("head", ["task", "categorical"])
@pytest.mark.parametrize("target", ["sort", "colour", "height"])
def test_the_model_of_a_table_takes_raw_columns(tmp_path: Path, target: str, head: str) -> None:
    if target == "height" and head != "task":
        head = "normal"
    table = birds(tmp_path)
    session = Session(State(data="table", target=target, head=head, layers=(Hidden(3, "relu"), Hidden(2))), table)
    for _ in range(3):
        session.one_epoch()
    path = tmp_path / "model.linnet"
    path.write_bytes(handout.model_file(session))
    model = linnet.load(path)
    rows = table.prepared(target).table
    means = session.model.sequential(session.theta).predict(session.data.x)
    if target == "height":
        assert np.allclose(model.predict(rows), session.data.own(means[:, 0]), atol=1e-5)
        return
    answers = model.predict_proba(rows)
    assert np.allclose(answers[:, -1], means[:, -1], atol=1e-5)
    assert set(model.predict(rows)) <= set(session.data.classes)


def test_the_model_of_a_toy_set_is_saved_as_it_is(tmp_path: Path) -> None:
    session = Session(State())
    session.one_epoch()
    path = tmp_path / "model.linnet"
    path.write_bytes(handout.model_file(session))
    model = linnet.load(path)
    assert model.evaluate(session.data.x[session.test_part], session.data.y[session.test_part]) == session.scores()[1]


def test_a_perceptron_of_a_table_has_no_file_and_says_what_does(tmp_path: Path) -> None:
    session = Session(State(data="table", target="sort", head="perceptron", layers=()), birds(tmp_path))
    with pytest.raises(ConfigError, match=r"linnet\.train\(\.\.\., model='perceptron'\) makes one"):
        handout.model_file(session)


def prices(folder: Path) -> Table:
    """A target whose numbers are far from 0, and far from each other."""
    rng = np.random.default_rng(2)
    rows = [(size := rng.uniform(50, 300), 200_000 + 1500 * size + rng.normal(0, 5000)) for _ in range(200)]
    path = folder / "prices.csv"
    path.write_text("size,price\n" + "".join(f"{size:.1f},{price:.0f}\n" for size, price in rows))
    return Table(Table.read([path]).table, ["prices.csv"])


def test_large_numbers_are_learned_and_handed_out_in_their_own_unit(tmp_path: Path) -> None:
    table = prices(tmp_path)
    session = Session(State(data="table", target="price"), table)
    for _ in range(20):
        session.one_epoch()
    assert session.both_scores()[1].metric > 0.9
    assert losses_of(handout.program(session), tmp_path) == list(session.scores())
    assert losses_of_command(session, tmp_path) == list(session.scores())
    assert "price standardised" in handout.command_note(session)
    path = tmp_path / "model.linnet"
    path.write_bytes(handout.model_file(session))
    rows = table.table
    errors = linnet.load(path).predict(rows) - rows["price"].to_numpy()
    test = errors[session.test_part] / session.data.scale
    assert np.mean(test**2) == pytest.approx(session.scores()[1], rel=1e-4)
    facts = session.facts()
    assert min(facts["values"]) >= facts["range"][0] > 200_000
    assert facts["unit"] == "of price in standard deviations"


# ---- the command ----


def losses_of_command(session: Session, folder: Path, *more: str) -> list[float]:
    """What the command says of the files that the page saves."""
    for part in handout.PARTS:
        (folder / f"{session.state.data}-{part}.csv").write_text(handout.table_text(session, part))
    reported = facts_of(handout.command(session), folder, *more)
    assert reported["task"] == session.data.task
    assert [reported["rows"], reported["held_out"]] == [len(session.train_part), len(session.test_part)]
    return [reported["losses"]["train"], reported["losses"]["held_out"]]


COMMANDS = [
    *(state for state in STATES if state.data != "drawn"),
    State(data="xor", layers=(Hidden(4, "tanh", 0.1), Hidden(3, "relu")), optimizer="momentum", batch=500),
    State(data="blobs", classes=6, layers=(), head="perceptron"),
    State(data="moons", head="categorical", initialiser="zeros", optimizer="adamw", rate=0.0003),
    State(data="counts", head="normal", optimizer="rmsprop", l1=0.001, l2=0.002, ratio=0.3),
    State(data="digits", layers=(Hidden(5, "silu"),), batch=64),  # some pixels are the same in every picture
]


@pytest.mark.parametrize("state", COMMANDS, ids=lambda state: f"{state.data}-{state.optimizer}")
def test_the_command_gives_the_very_losses_on_screen(state: State, tmp_path: Path) -> None:
    session = Session(state)
    for _ in range(4):
        session.one_epoch()
    assert "the same losses as above" in handout.command_note(session)
    assert losses_of_command(session, tmp_path) == list(session.scores())


def test_the_command_has_the_accuracy_at_a_threshold_that_was_moved(tmp_path: Path) -> None:
    session = Session(State(data="moons", noise=0.7, threshold=0.3))
    for _ in range(4):
        session.one_epoch()
    assert losses_of_command(session, tmp_path) == list(session.scores())
    scores = facts_of(handout.command(session), tmp_path)["tried"][0]["scores"]
    assert scores["accuracy"] == pytest.approx(session.both_scores()[1].metric, abs=1e-12)
    session.apply(State(data="moons", noise=0.7, threshold=0.3, head="perceptron"))
    assert "--threshold" not in handout.command(session)
    assert "its accuracy is that at the threshold 0.5" in handout.command_note(session)


def test_the_command_before_training_shows_the_first_weights(tmp_path: Path) -> None:
    session = Session(State())
    assert losses_of_command(session, tmp_path) == list(session.scores())


def test_the_command_of_a_table_gives_the_very_losses_and_another_one_takes_the_table(tmp_path: Path) -> None:
    session = Session(State(data="table", target="sort"), birds(tmp_path))
    for _ in range(3):
        session.one_epoch()
    assert losses_of_command(session, tmp_path) == list(session.scores())
    own = handout.command(session).splitlines()[-1]
    assert own == "linnet train birds.csv --target sort"
    assert facts_of(own, tmp_path, "--model", "softmax")["rows"] > 60


def test_the_model_of_the_command_answers_as_the_one_on_screen(tmp_path: Path) -> None:
    session = Session(State(data="blobs", classes=4))
    session.one_epoch()
    losses_of_command(session, tmp_path, "--report", "report.html")
    model = linnet.load(tmp_path / "model.linnet")
    rows = Table.read([tmp_path / "blobs-test.csv"]).table
    means = session.model.sequential(session.theta).predict(session.data.x[session.test_part])
    assert np.array_equal(model.predict_proba(rows), means.astype(np.float64))
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_the_page_says_where_the_command_gives_other_numbers(tmp_path: Path) -> None:
    session = Session(State(batch=50))
    session.one_epoch()
    assert "the same losses as above" in handout.command_note(session)
    session.apply(State(batch=50, rate=0.1))
    session.one_epoch()
    assert "will differ" in handout.command_note(session)
    assert losses_of_command(session, tmp_path) != list(session.scores())
    session.reset()
    session.edit(0, 0, 0, 2.0)
    assert "will differ" in handout.command_note(session)
    few = Session(State(data="drawn", points=((1.0, 2.0, 0), (2.0, 1.5, 0), (-1.0, 0.25, 3), (-2.0, 0.0, 3))))
    assert "at least 10 training rows" in handout.command_note(few)
    alone = Session(State(data="drawn", points=((1.0, 2.0, 0), *((0.0, k / 50, 1) for k in range(40)))))
    assert "class A has no training row" in handout.command_note(alone)


def test_a_target_never_has_the_name_of_an_input(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("class,y\n" + "".join(f"{k % 7}.5,{k % 2}\n" for k in range(40)))
    session = Session(State(data="table", target="y"), Table.read([path]))
    assert handout.table_text(session, "train").splitlines()[0] == "class,y"
    assert losses_of_command(session, tmp_path) == list(session.scores())
