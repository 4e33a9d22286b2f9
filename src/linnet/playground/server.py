"""The application: a page, its files, tables that it opens, and a socket on which a session is played.

The page sends JSON, `{"do": ..., ...}`; what it gets is JSON, `{"is": ..., ...}`, or bytes as in `frame`. Frames come
as fast as the page says that it has drawn them, and no faster than one can see. When the socket closes, the session
ends.
"""

import asyncio
import json
import secrets
import socket as sockets
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from linnet.errors import ConfigError, FitError, LinnetError, unknown_name
from linnet.model.activations import ACTIVATIONS
from linnet.model.initialise import INITIALISERS
from linnet.playground import handout, state
from linnet.playground.approximate import FUNCTIONS, approximate
from linnet.playground.datasets import make
from linnet.playground.explain import explain
from linnet.playground.frame import pack
from linnet.playground.guard import Guard
from linnet.playground.presets import PRESETS
from linnet.playground.session import Session
from linnet.playground.state import State
from linnet.playground.tables import Table

PORT = 8642  # unless it is taken
MOST_SESSIONS = 8
MOST_MESSAGE = 1 << 18  # bytes
MOST_UPLOAD = 1 << 25
_FRAME_SECONDS = 1 / 30
_MOST_UNSEEN = 3  # frames on their way
_TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


class Room:
    """What the pages of one launch share: the table, and a limit."""

    def __init__(self, table: Table | None = None, first: Mapping[str, Any] | None = None) -> None:
        self.table = table
        self.first = dict(first or {})  # what the state of a page without a link differs in
        self.sessions = 0
        files = resources.files("linnet.playground").joinpath("page").iterdir()
        self._files = {file.name: file.read_bytes() for file in files if file.name.rpartition(".")[2] in _TYPES}

    def routes(self) -> list[Route | WebSocketRoute]:
        """Everything that is answered."""
        return [
            Route("/", self.index),
            Route("/page/{name}", self.file),
            Route("/table", self.upload, methods=["POST"]),
            WebSocketRoute("/live", self.live),
        ]

    async def index(self, request: Request) -> Response:
        """The page."""
        return self._file("index.html")

    async def file(self, request: Request) -> Response:
        """A style sheet or script of the page."""
        return self._file(request.path_params["name"])

    def _file(self, name: str) -> Response:
        if name not in self._files:
            return Response("There is no such file.\n", 404, media_type="text/plain")
        return Response(self._files[name], media_type=_TYPES[name.rpartition(".")[2]])

    async def upload(self, request: Request) -> Response:
        """Take a file as the table; it is kept in memory only."""
        body = bytearray()
        with suppress(ClientDisconnect):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_UPLOAD:
                    message = f"the file has more than {MOST_UPLOAD >> 20} MB: start `linnet play FILE` instead"
                    return JSONResponse({"is": "error", "message": message}, 413)
        name = Path(request.query_params.get("name", "table.csv")[:200]).name or "table.csv"
        try:
            self.table = await asyncio.to_thread(_read, bytes(body), name)
        except LinnetError as error:
            return JSONResponse({"is": "error", "message": str(error)}, 400)
        return JSONResponse({"is": "table", **self.table.facts()})

    async def live(self, socket: WebSocket) -> None:
        """Play with one page until it goes away."""
        await socket.accept()
        if self.sessions >= MOST_SESSIONS:
            await socket.close(1013, f"{MOST_SESSIONS} pages are open: close one")
            return
        self.sessions += 1
        try:
            await Player(socket, self).run()
        finally:
            self.sessions -= 1

    def hello(self) -> dict[str, Any]:
        """What a page needs to know before it begins."""
        return {
            "is": "hello",
            "defaults": State().to_dict(),
            "first": self.first,
            "presets": [{"title": each.title, "text": each.text, "state": each.state.to_dict()} for each in PRESETS],
            "table": None if self.table is None else self.table.facts(),
            "thumbnails": _thumbnails(),
            "functions": list(FUNCTIONS),
            "choices": {
                "data": state.DATA,
                "features": state.FEATURES,
                "activation": ACTIVATIONS,
                "initialiser": INITIALISERS,
                "optimizer": state.OPTIMIZERS,
                "layers": state.MOST_LAYERS,
                "units": state.MOST_UNITS,
                "classes": state.MOST_CLASSES,
                "points": state.MOST_POINTS,
                "epochs": state.MOST_EPOCHS,
            },
        }


