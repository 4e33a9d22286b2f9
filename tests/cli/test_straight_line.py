"""A row's way through the commands: its schema applied, its levels found, encoded and predicted once per purpose."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from linnet.data.encoder import Encoder
from linnet.estimators.linear import NegativeBinomialRegressor, PoissonRegressor, Ridge
from linnet.estimators.logistic import LogisticRegression
from linnet.estimators.mlp.classifier import MLPClassifier
from linnet.estimators.mlp.regressor import MLPRegressor
from linnet.tables import rows as of_rows
from linnet.tables import select
from linnet.tables.schema import Schema

from .in_process import call

ROWS, HELD_OUT = 500, 100
ESTIMATORS = {
    "sold": (LogisticRegression, MLPClassifier),
    "claims": (Ridge, PoissonRegressor, NegativeBinomialRegressor, MLPRegressor),
}
LINEAR = {"sold": "logistic", "claims": "negative_binomial"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    size, colour = rng.normal(size=ROWS), rng.choice(["red", "blue", "green"], ROWS)
    z = size + (colour == "red")
    both = {"size": size, "colour": colour}
    sold = np.where(z + rng.normal(size=ROWS) > 0.5, "yes", "no")
    pd.DataFrame({**both, "sold": sold}).to_csv(tmp_path / "sold.csv", index=False)
    claims = rng.poisson(np.exp(z / 2) * rng.gamma(2, 0.5, ROWS))
    pd.DataFrame({**both, "claims": claims}).to_csv(tmp_path / "claims.csv", index=False)
    return tmp_path


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Rows that each step was given, except for the row or two on which a loaded file tries its model."""
    seen: Counter[str] = Counter()

    def watch(owner: Any, name: str, place: int, *, known_as: str = "") -> None:
        method: Callable[..., Any] = getattr(owner, name)

        def watched(*given: Any, **more: Any) -> Any:
            if len(given[place]) > 2:
                seen[known_as or name] += len(given[place])
            return method(*given, **more)

        monkeypatch.setattr(owner, name, watched)

    watch(Schema, "apply", 1)
    watch(Schema, "never_seen", 1)
    watch(Encoder, "_encode_frame", 1, known_as="encode")
    watch(of_rows, "with_codes", 0, known_as="levels")
    watch(of_rows, "target_of", 0)
    for name in ("with_codes", "target_of"):
        monkeypatch.setattr(select, name, getattr(of_rows, name))
    for estimator in {kind for kinds in ESTIMATORS.values() for kind in kinds}:
        for name in ("predict", "predict_proba"):
            if hasattr(estimator, name):
                watch(estimator, name, 1, known_as="predict")
    return seen


@pytest.mark.parametrize("target", ESTIMATORS)
@pytest.mark.parametrize("report", [[], ["--report", "page.html"]], ids=["alone", "with a report"])
def test_training(folder: Path, counts: Counter[str], target: str, report: list[str]) -> None:
    """For all models: one encoder for linear ones and one for networks, and one prediction per held-out row."""
    words = ["train", f"{target}.csv", "--target", target, "--epochs", "2", "--batch-size", "100"]
    if report:  # for a network it shuffles columns and predicts again; for a linear model these rows suffice
        words += ["--model", LINEAR[target]]
        words = [word for word in words if word not in ("--epochs", "2", "--batch-size", "100")]
    result = call(*words, *report, cwd=folder)
    assert result.code == 0, result.err
    kinds = 1 if report else len(ESTIMATORS[target])
    assert counts == {
        "apply": ROWS,
        "levels": ROWS,
        "target_of": ROWS,
        "never_seen": HELD_OUT,
        "encode": ROWS if report else 2 * ROWS,
        "predict": kinds * HELD_OUT,
    }


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("sold", ["predict", "-o", "out.csv"]),
        ("sold", ["predict", "-o", "out.csv", "--proba", "--sample"]),
        ("claims", ["predict", "-o", "out.csv", "--interval"]),
        ("claims", ["predict", "-o", "out.csv", "--interval", "--sample"]),
        ("sold", ["evaluate"]),
        ("claims", ["evaluate"]),
        ("sold", ["report"]),
        ("claims", ["report"]),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_other_commands(folder: Path, counts: Counter[str], target: str, words: list[str]) -> None:
    result = call("train", f"{target}.csv", "--target", target, "--model", LINEAR[target], cwd=folder)
    assert result.code == 0, result.err
    counts.clear()
    result = call(words[0], "model.linnet", f"{target}.csv", *words[1:], cwd=folder)
    assert result.code == 0, result.err
    once = {"apply": ROWS, "levels": ROWS, "never_seen": ROWS, "encode": ROWS, "predict": ROWS}
    assert counts == (once if words[0] == "predict" else {**once, "target_of": ROWS})


def test_what_is_odd_is_reported_with_the_predictions(folder: Path) -> None:
    result = call("train", "claims.csv", "--target", "claims", "--model", "poisson", cwd=folder)
    assert result.code == 0, result.err
    (folder / "new.csv").write_text("size,colour\n1,red\n,blue\n2,mauve\n")
    result = call("predict", "model.linnet", "new.csv", "-o", "out.csv", cwd=folder)
    assert "note: 1 rows have a level of 'colour' never seen in training: it has no effect" in result.err
    assert "note: 1 rows have no value of 'size', and no training row lacked one: the median" in result.err
    result = call("predict", "model.linnet", "new.csv", "-o", "out.csv", "--json", cwd=folder)
    assert '"filled": {\n    "size": 1\n  }' in result.out
