"""Parameters with values of any type work, or are refused by the parameter's name.

There is never an error of NumPy's or Python's own, and no value takes all of the machine's memory or a whole day.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import linnet
from linnet.config import memory
from linnet.errors import ConfigError, DataError, LinnetError

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Z = X @ np.array([1.0, -0.5, 0.2])
NUMBERS = np.exp(0.4 * Z) + 0.1
COUNTS = RNG.poisson(NUMBERS).astype(float)
TWO = np.where(Z + RNG.normal(size=40) > 0, "yes", "no")
FEW = np.array(["a", "b", "c"])[np.digitize(Z + RNG.normal(size=40), [-0.5, 0.5])]

QUICK: dict[str, Any] = {"max_iter": 2, "hidden_layer_sizes": (3,), "random_state": 0}
MODELS: dict[str, tuple[Any, Any]] = {
    "least squares": (linnet.LinearRegression(), NUMBERS),
    "ridge": (linnet.Ridge(), NUMBERS),
    "poisson": (linnet.PoissonRegressor(), COUNTS),
    "gamma": (linnet.GammaRegressor(), NUMBERS),
    "negative binomial": (linnet.NegativeBinomialRegressor(), COUNTS),
    "tweedie": (linnet.TweedieRegressor(power=1.5), NUMBERS),
    "logistic": (linnet.LogisticRegression(), TWO),
    "softmax": (linnet.LogisticRegression(), FEW),
    "perceptron": (linnet.Perceptron(max_iter=3), FEW),
    "mlp classifier": (linnet.MLPClassifier(**QUICK), FEW),
    "mlp regressor": (linnet.MLPRegressor(**QUICK), NUMBERS),
    "mlp by lbfgs": (linnet.MLPClassifier(solver="lbfgs", **QUICK), FEW),
    "tabular classifier": (linnet.TabularClassifier(**QUICK), FEW),
    "tabular regressor": (linnet.TabularRegressor(**QUICK), NUMBERS),
    "threshold": (linnet.ThresholdClassifier(linnet.LogisticRegression(), cv=3), TWO),
    "one versus rest": (linnet.OneVsRestClassifier(linnet.LogisticRegression()), FEW),
    "one versus one": (linnet.OneVsOneClassifier(linnet.LogisticRegression()), FEW),
    "output code": (linnet.OutputCodeClassifier(linnet.LogisticRegression(), random_state=0), FEW),
    "label tree": (linnet.LabelTreeClassifier(linnet.LogisticRegression()), FEW),
}


class Rude:
    """Neither equal to anything nor unequal, and without a hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparisons")


VALUES: dict[str, Any] = {
    "a name in an array": np.array(["relu"]),
    "a name without dimensions": np.array("relu"),
    "two numbers": np.array([1, 2]),
    "no numbers": np.array([]),
    "an empty list": [],
    "lists of different lengths": [[1, 2], [3]],
    "a dict": {},
    "an object": object(),
    "a rude object": Rude(),
    "bytes": b"relu",
    "no text": "",
    "a null character": "a\0b",
    "nan": float("nan"),
    "a small number": 1e-320,
    "-1": -1,
    "a huge number": 2**70,
    "an endless number": 10**400,
    "masked": np.ma.masked,
    "true": np.True_,
    "a duration": np.timedelta64(3, "s"),
    "nothing": None,
    "a function": lambda *given: 1,
}
# These may be large: they end by themselves, or by Ctrl-C.
MAY_BE_LARGE = {"max_iter", "max_fun"}
# Of a loss that is the user's own function, the errors are the user's own.
OWN_ERRORS = {("loss", "a function")}


def arrays_of(name: object) -> dict[str, Any]:
    """A name that a parameter has, where a single text belongs, as arrays and lists."""
    if not isinstance(name, str):
        return {}
    one = np.array([name])
    return {"its name in an array": one, "its name twice": np.array([name, name]), "its name in a list": [name]}


