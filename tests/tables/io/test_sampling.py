"""Rows drawn from tables that are too large to hold."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from linnet.tables.io import text_files
from linnet.tables.io.sampling import Sample
from linnet.tables.io.sources import open_source

ROWS = 20_000


def numbered(start: int, stop: int) -> pa.Table:
    """Rows that hold their own number."""
    return pa.table({"number": np.arange(start, stop)})


def sampled(block: int, most: float) -> Sample:
    """A sample of a table that comes in blocks."""
    sample = Sample(most)
    for start in range(0, ROWS, block):
        sample.add(numbered(start, min(ROWS, start + block)))
    return sample


def test_what_fits_is_kept_whole() -> None:
    sample = sampled(700, most=ROWS * 8)
    assert sample.share == 1
    assert (sample.numbers == np.arange(ROWS)).all()


@pytest.mark.parametrize("block", [1, 37, 1000, ROWS])
def test_the_rows_drawn_do_not_depend_on_the_blocks(block: int) -> None:
    whole, parts = sampled(ROWS, most=40_000), sampled(block, most=40_000)
    if parts.share == whole.share:
        assert (parts.numbers == whole.numbers).all()
    again = Sample(share=parts.share)
    again.add(numbered(0, ROWS))
    assert (again.numbers == parts.numbers).all()
    for sample in (whole, parts):
        held = pa.concat_tables(sample.tables)
        assert (held["number"].to_numpy() == sample.numbers).all()
        assert held.nbytes <= 10_000
        assert sample.rows == ROWS


def test_every_row_has_the_same_chance() -> None:
    sample = Sample(share=0.25)
    sample.add(numbered(0, 400_000))
    counts = np.histogram(sample.numbers, 40, (0, 400_000))[0]  # about 2500 +- 43 in each
    assert abs(len(sample.numbers) - 100_000) < 5 * np.sqrt(400_000 * 0.25 * 0.75)
    assert np.abs(counts - 2500).max() < 5 * np.sqrt(10_000 * 0.25 * 0.75)
    assert 0.2 < (np.diff(sample.numbers) == 1).mean() < 0.3


def test_a_file_is_read_whole_or_in_part(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f"{row},x{row % 7}\n" for row in range(ROWS)))
    whole = open_source([path]).read_some(np.inf)
    assert whole.is_all
    assert whole.table.num_rows == whole.rows == ROWS
    some = open_source([path]).read_some(100_000)
    assert not some.is_all
    assert some.rows == ROWS
    assert 0 < some.table.num_rows < ROWS / 4
    assert some.table.equals(whole.table.take(some.numbers))


def test_text_that_looked_like_numbers_is_drawn_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK", 4096)
    path = tmp_path / "table.csv"
    codes = [f"{row % 1000:04}" for row in range(ROWS - 1)]
    path.write_text("code,n\n" + "".join(f"{code},{row}\n" for row, code in enumerate([*codes, "A12"])))
    some = open_source([path]).read_some(100_000)
    assert not some.is_all
    assert some.table["code"].type == pa.string()
    expected = [[*codes, "A12"][number] for number in some.numbers]
    assert some.table["code"].to_pylist() == expected
    assert (some.table["n"].to_numpy() == some.numbers).all()
