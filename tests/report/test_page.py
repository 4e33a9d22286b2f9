import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import linnet
from linnet.report import Facts, facts_of, page, write_report
from linnet.report.markup import cut, escape, fixed, name, number
from linnet.report.page import SECTIONS
from linnet.report.section import Section, Shown, Subject
from linnet.report.svg import tick_labels, ticks
from linnet.tables.model import TableModel

from .small_tables import CASES, HOSTILE, case, facts, hostile_facts, trained


class Reader(HTMLParser):
    """What a page is made of, and whether all elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.mark.parametrize(("task", "model"), CASES)
def test_every_task_has_a_page_that_is_whole_and_small(task: str, model: str) -> None:
    html = page(facts(task, model))
    read = Reader(html)
    assert len(html.encode()) < 300_000
    assert html == page(facts(task, model))
    there = {attrs["id"] for _, attrs in read.tags if "id" in attrs}
    links = [attrs["href"] for tag, attrs in read.tags if tag == "a"]
    assert len(links) >= 5
    assert all(link is not None and link[0] == "#" and link[1:] in there for link in links)
    expected = {"summary", "metrics", "candidates", "columns", "repeat"}
    expected |= {"classes"} if task.endswith("classes") else {"fit", "residuals"}
    expected |= {"importance", "learning"} if model == "mlp" else set()
    expected |= {"coefficients"} if model in ("logistic", "softmax", "poisson", "linear", "perceptron") else set()
    assert expected <= there
    text = "".join(read.text)
    assert "linnet train data.csv --target y" in text
    assert "nan" not in re.findall(r"[a-z]+", text.lower())


@pytest.mark.parametrize(("task", "model"), CASES)
def test_few_rows_and_rows_of_one_class_have_a_page(task: str, model: str) -> None:
    one = case(task, model)
    y = one.model.target_of(one.held_out).astype(str)
    for rows in ([0, 1], np.flatnonzero(y == y[0])[:7], np.unique(y, return_index=True)[1]):
        if len(rows) > 1:
            found = facts_of(one.model, one.held_out.take(rows), training=one.training)
            assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["held_out"] == len(rows)
            assert any(tag == "main" for tag, _ in Reader(page(found)).tags)


@pytest.mark.filterwarnings("ignore::linnet.errors.DataWarning")
@pytest.mark.parametrize("column", ["constant", "huge"])
def test_columns_that_change_no_prediction_and_residuals_of_any_size_have_a_page(column: str, tmp_path: Path) -> None:
    """No column is important, so that all intervals are at 0; residuals around 1e17 have a histogram."""
    random = np.random.default_rng(0)
    level, noise = random.choice(["a", "b"], 60), random.normal(size=60)
    y = {"constant": np.where(noise > 0, "yes", "no"), "huge": 1e17 + 16 * np.round(noise)}
    model = linnet.train({"level": level, "y": y[column]}, "y", model="mlp", max_iter=1)
    for rows in (2, 3, 30):
        chosen = np.repeat(level[:1], rows), y[column][:rows]
        model.report(tmp_path / "page.html", {"level": chosen[0], "y": chosen[1]})
        assert "</html>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("task", ["two classes", "many classes", "counts", "a number"])
def test_a_single_row_of_any_weight_has_a_page(task: str, tmp_path: Path) -> None:
    """Neither a class whose rows have weight 0 nor a sample of such rows can be measured."""
    random = np.random.default_rng(0)
    y: dict[str, Any] = {
        "two classes": random.choice(["a", "b"], 60),
        "many classes": random.choice(["a", "b", "c"], 60),
        "counts": random.poisson(1, 60).astype(float),
        "a number": random.normal(size=60),
    }
    rows = {"weight": random.integers(0, 2, 60).astype(float), "size": random.normal(size=60), "y": y[task]}
    model = linnet.train(rows, "y", weights="weight", task=task)
    few = {name: np.asarray(values)[:4] for name, values in rows.items()} | {"weight": np.array([0.0, 0.0, 3.0, 0.0])}
    model.report(tmp_path / "page.html", few)
    assert "</html>" in (tmp_path / "page.html").read_text()
    assert model.evaluate(few)


def test_a_page_loads_nothing_and_has_no_style_or_script_in_attributes() -> None:
    for task, model in CASES:
        for tag, attrs in Reader(page(facts(task, model))).tags:
            assert tag not in ("link", "iframe", "object", "form", "base")
            assert not any(key == "style" or key.startswith("on") for key in attrs)
            assert (attrs.get("src") or "data:").startswith("data:")
    policy = next(attrs["content"] for tag, attrs in Reader(page(facts(*CASES[0]))).tags if "http-equiv" in attrs)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_names_are_shown_and_not_run() -> None:
    for model in ("softmax", "mlp"):
        html = page(hostile_facts(model))
        read = Reader(html)
        tags = [tag for tag, _ in read.tags]
        assert tags.count("script") == 2  # the cut-offs, and the slider
        assert "img" not in tags
        assert not any("onerror" in attrs or "onload" in attrs for _, attrs in read.tags)
        text = "".join(read.text)
        assert all(hostile in text for hostile in HOSTILE[:5])
        assert "alert(1)</script>" not in html
        assert "\x00" not in html
        assert len(html) < 400_000


def test_names_of_two_hostile_classes() -> None:
    random = np.random.default_rng(0)
    y = random.choice(HOSTILE[2:4], 200).tolist()
    one = trained(pa.table({"x": random.normal(size=200), "y": y}), "y", "two classes", model="logistic")
    html = page(facts_of(one.model, one.held_out))
    assert [tag for tag, _ in Reader(html).tags].count("script") == 2


def test_thousands_of_columns_are_not_all_listed() -> None:
    random = np.random.default_rng(0)
    whole = pa.table({**{f"column {k}": random.normal(size=60) for k in range(3000)}, "y": random.normal(size=60)})
    one = trained(whole, "y", "a number", model="linear")
    html = page(facts_of(one.model, one.held_out, training=one.training))
    assert len(html) < 300_000
    assert "And 2,940 more columns." in html
    assert "more coefficients." in html


def test_a_report_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(path, facts("a number", "linear"))
    assert path.read_text("utf-8") == page(facts("a number", "linear"))
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


class RowCount(Section):
    """A section as a contributor would add it."""

    empty: ClassVar[Mapping[str, Any]] = {"row_count": None}

    def applies(self, model: TableModel) -> bool:
        return model.classes is None

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        return {"row_count": len(subject.evaluation.y)}

    def notices(self, facts: Mapping[str, Any], model: TableModel) -> list[str]:
        return [f"{facts['row_count']} rows were counted"]

    def show(self, facts: Facts) -> list[Shown]:
        return [] if facts.row_count is None else [Shown.of("count", "Row count", f"{facts.row_count} rows")]


@pytest.fixture
def one_more_section() -> Iterator[None]:
    SECTIONS.append(RowCount())
    yield
    SECTIONS.pop()


@pytest.mark.usefixtures("one_more_section")
def test_a_section_is_one_entry_of_the_list() -> None:
    for task, model, there in (("a number", "linear", True), ("two classes", "logistic", False)):
        one, done = case(task, model), list[float]()
        found = facts_of(one.model, one.held_out, progress=done.append)
        assert found.to_dict()["row_count"] == (80 if there else None)
        assert ('<section id="count">' in page(found)) is there
        assert ("80 rows were counted" in found.notices) is there
        assert done == sorted(done)
        assert done[-1] == 1.0
    with pytest.raises(AttributeError, match="a report has no 'coeficients': it has metrics"):
        found.coeficients  # noqa: B018


# ---- text and numbers ----


def test_escape_leaves_no_markup() -> None:
    assert escape("<a href=\"x\" title='y'>&") == "&lt;a href=&quot;x&quot; title=&#x27;y&#x27;&gt;&amp;"
    assert escape(escape("<")) == "&lt;"
    assert name("x" * 1000).count("x") < 600
    assert "blank" in name("  ")
    assert cut("abcdef", 4) == "abc…"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.12345, "0.1235"),
        (-1234.5, "−1,235"),
        (1.5e9, "1.500e9"),
        (2e-7, "2.000e−7"),
        (float("nan"), "–"),
    ],
)
def test_numbers_are_readable(value: float, text: str) -> None:
    assert number(value) == text


def test_ties_are_rounded_as_the_script_does() -> None:
    assert number(0.8125, 3) == fixed(0.8125, 3) == "0.813"
    assert number(-0.8125, 3) == "−0.813"


def test_epochs_are_whole_and_an_intercept_has_no_odds_ratio() -> None:
    learning = page(facts("two classes", "mlp")).split('<section id="learning">')[1]
    assert ">1.5<" not in learning.split("</section>")[0]
    found = facts("two classes", "logistic").coefficients
    (intercept,) = [row for row in found.rows if row.is_intercept]
    cells = page(facts("two classes", "logistic")).split("<em>intercept</em>")[1].split("</tr>")[0]
    assert number(intercept.value) in cells
    assert cells.endswith('<td class="number">–</td>')


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (-3.2, 7.9), (1e6, 1.5e6), (-1e-9, 1e-9), (1e12, 1.1e12), (5, 5), (0, 1e300), (-1e-300, 0)],
)
def test_ticks_are_few_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 9
    assert all(low - 1e-9 * abs(low) <= tick <= high + 1e-9 * abs(high) for tick in found)
    assert len(tick_labels(found)) == len(found)
    assert all(len(label) < 10 for label in tick_labels(found))
