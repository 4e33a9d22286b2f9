"""What the estimators for tables share."""

from collections.abc import Mapping
from typing import Any

from linnet._sklearn import inherited
from linnet.estimators.mlp.base import NetworkEstimator
from linnet.estimators.mlp.settings import CHOSEN, resolve


class TabularEstimator(NetworkEstimator):
    """A network estimator that is an ensemble of tabular networks."""

    @property
    def _is_tabular(self) -> bool:
        return True

    @classmethod
    def _resolve(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        return resolve(params, {name: inherited(cls)[name] for name in CHOSEN})
