"""Connections of clients: limits on their number, and an end for the ones that stall."""

import asyncio
import json
import resource
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from idstore.errors import IdstoreError, InvalidData, Overloaded, RequestTooLarge
from idstore.server import problems

_RESERVED: Final = 256
"""File descriptors that the store, its snapshots and the processes of queries may need."""
_FEWEST: Final = 16
_ADDRESS: Final = (1 << 16) - 1
"""Bytes of an address at most."""
_HEAD: Final = 1 << 16
"""Bytes of the head of a request that a connection reads before it is refused."""


class ClientConnection(HttpToolsProtocol):
    """A connection that ends when its client stalls.

    stalled      seconds in which the head of a request must arrive, and the buffer of answers must empty.
    most         how many there may be. For a further one, the one that has waited longest for a part of a
                 request ends; if all requests have arrived, the further one is told to come again.
    waiting      those that wait for a part of a request, the longest first; all connections share it.
    """

    def __init__(
        self,
        *arguments: Any,
        stalled: float,
        most: int,
        waiting: "dict[ClientConnection, None]",
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self._most, self._waiting = most, waiting
        self._reading, self._writing = _Deadline(stalled), _Deadline(stalled)
        self._head = 0
        self._lacks_body = False
        self._unanswered = list[RequestResponseCycle]()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > self._most:
            if (idle := self._idle()) is None:
                self._refuse(Overloaded("the server has too many connections at the moment; try again soon"))
                return
            del self._waiting[idle]
            idle.transport.abort()
        self._wait()
        self._reading.start(transport)

    def _idle(self) -> "ClientConnection | None":
        """Return the connection that has waited longest for a part of a request, and has sent all answers."""
        return next((one for one in self._waiting if not one.transport.get_write_buffer_size()), None)

    def _wait(self) -> None:
        """Wait for a part of a request, from now on."""
        self._waiting.pop(self, None)
        self._waiting[self] = None

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        if self in self._waiting:
            self._wait()
        super().data_received(data)
        awaited: RequestResponseCycle | None = self.cycle
        if awaited is None or awaited.response_complete:
            self._reading.start(self.transport)
            self._head += len(data)
            if self._head > _HEAD:
                self._refuse(
                    RequestTooLarge(f"the head of the request is larger than {_HEAD} bytes; send less")
                )

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        self._reading.cancel()
        self._head, self._lacks_body = 0, True
        if self.client is not None:
            self.scope["state"]["peer"] = self.client[0]  # also behind a proxy, which tells another one
        super().on_headers_complete()
        if self.cycle is not None:
            self._unanswered.append(self.cycle)

    def on_message_complete(self) -> None:
        """Note that all of a request has arrived."""
        self._lacks_body = False
        self._waiting.pop(self, None)
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Wait for a client that does not take an answer."""
        super().pause_writing()
        self._writing.start(self.transport)

    def resume_writing(self) -> None:
        """Go on with an answer."""
        self._writing.cancel()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """End the connection, or begin to wait for the next request."""
        self._unanswered = [one for one in self._unanswered if not one.response_complete]
        super().on_response_complete()
        if self.transport.is_closing():
            self._close()
        elif len(self._unanswered) <= self._lacks_body:
            self._wait()

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection."""
        self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection. The requests that have no answer yet learn of it, also pipelined ones."""
        self._reading.cancel()
        self._writing.cancel()
        self._waiting.pop(self, None)
        for one in self._unanswered:
            one.disconnected = True
            one.message_event.set()
        self._unanswered.clear()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 the parser's words are for programmers
        """Refuse bytes that are no request, or one whose address the parser cannot hold."""
        if len(getattr(self, "url", b"")) > _ADDRESS:
            too_long = RequestTooLarge(f"the address is longer than {_ADDRESS} bytes; send a body by POST")
            self._refuse(too_long, HTTPStatus.REQUEST_URI_TOO_LONG)
            return
        error = InvalidData("this is no request of HTTP/1.1; send its parts as RFC 9112 says")
        self._refuse(error, HTTPStatus.BAD_REQUEST)

    def _refuse(self, error: IdstoreError, status: HTTPStatus | None = None) -> None:
        self.transport.write(_refusal(error, status or HTTPStatus(problems.status(type(error)))))
        self._close()

    def _close(self) -> None:
        """Close the connection, at the latest after the time for the rest of an answer."""
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self._writing.start(self.transport)


class _Deadline:
    """A time after which a connection is broken off, unless that is cancelled."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def start(self, transport: asyncio.Transport) -> None:
        """Begin, unless the time runs already."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, transport.abort)

    def cancel(self) -> None:
        """End the time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def protocol(stalled: float, connections: int) -> type[asyncio.Protocol]:
    """Return the protocol for a listening socket: see `ClientConnection`."""
    waiting = dict[ClientConnection, None]()
    limited: Any = partial(ClientConnection, stalled=stalled, most=_affordable(connections), waiting=waiting)
    return limited  # type: ignore[no-any-return]


def _affordable(connections: int) -> int:
    """Return how many of these connections the process can hold, after raising its limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _RESERVED
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(_FEWEST, min(connections, wanted - _RESERVED))


def _refusal(error: IdstoreError, status: HTTPStatus) -> bytes:
    """Return the answer for a connection that is refused."""
    body = json.dumps(problems.describe(error) | {"status": status.value}).encode()
    headers = {
        "Content-Type": problems.MEDIA_TYPE,
        **problems.headers(error),
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        *(f"{name}: {text}" for name, text in headers.items()),
    ]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode() + body
