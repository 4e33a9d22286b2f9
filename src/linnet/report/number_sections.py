"""The section of the page for numbers and counts."""

from collections.abc import Mapping
from typing import Any, ClassVar

from linnet.report import charts
from linnet.report.facts import Facts
from linnet.report.markup import cut, number, tag
from linnet.report.number_facts import CountFacts, NumberFacts, number_facts
from linnet.report.section import Section, Shown, Subject
from linnet.tables.model import TableModel


class Numbers(Section):
    """Predicted against actual values, residuals, and how often each count occurs."""

    empty: ClassVar[Mapping[str, Any]] = {"of_numbers": None}

    def applies(self, model: TableModel) -> bool:
        """Return whether the model predicts numbers or counts."""
        return model.classes is None

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        """Return points, residuals and counts."""
        return {"of_numbers": number_facts(subject.evaluation)}

    def show(self, facts: Facts) -> list[Shown]:
        """Show the fit and the residuals."""
        found: NumberFacts | None = facts.of_numbers
        return [] if found is None else [_fit(found), _residuals(found, facts.target.name)]


def _fit(found: NumberFacts) -> Shown:
    groups = charts.groups(found.groups, rate=found.per_exposure)
    if found.counts is None:
        points = charts.cloud(
            "Predicted and actual", found.actual, x_label="predicted", y_label="actual", diagonal=True
        )
        return Shown.of("fit", "Predictions", tag("div", points, groups, class_="charts"))
    spread = tag("p", _spread(found.counts), class_="quiet")
    figures = tag("div", charts.rootogram(found.counts), groups, class_="charts")
    return Shown.of("fit", "Counts", spread, figures)


def _residuals(found: NumberFacts, target: str) -> Shown:
    residual = "actual − predicted"
    figures = [
        charts.histogram("Distribution of residuals", found.residuals, x_label=residual),
        charts.cloud("Residuals by prediction", found.residual, x_label="predicted", y_label=residual, diagonal=False),
    ]
    text = f"The mean of actual − predicted is {number(found.mean_residual, 3)}, in units of {cut(target, 60)}."
    return Shown.of("residuals", "Residuals", tag("p", text, class_="quiet"), tag("div", *figures, class_="charts"))


def _spread(counts: CountFacts) -> str:
    """Return how far counts vary around their means, compared with the predicted distribution."""
    ratio = counts.dispersion
    text = f"The predicted distribution of counts is {counts.distribution}"
    if counts.parameter is not None:
        shown = number(counts.parameter, 3)
        text += f" with dispersion {shown}: the variance is mean + {shown} × mean²"
    verdict = "about as much as"
    if not 0.8 <= ratio <= 1.25:
        verdict = "more than" if ratio > 1 else "less than"
    return (
        f"{text}. On average the squared residuals are {number(ratio, 3)} times the predicted variance: the counts "
        f"vary {verdict} predicted."
    )
