"""Who is refused: every route, enumerated, with a wrong or missing token, Host or Origin."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message
from websockets.exceptions import InvalidStatus

from linnet.errors import ConfigError
from linnet.playground.guard import Guard
from linnet.playground.server import MAX_UPLOAD_BYTES, Room, Server

from .served import ask, good_headers, open_socket, serving

EXAMPLES = {"/": "/", "/page/{name}": "/page/main.js", "/table": "/table?name=a.csv"}
HTTP = [
    (route.path, method)
    for route in Room().routes()
    if isinstance(route, Route)
    for method in sorted(route.methods or ())
]
SOCKETS = [route.path for route in Room().routes() if isinstance(route, WebSocketRoute)]
TABLE = b"a,b\n" + b"".join(b"%d,%d\n" % (k, k % 2) for k in range(20))
WRONG: dict[str, dict[str, str | None]] = {
    "no token": {"Cookie": None},
    "a wrong token": {"Cookie": "linnet-play-{port}=wrong"},
    "half a token": {"Cookie": "linnet-play-{port}={half}"},
    "another cookie": {"Cookie": "other={token}"},
    "another host": {"Host": "example.com:{port}"},
    "a host that begins like ours": {"Host": "127.0.0.1.example.com:{port}"},
    "our host with another port": {"Host": "127.0.0.1:1"},
    "no host": {"Host": None},
    "another origin": {"Origin": "http://example.com"},
    "our origin with another port": {"Origin": "http://127.0.0.1:1"},
    "our origin by another scheme": {"Origin": "https://127.0.0.1:{port}"},
    "the null origin": {"Origin": "null"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def headers_with(server: Server, changes: dict[str, str | None]) -> dict[str, str]:
    known = {"port": str(server.port), "token": server.token, "half": server.token[: len(server.token) // 2]}
    changed = {name: None if value is None else value.format(**known) for name, value in changes.items()}
    return {name: value for name, value in {**good_headers(server), **changed}.items() if value is not None}


def test_the_port_that_browsers_leave_out_of_addresses_may_be_left_out() -> None:
    """Port 80 cannot be opened in a test, so the guard is asked by itself."""

    async def answer(host: str, port: int) -> list[int]:
        statuses = list[int]()

        async def send(message: Message) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        async def receive() -> Message:
            return {"type": "http.request"}

        guard = Guard(PlainTextResponse("yes"), "token", port)
        headers = {"host": host, "origin": f"http://{host}", "cookie": f"{guard.cookie}=token"}
        scope = {"type": "http", "method": "POST", "path": "/table", "query_string": b"",
                 "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}  # fmt: skip
        await guard(scope, receive, send)
        return statuses

    for host in ("127.0.0.1", "localhost", "127.0.0.1:80"):
        assert asyncio.run(answer(host, 80)) == [200]
    assert asyncio.run(answer("127.0.0.1", 8642)) == [403]
    assert asyncio.run(answer("example.com", 80)) == [403]


def test_all_routes_are_known_to_this_test() -> None:
    assert {path for path, _ in HTTP} == set(EXAMPLES)
    assert SOCKETS == ["/live"]


@pytest.mark.parametrize(("path", "method"), HTTP)
def test_the_page_itself_is_answered(server: Server, path: str, method: str) -> None:
    status, headers, _ = ask(server, EXAMPLES[path], method, body=TABLE if method == "POST" else b"")
    assert status == 200
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert f"connect-src 'self' ws://127.0.0.1:{server.port} " in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("path", "method"), HTTP)
def test_whoever_else_asks_is_refused(server: Server, path: str, method: str, wrong: str) -> None:
    given = headers_with(server, WRONG[wrong])
    status, headers, body = ask(server, EXAMPLES[path], method, given, TABLE if method == "POST" else b"")
    assert status in (400, 403)  # 400: without a host it is not HTTP
    if status == 403:
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers
    assert server.token.encode() not in body


@pytest.mark.parametrize("wrong", [name for name in WRONG if "host" not in name])
def test_sockets_of_others_are_refused(server: Server, wrong: str) -> None:
    with pytest.raises(InvalidStatus) as refused, open_socket(server, headers_with(server, WRONG[wrong])):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("wrong", [name for name in WRONG if "host" in name])
def test_sockets_by_another_name_are_refused(server: Server, wrong: str) -> None:
    """The client library names the host itself, so the handshake is written by hand."""
    given = headers_with(server, WRONG[wrong])
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert ask(server, "/live", headers={**given, **upgrade, **key})[0] in (400, 403)
    with open_socket(server) as socket:  # the same with our own name is accepted
        assert socket.recv(30)


def test_cookies_of_others_do_no_harm(server: Server) -> None:
    """All programs on this machine share them."""
    own = good_headers(server)["Cookie"]
    for cookies in (f'odd={{"a": [1, "b"]}}; {own}', f"=; ;;; {own}; x", f"@:/(); {own}", f"{own}; a=\xe9"):
        assert ask(server, "/", headers={**good_headers(server), "Cookie": cookies})[0] == 200


def test_changes_need_an_origin(server: Server) -> None:
    without = headers_with(server, {"Origin": None})
    assert ask(server, "/table?name=a.csv", "POST", without, TABLE)[0] == 403
    with pytest.raises(InvalidStatus), open_socket(server, without):
        pass
    assert ask(server, "/", headers=without)[0] == 200  # an address that is typed has none


def test_the_address_brings_the_token_once(server: Server) -> None:
    host = {"Host": f"127.0.0.1:{server.port}"}
    status, headers, _ = ask(server, f"/?token={server.token}", headers=host)
    assert status == 303
    assert headers["location"] == "/"
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]
    assert ask(server, "/", headers={**host, "Cookie": headers["set-cookie"].partition(";")[0]})[0] == 200
    for path in (
        "/?token=wrong",
        f"/?token={server.token}&token={server.token}",
        f"/page/main.js?token={server.token}",
    ):
        assert ask(server, path, headers=host)[0] == 403
    elsewhere = {**host, "Origin": "http://example.com"}
    assert ask(server, f"/?token={server.token}", headers=elsewhere)[0] == 403


def test_no_other_file_is_served(server: Server) -> None:
    for path in ("/page/server.py", "/page/..%2fserver.py", "/page/../server.py", "/page/", "/nothing"):
        assert ask(server, path)[0] == 404


def test_only_the_loopback_interface_is_bound(server: Server) -> None:
    assert server._listening.getsockname()[0] == "127.0.0.1"


def test_tokens_differ_from_launch_to_launch() -> None:
    one, other = Server(Room(), 0), Server(Room(), 0)
    assert one.token != other.token
    assert len(one.token) >= 32
    for server in (one, other):
        server._listening.close()


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match="choose another port"):
            Server(Room(), taken.getsockname()[1])


def test_large_uploads_are_refused(server: Server) -> None:
    status, _, body = ask(server, "/table?name=a.csv", "POST", body=b"a" * (MAX_UPLOAD_BYTES + 1))
    assert status == 413
    assert b"start `linnet play FILE` instead" in body
