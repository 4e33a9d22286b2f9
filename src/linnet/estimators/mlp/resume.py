"""resume: go on with a run that was killed, from its checkpoint."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linnet._sklearn import inherited
from linnet.errors import ConfigError, DataError, FormatError, Parameter
from linnet.estimators.mlp.base import NetworkEstimator
from linnet.estimators.mlp.classifier import MLPClassifier
from linnet.estimators.mlp.preset import chosen_by_preset
from linnet.estimators.mlp.problem import Start
from linnet.estimators.mlp.regressor import MLPRegressor, NetworkRegressor
from linnet.estimators.mlp.settings import AUTO, CHOSEN, is_auto
from linnet.estimators.tabular.classifier import TabularClassifier
from linnet.estimators.tabular.regressor import TabularRegressor
from linnet.export.parameters import UnknownObject, comparable, from_json, to_json
from linnet.fit.checkpoint.checkpoint import Checkpoint, Saved, read_checkpoint
from linnet.untrusted import fits

_KINDS: tuple[Any, ...] = (MLPClassifier, MLPRegressor, TabularClassifier, TabularRegressor)
_CLASSES = {kind.__name__: kind for kind in _KINDS}

_KEPT: dict[str, Any] = {
    "params": dict[str, Any],
    "seed": int,
    "classes": list[Any] | None,
    "columns": list[str],
    "metrics": Any,
    "earlier": dict[str, Any],
}
_EARLIER: dict[str, Any] = {"loss_curve": list[float], "t": int, "history": dict[str, list[float]]}
_NAMES_SHOWN = 8  # in a message
_FREE = ("verbose", "threads", "checkpoint", "random_state")  # the seed is in the file


def check_resumable(path: str | os.PathLike[str], model: NetworkEstimator) -> None:
    """Raise the error that `resume` with this model would raise before it looks at the data."""
    _refuse_changes(_kept(read_checkpoint(path), path), model)


def resume(
    path: str | os.PathLike[str],
    X: object,
    y: object,
    sample_weight: object = None,
    *,
    model: NetworkEstimator | None = None,
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
    written_before = _parameter(kept, "checkpoint", path)
    every = written_before if isinstance(written_before, Checkpoint) else Checkpoint(path, seconds=1.0)
    before = dict(model.__dict__)
    try:
        model.set_params(checkpoint=replace(every, path=os.fspath(path)))
        _train_on(model, saved, X, y, sample_weight, **how)
    except BaseException:
        model.__dict__ = before
        raise
    return model


def _train_on(
    model: NetworkEstimator, saved: Saved, X: object, y: object, sample_weight: object, **options: Any
) -> None:
    """Train from a checkpoint to the end."""
    model._check_options(options, "resume")
    problem, earlier = model._prepare(X, y, sample_weight, seed=saved.model["seed"], **options), saved.model["earlier"]
    start = Start(loss_curve=earlier["loss_curve"], history=earlier["history"], rows_seen=earlier["t"])
    problem = replace(problem, start=start)
    now = model._description(problem)
    for name in ("classes", "columns", "metrics"):
        if saved.model[name] != now[name]:
            raise DataError(f"cannot resume with other data: the {name} {_change(saved.model[name], now[name])}")
    fitter = model._recipe.fitter(problem, False)
    fitter.go_on(saved)
    model._take(problem, fitter.run(lambda: now, saved))


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
    return saved.model if "explicit" in saved.model else {**saved.model, "params": _with_auto(saved.model["params"])}


def _with_auto(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a checkpoint from before they could be "auto"."""
    chosen = chosen_by_preset({name: comparable(value) for name, value in params.items()})
    return {**params, **dict.fromkeys(chosen, AUTO)}


def _model(kept: Mapping[str, Any], path: str | os.PathLike[str]) -> NetworkEstimator:
    """The model as it was before the run, with the parameters in the file."""
    params = {name: _parameter(kept, name, path) for name in kept["params"] if name not in _FREE}
    seed = comparable(kept["params"]["random_state"])
    try:
        model: NetworkEstimator = _CLASSES[kept["class"]](
            **params, random_state=seed if isinstance(seed, int) else None
        )
        model._settings().check_parts()
        if isinstance(model, NetworkRegressor):
            model._head()
    except (TypeError, ConfigError) as error:
        raise _made_up(path, error) from None
    return model


def _parameter(kept: Mapping[str, Any], name: str, path: str | os.PathLike[str]) -> Any:
    """One parameter."""
    try:
        return from_json(kept["params"][name], name)
    except UnknownObject as error:
        raise ConfigError(str(error)) from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise _made_up(path, error) from None


def _made_up(path: str | os.PathLike[str], error: Exception) -> FormatError:
    return FormatError(f"{os.fspath(path)} is not a checkpoint as this version of linnet writes it: {error!r:.300}")


def _refuse_changes(kept: Mapping[str, Any], model: NetworkEstimator) -> None:
    if (kind := type(model).__name__) != kept["class"]:
        raise ConfigError(f"cannot resume with another model: it was {kept['class']}, now {kind}")
    params = _meaning(model, {name: comparable(to_json(value)) for name, value in model.get_params().items()})
    before = _meaning(model, {name: comparable(value) for name, value in kept["params"].items()})
    changed = [key for key in params if key not in _FREE and params[key] != before.get(key)]
    seed, new_seed = before["random_state"], params["random_state"]
    if isinstance(seed, int) and isinstance(new_seed, int) and seed != new_seed:
        changed.append("random_state")
    if changed:
        parts: list[object] = []
        for key in changed:
            parts += ["; " if parts else "", Parameter(key), f" was {before.get(key)!r}, now {params[key]!r}"]
        raise ConfigError("cannot resume with other parameters: ", *parts)


def _meaning(model: NetworkEstimator, params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters, as `comparable` has them, with what "auto" stands for; one younger than the file has its default."""
    young = {name: value for name, value in inherited(type(model)).items() if name not in params}
    params = {**params, **{name: comparable(to_json(value)) for name, value in young.items()}}
    resolved = model._resolve(params)
    left = {name: comparable(to_json(resolved[name])) for name in CHOSEN if is_auto(params.get(name))}
    return {**resolved, **left}


def _change(old: Any, new: Any) -> str:
    """What was and what is; of long lists only what differs."""
    if not (isinstance(old, list) and isinstance(new, list)) or len(old) + len(new) <= 2 * _NAMES_SHOWN:
        return f"were {_listed(old)}, now {_listed(new)}"
    parts = {"lack": [item for item in old if item not in new], "have": [item for item in new if item not in old]}
    said = [f"{what} {', '.join(map(_plain, items[:_NAMES_SHOWN]))}" for what, items in parts.items() if items]
    return f"are {len(new)} and were {len(old)}: now they {' and '.join(said) or 'are in another order'}"


def _listed(value: Any) -> str:
    return f"[{', '.join(map(_plain, value))}]" if isinstance(value, list) else str(value)


def _plain(item: Any) -> str:
    """As Python writes it, and not as NumPy does."""
    return repr(item.item() if isinstance(item, np.generic) else item)
