"""Made-up model files and checkpoints, whose digests are right: a FormatError or a model that answers, in the memory of
a few times the file. A longer search: `LINNET_SEARCH=1`, which draws other changes, and more of them.
"""

import copy
import hashlib
import json
import os
import random
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import linnet
from linnet import Checkpoint, Dense, Dropout, Sequential
from linnet.errors import ConfigError, DataError, FitError, FormatError, LinnetError
from linnet.export.blocks import read_blocks, write_blocks
from linnet.fit.checkpoint.checkpoint import read_checkpoint
from linnet.tables.options import Options
from linnet.tables.schema import Schema
from linnet.tables.select import best_model

from .hostile_files import changed, changed_arrays, forge, forge_checkpoint, forge_text, places_of
from .test_model_file import ARRAY, ROWS, TABLE, WORDS
from .test_same_file import EVERY, RESUMED

pytestmark = pytest.mark.filterwarnings("ignore")

SEARCH = bool(os.environ.get("LINNET_SEARCH"))
KIND = "linnet checkpoint 3"
TRIES = 4000 if SEARCH else 45  # of each kind of model
RESUMES = 2000 if SEARCH else 40  # of each kind of run
MODELS = ("logistic", "perceptron", "mlp, stopped early", "tabular", "one versus one", "code", "tree", "threshold")


def rng_of(name: str) -> random.Random:
    return random.Random(None if SEARCH else name)


def table_model() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    columns = {name: TABLE[name].tolist() for name in TABLE.columns}
    columns["many"] = [f"l{int(each)}" for each in rng.exponential(12, ROWS)]
    columns["price"] = [f"$1,{each:03d}.50" for each in range(ROWS)]
    columns["day"] = [f"{1 + each % 28:02d}.{1 + each % 12:02d}.2020" for each in range(ROWS)]
    columns["text"] = [f"some words here {each} and there {7 * each}" for each in range(ROWS)]
    table = pa.table({**columns, "word": WORDS.tolist()})
    schema = Schema.of(table, "word", text=["text"])
    return best_model(table, schema, Options(model="mlp", max_iter=2)), table


