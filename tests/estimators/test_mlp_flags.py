"""What a perceptron's switches may be, and what it says of a fit that was interrupted or given wrong rows."""

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

from linnet import MLPClassifier, MLPRegressor, PoissonRegressor
from linnet.errors import ConfigError, DataError

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
    with pytest.raises(ConfigError, match="verbose must be a whole number"):
        MLPClassifier(verbose=value).fit(X, Y)


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
