"""The course by lecture: chapters and assignments have their places, links to the playground are states."""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, unquote

import pytest
from extensions import slides

from linnet.learn.course import assignments
from linnet.playground.server import PORT
from linnet.playground.state import State

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
PAGE = (GUIDE / "teaching.md").read_text()
LECTURES = re.split(r"^## Lecture ", PAGE.partition("\n## Slides\n")[0], flags=re.MULTILINE)[1:]
LINKS = re.findall(r"\]\(http://127\.0\.0\.1:(\d+)/#([^)]*)\)", PAGE)


def test_every_lecture_says_what_it_is_for_what_it_needs_and_how_long_it_takes() -> None:
    assert [int(text.partition(":")[0]) for text in LECTURES] == list(range(1, 13))
    for text in LECTURES:
        for part in ("Afterwards students can", "Read", "Write", "Time"):
            assert f"- **{part}**" in text, text[:40]
        minutes = [int(each) for each in re.findall(r"(\d+) min", text.partition("**Time**")[2])]
        assert sum(minutes) == 90, text[:40]


def test_every_assignment_is_written_once_and_in_the_order_of_the_course() -> None:
    written = [
        name
        for text in LECTURES
        for name in re.findall(r"`([\w-]+)`", text.partition("**Write**")[2].partition("\n- **")[0])
    ]
    assert sorted(written) == sorted(each.name for each in assignments())


def test_every_chapter_is_read() -> None:
    read = {name for text in LECTURES for name in re.findall(r"\((\w+)\.md", text.partition("**Read**")[2])}
    assert read >= {*slides.chapters()}


@pytest.mark.parametrize(("port", "fragment"), LINKS)
def test_links_to_the_playground_are_states(port: str, fragment: str) -> None:
    """As the page reads them: text where the default is text, JSON elsewhere."""
    assert int(port) == PORT
    defaults = State()
    given = {}
    for name, text in parse_qsl(unescape(unquote(fragment)), strict_parsing=True):
        given[name] = text if isinstance(getattr(defaults, name), str) else json.loads(text)
    assert given
    state = State.of(given)
    assert state != defaults


def test_the_run_of_66_epochs_is_among_them() -> None:
    (fragment,) = [fragment for _, fragment in LINKS if "epochs=66" in fragment]
    for part in ("rate=0.03", "l2=0.001", '"activation":"relu"'):
        assert part in fragment
