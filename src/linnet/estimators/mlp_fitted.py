"""A fitted network behind an estimator: its parameters as scikit-learn shows them, its predictions, its inside."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.data.prepare import Preparer
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.estimators.base import Estimator, check_fitted
from linnet.estimators.form import check_form
from linnet.estimators.linear_model import as_offset
from linnet.fit.full_batch import FullBatch
from linnet.fit.objective import Objective, predict
from linnet.model.heads import Head
from linnet.model.network import Block, Network, Theta

if TYPE_CHECKING:
    from linnet.persist.onnx_columns import Inputs
    from linnet.persist.onnx_graph import Tensor

_NOT_KEPT = ("_run", "_views", "coefs_", "intercepts_")  # in files: made from the parameters when they are read


class FittedNetwork(Estimator):
    """Parameters, predictions and derivatives of a network that was trained."""

    preset: str | Sequence[str] | None
    threads: int | None
    n_outputs_: int
    _encoder: Encoder | Preparer
    _network: Network
    _theta: Theta
    _members: list[Theta]  # of a preset's ensemble; _theta is the first
    _range: tuple[Array, Array]  # of an ensemble's predictions
    _shifts: tuple[str, ...] = ()  # which of offset and exposure the fit was given

    @abstractmethod
    def _targets(self, y: object, rows: int, name: str, *, fresh: bool) -> tuple[Head, int, dict[str, Any]]:
        """The head, its outputs, and the targets as Rows takes them; `fresh`: the first that the model sees."""

    @abstractmethod
    def _row_weights(self, rows: Rows, sample_weight: object) -> Array | None:
        """The weights of rows to train on."""

    def activations(self, X: object) -> list[Array]:
        """Return what each hidden layer makes of the rows: its features, rows x units."""
        check_fitted(self)
        columns, theta, features = self._encode(X), self._parameters(), list[Array]()
        for count in range(1, len(self._network.layers)):
            below = self._network.below(count)
            features.append(Objective(below, theta.dtype, rows=len(columns)).predict(theta[: below.size], columns))
        return features

    def gradients(
        self, X: object, y: object, sample_weight: object = None, *, offset: object = None, exposure: object = None
    ) -> list[tuple[Array, Array]]:
        """Return the derivatives of the objective on these rows by each layer's weights and biases."""
        problem, theta = self.objective(X, y, sample_weight, offset=offset, exposure=exposure)
        gradient = problem.at(theta).gradient
        assert gradient is not None
        return [(block.weights, block.biases) for block in self._network.blocks(gradient)]

    def objective(
        self, X: object, y: object, sample_weight: object = None, *, offset: object = None, exposure: object = None
    ) -> tuple[FullBatch, Array]:
        """Return what training minimises, on these rows and without dropout, and the parameters found, in float64."""
        check_fitted(self)
        columns = self._encode(X)
        head, outputs, targets = self._targets(y, columns.rows, "y", fresh=False)
        rows = Rows(columns, **targets, offset=self._shift(offset, exposure, columns.rows, head, outputs))
        rows = rows.weighted(self._row_weights(rows, sample_weight)).computed_in("float64")
        network = self._network.without_dropout()
        return FullBatch(network, rows, self.threads), self._parameters().astype(np.float64)

    def _take(self, network: Network, theta: Theta, *others: Theta) -> None:
        """Make these the model's parameters, of one network or several: `coefs_` and `intercepts_` are views of the
        first one's.
        """
        self._network, self._theta, self._members = network, theta, [theta, *others]
        blocks = network.blocks(theta)
        self.coefs_: list[Array] = [block.weights for block in blocks]
        self.intercepts_: list[Array] = [block.biases for block in blocks]
        self._views = [*self.coefs_, *self.intercepts_]

    def _parameters(self) -> Theta:
        """All parameters, with the arrays that users may have put into coefs_ and intercepts_ in their places."""
        shown = [*self.coefs_, *self.intercepts_]
        if len(shown) == len(self._views) and all(mine is view for mine, view in zip(shown, self._views, strict=True)):
            return self._theta
        theta = self._theta.copy()
        blocks = self._network.blocks(theta)
        for name, given, places in (
            ("coefs_", self.coefs_, [block.weights for block in blocks]),
            ("intercepts_", self.intercepts_, [block.biases for block in blocks]),
        ):
            if [np.shape(mine) for mine in given] != (wanted := [place.shape for place in places]):
                raise DataError(
                    f"{name} must be arrays of the shapes {wanted}, got {[np.shape(mine) for mine in given]}"
                )
            for mine, place in zip(given, places, strict=True):
                place[:] = mine
        return theta

    def _output(self, X: object, offset: object = None, exposure: object = None, *, mean: bool = True) -> Array:
        check_fitted(self)
        columns = self._encode(X)
        network = self._network
        shift = self._shift(offset, exposure, columns.rows, network.head, network.outputs)
        first = self._parameters()
        if not isinstance(self._encoder, Preparer):
            [output] = predict(network, [first], columns, self.threads, offset=shift, mean=mean)
            if first.dtype == np.float32 and not np.isfinite(output).all():
                return self._widened(output, first, columns, shift, mean=mean)
            return output
        outputs = predict(network, [first, *self._members[1:]], columns, self.threads, offset=shift, mean=False)
        z = np.mean(np.asarray(outputs, np.float64), axis=0)
        return network.head.mean(z).clip(*self._range) if mean else z

    def _widened(self, output: Array, theta: Theta, columns: Columns, shift: Array | None, *, mean: bool) -> Array:
        """The output with rows whose numbers were beyond float32 computed in float64."""
        rows = np.flatnonzero(~np.isfinite(output).all(axis=1))
        objective = Objective(self._network.for_prediction(), np.float64, self.threads, rows=len(rows))
        offset = None if shift is None else shift[rows]
        output = output.astype(np.float64)
        output[rows] = objective.predict(theta.astype(np.float64), columns[rows], offset=offset, mean=mean)
        return output

    def _output_graph(self, inputs: "Inputs") -> tuple["Tensor", "Tensor"]:
        """z and the mean in an ONNX graph."""
        from linnet.persist.onnx_columns import features
        from linnet.persist.onnx_network import ensemble_output, mean, network_output, shifted, within

        graph, network, theta = inputs.graph, self._network, self._parameters()
        x = features(inputs, self._encoder, str(theta.dtype))
        shift = inputs.shift(self._shifts, network.outputs)
        if not isinstance(self._encoder, Preparer):
            z = shifted(graph, network_output(graph, x, network, theta), shift)
            return z, mean(graph, network.head, z)
        z = shifted(graph, ensemble_output(graph, x, network, [theta, *self._members[1:]]), shift)
        return z, within(graph, mean(graph, network.head, z), *self._range)

    @property
    def members_(self) -> list[list[Block]]:
        """The weights and biases of each layer of each network: one, or those of a preset's ensemble."""
        return [self._network.blocks(theta) for theta in (self._parameters(), *self._members[1:])]

    @staticmethod
    def _shift(offset: object, exposure: object, rows: int, head: Head, outputs: int) -> Array | None:
        if exposure is not None and head.output.name != "exponential":
            raise ConfigError("an exposure needs a loss with the log link: loss='poisson' or 'gamma'")
        return as_offset(offset, exposure, rows, outputs)

    def _learn(self, X: object) -> Columns:
        encoder, columns = Encoder.learn(X, gaps="fill") if self.preset is None else Preparer.learn(X)
        check_form(self, X, reset=True)
        self._encoder = encoder
        return columns

    def _encode(self, X: object, name: str = "X") -> Columns:
        check_form(self, X, reset=False, name=name)
        return self._encoder.encode(X, name)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in _NOT_KEPT}
        if hasattr(self, "_theta"):
            theta = self._parameters()
            state |= {"_theta": theta, "_members": [theta, *self._members[1:]]}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_theta"):
            self._take(self._network, self._theta, *self._members[1:])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_theta")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.preset is not None
        tags.non_deterministic = False
        return tags
