"""Losses defined by the user."""

from dataclasses import dataclass, replace

import numpy as np

from linnet.errors import ConfigError
from linnet.heads.activations import Activation
from linnet.heads.base import Floats, Head, LossFunction, Targets
from linnet.heads.registry import registered


@registered
@dataclass(frozen=True)
class Custom(Head):
    """A loss defined by the user for numeric targets.

    Parameters
    ----------
    loss_function : function
        Takes z and t (rows x outputs) and returns the loss of each row and the slope dloss/dz (rows x outputs).
    """

    family = "custom"
    loss_name = "the custom loss"
    location_scale = True

    loss_function: LossFunction | None = None

    @property
    def function(self) -> LossFunction | None:
        return self.loss_function

    def rows(self, z: Floats, t: Targets | None = None, *, expected: bool = False, **wanted: Floats) -> Floats:
        """Compute quantities of each row (mean, loss or slope) into the given arrays; return the first of these."""
        if t is None:
            return super().rows(z, None, expected=expected, **wanted)
        assert self.loss_function is not None
        assert wanted.keys() <= {"loss", "slope"}, "a custom loss has no curvature"
        for name, result in zip(("loss", "slope"), self.loss_function(z, t), strict=True):
            if name in wanted:
                wanted[name][:] = result
        return next(iter(wanted.values()))

    def standardised(self, centre: Floats, spread: Floats) -> "Custom":
        function = self.loss_function
        assert function is not None

        def scaled(z: Floats, t: Floats) -> tuple[Floats, Floats]:
            loss, slope = function(z * spread + centre, t * spread + centre)
            return loss, np.asarray(slope * spread)

        return replace(self, loss_function=scaled)

    @classmethod
    def _rebuilt(cls, activation: Activation, parameter: float, quasi: bool) -> "Custom":
        raise ConfigError("a custom loss cannot be loaded from a file")
