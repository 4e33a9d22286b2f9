"""Small tables of every task, and the models and facts made of them."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.report import Facts, facts_of
from linnet.tables.model import TableModel
from linnet.tables.options import Options
from linnet.tables.rows import Examples
from linnet.tables.schema import Schema
from linnet.tables.select import best_model

ROWS = 400
CASES = [
    *(("two classes", model) for model in ("logistic", "mlp", "perceptron", "constant")),
    *(("many classes", model) for model in ("softmax", "mlp")),
    *(("counts", model) for model in ("poisson", "mlp", "constant")),
    *(("a number", model) for model in ("linear", "mlp")),
]

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "</style></title><svg onload=alert(1)>",
    "&lt;b&gt; ' \" `${alert(1)}`",
    "\u202eright to left: שלום עולם",
    "line\nbreak\x00\x1b[31m",
    "long " * 400,
]


@dataclass(frozen=True)
class Case:
    """A trained model, its training rows and its held-out rows."""

    model: TableModel
    training: Examples
    held_out: pa.Table


def columns(rows: int = ROWS, seed: int = 0) -> dict[str, Any]:
    """Two numbers and a category, of which the first and the last matter."""
    random = np.random.default_rng(seed)
    level = random.choice(["low", "middle", "high"], rows)
    return {
        "size": random.normal(size=rows),
        "noise": random.normal(size=rows),
        "level": level.tolist(),
    }


def table(task: str, rows: int = ROWS) -> pa.Table:
    """A table with the target "y" (and "time" for counts)."""
    given = columns(rows)
    random = np.random.default_rng(1)
    z = 1.5 * given["size"] + np.array([{"low": -1.0, "middle": 0.0, "high": 1.0}[one] for one in given["level"]])
    if task == "two classes":
        y: Any = np.where(random.random(rows) < 1 / (1 + np.exp(-z)), "yes", "no").tolist()
    elif task == "many classes":
        y = np.array(["red", "green", "blue"])[np.digitize(z + random.normal(size=rows), [-1, 1])].tolist()
    elif task == "counts":
        given["time"] = random.uniform(0.2, 1.0, rows)
        y = random.poisson(given["time"] * np.exp(0.5 * z))
    else:
        y = z + random.normal(size=rows)
    return pa.table({**given, "y": y})


def trained(whole: pa.Table, target: str, task: str, *, exposure: str | None = None, **options: Any) -> Case:
    """Train with a fifth of the rows held out."""
    schema = Schema.of(whole.drop_columns([exposure] if exposure else []), target, task=task)
    few = {"max_iter": 4} if options.get("model", "auto") in ("auto", "mlp") else {}  # epochs
    found = best_model(whole, schema, Options(exposure=exposure, **{**few, **options}))
    assert found.run is not None
    return Case(found, found.run.training, found.run.held_out.table)


@cache
def case(task: str, model: str) -> Case:
    """One of CASES."""
    whole = table(task)
    return trained(whole, "y", task, model=model, exposure="time" if task == "counts" else None)


@cache
def facts(task: str, model: str) -> Facts:
    """The facts of one of CASES."""
    one = case(task, model)
    return facts_of(one.model, one.held_out, training=one.training, command="linnet train data.csv --target y")


@cache
def hostile_facts(model: str) -> Facts:
    """Columns, classes, levels and all else that may come from data have names that try to be markup."""
    random = np.random.default_rng(0)
    columns = {text: random.normal(size=300) for text in HOSTILE}
    others = {
        "levels": random.choice(HOSTILE, 300).tolist(),
        HOSTILE[0] + " target": random.choice(HOSTILE, 300).tolist(),
    }
    one = trained(pa.table({**columns, **others}), HOSTILE[0] + " target", "many classes", model=model)
    found = facts_of(one.model, one.held_out, training=one.training, notices=HOSTILE, command=HOSTILE[2])
    return replace(found, files=tuple(HOSTILE), reason=HOSTILE[1], versions={HOSTILE[0]: HOSTILE[1]})
