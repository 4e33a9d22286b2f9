"""Settings worth looking at, each with a text about what to see."""

from dataclasses import dataclass, field
from typing import Any

from linnet.playground.state import State


@dataclass(frozen=True)
class Preset:
    """A title, a sentence or two, and a state by what differs from the default one."""

    title: str
    text: str
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """The whole state."""
        return State.of(self.given)


def _layers(*units: int, activation: str = "tanh", dropout: float = 0.0) -> list[dict[str, Any]]:
    return [{"units": count, "activation": activation, "dropout": dropout} for count in units]


PRESETS = (
    Preset(
        "A line is enough",
        "Logistic regression is a network without hidden layers. Its boundary is a line, which is all it takes here.",
        {"data": "gaussians", "layers": [], "rate": 0.03},
    ),
    Preset(
        "Xor defeats a line",
        "No line separates these classes: without a hidden layer the accuracy stays near one half. Add one and see.",
        {"data": "xor", "layers": [], "rate": 0.03},
    ),
    Preset(
        "Xor with one hidden layer",
        "Four hidden units bend the plane until a line is enough. Point at each of them to see what it has learned.",
        {"data": "xor", "layers": _layers(4), "rate": 0.03},
    ),
    Preset(
        "Features instead of layers",
        "With the squares of x1 and x2 as inputs the circle is a line again: a good feature can replace a network.",
        {"data": "circle", "features": ["x1^2", "x2^2"], "layers": [], "rate": 0.03},
    ),
    Preset(
        "Spirals",
        "Two layers of eight units follow two turns of a spiral. Watch the boundary grow from the outside in.",
        {"data": "spirals", "layers": _layers(8, 8, activation="relu"), "noise": 0.05},
    ),
    Preset(
        "All zeros never learn",
        "Units with equal initial weights get equal gradients and stay equal for ever. Change the initialiser.",
        {"data": "circle", "layers": _layers(4), "initialiser": "zeros", "rate": 0.03},
    ),
    Preset(
        "Softmax on four classes",
        "One probability per class, with a sum of 1; colours blend where the network is uncertain.",
        {"data": "pinwheels", "classes": 4, "layers": _layers(8, 8), "rate": 0.02, "speed": "ten"},
    ),
    Preset(
        "The perceptron's rule",
        "Only mistakes move the line. Where the classes overlap it never settles: raise the noise.",
        {"data": "gaussians", "layers": [], "head": "perceptron", "optimizer": "sgd", "rate": 0.1, "batch": 1},
    ),
    Preset(
        "Overfitting",
        "A large network and few noisy rows: the training loss falls, the test loss turns up. Try L2 or dropout.",
        {"data": "moons", "noise": 0.6, "ratio": 0.1, "layers": _layers(16, 16, activation="relu"), "speed": "ten"},
    ),
    Preset(
        "One row at a time",
        "Batches of one make a noisy path that still leads down. Pin this run, set the batch to 250, and compare.",
        {"data": "circle", "batch": 1, "optimizer": "sgd", "rate": 0.01},
    ),
    Preset(
        "Too deep for a sigmoid",
        "In six layers of sigmoids the gradient almost vanishes on its way: see the backprop view, then try tanh.",
        {"data": "circle", "layers": _layers(*[4] * 6, activation="sigmoid"), "optimizer": "sgd", "rate": 0.1},
    ),
    Preset(
        "Counts",
        "Poisson regression with a hidden layer: the network learns a rate, which is never negative.",
        {"data": "counts", "layers": _layers(8), "rate": 0.02},
    ),
    Preset(
        "Counts in bursts",
        "These counts vary more than Poisson counts. The negative binomial head estimates by how much: watch the "
        "dispersion go to about 0.5, then try the Poisson head.",
        {"data": "bursts", "head": "negative_binomial", "layers": _layers(8), "rate": 0.02},
    ),
    Preset(
        "Hills and hollows",
        "Regression: six bumps, up and down. Squared error with a linear output.",
        {"data": "multi_gauss", "layers": _layers(8, 8), "rate": 0.02, "noise": 0.0, "speed": "ten"},
    ),
    Preset(
        "Handwritten digits",
        "Ten classes in 64 dimensions, shown in the plane in which they vary most: the rest is hidden behind it.",
        {"data": "digits", "layers": _layers(16, activation="relu"), "batch": 32},
    ),
)
