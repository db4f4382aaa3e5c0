"""The connection of a client to the server of a registry: requests, answers and failures on the way."""

import http.client
import json
import select
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader, RawIOBase
from os import SEEK_END
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode
from weakref import WeakSet

from idstore.errors import InvalidData, NotRegistered, OutcomeUnknown, StoreClosed, StoreUnavailable, restored
from idstore.operations.operation import API, ApiOperation
from idstore.store_socket import socket_address
from idstore.stores.contract import Answer

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PATIENCE: Final = 3600.0
"""Seconds until an import must be answered."""
_HALVES: Final = "surrogatepass"
"""Arguments of a command line may hold bytes that are not UTF-8; the server finds nothing by such a text."""
_LONGEST_ADDRESS: Final = 60_000
"""Characters of the arguments in an address: servers read no longer one."""
_BLOCK: Final = 1 << 16
"""Bytes that are copied at once."""


class ServerConnection:
    """A connection over HTTP, kept open for each thread.

    name    the server in messages: its address, or the folder of its store.
    dial    makes a new connection.
    prefix  the path of the registry at the server.
    """

    def __init__(self, name: str, dial: Callable[[], http.client.HTTPConnection], prefix: str) -> None:
        self.name = name
        self._dial, self._prefix = dial, prefix
        self._local = threading.local()
        self._closed, self._aborted = False, False
        self._sockets, self._lock = WeakSet[socket.socket](), threading.Lock()

    def close(self) -> None:
        """Close the connection, for all threads: later requests raise StoreClosed."""
        self._closed = True
        self._disconnect()

    def abort(self) -> None:
        """Close the connection, and end the requests of all threads, as if the server had ended."""
        self.close()
        with self._lock:
            self._aborted = True
            for connected in self._sockets:
                _shut(connected)

    def _connect(self, connection: http.client.HTTPConnection) -> None:
        """Connect, unless it is done, so that `abort` ends what is sent and read from now on."""
        fresh = connection.sock is None
        if not fresh:
            return
        connection.connect()
        with self._lock:
            self._sockets.add(connection.sock)
            if self._aborted:
                _shut(connection.sock)

    def _disconnect(self) -> None:
        """Close the connection of this thread."""
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def send(
        self,
        operation: ApiOperation,
        values: dict[str, Any],
        headers: dict[str, str],
        file: IO[bytes] | None,
    ) -> http.client.HTTPResponse:
        """Send a request and return the answer. Raises the error that the server reports; StoreClosed."""
        if self._closed:
            raise StoreClosed("the connection was closed; open it again")
        path = self._prefix + API + operation.path
        for name in [name for name in values if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", quote(values.pop(name), safe="", errors=_HALVES))
        body: bytes | IO[bytes] | None = file
        if operation.in_query:
            _check_length(values)
            sent = {name: _url_text(value) for name, value in values.items()}
            path += f"?{urlencode(sent, doseq=True, errors=_HALVES)}" if sent else ""
        else:
            # halves of characters find nothing in a question; in an act the server says where they are
            body = json.dumps(values, ensure_ascii=operation.writes).encode(errors="replace")
            headers["Content-Type"] = "application/json"
        if file is not None:
            headers["Content-Type"] = "application/octet-stream"
            headers["Content-Length"] = str(file.seek(0, SEEK_END))
            file.seek(0)
        if _has_own_connection(operation):
            headers["Connection"] = "close"
        response = self._exchange(operation, path, body, headers)
        if response.status >= http.client.MULTIPLE_CHOICES:  # a redirection does not get the token
            raise self._error(operation, response.status, self.read(operation, response))
        return response

    def read(self, operation: ApiOperation, response: http.client.HTTPResponse) -> bytes:
        """Return a whole answer. Raises StoreUnavailable, OutcomeUnknown: the server ended within it."""
        try:
            return response.read()
        except (OSError, http.client.HTTPException) as error:
            self._disconnect()
            raise self._failure(operation, error, sent=True) from error

    def lines(self, operation: ApiOperation, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Yield the lines of an answer that are not empty.

        Raises StoreUnavailable, OutcomeUnknown: it is cut off.
        """
        begun: list[bytes] = []  # parts of a line
        try:
            while block := response.read1(_BLOCK):  # `readline` would end quietly where the answer is cut off
                first, *lines = block.split(b"\n")
                begun.append(first)
                if lines:
                    *lines, rest = b"".join(begun), *lines
                    yield from filter(None, lines)
                    begun = [rest]
        except (OSError, http.client.HTTPException) as error:
            raise self._failure(operation, error, sent=True) from error
        if last := b"".join(begun):
            yield last

    def stream(self, operation: ApiOperation, response: http.client.HTTPResponse) -> IO[bytes]:
        """Return an answer as a file. Its methods raise StoreUnavailable, OutcomeUnknown: it is cut off."""
        return BufferedReader(_AnswerBytes(response, lambda: self.cut_off(operation)), _BLOCK)

    def copy(self, operation: ApiOperation, response: http.client.HTTPResponse, target: IO[bytes]) -> None:
        """Copy an answer into a file. Raises StoreUnavailable, OutcomeUnknown: it is cut off."""
        with self.stream(operation, response) as answer:
            shutil.copyfileobj(answer, target, _BLOCK)

    def cut_off(self, operation: ApiOperation) -> StoreUnavailable:
        """Return the error of an answer that lacks its end."""
        if operation.writes:
            return self._outcome_unknown("ended its answer too soon")
        return StoreUnavailable(f"{self.name} ended its answer too soon; try again")

    @contextmanager
    def as_registry(self) -> Iterator[None]:
        """Raise StoreUnavailable if an answer cannot be read as that of a registry."""
        try:
            yield
        except (ValueError, KeyError, TypeError) as error:
            raise StoreUnavailable(
                f"{self.name} answers, but not as a registry; check the address", address=self.name
            ) from error

    def _exchange(
        self,
        operation: ApiOperation,
        path: str,
        body: bytes | IO[bytes] | None,
        headers: dict[str, str],
    ) -> http.client.HTTPResponse:
        """Send a request over the thread's connection, a new one if the server has closed it."""
        for _ in range(2):
            kept = None if operation.upload else self._local.__dict__.pop("connection", None)
            if kept is not None and _is_ended(kept):
                kept.close()
                kept = None
            connection: http.client.HTTPConnection = kept or self._dial()
            if operation.upload:
                connection.timeout = _PATIENCE
            fresh, sent = connection.sock is None, False
            try:
                self._connect(connection)
                try:
                    connection.request(operation.method, path, body, headers)
                except (BrokenPipeError, ConnectionResetError):
                    if not operation.upload:
                        raise  # else the server answers before it has read the file
                sent = True
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                ended = isinstance(error, ConnectionError) and not operation.writes
                if not fresh and (not sent or ended):
                    continue  # the server had closed an idle connection; an act may have taken effect
                raise self._failure(operation, error, sent=sent) from error
            if not _has_own_connection(operation):
                self._local.connection = connection
            elif connection.sock is not None:  # the server would keep it: it ends with the answer
                connection.sock.close()
            return response
        raise self._failure(operation, ConnectionError("the server closes connections"), sent=False)

    def _failure(self, operation: ApiOperation, error: Exception, *, sent: bool) -> StoreUnavailable:
        if sent and operation.writes:
            return self._outcome_unknown(f"did not answer: {error}")
        return StoreUnavailable(f"{self.name} cannot be reached: {error}; check the address and the server")

    def _error(self, operation: ApiOperation, status: int, body: bytes) -> Exception:
        """Return the error of an answer: what the API reported, or what the answer of others means."""
        with suppress(ValueError, KeyError, TypeError):
            error = error_of(json.loads(body))
            if not isinstance(error, NotRegistered) or "text" in error.fields:
                return error  # else there is nothing at the address
        if status == http.client.NOT_FOUND:
            return StoreUnavailable(
                f"no idstore API answers at {self.name}; give the address before {API}, such as"
                " https://HOST/ or https://HOST/PREFIX/",
                address=self.name,
            )
        if operation.writes and status >= http.client.INTERNAL_SERVER_ERROR:  # a proxy does not know more
            return self._outcome_unknown(f"answered with the status {status}")
        return StoreUnavailable(
            f"{self.name} answered with the status {status}; check the address and the server",
            address=self.name,
        )

    def _outcome_unknown(self, reason: str) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"{self.name} {reason}; the act may have taken effect: repeat it with the same request key, or"
            " read what it changes"
        )


class _AnswerBytes(RawIOBase):
    """The bytes of an answer.

    cut_off  makes the error of an answer that lacks its end.
    """

    def __init__(self, response: http.client.HTTPResponse, cut_off: Callable[[], StoreUnavailable]) -> None:
        self._response, self._cut_off = response, cut_off

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read the next bytes. Raises StoreUnavailable, OutcomeUnknown."""
        try:
            count = self._response.readinto(buffer)
        except (OSError, http.client.HTTPException) as error:
            raise self._cut_off() from error
        if not count and self._response.length:  # `readinto` passes over the end of a connection
            raise self._cut_off()
        return count

    def close(self) -> None:
        self._response.close()
        super().close()


class FolderConnection(http.client.HTTPConnection):
    """A connection over the socket in a store's folder."""

    def __init__(self, folder: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._folder = folder

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with socket_address(self._folder) as address:
            self.sock.connect(address)


def _has_own_connection(operation: ApiOperation) -> bool:
    """Return whether the answer may be read for long, or not to its end."""
    return operation.in_lines or operation.result is Answer or bool(operation.download or operation.upload)


def error_of(problem: Mapping[str, Any]) -> Exception:
    """Return the error of problem details. Raises KeyError: they are none of a registry."""
    error = restored(problem["error"], problem["detail"], problem.get("fields", {}), problem.get("remedy"))
    if "field" in problem:
        error.field, error.value = problem["field"], problem.get("value")
    return error


def _shut(connected: socket.socket) -> None:
    """End what other threads read from a socket, and send. The descriptor stays theirs to close."""
    with suppress(OSError):  # it has ended
        socket.socket.shutdown(connected, socket.SHUT_RDWR)  # below TLS, whose state is the other thread's


def _is_ended(connection: http.client.HTTPConnection) -> bool:
    """Return whether the server has closed an idle connection: nothing else can be read from one."""
    if connection.sock is None:
        return True
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))


def _check_length(values: Mapping[str, Any]) -> None:
    """Raise InvalidData: the arguments are too long for an address."""
    lengths = {name: len(quote(str(value), errors=_HALVES)) for name, value in values.items()}
    if sum(lengths.values()) > _LONGEST_ADDRESS:
        longest = max(lengths, key=lengths.__getitem__)
        raise InvalidData(
            f"{longest} has {lengths[longest]} characters in an address; shorten it", field=longest
        )


def _url_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return [f"{key}={text}" for key, text in value.items()]
    return "" if value is None else value
