"""The run on the page as a program, as a command, and as a model file."""

import csv
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from linnet.errors import ConfigError, hearing
from linnet.estimators.mlp.classifier import MLPClassifier
from linnet.estimators.mlp.regressor import MLPRegressor
from linnet.estimators.sequential.layers import Dense, Dropout
from linnet.heads import Floats, Head
from linnet.playground.session import Leg, Session
from linnet.playground.state import State
from linnet.tables.model import TableModel, Tried
from linnet.tables.options import command_of
from linnet.tables.select import MIN_ROWS
from linnet.tables.task import Task

PARTS = ("train", "test")


def program(session: Session) -> str:
    """Return a program that trains the same network on the same rows, to the same loss after the same whole epochs."""
    state, model = session.state, session.model
    optimizers = sorted({repr(leg.state.make_optimizer()).partition("(")[0] for leg in session.legs})
    classes = {type(layer).__name__ for layer in model.layers} | {"Sequential", *optimizers}
    if state.l1 or state.l2 or any(leg.state.l1 or leg.state.l2 for leg in session.legs):
        classes.add("l1_l2")
    metrics = f", metrics={['accuracy' if session.data.classes else 'r2']}" if not _moved(session) else ""
    lines = [f"from linnet import {', '.join(sorted(classes, key=str.lower))}", *_data_lines(session), ""]
    lines += ["model = Sequential([", *(f"    {line}," for line in _layer_lines(session)), f"], seed={state.seed})"]
    previous: Leg | None = None
    done = 0
    for leg in session.legs:
        if not leg.epochs and not leg.edits and len(session.legs) > 1:
            continue
        if previous is not None and (leg.state.l1, leg.state.l2) != (previous.state.l1, previous.state.l2):
            lines.append(f"for layer in model.layers:  # the penalty was changed after {done} epochs")
            lines.append("    if isinstance(layer, Dense):")
            lines.append(f"        layer.kernel_regularizer = l1_l2({leg.state.l1!r}, {leg.state.l2!r})")
        if leg.fresh or previous is None:
            lines.append(f"model.compile({_optimizer(leg.state)}, loss={model.loss.name!r}{metrics})")
        if leg.edits:
            if previous is None:
                lines.append(f"model.build({model.network.inputs})")
            lines.append("weights = model.get_weights()  # some were set by hand")
            for edit in leg.edits:
                index = f"[{edit.unit}]" if edit.source is None else f"[{edit.source}, {edit.unit}]"
                number = 2 * edit.layer + (edit.source is None)
                lines.append(f"weights[{number}]{index} = {edit.value!r}")
            lines.append("model.set_weights(weights)")
        if leg.epochs:
            lines.append(
                f"model.fit(data.x[train], data.y[train], batch_size={leg.state.batch}, epochs={leg.epochs}, verbose=0)"
            )
        previous, done = leg, done + leg.epochs
    lines += [
        "print('train', model.evaluate(data.x[train], data.y[train], return_dict=True))",
        "print('test', model.evaluate(data.x[test], data.y[test], return_dict=True))",
        *_threshold_lines(session),
    ]
    return "\n".join(lines) + "\n"


def command(session: Session) -> str:
    """Return `linnet train` on the rows as the page saves them: the same layers, loss, seed and number of epochs.

    For a table a second command follows, which finds the best model of the table's own columns.
    """
    state, model = session.state, session.model
    train, test = (f"{state.data}-{part}.csv" for part in PARTS)
    layers, moved = state.layers, _moved(session) and not model.has_scores_only
    asked: dict[str, Any] = {"valid": test, "target": _target_name(session)}
    asked |= {"task": session.data.task, "model": "sequential"}
    if layers:
        asked |= {"hidden_layer_sizes": [layer.units for layer in layers]}
        asked |= {"activation": [layer.activation for layer in layers]}
    if any(layer.dropout for layer in layers):
        asked["dropout"] = [layer.dropout for layer in layers]
    asked |= {"loss": model.loss.name, "initializer": state.initialiser}
    asked |= {name: strength for name, strength in (("l1", state.l1), ("l2", state.l2)) if strength}
    asked |= {"solver": state.optimizer, "learning_rate_init": state.rate, "batch_size": state.batch}
    asked |= {"threshold": state.threshold} if moved else {}
    lines = [command_of({**asked, "max_iter": session.epochs, "seed": state.seed}, [train])]
    if state.data == "table" and session.table is not None:
        own = {"target": state.target}
        own |= {"delimiter": session.table.delimiter} if session.table.delimiter else {}
        again = command_of(own, [str(file) for file in session.table.files])
        lines += ["", "# or the best model of the table's own columns", again]
    return "\n".join(lines)