@pytest.mark.parametrize("name", MODELS)
def test_a_parameter_of_any_type_is_taken_or_refused_by_its_name(name: str) -> None:
    model, y = MODELS[name]
    wrong: dict[str, Exception] = {}
    for parameter, given in model.get_params(deep=False).items():
        for what, value in {**VALUES, **arrays_of(given)}.items():
            if (parameter in MAY_BE_LARGE and isinstance(value, int) and value > 0) or (parameter, what) in OWN_ERRORS:
                continue
            try:
                changed = clone(model).set_params(**{parameter: value})
                changed.fit(X, y).predict(X)
            except LinnetError as error:
                if parameter not in str(error) and "a file cannot be called" not in str(error):
                    wrong[f"{parameter}: {what}"] = error
            except Exception as error:
                wrong[f"{parameter}: {what}"] = error
    assert not wrong


PARTS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "SGD": (linnet.SGD, ("learning_rate", "momentum", "nesterov", "lr", "clip_norm")),
    "AdamW": (linnet.AdamW, ("learning_rate", "weight_decay", "beta_1", "beta_2", "epsilon", "amsgrad")),
    "Cosine": (lambda **given: linnet.Cosine(**{"learning_rate": 0.1, **given}), ("learning_rate", "epochs", "final")),
    "EarlyStopping": (
        linnet.EarlyStopping,
        ("monitor", "patience", "min_delta", "mode", "restore_best_weights", "any_gain"),
    ),
    "ReduceLROnPlateau": (linnet.ReduceLROnPlateau, ("mode", "factor", "cooldown", "stop_at_min", "any_gain")),
    "Dense": (
        lambda **given: linnet.Dense(**{"units": 3, **given}),
        ("units", "activation", "use_bias", "kernel_regularizer", "input_dim", "input_shape"),
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_any_type_is_taken_or_refused_by_its_name(name: str) -> None:
    make, parameters = PARTS[name]
    wrong: dict[str, Exception] = {}
    for parameter in parameters:
        for what, value in VALUES.items():
            try:
                make(**{parameter: value})
            except LinnetError as error:
                if not any(word in str(error) for word in (parameter, "learning_rate")):
                    wrong[f"{parameter}: {what}"] = error
            except Exception as error:
                wrong[f"{parameter}: {what}"] = error
    assert not wrong


ASKED: dict[str, Any] = {
    "epochs": 1,
    "batch_size": 8,
    "validation_split": 0.2,
    "shuffle": True,
    "class_weight": None,
    "sample_weight": None,
    "callbacks": None,
    "verbose": 0,
    "tolerance": None,
    "threads": None,
}


def test_what_a_sequential_model_is_asked_is_taken_or_refused_by_its_name() -> None:
    wrong: dict[str, Exception] = {}
    for parameter in ASKED:
        for what, value in VALUES.items():
            if parameter == "epochs" and isinstance(value, int) and value > 0:  # as many as that, until Ctrl-C
                continue
            model = linnet.Sequential([linnet.Dense(3, "relu", input_dim=3), linnet.Dense(1, "sigmoid")])
            model.compile("sgd", loss="binary_crossentropy")
            try:
                model.fit(X, TWO == "yes", **{**ASKED, parameter: value})
            except LinnetError as error:
                if parameter not in str(error):
                    wrong[f"{parameter}: {what}"] = error
            except Exception as error:
                wrong[f"{parameter}: {what}"] = error
    assert not wrong


def test_what_a_table_is_trained_with_is_taken_or_refused_by_its_name() -> None:
    rows = {"a": X[:, 0], "b": X[:, 1], "y": TWO}
    how: dict[str, Any] = {"model": "sequential", "max_iter": 1}
    own = {"model": "sequential", "solver": "adam", "activation": "relu", "loss": "binary_crossentropy", "text": "a"}
    names = (
        *("task", "model", "hidden_layer_sizes", "activation", "dropout", "solver", "learning_rate_init", "batch_size"),
        *("n_iter_no_change", "loss", "initializer", "l1", "l2", "exposure", "offset", "weights", "class_weight"),
        *("drop", "text", "valid", "metric", "threshold", "seed", "threads", "resume", "max_iter"),
    )
    wrong: dict[str, Exception] = {}
    for parameter in names:
        for what, value in {**VALUES, **arrays_of(own.get(parameter))}.items():
            if parameter in MAY_BE_LARGE and isinstance(value, int) and value > 0:
                continue
            try:
                linnet.train(rows, "y", **{**how, parameter: value})
            except LinnetError as error:
                if not any(
                    word in str(error)
                    for word in (
                        parameter,
                        "unknown column",
                        "optimizer",
                        "knows no",
                        "initialiser",
                        "a file cannot be called",
                    )
                ):
                    wrong[f"{parameter}: {what}"] = error
            except Exception as error:
                wrong[f"{parameter}: {what}"] = error
    assert not wrong


def test_a_network_larger_than_the_memory_is_refused_before_it_is_made() -> None:
    units = int(memory() ** 0.5 / 2)  # of two layers, whose weights between them take as much as there is
    with pytest.raises(ConfigError, match=r"parameters does not fit into the memory: .* lower hidden_layer_sizes"):
        linnet.MLPClassifier((units, units)).fit(X, TWO)
    model = linnet.Sequential([linnet.Dense(units, "relu", input_dim=3), linnet.Dense(units), linnet.Dense(1)])
    model.compile("sgd", loss="mse")
    with pytest.raises(ConfigError, match=r"does not fit into the memory: .* a layer's units"):
        model.fit(X, Z)


def test_draws_of_code_matrices_have_an_end() -> None:
    found = [
        linnet.OutputCodeClassifier(linnet.LogisticRegression(), draws=draws, random_state=0).fit(X, FEW).code_book_
        for draws in (10_000, 2**70)
    ]
    assert np.array_equal(found[0], found[1])
    with pytest.raises(ConfigError, match=r"code_size=1e[+]308 requires more than 1,000,000 binary classifiers"):
        linnet.OutputCodeClassifier(linnet.LogisticRegression(), code_size=1e308).fit(X, FEW)


@pytest.mark.parametrize("cv", [[], [(1, 2, 3)], [("a", "b")], 1, 0, b"no", 0.0, len, [1, 2]], ids=str)
def test_splits_that_are_none(cv: Any) -> None:
    with pytest.raises(LinnetError, match=r"cv must be|split by cv="):
        linnet.ThresholdClassifier(linnet.LogisticRegression(), cv=cv).fit(X, TWO)


@pytest.mark.parametrize("estimator", [None, linnet.LogisticRegression, [], "logistic", np.ones(2)], ids=repr)
def test_what_is_no_estimator_is_told_so(estimator: Any) -> None:
    for kind in (linnet.ThresholdClassifier, linnet.OneVsRestClassifier, linnet.OneVsOneClassifier):
        with pytest.raises(ConfigError, match="estimator must be a classifier"):
            kind(estimator).fit(X, TWO)


def test_penalties_that_end_in_overflow_are_named() -> None:
    with pytest.raises(linnet.errors.FitError, match=r"lower the penalties \(alpha, l1 or weight_decay\)"):
        linnet.MLPRegressor(hidden_layer_sizes=(4,), alpha=1e300, max_iter=5).fit(X, NUMBERS)


@pytest.mark.parametrize(
    "name", ["logistic", "softmax", "perceptron", "mlp classifier", "threshold", "one versus rest", "label tree"]
)
def test_rows_that_are_no_table_and_targets_that_are_no_classes_are_errors_of_ours(name: str) -> None:
    model, y = MODELS[name]
    ragged = [[1.0], [2.0, 3.0]] * (len(y) // 2)
    for table in (ragged, np.array(1.0), {1, 2}, "abc", np.empty((0, 3)), (row for row in X)):
        with pytest.raises(DataError):
            clone(model).fit(table, y)
    with pytest.raises(DataError):
        clone(model).fit(X, np.arange(len(y)).astype(object))
