"""From linear models to neural nets with one engine.

Names are loaded on first use, so that `import linnet` costs almost nothing.
"""

import sys
from typing import TYPE_CHECKING

from linnet._lazy import lazily
from linnet._moved import finder

__version__ = "0.1.0"

if TYPE_CHECKING:
    from linnet import config, errors, evaluate, multiclass, plain, theory
    from linnet.config import get_threads, set_threads, show_config, threads
    from linnet.estimators.linear import (
        GammaRegressor,
        LinearRegression,
        NegativeBinomialRegressor,
        PoissonRegressor,
        Ridge,
        TweedieRegressor,
    )
    from linnet.estimators.logistic import LogisticRegression
    from linnet.estimators.mlp.classifier import MLPClassifier
    from linnet.estimators.mlp.regressor import MLPRegressor
    from linnet.estimators.mlp.resume import resume
    from linnet.estimators.perceptron import Perceptron
    from linnet.estimators.sequential.history import History
    from linnet.estimators.sequential.layers import Dense, Dropout, Input, l1, l1_l2, l2
    from linnet.estimators.sequential.sequential import Sequential
    from linnet.estimators.tabular.classifier import TabularClassifier
    from linnet.estimators.tabular.regressor import TabularRegressor
    from linnet.estimators.threshold import ThresholdClassifier
    from linnet.evaluate.metric import NamedMetric
    from linnet.export.model_file import load
    from linnet.fit.checkpoint.checkpoint import Checkpoint
    from linnet.fit.loop.optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop
    from linnet.fit.loop.schedules import Constant, Cosine, ExponentialDecay, InverseScaling, Schedule, StepDecay
    from linnet.fit.loop.stopping import EarlyStopping, ReduceLROnPlateau
    from linnet.heads.activations import LeakyReLU
    from linnet.multiclass.label_tree import LabelTreeClassifier
    from linnet.multiclass.one_vs_one import OneVsOneClassifier
    from linnet.multiclass.one_vs_rest import OneVsRestClassifier
    from linnet.multiclass.output_code import OutputCodeClassifier
    from linnet.tables.model import TableModel
    from linnet.tables.train import train

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Checkpoint",
    "Constant",
    "Cosine",
    "Dense",
    "Dropout",
    "EarlyStopping",
    "ExponentialDecay",
    "GammaRegressor",
    "History",
    "Input",
    "InverseScaling",
    "LabelTreeClassifier",
    "LeakyReLU",
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "NamedMetric",
    "NegativeBinomialRegressor",
    "OneVsOneClassifier",
    "OneVsRestClassifier",
    "Optimizer",
    "OutputCodeClassifier",
    "Perceptron",
    "PoissonRegressor",
    "RMSprop",
    "ReduceLROnPlateau",
    "Ridge",
    "Schedule",
    "Sequential",
    "StepDecay",
    "TableModel",
    "TabularClassifier",
    "TabularRegressor",
    "ThresholdClassifier",
    "TweedieRegressor",
    "__version__",
    "config",
    "errors",
    "evaluate",
    "get_threads",
    "l1",
    "l1_l2",
    "l2",
    "load",
    "multiclass",
    "plain",
    "resume",
    "set_threads",
    "show_config",
    "theory",
    "threads",
    "train",
]

_MODULES = ("config", "errors", "evaluate", "multiclass", "plain", "theory")
_NAMES = {  # by the module they live in
    "config": ("get_threads", "set_threads", "show_config", "threads"),
    "estimators.sequential.layers": ("Dense", "Dropout", "Input", "l1", "l1_l2", "l2"),
    "estimators.linear": (
        *("GammaRegressor", "LinearRegression", "NegativeBinomialRegressor", "PoissonRegressor", "Ridge"),
        "TweedieRegressor",
    ),
    "estimators.logistic": ("LogisticRegression",),
    "estimators.mlp.classifier": ("MLPClassifier",),
    "estimators.mlp.regressor": ("MLPRegressor",),
    "export.model_file": ("load",),
    "estimators.perceptron": ("Perceptron",),
    "estimators.mlp.resume": ("resume",),
    "estimators.sequential.history": ("History",),
    "estimators.sequential.sequential": ("Sequential",),
    "estimators.tabular.classifier": ("TabularClassifier",),
    "estimators.tabular.regressor": ("TabularRegressor",),
    "estimators.threshold": ("ThresholdClassifier",),
    "evaluate.metric": ("NamedMetric",),
    "fit.checkpoint.checkpoint": ("Checkpoint",),
    "fit.loop.optimizers": ("SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop"),
    "fit.loop.schedules": ("Constant", "Cosine", "ExponentialDecay", "InverseScaling", "Schedule", "StepDecay"),
    "fit.loop.stopping": ("EarlyStopping", "ReduceLROnPlateau"),
    "heads.activations": ("LeakyReLU",),
    "multiclass.label_tree": ("LabelTreeClassifier",),
    "multiclass.one_vs_one": ("OneVsOneClassifier",),
    "multiclass.one_vs_rest": ("OneVsRestClassifier",),
    "multiclass.output_code": ("OutputCodeClassifier",),
    "tables.model": ("TableModel",),
    "tables.train": ("train",),
}

sys.meta_path.append(finder)

if not TYPE_CHECKING:  # a type checker would take it to mean that any name exists
    __getattr__ = lazily(__name__, _NAMES, _MODULES)


def __dir__() -> list[str]:
    return __all__
