"""A registry that a server holds: the same methods, results and errors as `Registry`, over HTTP.

>>> import idstore
>>> with idstore.connect("https://ids.example.org/", token="ids_…") as registry:  # doctest: +SKIP
...     registry.mint("rdl", idstore.Party("alice"), idstore.Request(name="valve"))
"""

import http.client
import inspect
import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar, cast
from urllib.parse import SplitResult, quote

from idstore.arguments import check, checks, name_argument
from idstore.connection import FolderConnection, ServerConnection, error_of
from idstore.errors import (
    IdstoreError,
    InvalidData,
    LocalOnly,
    NotPermitted,
    SignInRequired,
)
from idstore.exchange import changes, description, exporting, importing
from idstore.exchange import digest as digests
from idstore.model.filter import Filter
from idstore.model.namespace import Namespace
from idstore.model.party import NOBODY, SIGNED_IN, Party
from idstore.model.record import Record
from idstore.operations.declared import LOCAL, OPERATIONS, new_token
from idstore.operations.operation import LINES, LONGEST_PAGE, PROGRESS, ApiOperation
from idstore.operations.wire import dump, load, may_be_none
from idstore.progress import Progress, never, unwatched
from idstore.registry.batch_mint import OF_REQUESTS, MintOutcome
from idstore.registry.log import PAGE, EventPage, LogEntry, LogPosition, check_wanted
from idstore.registry.requests import Request
from idstore.remedies import Remedy
from idstore.stores.contract import Answer
from idstore.tokens import list_tokens, revoke_token
from idstore.validation import registries
from idstore.web_addresses import address_parts, is_this_machine

if TYPE_CHECKING:
    from idstore.registry import Registry as _Base
else:
    _Base = object

P = ParamSpec("P")
T = TypeVar("T")

_PARTY: Final = "party"
_NAME: Final = "name"
"""The parameter that names an uploaded file, and tells its format. A folder is sent as an archive."""
_USER: Final = "Idstore-User"
_NAMESPACES_LAST: Final = 5.0
"""Seconds after which the namespaces are read again: others may have changed them."""
_UNSENT: Final = frozenset({"memory", "cancelled", "formats", "dataset", "bindings", "longest_cell"})
"""Arguments of a query that are no parameters of the operation."""
_IN_URLS: Final = re.compile(r"[^\x00-\x20\x7f]+")


