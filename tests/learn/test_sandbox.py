"""Untrusted programs: they end, stay within their limits, and cannot write their own results."""

import os
import sys
import time
from pathlib import Path

import pytest

from linnet.learn import check, find, sandbox
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
    assert "exited before this part" in shown(checked(tmp_path, "import os; os._exit(0)", before=False))
    assert "crashed: SIGABRT" in shown(checked(tmp_path, "import os; os.abort()", before=False))


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
    report = checked(tmp_path, "print('x' * 10**6)", before=False)
    assert report.passed
    assert 0 < len(report.printed) <= 4000


@needs_linux
def test_there_is_no_network_where_the_system_allows_that(tmp_path: Path) -> None:
    code = "import socket; socket.create_connection(('127.0.0.1', 9), timeout=5)"
    report = checked(tmp_path, code, before=False)
    if "network" in report.confined:
        assert "Network is unreachable" in shown(report) or "Permission denied" in shown(report)
    else:
        assert "refused" in shown(report)


def test_secrets_of_the_shell_are_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_THE_TEACHER", "hunter2")
    assert "hunter2" not in shown(checked(tmp_path, "import os; raise ValueError(dict(os.environ))", before=False))


@needs_linux
def test_processes_it_starts_end_with_it(tmp_path: Path) -> None:
    code = "import os\nif os.fork() == 0:\n    os.setsid()\n    os.execlp('sleep', 'sleep', '987.125')"
    report = checked(tmp_path, code)
    assert report.passed is ("processes" not in report.confined)
    if "network" in report.confined:
        assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"987.125" in _content(path)]


@needs_linux
@pytest.mark.parametrize(
    "code",
    [
        "import os; os.fork()",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import os; os.setsid()",  # out of the group that is ended with it
        "import ctypes; ctypes.CDLL(None).unshare(0x30000000); __import__('os').fork()",
    ],
)
def test_it_starts_no_processes(code: str, tmp_path: Path) -> None:
    report = checked(tmp_path, code, before=False)
    assert report.passed is ("processes" not in report.confined)
    assert report.passed or "Operation not permitted" in shown(report)


@needs_linux
def test_it_may_have_threads(tmp_path: Path) -> None:
    code = "import threading; one = threading.Thread(target=print, args=('here',)); one.start(); one.join()"
    report = checked(tmp_path, code, before=False)
    assert report.passed
    assert "here" in report.printed


@needs_linux
def test_threads_are_limited(tmp_path: Path) -> None:
    code = "import threading, time\n    for _ in range(9999): threading.Thread(target=time.sleep, args=(9,)).start()"
    assert "can't start new thread" in shown(checked(tmp_path, code, before=False))


@needs_linux
def test_files_of_others_are_out_of_reach(tmp_path: Path) -> None:
    mine, folder = tmp_path / "mine.txt", tmp_path / "student"
    mine.write_text("precious")
    folder.mkdir()
    for code in (
        f"open({str(mine)!r}).read()",
        f"open({str(mine)!r}, 'w')",
        f"import os; os.remove({str(mine)!r})",
        f"import os; os.truncate({str(mine)!r}, 0)",
        f"import os; os.rename({str(mine)!r}, 'here.txt')",
        f"import os; os.listdir({str(tmp_path)!r})",
        f"open({str(folder / 'linear_prediction.py')!r}, 'a')",
        "open('/etc/shadow').read()",
        "open('/dev/shm/linnet-test', 'w')",
        "open('/tmp/linnet-test', 'w')",
    ):
        report = checked(folder, code, before=False)
        assert ("files" in report.confined) is ("Permission denied" in (shown(report) if report.first else "")), code
    assert mine.read_text() == "precious" or "files" not in report.confined


@needs_linux
def test_the_process_that_checks_is_out_of_reach(tmp_path: Path) -> None:
    for code in (
        "import os; os.kill(os.getppid(), 9)",
        "import os; os.kill(-1, 9)",
        f"import os; os.kill({os.getpid()}, 9)",
        f"raise ValueError(open('/proc/{os.getpid()}/environ').read())",
        "import os; os.killpg(0, 9)",
    ):
        report = checked(tmp_path, code, before=False)
        if "network" in report.confined and "files" in report.confined:
            assert report.passed or "PATH=" not in shown(report)


@needs_linux
def test_what_it_writes_is_limited(tmp_path: Path) -> None:
    assert "prints or writes too much" in shown(checked(tmp_path, "while True: print('x' * 10**6)", before=False))
    code = "for i in range(9999): open(f'{i}', 'wb').write(bytes(15 << 20))"
    assert "wrote too much to files" in shown(checked(tmp_path, code, before=False))
    code = "import os; [os.memfd_create('x') for _ in range(9999)]"
    assert "Too many open files" in shown(checked(tmp_path, code, before=False))


def test_results_that_are_no_results_end_the_reading(tmp_path: Path) -> None:
    write = "try: os.write(fd, b'[' * 10**5 + b'\\n')\n        except OSError: pass"
    code = f"import os\n    for fd in range(1, 9):\n        {write}"
    assert checked(tmp_path, f"{code}\n    os._exit(0)", before=False).right == 0
    assert sandbox.outcome_of(b"[" * 10**5).answers == {}
    late = b'{"part": 0, "value": true}\n{"confined": ["network"]}\n'
    assert sandbox.outcome_of(late).confined == ()


@needs_linux
def test_a_program_that_is_killed_or_crashes(tmp_path: Path) -> None:
    assert "killed by the system" in shown(checked(tmp_path, "import os; os.kill(os.getpid(), 9)", before=False))
    assert "crashed: SIGSEGV" in shown(checked(tmp_path, "import ctypes; ctypes.string_at(0)", before=False))


@pytest.mark.parametrize(
    "code",
    [
        "from linnet.plain.linear_regression import predict",
        "from linnet.plain import linear_regression",
        "import linnet.plain; linnet.plain.linear_regression.predict",
        "__import__('importlib').import_module('linnet.plain.linear_regression')",
    ],
)
def test_the_solution_is_not_for_import(code: str, tmp_path: Path) -> None:
    report = checked(tmp_path, code, before=False)
    assert "linnet.plain.linear_regression, which is the solution" in shown(report)
    assert report.notes


def test_a_checker_that_was_changed_changes_nothing(tmp_path: Path) -> None:
    code = "import linnet.learn.differences as d; d.difference = lambda *a, **k: None\n    return x @ w"
    report = checked(tmp_path, code, before=False)
    assert "the bias is missing" in shown(report)
    assert report.notes == ["it uses linnet.learn.differences, which the assignment does not need"]


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
