"""Charts of predictions, with the interface of scikit-learn's displays: from_estimator, from_predictions, plot."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linnet.checks import check_name, is_name
from linnet.errors import ConfigError
from linnet.evaluate.class_curves import ClassCutoffs, is_table
from linnet.evaluate.confusion import Confusion
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.inputs import Floats, index_of, plain
from linnet.evaluate.probabilities import Calibration, calibration
from linnet.pictures import new_axes

_MAX_POINTS = 2000  # of a drawn curve: more cannot be seen, and take long to draw
_MAX_NAMED_CURVES = 10  # curves that the legend names
_RESPONSES = ("predict_proba", "decision_function")


def response(estimator: Any, X: Any, method: str = "auto", pos_label: object = None) -> tuple[NDArray[Any], Any]:
    """Return an estimator's scores; for two classes, those of the positive class, with its label (otherwise None)."""
    check_name(method, "response_method", ("auto", *_RESPONSES))
    names = [name for name in (_RESPONSES if method == "auto" else (method,)) if hasattr(estimator, name)]
    if not names:
        methods = " or ".join(_RESPONSES if method == "auto" else (method,))
        raise ConfigError(f"{type(estimator).__name__} has no {methods}: use from_predictions")
    scores, classes = np.asarray(getattr(estimator, names[0])(X)), np.asarray(estimator.classes_)
    if len(classes) > 2:
        return scores, None
    index = 1 if pos_label is None else index_of(pos_label, classes, "pos_label")
    if scores.ndim == 2:
        return scores[:, index], plain(classes[index])
    return scores if index else -scores, plain(classes[index])


@dataclass(frozen=True)
class Curve:
    """A curve to draw: its name and its points."""

    name: str
    cutoffs: Cutoffs


def thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return a curve without points that would be drawn over others."""
    if len(x) <= _MAX_POINTS:
        return x, y
    length = np.cumsum(np.append(0.0, np.abs(np.diff(x)) + np.abs(np.diff(y))))
    keep = np.unique(np.searchsorted(length, np.linspace(0, length[-1], _MAX_POINTS)).clip(max=len(x) - 1))
    return x[keep], y[keep]


class CurveDisplay(ABC):
    """One curve of scores, or one per class.

    Parameters
    ----------
    curves : sequence of Curve
        The name and the cut-offs of each curve.
    """

    lines_: list[Any]

    def __init__(self, curves: Sequence[Curve]) -> None:
        self.curves = list(curves)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        pos_label: object = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw from scores of any library.

        Parameters
        ----------
        y_true : array of one class per row, or rows x labels of 0 and 1
            Actual classes.
        y_score : array of one score per row, or rows x classes
            Scores of the positive class, or of each class: one curve per class against the rest.
        pos_label : label or None, default=None
            The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        name : str or None, default=None
            The name in the legend; by default "model".
        ax : matplotlib axes or None, default=None
            Where to draw; by default a new figure.
        **options
            As for `plot`.
        """
        if is_table(y_true, y_score):
            several = ClassCutoffs(y_true, y_score, sample_weight=sample_weight)
            labels = several.classes.tolist()
            curves = [Curve(str(plain(label)), cutoffs) for label, cutoffs in zip(labels, several, strict=True)]
        else:
            cutoffs = Cutoffs.of(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
            curves = [Curve("model" if name is None or is_name(name, "") else str(name), cutoffs)]
        return cls(curves).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        response_method: str = "auto",
        pos_label: object = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw from a fitted classifier and rows with known classes.

        Parameters
        ----------
        estimator : classifier
            Fitted, with predict_proba or decision_function.
        X : array or frame
            The rows.
        y : array of one class per row
            Their actual classes.
        response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
            The scores to use; "auto": the probabilities if there are any.
        pos_label : label or None, default=None
            The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        name : str or None, default=None
            The name in the legend; by default that of the estimator's class.
        ax : matplotlib axes or None, default=None
            Where to draw; by default a new figure.
        **options
            As for `plot`.
        """
        scores, pos_label = response(estimator, X, response_method, pos_label)
        return cls.from_predictions(
            y,
            scores,
            pos_label=pos_label,
            sample_weight=sample_weight,
            name=name or type(estimator).__name__,
            ax=ax,
            **options,
        )

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the curves.

        The axes are then `ax_`, their figure `figure_`, the lines `lines_`.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; by default a new figure.
        **options
            Passed to matplotlib's `plot`.
        """
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        self._background(self.ax_, options)
        self.lines_ = []
        is_crowded = len(self.curves) > _MAX_NAMED_CURVES
        style = {"linewidth": 1.0, "alpha": 0.5} if is_crowded else {"linewidth": 1.8}
        for curve in self.curves:
            x, y, text = self._points(curve.cutoffs)
            label = None if is_crowded else f"{curve.name} ({text})"
            self.lines_ += self.ax_.plot(*thinned(x, y), label=label, **{**style, **options})
        if is_crowded:
            self.lines_[0].set_label(f"{len(self.curves)} classes, each against the rest")
        self.ax_.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        for side in ("top", "right"):
            self.ax_.spines[side].set_visible(False)
        self._legend()
        return self

    def _legend(self) -> None:
        self.ax_.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)

    @abstractmethod
    def _background(self, ax: Any, options: dict[str, Any]) -> None:
        """Draw what lies behind the curves, and label the axes."""

    @abstractmethod
    def _points(self, cutoffs: Cutoffs) -> tuple[Floats, Floats, str]:
        """Return x, y and the text in the legend of a curve."""


