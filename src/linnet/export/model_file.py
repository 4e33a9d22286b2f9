"""`model.save(path)` and `linnet.load(path)`: models as files that hold data only."""

import importlib
import os
from typing import Any

from linnet.errors import FormatError
from linnet.export.blocks import read_blocks, write_blocks
from linnet.export.checks import check_answers, check_part
from linnet.export.saved import Saved, changed_since
from linnet.export.tree import Packer, Unpacker, state_of
from linnet.files import check_path
from linnet.fit.loop.optimizers import OPTIMIZERS
from linnet.fit.loop.training import OptimizerState
from linnet.heads import Head

# What may be in a model file, by module.
_CLASSES = {
    "data.encoder": ("Encoder", "Level"),
    "tables.kinds": ("Column",),
    "data.tabular_encoder": ("Numbers", "Preparer"),
    "tables.schema": ("Schema",),
    "estimators.sequential.layers": ("Dense", "Dropout", "Regularizer"),
    "estimators.linear": (
        *(
            "GammaRegressor",
            "LinearRegression",
            "NegativeBinomialRegressor",
            "PoissonRegressor",
            "Ridge",
            "TweedieRegressor",
        ),
    ),
    "estimators.logistic": ("LogisticRegression",),
    "estimators.sequential.losses": ("Loss",),
    "estimators.mlp.classifier": ("MLPClassifier",),
    "estimators.mlp.regressor": ("MLPRegressor",),
    "estimators.perceptron": ("Perceptron",),
    "estimators.tabular.classifier": ("TabularClassifier",),
    "estimators.tabular.regressor": ("TabularRegressor",),
    "estimators.sequential.sequential": ("Sequential",),
    "estimators.sequential.stack": ("Stack",),
    "tables.candidates": ("ConstantModel",),
    "tables.model": ("TableModel", "Tried"),
    "tables.network": ("TableNetwork",),
    "tables.rows": ("Roles",),
    "estimators.threshold": ("ThresholdClassifier",),
    "evaluate.thresholds": ("Cost", "FBeta", "PrecisionAtLeast", "RecallAtLeast"),
    "fit.checkpoint.checkpoint": ("Checkpoint",),
    "fit.loop.training": ("OptimizerState",),
    "fit.loop.optimizers": tuple(known.__name__ for known in OPTIMIZERS.values()),
    "fit.loop.schedules": ("Constant", "Cosine", "ExponentialDecay", "InverseScaling", "StepDecay"),
    "heads.activations": ("Activation",),
    "heads": ("Head",),
    "model.network": ("Layer", "Network"),
    "multiclass.label_tree": ("LabelTreeClassifier",),
    "multiclass.learners": ("SeparateLearners", "StackedLogistic"),
    "multiclass.one_vs_one": ("OneVsOneClassifier",),
    "multiclass.one_vs_rest": ("OneVsRestClassifier",),
    "multiclass.output_code": ("OutputCodeClassifier",),
}
# Attributes that are not part of a model: how scikit-learn's meta-estimators are to call it, and what of its training
# changes no result, so that the same run gives the same bytes on any number of threads and under any path. Nor are the
# rows of a training.
_NOT_KEPT = ("_metadata_request", "threads", "n_jobs", "verbose", "checkpoint", "seconds", "run")
_HOME = {name: module for module, names in _CLASSES.items() for name in names}
assert len(_HOME) == sum(map(len, _CLASSES.values())), "two classes of one name"


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file; a file that is there already is replaced once the new one is whole."""
    path, packer = check_path(path), Packer(_name, _state)
    write_blocks(path, packer.pack(model, type(model).__name__), packer.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model that a file holds. No code of the file is run; damage and unknown content are FormatErrors."""
    path = check_path(path)
    content, arrays = read_blocks(path)
    try:
        model = Unpacker(arrays, _class, check_part).unpack(content)
        if not isinstance(model, Saved):
            raise FormatError(f"it holds no model, but a value of type {type(model).__name__}")
        check_answers(model, path.stat().st_size)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is not a model as this version of linnet writes it: {error!r:.300}") from error
    return model


def _state(value: Any) -> dict[str, Any]:
    """What is kept of an object."""
    if isinstance(value, OptimizerState):
        return {}  # twice as large as a model, and needed for training only
    kept = value._state_in_file() if isinstance(value, Head) else state_of(value)
    state = {name: item for name, item in kept.items() if name not in _NOT_KEPT}
    if "_fit_params" in state and (given := changed_since(state.pop("_fit_params"), state)):
        state["_fit_params"] = given  # what was fitted is what counts
    if isinstance(history := state.get("history_"), dict):
        state["history_"] = {name: numbers for name, numbers in history.items() if name != "seconds"}
    return state


def _name(known: type) -> str | None:
    name = "Head" if issubclass(known, Head) else known.__name__
    home = f"linnet.{_HOME.get(name)}"
    return name if known.__module__ == home or known.__module__.startswith(f"{home}.") else None


def _class(name: str) -> type | None:
    if name not in _HOME:
        return None
    found: type = getattr(importlib.import_module(f"linnet.{_HOME[name]}"), name)
    return found
