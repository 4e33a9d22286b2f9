import os
import platform
from importlib import metadata
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import linnet
from linnet import config
from linnet.errors import ConfigError


@pytest.fixture(autouse=True)
def default_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_THREADS", raising=False)
    monkeypatch.setattr(config, "_process_threads", None)


def test_default_threads_are_the_available_cores() -> None:
    assert linnet.get_threads() == config.available_cores()
    assert 1 <= config.available_cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("cpu_max", "cores"),
    [("max 100000", 8), ("350000 100000", 3), ("50000 100000", 1), ("1600000 100000", 8), ("nonsense", 8), (None, 8)],
)
def test_a_container_limits_the_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cpu_max: str | None, cores: int
) -> None:
    file = tmp_path / "cpu.max"
    if cpu_max:
        file.write_text(cpu_max + "\n")
    monkeypatch.setattr(config, "_CPU_MAX", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 8, raising=False)
    assert config.available_cores() == cores


def test_block_before_process_before_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_THREADS", "5")
    assert linnet.get_threads() == 5
    linnet.set_threads(3)
    assert linnet.get_threads() == 3
    with linnet.threads(2):
        assert linnet.get_threads() == 2
        with linnet.threads(1):
            assert linnet.get_threads() == 1
        assert linnet.get_threads() == 2
    assert linnet.get_threads() == 3
    linnet.set_threads(None)
    assert linnet.get_threads() == 5


def test_a_block_ends_with_an_error_too() -> None:
    before = linnet.get_threads()
    with pytest.raises(KeyError), linnet.threads(before + 1):
        raise KeyError
    assert linnet.get_threads() == before


def test_a_block_is_not_seen_by_other_threads() -> None:
    linnet.set_threads(7)
    seen: list[int] = []
    with linnet.threads(2):
        other = Thread(target=lambda: seen.append(linnet.get_threads()))
        other.start()
        other.join()
    assert seen == [7]


def test_whole_numbers_of_numpy_are_fine() -> None:
    linnet.set_threads(np.int64(4))  # type: ignore[arg-type]
    assert type(linnet.get_threads()) is int
    assert linnet.get_threads() == 4


@pytest.mark.parametrize("n", [0, -1, 1025, 1.5, True, "2"])
def test_threads_must_be_a_whole_number_that_can_be_meant(n: int) -> None:
    message = f"threads must be a whole number from 1 to 1024, got {n!r}"
    with pytest.raises(ConfigError, match=message):
        linnet.set_threads(n)
    with pytest.raises(ConfigError, match=message), linnet.threads(n):
        pass


@pytest.mark.parametrize("value", ["0", "-2", "many", "1.5"])
def test_a_bad_environment_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("LINNET_THREADS", value)
    with pytest.raises(ConfigError, match=f"LINNET_THREADS must be a whole number from 1 to 1024, got '?{value}'?$"):
        linnet.get_threads()


def test_show_config_prints_every_fact(capsys: pytest.CaptureFixture[str]) -> None:
    linnet.set_threads(3)
    linnet.show_config()
    printed = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line[0] != " ")
    assert printed["linnet"] == linnet.__version__ == metadata.version("linnet")
    assert printed["threads"] == "3"
    assert printed["python"] == platform.python_version()
    assert printed["numpy"] == np.__version__
    assert printed["scikit-learn"] == metadata.version("scikit-learn")
    facts = config.config()
    assert facts["instruction set"] in facts["built for"]  # type: ignore[operator]
    assert {"vector bytes", "available cores", "compiler", "scipy", "platform"} <= facts.keys()
