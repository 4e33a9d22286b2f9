"""Connections without a request are closed, and do not lock out the page."""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import linnet
from linnet.playground import connections
from linnet.playground import server as server_module
from linnet.playground.connections import Patient
from linnet.playground.server import Server

from .served import Page, ask, good_headers, serving

LONG = 30  # seconds: a test that would wait longer has failed
COMMAND = [sys.executable, "-m", "linnet", "play", "--no-browser", "--port", "0"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch, serving() as found:
        patch.setattr(Patient, "patience", 0.5)
        yield found


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=LONG)


def request(server: Server, method: str, path: str, *, token: bool = True, length: int = 0) -> bytes:
    headers = {**good_headers(server), "Content-Length": str(length)}
    if not token:
        del headers["Cookie"]
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def closed(connection: socket.socket, trickling: bytes = b"") -> bytes:
    """All that came until the connection was closed; meanwhile a byte goes out every now and then."""
    found, end = b"", time.monotonic() + LONG
    connection.settimeout(0.1)
    while time.monotonic() < end:
        try:
            if trickling:
                connection.sendall(trickling)
            more = connection.recv(1 << 20)
            if not more:
                return found
            found += more
        except TimeoutError:
            continue
        except OSError:  # reset
            return found
    raise AssertionError("the connection stays open")


BEGUN: dict[str, tuple[Callable[[Server], bytes], bytes]] = {
    "silent": (lambda server: b"", b""),
    "half of a header": (lambda server: request(server, "GET", "/")[:40], b""),
    "a header that trickles in": (lambda server: request(server, "GET", "/")[:-2] + b"X: ", b"a"),
    "half of a body": (lambda server: request(server, "POST", "/table", length=1000) + b"a,b", b""),
    "a body that trickles in": (lambda server: request(server, "POST", "/table", length=1 << 20) + b"a,b", b"1"),
    "refused, and the body trickles in": (
        lambda server: request(server, "POST", "/table", token=False, length=1 << 20),
        b"1",
    ),
    "answered, and the next one trickles in": (
        lambda server: request(server, "GET", "/") + request(server, "GET", "/")[:-2] + b"X: ",
        b"a",
    ),
    "no HTTP": (lambda server: b"\x16\x03\x01 what is this?\r\n\r\n", b""),
}


@pytest.mark.parametrize("kind", BEGUN)
def test_what_is_no_whole_request_is_closed(server: Server, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    begin, more = BEGUN[kind]
    with connected(server) as connection:
        connection.sendall(begin(server))
        closed(connection, more)
    assert ask(server, "/")[0] == 200
    assert capfd.readouterr().err == ""


def test_patience_is_within_the_promise() -> None:
    assert 5 < connections.PATIENCE < 15


def test_answers_that_nobody_takes_are_given_up(server: Server) -> None:
    """Asked for thousands of times in a row, and not read: the system's memory for them is full soon."""
    with connected(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(0.1)
        asked = request(server, "GET", "/page/main.js")
        sent = 0
        try:
            while sent < 5000 * len(asked):
                sent += connection.send(asked * 100)
        except OSError:  # it takes no more
            pass
        time.sleep(1)
        got = closed(connection)
    assert 0 < got.count(b"HTTP/1.1 200") < sent // len(asked)


def test_whoever_has_asked_may_wait_for_the_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    read = server_module._read

    def slow(*given: Any) -> Any:
        time.sleep(1)
        return read(*given)

    monkeypatch.setattr(server_module, "_read", slow)
    table = b"a,b\n" + b"".join(b"%d,%d\n" % (k, k % 2) for k in range(20))
    assert ask(server, "/table?name=a.csv", "POST", body=table)[0] == 200


def test_a_page_that_does_nothing_stays(server: Server) -> None:
    page = Page(server)
    time.sleep(1)
    page.send("nonsense")
    assert "unknown command" in page.wait_for("error")["message"]
    page.close()


@pytest.mark.parametrize("descriptors", [1024, 64])
def test_many_that_ask_for_nothing_do_not_silence_the_page(descriptors: int, tmp_path: Path) -> None:
    """More connections than the server has descriptors, from one address, while a page asks again and again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip("may not open so many files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    process = subprocess.Popen(
        ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *COMMAND],
        env={**os.environ, "PYTHONPATH": str(Path(linnet.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    opened: list[socket.socket] = []
    attack: threading.Thread | None = None
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().split()[1])
        port = address.port
        assert port is not None
        host = f"Host: 127.0.0.1:{port}\r\n".encode()
        beginnings = [
            b"",
            b"GET / HTTP/1.1\r\n" + host,
            b"POST /table HTTP/1.1\r\n" + host + b"Content-Length: 100000\r\n\r\na,b",
            b"GET /live HTTP/1.1\r\n" + host + b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
        ]

        def status() -> int:
            connection = HTTPConnection("127.0.0.1", port, timeout=LONG)
            try:
                connection.request("GET", f"/?{address.query}")
                return connection.getresponse().status
            except ConnectionResetError:
                if descriptors >= 1024:
                    raise
                return status()  # with so few, any connection may be closed before it has sent anything
            finally:
                connection.close()

        def flood() -> None:
            for count in range(1200):
                with suppress(OSError):  # closed already
                    connection = socket.create_connection(("127.0.0.1", port), timeout=LONG)
                    opened.append(connection)
                    connection.sendall(beginnings[count % len(beginnings)])

        assert status() == 303
        attack = threading.Thread(target=flood)
        attack.start()
        assert {status() for _ in range(20)} == {303}  # while they come
        attack.join()
        assert len(opened) == 1200
        assert {status() for _ in range(20)} == {303}  # and when they are all there
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LONG)
        assert errors in ("", "interrupted\n")
    finally:
        process.kill()
        process.wait()
        if attack is not None:
            attack.join()
        for connection in opened:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_whoever_is_refused_asks_once(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(5 * request(server, "GET", "/", token=False))
        assert closed(connection).count(b"HTTP/1.1 403") == 1
