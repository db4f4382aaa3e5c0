"""The change feed in its forms: pages of JSON or RDF Patch, at once or after a wait, and server-sent events.

Sources: HTML Living Standard, section "Server-sent events"; https://afs.github.io/rdf-delta/rdf-patch.html.
"""

import asyncio
import io
import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Final
from urllib.parse import parse_qsl, urlencode

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from idstore.errors import IdstoreError, InvalidData
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
            await self._page(after, 1)  # tells whether the number is one
            place.enter_context(self._listeners.place(request))
            return StreamingResponse(self._events(after), headers=_HEADERS, media_type=_EVENTS)
        seconds = _seconds(request)
        if seconds:
            after = _number(request, "after", 0)
            if not (await self._page(after, 1)).changes:
                with self._listeners.place(request):
                    if await has_left(request, self._new.wait(after, seconds)):
                        return Response(status_code=CLIENT_GONE)
        if kind == _PATCH:
            return await self._patch(_number(request, "after", 0), _number(request, "limit", LONGEST))
        _leave_out(request.scope, "wait")
        return None

    async def _page(self, after: int, limit: int = LONGEST) -> ChangePage:
        registry = self._performer.registry
        return await self._performer.run("changes", lambda: public_changes(registry, after, limit))

    async def _patch(self, after: int, limit: int) -> Response:
        registry, target = self._performer.registry, io.BytesIO()
        await self._page(after, min(limit, 1))  # tells whether the numbers are right
        most = min(limit, LONGEST)
        await self._performer.run(
            "changes", lambda: patch.export(registry, target, NOBODY, after, limit=most)
        )
        return Response(target.getvalue(), headers=_HEADERS, media_type=_PATCH)

    async def _events(self, after: int) -> AsyncIterator[bytes]:
        """Yield the changes as events until the client leaves, or the server or the store ends."""
        with suppress(IdstoreError):
            async for event in self._endless(after):
                yield event

    async def _endless(self, after: int) -> AsyncIterator[bytes]:
        while not self._stopping.has_begun:
            page = await self._page(after)
            for change in page.changes:
                document = json.dumps(dump(change, self._performer.registry.home), ensure_ascii=False)
                yield f"id: {change.number}\nevent: change\ndata: {document}\n\n".encode()
            after = page.last
            if not page.changes and not await self._new.wait(after, HEARTBEAT):
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
