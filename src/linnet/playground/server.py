"""The application: a page, its files, tables that it opens, and a socket for its session.

When the socket closes, the session ends.
"""

import asyncio
import re
import secrets
import socket as sockets
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from linnet.errors import ConfigError, LinnetError
from linnet.heads.activations import ACTIVATIONS
from linnet.model.initialise import INITIALISERS
from linnet.playground import state
from linnet.playground.approximate import DEFAULTS, FUNCTIONS
from linnet.playground.connections import PatientServer
from linnet.playground.datasets import make
from linnet.playground.frame import input_maps
from linnet.playground.guard import Guard
from linnet.playground.player import Player
from linnet.playground.presets import PRESETS
from linnet.playground.state import State
from linnet.playground.tables import Table

PORT = 8642  # unless it is taken
MAX_SESSIONS = 8
MAX_MESSAGE_BYTES = 1 << 18  # bytes
MAX_UPLOAD_BYTES = 1 << 25
_TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


class Room:
    """The state shared by the pages of one launch: the table, and the number of sessions."""

    def __init__(self, table: Table | None = None, first: Mapping[str, Any] | None = None) -> None:
        self.table = table
        self.first = dict(first or {})  # what the state of a page without a link differs in
        self.sessions = 0
        files = resources.files("linnet.playground").joinpath("page").iterdir()
        self._files = {file.name: file.read_bytes() for file in files if file.name.rpartition(".")[2] in _TYPES}

    def routes(self) -> list[Route | WebSocketRoute]:
        """Return all routes."""
        return [
            Route("/", self.index),
            Route("/page/{name}", self.file),
            Route("/table", self.upload, methods=["POST"]),
            WebSocketRoute("/live", self.live),
        ]

    async def index(self, request: Request) -> Response:
        """Return the page."""
        return self._file("index.html")

    async def file(self, request: Request) -> Response:
        """Return a style sheet or script of the page."""
        return self._file(request.path_params["name"])

    def _file(self, name: str) -> Response:
        if name not in self._files:
            return Response("There is no such file.\n", 404, media_type="text/plain")
        return Response(self._files[name], media_type=_TYPES[name.rpartition(".")[2]])

    async def upload(self, request: Request) -> Response:
        """Take a file as the table; it is kept in memory only."""
        body = bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_UPLOAD_BYTES:
                    message = f"the file is larger than {MAX_UPLOAD_BYTES >> 20} MB: start `linnet play FILE` instead"
                    return JSONResponse({"is": "error", "message": message}, 413)
        except ClientDisconnect:  # half a file is none
            return Response(status_code=400)
        name = Path(request.query_params.get("name", "")[:200]).name or "table.csv"
        try:
            self.table = await asyncio.to_thread(_read, bytes(body), name)
        except LinnetError as error:
            return JSONResponse({"is": "error", "message": str(error)}, 400)
        return JSONResponse({"is": "table", **self.table.facts()})

    async def live(self, socket: WebSocket) -> None:
        """Serve one page until it closes."""
        await socket.accept()
        if self.sessions >= MAX_SESSIONS:
            await socket.close(1013, f"{MAX_SESSIONS} pages are open: close one")
            return
        self.sessions += 1
        try:
            await Player(socket, lambda: self.table).run(self.hello())
        except asyncio.CancelledError:  # Ctrl-C while a thread is at work: it ends by itself, and nobody waits for it
            pass
        finally:
            self.sessions -= 1

    def hello(self) -> dict[str, Any]:
        """Return what a page needs when it opens."""
        return {
            "is": "hello",
            "defaults": State().to_dict(),
            "first": self.first,
            "presets": [{"title": each.title, "text": each.text, "state": each.state.to_dict()} for each in PRESETS],
            "table": None if self.table is None else self.table.facts(),
            "thumbnails": _thumbnails(),
            "maps": dict(zip(state.FEATURES, input_maps(make("circle", features=state.FEATURES)), strict=True)),
            "functions": list(FUNCTIONS),
            "curve": DEFAULTS,
            "choices": {
                "data": state.DATA,
                "features": state.FEATURES,
                "activation": ACTIVATIONS,
                "initialiser": INITIALISERS,
                "optimizer": state.OPTIMIZER_NAMES,
                "layers": state.MAX_LAYERS,
                "units": state.MAX_UNITS,
                "classes": state.MAX_CLASSES,
                "points": state.MAX_POINTS,
                "epochs": state.MAX_EPOCHS,
            },
        }


@cache
def _thumbnails() -> dict[str, Any]:
    """Return some points of every toy set."""
    found = {}
    for name in state.DATA:
        if name not in ("drawn", "digits", "table"):
            data = make(name, noise=0.05)
            found[name] = {
                "points": np.round(data.points[::5], 2).tolist(),
                "values": np.round(data.y[::5], 2).tolist(),
                "task": data.task,
            }
    return found


def _read(data: bytes, name: str) -> Table:
    kind = "".join(Path(name).suffixes[-2:])  # all of the name that matters; the rest may be no name of a file here
    with tempfile.TemporaryDirectory(prefix="linnet-") as folder:
        path = Path(folder) / f"table{kind if re.fullmatch(r'[.a-zA-Z0-9]{1,20}', kind) else '.csv'}"
        path.write_bytes(data)
        try:
            found = Table.read([path])
        except LinnetError as error:
            raise type(error)(str(error).replace(f"{path}", name).replace(path.name, name)) from None
    table = Table(found.table, [name], found.notes)
    table.last_target()  # what has none cannot be used
    return table


class Server:
    """A playground on a port of this machine, which answers its own pages only."""

    def __init__(self, room: Room, port: int | None = None) -> None:
        self._listening = _listen(port)
        self.port: int = self._listening.getsockname()[1]
        self.token = secrets.token_urlsafe(24)
        app: ASGIApp = Starlette(routes=room.routes())
        self.app = Guard(app, self.token, self.port)
        self._server = PatientServer(
            self.app,
            log_level="error",  # what others send is nothing to warn of, and they could send much
            ws_max_size=MAX_MESSAGE_BYTES,
            ws_per_message_deflate=False,  # the bytes stay on this machine
            timeout_graceful_shutdown=1,
            server_header=False,
        )

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Serve until `stop` or Ctrl-C."""
        self._server.run(sockets=[self._listening])

    def stop(self) -> None:
        """Let `run` end."""
        self._server.should_exit = True


def _listen(port: int | None) -> sockets.socket:
    """Return a socket on the loopback interface; without a given port, on any free one if the default is taken."""
    listening = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)
    listening.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", PORT if port is None else port))
    except OSError as error:
        if port is not None:
            listening.close()
            raise ConfigError(f"port {port} cannot be used: {error.strerror}: choose another port") from None
        listening.bind(("127.0.0.1", 0))
    listening.listen(128)  # whoever asks from now on is answered once `run` has begun
    return listening
