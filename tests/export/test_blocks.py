"""The file below a model: whole, or refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from linnet.errors import FormatError
from linnet.export import blocks
from linnet.export.blocks import read_blocks, write_blocks

CONTENT = {"a": [1, 2.5, None, "ü \u2028 <script>"], "e": "é"}
ARRAYS = {
    "f": np.array([[1.5, np.nan], [np.inf, -0.0]]),
    "g": np.arange(3, dtype=np.float32)[::-1],
    "none": np.empty((0, 4), np.int32),
    "one": np.array(7, np.uint8),
    "yes": np.array([True, False]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.linnet"
    write_blocks(path, CONTENT, ARRAYS)
    return path


def test_what_was_written_is_read(path: Path) -> None:
    content, arrays = read_blocks(path)
    assert content == CONTENT
    assert arrays.keys() == ARRAYS.keys()
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        assert array.shape == ARRAYS[name].shape
        assert array.tobytes() == ARRAYS[name].tobytes()
        assert array.flags.writeable


def test_the_same_content_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    write_blocks(tmp_path / "b.linnet", CONTENT, ARRAYS)
    assert (tmp_path / "b.linnet").read_bytes() == path.read_bytes()


def test_every_flipped_bit_is_noticed(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    for place in range(len(whole)):
        for bit in range(8):
            whole[place] ^= 1 << bit
            path.write_bytes(whole)
            with pytest.raises(FormatError):
                read_blocks(path)
            whole[place] ^= 1 << bit
    path.write_bytes(whole)
    read_blocks(path)


def test_every_truncation_is_noticed(path: Path) -> None:
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError):
            read_blocks(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(FormatError):
        read_blocks(path)


def test_a_file_that_promises_more_than_it_has_is_refused(path: Path) -> None:
    for size in (2**63 - 1, 2**40, 10):
        path.write_bytes(size.to_bytes(8, "little") + b"{}")
        with pytest.raises(FormatError):
            read_blocks(path)
    header = json.dumps({"a": {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(FormatError):
        read_blocks(path)
    path.write_bytes((100_000).to_bytes(8, "little") + b'{"a":' * 20_000)
    with pytest.raises(FormatError):
        read_blocks(path)


def test_other_files_and_newer_versions_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(save({"a": np.zeros(3)}, {"format": "pt"}))
    with pytest.raises(FormatError, match=r"a\.linnet is damaged or not a linnet model"):
        read_blocks(path)
    monkeypatch.setattr(blocks, "FORMAT", "linnet dream")
    write_blocks(path, CONTENT, ARRAYS)
    monkeypatch.undo()
    with pytest.raises(FormatError, match=r"a\.linnet is a 'linnet dream', not a linnet model"):
        read_blocks(path)
    path.write_bytes(b"PK\x03\x04 a pickle in a zip, say")
    with pytest.raises(FormatError, match="damaged or not a linnet model"):
        read_blocks(path)
    monkeypatch.setattr(blocks, "VERSION", 2)
    write_blocks(path, CONTENT, ARRAYS)
    monkeypatch.setattr(blocks, "VERSION", 1)
    with pytest.raises(FormatError, match=r"format version 2.*install a newer linnet"):
        read_blocks(path)


def test_nothing_is_left_of_a_failed_write(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_blocks(path, {"a": object()}, ARRAYS)
    with pytest.raises(ValueError, match="Out of range"):
        write_blocks(path, {"a": float("nan")}, ARRAYS)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