@checks
def connect(
    url: str, *, token: str | None = None, timeout: float = 90.0, insecure: bool = False
) -> "RemoteRegistry":
    """Connect to the server of a registry. Close the connection after use, or open it in a ``with`` block.

    The result has the operations of `Registry`, with the same results and errors, and those that are
    functions of the library, such as `export`; other methods of `Registry` raise LocalOnly.

    token     signs in as its party; None: see what is public.
    timeout   seconds until an answer must begin.
    insecure  send the token over plain HTTP to another machine, where others may read it on the way.

    Raises InvalidData (no web address, or one with more than a path; a timeout that is no number of seconds
    above 0), NotPermitted (a token over plain HTTP),
    SignInRequired (a text that cannot be a token).
    """
    if not 0 < timeout < threading.TIMEOUT_MAX:
        raise InvalidData(
            f"timeout is {timeout}; give a number of seconds above 0", field="timeout", value=timeout
        )
    parts = _address(url)
    host, port = parts.hostname or "", parts.port
    if token is not None and parts.scheme == "http" and not insecure and not is_this_machine(host):
        raise NotPermitted("a token over plain HTTP can be read by others on the way; use https", url=url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise SignInRequired(
            "the token has characters that no token has; use a valid token", remedy=Remedy.USE_VALID_TOKEN
        )
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    connection = ServerConnection(url, lambda: kind(host, port, timeout=timeout), parts.path.rstrip("/"))
    return RemoteRegistry(connection, headers)


def _address(url: str) -> SplitResult:
    """Return the parts of the address of a server. Raises InvalidData."""
    parts = address_parts(url)
    is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    if not is_address or not _IN_URLS.fullmatch(url):
        raise InvalidData(f"{url!r} is not the address of a server; write https://HOST/", text=url)
    if parts.username is not None:
        raise InvalidData(
            "the address of a server names no user, because others can read it; give a token instead",
            field="url",
        )
    if parts.query or parts.fragment:
        raise InvalidData(
            "the address of a server has no query and no fragment; end it after the path",
            field="url",
            value=url,
        )
    return parts


def is_same_server(url: str, other: str) -> bool:
    """Return whether two addresses name the same server.

    >>> is_same_server("https://h", "https://H:443/"), is_same_server("https://h", "http://h")
    (True, False)

    Raises InvalidData: one of them is not the address of a server.
    """
    return _place(url) == _place(other)


def _place(url: str) -> tuple[str, str | None, int, str]:
    """Return protocol, host, port and path of a server. Raises InvalidData."""
    parts = _address(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


@checks
def connect_folder(folder: Path, *, timeout: float = 90.0) -> "RemoteRegistry":
    """Connect to the server that holds the store in a folder; each call acts as the party that it names."""
    return RemoteRegistry(ServerConnection(str(folder), lambda: FolderConnection(folder, timeout), ""), {})


def _function(
    function: "Callable[Concatenate[_Base, P], T]",
) -> "Callable[Concatenate[RemoteRegistry, P], T]":
    """Return the method for an operation that is a function of the library."""

    def method(self: "RemoteRegistry", /, *arguments: P.args, **named: P.kwargs) -> T:
        return self.perform(function, *arguments, **named)

    return method


class RemoteRegistry(_Base):
    """The operations of a registry over a connection. Threads may share one object.

    The party of a call must be that of the token, or `NOBODY`: such a request is sent without the token, and
    sees what is public. In a folder it may be any party.
    """

    def __init__(self, connection: ServerConnection, headers: Mapping[str, str]) -> None:
        self._connection, self._headers = connection, dict(headers)
        self._namespaces: dict[str, Namespace] = {}
        self._outdated = 0.0

    export = _function(exporting.export)
    export_omissions = _function(exporting.omissions)
    describe = _function(description.describe)
    changes = _function(changes.public_changes)
    digest = _function(digests.digest)
    import_file = _function(importing.import_file)
    validate = _function(registries.check)
    validate_changed = _function(registries.check_changed)
    add_token = _function(new_token)
    tokens = _function(list_tokens)
    revoke_token = _function(revoke_token)

    if not TYPE_CHECKING:  # so that type checkers find a misspelt name

        def __getattr__(self, name: str) -> Any:
            """Return the method of an operation. Raises LocalOnly for other methods of `Registry`."""
            if name in OPERATIONS:
                operation = OPERATIONS[name]

                def method(*arguments: Any, **named: Any) -> Any:
                    return self._call(operation, *arguments, **named)

                method.__name__, method.__signature__ = name, operation.signature
                return method
            if name in LOCAL or name in ("core", "store"):
                raise LocalOnly(
                    f"this needs the folder of the store ({name}), and {self._connection.name} is reached"
                    " through a server; do it where the store is",
                    act=name,
                )
            raise AttributeError(name)

    def perform(
        self, function: "Callable[Concatenate[_Base, P], T]", *arguments: P.args, **named: P.kwargs
    ) -> T:
        """Carry out an operation that is a function of the library."""
        operation = next(one for one in OPERATIONS.values() if one.function is function)
        return cast("T", self._call(operation, *arguments, **named))

    def home(self, record: Record) -> Namespace:
        """Return the namespace of a record that came from this registry."""
        if record.namespace not in self._namespaces or time.monotonic() >= self._outdated:
            self._namespaces = {one.base: one for one in self._call(OPERATIONS["namespaces"])}
            self._outdated = time.monotonic() + _NAMESPACES_LAST
        return self._namespaces[record.namespace]

    age = 0.0

    def refresh(self, wait: float = 10.0) -> None:
        """Do nothing: each answer of a server is of its newest state."""

    def load(
        self, namespace: str, party: Party, requests: Iterable[Request | InvalidData]
    ) -> Iterator[MintOutcome]:
        """Mint an identifier for each request, one durable commit each: see `BatchMint.load`."""
        for request in requests:
            if isinstance(request, InvalidData):
                yield MintOutcome(None, error=request)
                continue
            try:
                outcome = MintOutcome(*self._call(OPERATIONS["mint_once"], namespace, party, request))
            except OF_REQUESTS as error:
                outcome = MintOutcome(None, error=error)
            yield outcome

    def events_since(
        self,
        party: Party,
        cursor: str = "0",
        filter: Filter = Filter(),
        *,
        limit: int = PAGE,
        cancelled: Callable[[], bool] = never,
    ) -> EventPage:
        """Return the events after a cursor, and the cursor after them: see `Log.events_since`.

        Each page of at most `LONGEST_PAGE` events is a request.
        """
        operation = OPERATIONS["events_since"]
        check(operation.run, {"limit": limit, "cancelled": cancelled})
        entries = list[LogEntry]()
        while True:
            check_wanted(cancelled)
            size = min(limit - len(entries), LONGEST_PAGE)
            page = self._call(operation, party, cursor, filter, limit=size)
            entries, cursor = entries + page.entries, page.cursor
            if len(page.entries) < size or len(entries) >= limit:
                return EventPage(entries, cursor)

    def news(
        self,
        party: Party,
        filter: Filter = Filter(),
        position: LogPosition | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> list[LogEntry]:
        """Return the next events that the party may see: see `Log.news`."""
        check_wanted(cancelled)
        cursor = position or LogPosition(follows=False)
        page = self._call(
            OPERATIONS["news"],
            party,
            filter,
            cursor.follows,
            cursor.last,
            cursor.publication,
            [str(event) for event in sorted(cursor.shown)],
        )
        cursor.last, cursor.publication = page.last, page.publication
        cursor.shown = {int(event) for event in page.shown}
        return cast("list[LogEntry]", page.entries)

    def query(self, text: str, party: Party, format: str | None = None, **limits: Any) -> Answer:
        """Answer a SPARQL query: see `Queries.query`.

        Raises LocalOnly for its other arguments than ``timeout`` and ``rows``: they are not sent.
        """
        operation = OPERATIONS["query"]
        check(operation.run, limits)
        for name in _UNSENT & limits.keys():
            raise LocalOnly(
                f"a query takes {name} where the store is, and {self._connection.name} is reached through a"
                " server; leave it out",
                field=name,
            )
        return cast("Answer", self._call(operation, text, party, format, **limits))

    def close(self) -> None:
        """Close the connection, for all threads: later calls raise StoreClosed."""
        self._connection.close()

    def abort(self) -> None:
        """Close the connection, and end the calls of all threads, and the reading of answers.

        They raise StoreUnavailable, and acts OutcomeUnknown.
        """
        self._connection.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, operation: ApiOperation, *arguments: Any, **named: Any) -> Any:
        bound = operation.signature.bind(*arguments, **named)
        check(operation.run, bound.arguments)
        if operation.upload:
            path = Path(bound.arguments[operation.upload])
            name = bound.arguments.get(_NAME) or str(path)
            bound.arguments[_NAME] = f"{name}.zip" if path.is_dir() and not Path(name).suffix else name
        try:
            if operation.position is not None:
                bound.apply_defaults()
                return self._pages(operation, operation.position, bound.arguments)
            return self._request(operation, bound)
        except IdstoreError as error:
            if error.field is not None:
                error.field = operation.in_library(error.field.partition(".")[0])
                name_argument(error, bound.arguments)
            raise

    def _pages(
        self, operation: ApiOperation, position: Callable[[Any], str], arguments: dict[str, Any]
    ) -> list[Any]:
        """Return the items of as many pages as the limit asks for; each page is a request."""
        rest, items = arguments["limit"], list[Any]()
        while rest is None or rest > 0:
            size = LONGEST_PAGE if rest is None else min(rest, LONGEST_PAGE)
            page = self._request(operation, operation.signature.bind(**arguments | {"limit": size}))
            items += page
            if len(page) < size:
                break
            rest = None if rest is None else rest - size
            arguments = arguments | {"after": position(page[-1])}
        return items

    def _request(self, operation: ApiOperation, bound: inspect.BoundArguments) -> Any:
        party = bound.arguments.pop(_PARTY, None)
        headers = dict(self._headers)
        if party == NOBODY:
            headers.pop("Authorization", None)
        elif party is not None and party != SIGNED_IN:
            headers[_USER] = quote(party.name, safe="")
        values = {name: dump(value, self.home) for name, value in operation.values(bound.arguments).items()}
        with self._body(operation, bound.arguments) as body:
            response = self._connection.send(operation, values, headers, body)
        if operation.download:
            return self._connection.copy(operation, response, bound.arguments[operation.download])
        if operation.in_lines:
            items = self._items(operation, response, bound.arguments.get(PROGRESS, unwatched))
            return items if operation.streams else self._only(operation, items)
        if operation.result is Answer:
            with self._connection.as_registry():
                return _RemoteAnswer(response, self._connection.stream(operation, response))
        answer = self._connection.read(operation, response)
        with self._connection.as_registry():
            document = json.loads(answer)
            if document is None and not may_be_none(operation.result):
                raise ValueError(document)
            result = load(operation.result, document)
        if isinstance(result, Namespace):
            self._namespaces[result.base] = result
        return result

    def _items(
        self, operation: ApiOperation, response: http.client.HTTPResponse, progress: Progress
    ) -> Iterator[Any]:
        """Yield what the lines of an answer hold, as they come. Raises the error that ends it."""
        with response:
            with self._connection.as_registry():
                if response.headers.get_content_type() != LINES:
                    raise ValueError(response.headers.get_content_type())
            for line in self._connection.lines(operation, response):
                with self._connection.as_registry():
                    document = json.loads(line)
                    told = document if isinstance(document, dict) else {}
                    step, error = (
                        told.get(PROGRESS),
                        error_of(told["problem"]) if "problem" in told else None,
                    )
                    item = load(operation.line, document) if step is None and error is None else None
                if error is not None:
                    raise error
                if step is not None:
                    progress(step["what"], step["done"], step["total"])
                else:
                    yield item

    def _only(self, operation: ApiOperation, items: Iterator[Any]) -> Any:
        """Return the only item of an answer. Raises StoreUnavailable, OutcomeUnknown: there is none."""
        for item in items:
            return item
        raise self._connection.cut_off(operation)

    def _body(
        self, operation: ApiOperation, arguments: Mapping[str, Any]
    ) -> AbstractContextManager[IO[bytes] | None]:
        """Open the file that a request sends; None: it sends none."""
        if operation.pack is None:
            return nullcontext()
        bound = inspect.signature(operation.run).bind_partial(None, **arguments)
        bound.apply_defaults()
        taken = inspect.signature(operation.pack).parameters
        return operation.pack(**{name: bound.arguments[name] for name in taken})


class _RemoteAnswer:
    """The answer of a server to a query: see `idstore.stores.contract.Answer`."""

    def __init__(self, response: http.client.HTTPResponse, stream: IO[bytes]) -> None:
        self.stream = stream
        self.kind = response.headers["Idstore-Kind"]
        self.format = response.headers["Idstore-Format"]
        self.media_type = response.headers["Content-Type"]
        self.rows = int(response.headers["Idstore-Rows"])
        self.truncated = response.headers["Idstore-Truncated"] == "true"

    def read(self) -> bytes:
        return self.stream.read()

    def close(self) -> None:
        self.stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
