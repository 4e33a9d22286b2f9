"""The base class of the estimators for tables."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from linnet._sklearn import inherited
from linnet.data.tabular_encoder import TabularEncoder
from linnet.estimators.mlp.base import NetworkEstimator
from linnet.estimators.mlp.fitter import Recipe
from linnet.estimators.mlp.settings import CHOSEN, resolve
from linnet.estimators.tabular.fitter import TabularFitter

TABULAR = Recipe(
    learn_encoder=lambda X, weights: TabularEncoder.learn(X, weights=weights),
    fitter=lambda problem, once: TabularFitter(problem),
    ensemble=True,
    allows_missing=True,
)


def parameter_count(inputs: int, outputs: int) -> int:
    """Return the number of parameters of a network with the default hidden layers."""
    from linnet.estimators.tabular.classifier import TabularClassifier

    widths = (inputs, *inherited(TabularClassifier)["hidden_layer_sizes"], outputs)
    return sum((below + 1) * units for below, units in pairwise(widths))


class TabularEstimator(NetworkEstimator):
    """A network estimator that is an ensemble of tabular networks."""

    @property
    def _recipe(self) -> Recipe:
        return TABULAR

    @classmethod
    def _resolve(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        return resolve(params, {name: inherited(cls)[name] for name in CHOSEN})
