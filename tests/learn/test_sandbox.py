"""Programs that are not to be trusted: they end, take no more than they may, and cannot write their own results."""

import sys
import time
from pathlib import Path

import pytest

from linnet.learn import check, find
from linnet.learn.judge import Report
from linnet.learn.values import NoValue, from_json, to_json

SOLUTION = find("linear-prediction").solution
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and namespaces are Linux'")


def checked(folder: Path, code: str, *, seconds: float = 60.0, before: bool = True) -> Report:
    """Check a right program with some code at its start, or as its first function's body."""
    path = folder / "linear_prediction.py"
    text = (
        f"{code}\n{SOLUTION}"
        if before
        else SOLUTION.replace("    return x @ w + b", f"    {code}\n    return x @ w + b")
    )
    path.write_text(text)
    return check(path, seconds=seconds)


def shown(report: Report) -> str:
    assert report.first is not None
    return report.first.message


def test_a_loop_without_end_is_ended(tmp_path: Path) -> None:
    start = time.monotonic()
    assert "never ends" in shown(checked(tmp_path, "while True: pass", seconds=1, before=False))
    assert "never ends" in shown(checked(tmp_path, "import time; time.sleep(1000)", seconds=1, before=False))
    assert "never ends" in shown(checked(tmp_path, "while True: pass", seconds=1))
    assert time.monotonic() - start < 60


@needs_linux
def test_memory_is_limited(tmp_path: Path) -> None:
    assert "MemoryError" in shown(checked(tmp_path, "np.ones(1 << 33)", before=False))


def test_large_results_are_refused(tmp_path: Path) -> None:
    assert "far too large" in shown(checked(tmp_path, "return np.zeros(1 << 23)", before=False))
    assert "too deep" in shown(checked(tmp_path, "a = []; a.append(a); return a", before=False))


@pytest.mark.parametrize("code", ["raise SystemExit", "import sys; sys.exit(0)", "raise KeyboardInterrupt"])
def test_an_exit_is_an_error_like_others(code: str, tmp_path: Path) -> None:
    assert checked(tmp_path, code, before=False).right == 0
    assert checked(tmp_path, code).right == 0


def test_a_process_that_ends_by_itself(tmp_path: Path) -> None:
    assert "ended by itself" in shown(checked(tmp_path, "import os; os._exit(0)", before=False))
    assert "ended" in shown(checked(tmp_path, "import os; os.abort()", before=False))


@pytest.mark.parametrize(
    "code",
    [
        'import os; [os.write(fd, b\'{"part": 0, "value": true}\\n\') for fd in range(1, 9)]',
        'import os; os.write(1, b\'{"part": 0, "value": []}\\n\')',
        'print(\'{"part": 0, "value": []}\')',
    ],
)
def test_what_a_program_writes_itself_is_no_result(code: str, tmp_path: Path) -> None:
    with_errors = f"try:\n        {code}\n    except OSError: pass\n    return 0.0"
    report = checked(tmp_path, with_errors, before=False)
    assert not report.passed
    assert report.right == 0


def test_what_it_prints_is_kept_short(tmp_path: Path) -> None:
    report = checked(tmp_path, "print('x' * 10**7)", before=False)
    assert report.passed
    assert 0 < len(report.printed) <= 4000


@needs_linux
def test_there_is_no_network_where_the_system_allows_that(tmp_path: Path) -> None:
    code = "import socket; socket.create_connection(('127.0.0.1', 9), timeout=5)"
    report = checked(tmp_path, code, before=False)
    if report.isolated:
        assert "Network is unreachable" in shown(report)
    else:
        assert "refused" in shown(report)


def test_secrets_of_the_shell_are_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_THE_TEACHER", "hunter2")
    assert "hunter2" not in shown(checked(tmp_path, "import os; raise ValueError(dict(os.environ))", before=False))


@needs_linux
def test_processes_it_starts_end_with_it(tmp_path: Path) -> None:
    code = "import os\nif os.fork() == 0:\n    os.setsid()\n    os.execlp('sleep', 'sleep', '987.125')"
    report = checked(tmp_path, code)
    assert report.passed
    if report.isolated:
        assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"987.125" in _content(path)]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # a process that has ended meanwhile
        return b""


def test_its_working_folder_is_an_empty_one_that_goes(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        "import os; raise ValueError(os.getcwd(), os.listdir(), open('own.txt', 'w').write('x'))",
        before=False,
    )
    assert "linnet-learn-" in shown(report)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linear_prediction.py"]


def test_other_files_of_the_student_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("bias = 0")
    assert checked(tmp_path, "import mine").passed


@needs_linux
def test_deep_recursion_is_an_error(tmp_path: Path) -> None:
    assert "RecursionError" in shown(checked(tmp_path, "return predict(w, b, x)", before=False))


@pytest.mark.parametrize(
    "stated",
    [
        {"kind": "f", "shape": [1 << 40], "data": ""},
        {"kind": "f", "shape": [2], "data": "AAAA"},
        {"kind": "O", "shape": [], "data": ""},
        {"kind": "f", "shape": "x", "data": ""},
        {"kind": "f", "shape": [-1], "data": ""},
        {"kind": "f", "shape": [1.5], "data": ""},
        {"kind": "f", "shape": [0] * 100, "data": ""},
        {"number": "a"},
        {"number": 1},
        {"other": 1},
        [[[[[[[[[[[]]]]]]]]]]],
        1.5,
    ],
    ids=str,
)
def test_values_that_nobody_writes_are_refused(stated: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        from_json(stated)


def test_values_come_back_as_they_were() -> None:
    import numpy as np

    value = [1, 2.5, True, None, "text", {"a": [np.arange(6).reshape(2, 3), np.float64("nan")]}, float("inf"), 10**30]
    back = from_json(to_json(value))
    assert back[:5] == value[:5]
    assert np.array_equal(back[5]["a"][0], np.arange(6).reshape(2, 3))
    assert np.isnan(back[5]["a"][1])
    assert back[6:] == [float("inf"), 10**30]
    for odd in (object(), np.array([None]), {1, 2}, b"x", 1j):
        with pytest.raises(NoValue):
            to_json(odd)
