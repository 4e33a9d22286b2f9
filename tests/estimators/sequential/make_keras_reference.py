"""Write keras_reference.json: what Keras 3 computes on small deterministic problems.

Run it with Keras on the JAX backend, from any directory:

    KERAS_BACKEND=jax python tests/estimators/sequential/make_keras_reference.py

Data and initial weights come from closed formulas, so a test can import this module
(numpy only), rebuild the very same arrays with `arrays(case)` and compare its training
history and final weights with the stored ones. Rows are never shuffled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
OUTPUT = Path(__file__).with_name("keras_reference.json")
# Validation rows continue the formulas far from the training rows.
VALIDATION_START = 1000


def _grid(n: int, d: int, start: int = 0) -> tuple[Integers, Integers]:
    """Row and column numbers as a column and a row that broadcast to (n, d)."""
    return np.arange(start, start + n)[:, None], np.arange(d)[None, :]


def inputs(n: int, d: int, start: int = 0) -> Floats:
    """x[i, j] = sin(1 + 7 i + 3 j + 0.37 i j); the product term makes the rank full."""
    i, j = _grid(n, d, start)
    phase = 1.0 + 7.0 * i + 3.0 * j + 0.37 * i * j
    return np.asarray(np.sin(phase), dtype=np.float32)


def labels(n: int, k: int, start: int = 0) -> Integers:
    """Class numbers (7 i + i^2 // 5) mod k."""
    i = np.arange(start, start + n)
    return (7 * i + i * i // 5) % k


def one_hot(n: int, k: int, start: int = 0) -> Floats:
    """The rows of the identity matrix that `labels` selects."""
    return np.eye(k, dtype=np.float32)[labels(n, k, start)]


def targets(n: int, k: int, start: int = 0) -> Floats:
    """Regression targets in (0.1, 0.9): 0.5 + 0.4 sin(2 + 3 i + 5 j)."""
    i, j = _grid(n, k, start)
    return (0.5 + 0.4 * np.sin(2.0 + 3.0 * i + 5.0 * j)).astype(np.float32)


def bits(n: int, k: int, start: int = 0) -> Floats:
    """Independent 0/1 targets: ((3 i + 5 j + i j) // 2) mod 2."""
    i, j = _grid(n, k, start)
    return ((3 * i + 5 * j + i * j) // 2 % 2).astype(np.float32)


def counts(n: int, k: int, start: int = 0) -> Floats:
    """Counts 0..4 for the Poisson loss: (5 i + 3 j + i j + i // 5) mod 5."""
    i, j = _grid(n, k, start)
    return ((5 * i + 3 * j + i * j + i // 5) % 5).astype(np.float32)


def sample_weights(n: int) -> Floats:
    """Weights 0, 0.5, 1, 1.5, 0, ... so that some rows count for nothing."""
    return (np.arange(n) % 4 * 0.5).astype(np.float32)


def weights(shape: Sequence[int], index: int) -> Floats:
    """Initial weight array number `index` in `get_weights()` order.

    Kernel: sqrt(2 / fan_in) sin(1 + 13 index + 5 r + 11 c + 0.7 r c).
    Bias: 0.1 sin(1 + 13 index + 11 c).
    """
    if len(shape) == 1:
        c = np.arange(shape[0])
        phase = 1.0 + 13.0 * index + 11.0 * c
        return np.asarray(0.1 * np.sin(phase), dtype=np.float32)
    r, c = _grid(shape[0], shape[1])
    scale = np.sqrt(2.0 / shape[0])
    phase = 1.0 + 13.0 * index + 5.0 * r + 11.0 * c + 0.7 * r * c
    return np.asarray(scale * np.sin(phase), dtype=np.float32)


TARGETS: dict[str, Callable[[int, int, int], NDArray[Any]]] = {
    "labels": labels,
    "one_hot": one_hot,
    "targets": targets,
    "bits": bits,
    "counts": counts,
}


@dataclass
class Case:
    """One training run; every field is stored beside its result."""

    name: str
    layers: Sequence[tuple[int, str]]
    loss: str = "categorical_crossentropy"
    target: str = "one_hot"
    optimizer: str = "SGD"
    params: dict[str, Any] = field(default_factory=lambda: {"learning_rate": 0.1})
    metrics: Sequence[str] = ()
    rows: int = 60
    columns: int = 12
    epochs: int = 4
    batch_size: int = 16
    weighted: bool = False
    class_weight: Sequence[float] | None = None
    validation_rows: int = 0
    validation_split: float = 0.0
    l1: float = 0.0
    l2: float = 0.0


@dataclass
class Arrays:
    """What a case trains on; validation arrays only if the case asks for them."""

    x: Floats
    y: NDArray[Any]
    initial_weights: list[Floats]
    sample_weight: Floats | None
    validation: tuple[Floats, NDArray[Any]] | None


def arrays(case: Case) -> Arrays:
    """Rebuild the data and the initial weights of a case."""
    make_target = TARGETS[case.target]
    outputs = case.layers[-1][0]
    initial: list[Floats] = []
    width = case.columns
    for units, _ in case.layers:
        initial.append(weights((width, units), len(initial)))
        initial.append(weights((units,), len(initial)))
        width = units
    held_out = None
    if case.validation_rows:
        n = case.validation_rows
        held_out = (
            inputs(n, case.columns, VALIDATION_START),
            make_target(n, outputs, VALIDATION_START),
        )
    return Arrays(
        x=inputs(case.rows, case.columns),
        y=make_target(case.rows, outputs, 0),
        initial_weights=initial,
        sample_weight=sample_weights(case.rows) if case.weighted else None,
        validation=held_out,
    )


MLP = ((10, "relu"), (4, "softmax"))
ACTIVATIONS = (
    *("linear", "sigmoid", "tanh", "relu", "leaky_relu", "elu", "selu", "gelu"),
    *("silu", "softplus", "softmax", "exponential"),
)
SPARSE = "sparse_categorical_crossentropy"
OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"learning_rate": 0.1}),
    "momentum": ("SGD", {"learning_rate": 0.05, "momentum": 0.9}),
    "nesterov": ("SGD", {"learning_rate": 0.05, "momentum": 0.9, "nesterov": True}),
    "adagrad": ("Adagrad", {"learning_rate": 0.05}),
    "rmsprop": ("RMSprop", {"learning_rate": 0.005}),
    "adam": ("Adam", {"learning_rate": 0.01}),
    "adamw": ("AdamW", {"learning_rate": 0.01, "weight_decay": 0.1}),
    "amsgrad": ("Adam", {"learning_rate": 0.05, "beta_2": 0.8, "amsgrad": True}),
    "adamw_amsgrad": ("AdamW", {"learning_rate": 0.05, "weight_decay": 0.1, "beta_2": 0.8, "amsgrad": True}),
}


def cases() -> list[Case]:
    """Every stored training run."""
    out = [
        Case("softmax", ((4, "softmax"),)),
        Case("softmax_labels", ((4, "softmax"),), SPARSE, "labels"),
        Case("mlp_labels", MLP, SPARSE, "labels"),
    ]
    for name, (optimizer, params) in OPTIMIZERS.items():
        out.append(Case(f"optimizer_{name}", MLP, optimizer=optimizer, params=params))
    for name, outputs, activation, loss, target in (
        ("mse", 2, "linear", "mse", "targets"),
        ("mse_sigmoid", 2, "sigmoid", "mse", "targets"),
        ("mse_tanh", 2, "tanh", "mse", "targets"),
        ("mse_softmax", 4, "softmax", "mse", "one_hot"),
        ("mae", 2, "linear", "mae", "targets"),
        ("binary_1", 1, "sigmoid", "binary_crossentropy", "bits"),
        ("binary_3", 3, "sigmoid", "binary_crossentropy", "bits"),
        ("poisson", 2, "exponential", "poisson", "counts"),
    ):
        layers = ((10, "tanh"), (outputs, activation))
        out.append(Case(f"loss_{name}", layers, loss, target))
    out += [Case(f"hidden_{name}", ((10, name), (4, "softmax"))) for name in ACTIVATIONS]
    out += [Case(f"batch_{size}", MLP, batch_size=size, epochs=3) for size in (1, 7, 60)]
    classified: dict[str, Any] = {"metrics": ("accuracy",)}
    out += [
        Case("sample_weight", MLP, weighted=True, **classified),
        Case("class_weight", MLP, class_weight=(1.0, 2.0, 0.5, 1.5), **classified),
        Case("l2", MLP, l2=0.01),
        Case("l1", MLP, l1=0.01),
        Case("l1_l2_validation", MLP, l1=0.01, l2=0.02, validation_rows=25),
        Case(
            "global_clipnorm",
            MLP,
            params={"learning_rate": 0.5, "global_clipnorm": 0.2},
        ),
        Case(
            "validation",
            MLP,
            metrics=("categorical_accuracy", "accuracy"),
            validation_rows=25,
        ),
        Case(
            "validation_labels",
            MLP,
            SPARSE,
            "labels",
            metrics=("accuracy",),
            validation_rows=25,
        ),
        Case(
            "validation_binary",
            ((10, "relu"), (1, "sigmoid")),
            "binary_crossentropy",
            "bits",
            metrics=("accuracy",),
            validation_rows=25,
        ),
        Case(
            "validation_regression",
            ((10, "relu"), (2, "linear")),
            "mse",
            "targets",
            metrics=("mae", "mse"),
            validation_rows=25,
        ),
        Case("validation_split", MLP, metrics=("accuracy",), validation_split=0.25),
    ]
    return out


# Learning rate schedules, evaluated at the steps below.
SCHEDULE_STEPS = (0, 1, 2, 5, 9, 10, 11, 17, 25, 40)
DECAY = {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5}
WARMUP = {"decay_steps": 20, "warmup_target": 0.1, "warmup_steps": 10}
CYCLE = {"decay_steps": 10, "end_learning_rate": 0.01, "power": 2.0, "cycle": True}
SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    ("ExponentialDecay", DECAY),
    ("ExponentialDecay", {**DECAY, "staircase": True}),
    ("InverseTimeDecay", DECAY),
    ("InverseTimeDecay", {**DECAY, "staircase": True}),
    ("CosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 20, "alpha": 0.1}),
    ("CosineDecay", {"initial_learning_rate": 0.01, **WARMUP}),
    ("PiecewiseConstantDecay", {"boundaries": [5, 10], "values": [0.1, 0.05, 0.01]}),
    ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 20}),
    ("PolynomialDecay", {"initial_learning_rate": 0.1, **CYCLE}),
]


