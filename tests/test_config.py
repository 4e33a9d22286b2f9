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
    assert cores_of(monkeypatch, tmp_path, "0::/\n", {} if cpu_max is None else {"cpu.max": cpu_max}) == cores


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "400000 100000", "a/cpu.max": "200000 100000", "cpu.max": "max 100000"}, 2),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "other/cpu.max": "100000 100000"}, 8),
        ("0::/gone\n", {"cpu.max": "300000 100000"}, 3),  # a container sees its own group as the root
        ("3:cpu,time:/a\n", {"cpu,time/a/cpu.cfs_quota_us": "250000", "cpu,time/a/cpu.cfs_period_us": "1000"}, 8),
        ("3:cpu,time:/a\n", {"cpu,time/a/cpu.cfs_quota_us": "5000", "cpu,time/a/cpu.cfs_period_us": "1000"}, 5),
        ("3:cpu:/host\n", {"cpu/cpu.cfs_quota_us": "2000", "cpu/cpu.cfs_period_us": "1000"}, 2),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "1000"}, 8),
        ("4:memory:/m\n", {"memory/m/cpu.max": "100000 100000"}, 8),
    ],
)  # fmt: skip
def test_the_groups_above_limit_the_cores_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: str, files: dict[str, str], cores: int
) -> None:
    assert cores_of(monkeypatch, tmp_path, own, files) == cores


def cores_of(monkeypatch: pytest.MonkeyPatch, folder: Path, own: str, files: dict[str, str]) -> int:
    """The cores of a process in these control groups on a machine of 8."""
    (folder / "own").write_text(own)
    for name, text in files.items():
        (folder / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "groups" / name).write_text(text + "\n")
    monkeypatch.setattr(config, "_OWN_GROUPS", folder / "own")
    monkeypatch.setattr(config, "_GROUPS", folder / "groups")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 8, raising=False)
    config._container_share.cache_clear()
    try:
        return config.available_cores()
    finally:
        config._container_share.cache_clear()


def test_no_more_threads_are_used_than_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "available_cores", lambda: 2)
    linnet.set_threads(16)
    assert linnet.get_threads() == 16
    assert config.usable_threads() == 2
    assert config.usable_threads(8) == 2
    assert config.usable_threads(1) == 1
    with pytest.raises(ConfigError, match="threads must be an integer from 1 to 1024"):
        config.usable_threads(0)


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
    message = f"threads must be an integer from 1 to 1024, got {n!r}"
    with pytest.raises(ConfigError, match=message):
        linnet.set_threads(n)
    with pytest.raises(ConfigError, match=message), linnet.threads(n):
        pass


@pytest.mark.parametrize("value", ["0", "-2", "many", "1.5"])
def test_a_bad_environment_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("LINNET_THREADS", value)
    with pytest.raises(ConfigError, match=f"LINNET_THREADS must be an integer from 1 to 1024, got '?{value}'?$"):
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
