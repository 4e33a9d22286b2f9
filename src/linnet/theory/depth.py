"""Width versus depth: the same number of hidden units in one layer or in several.

**Constructed.** One hidden layer: `relu_interpolant`; n units make n straight pieces, and for a smooth f the error
falls as 1/n². Several layers: folding. The hat h(x) = 2 relu(x) - 4 relu(x - 1/2) maps each half of [0, 1] onto [0, 1];
applied m times it has 2^m pieces with only two units per layer. On [0, 1]

    x² = x - Σ_m h_m(x) / 4^m,    h_m = h applied m times,

so l layers of at most three units (two to fold, one to carry the sum) have an error of 4^-(l+1): each layer divides it
by 4, for which a single layer needs twice the units. Only the square is constructed in this way here; for other
functions deep networks are trained only.

**Trained.** By L-BFGS on 1,025 points, from several random starts, of which the best is kept. Training rarely finds
what could be constructed: that a deep network can represent a function does not mean that it learns it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_whole
from linnet.data.rows import Rows
from linnet.errors import ConfigError
from linnet.fit.full_batch import FullBatch, minimise
from linnet.fit.objective import NetworkObjective
from linnet.heads import Normal
from linnet.heads.activations import Activation
from linnet.model.initialise import initial_theta
from linnet.model.network import Layer, Network
from linnet.pictures import new_axes
from linnet.theory.approximation import relu_interpolant
from linnet.theory.sampling import start

Floats = NDArray[np.float64]
Function = Callable[[Any], Any]

_CELLS = 1024  # between training points; the error is computed on eight times as many
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # distinguishable by colour-blind readers


@dataclass(frozen=True, slots=True)
class DepthRow:
    """One network of a comparison.

    Parameters
    ----------
    made : str
        "built" for a construction, or "trained".
    depth, units, parameters : int
        The numbers of hidden layers, of hidden units in total, and of parameters.
    error : float
        The largest error found.
    """

    made: str
    depth: int
    units: int
    parameters: int
    error: float


@dataclass(frozen=True, slots=True)
class DepthTable:
    """The result of `shallow_vs_deep`; print it for a table.

    Parameters
    ----------
    rows : tuple of DepthRow
        One row per network.
    """

    rows: tuple[DepthRow, ...]

    def __str__(self) -> str:
        lines = [f"{'':<9}{'hidden layers':>14}{'units':>7}{'parameters':>12}{'largest error':>15}"]
        lines += [f"{r.made:<9}{r.depth:>14}{r.units:>7}{r.parameters:>12}{r.error:>15.3g}" for r in self.rows]
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Plot error against units, one line per depth; dashed lines are constructed networks.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            The axes to draw on; a new figure if None.

        Returns
        -------
        matplotlib axes
            The axes drawn on.
        """
        axes = new_axes(ax, (6.4, 4.6))
        built = [row for row in self.rows if row.made == "built"]
        self._line(axes, [row for row in built if row.depth == 1], "built, 1 layer", 0, "s--")
        self._line(axes, [row for row in built if row.depth > 1], "built, 2 layers and more", 1, "s--")
        trained = [row for row in self.rows if row.made == "trained"]
        for color, depth in enumerate(sorted({row.depth for row in trained})):
            label = f"trained, {depth} layer{'s' * (depth > 1)}"
            self._line(axes, [row for row in trained if row.depth == depth], label, color, "o-")
        axes.set(yscale="log", xlabel="units in hidden layers", ylabel="largest error")
        axes.set_xscale("log", base=2)
        units = sorted({row.units for row in trained})
        axes.set_xticks(units, [str(count) for count in units])
        axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        return axes

    @staticmethod
    def _line(axes: Any, rows: Sequence[DepthRow], label: str, color: int, form: str) -> None:
        if rows:
            x, y = [row.units for row in rows], [row.error for row in rows]
            axes.plot(x, y, form, label=label, color=_COLORS[color % len(_COLORS)])


def square_network(depth: int) -> tuple[Network, Floats]:
    """Build a network with `depth` hidden layers whose output is within 4^-(depth+1) of x² on [0, 1].

    Layer l holds relu(h), relu(h - 1/2) and the sum s so far; the next h is 2 relu(h) - 4 relu(h - 1/2), the next sum
    s - h / 4^l. The first layer has two units, all others three.

    Parameters
    ----------
    depth : int
        The number of hidden layers, at least 1.

    Returns
    -------
    network : Network
        The network.
    theta : array
        Its parameters.

    Examples
    --------
    >>> network, theta = square_network(4)
    >>> network.shapes
    [(1, 2), (2, 3), (3, 3), (3, 3), (3, 1)]
    """
    check_whole(depth, "depth", at_least=1)
    relu = Activation("relu")
    network = Network(1, (Layer(2, relu), *[Layer(3, relu)] * (depth - 1), Layer(1)), Normal())
    theta = np.zeros(network.size)
    for level, block in enumerate(network.blocks(theta)):
        if level == 0:  # relu(x) is also the first sum
            block.weights[:] = 1.0
            block.biases[:] = 0.0, -0.5
            continue
        fold = np.array([2.0, -4.0, 0.0])[: len(block.weights)]
        total = np.array([1.0, 0.0])[: len(block.weights)] if level == 1 else np.array([0.0, 0.0, 1.0])
        total = total - fold / 4.0**level
        if level < depth:
            block.weights[:] = np.stack([fold, fold, total], axis=1)
            block.biases[:] = 0.0, -0.5, 0.0
        else:
            block.weights[:, 0] = total
    return network, theta


