"""What tests do on a page of the playground."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

SLOW = 60_000  # milliseconds to wait for what training brings about, on a busy machine
TOO_WIDE = """() => [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll") && e.checkVisibility())
    .map((e) => e.outerHTML.slice(0, 200))"""
PLACES = """() => [...document.querySelectorAll(".card, .node, .transport button, .chart svg")].map((e) => {
    const box = e.getBoundingClientRect();
    return [box.x, box.y, box.width, box.height].map(Math.round).join();
})"""
BRIGHTNESS = """() => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
    return (r + g + b) / 3;
}"""

Opened = Callable[..., Any]


def layers(*units: int, activation: str = "tanh") -> str:
    text = ",".join(f'{{"units":{count},"activation":"{activation}","dropout":0}}' for count in units)
    return f"layers={quote(f'[{text}]')}"


def accuracy(page: Any) -> float:
    return float(page.locator("#test-metric").inner_text().rstrip("%")) / 100


def train_until(page: Any, least: float) -> None:
    page.locator("#play").click()
    page.wait_for_function(f"() => parseFloat(document.getElementById('test-metric').textContent) >= {100 * least}")
    page.locator("#play").click()
    page.wait_for_function("() => !window.playground.playing")


def state_of(page: Any) -> Any:
    return page.evaluate("() => window.playground.facts.state")


def wait_for_state(page: Any, condition: str) -> None:
    """Wait until the server has a state and has sent a frame of it."""
    page.wait_for_function(
        f"() => {{ const p = window.playground, s = p.facts?.state; return p.frame && ({condition}); }}"
    )


def choose(page: Any, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(value)
