"""`random_state`, of `sample` and of models, is a whole number, a RandomState or a Generator, everywhere."""

import inspect
from typing import Any

import numpy as np
import pytest

import linnet
from linnet.errors import ConfigError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = {"classes": np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5]), "numbers": np.exp(X[:, 0] / 2)}
LABELS = np.stack([X[:, 0] > 0, X[:, 1] > 0.5], axis=1).astype(int)
SMALL: dict[str, Any] = {"hidden_layer_sizes": (4,), "max_iter": 5, "early_stopping": True}
MODELS: dict[str, Any] = {
    "MLPClassifier": lambda seed: linnet.MLPClassifier(**SMALL, random_state=seed),
    "MLPRegressor": lambda seed: linnet.MLPRegressor(**SMALL, random_state=seed),
    "TabularClassifier": lambda seed: linnet.TabularClassifier((4,), max_iter=2, random_state=seed),
    "TabularRegressor": lambda seed: linnet.TabularRegressor("poisson", (4,), max_iter=2, random_state=seed),
    "Perceptron": lambda seed: linnet.Perceptron(max_iter=2, random_state=seed),
    "LogisticRegression": lambda seed: linnet.LogisticRegression(random_state=seed),
    "Ridge": lambda seed: linnet.Ridge(random_state=seed),
    "OneVsRestClassifier": lambda seed: linnet.OneVsRestClassifier(
        linnet.Perceptron(max_iter=2), tie_break="random", random_state=seed
    ),
    "OutputCodeClassifier": lambda seed: linnet.OutputCodeClassifier(linnet.LogisticRegression(), random_state=seed),
    "ThresholdClassifier": lambda seed: linnet.ThresholdClassifier(
        linnet.LogisticRegression(), cv=0.3, random_state=seed
    ),
}
COUNTS = np.floor(np.exp(X[:, 0]))


def sequential_model() -> linnet.Sequential:
    model = linnet.Sequential([linnet.Dense(1, "exponential", input_dim=3)], seed=0)
    model.compile("adam", "poisson")
    model.fit(X, COUNTS, epochs=2, verbose=0)
    return model


SAMPLED: dict[str, Any] = {
    "two classes": lambda: linnet.LogisticRegression().fit(X, X[:, 0] > 0),
    "classes": lambda: linnet.LogisticRegression(C=0.1).fit(X, Y["classes"]),
    "network of classes": lambda: linnet.MLPClassifier(**SMALL, random_state=0).fit(X, Y["classes"]),
    "tabular, classes": lambda: linnet.TabularClassifier((4,), max_iter=5, random_state=0).fit(X, Y["classes"]),
    "tabular, numbers": lambda: linnet.TabularRegressor(max_iter=5, random_state=0).fit(X, Y["numbers"]),
    "linear, counts": lambda: linnet.PoissonRegressor().fit(X, COUNTS),
    "linear, wide counts": lambda: linnet.NegativeBinomialRegressor(dispersion=0.5).fit(X, COUNTS),
    "network of labels": lambda: linnet.MLPClassifier((4,), max_iter=5, random_state=0).fit(X, LABELS),
    "sequential": sequential_model,
    **{
        loss: lambda loss=loss: linnet.MLPRegressor(loss, **SMALL, random_state=0).fit(X, Y["numbers"])
        for loss in ("squared_error", "absolute_error", "poisson", "gamma")
    },
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_no_model_is_forgotten() -> None:
    known = [getattr(linnet, name) for name in linnet.__all__]
    models = [each for each in known if isinstance(each, type) and hasattr(each, "predict")]
    assert {each.__name__ for each in models if "random_state" in inspect.signature(each).parameters} == {*MODELS}
    sampled = {type(make()) for make in SAMPLED.values()}
    assert {each for each in models if hasattr(each, "sample")} == {*sampled, linnet.TableModel}


@pytest.mark.parametrize("target", ["classes", "counts", "numbers"])
def test_models_of_tables_sample_from_every_kind_of_generator(target: str) -> None:
    table = {"a": X[:, 0].tolist()}
    y = {"classes": np.where(LABELS[:, 1] > 0, "yes", "no"), "counts": COUNTS, "numbers": 1.5 * X[:, 0] + X[:, 1]}[
        target
    ]
    task = {"classes": None, "counts": "counts", "numbers": "a number"}[target]
    model = linnet.train({**table, "y": y.tolist()}, "y", task=task, model="constant", seed=0)
    drawn = model.sample(table, random_state=5)
    np.testing.assert_array_equal(model.sample(table, np.random.RandomState(5)), drawn)
    one, same = np.random.default_rng(5), np.random.default_rng(5)
    np.testing.assert_array_equal(model.sample(table, one), model.sample(table, same))
    with pytest.raises(ConfigError, match="random_state must be"):
        model.sample(table, "5")


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_from_every_kind_of_generator(name: str) -> None:
    model = SAMPLED[name]()
    drawn = model.sample(X, random_state=5)
    np.testing.assert_array_equal(model.sample(X, np.int64(5)), drawn)
    np.testing.assert_array_equal(model.sample(X, np.random.RandomState(5)), drawn)
    one, same = np.random.default_rng(5), np.random.default_rng(5)
    first = model.sample(X, one)
    np.testing.assert_array_equal(model.sample(X, same), first)
    second = model.sample(X, one)
    assert (second != first).any(), "a generator goes on"
    np.testing.assert_array_equal(model.sample(X, random_state=same), second)
    np.random.seed(5)  # noqa: NPY002
    np.testing.assert_array_equal(model.sample(X), drawn)
    for wrong in ("5", -1, 0.5, True, object()):
        with pytest.raises(ConfigError, match=r"random_state must be None, an integer .* RandomState or Generator"):
            model.sample(X, random_state=wrong)


@pytest.mark.parametrize("name", MODELS)
def test_models_take_every_kind_of_generator(name: str) -> None:
    y = (
        (X[:, 0] > 0)
        if name == "ThresholdClassifier"
        else Y["numbers" if "Reg" in name or name == "Ridge" else "classes"]
    )
    y = Y["classes"] if name == "LogisticRegression" else y
    for made in (np.random.RandomState, np.random.default_rng):
        one, same = (MODELS[name](made(7)).fit(X, y).predict(X) for _ in range(2))
        np.testing.assert_array_equal(one, same)
    MODELS[name](7).fit(X, y)
    with pytest.raises(ConfigError, match=r"random_state must be None, an integer .* RandomState or Generator"):
        MODELS[name]("seven").fit(X, y)
