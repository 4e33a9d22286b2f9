"""Access control around the whole application, so that no route can be forgotten.

A request must name this host (no other name can be made to point here), must not come from a page of another origin,
and must have the token of this launch. The token arrives once, in the address that the command opens, and is kept in a
cookie that other sites cannot send and scripts cannot read.
"""

import hmac
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' {sockets}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)  # not every browser counts the socket of a page as 'self'
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_SAFE = ("GET", "HEAD")
_HTTP_PORT = 80  # which browsers leave out of an address


class Guard:
    """An application that answers authorised requests only."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        names = ("127.0.0.1", "localhost")
        self._hosts = {f"{name}:{port}" for name in names}
        if port == _HTTP_PORT:
            self._hosts |= set(names)
        self._origins = {f"http://{host}" for host in self._hosts}
        sockets = " ".join(f"ws://{host}" for host in sorted(self._hosts))
        self._headers = ((b"content-security-policy", _POLICY.format(sockets=sockets).encode()), *_HEADERS)
        self.cookie = f"linnet-play-{port}"  # cookies know no ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        app = self._app
        if scope["type"] == "http":
            if self._wrong(scope) == "token" and self._brings_token(scope):
                app = RedirectResponse("/", 303, {"set-cookie": self._set_cookie()})
            elif wrong := self._wrong(scope):
                app = PlainTextResponse(_REFUSED[wrong], 403, _last(scope))
            await app(scope, receive, self._with_headers(send))
        elif self._wrong(scope):
            await send({"type": "websocket.close", "code": 1008})
        else:
            await app(scope, receive, send)

    def _wrong(self, scope: Scope) -> str:
        """Return what is wrong with a request: "host", "origin", "token" or ""."""
        if _only(scope, b"host") not in self._hosts:
            return "host"
        origin = _only(scope, b"origin")
        safe = scope["type"] == "http" and scope["method"] in _SAFE
        if origin not in self._origins and not (safe and origin is None):
            return "origin"
        if not self._same(_cookies(scope).get(self.cookie)):
            return "token"
        return ""

    def _brings_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return scope["path"] == "/" and scope["method"] == "GET" and len(given) == 1 and self._same(given[0])

    def _same(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self._token.encode())

    def _set_cookie(self) -> str:
        return f"{self.cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers: list[Any] = message.setdefault("headers", [])
                headers += self._headers
            await send(message)

        return sending


_REFUSED = {
    "host": "Refused: linnet play answers only to 127.0.0.1 and localhost.\n",
    "origin": "Refused: the request comes from another site.\n",
    "token": "This page belongs to a run of `linnet play`: open the address that it printed. The part of a link after "
    "# can be appended to that address.\n",
}


def _last(scope: Scope) -> dict[str, str]:
    """Return the header that ends the connection of a refused request, so that it cannot be used again and again.

    Not if a body is on its way: an end in the middle of it would cut off the reply, too.
    """
    body = _only(scope, b"transfer-encoding") or _only(scope, b"content-length") or "0"
    return {"connection": "close"} if body == "0" else {}


def _only(scope: Scope, name: bytes) -> str | None:
    """Return a header that must not occur twice."""
    found = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    return None if not found else found[0] if len(found) == 1 else "\n".join(found)


def _cookies(scope: Scope) -> dict[str, str]:
    """Return all cookies, whatever others on this machine have put among them."""
    found: dict[str, str] = {}
    for key, value in scope["headers"]:
        if key == b"cookie":
            found |= cookie_parser(value.decode("latin-1"))
    return found
