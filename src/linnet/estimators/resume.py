"""resume: go on with a run that was killed, from its checkpoint."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from linnet.errors import ConfigError
from linnet.estimators.mlp_base import MultilayerPerceptron
from linnet.estimators.mlp_classifier import MLPClassifier
from linnet.estimators.mlp_regressor import MLPRegressor
from linnet.estimators.written import plain, read_back, written
from linnet.fit.checkpoint import Checkpoint, Saved, read_checkpoint

_CLASSES: dict[str, type[MLPClassifier | MLPRegressor]] = {
    "MLPClassifier": MLPClassifier,
    "MLPRegressor": MLPRegressor,
}

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
        params = {name: read_back(value, name) for name, value in kept["params"].items() if name not in _FREE}
        model = _CLASSES[kept["class"]](**params)
        seed = plain(kept["params"]["random_state"])
        model.set_params(random_state=seed if isinstance(seed, int) else None)
    else:
        _refuse_changes(kept, model)
    written_before = read_back(kept["params"]["checkpoint"], "checkpoint")
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
    if saved.model.get("class") not in _CLASSES:
        raise ConfigError(f"{os.fspath(path)} is the checkpoint of another kind of run: {saved.model.get('class')!r}")
    return saved.model


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