def command_note(session: Session) -> str:
    """Return whether the command reproduces the losses on the page, and if not, why."""
    missing = set(range(session.data.outcomes)) - set(session.data.y[session.train_part].tolist())
    if session.data.classes and missing:
        name = session.data.classes[min(missing)]
        return f"It cannot reproduce the losses above: class {name} has no training row, so it would be unknown."
    if len(session.train_part) < MIN_ROWS or len(session.test_part) < 2:
        return f"It will fail on so few rows: it needs at least {MIN_ROWS} training rows and 2 test rows."
    if not session.is_plain:
        return (
            "Its losses will differ from those above: settings were changed during the run, which the program "
            "repeats, while the command trains with the last settings from the first epoch on."
        )
    note = "It prints the same losses as above. Save both files of rows in the folder where you run it."
    if _moved(session) and session.model.has_scores_only:
        note += " It has no threshold for the perceptron: its accuracy is that at the threshold 0.5."
    if session.data.is_scaled:
        note += (
            f" The files hold {session.state.target} standardised, as the network gets it, and so are its predictions."
        )
    return note


def table_text(session: Session, part: str) -> str:
    """Return the training or test rows as CSV: inputs as the network gets them, to the last bit, and the target."""
    data, text = session.data, io.StringIO()
    rows = session.train_part if part == "train" else session.test_part
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*data.inputs, _target_name(session)])
    for x, y in zip(data.x[rows].tolist(), data.y[rows].tolist(), strict=True):
        writer.writerow([*(f"{value:.9g}" for value in x), data.classes[y] if data.classes else repr(y)])
    return text.getvalue()


def model_file(session: Session) -> bytes:
    """Return the model as a file for linnet.load: a model of a table's raw columns, else a Sequential of the inputs."""
    model: Any = session.model.with_head(session.head).sequential(session.theta)
    if session.state.data == "table":
        model = table_model(session)
    with tempfile.TemporaryDirectory(prefix="linnet-") as folder:
        path = Path(folder) / "model.linnet"
        model.save(path)
        return path.read_bytes()


def table_model(session: Session) -> TableModel:
    """Return the network as a model of the table's own columns.

    Inputs were standardised, (x - m) / s; with W / s and b - (m / s) W the first layer takes raw inputs. A numeric
    target was standardised, too, (y - c) / d; with d W and d b + c the last layer returns it in its own unit.
    """
    state, head = session.state, session.head
    if session.model.has_scores_only:
        name = head.family
        raise ConfigError(f"head {name!r} has no model file for tables: linnet.train(..., model={name!r}) makes one")
    assert session.table is not None
    found = session.table.prepared(state.target)
    blocks = [(b.weights.astype(np.float64), b.biases.astype(np.float64)) for b in
              session.model.network.blocks(session.theta)]  # fmt: skip
    weights, biases = blocks[0]
    blocks[0] = weights / found.scale[:, None], biases - (found.centre / found.scale) @ weights
    if session.data.is_scaled:
        weights, biases = blocks[-1]
        blocks[-1] = weights * session.data.scale, biases * session.data.scale + session.data.centre
    if head.coupled and session.data.outcomes == 2:  # the estimator has one output for two classes: the difference
        weights, biases = blocks[-1]
        blocks[-1] = weights[:, 1:] - weights[:, :1], biases[1:] - biases[:1]
    settings: dict[str, Any] = {
        "hidden_layer_sizes": tuple(layer.units for layer in state.layers),
        "activation": [layer.activation for layer in state.layers],
        "max_iter": 1,
        "random_state": state.seed,
    }
    x = found.schema.apply(found.table)
    task = session.data.task
    if task.has_classes:
        y: Any = np.array(found.classes, dtype=object)[found.y]
        estimator: Any = MLPClassifier(**settings)
    else:
        y = found.y
        estimator = MLPRegressor(head.losses[0], **settings)
    estimator = _fitted(estimator, x, y)
    estimator.coefs_ = [weights for weights, _ in blocks]
    estimator.intercepts_ = [biases for _, biases in blocks]
    estimator.dispersion_ = _dispersion(session, head) if not task.has_classes else None
    test = session.scores()[1]
    return TableModel(
        schema=found.schema,
        roles=found.roles,
        task=task,
        estimator=estimator,
        classes=np.array(found.classes, dtype=object) if found.classes else None,
        threshold=state.threshold if task is Task.TWO_CLASSES and state.threshold != 0.5 else None,
        tried=(Tried("playground", "trained by hand in the playground", {"loss": test}, chosen=True),),
        metric="loss",
        facts={"rows": len(session.train_part), "held_out": len(session.test_part), "seed": state.seed},
    )


