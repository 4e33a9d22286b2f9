"""resume: continue a training run that was killed, from its checkpoint."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linnet._sklearn import inherited
from linnet.arrays import ArrayLike, Table, Targets
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
_MAX_NAMES = 8  # in a message
_MAY_CHANGE = ("verbose", "threads", "checkpoint", "random_state")  # parameters; the seed is in the file


def check_resumable(path: str | os.PathLike[str], model: NetworkEstimator) -> None:
    """Raise the error, if any, that `resume` would raise with this model before it reads the data.

    Parameters
    ----------
    path : str or path
        The checkpoint.
    model : NetworkEstimator
        The model, with the parameters of the run.
    """
    _refuse_changes(_kept(read_checkpoint(path), path), model)


def resume(
    path: str | os.PathLike[str],
    X: Table,
    y: Targets,
    sample_weight: ArrayLike | None = None,
    *,
    model: NetworkEstimator | None = None,
    **options: Any,
) -> Any:
    """Continue the interrupted `fit(X, y, ...)` of a model with `checkpoint=path`, and return the trained model.

    The result has the same bytes as that of an uninterrupted fit. All data must be that of the fit; other data or
    parameters are refused with the reason. The run continues to write checkpoints to the same file.

    Parameters
    ----------
    path : str or path
        The checkpoint.
    X : array, sparse matrix or data frame of shape (rows, columns)
        The training table of the fit.
    y : array of shape (rows,) or (rows, targets)
        Its targets.
    sample_weight : array of shape (rows,), default=None
        Row weights: a row of weight w counts as w rows.
    model : MLPClassifier, MLPRegressor, TabularClassifier, TabularRegressor or None, default=None
        A model with the parameters of the run, needed only if one of them is a function. If the run cannot be
        continued, it stays as it was.
    **options
        The other arguments of the fit, by name: eval_set, eval_metric, offset, exposure, eval_offset, eval_exposure.

    Returns
    -------
    MLPClassifier, MLPRegressor, TabularClassifier or TabularRegressor
        The trained model, which is `model` if that was passed.
    """
    saved = read_checkpoint(path)
    description = _kept(saved, path)
    if model is None:
        model = _model(description, path)
    else:
        _refuse_changes(description, model)
    checkpoint = _parameter(description, "checkpoint", path)
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(path, seconds=1.0)
    before = dict(model.__dict__)
    try:
        model.set_params(checkpoint=replace(checkpoint, path=os.fspath(path)))
        _train_on(model, saved, X, y, sample_weight, **options)
    except BaseException:
        model.__dict__ = before
        raise
    return model


def _train_on(
    model: NetworkEstimator, saved: Saved, X: object, y: object, sample_weight: object, **options: Any
) -> None:
    """Train a model from a checkpoint to the end."""
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
    """Return the description of the model in its checkpoint, checked."""
    if not isinstance(kind := saved.model.get("class", ""), str):
        raise _malformed(path, TypeError("class"))
    if kind not in _CLASSES:
        raise ConfigError(f"{os.fspath(path)} is a checkpoint of another kind of run: {kind[:60]!r}")
    for name, hint in _KEPT.items():
        if name not in saved.model or not fits(saved.model[name], hint):
            raise _malformed(path, TypeError(name))
    if not 0 <= saved.model["seed"] < 2**31:
        raise _malformed(path, TypeError("seed"))
    earlier, known = saved.model["earlier"], inherited(_CLASSES[saved.model["class"]])
    if not all(fits(earlier.get(name), hint) for name, hint in _EARLIER.items()):
        raise _malformed(path, TypeError("earlier"))
    if not {"random_state", "checkpoint"} <= saved.model["params"].keys() <= known.keys():
        raise _malformed(path, TypeError("params"))
    return saved.model if "explicit" in saved.model else {**saved.model, "params": _with_auto(saved.model["params"])}


def _with_auto(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a checkpoint from before they could be "auto", with "auto" where a preset chose them."""
    chosen = chosen_by_preset({name: comparable(value) for name, value in params.items()})
    return {**params, **dict.fromkeys(chosen, AUTO)}


def _model(kept: Mapping[str, Any], path: str | os.PathLike[str]) -> NetworkEstimator:
    """Return the model as it was before the run, with the parameters in the file."""
    params = {name: _parameter(kept, name, path) for name in kept["params"] if name not in _MAY_CHANGE}
    seed = comparable(kept["params"]["random_state"])
    try:
        model: NetworkEstimator = _CLASSES[kept["class"]](
            **params, random_state=seed if isinstance(seed, int) else None
        )
        model._settings().check_components()
        if isinstance(model, NetworkRegressor):
            model._head()
    except (TypeError, ConfigError) as error:
        raise _malformed(path, error) from None
    return model


def _parameter(kept: Mapping[str, Any], name: str, path: str | os.PathLike[str]) -> Any:
    """Return the value of one parameter in the file."""
    try:
        return from_json(kept["params"][name], name)
    except UnknownObject as error:
        raise ConfigError(str(error)) from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise _malformed(path, error) from None


def _malformed(path: str | os.PathLike[str], error: Exception) -> FormatError:
    return FormatError(f"{os.fspath(path)} is not a checkpoint of this version of linnet: {error!r:.300}")


def _refuse_changes(kept: Mapping[str, Any], model: NetworkEstimator) -> None:
    if (kind := type(model).__name__) != kept["class"]:
        raise ConfigError(f"cannot resume with another model: it was {kept['class']}, now {kind}")
    params = _meaning(model, {name: comparable(to_json(value)) for name, value in model.get_params().items()})
    before = _meaning(model, {name: comparable(value) for name, value in kept["params"].items()})
    changed = [key for key in params if key not in _MAY_CHANGE and params[key] != before.get(key)]
    seed, new_seed = before["random_state"], params["random_state"]
    if isinstance(seed, int) and isinstance(new_seed, int) and seed != new_seed:
        changed.append("random_state")
    if changed:
        parts: list[object] = []
        for key in changed:
            parts += ["; " if parts else "", Parameter(key), f" was {before.get(key)!r}, now {params[key]!r}"]
        raise ConfigError("cannot resume with other parameters: ", *parts)


def _meaning(model: NetworkEstimator, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with the values that "auto" stands for, and defaults for parameters newer than the file.

    `params`, like the result, has values in the form of `comparable`.
    """
    newer = {name: value for name, value in inherited(type(model)).items() if name not in params}
    params = {**params, **{name: comparable(to_json(value)) for name, value in newer.items()}}
    resolved = model._resolve(params)
    from_auto = {name: comparable(to_json(resolved[name])) for name in CHOSEN if is_auto(params.get(name))}
    return {**resolved, **from_auto}


def _change(old: Any, new: Any) -> str:
    """Describe the old and the new value; of long lists only the differences."""
    if not (isinstance(old, list) and isinstance(new, list)) or len(old) + len(new) <= 2 * _MAX_NAMES:
        return f"were {_listed(old)}, now {_listed(new)}"
    changes = {"lack": [item for item in old if item not in new], "have": [item for item in new if item not in old]}
    texts = [f"{verb} {', '.join(map(_plain, items[:_MAX_NAMES]))}" for verb, items in changes.items() if items]
    return f"have changed ({len(old)} before, {len(new)} now): now they {' and '.join(texts) or 'are in another order'}"


def _listed(value: Any) -> str:
    return f"[{', '.join(map(_plain, value))}]" if isinstance(value, list) else str(value)


def _plain(item: Any) -> str:
    """Return the repr of a value as Python's own type, not NumPy's."""
    return repr(item.item() if isinstance(item, np.generic) else item)