def sequential_model() -> tuple[Any, Any]:
    model = Sequential([Dense(6, "relu", input_dim=3), Dropout(0.2), Dense(3, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", ["accuracy"])
    model.fit(ARRAY, np.unique(WORDS, return_inverse=True)[1], epochs=1, verbose=0)
    return model, ARRAY


def fitted_model(name: str) -> tuple[Any, Any]:
    if name in ("table", "sequential"):
        return table_model() if name == "table" else sequential_model()
    model, x, y = copy.deepcopy(EVERY[name])
    return model.fit(x, y), x


def most_of(size: int) -> int:
    """Most bytes that reading a model file of so many may take."""
    return 4 * size + (8 << 20)


def memory_of(action: Callable[[], Any], *, refused: bool = False) -> int:
    """Most bytes in use while something is tried; `refused`: which must be a FormatError."""
    tracemalloc.start()
    try:
        action()
    except FormatError:
        refused = False
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert not refused
    return most


@pytest.mark.parametrize("name", [*MODELS, "table", "sequential"])
def test_any_change_to_a_model_file_is_refused_or_gives_a_model(name: str, tmp_path: Path) -> None:
    path, rng = tmp_path / "a.linnet", rng_of(name)
    model, x = fitted_model(name)
    model.save(path)
    content, arrays = read_blocks(path)
    refused = 0
    for _ in range(TRIES):
        other, others = content, arrays
        parts = [holder for holder, _ in rng.sample(places_of(content), 3)]
        try:
            for _ in range(rng.choice([1, 1, 2])):
                if rng.random() < 0.3:
                    others = changed_arrays(others, rng)
                else:
                    other = changed(other, rng, parts)
            write_blocks(path, other, others)
        except (ValueError, RecursionError):  # what cannot be written
            continue
        try:
            read = linnet.load(path)
        except FormatError:
            refused += 1
            continue
        try:
            for method in ("predict", "predict_proba", "decision_function", "sample"):
                if hasattr(read, method) and getattr(read, "has_proba", True):
                    getattr(read, method)(x)
            read.save(tmp_path / "b.linnet")
        except ValueError as error:  # of other rows than it takes now, or a model that is not fitted any more
            assert isinstance(error, LinnetError) or "is not fitted yet" in str(error)  # noqa: PT017 - or it answers
    assert refused > TRIES / 3


@pytest.mark.parametrize("name", RESUMED)
def test_any_change_to_a_checkpoint_is_refused_or_goes_on(name: str, tmp_path: Path) -> None:
    path, rng = tmp_path / "run.ckpt", rng_of(name)
    model, x, y, how = copy.deepcopy(RESUMED[name])
    model.set_params(max_iter=4, random_state=0, checkpoint=Checkpoint(path, epochs=1))
    for record in model.fit_stream(x, y, **how):
        if record.epoch == 2:
            break
    *_, line, rest = path.read_bytes().split(b"\n", 3)
    facts, arrays = json.loads(line), load_arrays(rest)
    refused = 0
    for _ in range(RESUMES):
        other, others = facts, arrays
        parts = [holder for holder, _ in rng.sample(places_of(facts), 3)]
        for file in tmp_path.iterdir():
            file.unlink()
        try:
            for _ in range(rng.choice([1, 1, 2])):
                if rng.random() < 0.25:
                    others = changed_arrays(others, rng)
                else:
                    other = changed(other, rng, parts)
            whole = {key: np.ascontiguousarray(array) for key, array in others.items()}
            forge_checkpoint(path, KIND, other, save_arrays(whole))
        except (ValueError, RecursionError):
            continue
        try:
            linnet.resume(path, x, y, **how)
        except FormatError:
            refused += 1
        except (ConfigError, DataError, FitError):  # of another run, or with parameters that lead nowhere
            pass
    assert refused > RESUMES / 3


@pytest.mark.parametrize(
    "content",
    [
        *(5, 1.5, True, None, "x", [], [1], {"tuple": []}, {"dict": []}, {"number": 1, "dtype": "<f8"}),
        {"items": ["a"], "shape": [1], "dtype": "<U400000000"},
        {"items": ["a"], "shape": [1], "dtype": "|S2000000000"},
        [{"items": ["a"], "shape": [1], "dtype": f"<U{100_000 + each}"} for each in range(50)],
        {"object": "Encoder", "state": {"kind": "array", "width": 2**62}},
        {"object": "Dense", "state": {}},
        {"object": "LogisticRegression", "state": {"predict": 1}},
        {"object": "LogisticRegression", "state": {"__class__": 1}},
        {"object": "Ridge", "state": {"n_features_in_": 10**12, "_encoder": None}},
    ],
)
def test_what_is_no_model_is_refused_in_little_memory(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.linnet"
    forge(path, {"content": content})
    with pytest.raises(FormatError):
        linnet.load(path)
    assert memory_of(lambda: linnet.load(path)) < 2**20


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[" + "[]," * 200_000 + "0]", 8),  # an empty list takes twenty times its text
        ("[" + "{}," * 200_000 + "0]", 8),
        ('[{"tuple":' + "[[]]},{" * 90_000 + "}]", 8),
        ("{" + ",".join(f'"k{each}":0' for each in range(50_000)) + "}", 25),
        ("[" + "0.5," * 200_000 + "0]", 25),
        ("[" * 100_000 + "]" * 100_000, 8),
        ("[" * 900 + "]" * 900, 400),
        ("1" * 5000, 100),
        ('{"object":"Ridge","state":{"alpha":1,"alpha":2}}', 400),
        ("[1,2", 400),
        ("NaN", 400),
        ('"\\ud800"', 400),
    ],
)
def test_texts_made_to_be_large_in_memory(text: str, part: int, tmp_path: Path) -> None:
    """Lists of lists, keys without end, repeated keys; `part`: how many times its size a checkpoint may take."""
    path = tmp_path / "a.linnet"
    facts = (
        f'{{"format":"linnet model","version":1,"written_by":"x","sha256":"{"0" * 64}","blocks":{{}},"content":{text}}}'
    )
    size = forge_text(path, json.dumps({"__metadata__": {"linnet": facts}}))
    with pytest.raises(FormatError):
        linnet.load(path)
    assert memory_of(lambda: linnet.load(path)) < most_of(size)
    body = tmp_path / "run.ckpt"
    forge_checkpoint(body, KIND, None, save_arrays({}), raw=text.encode())
    with pytest.raises(FormatError):
        read_checkpoint(body)
    assert memory_of(lambda: read_checkpoint(body)) < part * body.stat().st_size + 2**14


PAIRS = ",".join(f'["{each:x}",1.5]' for each in range(250_000))
ATTRIBUTES = ",".join(f'"{each:05x}":0' for each in range(300_000))
DENSE = '{"object":"Dense","state":{"units":3}},'


@pytest.mark.parametrize(
    "text",
    [
        "[" + "1.5," * 1_000_000 + "0]",
        "[" + "-9," * 1_500_000 + "0]",
        "[" + '"ab",' * 800_000 + "0]",
        "[" + '"ab",' * 800_000 + '"c"]',
        "[" + '"\\u0000a",' * 400_000 + '"c"]',
        "[" + "[]," * 1_500_000 + "0]",
        "[" + "{}," * 1_500_000 + "0]",
        "[" + "[[],[]]," * 500_000 + "0]",
        "[" + "[1.5,2.5,3.5]," * 300_000 + "0]",
        "[" + '{"float":"nan"},' * 300_000 + "0]",
        "[" + '{"dict":[]},' * 400_000 + "0]",
        "[" + '{"dict":[["a",999]]},' * 200_000 + "0]",
        "[" + '{"tuple":[999]},' * 300_000 + "0]",
        "[" + DENSE * 150_000 + "0]",
        '{"dict":[' + PAIRS + "]}",
        '{"object":"Ridge","state":{' + ATTRIBUTES + "}}",
        '{"object":"Level","state":{"column":"x","values":{"tuple":[' + '"ab",' * 800_000 + '"c"]}}}',
        '{"items":[' + '"ab",' * 800_000 + '"c"],"shape":[800001],"dtype":"<U40"}',
        '{"items":[' + '"ab",' * 800_000 + '"c"],"shape":[800001],"dtype":"<U79"}',
        '["' + "é" * 2_000_000 + '\U0001f600"]',
        '["' + "a" * 4_000_000 + '\U0001f600"]',
        '["' + "a" * 4_000_000 + '\\ud83d\\ude00"]',
        " " * 4_000_000 + "0",
        "[[" + " " * 2_000_000 + "]," + "[" * 40 + "0" + "]" * 40 + "," + "0," * 1_000_000 + "0]",
    ],
    ids=[
        *("floats", "ints", "texts and a number", "texts", "texts with the sign between texts", "empty lists"),
        *(
            "empty objects",
            "lists of lists",
            "lists",
            "NaN",
            "empty dicts",
            "dicts",
            "tuples",
            "layers",
            "pairs",
            "keys",
        ),
        *("levels", "padded", "padded more", "wide characters", "one wide character", "an escaped one", "space"),
        "space in lists",
    ],
)
def test_a_file_takes_at_most_four_times_its_size(text: str, tmp_path: Path) -> None:
    """Whatever its JSON is full of: what that would take is known before it does."""
    path = tmp_path / "a.linnet"
    facts = (
        f'{{"format":"linnet model","version":1,"written_by":"x","sha256":"{"0" * 64}","blocks":{{}},"content":{text}}}'
    )
    size = forge_text(path, json.dumps({"__metadata__": {"linnet": facts}}, ensure_ascii=False))
    assert memory_of(lambda: linnet.load(path), refused=True) < most_of(size)


@pytest.mark.parametrize("empty", [True, False])
def test_a_file_of_very_many_arrays_takes_at_most_four_times_its_size(empty: bool, tmp_path: Path) -> None:
    path, count = tmp_path / "a.linnet", 30_000
    header = {
        f"{each:x}": described("U8", [0] if empty else [1], [0, 0] if empty else [each, each + 1])
        for each in range(count)
    }
    digest = hashlib.sha256(b"" if empty else b"\0").hexdigest()
    size = forge(path, {"content": None, "blocks": dict.fromkeys(header, digest)}, header, bytes(0 if empty else count))
    assert memory_of(lambda: linnet.load(path), refused=True) < most_of(size)


def test_a_file_of_empty_levels_takes_at_most_four_times_its_size(tmp_path: Path) -> None:
    """They are the same, which no set of them is needed to find out."""
    path, texts = tmp_path / "a.linnet", ",".join(['""'] * 1_500_000)
    text = f'{{"object":"Level","state":{{"column":"x","values":{{"tuple":[{texts}]}}}}}}'
    facts = {"format": "linnet model", "version": 1, "written_by": "x", "sha256": "0" * 64, "blocks": {}, "content": 1}
    inside = json.dumps(facts, separators=(",", ":")).replace('"content":1', f'"content":{text}')
    size = forge_text(path, json.dumps({"__metadata__": {"linnet": inside}}))
    assert memory_of(lambda: linnet.load(path), refused=True) < most_of(size)


@pytest.mark.parametrize("inside", [True, False])
def test_keys_without_end_in_a_header_are_refused_before_they_are_read(inside: bool, tmp_path: Path) -> None:
    path, facts = tmp_path / "a.linnet", f'{{"format":"linnet model","sha256":"{"0" * 64}","content":1}}'
    keys = {f"{each:x}": 0 for each in range(200_000)}
    metadata = {"__metadata__": {"linnet": facts, **(keys if inside else {})}}
    size = forge_text(path, json.dumps({**metadata, **({} if inside else keys)}))
    with pytest.raises(FormatError, match="more than 4 times the file and 8 MB of memory"):
        linnet.load(path)
    assert memory_of(lambda: linnet.load(path)) < most_of(size)


@pytest.mark.parametrize(
    ("name", "number"), [("positive_", -1), ("positive_", 2), ("positive_", True), ("negative_", 2)]
)
def test_a_threshold_for_a_class_that_is_none(name: str, number: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.linnet"
    model, _ = fitted_model("threshold")
    model.save(path)
    content, arrays = read_blocks(path)
    content["state"][name] = number
    write_blocks(path, content, arrays)
    with pytest.raises(FormatError, match=f"{name} of the ThresholdClassifier"):
        linnet.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("alpha", "x"), ("alpha", [1, 2]), ("l1_ratio", -1), ("power", "x"), ("link", 3), ("column_penalty", [])),
        *(("_fit_params", {"dict": [["coef_", 1]]}), ("_fit_params", {"dict": [["alpha", "x"]]}), ("_fit_params", 3)),
    ],
)
def test_parameters_that_no_fit_was_given_are_refused(name: str, value: Any, tmp_path: Path) -> None:
    """Scores and inference rely on them, and had errors of Python's."""
    path = tmp_path / "a.linnet"
    linnet.TweedieRegressor(power=1.5).fit(ARRAY, np.arange(ROWS) + 1.0).save(path)
    content, arrays = read_blocks(path)
    assert "_fit_params" not in content["state"]  # its parameters are those of the fit
    content["state"][name] = value
    write_blocks(path, content, arrays)
    with pytest.raises(FormatError):
        linnet.load(path)


