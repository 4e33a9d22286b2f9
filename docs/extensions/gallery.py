"""Make the pictures that are kept in docs/_static/pictures, each light and dark: `make pictures`.

They are a chart of the benchmarks in docs/results and curves of learning on digits (docs/results/curves, written by
`examples/learning_behaviors.py --save`), in the colours of the style sheet, and what a browser shows of the playground
and of a report. `python -m extensions.gallery speed` makes one of them alone.
"""

import html
import io
import json
import re
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

from extensions import DOCS, ROOT
from extensions.pictures import COLORS
from extensions.results import RESULTS, TITLES, kept_tables, medians

KEPT = DOCS / "_static" / "pictures"
SCHEMES = ("light", "dark")
FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif"
SCALE = 1.5  # pixels of a screenshot per pixel of its page
QUALITY = 78  # of WebP, in which a screenshot has some 100 kB

LAYERS = '[{"units":8,"activation":"tanh","dropout":0},{"units":8,"activation":"tanh","dropout":0}]'
SPIRALS = {"data": "spirals", "noise": "0.05", "layers": LAYERS, "features": '["x1","x2","sin(x1)","sin(x2)"]'}
EPOCHS = 150


def palette(scheme: str) -> dict[str, str]:
    """The colours of the style sheet by their names."""
    style = (DOCS / "_static" / "site.css").read_text("utf-8")
    found = re.search(rf'html\[data-theme="{scheme}"\] \{{(.*?)\}}', style, re.DOTALL)
    assert found
    return dict(re.findall(r"--(\w+): (#\w+)", found[1]))


# ---- drawn ----


def speed(scheme: str) -> str:
    """The median ratio of each kind of benchmark, as bars."""
    color, rows = palette(scheme), sorted(medians(TITLES, kept_tables()), key=lambda row: -row[1])
    longest, left, wide, step = rows[0][1], 200, 290, 32
    parts = []
    for number, (title, ratio) in enumerate(rows):
        y, bar, ink = 12 + number * step, wide * ratio / longest, color["ink"]
        parts.append(
            f'<text x="{left - 12}" y="{y + 14}" text-anchor="end" fill="{ink}">{html.escape(title)}</text>\n'
            f'<rect x="{left}" y="{y}" width="{bar:.1f}" height="18" rx="2" fill="{color["s1"]}"/>\n'
            f'<text x="{left + bar + 8:.1f}" y="{y + 14}" font-weight="600" fill="{ink}">{ratio:.3g} ×</text>\n'
        )
    one, bottom = left + wide / longest, 8 + len(rows) * step
    size = f'width="560" height="{bottom + 28}" viewBox="0 0 560 {bottom + 28}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FAMILY}" font-size="15">\n{"".join(parts)}'
        f'<path d="M{one:.1f} 4V{bottom}" stroke="{color["ink"]}" stroke-dasharray="3 3"/>\n'
        f'<text x="{one:.1f}" y="{bottom + 18}" text-anchor="middle" fill="{color["quiet"]}">as fast as linnet</text>\n'
        "</svg>\n"
    )


def curves() -> dict[str, Any]:
    """Numbers of the learning of digits, epoch by epoch."""
    kept: dict[str, Any] = json.loads((RESULTS / "curves" / "digits.json").read_text("utf-8"))
    return kept


def learning(scheme: str) -> str:
    """One layer and two, in batches of 1 and of 32: loss and accuracy, on training and on test images."""
    kept = curves()
    names = [name for name in kept["curves"] if "batch size" in name]
    shown = {
        name: f"{'784-10' if name.startswith('One') else '784-10-10'} ({kept['parameters'][name]:,} parameters), "
        f"batch {name.rpartition(' ')[2]}"
        for name in names
    }
    looks = dict(zip(names, (("C0", "--"), ("C0", "-"), ("C1", "--"), ("C1", "-")), strict=True))
    return _panels(scheme, shown, looks, ("loss", "accuracy"), (9.4, 8.1))


def optimizers(scheme: str) -> str:
    """Five optimizers on one layer: loss on training and on test images."""
    kept = curves()
    shown = {name: name for name in kept["curves"] if "batch size" not in name}
    lines = (("C0", "-"), ("C1", "--"), ("C2", ":"), ("C3", "-."), ("C4", "-"))
    return _panels(scheme, shown, dict(zip(shown, lines, strict=True)), ("loss",), (9.4, 4.5))


