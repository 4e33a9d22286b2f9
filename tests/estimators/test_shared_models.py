"""A fitted model may be used by any number of threads at once: predicting writes nothing, and every result has the
bytes that a single thread gets.
"""

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import linnet
from linnet._cached import cached_property
from linnet.fit.loop.training import _StateArrays
from linnet.tables.options import Options
from linnet.tables.schema import Schema
from linnet.tables.select import best_model

pytestmark = pytest.mark.filterwarnings("ignore")  # of levels never seen, and of forks beside threads

ROWS, COLUMNS, THREADS = 2000, 12, 8
# that each thread makes of a model
CALLS = int(os.environ.get("LINNET_THREAD_CALLS", "30" if os.environ.get("LINNET_ALL") else "12"))
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, COLUMNS)) * (RNG.random((ROWS, COLUMNS)) < 0.5)
Z = X @ RNG.normal(size=COLUMNS)
FEW = np.digitize(Z, np.quantile(Z, [0.3, 0.6, 0.8]))  # four classes
YES = (Z > 0).astype(int)
COUNTS = RNG.poisson(np.exp(0.3 * Z))
FRAME = pd.DataFrame(
    {
        "size": X[:, 0],
        "gaps": np.where(RNG.random(ROWS) < 0.1, np.nan, X[:, 1]),
        "town": pd.Categorical(RNG.choice(["Ulm", "Bonn", "Kiel"], ROWS)),
        "letter": RNG.choice(["a", "b", "c"], ROWS),
    }
)
OTHER = FRAME.assign(size=np.where(X[:, 2] > 1, np.nan, X[:, 3]), letter=np.roll(["a", "b", "z", "c"] * (ROWS // 4), 1))
METHODS = ("predict", "predict_proba", "decision_function", "sample", "predict_interval", "activations")
SIZES = (1, 5, ROWS)


@dataclass(frozen=True)
class Case:
    """A fitted model and its calls: each call with the bytes of its result."""

    model: Any
    calls: list[tuple[str, Any, dict[str, Any], list[bytes]]]


def result_bytes(model: Any, method: str, table: Any, options: dict[str, Any]) -> list[bytes]:
    found = getattr(model, method)(table, **options)
    return [np.asarray(part).tobytes() for part in (found if isinstance(found, list | tuple) else [found])]


def asked(model: Any, tables: list[Any]) -> Case:
    calls = []
    for method in METHODS:
        if not hasattr(model, method):
            continue
        options = {"random_state": 7} if method == "sample" else {}
        try:
            result_bytes(model, method, tables[0], options)
        except linnet.errors.ConfigError:  # a threshold's estimator has no scores, a loss no intervals
            continue
        calls += [(method, table, options, result_bytes(model, method, table, options)) for table in tables]
    assert calls
    return Case(model, calls)


def arrays() -> list[Any]:
    dense = [X[-size:] for size in SIZES] + [X[3:4].astype(np.float32), X[:5].tolist(), np.asfortranarray(X)]
    return [*dense, *(scipy.sparse.csr_array(X[:size]) for size in SIZES), scipy.sparse.csc_array(X[:50])]


def frames(*, gaps: bool) -> list[Any]:
    given = [FRAME, OTHER] if gaps else [FRAME.fillna(0), OTHER.fillna(0)]
    tables: list[Any] = [one.iloc[:size] for one in given for size in SIZES]
    return [*tables, *(pl.from_pandas(one.head(5)) for one in given), *(pa.table(one.head(1)) for one in given)]


SMALL: dict[str, Any] = {"hidden_layer_sizes": (64,), "max_iter": 2, "random_state": 0}
WIDE: dict[str, Any] = {"hidden_layer_sizes": (512, 256), "max_iter": 1, "random_state": 0}
PRESET: dict[str, Any] = {"preset": "tabular", "max_iter": 2, "random_state": 0}


def sequential(loss: str) -> linnet.Sequential:
    top = linnet.Dense(4, "softmax") if loss.startswith("sparse") else linnet.Dense(1)
    model = linnet.Sequential([linnet.Dense(16, "relu", input_dim=COLUMNS), top])
    model.compile("adam", loss=loss)
    model.fit(X, FEW if loss.startswith("sparse") else Z, verbose=0)
    return model


def of_table(model: str, target: str) -> Any:
    y: Any = {"yes": np.where(YES, "yes", "no"), "count": COUNTS, "number": Z}[target]
    whole = pa.table({**{name: FRAME[name].tolist() for name in ("size", "letter")}, "gaps": FRAME["gaps"], "y": y})
    few: dict[str, Any] = {"max_iter": 2} if model == "mlp" else {}
    options = Options(model=model, **few)
    if model == "sequential":
        whole = whole.select(["size", "y"])
    return best_model(whole, Schema.of(whole, "y"), options)


ON_ARRAYS: dict[str, Callable[[], Any]] = {
    "LinearRegression": lambda: linnet.LinearRegression().fit(X, Z),
    "Ridge": lambda: linnet.Ridge().fit(scipy.sparse.csr_array(X), Z),
    "LogisticRegression": lambda: linnet.LogisticRegression().fit(X, YES),
    "softmax regression": lambda: linnet.LogisticRegression().fit(X, FEW),
    "PoissonRegressor": lambda: linnet.PoissonRegressor().fit(X, COUNTS),
    "NegativeBinomialRegressor": lambda: linnet.NegativeBinomialRegressor(dispersion=0.5).fit(X, COUNTS),
    "GammaRegressor": lambda: linnet.GammaRegressor().fit(X, COUNTS + 0.5),
    "TweedieRegressor": lambda: linnet.TweedieRegressor(power=1.5).fit(X, COUNTS),
    "Perceptron": lambda: linnet.Perceptron(max_iter=5).fit(X, FEW),
    "MLPClassifier": lambda: linnet.MLPClassifier(**SMALL).fit(X, FEW),
    "wide MLPClassifier": lambda: linnet.MLPClassifier(**WIDE, threads=2).fit(X, FEW),
    "MLPClassifier of floats": lambda: linnet.MLPClassifier(**SMALL).fit(X.astype(np.float32), YES),
    "MLPClassifier, tabular": lambda: linnet.MLPClassifier(**PRESET).fit(X, FEW),
    "MLPRegressor": lambda: linnet.MLPRegressor(**SMALL).fit(X, Z),
    "MLPRegressor of counts": lambda: linnet.MLPRegressor("poisson", **SMALL).fit(X, COUNTS),
    "MLPRegressor, tabular": lambda: linnet.MLPRegressor(**PRESET).fit(X, Z),
    "TabularClassifier": lambda: linnet.TabularClassifier(max_iter=2, random_state=0).fit(X, YES),
    "own loss": lambda: linnet.MLPRegressor(lambda y, t: np.log(np.cosh(y - t)), **SMALL).fit(X[:200], Z[:200]),
    "ThresholdClassifier": lambda: linnet.ThresholdClassifier(linnet.LogisticRegression()).fit(X, YES),
    "ThresholdClassifier of networks": lambda: linnet.ThresholdClassifier(linnet.MLPClassifier(**SMALL), cv=2).fit(
        X, FEW
    ),
    "OneVsRest": lambda: linnet.OneVsRestClassifier(linnet.LogisticRegression(), tie_break="random").fit(X, FEW),
    "OneVsRest of networks": lambda: linnet.OneVsRestClassifier(linnet.MLPClassifier(**SMALL)).fit(X, FEW),
    "OneVsOne": lambda: linnet.OneVsOneClassifier(linnet.LogisticRegression()).fit(X, FEW),
    "OneVsOne of perceptrons": lambda: linnet.OneVsOneClassifier(linnet.Perceptron(max_iter=5)).fit(X, FEW),
    "OutputCode": lambda: linnet.OutputCodeClassifier(linnet.LogisticRegression(), random_state=0).fit(X, FEW),
    "LabelTree": lambda: linnet.LabelTreeClassifier(linnet.LogisticRegression()).fit(X, FEW),
}
ON_FRAMES: dict[str, Callable[[], Any]] = {
    "LogisticRegression of a frame": lambda: linnet.LogisticRegression().fit(FRAME.fillna(0), FEW),
    "Ridge of a frame with gaps": lambda: linnet.Ridge(missing="fill").fit(FRAME, Z),
    "Perceptron of a frame": lambda: linnet.Perceptron(max_iter=5, missing="fill").fit(FRAME, YES),
    "MLPClassifier of a frame": lambda: linnet.MLPClassifier(**SMALL).fit(FRAME, FEW),
    "MLPRegressor of a frame, tabular": lambda: linnet.MLPRegressor(**PRESET).fit(FRAME, Z),
    "TabularRegressor of a frame with gaps": lambda: linnet.TabularRegressor("poisson", max_iter=2).fit(FRAME, COUNTS),
    "OneVsRest of a frame": lambda: linnet.OneVsRestClassifier(linnet.LogisticRegression()).fit(FRAME.fillna(0), FEW),
}
ON_TABLES: dict[str, Callable[[], Any]] = {
    f"table of {target}, {model}": lambda model=model, target=target: of_table(model, target)  # type: ignore[misc]
    for model, target in (
        ("logistic", "yes"),
        ("mlp", "yes"),
        ("perceptron", "yes"),
        ("constant", "yes"),
        ("poisson", "count"),
        ("mlp", "count"),
        ("linear", "number"),
        ("mlp", "number"),
        ("sequential", "number"),
    )
}
ON_DENSE = {"Sequential": "sparse_categorical_crossentropy", "Sequential of numbers": "mse"}
NAMES = [*ON_ARRAYS, *ON_FRAMES, *ON_TABLES, *ON_DENSE]


@cache
def case(name: str) -> Case:
    if name in ON_ARRAYS:
        return asked(ON_ARRAYS[name](), arrays())
    if name in ON_FRAMES:
        return asked(ON_FRAMES[name](), frames(gaps="gaps" in name or "MLP" in name or "Perceptron" in name))
    if name in ON_DENSE:
        return asked(sequential(ON_DENSE[name]), [X[:size] for size in SIZES])
    return asked(ON_TABLES[name](), frames(gaps="sequential" not in name))


@contextmanager
def fitting() -> Iterator[None]:
    """Another thread that fits other models in the meantime."""
    stop = threading.Event()

    def fit() -> None:
        while not stop.is_set():
            linnet.MLPClassifier(hidden_layer_sizes=(16,), max_iter=1, random_state=0, threads=2).fit(
                X[:300], FEW[:300]
            )
            linnet.LogisticRegression().fit(X[:300], FEW[:300])

    thread = threading.Thread(target=fit)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def wrong_results(one: Case, seed: int, calls: int) -> list[str]:
    """Those of some randomly drawn calls that gave other bytes than expected."""
    order = random.Random(seed)
    wrong = []
    for method, table, options, known in order.choices(one.calls, k=calls):
        try:
            found = result_bytes(one.model, method, table, options)
        except Exception as error:
            wrong.append(f"{method}: {error!r}")
            continue
        if found != known:
            wrong.append(f"{method} of {type(table).__name__} with {len(known[0])} bytes")
    return wrong


def in_threads(one: Case) -> list[str]:
    wrong: list[str] = []
    start = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        start.wait()
        wrong.extend(wrong_results(one, seed, CALLS))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_threads_get_the_answers_of_one(name: str) -> None:
    one = case(name)
    with fitting():
        assert not in_threads(one)


@pytest.mark.parametrize("name", NAMES)
def test_predicting_writes_nothing(name: str) -> None:
    one = case(name)
    before = state(one.model)
    for method, table, options, _ in one.calls:
        result_bytes(one.model, method, table, options)
        assert state(one.model) == before, method


def state(value: Any, seen: dict[int, Any] | None = None) -> Any:
    """Everything that an object holds: which objects, and the bytes of its arrays. It holds nothing of the core."""
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, type | _StateArrays) or callable(value):  # a state is read by fits alone
        return id(value)
    seen[id(value)] = value
    assert not type(value).__module__.startswith("linnet._core"), f"{type(value)} can be used by one thread only"
    if isinstance(value, np.ndarray):
        return id(value), value.tolist() if value.dtype == object else value.tobytes()
    if isinstance(value, dict):
        return id(value), [(repr(key), state(item, seen)) for key, item in value.items()]
    if isinstance(value, list | tuple | set):
        return id(value), [state(item, seen) for item in value]
    if is_dataclass(value):
        return id(value), [(field.name, state(getattr(value, field.name), seen)) for field in fields(value)]
    if hasattr(value, "__dict__"):
        return id(value), state(value.__dict__, seen)
    return repr(value)


@pytest.mark.parametrize("name", ["wide MLPClassifier", "MLPRegressor, tabular", "softmax regression", "OneVsRest"])
def test_forked_children_get_the_answers_of_one(name: str) -> None:
    one = case(name)
    with fitting():
        in_threads(one)  # so that there are threads, and objectives that were used before
        child = os.fork()
        if child == 0:
            os._exit(1 if wrong_results(one, 0, 20) or in_threads(one) else 0)
        assert os.waitpid(child, 0)[1] == 0


def test_a_child_forked_while_others_fit_can_fit() -> None:
    """Python 3.11 holds a lock while it computes a cached attribute: a child inherited it, held by nobody."""
    end = threading.Event()

    def work() -> None:
        while not end.is_set():
            linnet.Ridge().fit(X, Z)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(4):
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # ends a child that waits forever
                linnet.Ridge().fit(X, Z)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        end.set()
        for thread in threads:
            thread.join()


def test_cached_attributes_of_two_objects_are_computed_at_once() -> None:
    entered, go_on = threading.Event(), threading.Event()

    class Slow:
        @cached_property
        def value(self) -> int:
            entered.set()
            assert go_on.wait(60)
            return 1

    first, second = Slow(), Slow()
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    assert entered.wait(60)
    entered.clear()
    other = threading.Thread(target=lambda: second.value)
    other.start()
    assert entered.wait(60)  # the second is computed while the first still is
    go_on.set()
    thread.join()
    other.join()
    assert first.value == second.value == 1
    assert isinstance(Slow.value, cached_property)


def test_arrays_put_into_a_network_are_what_predicts_and_prediction_leaves_them_there() -> None:
    model = linnet.MLPRegressor(**SMALL).fit(X, Z)
    zeros = np.zeros_like(model.coefs_[1])
    model.coefs_[1] = zeros
    model.intercepts_ = [model.intercepts_[0], np.array([3.0])]
    before = state(model)
    assert (model.predict(X[:5]) == 3).all()
    assert state(model) == before
    assert model.coefs_[1] is zeros
    model.intercepts_[1] = np.zeros(2)
    with pytest.raises(linnet.errors.DataError, match=r"intercepts_ must be arrays of the shapes \[\(64,\), \(1,\)\]"):
        model.predict(X[:5])


def test_a_network_compiled_anew_is_ready_to_predict() -> None:
    model = sequential("mse")
    model.compile("sgd", loss="mae")
    before = state(model)
    model.predict(X[:5])
    assert state(model) == before
