"""The parts of the page for numbers and counts, and for what the model has learned."""

import math

from linnet.report import charts
from linnet.report.coefficients import Coefficient, Coefficients
from linnet.report.facts import Facts
from linnet.report.markup import Safe, cut, name, number, several, table, tag
from linnet.report.number_facts import NumberFacts
from linnet.report.sections import as_metric, in_text, section
from linnet.report.svg import widened

_IN_TABLE = 30


def number_sections(facts: Facts, found: NumberFacts) -> list[tuple[str, str, Safe]]:
    """Predicted against actual, residuals, and counts."""
    target = facts.target.name
    out = []
    figures = [
        charts.cloud(
            "Predicted and actual", found.actual, x_label="predicted", y_label="actual", diagonal=found.counts is None
        ),
        charts.groups(found.groups, rate=found.per_exposure),
    ]
    if found.counts is not None:
        figures[0] = charts.rootogram(found.counts)
        spread = found.counts.dispersion
        meaning = "as a Poisson distribution has it"
        if spread > 1.25 or spread < 0.8:
            meaning = f"{'more' if spread > 1 else 'less'} than a Poisson distribution has"
        text = (
            f"Around the predicted means the counts spread {number(spread, 3)} times as much as their mean, {meaning}."
        )
        out.append(section("fit", "Counts", tag("p", text, class_="quiet"), tag("div", *figures, class_="charts")))
    else:
        out.append(section("fit", "Predictions", tag("div", *figures, class_="charts")))
    residual = "actual − predicted"
    figures = [
        charts.histogram("How far off", found.residuals, x_label=residual),
        charts.cloud("Residuals", found.residual, x_label="predicted", y_label=residual, diagonal=False),
    ]
    text = f"The mean of actual − predicted is {number(found.mean_residual, 3)}, in units of {cut(target, 60)}."
    out.append(section("residuals", "Residuals", tag("p", text, class_="quiet"), tag("div", *figures, class_="charts")))
    return out


def learned(facts: Facts) -> list[tuple[str, str, Safe]]:
    """Coefficients, weight images, importance and dependence: those there are."""
    out = []
    if facts.coefficients is not None:
        out.append(_coefficients(facts.coefficients))
    if facts.images:
        text = "Weights at their pixels: blue speaks for the class, orange against it."
        images = tag("div", *(charts.image(one) for one in facts.images), class_="images")
        out.append(section("images", "Weights as images", tag("p", text, class_="quiet"), images))
    if facts.importance:
        out.append(_importance(facts))
    return out


def _coefficients(found: Coefficients) -> tuple[str, str, Safe]:
    """A row each: name, effect as a picture, numbers."""
    shown = found.rows[:_IN_TABLE]
    ratio = {"logit": "Odds ratio", "log": "Rate ratio"}.get(found.link)
    of_classes, inferred = any(one.of_class for one in shown), found.level is not None
    effects = [one.scale * v for one in shown if one.name != "intercept" for v in (one.value, one.low, one.high) if v]
    x = widened(effects, zero=True)
    columns: list[tuple[object, str, list[object]]] = [("Column", "l", [name(one.name) for one in shown])]
    if of_classes:
        columns.append(("Class", "l", [name(one.of_class, 30) for one in shown]))
    columns.append((charts.axis_of_cells(x, "Effect"), "l", [_effect(one, x) for one in shown]))
    columns.append(("Coefficient", "r", [number(one.value) for one in shown]))
    if inferred:
        columns.append(("95% interval", "r", [_limits(one) for one in shown]))
        columns.append(("p", "r", [_p(one.p_value) for one in shown]))
    if ratio and not of_classes:
        columns.append((ratio, "r", [number(math.exp(min(one.value, 700)), 3) for one in shown]))
    head, align, cells = zip(*columns, strict=True)
    listed = table(head, list(zip(*cells, strict=True)), "".join(align))
    more = found.count - len(shown)
    rest = tag("p", f"And {several(more, 'more coefficient')}.", class_="note") if more > 0 else ""
    text = (
        "An effect is what a standard deviation of a number, or a level against none, adds to the linear predictor; a "
        "coefficient, what one unit adds."
    )
    notes = [tag("p", note, class_="note") for note in found.notes]
    return section("coefficients", "Coefficients", tag("p", text, class_="quiet"), listed, rest, *notes)


def _effect(one: Coefficient, x: tuple[float, float]) -> object:
    if one.name == "intercept":
        return ""
    low, high = (None if limit is None else limit * one.scale for limit in (one.low, one.high))
    return charts.dot_with_interval(x, one.value * one.scale, low, high)


def _limits(one: Coefficient) -> str:
    known = one.low is not None and one.high is not None and math.isfinite(one.low)
    return f"{number(one.low)} to {number(one.high)}" if known else "–"


def _p(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _importance(facts: Facts) -> tuple[str, str, Safe]:
    shown = facts.importance[:_IN_TABLE]
    x = widened([v for one in shown for v in (one.low, one.high)], zero=True)
    rows = [
        (name(one.name), charts.dot_with_interval(x, one.rise, one.low, one.high), number(one.rise, 3)) for one in shown
    ]
    falls = as_metric(facts.importance_metric).greater_is_better
    moved = f"{'Fall' if falls else 'Rise'} of {in_text(facts.importance_metric)}"
    listed = table(("Column", charts.axis_of_cells(x), moved), rows, "llr")
    more = len(facts.importance) - len(shown)
    rest = tag("p", f"And {several(more, 'column')} that matter less.", class_="note") if more > 0 else ""
    text = (
        "How much worse the answers get when a column is shuffled among the rows held out: the mean, least and most of "
        "five shuffles."
    )
    parts: list[object] = [tag("p", text, class_="quiet"), listed, rest]
    if facts.dependence:
        what = f"probability of {facts.classes[1]}" if len(facts.classes) == 2 else "mean prediction"
        figures = [charts.dependence(one, cut(what, 40)) for one in facts.dependence]
        said = "The mean prediction if all rows had this value, the other columns being as they are."
        parts += [tag("h3", "How the answer moves with a column"), tag("p", said, class_="quiet")]
        parts.append(tag("div", *figures, class_="charts"))
    return section("importance", "Which columns matter", *parts)
