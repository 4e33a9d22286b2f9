"""`model.save(path)` and `linnet.load(path)`: models as files that hold data only."""

import importlib
import os
from pathlib import Path
from typing import Any

from linnet.errors import FormatError
from linnet.fit.optimizers import OPTIMIZERS
from linnet.persist.blocks import read_blocks, write_blocks
from linnet.persist.tree import Packer, Unpacker

# What may be in a model file, by module.
_CLASSES = {
    "data.encoder": ("Encoder", "Level"),
    "data.kinds": ("Column",),
    "data.prepare": ("Numbers", "Preparer"),
    "data.schema": ("Schema",),
    "estimators.layers": ("Dense", "Dropout", "Regularizer"),
    "estimators.linear": (*("GammaRegressor", "LinearRegression", "PoissonRegressor", "Ridge", "TweedieRegressor"),),
    "estimators.logistic": ("LogisticRegression",),
    "estimators.losses": ("Loss",),
    "estimators.mlp_classifier": ("MLPClassifier",),
    "estimators.mlp_regressor": ("MLPRegressor",),
    "estimators.perceptron": ("Perceptron",),
    "estimators.sequential": ("Sequential",),
    "estimators.stack": ("Stack",),
    "estimators.candidates": ("ConstantModel",),
    "estimators.table_model": ("Roles", "TableModel", "Tried"),
    "estimators.table_network": ("TableNetwork",),
    "estimators.threshold": ("ThresholdClassifier",),
    "evaluate.thresholds": ("Cost", "FBeta", "PrecisionAtLeast", "RecallAtLeast"),
    "fit.checkpoint": ("Checkpoint",),
    "fit.loop": ("OptimizerState",),
    "fit.optimizers": tuple(known.__name__ for known in OPTIMIZERS.values()),
    "fit.schedules": ("Constant", "Cosine", "ExponentialDecay", "InverseScaling", "StepDecay"),
    "model.activations": ("Activation",),
    "model.heads": ("Head",),
    "model.network": ("Layer", "Network"),
    "multiclass.label_tree": ("LabelTreeClassifier",),
    "multiclass.learners": ("SeparateLearners", "StackedLogistic"),
    "multiclass.one_vs_one": ("OneVsOneClassifier",),
    "multiclass.one_vs_rest": ("OneVsRestClassifier",),
    "multiclass.output_code": ("OutputCodeClassifier",),
}
_EMPTY = ("OptimizerState",)  # twice as large as a model, and needed for training only
_WITHOUT = ("_metadata_request",)  # how scikit-learn's meta-estimators are to call a model is not part of it
_HOME = {name: module for module, names in _CLASSES.items() for name in names}
assert len(_HOME) == sum(map(len, _CLASSES.values())), "two classes of one name"


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file; a file that is there already is replaced once the new one is whole."""
    packer = Packer(_name, empty=_EMPTY, without=_WITHOUT)
    content = packer.pack(model, type(model).__name__)
    write_blocks(Path(path), content, packer.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model that a file holds. No code of the file is run; damage and unknown content are FormatErrors."""
    path = Path(path)
    content, arrays = read_blocks(path)
    try:
        return Unpacker(arrays, _class).unpack(content)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        raise FormatError(f"{path} is not a model as this version of linnet writes it: {error!r}") from error


def _name(known: type) -> str | None:
    name = known.__name__
    return name if known.__module__ == f"linnet.{_HOME.get(name)}" else None


def _class(name: str) -> type | None:
    if name not in _HOME:
        return None
    found: type = getattr(importlib.import_module(f"linnet.{_HOME[name]}"), name)
    return found