def _exact(value: float) -> float:
    """Nine significant digits identify a float32."""
    return float(f"{float(value):.9g}")


def _train(keras: Any, case: Case) -> dict[str, Any]:
    """Train one case with Keras and describe the result."""
    data = arrays(case)
    model = keras.Sequential([keras.layers.Input((case.columns,))])
    regularizer = None
    if case.l1 or case.l2:
        regularizer = keras.regularizers.L1L2(l1=case.l1, l2=case.l2)
    for units, activation in case.layers:
        model.add(keras.layers.Dense(units, activation, kernel_regularizer=regularizer))
    model.set_weights(data.initial_weights)
    optimizer = getattr(keras.optimizers, case.optimizer)(**case.params)
    if case.optimizer == "AdamW":
        optimizer.exclude_from_weight_decay(var_names=["bias"])  # linnet never decays biases
    model.compile(optimizer, case.loss, metrics=list(case.metrics) or None)
    by_class = case.class_weight
    history = model.fit(
        data.x,
        data.y,
        batch_size=case.batch_size,
        epochs=case.epochs,
        shuffle=False,
        verbose=0,
        sample_weight=data.sample_weight,
        class_weight=dict(enumerate(by_class)) if by_class else None,
        validation_data=data.validation,
        validation_split=case.validation_split,
    ).history
    final = []
    for array in model.get_weights():
        flat = array.astype(np.float64).ravel()
        final.append(
            {
                "shape": list(array.shape),
                "sum": _exact(flat.sum()),
                "sum_of_squares": _exact(flat @ flat),
                "first": [_exact(v) for v in flat[:5]],
            }
        )
    return {
        "case": asdict(case),
        "history": {key: [_exact(v) for v in values] for key, values in history.items()},
        "weights": final,
    }


def _lines(records: list[dict[str, Any]]) -> str:
    """A JSON list with one record per line."""
    return "[\n" + ",\n".join(map(json.dumps, records)) + "\n]"


def main() -> None:
    """Train every case and write the file."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras

    schedules = []
    for name, params in SCHEDULES:
        schedule = getattr(keras.optimizers.schedules, name)(**params)
        rates = [_exact(schedule(step)) for step in SCHEDULE_STEPS]
        schedules.append({"name": name, "params": params, "rates": rates})
    records = [_train(keras, case) for case in cases()]
    # One case per line keeps the file readable in a diff.
    OUTPUT.write_text(
        f'{{"keras": {json.dumps(keras.__version__)},\n'
        f'"schedule_steps": {json.dumps(SCHEDULE_STEPS)},\n'
        f'"schedules": {_lines(schedules)},\n'
        f'"cases": {_lines(records)}}}\n'
    )
    print(f"{len(records)} cases, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
