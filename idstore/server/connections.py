"""Connections of clients: limits on their number, and an end for the ones that stall."""

import asyncio
import json
import resource
from collections import deque
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from httptools import HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from idstore.errors import IdstoreError, InvalidData, Overloaded, RequestTooLarge
from idstore.server import problems

_RESERVED: Final = 256
"""File descriptors that the store, its snapshots and the processes of queries may need."""
_FEWEST: Final = 16
_ADDRESS: Final = (1 << 16) - 1
"""Bytes of an address at most."""
_HEAD: Final = 1 << 16
"""Bytes of a request, but for its body, that a connection reads before it is refused."""
_PIPELINED: Final = 128
"""Requests of one connection that may wait for their answers."""
_TOO_LONG: Final = f"the address is longer than {_ADDRESS} bytes; send a body by POST"
_TOO_LARGE: Final = f"the head of the request is larger than {_HEAD} bytes; send less"
_TOO_MANY: Final = f"{_PIPELINED} requests of this connection wait for answers; send more after these"
_NO_REQUEST: Final = "this is no request of HTTP/1.1; send its parts as RFC 9112 says"


class _Parser(HttpRequestParser):
    """A parser that overlooks wishes for another protocol, as RFC 9110 (section 7.8) lets a server do.

    The parser that it builds on would drop the body of such a request.
    """

    def __init__(self, connection: "ClientConnection") -> None:
        super().__init__(connection)
        self._connection = connection

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]
        """Read a part of a request."""
        while True:
            try:
                super().feed_data(data)
            except HttpParserUpgrade as wish:
                if not self.overlooks():
                    raise
                data = self._connection.head() + data[wish.args[0] :]
                super().__init__(self._connection)  # it may expect no more
            else:
                return

    def overlooks(self) -> bool:
        """Return whether the request has such a wish, and is thus read once more without it."""
        return self.should_upgrade() and self.get_method() != b"CONNECT"


class ClientConnection(HttpToolsProtocol):
    """A connection that ends when its client stalls.

    stalled      seconds in which the head of a request must arrive, and the buffer of answers must empty.
    lingering    seconds in which what still comes is read and dropped after a refusal.
    most         how many there may be. For a further one, the one that has waited longest for a part of a
                 request ends; if all requests have arrived, the further one is told to come again.
    waiting      those that wait for a part of a request, the longest first; all connections share it.
    """

    def __init__(
        self,
        *arguments: Any,
        stalled: float,
        lingering: float,
        most: int,
        waiting: "dict[ClientConnection, None]",
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self._most, self._waiting, self._lingering = most, waiting, lingering
        self._reading, self._writing = _Deadline(stalled), _Deadline(stalled)
        self.parser: _Parser = _Parser(self)
        self.url, self.headers = b"", []
        self._head = 0
        self._lacks_body = False
        self._unanswered = deque[RequestResponseCycle]()
        self._refusal = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > self._most:
            if (idle := self._idle()) is None:
                self._refusal = _refusal(
                    Overloaded("the server has too many connections at the moment; try again soon")
                )
                transport.write(self._refusal)
                self._close()
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
        if self._refusal:
            return
        if self in self._waiting:
            self._wait()
        self._head += len(data)
        super().data_received(data)
        if not self._unanswered:
            self._reading.start(self.transport)
        if self._head > _HEAD and not self._refusal:
            self._refuse(RequestTooLarge(_TOO_LARGE))

    def _head_size(self) -> int:
        """Return the bytes of the newest head, which may have come in one piece."""
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def head(self) -> bytes:
        """Return the head of the newest request, without a wish for another protocol."""
        lines = [name + b": " + text for name, text in self.headers if name != b"upgrade"]
        first = b"%s %s HTTP/%s" % (
            self.parser.get_method(),
            self.url,
            self.parser.get_http_version().encode(),
        )
        return b"\r\n".join([first, *lines, b"", b""])

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header; what follows a body in pieces is overlooked, as RFC 9110 (section 6.5.1) asks."""
        if not self._lacks_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        if self.parser.overlooks():
            return
        if (fault := self._fault()) is not None:
            raise fault[0]  # it ends the parser's work, and `send_400_response` tells it
        self._reading.cancel()
        self._head = 0
        if self.client is not None:
            self.scope["state"]["peer"] = self.client[0]  # also behind a proxy, which tells another one
        super().on_headers_complete()
        self._unanswered.append(self.cycle)
        self._lacks_body = True

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self._unanswered:
            self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that all of a request has arrived."""
        if self.parser.overlooks():
            return
        self._head, self._lacks_body = 0, False
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
        while self._unanswered and self._unanswered[0].response_complete:
            self._unanswered.popleft()
        super().on_response_complete()
        if self.transport.is_closing():
            self._close()
        elif self._refusal:
            self._tell_refusal()
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
        self._leave()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 the parser's words are for programmers
        """Refuse what the parser does not take: a request with a fault, or bytes that are none."""
        self._refuse(*(self._fault() or (InvalidData(_NO_REQUEST), HTTPStatus.BAD_REQUEST)))

    def _fault(self) -> tuple[IdstoreError, HTTPStatus | None] | None:
        """Return why the newest request is not taken, and the status of that unless it is the error's."""
        if len(self._unanswered) >= _PIPELINED:
            return Overloaded(_TOO_MANY), None
        if len(self.url) > _ADDRESS:
            return RequestTooLarge(_TOO_LONG), HTTPStatus.REQUEST_URI_TOO_LONG
        if self._head_size() > _HEAD:
            return RequestTooLarge(_TOO_LARGE), None
        return None

    def _refuse(self, error: IdstoreError, status: HTTPStatus | None = None) -> None:
        """Read no more, and tell it after the answers to earlier requests."""
        self._refusal = _refusal(error, status)
        self._waiting.pop(self, None)
        self._tell_refusal()

    def _tell_refusal(self) -> None:
        """Tell the refusal and close the connection, unless answers to earlier requests are to come.

        A request whose body is broken gets no other answer.
        """
        if len(self._unanswered) > self._lacks_body:
            return
        if not self._lacks_body or (self._unanswered and not self._unanswered[0].response_started):
            self.transport.write(self._refusal)
        self._leave()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._wait()  # others may take its place
        # a client that still sends would lose what it has not read
        asyncio.get_running_loop().call_later(self._lingering, self._close)

    def _leave(self) -> None:
        """Let the requests that have no answer yet learn that nobody waits for one."""
        for one in self._unanswered:
            one.disconnected = True
            one.message_event.set()
        self._unanswered.clear()

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


def protocol(stalled: float, lingering: float, connections: int) -> type[asyncio.Protocol]:
    """Return the protocol for a listening socket: see `ClientConnection`."""
    waiting = dict[ClientConnection, None]()
    limited: Any = partial(
        ClientConnection,
        stalled=stalled,
        lingering=lingering,
        most=_affordable(connections),
        waiting=waiting,
    )
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


def _refusal(error: IdstoreError, status: HTTPStatus | None = None) -> bytes:
    """Return the answer for a connection that is refused.

    status  None: that of the error.
    """
    status = status or HTTPStatus(problems.status_of(error))
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
