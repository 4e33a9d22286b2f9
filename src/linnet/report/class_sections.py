"""The section of the page for classes."""

import json
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from linnet.evaluate import Rates
from linnet.report import charts
from linnet.report.class_facts import ClassFacts, ClassRow, Curve, class_facts
from linnet.report.facts import Facts
from linnet.report.markup import Safe, count, cut, fixed, join, name, number, percent, several, table, tag
from linnet.report.section import Section, Shown, Subject
from linnet.tables.model import TableModel

_BETAS = ("0.5", "1", "2", "3", "5")


class Classes(Section):
    """Threshold, confusion matrix, every class, calibration and gain."""

    empty: ClassVar[Mapping[str, Any]] = {"of_classes": None}

    def applies(self, model: TableModel) -> bool:
        """Return whether the model predicts classes."""
        return model.classes is not None

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        """Return confusion matrix, classes, cut-offs, calibration and gain."""
        return {"of_classes": class_facts(subject.evaluation)}

    def show(self, facts: Facts) -> list[Shown]:
        """Show threshold, classes and probabilities."""
        found: ClassFacts | None = facts.of_classes
        if found is None:
            return []
        out = [_threshold(facts, found)] if found.curves else []
        out.append(_classes(found))
        if found.calibration:
            figures = [charts.calibration(found.calibration, found.calibration_error, found.calibration_of)]
            if found.gain[0]:
                figures.append(charts.gain(*found.gain, facts.classes[1]))
            title = "Probabilities and gain" if found.gain[0] else "Probabilities"
            out.append(Shown.of("calibration", title, tag("div", *figures, class_="charts")))
        return out


# ---- the threshold ----


def _threshold(facts: Facts, found: ClassFacts) -> Shown:
    curve, two = found.curves[0], len(facts.classes) == 2
    if two:
        text: object = join(
            [
                "Rows with at least this probability are predicted as ",
                name(curve.name),
                ". Move the threshold to see its effect.",
            ]
        )
    else:
        text = "One class against all others, by its probability. The model itself predicts the most likely class."
    rest = facts.classes[0] if two else "all others"
    figures = [charts.precision_recall(curve), charts.roc(curve), charts.scores(curve, rest)]
    panel = tag("div", _controls(found), _tiles(curve), class_="panel")
    figures.insert(
        0, tag("figure", tag("figcaption", tag("strong", "Confusion at this threshold")), _two_by_two(facts, curve))
    )
    return Shown.of(
        "decision",
        "Threshold" if two else "Class by class",
        tag("p", text, class_="quiet"),
        panel,
        tag("div", *figures, class_="charts"),
        _data(found.curves),
    )


def _controls(found: ClassFacts) -> Safe:
    curve = found.curves[0]
    parts = []
    if len(found.curves) > 1:
        options = [tag("option", cut(one.name, 60), value=k) for k, one in enumerate(found.curves)]
        parts.append(tag("label", "Class", tag("select", *options, id="class"), class_="needs-script"))
    index = curve.thresholds.index(curve.threshold)
    slider = tag(
        "input",
        type="range",
        id="threshold",
        min=0,
        max=len(curve.thresholds) - 1,
        step=1,
        value=index,
        autocomplete="off",
    )
    value = tag("output", f"{curve.threshold:g}", id="threshold-value", for_="threshold")
    parts.append(tag("label", tag("span", "Threshold ", value), slider, class_="slide needs-script"))
    betas = Safe("".join(f'<option value="{one}"{" selected" if one == "1" else ""}>{one}</option>' for one in _BETAS))
    parts.append(
        tag(
            "label",
            "β, the weight of recall",
            tag("select", betas, id="beta", autocomplete="off"),
            class_="needs-script",
        )
    )
    parts.append(tag("label", tag("button", "Best F", id="best", type="button"), class_="needs-script"))
    parts.append(tag("span", f"Threshold {curve.threshold:g}", class_="without-script"))
    return tag("div", *parts, class_="controls")


def _tiles(curve: Curve) -> Safe:
    k = curve.thresholds.index(curve.threshold)
    rates = Rates(curve.tp[k], curve.fp[k], curve.fn[k], curve.tn[k], zero_division=math.nan)

    def tile(label: object, key: str, rate: float) -> Safe:
        value = "–" if math.isnan(rate) else fixed(rate, 3)
        return tag("div", tag("span", label), tag("b", value, data_value=key), class_="tile")

    return tag(
        "div",
        tile("Precision", "precision", rates.precision),
        tile("Recall", "recall", rates.recall),
        tile(join(["F", tag("span", "1", data_value="beta", class_="inline")]), "f", rates.f1),
        tile("Accuracy", "accuracy", rates.accuracy),
        class_="tiles",
    )


