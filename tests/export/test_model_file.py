"""Models in files: the same predictions after reading, and nothing but data inside."""

import copy
import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import linnet
from linnet import (
    SGD,
    AdamW,
    Cosine,
    Dense,
    Dropout,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    MLPClassifier,
    MLPRegressor,
    Perceptron,
    PoissonRegressor,
    Ridge,
    Sequential,
    TabularClassifier,
    TabularRegressor,
    ThresholdClassifier,
    TweedieRegressor,
)
from linnet.errors import ConfigError, DataError, DataWarning, FormatError
from linnet.export.blocks import write_blocks

pytestmark = pytest.mark.filterwarnings("ignore:Maximum iterations")

RNG = np.random.default_rng(0)
ROWS = 120
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(5, 2, ROWS),
        "<script>alert(1)</script>": RNG.choice(["ü", "b", '"c"'], ROWS),
        "day": pd.Categorical(RNG.choice(["Mon", "Tue"], ROWS)),
        "on": RNG.random(ROWS) < 0.5,
    }
)
GAPS = TABLE.assign(size=TABLE["size"].where(TABLE["size"] > 3), day=TABLE["day"].where(TABLE["on"]))
SPARSE = scipy.sparse.random(ROWS, 30, 0.2, format="csr", random_state=0)
ARRAY = RNG.normal(size=(ROWS, 3)).astype(np.float32)
WORDS = RNG.choice(["no", "yes", "perhaps"], ROWS)
COUNTS = RNG.poisson(2, ROWS)
MANY = RNG.integers(0, 2, (ROWS, 3))
TWO = RNG.normal(size=(ROWS, 2))

MODELS: dict[str, tuple[Any, Any, Any]] = {
    "linear": (LinearRegression(), TABLE, TWO),
    "ridge, polars": (Ridge(2.0), pl.from_pandas(TABLE), COUNTS),
    "logistic": (LogisticRegression(), TABLE, WORDS),
    "logistic, two classes, sparse": (LogisticRegression(C=3.0), SPARSE, WORDS == "no"),
    "logistic, a reference": (LogisticRegression(reference="no", class_weight={"no": 2.0}), TABLE, WORDS),
    "poisson": (PoissonRegressor(column_penalty={"size": 0.0}), TABLE, COUNTS),
    "gamma": (GammaRegressor(), ARRAY, COUNTS + 1.0),
    "tweedie": (TweedieRegressor(power=1.5), ARRAY, COUNTS),
    "perceptron": (Perceptron(max_iter=5), ARRAY, WORDS),
    "mlp": (MLPClassifier((8, 4), max_iter=3, random_state=0), GAPS, WORDS),
    "mlp, whole numbers": (MLPClassifier((8,), max_iter=3, random_state=0), ARRAY, COUNTS),
    "mlp, labels": (MLPClassifier((8,), max_iter=3, random_state=0), SPARSE, MANY),
    "mlp, all options": (
        MLPClassifier(
            (8, 4),
            activation=["tanh", linnet.LeakyReLU(0.2)],
            dropout=[0.1, 0.2],
            solver=AdamW(learning_rate=Cosine(0.01), amsgrad=True),
            max_iter=3,
            random_state=np.random.RandomState(3),
        ),
        ARRAY,
        WORDS,
    ),
    "mlp, stopped early": (
        MLPRegressor(hidden_layer_sizes=(8,), solver=SGD(0.01), max_iter=5, early_stopping=True, random_state=0),
        TABLE,
        COUNTS,
    ),
    "mlp, counts": (MLPRegressor("poisson", (8,), max_iter=3, random_state=0), ARRAY, COUNTS),
    "mlp, two numbers": (MLPRegressor(hidden_layer_sizes=(8,), solver="lbfgs", max_iter=3, random_state=0), ARRAY, TWO),
    "tabular": (MLPClassifier(preset="tabular", max_iter=2, random_state=0), GAPS, WORDS),
    "tabular, numbers": (MLPRegressor(preset="tabular", max_iter=2, random_state=0), GAPS, COUNTS),
    "TabularClassifier": (TabularClassifier(max_iter=2, random_state=0), GAPS, WORDS),
    "TabularRegressor": (TabularRegressor("poisson", max_iter=2, random_state=0), GAPS, COUNTS),
}


