"""Sections of the page for what a model has learned: coefficients, columns that matter, learning curves."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from linnet.estimators.linear.coefficients import HasCoefficients
from linnet.estimators.mlp.base import NetworkEstimator
from linnet.report import charts
from linnet.report.coefficients import Coefficient, Coefficients, coefficients, weight_images
from linnet.report.facts import Facts
from linnet.report.importance import dependences, importances
from linnet.report.markup import Safe, cut, name, number, several, table, tag
from linnet.report.names import as_metric
from linnet.report.section import Section, Shown, Subject
from linnet.report.svg import widened
from linnet.tables.model import TableModel

_TABLE_ROWS = 30
_NOT_DRAWN = ("seconds", "learning_rate")  # of the history


class CoefficientTable(Section):
    """The coefficients of a linear model, with intervals."""

    empty: ClassVar[Mapping[str, Any]] = {"coefficients": None}

    def applies(self, model: TableModel) -> bool:
        """Return whether the model has coefficients."""
        return isinstance(model.estimator, HasCoefficients)

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        """Return the coefficients with their intervals."""
        return {"coefficients": coefficients(subject.evaluation, subject.training)}

    def show(self, facts: Facts) -> list[Shown]:
        """Show a table of coefficients."""
        return [] if facts.coefficients is None else [_coefficients(facts.coefficients)]


class WeightImages(Section):
    """The weights of a linear model of images, as images."""

    empty: ClassVar[Mapping[str, Any]] = {"images": ()}

    def applies(self, model: TableModel) -> bool:
        """Return whether the model has coefficients."""
        return isinstance(model.estimator, HasCoefficients)

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        """Return an image per class or number, if the columns are pixels."""
        return {"images": weight_images(subject.model)}

    def show(self, facts: Facts) -> list[Shown]:
        """Show the images side by side."""
        if not facts.images:
            return []
        text = "The weight of each pixel: blue raises the score of the class, orange lowers it."
        images = tag("div", *(charts.image(one) for one in facts.images), class_="images")
        return [Shown.of("images", "Weights as images", tag("p", text, class_="quiet"), images)]


class ColumnImportance(Section):
    """Which columns matter to a network, and how its prediction depends on them."""

    empty: ClassVar[Mapping[str, Any]] = {"importance": (), "importance_metric": "", "dependence": ()}

    def applies(self, model: TableModel) -> bool:
        """Return whether the model is a network."""
        return isinstance(model.estimator, NetworkEstimator)

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        """Return importances by shuffling, and partial dependence."""
        metric, found = importances(subject.evaluation, subject.seed, subject.progress)
        dependence = dependences(subject.evaluation, found, subject.seed)
        return {"importance": found, "importance_metric": metric, "dependence": dependence}

    def notices(self, facts: Mapping[str, Any], model: TableModel) -> Sequence[str]:
        """Return a sentence about the columns that were not shuffled."""
        shuffled, used = len(facts["importance"]), len(model.schema.used)
        if shuffled == used:
            return ()
        return (f"of {used:,} columns, only the {shuffled:,} that change the prediction most have an importance",)

    def show(self, facts: Facts) -> list[Shown]:
        """Show a table and charts."""
        return [_importance(facts)] if facts.importance else []


class LearningCurves(Section):
    """Loss and metrics by epoch."""

    empty: ClassVar[Mapping[str, Any]] = {"history": {}}

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        """Return loss and metrics by epoch."""
        known = subject.model.history.items()
        return {"history": {key: tuple(map(float, values)) for key, values in known if key not in _NOT_DRAWN}}

    def show(self, facts: Facts) -> list[Shown]:
        """Show a chart of each."""
        names = [key for key, values in facts.history.items() if not key.startswith("val_") and len(values) > 1]
        figures = [charts.learning(key, facts.history) for key in names[:4]]
        return [Shown.of("learning", "Learning curves", tag("div", *figures, class_="charts"))] if names else []


def _coefficients(found: Coefficients) -> Shown:
    """Return the table of coefficients: name, effect as a picture, numbers."""
    shown = found.rows[:_TABLE_ROWS]
    ratio = {"logit": "Odds ratio", "log": "Rate ratio"}.get(found.link)
    of_classes, inferred = any(one.of_class for one in shown), found.level is not None
    effects = [one.scale * v for one in shown if not one.is_intercept for v in (one.value, one.low, one.high) if v]
    x = widened(effects, zero=True)
    columns: list[tuple[object, str, list[object]]] = [("Column", "l", [_term(one) for one in shown])]
    if of_classes:
        columns.append(("Class", "l", [name(one.of_class, 30) for one in shown]))
    columns.append((charts.axis_of_cells(x, "Effect"), "l", [_effect(one, x) for one in shown]))
    columns.append(("Coefficient", "r", [number(one.value) for one in shown]))
    if inferred:
        columns.append(("95% interval", "r", [_limits(one) for one in shown]))
        columns.append(("p", "r", [_p(one.p_value) for one in shown]))
    if ratio and not of_classes:
        columns.append((ratio, "r", [_ratio(one) for one in shown]))
    head, align, cells = zip(*columns, strict=True)
    listed = table(head, list(zip(*cells, strict=True)), "".join(align))
    more = found.count - len(shown)
    rest = tag("p", f"And {several(more, 'more coefficient')}.", class_="note") if more > 0 else ""
    text = (
        "The effect is the change of the linear predictor for one standard deviation of a number, or for the presence "
        "of a level; the coefficient is the change for one unit."
    )
    notes = [tag("p", note, class_="note") for note in (*_fit(found), *found.notes)]
    return Shown.of("coefficients", "Coefficients", tag("p", text, class_="quiet"), listed, rest, *notes)


def _fit(found: Coefficients) -> list[str]:
    """Return a sentence on deviance and likelihood on the training rows."""
    if found.fit is None:
        return []
    fit = {name: number(value) for name, value in found.fit.items()}
    text = (
        f"On the training rows: deviance {fit['deviance']} on {fit['degrees_of_freedom']} degrees of freedom "
        f"(null model {fit['null_deviance']}), log-likelihood {fit['log_likelihood']}, AIC {fit['aic']}, BIC "
        f"{fit['bic']}"
    )
    return [text + (f", dispersion {fit['dispersion']}." if "dispersion" in fit else ".")]


def _term(one: Coefficient) -> Safe:
    return tag("em", "intercept") if one.is_intercept else name(one.name)


def _effect(one: Coefficient, x: tuple[float, float]) -> object:
    if one.is_intercept:
        return ""
    low, high = (None if limit is None else limit * one.scale for limit in (one.low, one.high))
    return charts.dot_with_interval(x, one.value * one.scale, low, high)


def _ratio(one: Coefficient) -> str:
    """Return exp(coefficient); an intercept has no ratio, as its exponential is the odds or rate itself."""
    return "–" if one.is_intercept else number(math.exp(min(one.value, 700)), 3)


def _limits(one: Coefficient) -> str:
    known = one.low is not None and one.high is not None and math.isfinite(one.low)
    return f"{number(one.low)} to {number(one.high)}" if known else "–"


def _p(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _importance(facts: Facts) -> Shown:
    shown = facts.importance[:_TABLE_ROWS]
    x = widened([v for one in shown for v in (one.low, one.high)], zero=True)
    rows = [
        (name(one.name), charts.dot_with_interval(x, one.rise, one.low, one.high), number(one.rise, 3)) for one in shown
    ]
    metric = as_metric(facts.importance_metric)
    moved = f"{'Fall' if metric.greater_is_better else 'Rise'} of {metric.in_text()}"
    listed = table(("Column", charts.axis_of_cells(x), moved), rows, "llr")
    more = len(facts.importance) - len(shown)
    rest = tag("p", f"And {several(more, 'less important column')}.", class_="note") if more > 0 else ""
    text = (
        "How much worse the predictions of the test rows become when the values of a column are shuffled: the mean "
        "and the range of five shuffles."
    )
    parts: list[object] = [tag("p", text, class_="quiet"), listed, rest]
    if facts.dependence:
        y_label = f"probability of {facts.classes[1]}" if len(facts.classes) == 2 else "mean prediction"
        figures = [charts.dependence(one, cut(y_label, 40)) for one in facts.dependence]
        what = "The mean prediction if all rows had this value, with all other columns unchanged."
        parts += [tag("h3", "How predictions depend on a column"), tag("p", what, class_="quiet")]
        parts.append(tag("div", *figures, class_="charts"))
    return Shown.of("importance", "Which columns matter", *parts)
