"""resume: go on with a run that was killed, from its checkpoint."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from linnet.errors import ConfigError, FormatError
from linnet.estimators.base import inherited
from linnet.estimators.mlp_base import MultilayerPerceptron
from linnet.estimators.mlp_classifier import MLPClassifier
from linnet.estimators.mlp_regressor import MLPRegressor
from linnet.estimators.mlp_settings import check_settings
from linnet.estimators.tabular import check_preset
from linnet.estimators.written import UnknownObject, plain, read_back, written
from linnet.fit.checkpoint import Checkpoint, Saved, read_checkpoint
from linnet.untrusted import fits

_CLASSES: dict[str, type[MLPClassifier | MLPRegressor]] = {
    "MLPClassifier": MLPClassifier,
    "MLPRegressor": MLPRegressor,
}

_KEPT: dict[str, Any] = {
    "params": dict[str, Any],
    "seed": int,
    "classes": list[Any] | None,
    "columns": list[str],
    "metrics": Any,
    "earlier": dict[str, Any],
}
_EARLIER: dict[str, Any] = {"loss_curve": list[float], "t": int, "history": dict[str, list[float]]}
_FREE = ("verbose", "threads", "checkpoint", "random_state")  # the seed is in the file


def check_resumable(path: str | os.PathLike[str], model: MultilayerPerceptron) -> None:
    """Raise the error that `resume` with this model would raise before it looks at the data."""
    _refuse_changes(_kept(read_checkpoint(path), path), model)


def resume(
    path: str | os.PathLike[str],
    X: object,
    y: object,
    sample_weight: object = None,
    *,
    model: MultilayerPerceptron | None = None,
    **how: Any,
) -> Any:
    """Return the model whose `fit(X, y, ...)` with `checkpoint=path` did not come to its end, now trained to its end.

    It ends with the bytes that an uninterrupted fit would have ended with. Give what fit was given: the same X, y and
    sample_weight, and by name eval_set, eval_metric, offset, exposure; anything else is refused with the reason.
    `model`, with the same parameters, is needed only where one of them is a function; if the run cannot go on, it is
    left as it was. The run goes on writing checkpoints to the same file.
    """
    saved = read_checkpoint(path)
    kept = _kept(saved, path)
    if model is None:
        model = _model(kept, path)
    else:
        _refuse_changes(kept, model)
    written_before = _read_back(kept, "checkpoint", path)
    every = written_before if isinstance(written_before, Checkpoint) else Checkpoint(path, seconds=1.0)
    before = dict(model.__dict__)
    try:
        model.set_params(checkpoint=replace(every, path=os.fspath(path)))
        model.go_on(saved, X, y, sample_weight, **how)
    except BaseException:
        model.__dict__ = before
        raise
    return model


def _kept(saved: Saved, path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """What the model has left in its checkpoint."""
    if not isinstance(kind := saved.model.get("class", ""), str):
        raise _made_up(path, TypeError("class"))
    if kind not in _CLASSES:
        raise ConfigError(f"{os.fspath(path)} is the checkpoint of another kind of run: {kind[:60]!r}")
    for name, hint in _KEPT.items():
        if name not in saved.model or not fits(saved.model[name], hint):
            raise _made_up(path, TypeError(name))
    if not 0 <= saved.model["seed"] < 2**31:
        raise _made_up(path, TypeError("seed"))
    earlier, known = saved.model["earlier"], inherited(_CLASSES[saved.model["class"]])
    if not all(fits(earlier.get(name), hint) for name, hint in _EARLIER.items()):
        raise _made_up(path, TypeError("earlier"))
    if not {"random_state", "checkpoint"} <= saved.model["params"].keys() <= known.keys():
        raise _made_up(path, TypeError("params"))
    return saved.model


def _model(kept: Mapping[str, Any], path: str | os.PathLike[str]) -> MultilayerPerceptron:
    """The model as it was before the run, with the parameters in the file."""
    params = {name: _read_back(kept, name, path) for name in kept["params"] if name not in _FREE}
    seed = plain(kept["params"]["random_state"])
    try:
        model = _CLASSES[kept["class"]](**params, random_state=seed if isinstance(seed, int) else None)
        check_settings(model.get_params())
        if model.preset is not None:
            check_preset(model.get_params())
        if isinstance(model, MLPRegressor):
            model._head()
    except (TypeError, ConfigError) as error:
        raise _made_up(path, error) from None
    return model


def _read_back(kept: Mapping[str, Any], name: str, path: str | os.PathLike[str]) -> Any:
    """One parameter."""
    try:
        return read_back(kept["params"][name], name)
    except UnknownObject as error:
        raise ConfigError(str(error)) from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise _made_up(path, error) from None


def _made_up(path: str | os.PathLike[str], error: Exception) -> FormatError:
    return FormatError(f"{os.fspath(path)} is not a checkpoint as this version of linnet writes it: {error!r:.300}")


def _refuse_changes(kept: Any, model: MultilayerPerceptron) -> None:
    name, params = type(model).__name__, {name: plain(written(value)) for name, value in model.get_params().items()}
    before = {name: plain(value) for name, value in kept["params"].items()}
    if name != kept["class"]:
        raise ConfigError(f"cannot resume with another model: it was {kept['class']}, now {name}")
    changed = [key for key in params if key not in _FREE and params[key] != before.get(key)]
    seed, new_seed = before["random_state"], params["random_state"]
    if isinstance(seed, int) and isinstance(new_seed, int) and seed != new_seed:
        changed.append("random_state")
    if changed:
        told = "; ".join(f"{key} was {before.get(key)!r}, now {params[key]!r}" for key in changed)
        raise ConfigError(f"cannot resume with other parameters: {told}")
