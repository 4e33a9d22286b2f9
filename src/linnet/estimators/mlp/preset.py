"""preset="tabular" of MLPClassifier and MLPRegressor: the estimators of linnet.estimators.tabular behind them."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from linnet._sklearn import parameters
from linnet.checks import check_name
from linnet.errors import ConfigError, unknown_name, warn
from linnet.estimators.mlp.base import NetworkEstimator
from linnet.estimators.mlp.fitter import Recipe
from linnet.estimators.mlp.settings import AUTO, CHOSEN, SCIKIT_LEARN, Settings, resolve
from linnet.export.parameters import comparable, to_json

PRESETS = ("tabular",)


class PresetEstimator(NetworkEstimator):
    """An estimator whose defaults are scikit-learn's, or with a preset those of a tabular estimator."""

    preset: str | Sequence[str] | None
    power_t: float
    shuffle: bool
    warm_start: bool
    momentum: float
    nesterovs_momentum: bool
    early_stopping: bool
    beta_1: float
    beta_2: float
    epsilon: float
    max_fun: int

    @staticmethod
    @abstractmethod
    def _behind() -> type[NetworkEstimator]:
        """Return the tabular estimator whose defaults and recipe the preset uses."""

    @property
    def _recipe(self) -> Recipe:
        return super()._recipe if self.preset is None else object.__new__(self._behind())._recipe

    @classmethod
    def _resolve(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        if params.get("preset") is None:
            return resolve(params, SCIKIT_LEARN)
        name, explicit = _parts(params["preset"])
        check_name(name, "preset", PRESETS)
        for each in explicit:
            if not isinstance(each, str) or each not in params:
                raise unknown_name("parameter in preset", each, params)
        behind = parameters(cls._behind())
        defaults = {each: SCIKIT_LEARN[each] if each in explicit else behind[each] for each in CHOSEN}
        return {**resolve(params, defaults), "preset": name}

    def _settings(self) -> Settings:
        if isinstance(self.preset, list | tuple):
            warn(
                f"preset={self.preset!r} is deprecated: a preset no longer overrides parameters that are set, so use "
                f"preset={_parts(self.preset)[0]!r} and set the parameters",
                DeprecationWarning,
            )
        return super()._settings()

    def _check(self, settings: Settings, *, by_epochs: bool, incremental: bool) -> None:
        super()._check(settings, by_epochs=by_epochs, incremental=incremental)
        if self.preset is not None and settings.warm_start:
            raise ConfigError(
                f"warm_start cannot be combined with preset={_parts(self.preset)[0]!r}, as every fit scales columns "
                "and holds out rows from scratch; to continue after a crash, use checkpoint and linnet.resume"
            )

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | ({"_explicit": True} if self.preset is not None else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {name: value for name, value in state.items() if name != "_all_classes"}  # of earlier versions
        if not state.pop("_explicit", False):
            params = {name: state[name] for name in ("preset", *CHOSEN) if name in state}  # weights may be gigabytes
            chosen = chosen_by_preset({name: comparable(to_json(value)) for name, value in params.items()})
            state |= dict.fromkeys(chosen, AUTO)
        super().__setstate__(state)


def chosen_by_preset(params: Mapping[str, Any]) -> Collection[str]:
    """Return the parameters that a preset chose in a file from before they could be "auto".

    There, a preset replaced the values that were scikit-learn's defaults. `params`: values in the form of `comparable`.
    """
    if params.get("preset") is None:
        return ()
    _, explicit = _parts(params["preset"])
    defaults = {name: comparable(to_json(SCIKIT_LEARN[name])) for name in CHOSEN}
    return [name for name in CHOSEN if name in params and params[name] == defaults[name] and name not in explicit]


def _parts(preset: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the name of a preset, and the parameters that keep scikit-learn's defaults."""
    return (preset[0], tuple(preset[1:])) if isinstance(preset, list | tuple) and preset else (preset, ())


def has_partial_fit(model: Any) -> bool:
    """Return whether the model has a partial_fit: its solver must train by epochs, and a single network."""
    return bool(model.solver != "lbfgs" and model.preset is None)
