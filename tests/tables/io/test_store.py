"""Encoded rows in a file."""

import resource
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from linnet.data.encoder import Encoded, Encoder
from linnet.errors import DataError
from linnet.tables.io.store import Store

RNG = np.random.default_rng(0)
ROWS = 1000
TABLE = pa.table(
    {
        "a": RNG.normal(size=ROWS),
        "town": RNG.choice(["Ulm", "Bonn", "Kiel"], ROWS),
        "yes": RNG.random(ROWS) < 0.5,
        "b": [None if gap else float(gap) for gap in RNG.random(ROWS) < 0.2],
        "whole": RNG.integers(0, 9, ROWS),
        "colour": RNG.choice(["red", "blue"], ROWS),
    }
)


def stored(folder: Path, block: int, room: int = ROWS) -> tuple[Encoder, Store]:
    """The table's rows in a file, written some at a time."""
    encoder, columns = Encoder.learn(TABLE, gaps="fill")
    store = Store(folder, room, columns, {"t": np.float64})
    for start in range(0, ROWS, block):
        part = TABLE.slice(start, block)
        store.append(encoder.encode(part), {"t": np.arange(start, start + len(part), dtype=np.float64)})
    return encoder, store


@pytest.mark.parametrize(("block", "room"), [(ROWS, ROWS), (130, ROWS), (7, 3 * ROWS)])
def test_rows_come_back_as_they_were_encoded(tmp_path: Path, block: int, room: int) -> None:
    encoder, store = stored(tmp_path, block, room)
    assert list(tmp_path.iterdir()) == []  # the file has no name
    expected, (found, vectors) = encoder.encode(TABLE), store.read()
    assert found.rows == ROWS
    assert found.levels == expected.levels
    assert (np.hstack(found.tables) == np.hstack(expected.tables)).all()
    assert found.dense == expected.dense
    for one, other in zip(found.codes, expected.codes, strict=True):
        assert (one == other).all()
    assert (vectors["t"] == np.arange(ROWS)).all()
    assert not vectors["t"].flags.writeable


def test_an_encoder_takes_what_is_encoded(tmp_path: Path) -> None:
    encoder, store = stored(tmp_path, 100)
    given = Encoded(encoder, store.read()[0])
    other, columns = Encoder.learn(given)
    assert columns is given.columns
    assert other == encoder
    assert other.encode(given) is given.columns
    with pytest.raises(DataError, match="X was encoded by another model"):
        Encoder.learn(TABLE, gaps="keep")[0].encode(given)
    assert given.shape == TABLE.shape
    assert given.column_names == TABLE.column_names
    assert len(given) == ROWS


def test_a_gap_that_the_first_rows_had_not(tmp_path: Path) -> None:
    encoder, columns = Encoder.learn(TABLE.select(["yes", "a"]), gaps="fill")
    store = Store(tmp_path, 10, columns, {})
    encoded = encoder.encode_table(pa.table({"yes": [True, None, False], "a": [1.0, 2.0, None]}))
    store.append(encoded.columns, {})
    assert store.read()[0].tables[0].dtype == np.uint8
    assert encoded.filled == {"yes": 1, "a": 1}
    with pytest.warns(match="missing values where training had none"):
        encoded.warn()


def test_a_folder_without_room(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(DataError, match=r"cannot hold .* GB of encoded rows: File too large: free some space"):
            stored(tmp_path, 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no temporary file can be made in .*nowhere: No such file"):
        stored(tmp_path / "nowhere", 100)
