"""The result of `Sequential.fit`."""

from linnet.fit.loop.stop_reason import StopKind, StopReason


class History:
    """The result of `Sequential.fit`.

    Parameters
    ----------
    params : dict
        The arguments of the fit: epochs, steps per epoch and verbose.

    Attributes
    ----------
    history : dict of list of float
        Every loss and metric by epoch.
    epoch : list of int
        The indices of the epochs.
    params : dict
        The arguments of the fit.
    stop_reason : StopReason
        Why training ended.
    """

    def __init__(self, params: dict[str, object]) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []
        self.params = params
        self.stop_reason = StopReason(StopKind.NOT_STARTED)

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {values[-1]:.4g}" for name, values in self.history.items())
        return f"<History of {len(self.epoch)} epochs ({self.stop_reason}): {last}>"
