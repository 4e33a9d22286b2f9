"""Files with optimizers that were written before an optimizer had all of its parameters: these have their defaults.

For a new optimizer, `python tests/export/test_old_optimizers.py NAME` writes its files once; files that are there are
from the past and stay as they are.
"""

import inspect
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnet
from linnet.errors import ConfigError, FormatError
from linnet.fit.loop.optimizers import OPTIMIZERS, Optimizer

FILES = Path(__file__).with_name("files")
RULES: dict[str, Optimizer] = {
    "sgd": linnet.SGD(0.05, momentum=0.8, nesterov=True),
    "adagrad": linnet.Adagrad(0.05, 0.2),
    "rmsprop": linnet.RMSprop(0.02, 0.8, clip_norm=2.0),
    "adam": linnet.Adam(linnet.Cosine(0.05, epochs=9), 0.8),
    "amsgrad": linnet.Adam(0.03, amsgrad=True),
    "adamw": linnet.AdamW(0.02, 0.01),
}
X = np.arange(24.0).reshape(12, 2) % 7 / 7
Y = X[:, 0] - 2 * X[:, 1]


def network(rule: Optimizer, checkpoint: Any = None) -> linnet.MLPRegressor:
    return linnet.MLPRegressor(
        hidden_layer_sizes=(2,), solver=rule, max_iter=4, random_state=0, checkpoint=checkpoint, tol=0.0
    )


def write(name: str) -> None:
    """A trained model, and the checkpoint of a run after half of its epochs."""
    model = linnet.Sequential([linnet.Dense(1)])
    model.compile(RULES[name], "mse")
    model.fit(X, Y, epochs=2, batch_size=4, verbose=0)
    model.save(FILES / f"optimizer-{name}.linnet")
    path = FILES / f"optimizer-{name}.ckpt"
    for record in network(RULES[name], linnet.Checkpoint(path, epochs=1)).fit_stream(X, Y):
        if record.epoch == 2:
            break
    path.with_name(f"{path.name}.previous").unlink()


@pytest.fixture(params=["as it is", "with a new parameter"])
def age(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """In the second case all optimizers have a parameter that no file knows."""
    if request.param == "with a new parameter":
        for kind in OPTIMIZERS.values():
            monkeypatch.setattr(kind, "__init__", younger(kind))
    return str(request.param)


def younger(kind: type[Optimizer]) -> Any:
    known: Any = kind.__init__
    signature = inspect.signature(known)
    fresh = inspect.Parameter("fresh", inspect.Parameter.KEYWORD_ONLY, default=0.25)

    def init(self: Any, *args: Any, fresh: float = 0.25, **given: Any) -> None:
        known(self, *args, **given)
        self.fresh = fresh

    init.__signature__ = signature.replace(parameters=[*signature.parameters.values(), fresh])  # type: ignore[attr-defined]
    return init


def test_every_optimizer_has_old_files() -> None:
    assert {type(rule) for rule in RULES.values()} == {*OPTIMIZERS.values()}


@pytest.mark.parametrize("name", RULES)
def test_an_old_model_is_read_and_trained_on(name: str, age: str, tmp_path: Path) -> None:
    model = linnet.load(FILES / f"optimizer-{name}.linnet")
    rule = model._optimizer
    assert repr(rule).replace(", fresh=0.25", "") == repr(RULES[name])
    assert getattr(rule, "fresh", None) == (0.25 if age == "with a new parameter" else None)
    before = model.get_weights()[0]
    model.fit(X, Y, epochs=1, verbose=0)
    assert (model.get_weights()[0] != before).all()
    model.save(tmp_path / "again.linnet")
    assert repr(linnet.load(tmp_path / "again.linnet")._optimizer) == repr(rule)


@pytest.mark.filterwarnings("ignore")  # written by another build; ends without convergence
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_an_old_run_goes_on(name: str, given: bool, age: str, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    shutil.copy(FILES / f"optimizer-{name}.ckpt", path)
    kind, known = type(RULES[name]), RULES[name]._arguments()
    model = network(kind(**known)) if given else None  # type: ignore[arg-type]
    resumed = linnet.resume(path, X, Y, model=model)
    assert resumed.n_iter_ == 4
    assert repr(resumed.solver).replace(", fresh=0.25", "") == repr(RULES[name])


def test_another_value_of_a_new_parameter_is_a_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(linnet.RMSprop, "__init__", younger(linnet.RMSprop))
    shutil.copy(FILES / "optimizer-rmsprop.ckpt", tmp_path / "run.ckpt")
    other: Any = {**RULES["rmsprop"]._arguments(), "fresh": 0.5}
    with pytest.raises(ConfigError, match="cannot resume with other parameters: solver"):
        linnet.resume(tmp_path / "run.ckpt", X, Y, model=network(linnet.RMSprop(**other)))


def test_an_attribute_that_is_no_parameter_is_still_refused() -> None:
    rule = linnet.RMSprop()
    rule.__setstate__({**vars(rule), "odd": 1})
    with pytest.raises(FormatError, match="state of the RMSprop"):
        rule._check_file()


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    with warnings.catch_warnings(action="ignore"):
        for each in sys.argv[1:]:
            write(each)