@pytest.fixture(params=MODELS, scope="module")
def fitted(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    model, x, y = MODELS[request.param]
    model = copy.deepcopy(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(x, y), x, y


def answers(model: Any, x: Any) -> list[Any]:
    names = ("predict", "predict_proba", "decision_function")
    return [getattr(model, name)(x) for name in names if hasattr(model, name)]


def same(a: Any, b: Any) -> bool:
    return bool(np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b))


def test_a_model_read_answers_as_the_one_written(fitted: tuple[Any, Any, Any], tmp_path: Path) -> None:
    model, x, y = fitted
    path = tmp_path / "a model.linnet"
    before = pickle.dumps(answers(model, x))
    model.save(path)
    read = linnet.load(path)
    assert type(read) is type(model)
    assert pickle.dumps(answers(read, x)) == before == pickle.dumps(answers(model, x))
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_"):
            other = getattr(read, name)
            if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
                assert all(same(a, b) for a, b in zip(value, other, strict=True)), name
            elif isinstance(value, np.ndarray):
                assert same(value, other), name
            else:
                if name == "history_":
                    value = {key: numbers for key, numbers in value.items() if key != "seconds"}
                assert value == other, name
                assert type(value) is type(other), name
    if not isinstance(model.get_params().get("random_state"), np.random.RandomState):
        assert repr(read) == repr(model)
    assert read.score(x, y) == model.score(x, y)
    again = tmp_path / "again.linnet"
    read.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_a_model_read_can_be_fitted_again(fitted: tuple[Any, Any, Any], tmp_path: Path) -> None:
    model, x, y = fitted
    model.save(tmp_path / "a.linnet")
    read = linnet.load(tmp_path / "a.linnet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        params = read.get_params()
        by_epochs = (
            params.get("preset") is None and params.get("solver") != "lbfgs" and not params.get("early_stopping")
        )
        if hasattr(read, "partial_fit") and by_epochs:
            read.partial_fit(x, y)
        read.fit(x, y)
        if params.get("random_state") is not None or not hasattr(read, "coefs_"):
            assert pickle.dumps(answers(read, x)) == pickle.dumps(answers(model, x))


def test_a_model_read_knows_levels_and_columns(tmp_path: Path) -> None:
    LogisticRegression().fit(TABLE, WORDS).save(tmp_path / "a.linnet")
    model = linnet.load(tmp_path / "a.linnet")
    with pytest.warns(DataWarning, match="120 in column 'day'"):
        model.predict(TABLE.assign(day="Sun"))
    with pytest.raises(DataError, match="feature names should match"):
        model.predict(TABLE.rename(columns={"size": "weight"}))


@pytest.mark.parametrize("objective", ["f2", "recall>=0.8", [[0, 1, 2], [3, 0, 1], [1, 1, 0]]])
def test_a_threshold_is_saved_with_its_model(objective: Any, tmp_path: Path) -> None:
    model = ThresholdClassifier(LogisticRegression(), objective, cv=StratifiedKFold(3)).fit(TABLE, WORDS)
    model.save(tmp_path / "a.linnet")
    read = linnet.load(tmp_path / "a.linnet")
    assert same(read.predict(TABLE), model.predict(TABLE))
    assert same(read.predict_proba(TABLE), model.predict_proba(TABLE))
    assert read.cv == 5
    assert isinstance(model.cv, StratifiedKFold)
    foreign = ThresholdClassifier(GaussianNB()).fit(ARRAY, WORDS)
    with pytest.raises(ConfigError, match=r"ThresholdClassifier\.estimator is of type sklearn\.GaussianNB, which"):
        foreign.save(tmp_path / "b.linnet")


def test_sequential_is_saved_with_its_training_settings(tmp_path: Path) -> None:
    model = Sequential([Dense(6, input_dim=3, activation="relu"), Dropout(0.2), Dense(3, activation="softmax")])
    model.compile(SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy", ["accuracy"])
    labels = np.unique(WORDS, return_inverse=True)[1]
    model.fit(ARRAY, labels, epochs=2, verbose=0)
    model.save(tmp_path / "a.linnet")
    read = linnet.load(tmp_path / "a.linnet")
    assert same(read.predict(ARRAY), model.predict(ARRAY))
    assert read.evaluate(ARRAY, labels, verbose=0) == model.evaluate(ARRAY, labels, verbose=0)
    assert read.fit(ARRAY, labels, epochs=1, verbose=0).history.keys() == {"loss", "accuracy"}


def test_a_model_that_is_not_fitted_is_saved_as_it_is(tmp_path: Path) -> None:
    MLPClassifier((3,), alpha=0.1).save(tmp_path / "a.linnet")
    read = linnet.load(tmp_path / "a.linnet")
    assert read.get_params() == MLPClassifier((3,), alpha=0.1).get_params()
    assert not hasattr(read, "classes_")


def test_a_function_is_refused_by_its_name(tmp_path: Path) -> None:
    model = MLPRegressor(lambda y, t: (y - t) ** 4, (3,), max_iter=2).fit(ARRAY, COUNTS)
    with pytest.raises(ConfigError, match=r"MLPRegressor\.loss is a function, which a model file cannot hold"):
        model.save(tmp_path / "a.linnet")
    assert not list(tmp_path.iterdir())


def test_classes_of_others_are_not_made(tmp_path: Path) -> None:
    path = tmp_path / "a.linnet"
    for name in ("os.system", "Popen", "linnet.estimators.linear.Ridge", "Pipeline", "Inference"):
        write_blocks(path, {"object": name, "state": {}}, {})
        with pytest.raises(FormatError, match=f"holds a {name}, which this version of linnet does not know"):
            linnet.load(path)
    wrong: list[Any] = [
        {"call": "x"},
        {"number": 1, "dtype": "V8"},
        {"array": "absent"},
        {"dict": 3},
        {},
        {"object": []},
    ]
    for content in wrong:
        write_blocks(path, content, {})
        with pytest.raises(FormatError, match=r"a\.linnet"):
            linnet.load(path)


def test_loading_does_not_load_scikit_learn(tmp_path: Path) -> None:
    MLPClassifier((3,), max_iter=2).fit(ARRAY, WORDS).save(tmp_path / "a.linnet")
    np.save(tmp_path / "x.npy", ARRAY)
    code = (
        f"import sys, numpy, linnet; linnet.load({str(tmp_path / 'a.linnet')!r})"
        f".predict(numpy.load({str(tmp_path / 'x.npy')!r}));"
        "print(sorted({'sklearn', 'pandas', 'scipy.stats'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "answers", sorted((Path(__file__).parent / "files").glob("*.json")), ids=lambda path: path.stem
)
def test_files_of_every_format_are_read(answers: Path) -> None:
    """Files that were written when a format was new; they stay as they are."""
    kept = json.loads(answers.read_text())
    assert len(kept["answers"]) >= 4
    for name, expected in kept["answers"].items():
        model = linnet.load(answers.with_name(f"{answers.stem}-{name}.linnet"))
        x: Any = pa.table(kept["rows"]) if name == "table" else pd.DataFrame(kept["rows"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # green was never seen
            assert [str(label) for label in model.predict(x)] == expected["labels"]
            np.testing.assert_allclose(model.predict_proba(x)[:, 1], expected["yes"], rtol=1e-6)