class Player:
    """One page and its session. Commands and training take turns, so that a session is used by one thread at a time."""

    def __init__(self, socket: WebSocket, room: Room) -> None:
        self._socket = socket
        self._room = room
        self._session: Session | None = None
        self._turn = asyncio.Lock()
        self._unseen = 0
        self._room_for_more = asyncio.Event()
        self._room_for_more.set()
        self._playing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Answer the page until it goes away."""
        await self._tell(self._room.hello())
        try:
            while True:
                text = await self._socket.receive_text()
                try:
                    await self._answer(text)
                except LinnetError as error:
                    await self._tell({"is": "error", "message": str(error)})
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes instead of text
            pass
        finally:
            await self._pause()

    async def _answer(self, text: str) -> None:
        try:
            message = json.loads(text)
        except ValueError:
            raise ConfigError("a message must be JSON") from None
        if not isinstance(message, dict):
            raise ConfigError("a message must be an object with the field do")
        if message.get("do") == "seen":
            self._unseen = 0 if message.get("frame") == "all" else max(0, self._unseen - 1)
            self._room_for_more.set()
            return
        if message.get("do") not in _COMMANDS:
            raise unknown_name("command", message.get("do"), ["seen", *_COMMANDS])
        await _COMMANDS[message["do"]](self, message)

    # ---- commands ----

    async def _state(self, message: dict[str, Any]) -> None:
        """Take a state; a page that has none yet gets a session, with the default if its own cannot be."""
        given = State.of(message.get("state"))
        async with self._turn:
            new = self._session is None
            if self._session is None:
                self._session = await asyncio.to_thread(Session, given, self._room.table)
            else:
                self._session.table = self._room.table
                new = await asyncio.to_thread(self._session.apply, given)
            if new:
                await self._tell(self._session.facts())
            if message.get("catch up") is True and self._session.epochs == 0:
                await asyncio.to_thread(self._session.catch_up)
            await self._show(self._session)

    async def _play(self, message: dict[str, Any]) -> None:
        if self._playing is None or self._playing.done():
            self._playing = asyncio.create_task(self._keep_playing(self._known()))

    async def _pause(self, message: dict[str, Any] | None = None) -> None:
        if self._playing is not None:
            self._playing.cancel()
            with suppress(asyncio.CancelledError):
                await self._playing
            self._playing = None
            await self._status("")

    async def _step(self, message: dict[str, Any]) -> None:
        await self._once(lambda session: session.advance("step"))

    async def _epoch(self, message: dict[str, Any]) -> None:
        await self._once(Session.one_epoch)

    async def _reset(self, message: dict[str, Any]) -> None:
        session = self._known()
        async with self._turn:
            await asyncio.to_thread(session.reset)
            await self._tell(session.facts())
            await self._show(session)

    async def _weight(self, message: dict[str, Any]) -> None:
        layer, source, unit, value = (message.get(name) for name in ("layer", "source", "unit", "value"))
        session = self._known()
        async with self._turn:
            await asyncio.to_thread(session.edit, layer, source, unit, value)
            await self._show(session)

    async def _explain(self, message: dict[str, Any]) -> None:
        session = self._known()
        async with self._turn:
            await self._tell(await asyncio.to_thread(explain, session, message.get("row")))

    async def _approximate(self, message: dict[str, Any]) -> None:
        await self._tell(await asyncio.to_thread(approximate, message))

    async def _way_out(self, message: dict[str, Any]) -> None:
        session = self._known()
        async with self._turn:
            await asyncio.to_thread(session.finish_epoch)
            await self._show(session)
            told = {"program": handout.program(session), "command": handout.command(session), "epoch": session.epochs}
            await self._tell({"is": "way out", "losses": session.scores(), **told})

    async def _download(self, message: dict[str, Any]) -> None:
        session = self._known()
        async with self._turn:
            if message.get("what") == "data":
                data, name = handout.table_text(session).encode(), f"{session.state.data}.csv"
            else:
                data, name = await asyncio.to_thread(handout.model_file, session), f"{session.state.data}.linnet"
        await self._socket.send_bytes(pack({"is": "file", "name": name}, {"data": np.frombuffer(data, np.uint8)}))

    # ---- inside ----

    def _known(self) -> Session:
        if self._session is None:
            raise ConfigError("there is no session yet: send a state first")
        return self._session

    async def _once(self, advance: Callable[[Session], None]) -> None:
        await self._pause()
        session = self._known()
        async with self._turn:
            try:
                await asyncio.to_thread(advance, session)
            finally:
                await self._show(session)

    async def _keep_playing(self, session: Session) -> None:
        """Train and show, as fast as the page draws."""
        try:
            await self._status("playing")
            while True:
                began = perf_counter()
                await self._room_for_more.wait()
                async with self._turn:
                    await self._show(session, lambda: session.advance(session.state.speed))
                await asyncio.sleep(max(0.0, began + _FRAME_SECONDS - perf_counter()))
        except FitError as error:
            await self._tell({"is": "error", "message": str(error)})
            await self._show(session)
            await self._status("")

    async def _show(self, session: Session, first: Callable[[], None] = lambda: None) -> None:
        """Send a frame, having done something else first, in the same thread."""

        def made() -> bytes:
            first()
            return session.frame()

        frame = await asyncio.to_thread(made)
        self._unseen += 1
        if self._unseen >= _MOST_UNSEEN:
            self._room_for_more.clear()
        await self._socket.send_bytes(frame)

    async def _status(self, playing: str) -> None:
        with suppress(RuntimeError, WebSocketDisconnect):  # the page may be gone
            await self._tell({"is": "status", "playing": bool(playing)})

    async def _tell(self, message: Mapping[str, Any]) -> None:
        await self._socket.send_text(json.dumps(message))


_COMMANDS: dict[str, Callable[[Player, dict[str, Any]], Awaitable[None]]] = {
    "state": Player._state,
    "play": Player._play,
    "pause": Player._pause,
    "step": Player._step,
    "epoch": Player._epoch,
    "reset": Player._reset,
    "weight": Player._weight,
    "explain": Player._explain,
    "approximate": Player._approximate,
    "way out": Player._way_out,
    "download": Player._download,
}


@cache
def _thumbnails() -> dict[str, Any]:
    """Some points of every toy set."""
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
    with tempfile.TemporaryDirectory(prefix="linnet-") as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            found = Table.read([path])
        except LinnetError as error:
            raise type(error)(str(error).replace(f"{path}", name)) from None
    return Table(found.table, [name], found.notes)


class Server:
    """A playground on a port of this machine, of which only its own pages get an answer."""

    def __init__(self, room: Room, port: int | None = None) -> None:
        self._listening = _listen(port)
        self.port: int = self._listening.getsockname()[1]
        self.token = secrets.token_urlsafe(24)
        app: ASGIApp = Starlette(routes=room.routes())
        self.app = Guard(app, self.token, self.port)
        config = uvicorn.Config(
            self.app,
            log_level="warning",
            ws_max_size=MOST_MESSAGE,
            ws_per_message_deflate=False,  # the bytes stay on this machine
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Answer until it is told to stop, or by Ctrl-C."""
        self._server.run(sockets=[self._listening])

    def stop(self) -> None:
        """Let `run` end."""
        self._server.should_exit = True


def _listen(port: int | None) -> sockets.socket:
    """A socket on the loopback interface; without a port given any free one will do if ours is taken."""
    listening = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)
    listening.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", PORT if port is None else port))
    except OSError as error:
        if port is not None:
            listening.close()
            raise ConfigError(f"port {port} cannot be used: {error.strerror}: choose another one by --port") from None
        listening.bind(("127.0.0.1", 0))
    listening.listen(128)  # whoever asks from now on is answered once `run` has begun
    return listening
