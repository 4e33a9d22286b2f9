"""Tables of counts: which distribution is chosen, and that every output uses it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy

import linnet
from linnet.errors import ConfigError
from linnet.estimators.linear.counts import count_regressors
from linnet.heads import NegativeBinomial, Poisson, count_heads
from linnet.tables.options import models

from .in_process import call

ROWS = 1000
MOST = -np.log(np.finfo(float).eps)  # of a row's surprise, as of that at classes


def table(dispersion: float, rows: int = ROWS, seed: int = 0) -> pa.Table:
    """Visits of a variance mean + dispersion mean²; Poisson's where that is 0."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(size=rows), rng.choice(["red", "blue", "green"], rows)
    years = rng.uniform(0.5, 2, rows)
    rate = years * np.exp(1 + 0.6 * size + 0.5 * (colour == "red"))
    if dispersion:
        rate = rate * rng.gamma(1 / dispersion, dispersion, rows)
    return pa.table({"size": size, "colour": colour, "years": years, "visits": rng.poisson(rate)})


def log_loss(y: Any, mean: Any, dispersion: float) -> float:
    r = 1 / dispersion
    return float(-scipy.stats.nbinom.logpmf(y, r, r / (r + mean)).mean())


@pytest.fixture(scope="module")
def spread() -> linnet.TableModel:
    return linnet.train(table(0.7), "visits", exposure="years", max_iter=20)


def test_counts_that_spread_get_the_negative_binomial_distribution(spread: linnet.TableModel) -> None:
    by_name = {one.name: one for one in spread.tried}
    assert list(by_name) == ["constant", *count_regressors(), "mlp"]
    assert (spread.metric, spread.facts["distribution_metric"]) == ("poisson_deviance", "log_loss")
    assert not by_name["poisson"].chosen  # whatever its means are
    assert by_name["negative_binomial"].scores["log_loss"] < by_name["poisson"].scores["log_loss"] - 0.1
    assert by_name["mlp"].what == "a small ensemble of networks, negative binomial loss"
    assert spread.law is not None
    assert isinstance(spread.law.head, NegativeBinomial)
    assert spread.law.parameter == pytest.approx(0.7, abs=0.15)


def test_log_loss_is_the_mean_surprise_at_the_actual_count(spread: linnet.TableModel) -> None:
    """Of every candidate with the same constants: Poisson's log-likelihood and the other's can be compared."""
    for name in ("constant", "poisson", "negative_binomial"):
        model = linnet.train(table(0.7), "visits", exposure="years", model=name)
        assert model.run is not None
        assert model.law is not None
        y, mean = model.run.held_out.y, model.run.predictions.values
        expected = log_loss(y, mean, float(model.law.dispersion[0]))
        if isinstance(model.law.head, Poisson):
            surprise = -np.asarray(scipy.stats.poisson.logpmf(y, mean))
            assert surprise.max() > MOST
            expected = float(np.minimum(surprise, MOST).mean())
        (one,) = model.tried
        assert one.scores["log_loss"] == pytest.approx(expected, rel=1e-10)
        assert one.scores == pytest.approx({each.name: each for each in spread.tried}[name].scores, rel=1e-9)
        found = model.evaluate(model.run.held_out.table)["log_loss"]
        assert found.value == pytest.approx(expected, rel=1e-10)
        assert found.low < found.value < found.high


def test_poisson_counts_keep_the_poisson_distribution() -> None:
    rows = table(0.0, 3000)
    found = linnet.train(rows, "visits", exposure="years", max_iter=20)
    scores = {one.name: one.scores["log_loss"] for one in found.tried}
    assert scores["negative_binomial"] == pytest.approx(scores["poisson"], rel=2e-3)
    narrow = linnet.train(rows.drop_columns(["colour"]), "visits", exposure="years", model="negative_binomial")
    assert narrow.law is not None
    assert narrow.law.parameter is not None
    assert narrow.law.parameter < 0.2


