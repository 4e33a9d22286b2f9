"""The charts of a report, each a figure with its caption; the style sheet has the colours, light and dark."""

import base64
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import partial

from linnet.report.class_facts import CalibrationBin, Curve
from linnet.report.coefficients import WeightImage
from linnet.report.importance import Dependence
from linnet.report.markup import Safe, count, cut, fixed, join, name, number, percent, tag
from linnet.report.number_facts import Cloud, CountFacts, Group, Histogram
from linnet.report.svg import Plot, tick_labels, ticks, widened

_UNIT = (0.0, 1.0)
_CELL_WIDTH = 180  # pixels of a picture in a table


def figure(title: str, picture: object, *, legend: Sequence[tuple[str, object]] = (), note: object = "") -> Safe:
    """Return a picture with a caption above, a legend (class, text), and a note below."""
    keys = [
        tag("span", tag("i", class_=f"key {class_}"), " ", text if isinstance(text, Safe) else name(text, 40))
        for class_, text in legend
    ]
    return tag(
        "figure",
        tag("figcaption", tag("strong", title), tag("span", *keys, class_="legend") if keys else ""),
        Safe(picture) if isinstance(picture, Plot) else picture,
        tag("p", note, class_="note") if note else "",
    )


def learning(metric: str, history: Mapping[str, Sequence[float]]) -> Safe:
    """Draw a metric by epoch, on the training rows and on the validation rows."""
    series = [(key, history[key]) for key in (metric, f"val_{metric}") if key in history]
    epochs = max(len(values) for _, values in series)
    plot = Plot(
        f"{metric} by epoch",
        (1, max(2, epochs)),
        widened([v for _, values in series for v in values]),
        x_label="epoch",
        y_label=metric.replace("_", " "),
        whole_x=True,
    )
    for index, (_, values) in enumerate(series):
        plot.line(range(1, len(values) + 1), values, f"s{index + 1}")
    best, note = history.get(f"val_{metric}"), ""
    if best and metric == "loss":
        lowest = min(range(len(best)), key=best.__getitem__)
        plot.dot(lowest + 1, best[lowest], "s2", 4.5)
        note = f"Lowest on the validation rows: {number(best[lowest])} at epoch {lowest + 1}."
    texts = {metric: "training rows", f"val_{metric}": "validation rows"}
    title = metric.replace("_", " ").capitalize()
    return figure(title, plot, legend=[(f"s{k + 1}", texts[key]) for k, (key, _) in enumerate(series)], note=note)


def dot_with_interval(x: tuple[float, float], value: float, low: float | None, high: float | None) -> Safe:
    """Draw a dot with its interval, for a cell of a table, and a line at 0 if 0 is inside."""
    at = partial(_along, x)
    marks = [tag("path", d=f"M{at(0):.1f},0V18", class_="line zero")] if x[0] < 0 < x[1] else []
    if low is not None and high is not None and math.isfinite(low) and math.isfinite(high):
        marks.append(tag("path", d=f"M{at(low):.1f},9H{at(high):.1f}", class_="line s1 whisker"))
    if math.isfinite(value):
        marks.append(tag("circle", cx=f"{at(value):.1f}", cy="9", r="4", class_="dot s1"))
    return tag("svg", *marks, viewBox=f"0 0 {_CELL_WIDTH} 18", class_="cell", aria_hidden="true")


def axis_of_cells(x: tuple[float, float], label: str = "") -> Safe:
    """Draw the scale of such cells, for the head of their column."""
    values = ticks(*x, about=5)
    texts = [
        tag("text", text, x=f"{_along(x, value):.1f}", y="12", text_anchor="middle")
        for value, text in zip(values, tick_labels(values), strict=True)
    ]
    scale = tag("svg", *texts, viewBox=f"0 0 {_CELL_WIDTH} 16", class_="cell", aria_hidden="true")
    return join([tag("span", label), scale]) if label else scale


def _along(x: tuple[float, float], value: float) -> float:
    share = (min(max(value, x[0]), x[1]) - x[0]) / (x[1] - x[0])
    return 8 + (_CELL_WIDTH - 16) * share


# ---- classes ----


