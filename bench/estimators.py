"""The multilayer perceptrons as scikit-learn's users call them: the same call with both imports.

Each side has a process of its own, and sides take turns. What a call leaves (the training loss after as many epochs, or
the score) is compared: if linnet's is worse by more than a few percent its time does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Result, Side, clocked, show, take_turns
from linear_workloads import one_hot
from workloads import data_root, digits

SLACK = 1.05  # linnet's loss may be this much larger, its score smaller
SIDES = {"linnet": "linnet", "sklearn": "sklearn.neural_network"}
PROGRAM = """
import numpy as np
from {module} import MLPClassifier
rng = np.random.default_rng(0)
x = np.load({path!r})
model = MLPClassifier(random_state=0).fit(x[:, :-1], x[:, -1].astype(int))
print((model.predict(x[:, :-1]) == x[:, -1]).mean())
"""


@dataclass(frozen=True)
class Call:
    """A call to time: data, the work with a module's classes, and what shows that it was done."""

    title: str
    data: Callable[[], tuple[Any, Any]]
    work: Callable[[Any, Any, Any], Callable[[], float]]
    target: float
    quality: str = "loss"  # or "score", which is better the greater it is
    unit: str = "s"
    most_rounds: int = 5


def _adult() -> tuple[Any, Any]:
    import pandas as pd

    table = pd.read_csv(data_root() / "adult" / "train.csv.gz")
    return table.drop(columns="income"), (table["income"].str.strip() == ">50K").to_numpy()


def _scaled(frame: Any) -> Any:
    frame = frame.copy()
    for name in frame.select_dtypes("number").columns:
        frame[name] = (frame[name] - frame[name].mean()) / frame[name].std()
    for name in frame.columns:
        if frame[name].dtype.kind != "f":
            frame[name] = frame[name].astype(str).astype("category")
    return frame


def _adult_frame() -> tuple[Any, Any]:
    frame, y = _adult()
    return _scaled(frame), y


def _adult_hot() -> tuple[Any, Any]:
    frame, y = _adult_frame()
    numbers = frame.select_dtypes("number").columns
    order = [*numbers, *(name for name in frame.columns if name not in numbers)]
    return one_hot(frame[order]).toarray(), y


def _mnist() -> tuple[Any, Any]:
    x, y = digits(60_000)
    return x.astype(np.float64), y


def _digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return x, y


def _fit(epochs: int, *, frame: bool = False) -> Callable[[Any, Any, Any], Callable[[], float]]:
    """Fit for so many epochs; where only linnet takes data frames, scikit-learn gets a pipeline that expands them."""

    def work(module: Any, x: Any, y: Any) -> Callable[[], float]:
        model = module.MLPClassifier(max_iter=epochs, random_state=0, tol=0, n_iter_no_change=10**6)
        if not frame or module.__name__ == "linnet":
            return lambda: float(model.fit(x, y).loss_)
        from sklearn.compose import make_column_selector, make_column_transformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        expand = make_column_transformer(
            (OneHotEncoder(), make_column_selector(dtype_include="category")), remainder="passthrough"
        )
        pipe = make_pipeline(expand, model)
        return lambda: float(pipe.fit(x, y)[-1].loss_)

    return work


def _one_row(module: Any, x: Any, y: Any) -> Callable[[], float]:
    model = module.MLPClassifier(max_iter=20, random_state=0).fit(x, y)
    row = x[:1]

    def work() -> float:
        for _ in range(1000):
            model.predict_proba(row)
        return float(model.score(x, y))

    return work


def _cross_validation(module: Any, x: Any, y: Any) -> Callable[[], float]:
    from sklearn.model_selection import cross_val_score

    model = module.MLPClassifier((50,), max_iter=100, random_state=0)
    return lambda: float(cross_val_score(model, x, y, cv=5, n_jobs=2).mean())