class RocCurveDisplay(CurveDisplay):
    """ROC curve: true against false positive rate, with the area under the curve.

    Parameters
    ----------
    curves : sequence of Curve
        The name and the cut-offs of each curve.
    """

    def _background(self, ax: Any, options: dict[str, Any]) -> None:
        ax.plot([0, 1], [0, 1], color="0.6", linestyle=(0, (4, 3)), linewidth=1, label="chance (0.500)")
        ax.set(xlabel="false positive rate (Type I errors)", ylabel="true positive rate (recall)")

    def _points(self, cutoffs: Cutoffs) -> tuple[Floats, Floats, str]:
        fpr, tpr, _ = cutoffs.roc_curve()
        return fpr, tpr, f"AUC {cutoffs.roc_auc:.3f}"


class PrecisionRecallDisplay(CurveDisplay):
    """Precision against recall, with lines of equal F-beta and the point of the highest F-beta.

    Parameters
    ----------
    curves : sequence of Curve
        The name and the cut-offs of each curve.
    """

    def _background(self, ax: Any, options: dict[str, Any]) -> None:
        levels, beta = options.pop("iso_f", (0.2, 0.4, 0.6, 0.8)), options.pop("beta", 1.0)
        self._beta = float(beta)
        b2 = self._beta**2
        for f in levels:
            recall = np.linspace(f * b2 / (1 + b2 - f) if f < 1 else 1, 1, 200)
            with np.errstate(divide="ignore"):
                precision = f * recall / ((1 + b2) * recall - b2 * f)
            seen = (precision >= 0) & (precision <= 1.0)
            ax.plot(recall[seen], precision[seen], color="0.85", linewidth=1, zorder=0)
            height = f / (1 + b2 - b2 * f)
            ax.annotate(
                f"F{self._beta:g}={f:g}", (1.0, height), xytext=(3, 0), textcoords="offset points", color="0.55",
                fontsize=8, va="center", annotation_clip=False,
            )  # fmt: skip
        if len(self.curves) == 1:
            cutoffs = self.curves[0].cutoffs
            share = cutoffs.positives / (cutoffs.positives + cutoffs.negatives)
            ax.axhline(share, color="0.6", linestyle=(0, (4, 3)), linewidth=1, label=f"chance ({share:.3f})")
        ax.set(xlabel="recall", ylabel="precision")

    def _points(self, cutoffs: Cutoffs) -> tuple[Floats, Floats, str]:
        precision, recall, _ = cutoffs.precision_recall_curve()
        return recall[::-1], precision[::-1], f"AP {cutoffs.average_precision:.3f}"

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the curves, and the highest F-beta of each as a point.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; by default a new figure.
        **options
            `iso_f`: the values of the lines of equal F-beta, () for none; `beta` of F-beta; all others are passed to
            matplotlib's `plot`.
        """
        super().plot(ax, **{"drawstyle": "steps-pre", **options})
        for curve, line in zip(self.curves, self.lines_, strict=True):
            if len(self.curves) > _MAX_NAMED_CURVES:
                break
            threshold, best = curve.cutoffs.best_f(self._beta)
            rates = curve.cutoffs.at(threshold)
            label = f"F{self._beta:g} {best:.3f} at {threshold:.3g}" if len(self.curves) == 1 else None
            self.ax_.plot(
                [rates.recall], [rates.precision], "o", color=line.get_color(), markersize=7, markeredgecolor="white",
                label=label, zorder=5,
            )  # fmt: skip
        self._legend()
        return self

    def _legend(self) -> None:
        """Draw the legend above the axes: precision-recall curves leave no corner free."""
        self.ax_.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=9, borderaxespad=0.2)


class GainDisplay(CurveDisplay):
    """Cumulative gain: the share of all positives found among the rows with the highest scores.

    Parameters
    ----------
    curves : sequence of Curve
        The name and the cut-offs of each curve.
    """

    def _background(self, ax: Any, options: dict[str, Any]) -> None:
        ax.plot([0, 1], [0, 1], color="0.6", linestyle=(0, (4, 3)), linewidth=1, label="chance")
        if len(self.curves) == 1:
            cutoffs = self.curves[0].cutoffs
            share = cutoffs.positives / (cutoffs.positives + cutoffs.negatives)
            ax.plot([0, share, 1], [0, 1, 1], color="0.8", linewidth=1, label="perfect")
        ax.set(xlabel="share of rows, highest scores first", ylabel="share of positives found")

    def _points(self, cutoffs: Cutoffs) -> tuple[Floats, Floats, str]:
        rows, gains = cutoffs.gain_curve()
        return rows, gains, f"{100 * np.interp(0.1, rows, gains):.0f} % in the first 10 %"


class ConfusionMatrixDisplay:
    """A confusion matrix as coloured counts, with the share of each actual class in small print.

    Parameters
    ----------
    confusion : Confusion
        The counts.
    """

    def __init__(self, confusion: Confusion) -> None:
        self.confusion = confusion

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        normalize: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw from predicted classes of any library.

        Parameters
        ----------
        y_true, y_pred : array of one class per row
            Actual and predicted classes.
        labels : array or None, default=None
            Show these classes alone, in this order; by default all, sorted.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        normalize : {"true", "pred", "all", None}, default=None
            Show shares of each actual class, of each predicted class or of all rows in place of counts.
        ax : matplotlib axes or None, default=None
            Where to draw; by default a new figure.
        **options
            As for `plot`.
        """
        confusion = Confusion.of(y_true, y_pred, labels=labels, sample_weight=sample_weight)
        if labels is not None:
            confusion = Confusion(np.asarray(labels), confusion.take(labels))
        return cls(confusion).plot(ax, normalize=normalize, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, **options: Any) -> Self:
        """Draw from a fitted classifier and rows with known classes.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X : array or frame
            The rows.
        y : array of one class per row
            Their actual classes.
        **options
            As for `from_predictions`.
        """
        return cls.from_predictions(y, estimator.predict(X), **options)

    def plot(
        self, ax: Any = None, *, normalize: str | None = None, cmap: str = "Blues", colorbar: bool = False
    ) -> Self:
        """Draw counts or shares; the colours show the share of each actual class.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; by default a new figure.
        normalize : {"true", "pred", "all", None}, default=None
            Show shares of each actual class, of each predicted class or of all rows in place of counts.
        cmap : str, default="Blues"
            Matplotlib's colour map.
        colorbar : bool, default=False
            Draw a colour bar.
        """
        names = [str(plain(label)) for label in self.confusion.classes]
        count = len(names)
        side = min(12.0, max(4.2, 0.62 * count + 1.8))
        self.ax_ = new_axes(ax, (side, side))
        self.figure_ = self.ax_.figure
        values = self.confusion.normalized(normalize)
        colours = self.confusion.normalized(normalize or "true")
        image = self.ax_.imshow(colours, cmap=cmap, vmin=0, vmax=1 if normalize != "all" else colours.max() or 1)
        if colorbar:
            self.figure_.colorbar(image, ax=self.ax_, shrink=0.8)
        middle = image.norm.vmax / 2
        size = 11 if count <= 10 else 8 if count <= 20 else 6
        for i, j in np.ndindex(count, count) if count <= 30 else ():
            ink = "white" if colours[i, j] > middle else "0.15"
            text = _short(float(values[i, j])) if normalize is None else f"{values[i, j]:.2f}"
            self.ax_.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)
            if normalize is None and count <= 6:
                self.ax_.annotate(
                    f"{colours[i, j]:.1%}", (j, i), xytext=(0, -15), textcoords="offset points", ha="center",
                    va="center", color=ink, fontsize=8,
                )  # fmt: skip
        ticks = range(count) if count <= 40 else range(0, count, count // 20)
        shown = [names[k] for k in ticks]
        slanted = max(map(len, names)) > 4 and count > 3
        style: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
        self.ax_.set_xticks(list(ticks), shown, **style)
        self.ax_.set_yticks(list(ticks), shown)
        self.ax_.set(xlabel="predicted class", ylabel="actual class")
        self.ax_.tick_params(length=0)
        for spine in self.ax_.spines.values():
            spine.set_visible(False)
        return self


def _short(count: float) -> str:
    if count >= 1e6:
        return f"{count / 1e6:.3g}M"
    return f"{count:.0f}" if count == round(count) else f"{count:.3g}"


class CalibrationDisplay:
    """Reliability diagram: observed against predicted share of positives, and how often each probability was predicted.

    Parameters
    ----------
    diagram : Calibration
        The bins.
    name : str, default="model"
        The name in the legend.
    """

    def __init__(self, diagram: Calibration, name: str = "model") -> None:
        self.diagram = diagram
        self.name = name

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_proba: ArrayLike, *, name: str | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw from probabilities of the positive class.

        Parameters
        ----------
        y_true : array of one class per row
            Actual classes.
        y_proba : array of one probability per row, or rows x 2
            Probabilities of the positive class, or the two columns of `predict_proba`.
        name : str or None, default=None
            The name in the legend; by default "model".
        ax : matplotlib axes or None, default=None
            Where to draw; by default a new figure.
        **options
            As for `calibration`.
        """
        return cls(calibration(y_true, y_proba, **options), name or "model").plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, name: str | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw from a fitted classifier of two classes with predict_proba.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X : array or frame
            The rows.
        y : array of one class per row
            Their actual classes.
        name : str or None, default=None
            The name in the legend; by default that of the estimator's class.
        ax : matplotlib axes or None, default=None
            Where to draw; by default a new figure.
        **options
            As for `calibration`.
        """
        probabilities, options["pos_label"] = response(estimator, X, "predict_proba", options.get("pos_label"))
        return cls.from_predictions(y, probabilities, name=name or type(estimator).__name__, ax=ax, **options)

    def plot(self, ax: Any = None) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; by default a new figure.
        """
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        d, full = self.diagram, self.diagram.weight > 0
        share = d.weight / d.weight.sum()
        self.ax_.bar(
            d.edges[:-1], 0.2 * share / share.max(), np.diff(d.edges), align="edge", color="0.88", edgecolor="white",
            zorder=0, label="share of rows (not to scale)",
        )  # fmt: skip
        self.ax_.plot([0, 1], [0, 1], color="0.6", linestyle=(0, (4, 3)), linewidth=1, label="perfect")
        self.ax_.vlines(d.predicted[full], d.predicted[full], d.observed[full], color="C3", linewidth=1.2, alpha=0.7)
        label = f"{self.name} (ECE {d.ece:.3f})"
        self.ax_.plot(d.predicted[full], d.observed[full], "o-", markersize=5, linewidth=1.8, label=label)
        self.ax_.set(
            xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal", xlabel="predicted probability",
            ylabel="share of positives",
        )  # fmt: skip
        for side in ("top", "right"):
            self.ax_.spines[side].set_visible(False)
        self.ax_.legend(loc="upper left", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
        return self