def roc(curve: Curve) -> Safe:
    """Draw the ROC curve with a mark at the threshold."""
    x, y = roc_points(curve)
    plot = Plot(
        f"ROC curve, area {number(curve.roc_auc)}",
        _UNIT,
        _UNIT,
        x_label="false positive rate",
        y_label="recall (true positive rate)",
    )
    plot.line(_UNIT, _UNIT, "reference")
    plot.line(x, y, "s1", data_curve="roc")
    index = curve.thresholds.index(curve.threshold)
    plot.dot(x[index], y[index], "mark", 6, data_mark="roc")
    area = join([tag("b", fixed(curve.roc_auc, 4), data_value="roc_auc"), " is the area under it."])
    return figure("ROC", plot, note=area)


def precision_recall(curve: Curve) -> Safe:
    """Draw the precision-recall curve with a mark at the threshold, and the precision of predicting positive always."""
    x, y = pr_points(curve)
    share = (curve.tp[0] + curve.fn[0]) / (curve.tp[0] + curve.fp[0] + curve.fn[0] + curve.tn[0])
    plot = Plot(
        f"Precision-recall curve, average precision {number(curve.average_precision)}",
        _UNIT,
        _UNIT,
        x_label="recall",
        y_label="precision",
    )
    plot.line(_UNIT, (share, share), "reference", data_curve="share")
    plot.line(x, y, "s1", data_curve="pr")
    index = curve.thresholds.index(curve.threshold)
    plot.dot(x[index], y[index], "mark", 6, data_mark="pr")
    area = join(
        [tag("b", fixed(curve.average_precision, 4), data_value="average_precision"), " is the average precision."]
    )
    return figure("Precision and recall", plot, note=area)


def roc_points(curve: Curve) -> tuple[list[float], list[float]]:
    """Return false and true positive rates, in the order of the thresholds."""
    x = [fp / max(fp + tn, 1e-300) for fp, tn in zip(curve.fp, curve.tn, strict=True)]
    y = [tp / max(tp + fn, 1e-300) for tp, fn in zip(curve.tp, curve.fn, strict=True)]
    return x, y


def pr_points(curve: Curve) -> tuple[list[float], list[float]]:
    """Return recall and precision (1 where no row is predicted as positive), in the order of the thresholds."""
    x = [tp / max(tp + fn, 1e-300) for tp, fn in zip(curve.tp, curve.fn, strict=True)]
    y = [tp / (tp + fp) if tp + fp else 1.0 for tp, fp in zip(curve.tp, curve.fp, strict=True)]
    return x, y


def scores(curve: Curve, rest: str) -> Safe:
    """Draw how often each probability is predicted: upwards for rows of the class, downwards for the rest."""
    most = max(*curve.rows_by_score, *curve.others_by_score, 1e-300)
    plot = Plot("Rows by predicted probability", _UNIT, (-1.08, 1.08), x_label="predicted probability", y_axis=False)
    bins = len(curve.rows_by_score)
    for sign, class_, counts in ((1, "s1", curve.rows_by_score), (-1, "s2", curve.others_by_score)):
        for index, rows in enumerate(counts):
            edges = (index + 0.06) / bins, (index + 0.94) / bins
            plot.box(edges, (0, sign * rows / most), f"bar {class_}", data_bar=f"{class_} {index}")
    plot.line(_UNIT, (0, 0), "zero")
    plot.line((curve.threshold, curve.threshold), (-1.08, 1.08), "cut", data_mark="cut")
    legend = [("bar s1", tag("bdi", cut(curve.name, 60), class_="name", data_value="name")), ("bar s2", name(rest, 40))]
    return figure("Predicted probabilities", plot, legend=legend)