def _two_by_two(facts: Facts, curve: Curve) -> Safe:
    index = curve.thresholds.index(curve.threshold)
    counts = {key: getattr(curve, key)[index] for key in ("tp", "fp", "fn", "tn")}
    positive = tag("bdi", cut(curve.name, 60), class_="name", data_value="name")
    negative: object = name(facts.classes[0], 30) if len(facts.classes) == 2 else "another class"

    def cell(key: str) -> Safe:
        total = counts["tp"] + counts["fn"] if key in ("tp", "fn") else counts["fp"] + counts["tn"]
        share = f"{fixed(100 * (counts[key] / total), 0)}%" if total else "–"
        small = tag("small", tag("span", share, data_value=f"{key}-share"))
        kind = "right h3" if key in ("tp", "tn") else "wrong h2"
        return tag("td", tag("span", count(counts[key]), data_value=key), small, class_=kind)

    head = tag("tr", tag("th"), tag("th", "predicted ", positive), tag("th", "predicted ", negative))
    rows = [
        tag("tr", tag("th", "actual ", positive, class_="side"), cell("tp"), cell("fn")),
        tag("tr", tag("th", "actual ", negative, class_="side"), cell("fp"), cell("tn")),
    ]
    inner = tag("table", tag("thead", head), tag("tbody", *rows), class_="matrix two")
    return tag("div", inner, class_="scroll")


def _data(curves: tuple[Curve, ...]) -> Safe:
    """Return the cut-offs as JSON that cannot end the element that holds it."""
    kept = [
        {
            "name": cut(one.name, 60),
            "threshold": one.threshold,
            "roc_auc": one.roc_auc,
            "average_precision": one.average_precision,
            "thresholds": one.thresholds,
            "s1": one.rows_by_score,
            "s2": one.others_by_score,
            **{key: [_short(value) for value in getattr(one, key)] for key in ("tp", "fp", "fn", "tn")},
        }
        for one in curves
    ]
    text = json.dumps(kept, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Safe(f'<script type="application/json" id="cutoffs">{text}</script>')


def _short(value: float) -> float:
    return int(value) if float(value).is_integer() else value


# ---- all classes ----


def _classes(found: ClassFacts) -> Shown:
    with_areas = any(row.roc_auc is not None for row in found.rows)
    head = ("Class", "Precision", "Recall", "F1", "Rows", *(("ROC AUC", "Average precision") if with_areas else ()))
    rows = [_row(row, name(row.name, 60), with_areas) for row in found.rows]
    rows += [_row(row, tag("em", f"{row.name} average"), with_areas) for row in found.averages]
    more = found.count - len(found.rows)
    parts, row = list[object](), list[object]()
    if found.count > 2 or not found.curves:
        hidden = found.count - len(found.names)
        note = f"The {len(found.names)} largest of {found.count:,} classes." if hidden else ""
        row.append(tag("div", _matrix(found), tag("p", note, class_="note") if note else ""))
    if found.count > 2 and found.mixed_up:
        mixed = [(name(one.actual, 60), name(one.predicted, 60), count(one.rows)) for one in found.mixed_up]
        row.append(table(("Actual", "Predicted", "Rows"), mixed, "llr", caption="Most frequent confusions"))
    parts += [tag("div", *row, class_="beside")] if row else []
    parts.append(table(head, rows, "l" + "r" * (len(head) - 1), caption="By class" if parts else ""))
    if more > 0:
        parts.append(tag("p", f"And {several(more, 'more class', 'more classes')} with fewer rows.", class_="note"))
    return Shown.of("classes", "Classes", *parts)


def _row(row: ClassRow, label: Safe, areas: bool) -> tuple[object, ...]:
    numbers = (number(row.precision, 3), number(row.recall, 3), number(row.f1, 3), count(row.rows))
    return (label, *numbers, *((number(row.roc_auc), number(row.average_precision)) if areas else ()))


def _matrix(found: ClassFacts) -> Safe:
    """Return the confusion matrix; the larger a cell's share of its class, the stronger its colour."""
    head = tag("tr", tag("th", "actual ↓ predicted →"), *(tag("th", name(label, 24)) for label in found.names))
    lines = []
    for actual, counts in enumerate(found.confusion):
        total = sum(counts)
        cells = []
        for predicted, rows in enumerate(counts):
            share = rows / total if total else 0.0
            strength = 0 if not rows else min(4, 1 + int(share * 4 * 0.999))
            small = tag("small", percent(share)) if rows and len(found.names) <= 8 else ""
            kind = f"{'right' if actual == predicted else 'wrong'} h{strength}"
            cells.append(tag("td", count(rows) if rows else "·", small, class_=kind))
        lines.append(tag("tr", tag("th", name(found.names[actual], 24), class_="side"), *cells))
    inner = tag("table", tag("thead", head), tag("tbody", *lines), class_="matrix")
    return tag("div", inner, class_="scroll", tabindex="0")
