"""One page on its socket: its requests are passed to its session, and frames are sent as fast as the page draws them.

The page sends JSON, `{"do": ..., ...}`; it gets JSON, `{"is": ..., ...}`, or bytes as in `frame`. The next frame is
computed when the page has reported that it has drawn the last ones, and no sooner than the eye can see.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from math import ceil, sqrt
from time import perf_counter
from typing import Any

import numpy as np
from starlette.websockets import WebSocket, WebSocketDisconnect

from linnet.errors import ConfigError, FitError, LinnetError, unknown_name
from linnet.playground import handout
from linnet.playground.approximate import approximate
from linnet.playground.explain import explain
from linnet.playground.frame import pack
from linnet.playground.session import Session
from linnet.playground.state import State
from linnet.playground.tables import Table

_FRAME_SECONDS = 1 / 30
_MAX_UNSEEN = 3  # frames sent but not yet drawn
_CATCH_UP_SECONDS = 15.0  # for the epochs of a link
_SECONDS_PER_FRAME = 0.2  # at least, while epochs are repeated
_CATCH_UP_POINTS = 60  # of the curves of repeated epochs


class Player:
    """One page and its session. Commands and training take turns, so that one thread at a time uses a session."""

    def __init__(self, socket: WebSocket, opened: Callable[[], Table | None]) -> None:
        self._socket = socket
        self._opened = opened  # the table that was opened last, maybe by another page
        self._table = opened()  # this page's own
        self._session: Session | None = None
        self._turn = asyncio.Lock()
        self._unseen = 0
        self._room_for_more = asyncio.Event()
        self._room_for_more.set()
        self._playing: asyncio.Task[None] | None = None

    async def run(self, hello: Mapping[str, Any]) -> None:
        """Greet the page and serve it until it closes."""
        await self._tell(hello)
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
        except (ValueError, RecursionError):
            raise ConfigError("a message must be JSON without deep nesting") from None
        if not isinstance(message, dict):
            raise ConfigError("a message must be an object with the field 'do'")
        if message.get("do") == "seen":
            self._unseen = 0 if message.get("frame") == "all" else max(0, self._unseen - 1)
            self._room_for_more.set()
            return
        command = message.get("do")
        if not isinstance(command, str) or command not in _COMMANDS:
            raise unknown_name("command", command, ["seen", *_COMMANDS])
        await _COMMANDS[command](self, message)

    # ---- commands ----

    async def _state(self, message: dict[str, Any]) -> None:
        """Take a state, and if requested the table that was opened last; a page without a session gets one.

        A page whose state is refused gets the last accepted one, to go back to.
        """
        catching_up = message.get("catch up") is True
        async with self._turn:
            try:
                new = await self._take(message, catching_up)
            except LinnetError as error:
                await self._refuse(error)
                return
            assert self._session is not None
            if new:
                await self._tell(self._session.facts())
            try:
                if catching_up:
                    await self._catch_up(self._session)
            finally:
                await self._show(self._session)

    async def _take(self, message: dict[str, Any], catching_up: bool) -> bool:
        """Take the state of a message; return whether a run started. An error changes nothing."""
        given = State.of(message.get("state"))
        table = self._opened() if message.get("opened") is True else self._table
        new = True
        if self._session is None:
            self._session = await asyncio.to_thread(Session, given, table)
        elif catching_up:
            await asyncio.to_thread(self._session.open, given, table)
        else:
            new = await asyncio.to_thread(self._session.apply, given, table)
        self._table = table
        return new

    async def _refuse(self, error: LinnetError) -> None:
        state = None if self._session is None else self._session.state.to_dict()
        table = None if self._table is None else self._table.facts()
        await self._tell({"is": "refused", "message": str(error), "state": state, "table": table})

    async def _play(self, message: dict[str, Any]) -> None:
        if self._playing is None or self._playing.done():
            self._playing = asyncio.create_task(self._keep_playing(self._known()))

    async def _pause(self, message: dict[str, Any] | None = None) -> None:
        if self._playing is not None:
            async with self._turn:  # not while a thread is at work on the session: it would go on behind our back
                self._playing.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect):
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
        await self._tell(await asyncio.to_thread(approximate, message.get("curve")))

    async def _way_out(self, message: dict[str, Any]) -> None:
        session = self._known()
        async with self._turn:
            await asyncio.to_thread(session.finish_epoch)
            await self._show(session)
            told = {"program": handout.program(session), "command": handout.command(session)}
            told["note"] = handout.command_note(session)
            await self._tell({"is": "way out", "losses": session.scores(), "epoch": session.epochs, **told})

    async def _download(self, message: dict[str, Any]) -> None:
        session = self._known()
        async with self._turn:
            what = message.get("what")
            if what in handout.PARTS:
                text = await asyncio.to_thread(handout.table_text, session, what)
                data, name = text.encode(), f"{session.state.data}-{what}.csv"
            else:
                data, name = await asyncio.to_thread(handout.model_file, session), f"{session.state.data}.linnet"
        await self._send(pack({"is": "file", "name": name}, {"data": np.frombuffer(data, np.uint8)}))

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
        """Train and send frames, as fast as the page draws them."""
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

    async def _catch_up(self, session: Session) -> None:
        """Repeat the run of a link, showing it on the way, until it takes too long or the page closes."""
        deadline, total, shown = perf_counter() + _CATCH_UP_SECONDS, max(1, session.state.epochs), 0
        while await asyncio.to_thread(session.catch_up, _SECONDS_PER_FRAME, shown):
            if perf_counter() > deadline:
                await asyncio.to_thread(session.give_up)
                raise FitError(
                    f"the run of the link takes more than {_CATCH_UP_SECONDS:.0f} seconds: this is epoch "
                    f"{session.epochs} of {total}, from which Play continues with the last settings"
                )
            await self._show(session)
            shown = _shown_after(session.epochs, total)

    async def _show(self, session: Session, first: Callable[[], None] = lambda: None) -> None:
        """Call `first`, then send a frame, both in the same thread."""

        def made() -> bytes:
            first()
            return session.frame()

        frame = await asyncio.to_thread(made)
        self._unseen += 1
        if self._unseen >= _MAX_UNSEEN:
            self._room_for_more.clear()
        await self._send(frame)

    async def _status(self, playing: str) -> None:
        with suppress(WebSocketDisconnect):
            await self._tell({"is": "status", "playing": bool(playing)})

    async def _tell(self, message: Mapping[str, Any]) -> None:
        await self._send(json.dumps(message))

    async def _send(self, data: str | bytes) -> None:
        try:
            await (self._socket.send_text(data) if isinstance(data, str) else self._socket.send_bytes(data))
        except RuntimeError:  # what starlette says if the page has gone before it was heard of
            raise WebSocketDisconnect(1006) from None


def _shown_after(epochs: int, total: int) -> int:
    """Return the next epoch of a link to show: more of the first ones, as curves turn early."""
    return max(epochs + 1, ceil(total * (sqrt(epochs / total) + 1 / _CATCH_UP_POINTS) ** 2))


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