def described(dtype: Any = "F64", shape: Any = (2,), place: Any = (0, 16), **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": place, **more}


@pytest.mark.parametrize(
    "header",
    [
        {"a": described(shape=[2**40], place=[0, 2**43])},
        {"a": described(shape=[2**32, 2**32, 0], place=[0, 0])},
        {"a": described(shape=[2**62, 0], place=[0, 0])},
        {"a": described(shape=[-1, -2])},
        {"a": described(shape=[2.0])},
        {"a": described(shape=[True, 2])},
        {"a": described(shape=2)},
        {"a": described(shape=[1] * 70)},
        {"a": described("BF16")},
        {"a": described(["F64"])},
        {"a": described(place=[16, 0])},
        {"a": described(place=[0, 8])},
        {"a": described(place=[-16, 0])},
        {"a": described(place=[8, 24])},
        {"a": described(place=[0])},
        {"a": described(extra=1)},
        {"a": described(), "b": described()},  # one place for two
        {"a": described(), "b": described(place=[8, 24])},
        {"a": None},
        {"a": described(shape=[1], place=[0, 8])},  # bytes are left over
    ],
)
def test_arrays_that_are_not_where_the_header_places_them(header: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.linnet"
    forge(path, {"content": None, "blocks": dict.fromkeys(header, "0")}, header, bytes(16))
    with pytest.raises(FormatError, match="is damaged or cut short"):
        linnet.load(path)
    assert memory_of(lambda: linnet.load(path)) < 2**17
    forge(path, {"content": None}, header, bytes(16))
    with pytest.raises(FormatError, match="its digests are not those of its arrays"):
        linnet.load(path)


def test_reading_takes_little_more_than_the_arrays(tmp_path: Path) -> None:
    path, values = tmp_path / "a.linnet", np.random.default_rng(0).normal(size=(2000, 400))
    model = linnet.LinearRegression().fit(values[:, :30], values[:, 100:])
    model.coef_ = np.ascontiguousarray(np.tile(model.coef_, 1))
    model.save(path)
    assert memory_of(lambda: linnet.load(path)) < 3 * path.stat().st_size + 2**20


def test_texts_of_very_different_lengths_keep_their_file_small(tmp_path: Path) -> None:
    """Padded to the longest they would take far more memory than their file, so they come back unpadded."""
    names = np.array(["x" * 20_000, "y", "z"])[np.arange(ROWS) % 3]
    model = linnet.LogisticRegression().fit(ARRAY, names)
    model.save(tmp_path / "a.linnet")
    read = linnet.load(tmp_path / "a.linnet")
    assert read.classes_.tolist() == model.classes_.tolist()
    assert read.predict(ARRAY).tolist() == model.predict(ARRAY).tolist()
    few = np.unique(np.array(["x" * 4000, "y", "z"]))[1:]  # wide, and of no long text any more
    labels = few[np.arange(ROWS) % 2]
    linnet.LogisticRegression().fit(ARRAY, labels).save(tmp_path / "b.linnet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert linnet.load(tmp_path / "b.linnet").classes_.tolist() == ["y", "z"]
