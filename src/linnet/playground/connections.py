"""Limits on idle connections: whoever can reach the port can open any number of them, with a token or without.

A connection has some seconds for a whole request, headers and body, from when it is made or from the end of the last
reply; and the same time to read a reply that does not fit into the system's buffers. Bytes that trickle in buy no time.
Only some connections without a whole request are kept: a new one closes the one that has waited longest. A page sends
its requests at once, so it is served however many others wait.
"""

import asyncio
from collections.abc import Iterable
from time import monotonic
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]

PATIENCE = 12.0  # seconds
_MAX_WAITING = 256  # connections; a browser opens six, for each of at most eight pages
_ACCEPTED_AT_ONCE = 64  # connections, before excess ones are closed
_QUEUE = 1024  # connections that the system holds until then


def _at_most(wanted: int, share: int) -> int:
    """Return the number of connections, limited to one in `share` of the descriptors of this process."""
    if resource is None:
        return wanted
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft // share))


def _waiting(connections: Iterable[Any]) -> "list[Patient]":
    """Return the connections without a whole request, the one that has waited longest first."""
    found = [(each.since, each) for each in connections if isinstance(each, Patient) and each.since is not None]
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


class Patient(H11Protocol):
    """A connection that is closed when its time is up."""

    patience = PATIENCE
    since: float | None = None  # when it began to wait for a request
    _for_request: asyncio.TimerHandle | None = None
    _for_reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for a request."""
        super().connection_made(transport)
        self._wait()
        # not before what came along with the new ones has been read
        self.loop.call_soon(self.loop.call_soon, self._make_room)

    def _make_room(self) -> None:
        waiting = _waiting(self.connections)
        for each in waiting[: max(0, len(waiting) - _at_most(_MAX_WAITING, 4))]:
            each.give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._go_on()
        self._is_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take data; a whole request ends the wait."""
        super().data_received(data)
        if self.since is not None and self._has_request() and not self.transport.is_closing():
            self._go_on()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        answered = self._has_request()  # an answer may come before the end of a request that is refused
        super().on_response_complete()
        if answered or self.since is None:
            self._go_on()
            if self.transport.is_closing() or not self._has_request():  # else the next one is here already
                self._wait()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Become a socket, which is kept alive by pings."""
        self._go_on()
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """Start to wait for the reader."""
        super().pause_writing()
        self._for_reader = self.loop.call_later(self.patience, self.give_up)

    def resume_writing(self) -> None:
        """Continue: the reader has caught up."""
        super().resume_writing()
        self._is_read()

    def give_up(self) -> None:
        """Close the connection at once, whatever is under way."""
        self._go_on()
        self._is_read()
        self.transport.abort()

    def _has_request(self) -> bool:
        return self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)

    def _wait(self) -> None:
        self.since = monotonic()
        self._for_request = self.loop.call_later(self.patience, self.give_up)

    def _go_on(self) -> None:
        self.since = None
        if self._for_request is not None:
            self._for_request.cancel()
            self._for_request = None

    def _is_read(self) -> None:
        if self._for_reader is not None:
            self._for_reader.cancel()
            self._for_reader = None


class PatientServer(uvicorn.Server):
    """A server whose descriptors are not used up by idle connections."""

    def __init__(self, app: Any, **options: Any) -> None:
        at_once = _at_most(_ACCEPTED_AT_ONCE, 16)
        super().__init__(uvicorn.Config(app, http=Patient, loop="asyncio", backlog=at_once, **options))
        self._made_room = 0.0

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_QUEUE)
        asyncio.get_running_loop().set_exception_handler(self._unexpected)

    def _unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Make room where no connection can be accepted, without a traceback for each; report anything else."""
        if not str(context.get("message")).startswith("socket.accept() out of"):
            loop.default_exception_handler(context)
            return
        if monotonic() - self._made_room > 0.5:  # it is told again and again before those are closed
            self._made_room = monotonic()
            waiting = _waiting(self.server_state.connections)
            for each in waiting[: (len(waiting) + 1) // 2]:
                each.give_up()
