"""From linear models to neural nets with one engine.

Names are loaded when they are first used, so that `import linnet` costs next to nothing.
"""

from typing import TYPE_CHECKING

from linnet._lazy import lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from linnet import config, errors, evaluate, multiclass, theory
    from linnet.config import get_threads, set_threads, show_config, threads
    from linnet.estimators.layers import Dense, Dropout, Input, l1, l1_l2, l2
    from linnet.estimators.linear import GammaRegressor, LinearRegression, PoissonRegressor, Ridge, TweedieRegressor
    from linnet.estimators.logistic import LogisticRegression
    from linnet.estimators.mlp_classifier import MLPClassifier
    from linnet.estimators.mlp_regressor import MLPRegressor
    from linnet.estimators.model_file import load
    from linnet.estimators.perceptron import Perceptron
    from linnet.estimators.resume import resume
    from linnet.estimators.sequential import History, Sequential
    from linnet.estimators.threshold import ThresholdClassifier
    from linnet.evaluate.metrics import NamedMetric
    from linnet.fit.checkpoint import Checkpoint
    from linnet.fit.optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop
    from linnet.fit.schedules import Constant, Cosine, ExponentialDecay, InverseScaling, Schedule, StepDecay
    from linnet.fit.stopping import EarlyStopping, ReduceLROnPlateau
    from linnet.model.activations import LeakyReLU
    from linnet.multiclass.label_tree import LabelTreeClassifier
    from linnet.multiclass.one_vs_one import OneVsOneClassifier
    from linnet.multiclass.one_vs_rest import OneVsRestClassifier
    from linnet.multiclass.output_code import OutputCodeClassifier

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
    "resume",
    "set_threads",
    "show_config",
    "theory",
    "threads",
]

_MODULES = ("config", "errors", "evaluate", "multiclass", "theory")
_NAMES = {  # by the module they live in
    "config": ("get_threads", "set_threads", "show_config", "threads"),
    "estimators.layers": ("Dense", "Dropout", "Input", "l1", "l1_l2", "l2"),
    "estimators.linear": ("GammaRegressor", "LinearRegression", "PoissonRegressor", "Ridge", "TweedieRegressor"),
    "estimators.logistic": ("LogisticRegression",),
    "estimators.mlp_classifier": ("MLPClassifier",),
    "estimators.mlp_regressor": ("MLPRegressor",),
    "estimators.model_file": ("load",),
    "estimators.perceptron": ("Perceptron",),
    "estimators.resume": ("resume",),
    "estimators.sequential": ("History", "Sequential"),
    "estimators.threshold": ("ThresholdClassifier",),
    "evaluate.metrics": ("NamedMetric",),
    "fit.checkpoint": ("Checkpoint",),
    "fit.optimizers": ("SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop"),
    "fit.schedules": ("Constant", "Cosine", "ExponentialDecay", "InverseScaling", "Schedule", "StepDecay"),
    "fit.stopping": ("EarlyStopping", "ReduceLROnPlateau"),
    "model.activations": ("LeakyReLU",),
    "multiclass.label_tree": ("LabelTreeClassifier",),
    "multiclass.one_vs_one": ("OneVsOneClassifier",),
    "multiclass.one_vs_rest": ("OneVsRestClassifier",),
    "multiclass.output_code": ("OutputCodeClassifier",),
}

if not TYPE_CHECKING:  # a type checker would take it to mean that any name exists
    __getattr__ = lazily(__name__, _NAMES, _MODULES)


def __dir__() -> list[str]:
    return __all__
