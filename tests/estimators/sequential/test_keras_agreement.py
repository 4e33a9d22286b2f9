"""Sequential against Keras: the same data, initial weights and order of rows give the same history and weights.

The numbers were computed by Keras 3 on JAX: see tests/estimators/sequential/make_keras_reference.py.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from linnet import SGD, Adagrad, Adam, AdamW, Dense, LeakyReLU, RMSprop, Sequential, l1_l2

DATA = Path(__file__).parent


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


reference = _load(DATA / "make_keras_reference.py")
RECORDS = json.loads((DATA / "keras_reference.json").read_text())["cases"]
OPTIMIZERS = {"SGD": SGD, "Adagrad": Adagrad, "RMSprop": RMSprop, "Adam": Adam, "AdamW": AdamW}


def model_of(case: dict[str, Any]) -> Sequential:
    model = Sequential()
    for index, (units, activation) in enumerate(case["layers"]):
        model.add(
            Dense(
                units,
                # Keras' own default slope is 0.2
                activation=LeakyReLU(0.2) if activation == "leaky_relu" else activation,
                input_dim=case["columns"] if index == 0 else None,
                kernel_regularizer=l1_l2(case["l1"], case["l2"]) if case["l1"] or case["l2"] else None,
            )
        )
    params = dict(case["params"])
    if "global_clipnorm" in params:
        params["clip_norm"] = params.pop("global_clipnorm")
    model.compile(
        optimizer=OPTIMIZERS[case["optimizer"]](**params), loss=case["loss"], metrics=list(case["metrics"]) or None
    )
    return model


@pytest.mark.parametrize("record", RECORDS, ids=[record["case"]["name"] for record in RECORDS])
def test_history_and_weights_are_keras(record: dict[str, Any]) -> None:
    case = record["case"]
    data = reference.arrays(reference.Case(**case))
    model = model_of(case)
    model.set_weights(data.initial_weights)
    trajectory = model.fit(
        data.x,
        data.y,
        batch_size=case["batch_size"],
        epochs=case["epochs"],
        validation_data=data.validation,
        validation_split=case["validation_split"],
        class_weight=None if case["class_weight"] is None else dict(enumerate(case["class_weight"])),
        sample_weight=data.sample_weight,
        shuffle=False,
        verbose=0,
    )
    assert set(trajectory.history) == set(record["history"])
    for key, values in record["history"].items():
        np.testing.assert_allclose(trajectory.history[key], values, rtol=1e-4, atol=1e-6, err_msg=key)
    for array, expected in zip(model.get_weights(), record["weights"], strict=True):
        assert list(array.shape) == expected["shape"]
        first = array.ravel()[: len(expected["first"])]
        np.testing.assert_allclose(first, expected["first"], rtol=1e-3, atol=1e-4)
        assert float(array.sum()) == pytest.approx(expected["sum"], rel=1e-3, abs=1e-3)
