"""The choice of the native core, and what `import linnet` and the command line load; each in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import linnet
from linnet import _native
from linnet.errors import ConfigError

CLI = "from linnet.cli import main; main()"


def run(code: str, *args: str, isa: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "LINNET_ISA": isa}
    return subprocess.run(
        [sys.executable, "-c", code, *args], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_best_usable_build_is_taken() -> None:
    result = run("from linnet import _native; print(_native.isa)")
    assert result.stdout.strip() == _native.usable[-1]


@pytest.mark.parametrize("isa", _native.usable)
def test_every_usable_build_loads(isa: str) -> None:
    result = run("from linnet._native import core; print(core.isa, core.__name__, core.supported())", isa=isa)
    assert result.stdout.strip() == f"{isa} linnet._core_{isa} {list(_native.supported)}", result.stderr


def test_a_foreign_module_is_no_build(tmp_path: Path) -> None:
    """Whatever its name, and wherever that stands in the alphabet."""
    (tmp_path / "_core_gpu.py").write_text("raise AssertionError('loaded')")
    (tmp_path / "_core_zzz.py").write_text("raise AssertionError('loaded')")
    code = (
        f"import linnet; linnet.__path__.append({str(tmp_path)!r}); from linnet import _native; print(*_native.built)"
    )
    result = run(code)
    assert result.stdout.split() == list(_native.built), result.stderr
    assert "gpu" not in _native.built


def test_builds_are_in_the_order_of_their_list() -> None:
    """The first, which is asked what the processor can run, must run wherever another one does."""
    listed = (Path(__file__).parents[1] / "core" / "isas.txt").read_text().splitlines()
    names = [line.split()[0] for line in listed if not line.startswith("#")]
    assert [name for name in names if name in _native.built] == list(_native.built)


def test_builds_live_side_by_side() -> None:
    names = [f"linnet._core_{isa}" for isa in _native.usable]
    result = run(f"import importlib; print(*(importlib.import_module(name).isa for name in {names}))")
    assert result.stdout.split() == list(_native.usable), result.stderr


def test_the_module_asks_for_the_gil() -> None:
    """On a build of Python without one, that switches it on; nobody has tested the module without it."""
    result = run("import linnet._native, sys; print(getattr(sys, '_is_gil_enabled', lambda: True)())")
    assert result.stdout == "True\n"
    rules = (Path(__file__).parents[1] / "CMakeLists.txt").read_text()
    modules = re.findall(r"nanobind_add_module\(([^)]*)\)", rules)
    assert len(modules) == 1
    assert "FREE_THREADED" not in modules[0]


def test_an_unknown_build_is_refused_with_the_choices() -> None:
    result = run(CLI, "config", isa="v33")
    assert result.returncode == 2
    assert result.stderr.startswith("error: unknown LINNET_ISA 'v33': ")
    assert result.stderr.endswith(f"choose from: {', '.join(_native.usable)}\n")
    assert result.stderr.count("\n") == 1


def test_a_build_the_processor_cannot_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "built", ("v2", "v3", "v4"))
    monkeypatch.setattr(_native, "usable", ("v2", "v3"))
    with pytest.raises(ConfigError, match=r"^LINNET_ISA=v4: this processor cannot run it; choose from: v2, v3$"):
        _native._choose("v4")
    with pytest.raises(ConfigError, match=r"^LINNET_ISA=generic: linnet was built without it; choose from: v2, v3$"):
        _native._choose("generic")
    assert _native._choose(None) == "v3"


@pytest.mark.parametrize("code", ["import linnet", "import linnet; linnet.get_threads()"])
def test_import_loads_nothing_heavy(code: str) -> None:
    heavy = ["sklearn", "scipy", "matplotlib", "rich", "typer", "pandas"]
    result = run(f"{code}; import sys; print(*sorted(set({heavy}) & set(sys.modules)))")
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == []


def test_every_export_exists() -> None:
    assert dir(linnet) == sorted(linnet.__all__)
    for name in linnet.__all__:
        assert getattr(linnet, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        linnet.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_the_command_line_tells_its_version_and_config() -> None:
    assert run(CLI, "--version").stdout == f"linnet {linnet.__version__}\n"
    assert f"linnet           {linnet.__version__}\n" in run(CLI, "config").stdout
    assert "config" in run(CLI, "--help").stdout
