"""In a real browser: what is impossible is reported, and everything else stays as it was."""

from pathlib import Path
from typing import Any

import pytest

from .pages import Opened, wait_for_state


def choose_xor(page: Any) -> None:
    page.get_by_label("Xor", exact=True).click()
    wait_for_state(page, "s.data === 'xor'")


def toast(page: Any, text: str) -> None:
    page.wait_for_function("(text) => document.getElementById('toast').innerText.includes(text)", arg=text)


def test_a_wrong_interval_goes_back_to_the_last_one(opened: Opened) -> None:
    page = opened("view=approximation")
    page.locator("#built-chart .net").wait_for()
    page.get_by_label("From", exact=True).fill("5")
    page.get_by_label("From", exact=True).press("Enter")
    toast(page, "high must be at least 0.1 more than low")
    page.wait_for_function("() => document.querySelector('[aria-label=From]').value === '-3'")
    page.locator("#tab-train").click()
    choose_xor(page)
    assert "curve" not in page.url


@pytest.mark.parametrize("link", ["seed=99999999999", "rate=-1", "batch=5000000"])
def test_a_link_that_leads_nowhere_leaves_a_page_that_works(opened: Opened, link: str) -> None:
    page = opened("data=moons")
    page.evaluate("(link) => { location.hash = link; }", link)
    toast(page, "must be")
    wait_for_state(page, "s.data === 'moons'")
    page.wait_for_function("() => window.playground.store.state.data === 'moons'")
    choose_xor(page)


def test_a_seed_is_kept_within_its_range(opened: Opened) -> None:
    page = opened()
    field = page.get_by_label("Seed", exact=True)
    field.fill("99999999999")
    field.press("Enter")
    wait_for_state(page, "s.seed === 4294967295")
    assert field.input_value() == "4294967295"
    choose_xor(page)


def test_a_refused_setting_is_taken_back_even_where_the_focus_is(opened: Opened) -> None:
    page = opened()
    page.get_by_label("Seed", exact=True).focus()
    page.evaluate("() => window.playground.store.set({ seed: 2 ** 40 })")
    toast(page, "seed must be")
    page.wait_for_function("() => document.querySelector('[aria-label=Seed]').value === '0'")
    assert page.evaluate("() => document.activeElement.ariaLabel") == "Seed"
    choose_xor(page)


def test_a_weight_out_of_range_is_taken_back(opened: Opened) -> None:
    page = opened()
    page.get_by_label("Unit 2 of layer 1: see and edit its weights").click()
    field = page.get_by_label("Weight from x2", exact=True)
    before = field.input_value()
    field.fill("5000")
    field.press("Enter")
    toast(page, "A weight must be a number from −1000 to 1000")
    assert field.input_value() == before
    field.fill("2.5")
    field.press("Enter")
    page.wait_for_function("() => window.playground.frame.arrays.theta[5] === 2.5")


def opens(page: Any, path: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator("[data-set=table]:visible, [aria-label='Open another file']:visible").last.click()
    chooser.value.set_files(path)


def test_a_table_that_cannot_be_used_leaves_what_was_there(opened: Opened, tmp_path: Path) -> None:
    good, classes, alone = (tmp_path / f"{name}.csv" for name in ("good", "classes", "alone"))
    good.write_text("a,b,y\n" + "".join(f"{k % 7}.5,{k % 5}.5,{k % 2}\n" for k in range(40)))
    classes.write_text("a,y,many\n" + "".join(f"{k % 7}.5,{k % 2},c{k % 12}\n" for k in range(60)))
    alone.write_text("y\n" + "".join(f"{k % 5}.5\n" for k in range(40)))
    page = opened()
    opens(page, alone)
    toast(page, "there is no column to learn from")
    page.wait_for_function("() => window.playground.store.state.data === 'circle'")
    choose_xor(page)
    opens(page, good)
    wait_for_state(page, "s.target === 'y' && p.facts.inputs.join() === 'a,b'")
    page.evaluate("() => { document.getElementById('toast').textContent = ''; }")  # the same message comes again
    opens(page, alone)
    page.wait_for_function("() => document.getElementById('toast').textContent.includes('is the only one')")
    page.wait_for_function("() => document.getElementById('table-controls').innerText.includes('good.csv')")
    page.get_by_label("Predict", exact=True).select_option("b")
    wait_for_state(page, "s.target === 'b' && p.facts.inputs.join() === 'a,y'")
    choose_xor(page)
    page.locator("[data-set=table]").click()
    page.locator("#table-controls").wait_for()
    opens(page, classes)  # the last column has too many classes: the one before
    wait_for_state(page, "s.target === 'y' && p.facts.inputs.includes('many=c1')")


def test_what_is_not_painted_yet_has_no_way_out_and_no_gradients(opened: Opened) -> None:
    page = opened()
    page.locator("#epoch").click()
    page.wait_for_function("() => window.playground.frame?.epoch === 1")
    page.get_by_label("Draw", exact=True).click()
    for button in ("show-way-out", "pin"):
        page.locator("#toast").evaluate("(e) => { e.textContent = ''; }")
        page.locator(f"#{button}").click()
        toast(page, "Paint some points of two classes first")
    assert not page.locator("#way-out").is_visible()
    assert page.locator("#pins .pin").count() == 0
    page.locator("#tab-backprop").click()
    assert page.locator("#backprop-step").inner_text().startswith("Paint some points of two classes first")
    assert page.locator("#backprop-graph .stop").count() == 0
    page.evaluate("() => window.playground.store.set({ points: [[1, 1, 0], [2, 2, 0], [-1, -1, 1], [-2, -1, 1]] })")
    page.locator("#backprop-graph .stop").first.wait_for()
    assert page.locator("#forth").is_enabled()
