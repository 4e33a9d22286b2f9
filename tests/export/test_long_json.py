"""JSON in pieces is the JSON that Python's own parser reads, wherever the pieces end."""

import json
import random
from typing import Any

import pytest

from linnet.data.characters import is_whole
from linnet.errors import FormatError
from linnet.export import long_json
from linnet.export.long_json import LongJSON, Made, Memory
from linnet.texts import Texts
from linnet.untrusted import once

SCALARS = [None, True, 0, -9, 1.5e300, 123456789012, "", "a", 'a"],[{,}', "\\", "\\\\", "ü\U0001f600\0", "},", "x" * 50]


@pytest.fixture(params=[8, 30, 200])
def _pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_json, "_PIECE", request.param)
    monkeypatch.setattr(long_json, "_SHORT", request.param // 4)


def made_up(rng: random.Random, depth: int = 0) -> Any:
    what = rng.randrange(6 if depth < 5 else 4)
    if what < 3:
        return rng.choice(SCALARS)
    count = rng.choice([0, 1, 2, 5, 20])
    if what == 3:
        return [rng.choice(["ab", "", "ü", '",']) for _ in range(20 * count)]
    if what == 4:
        return [made_up(rng, depth + 1) for _ in range(count)]
    return {f"k{each}": made_up(rng, depth + 1) for each in range(count)}


def read_whole(reader: LongJSON) -> Any:
    value = reader.value()
    reader.end()
    return value


def plain(value: Any) -> Any:
    """Values in lists and dicts of Python's."""
    if isinstance(value, list | Texts):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.usefixtures("_pieces")
def test_any_json_is_read_as_python_reads_it() -> None:
    rng = random.Random(0)
    for _ in range(300):
        value = made_up(rng)
        form: dict[str, Any] = rng.choice([{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}])
        reader = LongJSON(json.dumps(value, **form), Memory(1 << 20))
        assert plain(read_whole(reader)) == value


@pytest.mark.usefixtures("_pieces")
def test_any_broken_json_is_refused() -> None:
    rng, refused = random.Random(1), 0
    for _ in range(1500):
        text = json.dumps([made_up(rng), made_up(rng)])
        place = rng.randrange(len(text))
        text = text[:place] + rng.choice(["", *'[]{},:"\\0-n ']) + text[place + rng.randrange(2) :]
        try:
            expected = json.loads(text, object_pairs_hook=once)
        except ValueError:
            refused += 1
            reader = LongJSON(text, Memory(1 << 20))
            with pytest.raises(ValueError):  # noqa: PT011 - JSON's or a FormatError
                read_whole(reader)
        else:
            if is_whole(json.dumps(expected, ensure_ascii=False)):  # half a character is refused in its place
                assert plain(LongJSON(text, Memory(1 << 20)).value()) == expected
    assert refused > 500


def test_items_are_made_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_json, "_PIECE", 50)
    monkeypatch.setattr(long_json, "_SHORT", 8)
    seen: list[Any] = []

    def made(node: Any) -> Any:
        seen.append(node)
        return ("made", node)

    text = json.dumps({"object": "Name", "state": {"list": [[each, 1.5] for each in range(300)]}})
    found = LongJSON(text, Memory(1 << 20), made, named=seen.append).value()
    items = found["state"]["list"]
    assert isinstance(items, Made)
    assert items == [("made", [each, 1.5]) for each in range(300)]
    assert seen == ["Name", *([each, 1.5] for each in range(300))]  # the name first


def test_keys_that_occur_twice_and_depth_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_json, "_PIECE", 16)
    monkeypatch.setattr(long_json, "_SHORT", 8)
    with pytest.raises(FormatError, match="'key' occurs twice"):
        LongJSON('{"key": [1, 2, 3, 4, 5, 6], "key": 0}', Memory(1 << 20)).value()
    with pytest.raises(FormatError, match="too deep"):
        LongJSON("[" * 60 + "]" * 60, Memory(1 << 20)).value()
    with pytest.raises(FormatError, match="NaN"):
        LongJSON('[1, 2, 3, 4, 5, 6, "x", NaN]', Memory(1 << 20)).value()


def test_memory_is_counted() -> None:
    memory = Memory(1000)
    memory.take(4000)
    memory.take(6 << 20)
    with pytest.raises(FormatError, match="1,000 bytes would take more than 4 times the file and 8 MB"):
        memory.take(1)
