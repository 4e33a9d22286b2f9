"""A playground on a free port of this machine for the length of a test module."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

from websockets.sync.client import ClientConnection, connect

from linnet.playground.server import Room, Server


@contextmanager
def serving(room: Room | None = None) -> Iterator[Server]:
    server = Server(Room() if room is None else room, 0)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


def good_headers(server: Server) -> dict[str, str]:
    """What a page of the playground sends."""
    origin = f"http://127.0.0.1:{server.port}"
    return {"Origin": origin, "Cookie": f"{server.app.cookie}={server.token}", "Host": f"127.0.0.1:{server.port}"}


def ask(
    server: Server, path: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    given = dict(good_headers(server) if headers is None else headers)
    if "Host" not in given:
        body = b""  # no HTTP: it is refused unread, and what is unread cuts the line before the answer is here
    for name, value in {**given, "Content-Length": str(len(body))}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def open_socket(server: Server, headers: Mapping[str, str] | None = None) -> ClientConnection:
    """A socket as a page opens it."""
    given = dict(good_headers(server) if headers is None else headers)
    given.pop("Host", None)  # that of the address
    origin: Any = given.pop("Origin", None)
    return connect(
        f"ws://127.0.0.1:{server.port}/live", origin=origin, additional_headers=given, max_size=None, compression=None
    )


class Page:
    """What a page does on its socket."""

    def __init__(self, server: Server) -> None:
        self._open = open_socket(server)
        self.socket = self._open.__enter__()
        self.hello = self.wait_for("hello")

    def close(self) -> None:
        self._open.__exit__(None, None, None)

    def send(self, command: str, **more: Any) -> None:
        self.socket.send(json.dumps({"do": command, **more}))

    def next(self, timeout: float = 30) -> dict[str, Any]:
        """The next message; of bytes, the header."""
        data = self.socket.recv(timeout)
        if isinstance(data, bytes):
            length = int.from_bytes(data[:4], "little")
            return {**json.loads(data[4 : 4 + length]), "bytes": data[4 + length :]}
        return dict(json.loads(data))

    def wait_for(self, kind: str) -> dict[str, Any]:
        """The next message of a kind; every frame on the way is acknowledged."""
        for _ in range(1000):
            message = self.next()
            if message["is"] == "frame":
                self.send("seen")
            if message["is"] == kind:
                return message
        raise AssertionError(f"no {kind} came")

    def until_silence(self, seconds: float, most: int = 50) -> list[dict[str, Any]]:
        """All messages until none has come for so long, or too many have; frames are not acknowledged."""
        found = list[dict[str, Any]]()
        while len(found) < most:
            try:
                found.append(self.next(seconds))
            except TimeoutError:
                break
        return found