def shallow_vs_deep(
    f: Function | None = None,
    a: float = 0.0,
    b: float = 1.0,
    *,
    units: Sequence[int] = (4, 8, 16, 32),
    depths: Sequence[int] = (1, 2, 3, 4),
    starts: int = 3,
    max_iter: int = 400,
    seed: int = 0,
) -> DepthTable:
    """Compare networks with the same number of hidden units in one layer and in several, constructed and trained.

    Units are distributed evenly over the layers.

    Parameters
    ----------
    f : function, default=None
        The function to approximate; takes a number, or an array of numbers elementwise. None for x² on [0, 1], for
        which deep networks are constructed as well.
    a, b : float, default=0.0, 1.0
        The interval.
    units : sequence of int, default=(4, 8, 16, 32)
        The numbers of hidden units.
    depths : sequence of int, default=(1, 2, 3, 4)
        The numbers of hidden layers.
    starts : int, default=3
        The number of random starts per trained network, of which the best is kept.
    max_iter : int, default=400
        The largest number of L-BFGS iterations.
    seed : int, default=0
        The seed of the random starts.

    Returns
    -------
    DepthTable
        The size and the largest error of each network.
    """
    for name, counts in (("units", units), ("depths", depths)):
        if not np.ndim(counts) or len(counts) == 0:
            raise ConfigError(f"{name} must be a list of numbers, such as ({counts or 4!r},)")
        for count in counts:
            check_whole(count, name, at_least=1)
    check_whole(starts, "starts", at_least=1)
    check_whole(max_iter, "max_iter", at_least=1)
    check_whole(seed, "seed")
    if f is None and (a, b) != (0.0, 1.0):
        raise ConfigError(
            f"without f the function is the square on [0, 1]: pass f for the interval from {a:g} to {b:g}"
        )
    function = start(np.square if f is None else f, a, b).f
    rows = list[DepthRow]()
    for count in units:
        net = relu_interpolant(function, a, b, units=count)
        rows.append(DepthRow("built", 1, net.units, net.network.size, net.error))
    if f is None:
        x = np.linspace(0, 1, 8 * _CELLS + 1)
        for depth in depths:
            if depth > 1:
                network, theta = square_network(depth)
                rows.append(_row("built", network, _error(network, theta, x, np.square(x))))
    shapes = [(depth, count) for depth in depths for count in units if count >= depth]
    rows.extend(_trained(function, a, b, depth, count, starts, max_iter, seed) for depth, count in shapes)
    return DepthTable(tuple(rows))


def _row(made: str, network: Network, error: float) -> DepthRow:
    hidden = [layer.units for layer in network.layers[:-1]]
    return DepthRow(made, len(hidden), sum(hidden), network.size, error)


def _error(network: Network, theta: Floats, x: Floats, y: Floats) -> float:
    outputs = NetworkObjective(network, np.float64, rows=len(x)).predict(theta, np.ascontiguousarray(x[:, None]))[:, 0]
    return float(np.abs(outputs - y).max())


def _trained(
    f: Function, a: float, b: float, depth: int, units: int, starts: int, max_iter: int, seed: int
) -> DepthRow:
    """Return the best trained network of several starts, with inputs and targets scaled to the size of 1."""
    widths = [units // depth + (index < units % depth) for index in range(depth)]
    network = Network(1, (*(Layer(width, Activation("relu")) for width in widths), Layer(1)), Normal())
    x, x_fine = np.linspace(-1, 1, _CELLS + 1), np.linspace(-1, 1, 8 * _CELLS + 1)
    y, truth = (f(a + (b - a) * (1 + at) / 2) for at in (x, x_fine))
    middle, size = float(y.mean()), float(y.std()) or 1.0
    problem = FullBatch.in_memory(network, Rows(x[:, None], values=((y - middle) / size)[:, None]))
    best = np.inf
    for offset in range(starts):
        theta = initial_theta(network, seed + offset, np.float64, ["he_uniform"] * depth + ["uniform"])
        first = network.blocks(theta)[0]  # its units start at points spread evenly over the interval
        first.biases[:] = -np.abs(first.weights[0]) * np.linspace(-1, 1, widths[0] + 1)[:-1]
        result = minimise(problem, theta, gradient_tolerance=1e-9, max_iter=max_iter, max_evaluations=4 * max_iter)
        best = min(best, size * _error(network, result.theta, x_fine, (truth - middle) / size))
    return _row("trained", network, best)
