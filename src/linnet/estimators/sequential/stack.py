"""A stack of layers, and the network that it defines."""

from collections.abc import Sequence

import numpy as np

from linnet.errors import ConfigError
from linnet.estimators.sequential.layers import Dense, Dropout, Input
from linnet.heads import Head
from linnet.model.network import Network
from linnet.registry import need, saved
from linnet.untrusted import fits


@saved
class Stack:
    """The layers of a Sequential model, and the number of columns of its input (None until it is known)."""

    def __init__(self) -> None:
        self.layers: list[Dense | Dropout] = []
        self.columns: int | None = None

    def add(self, layer: Input | Dense | Dropout) -> None:
        """Append a layer."""
        if not isinstance(layer, Input | Dense | Dropout):
            raise ConfigError(f"a Sequential model is made of Input, Dense and Dropout, got {layer!r}")
        if layer.columns is not None:
            below = self._width()
            if below is not None and layer.columns != below:
                raise ConfigError(
                    f"the layer expects {layer.columns} inputs, but the layer before it has {below} outputs"
                )
            if below is None:
                self.columns = layer.columns
        if not isinstance(layer, Input):
            self.layers.append(layer)

    def set_input(self, shape: int | Sequence[int | None]) -> None:
        """Set the shape of the input: columns, (columns,) or (None, columns)."""
        sizes = [int(shape)] if isinstance(shape, int | np.integer) else [size for size in shape if size is not None]
        columns = Input(sizes).columns
        if self.columns not in (None, columns):
            raise ConfigError(f"the model takes {self.columns} columns, not {columns}")
        self.columns = columns

    def dense(self) -> list[Dense]:
        """Return the Dense layers, which have parameters."""
        dense = [layer for layer in self.layers if isinstance(layer, Dense)]
        if not dense:
            raise ConfigError("the model has no Dense layer yet: add one")
        if isinstance(self.layers[-1], Dropout):
            raise ConfigError("Dropout must not follow the last Dense layer: it would drop predictions")
        return dense

    def network(self, head: Head) -> Network:
        """Return the network of these layers with a head."""
        if self.columns is None:
            raise ConfigError("the number of columns is not known: set input_dim of the first layer, or fit the model")
        rates = self._dropout_rates()
        layers = (layer.to_layer(rate) for layer, rate in zip(self.dense(), rates, strict=True))
        return Network(self.columns, tuple(layers), head)

    def _dropout_rates(self) -> list[float]:
        """Return the dropout rate on the inputs of each Dense layer; consecutive Dropouts multiply their keep rates."""
        rates, keep = [], 1.0
        for layer in self.layers:
            if isinstance(layer, Dropout):
                keep *= 1 - layer.rate
            else:
                rates.append(1 - keep)
                keep = 1.0
        return rates

    def _check_file(self) -> None:
        need(fits(self.layers, list[Dense | Dropout]) and fits(self.columns, int | None), self, "layers")

    def _width(self) -> int | None:
        dense = [layer for layer in self.layers if isinstance(layer, Dense)]
        return dense[-1].units if dense else self.columns