def test_a_tie_goes_to_the_simpler_distribution() -> None:
    """Counts that vary less than a Poisson distribution: the best dispersion is 0, and both models are the same."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=400)
    rows = {"size": size, "visits": rng.binomial(20, 1 / (1 + np.exp(-size)))}
    found = linnet.train(rows, "visits", task="counts", max_iter=5)
    scores = {one.name: one.scores["log_loss"] for one in found.tried}
    assert scores["negative_binomial"] == pytest.approx(scores["poisson"], rel=1e-6)
    assert not any(one.chosen for one in found.tried if one.name == "negative_binomial")
    assert next(one for one in found.tried if one.name == "mlp").what == "a small ensemble of networks"


def test_limits_hold_as_many_new_counts_as_they_say() -> None:
    new = table(0.7, 20_000, seed=1)
    y = np.asarray(new["visits"])
    held = {}
    for name in ("constant", "poisson", "negative_binomial"):
        model = linnet.train(table(0.7, 4000), "visits", exposure="years", model=name)
        predicted = model.predictions(new)
        low, high = model.predict_interval(predicted, 0.9)
        held[name] = float(((y >= low) & (y <= high)).mean())
        drawn = model.sample(predicted, 0)
        assert drawn.mean() == pytest.approx(y.mean(), rel=0.1)
        assert (model.sample(new, 0) == drawn).all()
        if name == "negative_binomial":
            assert drawn.var() == pytest.approx(y.var(), rel=0.15)
    assert 0.9 <= held["negative_binomial"] < 0.97  # more than 0.9, as counts are whole numbers
    assert 0.9 <= held["constant"] < 0.97
    assert held["poisson"] < 0.8


def test_the_command_the_file_the_page_and_onnx_agree(tmp_path: Path) -> None:
    import pyarrow.csv as csv

    rows = table(0.7)
    csv.write_csv(rows, tmp_path / "visits.csv")
    words = ["train", "visits.csv", "--target", "visits", "--exposure", "years", "--model", "negative_binomial"]
    result = call(*words, "--report", "page.html", "--json", cwd=tmp_path)
    assert result.code == 0, result.err
    facts = json.loads(result.out)
    model = linnet.load(tmp_path / "model.linnet")
    assert facts["dispersion"] == model.estimator.dispersion_ == model.law.parameter
    assert facts["tried"][0]["scores"]["log_loss"] > 0
    result = call(*words, cwd=tmp_path)
    assert f"counts are negative binomial, with a dispersion of {facts['dispersion']:.4g}" in result.out
    page = (tmp_path / "page.html").read_text()
    assert (
        f"The predicted distribution of counts is negative binomial with dispersion {facts['dispersion']:.3g}" in page
    )
    assert "Rate ratio" in page
    assert "On the training rows: deviance" in page
    result = call("predict", "model.linnet", "visits.csv", "-o", "out.csv", "--interval", cwd=tmp_path)
    out = csv.read_csv(tmp_path / "out.csv")
    low, high = model.predict_interval(rows)
    assert np.allclose(out["low"], low)
    assert np.allclose(out["high"], high)
    result = call("evaluate", "model.linnet", "visits.csv", "--require", "log_loss<=10", "--json", cwd=tmp_path)
    value = json.loads(result.out)["metrics"]["log_loss"]["value"]
    assert value == pytest.approx(log_loss(rows["visits"].to_numpy(), model.predict(rows), facts["dispersion"]))
    runtime = pytest.importorskip("onnxruntime", reason="the test group has onnxruntime")
    model.to_onnx(tmp_path / "model.onnx")
    graph = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    given = {each.name: rows[each.name].to_numpy(zero_copy_only=False)[:, None] for each in graph.get_inputs()}
    given = {name: values.astype(np.float64 if name != "colour" else object) for name, values in given.items()}
    assert np.allclose(graph.run(None, given)[0].ravel(), model.predict(rows), rtol=1e-6)


def test_rows_in_a_file_give_the_dispersion_of_rows_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as parquet

    from linnet.tables import train as module

    rows = table(0.7, 4000)
    parquet.write_table(rows, tmp_path / "visits.parquet")
    held = linnet.train(rows, "visits", exposure="years", model="negative_binomial")
    monkeypatch.setattr(module, "MAX_TABLE_BYTES", 20_000)  # bytes of a table that is held
    found = linnet.train(tmp_path / "visits.parquet", "visits", exposure="years", model="negative_binomial")
    assert found.run is not None
    assert any("too large for memory" in notice for notice in found.run.notices)
    assert found.facts["rows"] > 3000
    assert found.law is not None
    assert held.law is not None
    assert found.law.parameter == pytest.approx(held.law.parameter, rel=0.15)


def test_heads_of_counts_are_models_of_tables_by_themselves() -> None:
    families = [kind.family for kind in count_heads()]
    regressions = list(count_regressors())
    assert regressions[:2] == families[:2] == ["poisson", "negative_binomial"]
    assert set(regressions) <= {*families} & {*models()}
    with pytest.raises(ConfigError, match=r"model='negative_binomial' does not suit the task 'a number'"):
        linnet.train(table(0.7), "years", model="negative_binomial")


DECLARED = """
from dataclasses import dataclass
from linnet.heads import NegativeBinomial
from linnet.heads.registry import registered
from linnet._native import core

@registered
@dataclass(frozen=True)
class Geometric(NegativeBinomial):
    family, title, losses, keras_losses = "geometric", "geometric", ("geometric",), ("geometric",)
    parameter_symbol = ""
    core_family = core.Family.negative_binomial  # with a dispersion of 1
    with_activation = classmethod(lambda cls, activation: cls())

import numpy as np
from linnet.tables.options import models
from linnet.playground.explain import explain
from linnet.playground.session import Session
from linnet.playground.state import State
import linnet

assert "geometric" not in models()  # it has no linear regression
session = Session(State(data="bursts", head="geometric", layers=()))
session.one_epoch()
assert ("geometric", "Geometric") in session.facts()["heads"]
assert explain(session, 0)["formula"] == NegativeBinomial.formulas
rng = np.random.default_rng(0)
table = {"x": rng.normal(size=100), "visits": rng.poisson(2, 100)}
model = linnet.train(table, "visits", task="counts", model="sequential", loss="geometric", max_iter=2)
assert model.law.head.family == "geometric"
assert model.evaluate(table)["log_loss"].value > 0
"""


def test_a_head_of_counts_that_is_declared_is_offered_everywhere(tmp_path: Path) -> None:
    """Tables and the playground need nothing but a class in the list of heads."""
    environment = {**os.environ, "PYTHONPATH": str(Path(linnet.__file__).parents[1])}
    words = [sys.executable, "-c", DECLARED]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_and_docstring_name_all_models(tmp_path: Path) -> None:
    help_text = " ".join(call("train", "--help", cwd=tmp_path).out.split())
    assert linnet.train.__doc__ is not None
    for name in models():
        assert name in help_text
        assert f'"{name}"' in linnet.train.__doc__
