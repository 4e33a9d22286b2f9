"""Fitted models do not change: parameters set after a fit take effect with the next fit, and not before."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnet
from linnet.errors import LinnetError

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Z = X @ np.array([1.0, -0.5, 0.2])
NUMBERS = np.exp(0.4 * Z) + 0.1
COUNTS = RNG.poisson(NUMBERS).astype(float)
TWO = np.where(Z + RNG.normal(size=60) > 0, "yes", "no")
FEW = np.array(["a", "b", "c"])[np.digitize(Z + RNG.normal(size=60), [-0.5, 0.5])]

STEERS = {"threads", "n_jobs", "verbose", "checkpoint"}  # how a program runs, and no result
QUICK: dict[str, Any] = {"max_iter": 3, "hidden_layer_sizes": (4,), "random_state": 0}
MODELS: dict[str, tuple[Any, Any]] = {
    "least squares": (linnet.LinearRegression(), NUMBERS),
    "ridge": (linnet.Ridge(), NUMBERS),
    "several targets": (linnet.Ridge(), np.stack([NUMBERS, Z], axis=1)),
    "poisson": (linnet.PoissonRegressor(), COUNTS),
    "gamma": (linnet.GammaRegressor(), NUMBERS),
    "negative binomial": (linnet.NegativeBinomialRegressor(), COUNTS),
    "given dispersion": (linnet.NegativeBinomialRegressor(dispersion=0.5), COUNTS),
    "tweedie": (linnet.TweedieRegressor(power=1.5), NUMBERS),
    "tweedie, normal": (linnet.TweedieRegressor(), NUMBERS),
    "logistic": (linnet.LogisticRegression(), TWO),
    "softmax": (linnet.LogisticRegression(), FEW),
    "reference": (linnet.LogisticRegression(C=1e6, reference="a"), FEW),
    "perceptron": (linnet.Perceptron(max_iter=5), FEW),
    "mlp classifier": (linnet.MLPClassifier(**QUICK), FEW),
    "mlp of two": (linnet.MLPClassifier(**QUICK), TWO),
    "mlp regressor": (linnet.MLPRegressor(**QUICK), NUMBERS),
    "mlp of counts": (linnet.MLPRegressor(loss="poisson", **QUICK), COUNTS),
    "mlp, stopped early": (linnet.MLPRegressor(early_stopping=True, **QUICK), NUMBERS),
    "mlp by lbfgs": (linnet.MLPClassifier(solver="lbfgs", **QUICK), FEW),
    "tabular classifier": (linnet.TabularClassifier(**QUICK), FEW),
    "tabular regressor": (linnet.TabularRegressor(**QUICK), NUMBERS),
    "preset": (linnet.MLPRegressor(preset="tabular", **QUICK), NUMBERS),
    "threshold": (linnet.ThresholdClassifier(linnet.LogisticRegression()), TWO),
    "one versus rest": (linnet.OneVsRestClassifier(linnet.LogisticRegression()), FEW),
    "one versus rest, separate": (linnet.OneVsRestClassifier(linnet.Perceptron(max_iter=5)), FEW),
    "one versus one": (linnet.OneVsOneClassifier(linnet.LogisticRegression()), FEW),
    "output code": (linnet.OutputCodeClassifier(linnet.LogisticRegression(), random_state=0), FEW),
    "label tree": (linnet.LabelTreeClassifier(linnet.LogisticRegression()), FEW),
}
# Another valid value of each parameter, or several; where none is listed, one is made of the value there is.
OTHERS: dict[str, tuple[Any, ...]] = {
    "C": (0.1,),
    "activation": ("tanh", "identity"),
    "alpha": (0.0, 50.0),
    "batch_size": (7,),
    "bins": (4,),
    "calibrate": (True, False),
    "class_weight": ("balanced",),
    "code_size": (3.0,),
    "column_penalty": ([1.0, 2.0, 3.0],),
    "criterion": ("entropy",),
    "cv": (3, "prefit"),
    "decoding": ("hamming", "loss"),
    "dispersion": (0.1, 9.0, "auto"),
    "dropout": (0.5,),
    "estimator": (linnet.LogisticRegression(C=0.01), linnet.Perceptron()),
    "missing": ("fill", "refuse"),
    "hidden_layer_sizes": ((9,), (5, 5)),
    "intercept_scaling": (7.0,),
    "l1_ratio": (0.5,),
    "learning_rate": ("adaptive",),
    "link": ("identity", "log"),
    "loss": ("poisson", "squared_error", "gamma", "absolute_error"),
    "max_iter": (1, 1000),
    "negative_class": ("b",),
    "objective": ("f1",),
    "output_activation": ("identity",),
    "penalty": ("l1", None),
    "pos_label": ("no", "yes"),
    "power": (0, 1, 2, 3),
    "precision": ("float64", "float32"),
    "preset": ("tabular", None),
    "random_state": (5,),
    "reference": ("b", None),
    "response_method": ("decision_function", "predict_proba"),
    "scale_target": (True, False),
    "solver": ("lbfgs", "sgd", "saga", "adam"),
    "tie_break": ("random", "first"),
    "validation": (0.3,),
    "validation_fraction": (0.3,),
}


def others(name: str, value: Any) -> tuple[Any, ...]:
    if name in OTHERS:
        return OTHERS[name]
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int | float):
        return (2 * value + 1, value / 2)
    return (3, 0.5, "auto", None)  # what it is not allowed to be must not matter before the next fit, either


def shown(found: Any) -> Any:
    if isinstance(found, list | tuple):
        return [shown(part) for part in found]
    array = np.asarray(found)
    return array.tolist() if array.dtype == object else array.tobytes()


def outputs_of(model: Any, y: Any) -> dict[str, Any]:
    """All outputs of a fitted model, by method; the type of the error where it raises one."""
    asks: dict[str, Any] = {
        method: lambda method=method: getattr(model, method)(X)
        for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "activations")
    }
    asks["sample"] = lambda: model.sample(X, random_state=7)
    asks["predict_interval"] = lambda: model.predict_interval(X)
    asks["score"] = lambda: model.score(X, y)
    asks["weighted score"] = lambda: model.score(X, y, np.linspace(1, 2, len(X)))
    for name in ("inference", "log_likelihood", "deviance", "aic", "bic"):
        asks[name] = lambda name=name: str(getattr(model, name)(X, y))
    for name in ("rank_", "singular_", "loss_", "n_iter_", "out_activation_", "threshold_", "best_loss_"):
        asks[name] = lambda name=name: getattr(model, name)
    asks["saved"] = lambda: saved(model, y)
    found = {}
    for name, ask in asks.items():
        try:
            found[name] = ask() if name == "saved" else shown(ask())
        except (LinnetError, AttributeError, TypeError, ValueError) as error:
            found[name] = type(error).__name__
    return found


def saved(model: Any, y: Any) -> Any:
    """The outputs of the model as read from its file."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "a.linnet")
        read = linnet.load(Path(folder) / "a.linnet")
    return {name: shown(getattr(read, name)(X)) for name in ("predict", "predict_proba") if hasattr(read, name)} | {
        "score": read.score(X, y)
    }


@pytest.mark.parametrize("name", MODELS)
def test_parameters_set_after_a_fit_change_nothing_of_it(name: str) -> None:
    model, y = MODELS[name]
    model.fit(X, y)
    before, given = outputs_of(model, y), model.get_params()
    assert sum(isinstance(found, bytes) for found in before.values()) >= 3
    assert isinstance(before["saved"], dict), before["saved"]
    changed = {}
    for parameter, value in given.items():
        if parameter.split("__")[-1] in STEERS:
            continue
        for other in others(parameter.split("__")[-1], value):
            model.set_params(**{parameter: other})
            after = outputs_of(model, y)
            if wrong := [what for what in before if after[what] != before[what]]:
                changed[f"{parameter}={other!r}"] = wrong
            model.set_params(**{parameter: value})
    assert not changed
