"""The change feed in its forms: pages of JSON or RDF Patch, at once or after a wait, and server-sent events.

Sources: HTML Living Standard, section "Server-sent events"; https://afs.github.io/rdf-delta/rdf-patch.html.
"""

import asyncio
import io
import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Final, TypeVar, cast
from urllib.parse import parse_qsl, urlencode

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from idstore.errors import IdstoreError, InvalidData, Overloaded
from idstore.exchange import patch
from idstore.exchange.changes import LONGEST, ChangePage, newest_public, public_changes
from idstore.model.party import NOBODY
from idstore.operations.operation import API
from idstore.operations.wire import dump
from idstore.server import problems
from idstore.server.accept import preferred
from idstore.server.admission import CLIENT_GONE
from idstore.server.performer import Performer
from idstore.server.places import Places
from idstore.server.query_answers import has_left

T = TypeVar("T")

PATH: Final = f"{API}/changes"
LISTENERS: Final = 200
"""Requests that wait for changes at the same time."""
LISTENERS_OF_ONE: Final = 10
"""Those of one party that signed in, or of one address."""
LONGEST_WAIT: Final = 60.0
"""Seconds."""
HEARTBEAT: Final = 15.0
"""Seconds after which a stream without changes sends a line that says nothing."""
_INTERVAL: Final = 0.1
"""Seconds between two questions to the store while requests wait."""
_READERS: Final = 2
"""Parts of the feed that are read at the same time for requests that have waited."""
_JSON, _PATCH, _EVENTS = "application/json", "application/rdf-patch", "text/event-stream"
_PARAMETERS: Final = ("after", "limit", "wait")
_STREAM_PARAMETERS: Final = ("after",)
"""A stream has no end."""
_HEADERS: Final = {"Cache-Control": "private, no-store", "Vary": "Accept", "X-Accel-Buffering": "no"}


class Stopping:
    """Whether the server ends."""

    def __init__(self) -> None:
        self.has_begun = False


class NewChanges:
    """Wakes requests that wait for public events. While any waits, it asks the store every `_INTERVAL`."""

    def __init__(self, newest: Callable[[], int], stopping: Stopping) -> None:
        self._ask, self._stopping = newest, stopping
        self._newest, self._waiting = 0, 0
        self._asked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def wait(self, after: int, seconds: float) -> bool:
        """Wait for an event after a number.

        Returns whether there is one; False also where the server ends.
        """
        self._waiting += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while self._newest <= after and not self._stopping.has_begun:
                        await self._asked.wait()
        finally:
            self._waiting -= 1
        return self.has_come(after)

    def has_come(self, after: int) -> bool:
        """Return whether there is an event after a number, as far as the store was asked."""
        return self._newest > after

    async def _watch(self) -> None:
        while self._waiting:
            with suppress(IdstoreError):  # a request that asks for changes tells it
                self._newest = await to_thread.run_sync(self._ask)
            self._asked.set()
            self._asked = asyncio.Event()
            await asyncio.sleep(_INTERVAL)