CALLS = {
    "mlp-adult": Call("MLPClassifier.fit, adult one-hot 32,561 x 108, 20 epochs", _adult_hot, _fit(20), 8.0),
    "mlp-adult-frame": Call("MLPClassifier.fit, adult as a frame, 20 epochs", _adult_frame, _fit(20, frame=True), 8.0),
    "mlp-mnist": Call("MLPClassifier.fit, MNIST 60,000 x 784, 5 epochs", _mnist, _fit(5), 4.0, most_rounds=3),
    "mlp-one-row": Call("predict_proba of one row, 1,000 times", _digits, _one_row, 4.0, "score"),
    "mlp-cv": Call("5-fold cross-validation of 64-50-10, n_jobs=2", _digits, _cross_validation, 6.0, "score"),
}
PROGRAM_NAME = "mlp-program"
ESTIMATOR_NAMES = [*CALLS, PROGRAM_NAME]


class Worker:
    """One library in its own process."""

    def __init__(self, name: str) -> None:
        warnings.simplefilter("ignore")
        os.environ["PYTHONWARNINGS"] = "ignore"
        self.name = name

    def setup(self, call: str) -> None:
        """Load the data and the library."""
        import importlib

        module = importlib.import_module(SIDES[self.name])
        self.work = CALLS[call].work(module, *CALLS[call].data())

    def run(self) -> tuple[float, float, float]:
        """Seconds on the clock, of all threads, and the loss or score."""
        return clocked(self.work)


def run(names: list[str], *, rounds: int, turn_seconds: float) -> dict[str, Any]:
    """Time the calls and print the table."""
    facts: dict[str, Any] = {"workloads": {}}
    lines = []
    for name in names:
        if name == PROGRAM_NAME:
            lines.append(_program(rounds, facts))
            continue
        call = CALLS[name]
        try:
            sides = {side: Side(side, Worker) for side in SIDES}
            for side in sides.values():
                side.ask("setup", name)
        except (FileNotFoundError, RuntimeError) as error:
            print(f"{name} left out: {str(error).strip().splitlines()[-1]}", flush=True)
            continue
        results = {side: Result() for side in sides}
        found: dict[str, float] = {}

        turns = {side: partial(_turn, sides[side], found) for side in sides}
        for turn in turns.values():  # the first is a warm-up
            turn()
        take_turns(
            turns,
            results,
            rounds=min(rounds, call.most_rounds),
            turn_seconds=turn_seconds,
        )
        for side in sides.values():
            side.close()
        lines.append(_line(name, call.title, call.quality, call.target, results, found))
        facts["workloads"][name] = {side: {**vars(results[side]), call.quality: found[side]} for side in SIDES}
    header = ["workload", "", "linnet", "scikit-learn", "ratio", "target", "loss or score: linnet, scikit-learn"]
    show(header, lines)
    return {**facts, "tables": {"estimators": (header, lines)}}


def _turn(side: Side, found: dict[str, float]) -> tuple[float, float]:
    seconds, used, found[side.name] = side.ask("run")
    return seconds, used


def _line(
    name: str, title: str, quality: str, target: float, results: dict[str, Result], found: dict[str, float]
) -> list[str]:
    ours, theirs = found["linnet"], found["sklearn"]
    good = ours <= theirs * SLACK if quality == "loss" else ours >= theirs / SLACK
    ratio = results["sklearn"].best / results["linnet"].best
    return [
        name,
        title,
        f"{results['linnet'].best:.4g} s",
        f"{results['sklearn'].best:.4g} s",
        f"{ratio:.2f}" if good else f"({ratio:.2f}: not as good)",
        f"{target:g}",
        f"{ours:.4g}, {theirs:.4g}",
    ]


def _program(rounds: int, facts: dict[str, Any]) -> list[str]:
    """A whole program, import included: fit and predict on 1,797 x 64 digits."""
    import tempfile

    results = {side: Result() for side in SIDES}
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "digits.npy")
        np.save(path, np.c_[_digits()])
        for _ in range(rounds):
            for side, module in SIDES.items():
                command = [sys.executable, "-W", "ignore", "-c", PROGRAM.format(module=module, path=path)]
                begin = time.perf_counter()
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                results[side].add(time.perf_counter() - begin, 0.0)
                found[side] = float(done.stdout)
    facts["workloads"][PROGRAM_NAME] = {side: {"seconds": results[side].seconds} for side in SIDES}
    title = "whole program: import, fit and predict, digits 1,797 x 64"
    return _line(PROGRAM_NAME, title, "score", 2.0, results, found)
