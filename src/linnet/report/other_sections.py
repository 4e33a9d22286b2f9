"""The parts of the page for numbers and counts, and for what the model has learned."""

import math

from linnet.report import charts
from linnet.report.coefficients import Coefficient, Coefficients
from linnet.report.facts import Facts
from linnet.report.markup import Safe, cut, name, number, several, table, tag
from linnet.report.number_facts import CountFacts, NumberFacts
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
        spread = tag("p", _spread(found.counts), class_="quiet")
        out.append(section("fit", "Counts", spread, tag("div", *figures, class_="charts")))
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


def _spread(counts: CountFacts) -> str:
    """How far counts vary around their means, and whether the predicted distribution does as well."""
    law, ratio = counts.distribution, counts.dispersion
    text = f"The predicted distribution is {law}"
    if counts.parameter is not None:
        shown = number(counts.parameter, 3)
        text += f", with a dispersion of {shown}: the variance is mean + {shown} × mean²"
    verdict = "as much as"
    if not 0.8 <= ratio <= 1.25:
        verdict = "more than" if ratio > 1 else "less than"
    return (
        f"{text}. Around the predicted means the squared residuals are {number(ratio, 3)} times that variance on "
        f"average: the counts vary {verdict} predicted."
    )


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
        columns.append((ratio, "r", [number(math.exp(min(one.value, 700)), 3) for one in shown]))
    head, align, cells = zip(*columns, strict=True)
    listed = table(head, list(zip(*cells, strict=True)), "".join(align))
    more = found.count - len(shown)
    rest = tag("p", f"And {several(more, 'more coefficient')}.", class_="note") if more > 0 else ""
    text = (
        "An effect is what a standard deviation of a number, or a level against none, adds to the linear predictor; a "
        "coefficient, what one unit adds."
    )
    notes = [tag("p", note, class_="note") for note in (*_fit(found), *found.notes)]
    return section("coefficients", "Coefficients", tag("p", text, class_="quiet"), listed, rest, *notes)


def _fit(found: Coefficients) -> list[str]:
    """Deviance and likelihood on the rows of the training, in a sentence."""
    if found.fit is None:
        return []
    fit = {name: number(value) for name, value in found.fit.items()}
    text = (
        f"On the rows of the training: deviance {fit['deviance']} on {fit['degrees_of_freedom']} degrees of freedom "
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