def _dispersion(session: Session, head: Head) -> Floats:
    """Return the dispersion of the targets around their means: the run's estimate, else that of the test rows."""
    if head.is_estimated:
        return np.array([head.parameter])
    spread = head.dispersion(session.means(session.test_part), session.data.y[session.test_part][:, None], None)
    assert spread is not None
    return spread * session.data.scale**2


def _fitted(estimator: Any, x: Any, y: Any) -> Any:
    """Return the estimator fitted to these columns and classes; its parameters will be replaced."""
    with hearing():
        return estimator.fit(x, y)


# ---- lines of the program ----


def _data_lines(session: Session) -> list[str]:
    state = session.state
    if state.data == "table" and session.table is not None:
        axes = f", axes={list(state.axes)!r}" if state.axes else ""
        how = f", delimiter={session.table.delimiter!r}" if session.table.delimiter else ""
        made = f"Table.read({session.table.files!r}{how}).dataset({state.target!r}{axes})"
        head = "from linnet.playground.tables import Table"
    else:
        given = [repr(state.data)]
        if state.data == "drawn":
            given.append(f"points={[list(point) for point in state.points]!r}")
        elif state.data != "digits":
            given += [f"noise={state.noise!r}", f"seed={state.seed}"]
        if state.data in ("blobs", "pinwheels"):
            given.append(f"classes={state.classes}")
        if state.data != "digits":
            given.append(f"features={list(state.features)!r}")
        made, head = f"make({', '.join(given)})", "from linnet.playground.datasets import make"
    return [head, "", f"data = {made}", f"train, test = data.split({state.ratio!r}, seed={state.seed})"]


def _moved(session: Session) -> bool:
    """Return whether decisions use another threshold than a network's own."""
    return session.data.outcomes == 2 and session.state.threshold != 0.5


def _threshold_lines(session: Session) -> list[str]:
    """Return the accuracy at a changed threshold t; for the perceptron's score the threshold is log(t / (1 - t))."""
    if not _moved(session):
        return []
    data, threshold, what = session.data, session.state.threshold, "probability"
    if session.model.has_scores_only:
        what = "score"
        with np.errstate(divide="ignore"):
            threshold = float(np.log(threshold) - np.log1p(-threshold))
    limit = repr(threshold) if np.isfinite(threshold) else f"float('{threshold}')"
    return [
        "for name, part in (('train', train), ('test', test)):",
        f"    predicted = model.predict(data.x[part])[:, -1].astype(float) >= {limit}",
        f"    # by the {what} of {data.classes[1]!r}",
        "    print(name, 'accuracy', (predicted == data.y[part]).mean())",
    ]


def _layer_lines(session: Session) -> list[str]:
    lines = []
    first = session.legs[0].state
    penalty = f", kernel_regularizer=l1_l2({first.l1!r}, {first.l2!r})" if first.l1 or first.l2 else ""
    for layer in session.model.layers:
        if isinstance(layer, Dropout):
            lines.append(f"Dropout({layer.rate!r})")
            continue
        assert isinstance(layer, Dense)
        start = f", kernel_initializer={layer.kernel_initializer!r}"
        lines.append(f"Dense({layer.units}, {layer.activation.name!r}{start}{penalty})")
    return lines


def _optimizer(state: State) -> str:
    rate = repr(state.rate)
    match state.optimizer:
        case "momentum":
            return f"SGD({rate}, momentum=0.9)"
        case "nesterov":
            return f"SGD({rate}, momentum=0.9, nesterov=True)"
        case _:
            return f"{type(state.make_optimizer()).__name__}({rate})"


def _target_name(session: Session) -> str:
    """Return the target's name in a file: its own, or one that differs from those of the inputs."""
    name = session.state.target if session.state.data == "table" else "class" if session.data.classes else "y"
    while name in session.data.inputs:
        name += "_"
    return name