class ChangeFeed:
    """An application before the JSON API, which answers the requests for changes that the API does not."""

    def __init__(self, api: ASGIApp, performer: Performer, stopping: Stopping) -> None:
        self._api, self._performer, self._stopping = api, performer, stopping
        registry = performer.registry
        self._new = NewChanges(lambda: newest_public(registry), stopping)
        self._listeners = Places(LISTENERS, LISTENERS_OF_ONE, "wait for changes", "ask without a wait")
        self._shared = dict[object, asyncio.Task[Any]]()
        self._room = asyncio.Semaphore(_READERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] != "GET" or scope["path"].removeprefix(scope.get("root_path", "")) != PATH:
            await self._api(scope, receive, send)
            return
        request = Request(scope, receive)
        with ExitStack() as place:
            try:
                response = await self._respond(request, place)
            except IdstoreError as error:
                response = problems.response(error)
            if response is None:
                await self._api(scope, receive, send)
            else:
                scope["route"] = _ROUTE
                await response(scope, receive, send)

    async def _respond(self, request: Request, place: ExitStack) -> Response | None:
        """Return a response; None: the JSON API answers, with the rest of the request.

        place  gives up the place of a stream after the response.
        """
        kind = preferred(request.headers, (_JSON, _PATCH, _EVENTS)) or _JSON
        _check_parameters(request, _STREAM_PARAMETERS if kind == _EVENTS else _PARAMETERS)
        if kind == _EVENTS:
            after = _last_event(request) or _number(request, "after", 0)
            await self._page(request, after, 1)  # tells whether the number is one
            place.enter_context(self._listeners.place(request))
            return StreamingResponse(self._events(after), headers=_HEADERS, media_type=_EVENTS)
        seconds = _seconds(request)
        if seconds and not (await self._page(request, _number(request, "after", 0), 1)).changes:
            with self._listeners.place(request):
                return await self._wait(request, kind, seconds)
        return await self._at_once(request, kind)

    async def _at_once(self, request: Request, kind: str) -> Response | None:
        if kind == _PATCH:
            content = await self._performer.run(request, "changes", partial(self._patch, *_part(request)))
            return Response(content, headers=_HEADERS, media_type=_PATCH)
        _leave_out(request.scope, "wait")
        return None

    async def _wait(self, request: Request, kind: str, seconds: float) -> Response | None:
        """Answer after the next change, or as it is without one."""
        after, limit = _part(request)
        if await has_left(request, self._new.wait(after, seconds)):
            return Response(status_code=CLIENT_GONE)
        if not self._new.has_come(after):
            return await self._at_once(request, kind)
        content = await self._share(self._patch if kind == _PATCH else self._document, after, limit)
        return Response(content, headers=_HEADERS, media_type=kind)

    async def _page(self, request: Request, after: int, limit: int) -> ChangePage:
        registry = self._performer.registry
        return await self._performer.run(request, "changes", lambda: public_changes(registry, after, limit))

    async def _share(self, read: Callable[[int, int], T], after: int, limit: int) -> T:
        """Return what a function reads, once for all requests that wait for it.

        Requests that wake together leave room for those that wait for nothing.
        """
        key = (read, after, limit)
        if key not in self._shared:
            self._shared[key] = asyncio.create_task(self._read(partial(read, after, limit)))
            self._shared[key].add_done_callback(lambda task: self._forget(key, task))
        return cast("T", await asyncio.shield(self._shared[key]))

    def _forget(self, key: object, task: asyncio.Task[Any]) -> None:
        del self._shared[key]
        if not task.cancelled():
            task.exception()  # all requests for it may have gone

    async def _read(self, work: Callable[[], object]) -> object:
        async with self._room:
            return await self._performer.run(None, "changes", work)

    def _document(self, after: int, limit: int) -> bytes:
        registry = self._performer.registry
        return bytes(JSONResponse(dump(public_changes(registry, after, limit), registry.home)).body)

    def _patch(self, after: int, limit: int) -> bytes:
        registry, target = self._performer.registry, io.BytesIO()
        public_changes(registry, after, min(limit, 1))  # tells whether the numbers are right
        patch.export(registry, target, NOBODY, after, limit=limit)
        return target.getvalue()

    def _stream_part(self, after: int, limit: int) -> tuple[list[bytes], int]:
        """Return changes as events, and the number of the last."""
        registry = self._performer.registry
        page = public_changes(registry, after, limit)
        documents = (json.dumps(dump(change, registry.home), ensure_ascii=False) for change in page.changes)
        return [
            f"id: {change.number}\nevent: change\ndata: {document}\n\n".encode()
            for change, document in zip(page.changes, documents, strict=True)
        ], page.last

    async def _events(self, after: int) -> AsyncIterator[bytes]:
        """Yield the changes as events until the client leaves, or the server or the store ends."""
        with suppress(IdstoreError):
            async for event in self._endless(after):
                yield event

    async def _endless(self, after: int) -> AsyncIterator[bytes]:
        while not self._stopping.has_begun:
            try:
                events, after = await self._share(self._stream_part, after, LONGEST)
            except Overloaded:
                await asyncio.sleep(_INTERVAL)
                continue
            for event in events:
                yield event
            if not events and not await self._new.wait(after, HEARTBEAT):
                yield b": no change\n\n"


class _Route:
    name = "changes"


_ROUTE: Final = _Route()
"""What stands in the access log and in the figures."""


def _check_parameters(request: Request, known: Sequence[str]) -> None:
    """Raise InvalidData for an unknown parameter, and for one that stands twice."""
    for name in request.query_params:
        if name not in known:
            what = "a stream of changes" if name in _PARAMETERS else "changes"
            raise InvalidData(f"{name!r} is no parameter of {what}; it has {', '.join(known)}", field=name)
        if len(request.query_params.getlist(name)) > 1:
            raise InvalidData(f"{name} stands twice; give it once", field=name)


def _number(request: Request, name: str, default: int) -> int:
    """Return a parameter. Raises InvalidData."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):  # noqa: PLR2004 # digits of 64 bits
        raise InvalidData(f"{name}={text!r} is no number; give one from 0 on", field=name)
    return int(text)


def _part(request: Request) -> tuple[int, int]:
    """Return the number after which an answer begins, and how many changes it has. Raises InvalidData."""
    return _number(request, "after", 0), min(_number(request, "limit", LONGEST), LONGEST)


def _last_event(request: Request) -> int:
    """Return the number after which a client goes on that was interrupted, else 0."""
    text = request.headers.get("last-event-id", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else 0  # noqa: PLR2004


def _seconds(request: Request) -> float:
    """Return how long a request waits. Raises InvalidData."""
    text = request.query_params.get("wait", "0")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= LONGEST_WAIT:
        raise InvalidData(
            f"wait={text!r} is not a number of seconds from 0 to {LONGEST_WAIT:g}; give one", field="wait"
        )
    return seconds


def _leave_out(scope: Scope, name: str) -> None:
    """Take a parameter out of a request."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    scope["query_string"] = urlencode([pair for pair in pairs if pair[0] != name]).encode()
