"""What every request passes first: limits, sign-in, access log and figures."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from idstore.errors import IdstoreError, InvalidData, OutcomeUnknown, Overloaded
from idstore.model import times
from idstore.operations.declared import OPERATIONS
from idstore.operations.descriptions import field_texts
from idstore.registry import Registry
from idstore.server import problems
from idstore.server.head_requests import HeadRequests
from idstore.server.places import Places
from idstore.server.request_body import RequestBody
from idstore.server.sign_in import SignIn, SocketSignIn
from idstore.stores.contract import StoreCounters
from idstore.tokens import without_tokens

PROBES: Final = ("/healthz", "/readyz")
"""Paths that are answered without sign-in, and also when there are too many requests."""
_NOT_SUMS: Final = ("slowest_commit", "waiting")
"""Counters of a store that may fall, or are no sum."""
CLIENT_GONE: Final = 499
"""Status in the access log where the client left before its answer."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What the server accepts.

    body         bytes of a request.
    upload       bytes of a file that an administrator sends.
    requests     requests that are answered at the same time, and larger ones that arrive at the same time.
    requests_of_one  larger ones of one party or address that arrive at the same time.
    uploads      files that arrive or are imported at the same time.
    uploads_of_one  those of one party.
    importing    seconds of the processor for an import by others than administrators: all acts wait for it.
    connections  connections at the same time, as far as the process may open so many files.
    sending      seconds in which a request must arrive, and a part of an answer must be taken.
    idle         seconds that a connection may wait between two requests.
    lingering    seconds in which the rest of a request may arrive that is answered before.
    working      seconds that an operation may take.
    """

    body: int = 4 << 20
    upload: int = 1 << 30
    requests: int = 512
    requests_of_one: int = 32
    uploads: int = 64
    uploads_of_one: int = 8
    importing: float = 2.0
    connections: int = 4096
    sending: float = 30.0
    idle: float = 15.0
    lingering: float = 2.0
    working: float = 60.0


class Figures:
    """The figures of ``/metrics``. A label is an operation, a method or a status, and never an identifier.

    dropped  returns the number of lines that the access log lacks.
    """

    def __init__(self, dropped: Callable[[], float] = lambda: 0) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "idstore_requests", "Answered requests.", ["operation", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "idstore_request_seconds", "Time to answer.", ["operation"], registry=self._registry
        )
        self.active = Gauge("idstore_active_requests", "Requests in progress.", registry=self._registry)
        ProcessCollector(registry=self._registry)  # memory, processor time, open files
        self.watch("idstore_access_log_dropped", "Lines that the access log lacks.", dropped)
        self._answers = lru_cache(maxsize=1024)(self._children)

    def watch(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a figure that a function returns."""
        Gauge(name, text, registry=self._registry).set_function(value)

    def watch_store(self, registry: Registry) -> None:
        """Add the counters of a registry's store, under their names."""
        self._registry.register(_StoreFigures(registry))

    def _children(self, operation: str, status: int) -> tuple[Counter, Histogram]:
        return self.requests.labels(operation, str(status)), self.seconds.labels(operation)

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count an answer, and the seconds that it took."""
        requests, duration = self._answers(operation, status)
        requests.inc()
        duration.observe(seconds)

    def text(self) -> bytes:
        """Return the figures in the text format of Prometheus."""
        return generate_latest(self._registry)


class _StoreFigures(Collector):
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        """Yield a figure for each counter."""
        counters = asdict(self._registry.store.counters())
        for (name, value), text in zip(counters.items(), field_texts(StoreCounters).values(), strict=True):
            kind = GaugeMetricFamily if name in _NOT_SUMS else CounterMetricFamily
            yield kind(f"idstore_store_{name}", text, value=value)


class Admission:
    """An ASGI application before the application.

    log     gets one JSON object for each request; it has no query, header or body. The status 499 stands for
            a client that left before its request was complete.
    prefix  the path below which a reverse proxy publishes the server, such as ``/registry``; a request may
            come with or without it.
    uploads paths of requests whose body the application reads itself.
    refuse  the answer to a request that is not admitted.
    prepare changes a request before its sign-in.
    """

    def __init__(
        self,
        app: ASGIApp,
        sign_in: SignIn | SocketSignIn,
        figures: Figures,
        limits: ServerLimits,
        log: Callable[[str], None],
        prefix: str = "",
        uploads: Collection[str] = (),
        refuse: Callable[[Scope, IdstoreError], Response] = lambda _, error: problems.response(error),
        prepare: Callable[[Scope], Awaitable[None]] | None = None,
    ) -> None:
        self._app, self._sign_in, self._figures = HeadRequests(app), sign_in, figures
        self._limits, self._log, self._prefix = limits, log, prefix
        self._uploads, self._refuse, self._prepare = uploads, refuse, prepare
        self._answering = 0
        self._arriving = Places(
            limits.requests, limits.requests_of_one, "send large bodies", "send smaller ones"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        path = self._local_path(scope["path"])
        if self._prefix:
            scope["root_path"], scope["path"] = self._prefix, self._prefix + path
        body = RequestBody(scope, receive)
        answer = _Answer(send, body, self._limits.lingering)
        problems.answered.set(scope)
        start = time.perf_counter()
        self._figures.active.inc()
        try:
            await self._admit(scope, body, answer, probe=path in PROBES)
        except asyncio.CancelledError:  # the server ends, and waits for its requests no longer
            if answer.status:
                raise
            await self._refuse(scope, _unfinished(scope))(scope, body.receive, answer.send)
        finally:
            self._figures.active.dec()
            self._record(scope, answer, time.perf_counter() - start)

    def _local_path(self, path: str) -> str:
        """Return a path without the prefix."""
        found = path.removeprefix(self._prefix)
        return found if found.startswith("/") else path

    async def _admit(self, scope: Scope, body: RequestBody, answer: "_Answer", *, probe: bool) -> None:
        state = scope.setdefault("state", {})
        receive: Receive = body.receive
        if scope.get("http_version") == "1.1" and sum(name == b"host" for name, _ in scope["headers"]) != 1:
            error = InvalidData("the request has no header Host, or several; send one", field="Host")
            await problems.response(error, status=HTTPStatus.BAD_REQUEST)(scope, receive, answer.send)
            return
        is_upload = scope["path"].removeprefix(self._prefix) in self._uploads
        try:
            if not probe:
                with self._counted():
                    if self._prepare is not None:
                        await self._prepare(scope)
                    state["caller"] = await self._sign_in.caller(scope)
            if not is_upload:
                state["body"] = b"" if body.has_ended else await self._received(scope, body, probe=probe)
                receive = body.replayed(state["body"])
            if not probe:
                self._check_room(self._answering)
        except ClientDisconnect:
            answer.status = CLIENT_GONE
            return
        except IdstoreError as error:
            await self._refuse(scope, error)(scope, body.receive, answer.send)
            return
        except Exception as error:
            await self._refuse(scope, problems.failure(error))(scope, body.receive, answer.send)
            raise  # it is logged
        places = 0 if is_upload else 1  # uploads have places of their own
        self._answering += places
        try:
            await self._app(scope, receive, answer.send)
        finally:
            self._answering -= places

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a request among those that are answered. Raises Overloaded."""
        self._check_room(self._answering)
        self._answering += 1
        try:
            yield
        finally:
            self._answering -= 1

    async def _received(self, scope: Scope, body: RequestBody, *, probe: bool) -> bytes:
        """Return the body of a request.

        One that does not arrive takes no place among those that are answered, but memory: larger ones have a
        limit of their own.
        """
        if probe or body.is_small:
            return await body.read(min(body.SMALL, self._limits.body), self._limits.sending)
        with self._arriving.place(Request(scope)):
            return await body.read(self._limits.body, self._limits.sending)

    def _check_room(self, requests: int) -> None:
        if requests >= self._limits.requests:
            raise Overloaded("the server has too many requests at the moment; try again soon")

    def _record(self, scope: Scope, answer: "_Answer", seconds: float) -> None:
        """Count the request, and write its line of the access log."""
        route = scope.get("route")
        operation = str(getattr(route, "name", "none"))
        self._figures.count(operation, answer.status, seconds)
        client = scope.get("client")
        entry = {
            "time": times.iso(times.current()),
            "client": "socket" if client is None else client[0],
            "method": scope["method"],
            "path": without_tokens(scope["path"]),
            "operation": operation,
            "status": answer.status,
            "bytes": answer.size,
            "milliseconds": round(seconds * 1000, 2),
        }
        self._log(json.dumps(entry))


def _unfinished(scope: Scope) -> IdstoreError:
    """Return the error of a request that the server does not finish."""
    name = getattr(scope.get("route"), "name", None)
    operation = OPERATIONS.get(str(name))
    if name is None or (operation is not None and not operation.writes):
        return Overloaded("the server ends; try again soon")
    return OutcomeUnknown(
        "the server ends, and the request may still take effect; repeat it with the same request key, or read"
        " what it changes"
    )


class _Answer:
    """The answer to a request: its status and size.

    A client may lose an answer that ends before it has sent all: then the rest is read for ``lingering``
    seconds before the connection closes.
    """

    def __init__(self, send: Send, body: RequestBody, lingering: float) -> None:
        self._send, self._body, self._lingering = send, body, lingering
        self._is_early = False
        self.status, self.size = 0, 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._is_early = not self._body.has_ended
            if self._is_early:
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
        elif self._is_early and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            await self._body.drain(self._lingering)
            message = {"type": "http.response.body"}
        self.size += len(message.get("body", b""))
        await self._send(message)
