"""How many frames per second the playground draws while it trains, and what that costs.

    python bench/playground.py

Prints for several networks the frames and epochs per second, and the share of a core that server and browser use; with
--keep also into docs/results, for docs/benchmarks.md. Needs playwright and Chromium on this machine. Figures of a busy
machine mean little: the load is kept with them.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness import show
from results import keep, run_facts

SECONDS = 5
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
CASES: dict[str, dict[str, Any]] = {
    "spirals, 8-8, normal speed": {"data": "spirals", "units": [8, 8], "speed": "epoch"},
    "spirals, 8-8, full speed": {"data": "spirals", "units": [8, 8], "speed": "most"},
    "circle, six layers of 8": {"data": "circle", "units": [8] * 6, "speed": "epoch"},
    "pinwheels of 6 classes, 16-16": {"data": "pinwheels", "classes": 6, "units": [16, 16], "speed": "epoch"},
    "digits, 16": {"data": "digits", "units": [16], "batch": 32, "speed": "epoch"},
}


def link(case: dict[str, Any]) -> str:
    layers = [{"units": units, "activation": "tanh", "dropout": 0} for units in case["units"]]
    rest = {name: value for name, value in case.items() if name != "units"}
    return "&".join([f"layers={quote(json.dumps(layers))}", *(f"{name}={value}" for name, value in rest.items())])


def processor_seconds(root: int) -> float:
    """Of a process and all below it, as Linux tells it."""
    of, parents = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdecimal() else None
        except OSError:  # gone by now
            continue
        if fields:
            parents[int(entry.name)] = int(fields[1])
            of[int(entry.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_below(process: int) -> bool:
        while process > 1:
            if process == root:
                return True
            process = parents.get(process, 0)
        return False

    return sum(seconds for process, seconds in of.items() if is_below(process))


def main() -> None:
    from playwright.sync_api import sync_playwright

    where = run_facts(["playwright"])
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    command = [sys.executable, "-m", "linnet", "play", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().split()[1]
    rows = []
    try:
        for name, case in CASES.items():
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.goto(f"{address}#{link(case)}")
                page.wait_for_function("() => window.playground?.frames > 0")
                page.click("#play")
                page.wait_for_function("() => window.playground.frames > 20")
                counts = "() => [window.playground.frames, window.playground.frame.epoch]"
                began, before = time.perf_counter(), page.evaluate(counts)
                costs = processor_seconds(server.pid), processor_seconds(os.getpid())
                page.wait_for_timeout(1000 * SECONDS)
                after, seconds = page.evaluate(counts), time.perf_counter() - began
                of_server = processor_seconds(server.pid) - costs[0]
                of_browser = processor_seconds(os.getpid()) - costs[1] - of_server
                rates = [(new - old) / seconds for new, old in zip(after, before, strict=True)]
                parts = [f"{cost / seconds:.0%} of a core" for cost in (of_server, of_browser)]
                rows.append([name, *(f"{rate:,.0f}" for rate in rates), *parts])
                browser.close()
    finally:
        server.terminate()
        server.wait()
    table = ["network", "frames per second", "epochs per second", "server", "browser"], rows
    show(*table)
    if "--keep" in sys.argv:
        keep("playground", where, {"playground": table})


if __name__ == "__main__":
    main()
