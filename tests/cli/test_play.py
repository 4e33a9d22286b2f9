"""`linnet play` as a process: the address that it prints responds, and Ctrl-C ends it."""

import os
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import linnet

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(linnet.__file__).parents[1])}
COMMAND = [sys.executable, "-m", "linnet", "play", "--no-browser", "--port", "0"]


def test_the_address_is_answered_until_ctrl_c(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("size,kind\n" + "".join(f"{k % 7}.5,{'ab'[k % 2]}\n" for k in range(40)))
    process = subprocess.Popen(
        [*COMMAND, str(table), "--target", "kind"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("playground: http://127.0.0.1:"), process.stderr and process.stderr.read()
        address = urlsplit(line.split()[1])
        assert address.port is not None
        connection = HTTPConnection("127.0.0.1", address.port, timeout=60)
        connection.request("GET", f"/?{address.query}")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 303
        cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        connection.request("GET", "/", headers={"Cookie": cookie})
        assert b"<title>linnet playground</title>" in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors
        assert process.returncode in (0, 1, 130)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--target", "y"], "--target names a column of a table: give its file, too"),
        (["-"], "the playground reads files, not standard input"),
        (["absent.csv"], "there is no such file"),
        (["own.csv", "--target", "size"], "unknown column 'size'"),
        (["days.csv"], "days.csv: no column can be predicted"),
        (["--port", "-1"], "greater than or equal to 0"),
    ],
)
def test_what_cannot_be_played_is_reported(tmp_path: Path, given: list[str], message: str) -> None:
    (tmp_path / "own.csv").write_text("a,b\n" + "".join(f"{k}.5,{k % 2}\n" for k in range(40)))
    (tmp_path / "days.csv").write_text("when\n" + "".join(f"2024-01-{k + 1:02}\n" for k in range(30)))
    done = subprocess.run(
        [*COMMAND, *given], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_import_linnet_loads_no_web_framework() -> None:
    code = (
        "import sys, linnet, linnet.cli; loaded = {m.partition('.')[0] for m in sys.modules}; "
        "print(loaded & {'starlette', 'uvicorn', 'websockets', 'anyio'})"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