def calibration(bins: Sequence[CalibrationBin], error: float | None, whose: str) -> Safe:
    """Draw the observed share of rows against the predicted probability."""
    plot = Plot("Calibration", _UNIT, _UNIT, x_label="predicted probability", y_label="observed share")
    plot.line(_UNIT, _UNIT, "reference")
    most = max(one.rows for one in bins)
    for one in bins:
        plot.line((one.predicted, one.predicted), (one.low, one.high), "s1 whisker")
    plot.line([one.predicted for one in bins], [one.observed for one in bins], "s1 thin")
    for one in bins:
        text = f"predicted {percent(one.predicted)}, observed {percent(one.observed)} of {count(one.rows)} rows"
        plot.dot(one.predicted, one.observed, "s1", 2.5 + 3.5 * math.sqrt(one.rows / most), text)
    note = (
        f"For {cut(whose, 60)}. On the diagonal, predicted and observed shares agree; the expected calibration error "
        f"is {number(error, 3)}."
    )
    return figure("Calibration", plot, note=note)


def gain(rows: Sequence[float], found: Sequence[float], positive: str) -> Safe:
    """Draw the share of all positives among the rows with the highest scores."""
    plot = Plot(
        "Cumulative gain", _UNIT, _UNIT, x_label="share of rows, most likely first", y_label="share of positives found"
    )
    plot.line(_UNIT, _UNIT, "reference")
    plot.line(rows, found, "s1")
    at = min(range(len(rows)), key=lambda k: abs(rows[k] - 0.2))
    plot.dot(rows[at], found[at], "s1", 4)
    note = join(
        [
            "The 20% of rows with the highest probability contain ",
            percent(found[at]),
            " of the rows of ",
            name(positive, 40),
            ".",
        ]
    )
    return figure("Cumulative gain", plot, note=note)


# ---- numbers and counts ----


def cloud(title: str, points: Cloud, *, x_label: str, y_label: str, diagonal: bool) -> Safe:
    """Draw points, or cells that are the darker the more points they hold."""
    half_x, half_y = points.cell[0] / 2, points.cell[1] / 2
    x = widened([*(v - half_x for v in points.x), *(v + half_x for v in points.x)])
    y = widened([*(v - half_y for v in points.y), *(v + half_y for v in points.y)])
    if diagonal:
        x = y = (min(x[0], y[0]), max(x[1], y[1]))
    plot = Plot(title, x, y, x_label=x_label, y_label=y_label)
    if points.rows:
        most = max(points.rows)
        for at_x, at_y, rows in zip(points.x, points.y, points.rows, strict=True):
            strength = f"{0.12 + 0.88 * math.sqrt(rows / most):.2f}"
            plot.box((at_x - half_x, at_x + half_x), (at_y - half_y, at_y + half_y), "bar s1", fill_opacity=strength)
    else:
        for at_x, at_y in zip(points.x, points.y, strict=True):
            plot.dot(at_x, at_y, "s1 faint", 3)
    plot.line(x, x if diagonal else (0, 0), "reference")
    return figure(title, plot)


def histogram(title: str, bars: Histogram, *, x_label: str) -> Safe:
    """Draw the numbers of rows between edges."""
    plot = Plot(title, (bars.edges[0], bars.edges[-1]), widened(bars.rows, zero=True), x_label=x_label, y_label="rows")
    edges = zip(bars.edges, bars.edges[1:], bars.rows, strict=False)
    for left, right, rows in edges:
        gap = (right - left) * 0.06
        label = f"{count(rows)} rows from {number(left, 3)} to {number(right, 3)}"
        plot.box((left + gap, right - gap), (0, rows), "bar s1", label)
    plot.line((0, 0), plot.y, "reference")
    note = f"{count(bars.outside)} rows are outside this range." if bars.outside else ""
    return figure(title, plot, note=note)


def groups(rows: Sequence[Group], *, rate: bool) -> Safe:
    """Draw predicted and observed means in tenths of the rows."""
    what = "mean per unit of exposure" if rate else "mean"
    plot = Plot(
        "Observed and predicted by tenths of the rows",
        (0, len(rows)),
        widened([v for one in rows for v in (one.predicted, one.low, one.high)]),
        x_label="tenths of the rows, lowest prediction first",
        y_label=what,
        levels=[str(k + 1) for k in range(len(rows))],
    )
    plot.line([k + 0.5 for k in range(len(rows))], [one.predicted for one in rows], "s2")
    for k, one in enumerate(rows):
        plot.line((k + 0.5, k + 0.5), (one.low, one.high), "s1 whisker")
        label = f"predicted {number(one.predicted)}, observed {number(one.observed)}, {one.rows:,} rows"
        plot.dot(k + 0.5, one.observed, "s1", 4, label)
    return figure("Calibration", plot, legend=[("s2", "predicted"), ("dot s1", "observed, 95% interval")])


