"""The header, and the sections of the page for all tasks."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from linnet.evaluate import Interval
from linnet.evaluate.metric import Reported
from linnet.report import charts
from linnet.report.facts import Facts
from linnet.report.markup import Safe, count, cut, join, name, number, percent, several, table, tag
from linnet.report.names import as_metric
from linnet.report.section import Section, Shown, Subject
from linnet.tables.kinds import Column
from linnet.tables.task import Task

_MAX_COLUMNS = 60
_MAX_NOTICES = 12
_TILES = 4


def header(facts: Facts) -> Safe:
    """Return what was trained on which data, in two sentences, and the main metrics."""
    what = "Predicting counts of " if facts.task is Task.COUNTS else "Predicting "
    rows = f"trained on {several(facts.rows, 'row')}" if facts.rows is not None else "trained"
    lead = join(
        [
            f"{_article(facts.what or facts.model)}, {rows} and tested on ",
            f"{several(facts.held_out, 'row')} that it has not seen.",
        ]
    )
    shown = _headline(facts)
    return tag(
        "header",
        tag("p", "linnet report", class_="over"),
        tag("h1", what, name(facts.target.name)),
        tag("p", lead, class_="lead"),
        tag("div", *(_tile(one) for one in shown), class_="tiles"),
    )


def _article(what: str) -> str:
    text = what.split(", ")[0]
    if not text or text.startswith(("a ", "the ", "an ")):
        return text[:1].upper() + text[1:]
    return f"{'An' if text[0].lower() in 'aeiou' else 'A'} {text}" + (" model" if "regression" in text else "")


def _headline(facts: Facts) -> list[Interval]:
    """Return the metric that chose the model, and the metrics most asked for."""
    first, *others = facts.metrics
    kind = Reported[facts.task.name]
    return [first, *sorted(others, key=lambda one: kind not in as_metric(one.metric).headline)][:_TILES]


def _tile(one: Interval) -> Safe:
    limits = f"{number(one.low, 3)} to {number(one.high, 3)}" if math.isfinite(one.low) else ""
    return tag(
        "div",
        tag("span", as_metric(one.metric).in_words()),
        tag("b", number(one.value, 3)),
        tag("span", limits),
        class_="tile",
    )


class Summary(Section):
    """What was trained on which data."""

    def show(self, facts: Facts) -> list[Shown]:
        """Show files, rows, target, task and seed."""
        items: list[tuple[str, object]] = []
        if facts.files:
            more = f" and {len(facts.files) - 5} more" if len(facts.files) > 5 else ""
            items.append(("Data", join([*(join([name(file, 120), tag("br")]) for file in facts.files[:5]), more])))
        if facts.rows is not None:
            items.append(("Rows", f"{facts.rows:,} for training, {facts.held_out:,} for testing"))
        items.append(("Target", name(facts.target.name)))
        items.append(("Task", join([facts.task, ": ", cut(facts.reason, 300)])))
        if len(facts.classes) == 2:
            items.append(("Positive class", name(facts.classes[1])))
        items += [(role.capitalize(), name(column)) for role, column in facts.roles.items()]
        used = sum(column.used for column in facts.columns)
        items.append(("Columns", f"{used:,} of {len(facts.columns):,} are used"))
        items.append(("Model", join([facts.model, ": ", facts.what] if facts.what else [facts.model])))
        if facts.threshold is not None:
            items.append(("Threshold", f"{facts.threshold:g}"))
        if facts.seed is not None:
            items.append(("Seed", str(facts.seed)))
        return [Shown.of("summary", "What was trained", _definitions(items), _notices(facts))]


def _definitions(items: list[tuple[str, object]]) -> Safe:
    pairs = ((tag("dt", key), tag("dd", value)) for key, value in items)
    return tag("dl", *(part for pair in pairs for part in pair))


def _notices(facts: Facts) -> Safe:
    if not facts.notices:
        return Safe("")
    shown = [tag("li", cut(text, 400)) for text in facts.notices[:_MAX_NOTICES]]
    if len(facts.notices) > _MAX_NOTICES:
        shown.append(tag("li", f"{len(facts.notices) - _MAX_NOTICES:,} more: see the columns."))
    return tag("ul", *shown, class_="notices")


class Metrics(Section):
    """How good the model is."""

    empty: ClassVar[Mapping[str, Any]] = {"metrics": ()}

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        """Return the metrics with their intervals."""
        return {"metrics": subject.evaluation.intervals()}

    def show(self, facts: Facts) -> list[Shown]:
        """Show all metrics with their intervals."""
        has_shares = any(as_metric(one.metric).share for one in facts.metrics)
        rows = []
        for one in facts.metrics:
            limits = f"{number(one.low)} to {number(one.high)}" if math.isfinite(one.low) else "–"
            known = as_metric(one.metric)
            picture = charts.dot_with_interval((0, 1), one.value, one.low, one.high) if known.share else ""
            what = tag("span", known.meaning, class_="wide quiet")
            rows.append(
                (
                    tag("span", known.in_words(), class_="label"),
                    number(one.value),
                    limits,
                    *((picture,) if has_shares else ()),
                    what,
                )
            )
        head = (
            "Metric",
            "Value",
            "95% interval",
            *((charts.axis_of_cells((0, 1)),) if has_shares else ()),
            "Meaning",
        )
        how = "Measured on the test rows, with 95% confidence intervals."
        listed = table(head, rows, "lrrll" if has_shares else "lrrl")
        return [Shown.of("metrics", "How good it is", tag("p", how, class_="quiet"), listed)]


class Candidates(Section):
    """The models that were tried."""

    def show(self, facts: Facts) -> list[Shown]:
        """Show all models that were tried."""
        if not facts.tried:
            return []
        names = list(dict.fromkeys(metric for one in facts.tried for metric in one.scores))[:6]
        rows = []
        for one in facts.tried:
            what = join([one.what, tag("br"), "failed: ", cut(one.failed, 200)]) if one.failed else one.what
            scores = [number(one.scores.get(metric)) for metric in names]
            rows.append(
                (
                    one.name,
                    tag("span", what, class_="wide"),
                    *scores,
                    "–" if one.seconds is None else f"{one.seconds:.2f}",
                )
            )
        listed = table(
            ("Model", "Description", *(as_metric(metric).in_words() for metric in names), "Seconds"),
            rows,
            "ll" + "r" * (len(names) + 1),
            marked=next((index for index, one in enumerate(facts.tried) if one.chosen), None),
        )
        why = ""
        if len(facts.tried) > 1 and facts.metric:
            why = f"The model with the best {as_metric(facts.metric).in_text()} on the held-out rows was kept."
            if facts.distribution_metric:
                by = as_metric(facts.distribution_metric).in_text()
                why += f" Of the distributions of counts, only the one with the best {by} was considered."
        return [Shown.of("candidates", "Models that were tried", tag("p", why, class_="quiet") if why else "", listed)]


class ColumnTable(Section):
    """The columns as they were read."""

    def show(self, facts: Facts) -> list[Shown]:
        """Show the columns as they were read."""
        shown = [facts.target, *facts.columns[:_MAX_COLUMNS]]
        all_rows = (facts.rows or 0) + facts.held_out
        rows = [_column(column, column is facts.target, all_rows) for column in shown]
        head = ("Column", "Read as", "Missing", "Distinct", "Examples and use")
        listed = table(head, rows, "llrrl")
        more = len(facts.columns) - _MAX_COLUMNS
        rest = tag("p", f"And {several(more, 'more column')}.", class_="note") if more > 0 else ""
        return [Shown.of("columns", "Columns", listed, rest)]


def _column(column: Column, target: bool, rows: int) -> tuple[object, ...]:
    kind = "target" if target else column.kind if column.used else f"{column.kind}, left out"
    missing = percent(column.missing / rows) if column.missing and rows else count(column.missing)
    examples = tag("span", cut(", ".join(cut(text, 24) for text in column.examples), 80), class_="quiet")
    note = cut(column.note, 160) if column.note else ""
    text = join([examples, " · " if note and column.examples else "", note])
    return (
        name(column.name),
        tag("em", kind, class_="kind"),
        missing if column.missing else "–",
        f"{'≈' if column.estimated else ''}{column.distinct:,}",
        tag("span", text, class_="wide"),
    )


class Repetition(Section):
    """How to repeat the training."""

    def show(self, facts: Facts) -> list[Shown]:
        """Show the command, the estimator and the versions."""
        command = tag("pre", tag("code", facts.command)) if facts.command else ""
        python = tag(
            "details", tag("summary", "The model in Python"), tag("pre", tag("code", cut(facts.estimator, 2000)))
        )
        made = _definitions([(key, value) for key, value in facts.versions.items()])
        same = "With the same data and versions, this command trains the same model again."
        return [Shown.of("repeat", "How to repeat it", tag("p", same, class_="quiet"), command, python, made)]
