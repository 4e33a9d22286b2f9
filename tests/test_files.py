"""Files are written completely or not at all; anything else at a path stays as it is."""

import os
import stat
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import linnet
from linnet.errors import FormatError
from linnet.files import read_checked, real_path, write_whole

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pipes and links of POSIX")


@pytest.fixture
def model() -> linnet.Ridge:
    return linnet.Ridge().fit(np.arange(12.0).reshape(6, 2), np.arange(6.0))


def test_a_pipe_gets_the_bytes_and_stays(tmp_path: Path, model: linnet.Ridge) -> None:
    pipe, got = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    model.save(tmp_path / "file")
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    model.save(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join()
    assert got == [(tmp_path / "file").read_bytes()]
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "file"}


def test_a_full_disk_is_an_error_of_the_path(tmp_path: Path, model: linnet.Ridge) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '.*full'"):
        model.save(tmp_path / "full")
    assert [path.name for path in tmp_path.iterdir()] == ["full"]
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_links_in_a_circle(tmp_path: Path) -> None:
    path = tmp_path / "circle"
    path.symlink_to(path)
    assert real_path(path).name == "circle"
    write_whole(path, [b"new"])
    assert path.read_bytes() == b"new"


def test_what_is_no_model_is_not_read_whole(tmp_path: Path, model: linnet.Ridge) -> None:
    """A table given in the place of a model may be larger than memory."""
    for name, start in (("table.csv", b"a,b,c\n1,2,3\n"), ("run.checkpoint", b"linnet checkpoint\n")):
        (tmp_path / name).write_bytes(start)
        os.truncate(tmp_path / name, 1 << 42)  # a hole, which takes no room
        with pytest.raises(FormatError, match="is damaged or not a linnet model"):
            linnet.load(tmp_path / name)
        with pytest.raises(FormatError, match="is damaged or not a linnet checkpoint"):
            linnet.resume(tmp_path / name, np.zeros((2, 2)), [0, 1])


def test_models_are_read_from_pipes(tmp_path: Path, model: linnet.Ridge) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=model.save, args=[pipe], daemon=True)
    writer.start()
    np.testing.assert_array_equal(linnet.load(pipe).coef_, model.coef_)
    writer.join()


def test_the_start_is_checked_before_the_rest(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    seen = list[bytes]()
    assert read_checked(tmp_path / "file", 4, seen.append) == b"0123456789"
    assert seen == [b"0123"]
