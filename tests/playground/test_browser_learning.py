"""Learning in a real browser: by clicking, from links and presets, from tables; and the way out."""

from pathlib import Path

import pytest

import linnet
from linnet.playground.presets import PRESETS
from linnet.playground.server import Room
from linnet.playground.tables import Table

from .pages import Opened, accuracy, choose, layers, state_of, train_until, wait_for_state
from .programs import facts_of, losses_of
from .served import serving

BACKGROUND = "(e) => getComputedStyle(e).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)"
PIXEL = """(across) => {
    const canvas = document.getElementById("surface");
    const small = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    small.drawImage(canvas, -Math.round(across * canvas.width), -Math.round(canvas.height / 2));
    return [...small.getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""


def test_spirals_are_learned_by_clicking(opened: Opened) -> None:
    page = opened()
    page.get_by_label("Spirals", exact=True).click()
    wait_for_state(page, "s.data === 'spirals'")
    for layer, wanted in ((1, 8), (2, 8)):
        choose(page, f"Activation of layer {layer}", "relu")
        wait_for_state(page, f"s.layers[{layer - 1}].activation === 'relu'")
        while (units := state_of(page)["layers"][layer - 1]["units"]) < wanted:
            page.get_by_label(f"Add a unit to layer {layer}", exact=True).click()
            wait_for_state(page, f"s.layers[{layer - 1}].units === {units + 1}")
    page.locator("#speed").select_option("ten")
    train_until(page, 0.95)
    assert accuracy(page) >= 0.95
    assert page.locator(".node canvas").count() == 7 + 16 + 1


def test_xor_fails_without_a_hidden_layer_and_works_with_one(opened: Opened) -> None:
    page = opened("data=xor&rate=0.03&speed=ten")
    for _ in range(2):
        page.get_by_label("Remove the last hidden layer").click()
    wait_for_state(page, "s.layers.length === 0")
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 200")
    page.locator("#play").click()
    page.wait_for_function("() => !window.playground.playing")
    assert accuracy(page) < 0.75
    page.get_by_label("Add a hidden layer").click()
    wait_for_state(page, "s.layers.length === 1")
    train_until(page, 0.95)


def test_a_layer_may_be_removed_before_the_server_has_answered(opened: Opened) -> None:
    page = opened()
    shown = page.evaluate("""() => {
        const { diagram, facts, store } = window.playground;
        diagram.layout(facts, { ...store.state, layers: [] });
        return diagram.units.length;
    }""")
    assert shown == sum(layer["units"] for layer in state_of(page)["layers"])


def test_softmax_tells_four_classes_apart(opened: Opened) -> None:
    page = opened(f"{layers(8)}&rate=0.03&speed=ten")
    page.get_by_label("Blobs", exact=True).click()
    page.get_by_label("Classes", exact=True).fill("4")
    wait_for_state(page, "s.data === 'blobs' && s.classes === 4")
    train_until(page, 0.95)
    assert "categorical crossentropy" in page.locator("#network-says").inner_text()
    assert page.locator("#confusion tbody tr").count() == 4
    assert [page.locator("#legend span").nth(k).inner_text() for k in range(4)] == ["A", "B", "C", "D"]
    page.locator("#shown").select_option("2")
    page.wait_for_function("() => window.playground.store.state.shown === 2")


def test_regression_and_counts_have_no_classes_to_confuse(opened: Opened) -> None:
    page = opened("data=counts")
    assert page.locator("#metric-title").inner_text() == "R²"
    assert not page.locator("#confusion-card").is_visible()
    page.get_by_label("Circle", exact=True).click()
    wait_for_state(page, "s.data === 'circle'")
    assert page.locator("#confusion-card").is_visible()


def test_what_is_drawn_is_learned(opened: Opened) -> None:
    page = opened("rate=0.03&speed=ten")
    page.get_by_label("Draw", exact=True).click()
    page.wait_for_function("() => document.getElementById('surface').classList.contains('draws')")
    for button in ("play", "step", "epoch", "reset"):  # nothing is trained behind an empty plane
        page.locator(f"#{button}").click()
        page.locator("#toast", has_text="Paint some points of two classes first").wait_for()
    assert not page.evaluate("() => window.playground.playing")
    assert page.locator("#at-epoch").inner_text() == page.locator("#test-metric").inner_text() == "–"
    box = page.locator("#surface").bounding_box()

    def stroke(kind: int, across: float) -> None:
        page.locator(f'[data-brush="{kind}"]').click()
        page.mouse.move(box["x"] + across * box["width"], box["y"] + 0.2 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + across * box["width"], box["y"] + 0.8 * box["height"], steps=25)
        page.mouse.up()

    stroke(0, 0.25)
    stroke(3, 0.75)
    wait_for_state(page, "s.data === 'drawn' && s.points.length > 20")
    assert page.evaluate("() => window.playground.facts.classes") == ["A", "D"]
    train_until(page, 0.99)
    brushes = [page.locator(f'[data-brush="{kind}"]').evaluate(BACKGROUND) for kind in range(6)]
    pale = [[255 + 0.62 * (value - 255) for value in brush] for brush in brushes]
    for kind, across in ((0, 0.03), (3, 0.97)):  # the plane has the colours of the brushes
        seen = page.evaluate(PIXEL, across)
        far = [sum((one - other) ** 2 for one, other in zip(seen, colour, strict=True)) for colour in pale]
        assert far.index(min(far)) == kind


# ---- links, presets and the way out ----


def test_the_link_holds_the_whole_state(opened: Opened) -> None:
    page = opened()
    page.get_by_label("Pinwheels", exact=True).click()
    page.get_by_label("Input sin(x1), not used").click()
    choose(page, "Learning rate", "0.03")
    page.get_by_label("test rows").check()
    page.get_by_label("Noise", exact=True).fill("0.3")
    wait_for_state(page, "s.data === 'pinwheels' && s.features.length === 3 && s.noise === 0.3")
    page.wait_for_function("() => new URLSearchParams(location.hash.slice(1)).get('test') === 'true'")
    link = page.url.partition("#")[2]
    assert "token" not in page.url
    shown = page.evaluate("() => window.playground.store.state")
    again = opened(link)
    assert again.evaluate("() => window.playground.store.state") == shown
    assert state_of(again) == shown
    page.reload()
    page.wait_for_function("() => window.playground?.frames > 0")
    assert state_of(page) == shown


def test_the_link_brings_back_what_was_learned(opened: Opened) -> None:
    page = opened("data=moons&speed=ten")
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 30")
    page.locator("#show-way-out").click()  # which is answered when nothing else is under way
    page.wait_for_function("() => document.getElementById('way-out').dataset.losses")
    page.keyboard.press("Escape")
    loss = "() => [window.playground.frame.epoch, ...window.playground.frame.loss]"
    assert opened(page.url.partition("#")[2]).evaluate(loss) == page.evaluate(loss)
    page.locator("#reset").click()
    page.wait_for_function("() => !location.hash.includes('epochs=')")
    page.locator("#epoch").click()
    page.wait_for_function("() => location.hash.includes('epochs=1')")
    choose(page, "Learning rate", "0.3")  # from here on the state alone does not say how the weights came about
    page.wait_for_function("() => location.hash.includes('past=')")
    page.locator("#epoch").click()
    page.wait_for_function("() => location.hash.includes('epochs=2')")
    page.get_by_label("Unit 2 of layer 1: see and edit its weights").click()
    field = page.get_by_label("Weight from x2", exact=True)
    field.fill("1.75")
    field.press("Enter")
    page.wait_for_function("() => location.hash.includes('1.75')")
    again = opened(page.url.partition("#")[2])
    assert again.evaluate(loss) == page.evaluate(loss)
    theta = "() => [...window.playground.frame.arrays.theta]"
    assert again.evaluate(theta) == page.evaluate(theta)
    assert again.url.partition("#")[2] == page.url.partition("#")[2]
    assert again.evaluate("() => window.playground.curves.run.epoch") == [0, 1, 2]  # its curves are there, too


def test_the_link_tells_of_the_run_on_screen_while_it_is_played(opened: Opened) -> None:
    page = opened()
    page.get_by_label("Unit 4 of layer 1: see and edit its weights").click()
    field = page.get_by_label("Weight from x2", exact=True)
    field.fill("0.1")
    field.press("Enter")
    page.wait_for_function("() => location.hash.includes('0.1')")
    page.keyboard.press("Escape")
    page.locator("#play").click()
    page.wait_for_function("() => /epochs=[1-9]/.test(location.hash)")
    choose(page, "Learning rate", "0.03")
    page.wait_for_function("() => JSON.parse(new URLSearchParams(location.hash).get('past')).length === 2")
    page.get_by_label("Remove a unit from layer 1").click()  # nothing of that is left
    wait_for_state(page, "s.layers[0].units === 3")
    page.wait_for_function("() => !location.hash.includes('past=')")
    assert page.evaluate("() => window.playground.playing")
    page.reload()
    page.wait_for_function("() => window.playground?.frames > 0")
    assert state_of(page)["layers"][0]["units"] == 3
    assert not page.locator("#toast").is_visible()


def test_a_change_just_before_a_pause_is_not_lost(opened: Opened) -> None:
    page = opened()
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 1")
    page.evaluate("() => { window.playground.store.set({ seed: 5 }); document.getElementById('play').click(); }")
    wait_for_state(page, "s.seed === 5 && !p.playing")
    assert page.get_by_label("Seed", exact=True).input_value() == "5"


def test_a_link_is_copied_as_it_is_at_that_moment(opened: Opened) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 10")
    page.locator("#copy-link").click()
    page.locator("#toast", has_text="with the settings and the run, was copied").wait_for()
    again = opened(page.evaluate("() => navigator.clipboard.readText()").partition("#")[2])
    assert again.evaluate("() => window.playground.frame.epoch") >= 10
    page.locator("#play").click()
    page.wait_for_function("() => !window.playground.playing")
    page.evaluate("() => { window.playground.frame.past = null; }")
    page.locator("#copy-link").click()
    page.locator("#toast", has_text="with the settings but not the run").wait_for()
    assert "epochs" not in page.evaluate("() => navigator.clipboard.readText()")


def test_a_preset_begins_anew(opened: Opened) -> None:
    page = opened()
    for epochs in (2, 0):
        page.locator("#show-presets").click()
        page.locator("#presets button", has_text="All zeros never learn").click()
        wait_for_state(page, "s.initialiser === 'zeros' && p.frame.epoch === 0")
        for epoch in range(epochs):
            page.locator("#epoch").click()
            page.wait_for_function(f"() => window.playground.frame.epoch === {epoch + 1}")
    assert "epochs" not in page.url
    assert "stay equal forever" in page.locator("#note").inner_text()


def test_the_link_holds_the_other_views_too(opened: Opened) -> None:
    page = opened("view=backprop")
    page.wait_for_function("() => document.getElementById('backprop-step').textContent.startsWith('Step 1')")
    page.locator("#other-row").click()
    page.wait_for_function("() => document.getElementById('backprop-step').textContent.includes('Row 1')")
    page.locator("#forth").click()
    text = page.locator("#backprop-step").inner_text()
    assert text.startswith("Step 2")
    again = opened(page.url.partition("#")[2])
    again.wait_for_function("(text) => document.getElementById('backprop-step').textContent === text", arg=text)
    assert again.locator("#backprop-graph").text_content() == page.locator("#backprop-graph").text_content()

    page.locator("#tab-approximation").click()
    choose(page, "Function", "bell")
    choose(page, "Activation", "sigmoid")
    page.get_by_label("Units", exact=True).fill("13")
    choose(page, "Epochs of training", "100")
    summaries = "() => ['built-says', 'trained-says'].map((id) => document.getElementById(id).textContent).join()"
    page.wait_for_function("() => /^13 sigmoid.* 100 epochs/.test(document.getElementById('trained-says').textContent)")
    again = opened(page.url.partition("#")[2])
    again.wait_for_function(f"(text) => ({summaries})() === text", arg=page.evaluate(summaries))
    assert again.get_by_label("Function", exact=True).input_value() == "bell"


def test_a_link_that_makes_no_sense_is_told(opened: Opened) -> None:
    page = opened("data=moons")
    before = state_of(page)
    page.evaluate("() => { location.hash = 'data=xor&noise=7&nothing=1'; }")
    page.locator("#toast", has_text="noise must be at least 0 and at most 1, got 7").wait_for()
    assert page.evaluate("() => window.playground.store.state") == before  # all stays as it was, the link too
    assert page.evaluate("() => location.hash") == "#data=moons"
    page.locator("#epoch").click()
    page.wait_for_function("() => window.playground.frame.epoch === 1")
    assert state_of(page)["data"] == "moons"
    choose(page, "Learning rate", "0.03")
    page.wait_for_function("() => location.hash.includes('past=')")
    now = "() => [location.hash, window.playground.frame.run, ...window.playground.frame.arrays.theta]"
    before = page.evaluate(now)
    bad = 'data=xor&epochs=1&past=[{"epochs":1,"edits":[[7,0,0,1]]}]'
    page.evaluate("(bad) => { location.hash = bad; }", bad)
    page.locator("#toast", has_text="layer must be an integer from 0 to 2, got 7").wait_for()
    page.wait_for_function(f"(before) => String(({now})()) === String(before)", arg=before)
    page.evaluate("() => { location.hash = 'data=xor&epochs=3'; }")  # and one that does is followed
    wait_for_state(page, "s.data === 'xor' && p.frame.epoch === 3")


@pytest.mark.parametrize(
    ("link", "unread"),
    [
        ("pins=5", "pins"),
        ('pins=["length*a*accuracy*0_1*1_1*1_1*1_1*1_1","0*a*accuracy*0_1e999*1_1*1_1*1_1*1_1"]', ""),
        ("past={}", "past"),
        ('past=[{"epochs":2', "past"),
        ("points=5&threshold=null&layers=2&curve=[]", "points, threshold, layers, curve"),
        ("toString=1&__proto__=1", ""),
    ],
)
def test_what_cannot_be_read_of_a_link_is_left_out(opened: Opened, link: str, unread: str) -> None:
    page = opened(f"data=xor&{link}")
    assert state_of(page)["data"] == "xor"
    assert page.locator("#pins .pin").count() == 0
    message = f"The link is incomplete: {unread} cannot be read and will be ignored."
    assert page.locator("#toast").text_content() == (message if unread else "")


def test_an_empty_plane_can_be_painted_on_after_a_reload(opened: Opened) -> None:
    page = opened("speed=ten")
    page.locator("#epoch").click()
    page.wait_for_function("() => location.hash.includes('epochs=1')")
    page.get_by_label("Draw", exact=True).click()
    page.wait_for_function("() => location.hash === '#data=drawn&speed=ten'")
    page.reload()
    page.locator("#surface.draws").wait_for()
    assert page.locator(".node").count() == 7 + 4 + 2 + 1
    assert page.locator("#at-epoch").inner_text() == "–"
    page.locator("#surface").focus()
    for brush in (0, 1):
        page.locator(f'[data-brush="{brush}"]').click()
        page.locator("#surface").focus()
        for _ in range(2):
            page.keyboard.press("ArrowUp")
            page.keyboard.press("Enter")
    wait_for_state(page, "s.data === 'drawn' && s.points.length === 4 && p.frame.epoch === 0")


def test_presets_are_offered_with_what_there_is_to_see(opened: Opened) -> None:
    page = opened()
    page.locator("#show-presets").click()
    assert page.locator("#presets button").count() == len(PRESETS)
    page.locator("#presets button", has_text="All zeros never learn").click()
    wait_for_state(page, "s.initialiser === 'zeros'")
    assert "stay equal forever" in page.locator("#note").inner_text()


def test_the_program_on_screen_gives_the_losses_on_screen(opened: Opened, tmp_path: Path) -> None:
    page = opened(f"data=pinwheels&{layers(5, activation='relu')}&speed=ten&l2=0.001")
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 20")
    choose(page, "Learning rate", "0.003")
    page.wait_for_function("() => window.playground.frame?.epoch >= 60")
    page.locator("#show-way-out").click()
    page.wait_for_function("() => document.getElementById('way-out').dataset.losses")
    shown = page.evaluate("() => JSON.parse(document.getElementById('way-out').dataset.losses)")
    assert page.evaluate("() => window.playground.frame.loss") == shown
    assert losses_of(page.locator("#program").inner_text(), tmp_path) == shown
    assert "will differ" in page.locator("#command-note").inner_text()  # the rate was changed on the way
    with page.expect_download() as download:
        page.locator("#download-model").click()
    download.value.save_as(tmp_path / "model.linnet")
    assert linnet.load(tmp_path / "model.linnet").count_params() == 33


def test_the_command_on_screen_gives_the_losses_on_screen(opened: Opened, tmp_path: Path) -> None:
    page = opened(f"data=pinwheels&classes=4&{layers(5, activation='relu')}&speed=ten&l2=0.001")
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 20")
    page.locator("#show-way-out").click()
    page.wait_for_function("() => document.getElementById('way-out').dataset.losses")
    assert "the same losses as above" in page.locator("#command-note").inner_text()
    for part in ("train", "test"):
        with page.expect_download() as download:
            page.locator(f"#download-{part}").click()
        download.value.save_as(tmp_path / download.value.suggested_filename)
    reported = facts_of(page.locator("#command").inner_text(), tmp_path)["losses"]
    shown = page.evaluate("() => JSON.parse(document.getElementById('way-out').dataset.losses)")
    assert [reported["train"], reported["held_out"]] == shown


def test_a_link_to_a_table_that_is_not_there_leads_to_a_page_all_the_same(opened: Opened) -> None:
    with serving() as other:
        page = opened("data=table&target=y", at=other)
        page.locator("#toast", has_text="data='table' needs a table").wait_for()
        assert state_of(page)["data"] == "circle"
        page.close()


# ---- tables ----

HOSTILE = "<img src=x onerror=alert(1)>"


def csv(folder: Path, names: tuple[str, str, str] = ("wide", "long", "kind"), kinds: str = "ab") -> Path:
    lines = [",".join(f'"{name}"' for name in names)]
    lines += [f"{(k * 7) % 23}.5,{(k * 5) % 19}.25,{kinds[(k * 7) % 23 > 11]}" for k in range(120)]
    path = folder / "own.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_of_ones_own_is_opened_on_the_page(opened: Opened, tmp_path: Path) -> None:
    page = opened("speed=ten&rate=0.03")
    with page.expect_file_chooser() as chooser:
        page.get_by_label("Table", exact=True).click()
    chooser.value.set_files(csv(tmp_path))
    wait_for_state(page, "s.data === 'table' && s.target === 'kind'")
    choose(page, "x axis", "wide")
    wait_for_state(page, "s.axes.length === 2")
    assert page.locator("#axis-x").inner_text() == "wide"
    train_until(page, 0.98)
    page.locator("#show-way-out").click()
    page.locator("#command", has_text="own.csv --target kind").wait_for()
    page.keyboard.press("Escape")
    with page.expect_file_chooser() as chooser:
        page.get_by_label("Open another file", exact=True).click()
    chooser.value.set_files(csv(tmp_path, kinds="cd"))  # of the same name, with the same columns
    page.wait_for_function("() => window.playground.facts.classes.join() === 'c,d' && window.playground.frame")


def test_names_from_data_are_shown_and_not_run(opened: Opened, tmp_path: Path) -> None:
    table = Table.read([csv(tmp_path, (HOSTILE, "long", "kind"))])
    with serving(Room(table, {"data": "table", "target": "kind", "axes": [HOSTILE, "long"]})) as other:
        page = opened(at=other)
        assert state_of(page)["data"] == "table"
        assert page.locator("#axis-x").inner_text() == HOSTILE
        assert page.locator(".node-name", has_text=HOSTILE).count() == 1
        assert page.locator("img").count() == 0
        page.locator("#show-way-out").click()
        page.locator("#program", has_text="onerror").wait_for()
        page.close()


def test_the_dispersion_of_counts_is_on_screen_and_in_the_formulas(opened: Opened) -> None:
    page = opened("data=bursts&head=negative_binomial&epochs=5")
    found = page.evaluate("() => window.playground.frame.parameter")
    assert (found["symbol"], 0.1 < found["value"] < 3) == ("d", True)
    shown = f"dispersion d = {found['value']:.3f}"
    assert page.locator("#loss-unit").inner_text() == shown
    assert page.get_by_label("Head", exact=True).locator("option:checked").inner_text() == "Negative binomial"
    page.locator("#tab-backprop").click()
    page.locator("#backprop-place").fill("4")
    page.wait_for_function("() => document.getElementById('backprop-formula').textContent.includes('dispersion')")
    text = page.locator("#backprop-formula").inner_text()
    assert "(t + 1/d) log(1 + d·e^z) − t·z" in text
    assert shown in text
    page.locator("#tab-train").click()
    choose(page, "Head", "poisson")
    wait_for_state(page, "s.head === 'poisson'")
    page.wait_for_function("() => !document.getElementById('loss-unit').textContent")
