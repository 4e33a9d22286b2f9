"""Valid values of a perceptron's flags, and its messages about interrupted fits and wrong rows."""

import inspect
import os
import signal
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import neural_network
from sklearn.utils._param_validation import InvalidParameterError

from linnet import SGD, MLPClassifier, MLPRegressor, PoissonRegressor
from linnet.errors import ConfigError, DataError
from linnet.estimators.mlp.settings import CHOSEN

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
@pytest.mark.parametrize("value", ["False", None, np.nan, 2])
@pytest.mark.parametrize("name", ["early_stopping", "shuffle", "warm_start", "nesterovs_momentum"])
def test_a_switch_is_true_or_false(name: str, value: Any, kind: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be True or False, got"):
        kind(**{name: value}).fit(X, Y)


@pytest.mark.parametrize("value", ["x", None, np.nan, -1])
def test_verbose_is_a_switch_or_a_number(value: Any) -> None:
    with pytest.raises(ConfigError, match="verbose must be an integer"):
        MLPClassifier(verbose=value).fit(X, Y)


WITHOUT_A_MEANING: dict[str, tuple[Any, ...]] = {
    "solver": ("adm", None, 3),
    "learning_rate": ("fast", None, 0.1),
    "learning_rate_init": (-1, 0, "x", None, np.nan, np.inf),
    "power_t": (-1, "x", np.nan),
    "momentum": (-0.1, 1.1, "x", None),
    "beta_1": (1, -0.1, "x"),
    "beta_2": (1, -0.1, None),
    "epsilon": (0, -1, "x"),
    "tol": (-1, "x"),
    "max_iter": (0, 1.5, "x"),
    "max_fun": (0, 1.5, None),
    "n_iter_no_change": (0, 2.5, -np.inf),
    "batch_size": (0, "all", 2.5, None),
    "validation_fraction": (1, -0.1, "x"),
    "random_state": (-1, "x", 0.5),
    "weight_decay": (-1, "x"),
    "clip_norm": (0, -1, "x"),
    "threads": (0, "x", 1.5),
    "alpha": (-1, "x"),
    "l1": (-1, "x"),
}
OF_CLASSES: dict[str, tuple[Any, ...]] = {"label_smoothing": (1, -0.1, "x")}
OF_NUMBERS: dict[str, tuple[Any, ...]] = {"huber_delta": (0, "x"), "quantile": (0, 1, "x")}
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"solver": "lbfgs"},
    {"solver": "sgd"},
    {"solver": SGD(0.1)},
    {"preset": "tabular"},
)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_parameter_is_checked_whatever_takes_notice_of_it(settings: dict[str, Any]) -> None:
    for kind, own in ((MLPClassifier, OF_CLASSES), (MLPRegressor, OF_NUMBERS)):
        for name, values in (WITHOUT_A_MEANING | own).items():
            for value in values:
                model = kind(**settings | {name: value})
                with pytest.raises(ConfigError, match=rf"{name} (must be|'|[0-9N])"):
                    model.fit(X, Y)


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_the_values_that_scikit_learn_takes_are_taken_and_no_others(kind: Any) -> None:
    theirs: Any = getattr(neural_network, kind.__name__)
    values: list[Any] = [-np.inf, -1, -0.5, 0, 0.5, 1, 2, 7.5, np.inf, np.nan, None, "x", "auto", [], np.float32(0.5)]
    names = {*inspect.signature(theirs).parameters} - {"activation", "solver", "learning_rate", "loss"}  # ours are more
    for name in sorted(names):
        for value in values:
            if value == "auto" and name in CHOSEN:  # scikit-learn's own default, whatever it is
                continue
            try:
                theirs(**{name: value})._validate_params()
            except InvalidParameterError:
                with pytest.raises(ConfigError, match=name):
                    kind(**{name: value}).fit(X, Y)
                continue
            if name != "verbose" and np.isfinite(value if isinstance(value, float) else 0):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    kind(**{"max_iter": 1, name: value}).fit(X, Y)


def test_an_interrupted_lbfgs_says_so() -> None:
    x = RNG.normal(size=(3000, 30))
    model = MLPClassifier((200, 200), solver="lbfgs", max_iter=100_000, tol=0, max_fun=10**9)
    timer = threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.warns(UserWarning, match="interrupted by user; the model is usable") as caught:
        model.fit(x, RNG.integers(0, 2, 3000))
    assert len(caught) == 1
    assert model.stop_reason_ == "interrupted"
    assert model.predict(x).shape == (3000,)


def test_wrong_rows_of_eval_set_are_laid_to_it() -> None:
    with pytest.raises(DataError, match="eval_set's X has 3 features, but MLPClassifier is expecting 5"):
        MLPClassifier().fit(X, Y, eval_set=(X[:, :3], Y))


def test_a_likelihood_ratio_test_takes_inferences() -> None:
    model = PoissonRegressor(alpha=0).fit(X, Y)
    found = model.inference(X, Y)
    with pytest.raises(ConfigError, match="the other model's inference"):
        found.likelihood_ratio_test(model)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="level must be above 0 and below 1, got 'x'"):
        model.inference(X, Y, level="x")  # type: ignore[arg-type]