def rootogram(facts: CountFacts) -> Safe:
    """Draw square roots of the frequencies of counts, hanging from the expected ones.

    Bars end at 0 where both agree.
    """
    tops = [math.sqrt(value) for value in facts.expected]
    ends = [top - math.sqrt(value) for top, value in zip(tops, facts.observed, strict=True)]
    last = len(tops) - 1
    names = [f"{k}+" if k == last else str(k) for k in range(last + 1)]
    shown = [label if last < 14 or k % 2 == 0 or k == last else "" for k, label in enumerate(names)]
    plot = Plot(
        "Hanging rootogram of counts",
        (0, last + 1),
        widened([0, *tops, *ends]),
        x_label="count",
        y_label="√ rows",
        levels=shown,
    )
    for k, (top, end) in enumerate(zip(tops, ends, strict=True)):
        label = f"{names[k]}: {count(facts.observed[k])} rows, expected {facts.expected[k]:,.1f}"
        plot.box((k + 0.14, k + 0.86), (end, top), "bar s1", label)
    plot.line((0, last + 1), (0, 0), "zero")
    plot.line([k + 0.5 for k in range(last + 1)], tops, "s2")
    for k, top in enumerate(tops):
        plot.dot(k + 0.5, top, "s2", 3)
    note = "Bars hang from the expected number of rows. A bar that ends below 0 is a count more frequent than expected."
    return figure("Counts", plot, legend=[("s2", "expected"), ("bar s1", "observed")], note=note)


# ---- what was learned ----


def dependence(one: Dependence, y_label: str) -> Safe:
    """Draw the mean prediction by the values of a column."""
    low, high = widened([v for means in one.means for v in means], 0.08)
    y = max(low, 0.0) if min(map(min, one.means)) >= 0 else low, high
    if one.numeric:
        numbers = [float(value) for value in one.at]
        plot = Plot(f"Mean prediction by {one.name}", (numbers[0], numbers[-1]), y, y_label=y_label)
        for index, means in enumerate(one.means):
            plot.line(numbers, means, f"s{index + 1}")
    else:
        levels = [str(value) for value in one.at]
        plot = Plot(f"Mean prediction by {one.name}", (0, len(levels)), y, levels=levels, y_label=y_label)
        for index, means in enumerate(one.means):
            shift = 0.5 + 0.12 * (index - (len(one.means) - 1) / 2)
            for k, (level, mean) in enumerate(zip(levels, means, strict=True)):
                plot.line((k + shift, k + shift), (y[0], mean), f"s{index + 1} thin")
                plot.dot(k + shift, mean, f"s{index + 1}", 4, f"{cut(level)}: {number(mean)}")
    legend = [(f"s{k + 1}", of) for k, of in enumerate(one.of)] if len(one.of) > 1 else []
    return figure(cut(one.name, 50), plot, legend=legend)


def image(one: WeightImage) -> Safe:
    """Draw weights as pixels: positive ones in one colour, negative ones in another, the larger the stronger."""
    side = math.isqrt(len(one.weights))
    largest = max(abs(weight) for weight in one.weights) or 1.0
    rows = bytearray()
    for index, weight in enumerate(one.weights):
        if index % side == 0:
            rows.append(0)
        colour = (0x1F, 0x77, 0xC0) if weight > 0 else (0xD9, 0x5F, 0x0E)
        rows += bytes((*colour, round(255 * abs(weight) / largest)))
    source = f"data:image/png;base64,{base64.b64encode(_png(side, bytes(rows))).decode('ascii')}"
    picture = tag("img", src=source, alt=f"weights of {cut(one.of)}", width=side * 4, height=side * 4)
    return tag("figure", picture, tag("figcaption", name(one.of, 20)), class_="pixels")


def _png(side: int, rows: bytes) -> bytes:
    """Return a square picture; `rows`: a 0 and then red, green, blue and opacity of each pixel, for each row."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
