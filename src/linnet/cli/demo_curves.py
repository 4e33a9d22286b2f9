"""The picture of `linnet demo`: the learning curves of its models."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.errors import needs_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
_INK, _SOFT, _FAINT = "#222222", "#6b6b6b", "#e4e4e4"
_TRAIN, _TEST = "#56b4e9", "#d55e00"  # told apart by colour-blind readers too
_STYLE: Any = {
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.h_pad": 0.08,
}


@dataclass(frozen=True, slots=True)
class Result:
    """A trained model: its size, what training took, and how good it is."""

    name: str
    loss: str
    parameters: int
    seconds: float
    history: dict[str, list[float]]  # a value per epoch, by name

    @property
    def accuracy(self) -> float:
        """Share of the test images classified correctly."""
        return self.history["val_accuracy"][-1]

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the ten digits on the test images."""
        return self.history["val_macro_f1"][-1]


def check_can_draw() -> None:
    """Raise a MissingExtraError if the learning curves could not be drawn."""
    with needs_extra("plot", "drawing the learning curves"):
        import matplotlib  # noqa: F401


def learning_curves(results: Sequence[Result], title: str) -> "Figure":
    """Loss above, accuracy below, a column per model; a row shares its axis, so that columns compare."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(11, 6.6), layout="constrained")
        figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
        axes = figure.subplots(2, len(results), sharex=True, sharey="row")
        for column, result in enumerate(results):
            _draw_model(axes[0, column], axes[1, column], result)
        loss, accuracy = axes[0, 0], axes[1, 0]
        loss.set_ylabel("Loss")
        loss.set_yscale("log")
        loss.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        loss.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        loss.yaxis.set_minor_locator(NullLocator())
        accuracy.set_ylabel("Accuracy")
        # the first epochs of training would squeeze all that follows into the top
        worst = min(min(result.history["val_accuracy"]) for result in results)
        accuracy.set_ylim(worst - 0.1 * (1 - worst), 1 + 0.03 * (1 - worst))
        accuracy.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
        accuracy.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        accuracy.set_xlim(0, 1.02 * len(results[0].history["loss"]))
        accuracy.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
        figure.align_ylabels()
        handles, labels = loss.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=2, frameon=False)
    return figure


def _draw_model(loss: "Axes", accuracy: "Axes", result: Result) -> None:
    epochs = range(1, len(result.history["loss"]) + 1)
    sides = (
        ("", "training images, during the epoch", _TRAIN, 1.6),
        ("val_", "test images, after the epoch", _TEST, 2.0),
    )
    for axes, name in ((loss, "loss"), (accuracy, "accuracy")):
        for side, label, color, width in sides:
            values = result.history[side + name]
            axes.plot(epochs, values, color=color, linewidth=width, label=label)
            axes.plot(epochs[-1], values[-1], "o", color=color, markersize=5)
        axes.tick_params(which="both", length=0)
    title = f"{result.parameters:,} parameters, {result.seconds:.2f} s"
    loss.set_title(result.name, fontsize=12, fontweight="bold", loc="left", pad=20)
    loss.text(0, 1.03, title, color=_SOFT, transform=loss.transAxes)
    loss.text(0.98, 0.95, result.loss, color=_SOFT, ha="right", va="top", transform=loss.transAxes)
    best = f"test accuracy {result.accuracy:.1%}"
    accuracy.text(0.98, 0.05, best, color=_TEST, ha="right", fontweight="bold", transform=accuracy.transAxes).set_bbox(
        {"facecolor": "white", "edgecolor": "none", "pad": 2}
    )
    accuracy.set_xlabel("Epoch")


def picture_format(out: Path) -> str:
    """The format that a file's name stands for."""
    return out.suffix[1:].lower() or "png"


def as_bytes(figure: "Figure", kind: str) -> bytes:
    """Return the picture as the bytes of a file of this format."""
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=150)
    return file.getvalue()
