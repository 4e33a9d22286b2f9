"""The reductions of several classes to binary problems, over each library's own logistic regression.

Both sides fit one-vs-rest, one-vs-one and output codes, and predict the classes of rows held out; the accuracies must
agree to within half a percent (of output codes, whose matrices are drawn, ours may be better) before a time counts. Of
label trees the time to predict is shown for 10, 100 and 1,000 classes, beside that of one-vs-rest.
"""

from __future__ import annotations

import gzip
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import Side, clocked, compared, race, show
from threadpoolctl import threadpool_limits

SIDES = ("linnet", "sklearn")
DATA = Path(os.environ.get("LINNET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Task:
    """What is fitted to which rows."""

    title: str
    reduction: str
    data: str
    target: float
    most_rounds: int = 2


_DATA = {"letters": "26 classes, 15,000 x 16", "hundred": "120 classes, 12,000 x 20"}
TASKS = {
    f"{name}-{data}": Task(f"{title}, {_DATA[data]}", reduction, data, target, 1 if name == "one" else 2)
    for data in _DATA
    for name, reduction, title, target in (
        ("rest", "OneVsRestClassifier", "one-vs-rest", 8.0),
        ("one", "OneVsOneClassifier", "one-vs-one", 4.0),
        ("codes", "OutputCodeClassifier", "output codes", 4.0),
    )
}
TREES = {"label-trees": (10, 100, 1000)}
MULTICLASS_NAMES = [*TASKS, *TREES]


def clouds(classes: int, rows: int, columns: int) -> tuple[Any, Any]:
    """Clouds of points around one centre a class."""
    rng = np.random.default_rng(0)
    y = np.arange(rows) % classes
    return 1.2 * rng.standard_normal((classes, columns))[y] + rng.standard_normal((rows, columns)), y


def data(name: str) -> tuple[Any, Any, Any, Any]:
    """Rows to fit to and rows to ask about; clouds in place of the letters where the folder of data sets is absent."""
    path = DATA / "letter" / "letter.csv.gz"
    if name == "letters" and path.exists():
        with gzip.open(path, "rt") as lines:
            names, *cells = (line.strip().split(",") for line in lines)
        place = names.index("letter")
        y = np.array([row.pop(place) for row in cells])
        X = np.array(cells, float)
    else:
        X, y = clouds(26, 20_000, 16) if name == "letters" else clouds(120, 16_000, 20)
    cut = len(y) * 3 // 4
    return X[:cut], y[:cut], X[cut:], y[cut:]


class Worker:
    """One library in its own process."""

    def __init__(self, name: str) -> None:
        warnings.simplefilter("ignore")
        self.name = name

    def setup(self, task: str) -> None:
        """Make the rows, and load the library."""
        wanted = TASKS[task]
        self.rows = data(wanted.data)
        options = {"random_state": 0} if "Code" in wanted.reduction else {}
        if self.name == "linnet":
            import linnet

            self.model = getattr(linnet, wanted.reduction)(linnet.LogisticRegression(), **options)
        else:
            from sklearn import linear_model, multiclass

            self.model = getattr(multiclass, wanted.reduction)(linear_model.LogisticRegression(), **options)

    def run(self) -> tuple[float, float, float]:
        """Seconds on the clock and of all threads, of a fit and a predict, and the accuracy."""
        X, y, X_test, y_test = self.rows
        with threadpool_limits(None if self.name == "linnet" else 1):  # threads make scikit-learn's small fits slower
            return clocked(lambda: float((self.model.fit(X, y).predict(X_test) == y_test).mean()))


class TreeWorker:
    """Label trees and one-vs-rest over the same rows, in one process."""

    def __init__(self, name: str) -> None:
        warnings.simplefilter("ignore")

    def predict_seconds(self, classes: int) -> tuple[float, float, float]:
        """Microseconds per row of a label tree and of one-vs-rest, and the depth of the tree."""
        import linnet

        rng = np.random.default_rng(0)
        y = np.arange(max(4000, 4 * classes)) % classes
        X = rng.standard_normal((len(y), 64))  # ten columns tell the binary digits of the class, the rest nothing
        X[:, :10] = 6.0 * (y[:, None] >> np.arange(10) & 1) - 3 + X[:, :10]
        asked = np.resize(X, (20_000, 64))
        tree = linnet.LabelTreeClassifier(linnet.LogisticRegression()).fit(X, y)
        rest = linnet.OneVsRestClassifier(linnet.LogisticRegression()).fit(X, y)
        times = []
        for model in (tree, rest):
            best = float("inf")
            for _ in range(5):
                start = time.perf_counter()
                model.predict(asked)
                best = min(best, time.perf_counter() - start)
            times.append(1e6 * best / len(asked))
        return times[0], times[1], float(np.log2(classes))


def run(names: list[str], *, rounds: int, turn_seconds: float) -> dict[str, Any]:
    """Time the reductions and print the tables."""
    facts: dict[str, Any] = {"workloads": {}}
    lines = []
    for name in (name for name in names if name in TASKS):
        task = TASKS[name]
        most = min(rounds, task.most_rounds)
        results, found = race(Worker, SIDES, name, rounds=most, turn_seconds=turn_seconds)
        good = found["linnet"] >= found["sklearn"] - 0.005
        good = good and ("codes" in name or found["linnet"] <= found["sklearn"] + 0.005)
        row = compared(name, task.title, results, task.target, differs=None if good else "other answers")
        lines.append([*row, f"{found['linnet']:.4f} / {found['sklearn']:.4f}"])
        facts["workloads"][name] = {side: {**vars(results[side]), "found": found[side]} for side in SIDES}
    header = ["workload", "", "linnet", "scikit-learn", "ratio", "of processor time", "target", "accuracy"]
    tree_header = ["label trees", "predict, per row", "divided by log2 K", "one-vs-rest, per row"]
    tree_lines: list[list[str]] = []
    if lines:
        show(header, lines)
    for name in (name for name in names if name in TREES):
        side = Side("linnet", TreeWorker)
        times = {classes: side.ask("predict_seconds", classes) for classes in TREES[name]}
        side.close()
        tree_lines += [
            [f"{k} classes", f"{a:.3g} µs", f"{a / log:.3g} µs", f"{b:.3g} µs"] for k, (a, b, log) in times.items()
        ]
        show(tree_header, tree_lines)
        facts["workloads"][name] = {str(k): {"tree": a, "rest": b} for k, (a, b, _) in times.items()}
    return {**facts, "tables": {"multiclass": (header, lines), "label-trees": (tree_header, tree_lines)}}
