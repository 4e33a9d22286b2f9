"""A browser that opens playgrounds. Tests that need it are skipped, with the reason, without Chromium or playwright,
unless LINNET_BROWSER=required demands them.
"""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from linnet.playground.server import Server

from .pages import SLOW, Opened
from .served import serving

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    required = os.environ.get("LINNET_BROWSER") == "required"
    if not required:
        pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from playwright.sync_api import sync_playwright

    found = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    chromium = next((path for path in found if path), None)
    if chromium is None and not required:
        pytest.skip("there is no Chromium on this machine")
    assert chromium, "LINNET_BROWSER=required, and there is no Chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture
def opened(browser: Any, server: Server) -> Iterator[Opened]:
    """Open the playground; at the end there must have been no error and no request to anywhere else."""
    contexts, wrong, asked = [], list[str](), set[str]()

    def open_page(link: str = "", width: int = 1440, height: int = 900, at: Server = server, **how: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **how)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(SLOW)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())  # type: ignore[func-returns-value]
        page.on("request", lambda request: asked.add(request.url))
        page.goto(at.address + (f"#{link}" if link else ""))
        page.wait_for_function("() => window.playground?.frames > 0 && !window.playground.frame?.behind")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
    own = ("http://127.0.0.1:", "data:", "blob:http://127.0.0.1:")
    assert {url for url in asked if not url.startswith(own)} == set()
