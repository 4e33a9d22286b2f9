"""The page of benchmarks is made from saved results: bench/results.py writes them, the site reads them."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from extensions.results import RESULTS, bars, check_places, fill
from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench" / "results.py"


@pytest.fixture(scope="module")
def bench() -> Any:
    if not BENCH.exists():
        pytest.skip("this is a source distribution, which has no bench/")
    spec = importlib.util.spec_from_file_location("bench_results", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(**times: str) -> tuple[list[str], list[list[str]]]:
    return ["workload", "", "linnet", "ratio"], [[name, f"about {name}", time, "3.5"] for name, time in times.items()]


def test_a_run_says_where_it_was(bench: Any) -> None:
    facts = bench.run_facts(["scikit-learn", "no-such-library"])
    assert " cores, instruction set " in facts["machine"]
    assert facts["date"].endswith(" UTC")
    assert facts["load"] >= 0
    assert facts["versions"].keys() == {"linnet", "Python", "numpy", "scikit-learn"}


def test_a_new_run_replaces_what_it_measured_again_and_nothing_else(bench: Any, tmp_path: Path) -> None:
    first, second = ({**bench.run_facts([]), "date": date} for date in ("2026-01-01 10:00 UTC", "2026-02-02 10:00 UTC"))
    bench.keep("kind", first, {"times": table(a="1 s", b="2 s"), "more": table(c="9 s")}, tmp_path)
    path = bench.keep("kind", second, {"times": table(b="3 s")}, tmp_path)
    runs = json.loads(path.read_text())["runs"]
    assert [run["date"] for run in runs] == [first["date"], second["date"]]
    assert [[row[0] for row in run["tables"]["times"]["rows"]] for run in runs] == [["a"], ["b"]]
    page = fill("Before.\n\n<!-- results: times -->\n\n<!-- results: more -->\n", tmp_path)
    assert page.startswith("Before.")
    assert "3 s" in page
    assert "2 s" not in page  # measured again
    assert page.index("2026-01-01") < page.index("2026-02-02")
    assert page.count(first["machine"]) == 3
    bench.keep("kind", second, {"times": table(a="1 s", b="2 s"), "more": table(c="9 s")}, tmp_path)
    assert [run["date"] for run in json.loads(path.read_text())["runs"]] == [second["date"]]


def test_figures_are_shown_as_they_were_kept(bench: Any, tmp_path: Path) -> None:
    bench.keep("kind", bench.run_facts([]), {"times": table(a="1 < 2 * 3 | 4")}, tmp_path)
    page = fill("<!-- results: times -->", tmp_path)
    assert '<td class="whole">1 &lt; 2 * 3 | 4</td><td class="whole"><b>3.5</b></td>' in page
    assert "<td>about a<small>a</small></td>" in page


def test_a_table_without_a_place_or_a_place_without_a_table_fails_the_build(bench: Any, tmp_path: Path) -> None:
    bench.keep("kind", bench.run_facts([]), {"times": table(a="1 s")}, tmp_path)
    for text, message in {
        "no place": "times",
        "<!-- results: times -->\n\n<!-- results: other -->": "other",
        "<!-- results: times -->\n\n<!-- results: times -->": "times",
        "<!-- results: times -->\n\n<!-- chart: nothing -->": "a chart of nothing",
    }.items():
        with pytest.raises(ExtensionError, match=message):
            check_places(text, tmp_path)


def test_bars_are_as_long_as_ratios() -> None:
    kept: dict[str, Any] = {
        "linear": [({}, {"columns": ["workload", "", "ratio"], "rows": [["a", "x", "2"], ["b", "y & z", "8.0"]]})]
    }
    chart = bars(["linear"], kept)
    assert 'width="25.0%"' in chart
    assert 'width="100.0%"' in chart
    assert chart.index("y &amp; z") < chart.index("x</th>")  # the longest first
    assert "2 ×" in chart
    assert 'x1="12.5%"' in chart  # as fast as linnet
    both = bars(["linear", "networks"], {**kept, "networks": kept["linear"]})
    assert both.count("5 ×") == 2  # medians


def test_the_page_has_the_last_runs_with_their_machine() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    check_places(text)
    page = fill(text)
    for path in RESULTS.glob("*.json"):
        for run in json.loads(path.read_text())["runs"]:
            assert run["machine"] in page
            assert run["date"] in page
    assert "<!-- " not in page
