"""Answers to queries as responses, and the watch over clients that go away."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from idstore.stores.contract import Answer

_BLOCK: Final = 1 << 16


@asynccontextmanager
async def watched(request: Request) -> AsyncIterator[Callable[[], bool]]:
    """Yield a function that tells whether the client has gone away, or the block has ended."""
    gone = threading.Event()

    async def watch() -> None:
        await _leaving(request)
        gone.set()

    watching = asyncio.create_task(watch())
    try:
        yield gone.is_set
    finally:
        gone.set()
        watching.cancel()


async def has_left(request: Request, waiting: Coroutine[Any, Any, object]) -> bool:
    """Wait until ``waiting`` ends or the client goes away, and return whether the client went first."""
    tasks: list[asyncio.Task[object]] = [
        asyncio.create_task(waiting),
        asyncio.create_task(_leaving(request)),
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    if tasks[0] in done:
        tasks[0].result()  # raises its error
        return False
    return True


async def _leaving(request: Request) -> None:
    """Wait until the client goes away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def query_response(answer: Answer, headers: Mapping[str, str], media_type: str | None = None) -> Response:
    """Return the response with an answer, which it closes.

    media_type  in the place of that of the format.
    """
    headers, media_type = {**headers, **facts(answer)}, media_type or answer.media_type
    first = answer.stream.read(_BLOCK)
    if len(first) < _BLOCK:
        answer.close()
        return Response(first, headers=headers, media_type=media_type)
    return LongAnswer(answer, first, headers, media_type)


class LongAnswer(StreamingResponse):
    """The response with an answer that is longer than a block.

    place  is held until the answer is sent, or its client has gone.
    """

    def __init__(self, answer: Answer, first: bytes, headers: Mapping[str, str], media_type: str) -> None:
        def blocks() -> Iterator[bytes]:
            yield first
            while block := answer.stream.read(_BLOCK):
                yield block

        super().__init__(iterate_in_threadpool(blocks()), headers=headers, media_type=media_type)
        self.place = AsyncExitStack()
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        async with self.place:
            with self._answer:
                await super().__call__(scope, receive, send)


def facts(answer: Answer) -> dict[str, str]:
    """Return the headers that describe an answer."""
    return {
        "Idstore-Format": answer.format,
        "Idstore-Kind": answer.kind,
        "Idstore-Rows": str(answer.rows),
        "Idstore-Truncated": "true" if answer.truncated else "false",
    }
