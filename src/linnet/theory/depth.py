"""Width against depth: the same number of units in one hidden layer or in several.

**Built.** One hidden layer: `relu_interpolant`; n units make n straight pieces, and for a smooth f the error falls as
1/n². Several: folding. The hat h(x) = 2 relu(x) - 4 relu(x - 1/2) maps [0, 1] to itself twice; applied m times it has
2^m pieces, though each layer has two units. On [0, 1]

    x² = x - Σ_m h_m(x) / 4^m,    h_m = h applied m times,

so that with l layers of at most three units (two to fold, one to carry the sum) the error is 4^-(l+1): it falls by 4
with every layer, where a single layer must have twice the units for that. Only the square is built in this way here;
for another f networks of several layers are trained only.

**Trained.** From several random starts by L-BFGS on 1,025 points; the best is kept. What could be built is seldom
found: that a deep network can say more does not mean that training finds it.
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

_POINTS = 1024  # and one, to learn from; the error is looked for on eight times as many
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # safe for all eyes


@dataclass(frozen=True, slots=True)
class DepthRow:
    """One network: how it came about, its hidden layers and units, and the largest error found."""

    made: str  # "built" or "trained"
    depth: int
    units: int
    parameters: int
    error: float


@dataclass(frozen=True, slots=True)
class DepthTable:
    """What shallow_vs_deep found; prints as a table."""

    rows: tuple[DepthRow, ...]

    def __str__(self) -> str:
        lines = [f"{'':<9}{'hidden layers':>14}{'units':>7}{'parameters':>12}{'largest error':>15}"]
        lines += [f"{r.made:<9}{r.depth:>14}{r.units:>7}{r.parameters:>12}{r.error:>15.3g}" for r in self.rows]
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw error against units, a line a depth; dashed: built. Returns the axes."""
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
    """Return a network of `depth` hidden layers, three units each but the first, within 4^-(depth+1) of x² on [0, 1].

    Layer l holds relu(h), relu(h - 1/2) and the sum so far s; the next h is 2 relu(h) - 4 relu(h - 1/2), the next sum
    s - h / 4^l.

    >>> network, theta = square_network(4)
    >>> network.shapes
    [(1, 2), (2, 3), (3, 3), (3, 3), (3, 1)]
    """
    check_whole(depth, "depth", at_least=1)
    relu = Activation("relu")
    network = Network(1, (Layer(2, relu), *[Layer(3, relu)] * (depth - 1), Layer(1)), Normal())
    theta = np.zeros(network.size)
    for level, block in enumerate(network.blocks(theta)):
        if level == 0:  # relu(x) is the sum so far, too
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
    """Compare networks of the same number of hidden units in one layer and in several, built and trained.

    Without f it is x² on [0, 1], of which deep networks are built as well. Units are shared out evenly over the layers.
    """
    for name, numbers in (("units", units), ("depths", depths)):
        if not np.ndim(numbers) or len(numbers) == 0:
            raise ConfigError(f"{name} must be a list of numbers, such as ({numbers or 4!r},)")
        for number in numbers:
            check_whole(number, name, at_least=1)
    check_whole(starts, "starts", at_least=1)
    check_whole(max_iter, "max_iter", at_least=1)
    check_whole(seed, "seed")
    if f is None and (a, b) != (0.0, 1.0):
        raise ConfigError(f"without f it is the square on [0, 1]: give f for the interval from {a:g} to {b:g}")
    function = start(np.square if f is None else f, a, b).f
    rows = list[DepthRow]()
    for count in units:
        net = relu_interpolant(function, a, b, units=count)
        rows.append(DepthRow("built", 1, net.units, net.network.size, net.error))
    if f is None:
        x = np.linspace(0, 1, 8 * _POINTS + 1)
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
    found = NetworkObjective(network, np.float64, rows=len(x)).predict(theta, np.ascontiguousarray(x[:, None]))[:, 0]
    return float(np.abs(found - y).max())


def _trained(
    f: Function, a: float, b: float, depth: int, units: int, starts: int, max_iter: int, seed: int
) -> DepthRow:
    """The best of several starts, learned with inputs and targets brought to the size of 1."""
    widths = [units // depth + (index < units % depth) for index in range(depth)]
    network = Network(1, (*(Layer(width, Activation("relu")) for width in widths), Layer(1)), Normal())
    x, fine = np.linspace(-1, 1, _POINTS + 1), np.linspace(-1, 1, 8 * _POINTS + 1)
    y, truth = (f(a + (b - a) * (1 + at) / 2) for at in (x, fine))
    middle, size = float(y.mean()), float(y.std()) or 1.0
    problem = FullBatch.in_memory(network, Rows(x[:, None], values=((y - middle) / size)[:, None]))
    best = np.inf
    for more in range(starts):
        theta = initial_theta(network, seed + more, np.float64, ["he_uniform"] * depth + ["uniform"])
        first = network.blocks(theta)[0]  # its units begin to speak at places all over the interval
        first.biases[:] = -np.abs(first.weights[0]) * np.linspace(-1, 1, widths[0] + 1)[:-1]
        found = minimise(problem, theta, gradient_tolerance=1e-9, max_iter=max_iter, max_evaluations=4 * max_iter)
        best = min(best, size * _error(network, found.theta, fine, (truth - middle) / size))
    return _row("trained", network, best)
