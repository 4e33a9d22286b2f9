"""The parts of the page for numbers and counts, and for what the model has learned."""

import math

from linnet.report import charts
from linnet.report.coefficients import Coefficient, Coefficients
from linnet.report.facts import Facts
from linnet.report.html import Safe, name, number, several, table, tag
from linnet.report.number_facts import NumberFacts
from linnet.report.sections import section, words

_IN_TABLE = 30
_IN_CHART = 20


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
        text = f"Around the predicted means the counts spread {number(spread, 3)} times as much as their mean, {meaning}."
        out.append(section("fit", "Counts", tag("p", text, class_="quiet"), tag("div", *figures, class_="charts")))
    else:
        out.append(section("fit", "Predictions", tag("div", *figures, class_="charts")))
    residual = "actual − predicted"
    figures = [
        charts.histogram("How far off", found.residuals, x_label=residual),
        charts.cloud("Residuals", found.residual, x_label="predicted", y_label=residual, diagonal=False),
    ]
    text = f"The mean of actual − predicted is {number(found.mean_residual, 3)}, in units of {charts.cut(target, 60)}."
    out.append(section("residuals", "Residuals", tag("p", text, class_="quiet"), tag("div", *figures, class_="charts")))
    return out


def learned(facts: Facts) -> list[tuple[str, str, Safe]]:
    """Coefficients, weight images, importance and dependence: those there are."""
    out = []
    if facts.coefficients is not None:
        out.append(_coefficients(facts, facts.coefficients))
    if facts.images:
        text = "Weights at their pixels: blue speaks for the class, orange against it."
        images = tag("div", *(charts.image(one) for one in facts.images), class_="images")
        out.append(section("images", "Weights as images", tag("p", text, class_="quiet"), images))
    if facts.importance:
        out.append(_importance(facts))
    return out


def _coefficients(facts: Facts, found: Coefficients) -> tuple[str, str, Safe]:
    ratio = {"logit": "Odds ratio", "log": "Rate ratio"}.get(found.link)
    several_classes = any(one.of_class for one in found.rows)
    head: list[object] = ["Column", *(["Class"] if several_classes else []), "Coefficient"]
    if found.level is not None:
        head += [f"{found.level:.0%} interval".replace("%", " %"), "p"]
    head += [ratio] if ratio and not several_classes else []
    rows = [_row(one, several_classes, found.level is not None, ratio is not None) for one in found.rows[:_IN_TABLE]]
    slopes = [one for one in found.rows if one.name != "intercept"][:_IN_CHART]
    chart = charts.intervals(
        "Strongest effects",
        [(_label(one), *(_scaled(one, value) for value in (one.value, one.low, one.high))) for one in slopes],  # type: ignore[misc]
        x_label="change of the linear predictor",
        zero=True,
        note="By a standard deviation of a number, or from the other levels to a level.",
    )
    left = 2 if several_classes else 1
    more = found.count - min(len(found.rows), _IN_TABLE)
    rest = tag("p", f"And {several(more, 'more coefficient')}.", class_="note") if more > 0 else ""
    notes = [tag("p", note, class_="note") for note in found.notes]
    listed = table(head, rows, left=left)
    hidden = tag("details", tag("summary", "Table of coefficients"), listed, rest, *notes, **{"open": "open"})
    return section("coefficients", "Coefficients", tag("div", chart, class_="charts wide"), hidden)


def _label(one: Coefficient) -> str:
    return f"{one.of_class}: {one.name}" if one.of_class else one.name


def _scaled(one: Coefficient, value: float | None) -> float | None:
    return None if value is None else value * one.scale


def _row(one: Coefficient, classes: bool, inferred: bool, ratio: bool) -> tuple[object, ...]:
    cells: list[object] = [name(one.name), *([name(one.of_class, 30)] if classes else []), number(one.value)]
    if inferred:
        known = one.low is not None and one.high is not None and math.isfinite(one.low)
        cells.append(f"{number(one.low)} to {number(one.high)}" if known else "–")
        cells.append("–" if one.p_value is None or math.isnan(one.p_value) else _p(one.p_value))
    if ratio and not classes:
        cells.append(number(math.exp(one.value), 3) if one.value < 700 else "∞")
    return tuple(cells)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _importance(facts: Facts) -> tuple[str, str, Safe]:
    shown = facts.importance[:_IN_CHART]
    metric = words(facts.importance_metric)
    falls = facts.importance_metric == "accuracy"
    chart = charts.intervals(
        f"{'Fall' if falls else 'Rise'} of {metric[0].lower() + metric[1:] if metric[1:2].islower() else metric}",
        [(one.name, one.rise, one.low, one.high) for one in shown],
        zero=True,
        note="The mean, least and most of five shuffles.",
    )
    more = len(facts.importance) - len(shown)
    rest = tag("p", f"And {several(more, 'column')} that matter less.", class_="note") if more > 0 else ""
    text = "How much worse the answers get when a column is shuffled among the rows held out."
    parts: list[object] = [tag("p", text, class_="quiet"), tag("div", chart, class_="charts wide"), rest]
    if facts.dependence:
        what = f"probability of {facts.classes[1]}" if len(facts.classes) == 2 else "mean prediction"
        figures = [charts.dependence(one, charts.cut(what, 40)) for one in facts.dependence]
        said = "The mean prediction if all rows had this value, the other columns being as they are."
        parts += [tag("h3", "How the answer moves with a column"), tag("p", said, class_="quiet")]
        parts.append(tag("div", *figures, class_="charts"))
    return section("importance", "What it goes by", *parts)
