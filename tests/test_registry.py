"""Which classes files may hold: those that register themselves, found also where nothing but linnet was imported."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnet
from linnet.errors import ConfigError, FormatError
from linnet.export.blocks import write_blocks
from linnet.registry import arguments_of, name_of, saved, setting_named

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
WORDS = np.where(X[:, 0] > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]
TABLE = {"x": X[:, 0], "level": THREE, "t": WORDS}


def sequential() -> Any:
    model = linnet.Sequential([linnet.Dense(2, "tanh", kernel_regularizer=linnet.l2()), linnet.Dense(1, "sigmoid")])
    model.compile("adam", "binary_crossentropy", ["accuracy"])
    model.fit(X, X[:, 0] > 0, verbose=0)
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "linear": lambda: linnet.Ridge().fit(X, X[:, 0]),
    "mlp": lambda: linnet.MLPClassifier((3,), preset="tabular", max_iter=2).fit(X, WORDS),
    "sequential": sequential,
    "separate": lambda: linnet.OneVsOneClassifier(linnet.Perceptron(max_iter=2)).fit(X, THREE),
    "stacked": lambda: linnet.LabelTreeClassifier(linnet.LogisticRegression()).fit(X, THREE),
    "threshold": lambda: linnet.ThresholdClassifier(linnet.LogisticRegression(), [[0, 1], [5, 0]]).fit(X, WORDS),
    "constant": lambda: linnet.train(TABLE, "t", model="constant"),
    "network": lambda: linnet.train({"x": X[:, 0], "t": WORDS}, "t", model="sequential", max_iter=1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_read_where_nothing_was_imported_before(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.linnet"
    model = MODELS[name]()
    model.save(path)
    code = f"import linnet, sys; m = linnet.load({str(path)!r}); m.save({str(tmp_path / 'b.linnet')!r})"
    code += "; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
    assert (tmp_path / "b.linnet").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["load", "History", "Input", "config", "EarlyStopping", "os", "Saved", "__all__"])
def test_names_that_are_not_registered_are_refused(name: str, tmp_path: Path) -> None:
    write_blocks(tmp_path / "a.linnet", {"object": name, "state": {}}, {})
    with pytest.raises(FormatError, match="which this version of linnet does not know"):
        linnet.load(tmp_path / "a.linnet")


def test_a_subclass_is_not_registered_with_its_base(tmp_path: Path) -> None:
    class Mine(linnet.Ridge):
        pass

    assert name_of(linnet.Ridge) == "Ridge"
    assert name_of(Mine) is None
    with pytest.raises(ConfigError, match="which a model file cannot hold"):
        Mine().save(tmp_path / "a.linnet")


def test_no_two_classes_have_one_name() -> None:
    with pytest.raises(AssertionError, match="two classes named Ridge"):
        saved(type("Ridge", (), {}))


def test_checkpoints_hold_settings_alone() -> None:
    """A parameter in a checkpoint is made by calling a class: not one that fits, and none that is only in models."""
    assert setting_named("Adam") is linnet.Adam
    assert setting_named("Ridge") is setting_named("Encoder") is setting_named("load") is None
    adam = linnet.Adam(linnet.Cosine(0.5), clip_norm=2.0)
    given = arguments_of(adam)
    assert given is not None
    assert given.keys() == {"learning_rate", "beta_1", "beta_2", "epsilon", "clip_norm"}
    assert repr(linnet.Adam(**given)) == repr(adam)
    assert (arguments_of(linnet.Adam(amsgrad=True)) or {}).keys() == {*given, "amsgrad"}
    assert arguments_of(linnet.Ridge()) is None