def _panels(
    scheme: str,
    shown: dict[str, str],
    looks: dict[str, tuple[str, str]],
    rows: tuple[str, ...],
    size: tuple[float, float],
) -> str:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullLocator

    numbers, color = curves()["curves"], palette(scheme)
    with mpl.rc_context(fname=DOCS / "extensions" / "matplotlibrc"):
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(rows), 2, sharex=True, sharey="row", squeeze=False)
        for row, quantity in zip(panels, rows, strict=True):
            for panel, side in zip(row, ("", "val_"), strict=True):
                for name, label in shown.items():
                    values = numbers[name][side + quantity]
                    ink, line = looks[name]
                    panel.plot(range(1, len(values) + 1), values, line, color=ink, label=label, linewidth=1.8)
            row[0].set_ylabel(quantity)
            if quantity == "loss":
                row[0].set_yscale("log")
                row[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                if len(rows) == 1:  # less than a decade
                    row[0].set_yticks([0.1, 0.2, 0.5, 1, 2], minor=False)
                    row[0].yaxis.set_minor_locator(NullLocator())
        panels[0, 0].set_title("training images")
        panels[0, 1].set_title("test images")
        for panel in panels[-1]:
            panel.set_xlabel("epoch")
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    for stand_in, variable in COLORS.items():
        svg = svg.replace(stand_in, color[re.sub(r"var\(--(\w+)\)", r"\1", variable)])
    return re.sub(r"font: ([\d.]+px) 'DejaVu Sans'[^;\"]*", rf"font: \1 {FAMILY.replace(chr(39), '')}", svg)


DRAWN = {"speed": speed, "learning": learning, "optimizers": optimizers}


# ---- shown by a browser ----


def page_of(browser: Any, scheme: str, width: int, height: int) -> Any:
    """A page that keeps still."""
    size = {"width": width, "height": height}
    return browser.new_page(viewport=size, color_scheme=scheme, device_scale_factor=SCALE, reduced_motion="reduce")


def playground(browser: Any, scheme: str) -> bytes:
    """A network that has learned two spirals."""
    from linnet.playground.server import Room, Server

    server = Server(Room(), 0)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        page = page_of(browser, scheme, 1280, 1100)
        link = "&".join(f"{name}={quote(value)}" for name, value in {**SPIRALS, "epochs": str(EPOCHS)}.items())
        page.goto(f"{server.address}#{link}")
        page.wait_for_function(
            f"() => document.getElementById('at-epoch').textContent === '{EPOCHS}' && !window.playground.frame.behind"
        )
        box = page.locator("#pr-card").bounding_box()
        shot: bytes = page.screenshot(clip={"x": 0, "y": 0, "width": 1280, "height": box["y"] + box["height"] + 16})
        page.close()
        return shot
    finally:
        server.stop()
        thread.join()


def report(browser: Any, scheme: str) -> bytes:
    """The part of a report with the threshold."""
    from sklearn.datasets import load_breast_cancer

    import linnet

    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(diagnosis=data.target.map({0: "malignant", 1: "benign"}))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        linnet.train(table, "diagnosis", max_iter=30).report(path)
        page = page_of(browser, scheme, 1280, 1130)
        page.goto(path.as_uri())
        page.locator("#decision").evaluate("part => part.scrollIntoView({ behavior: 'instant' })")
        shot: bytes = page.screenshot()
        page.close()
    return shot


SHOWN = {"playground": playground, "report": report}


def as_webp(png: bytes) -> bytes:
    """A screenshot in a tenth of its bytes."""
    from PIL import Image

    out = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").save(out, "WEBP", quality=QUALITY, method=6)
    return out.getvalue()


def main(names: list[str]) -> None:
    """Make the pictures of these names, or all."""
    KEPT.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        if not names or name in names:
            for scheme in SCHEMES:
                (KEPT / f"{name}-{scheme}.svg").write_text(draw(scheme), "utf-8")
    shown = {name: make for name, make in SHOWN.items() if not names or name in names}
    if shown:
        from playwright.sync_api import sync_playwright

        chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            for name, make in shown.items():
                for scheme in SCHEMES:
                    (KEPT / f"{name}-{scheme}.webp").write_bytes(as_webp(make(browser, scheme)))
            browser.close()
    for path in sorted(KEPT.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
