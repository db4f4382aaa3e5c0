"""Answers in lines, each a JSON document: items as they are read, and the results of work that takes long.

The answer of long work begins with lines ``{"progress": {"what": …, "done": …, "total": …}}``, and has more
of them between items. Empty lines keep the connection alive. An error after the first line is the last line,
as ``{"problem": …}``.
"""

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import chain, islice
from typing import IO, Any, Final

from starlette.responses import StreamingResponse

from idstore.errors import IdstoreError
from idstore.operations.operation import LINES, PROGRESS, ApiOperation
from idstore.operations.wire import Home, dump
from idstore.registry import Registry
from idstore.server import problems
from idstore.server.transfers import BLOCK, Abandoned
from idstore.server.workers import Workers

_INTERVAL: Final = 1.0
"""Seconds between two lines that tell of the same kind of work."""
_TURN: Final = 0.05
"""Seconds for which one answer of items is read before the next."""


def stream(
    operation: ApiOperation,
    items: Iterator[Any],
    home: Home,
    headers: Mapping[str, str],
    workers: Workers,
    caller: str | None = None,
) -> StreamingResponse:
    """Return an answer of one item a line. Raises an error that comes before the first item.

    Answers of one kind take turns: each is read for a moment, and then the next one.

    operation  gives the items; its threads carry it out to its end.
    caller     see `Workers.run`.
    """
    first = list(islice(items, 1))
    parts = _parts(_lines(chain(first, items), home))

    async def body() -> AsyncIterator[bytes]:
        while part := await workers.go_on(operation, lambda: next(parts, b""), caller):
            yield part

    return StreamingResponse(body(), headers=headers, media_type=LINES)


def _lines(items: Iterator[Any], home: Home) -> Iterator[bytes]:
    try:
        for item in items:
            yield _line(dump(item, home))
    except IdstoreError as error:
        yield _problem(error)


def _parts(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines in parts: as many as come within a turn, or make a block."""
    part, size, end = [], 0, time.monotonic() + _TURN
    for line in lines:
        part.append(line)
        size += len(line)
        if size >= BLOCK or time.monotonic() >= end:
            yield b"".join(part)
            part, size, end = [], 0, time.monotonic() + _TURN
    yield b"".join(part)


def write(
    operation: ApiOperation,
    registry: Registry,
    arguments: Mapping[str, Any],
    target: IO[bytes],
    is_abandoned: Callable[[], bool],
) -> None:
    """Carry out long work, and write its progress and its result; each line is written as a whole.

    Raises Abandoned (nobody reads the answer any more), and an error that comes before the first line.
    """
    written = _AnswerLines(target, is_abandoned)
    try:
        result = operation.run(registry, **arguments, **{PROGRESS: written.progress})
        for item in result if operation.streams else [result]:
            written.add(_line(dump(item, registry.home)))
    except IdstoreError as error:
        if not written.any:
            raise
        written.add(_problem(error))


class _AnswerLines:
    """The lines of one answer."""

    def __init__(self, target: IO[bytes], is_abandoned: Callable[[], bool]) -> None:
        self._target, self._is_abandoned = target, is_abandoned
        self._what, self._next = "", 0.0
        self.any = False

    def add(self, line: bytes) -> None:
        self._target.write(line)
        self._target.flush()
        self.any = True

    def progress(self, what: str, done: int, total: int) -> None:
        """Tell of progress: when a kind of work begins, then at most once an interval. Raises Abandoned."""
        if self._is_abandoned():
            raise Abandoned
        now = time.monotonic()
        if what != self._what or now >= self._next:
            self._what, self._next = what, now + _INTERVAL
            self.add(_line({PROGRESS: {"what": what, "done": done, "total": total}}))


def _problem(error: IdstoreError) -> bytes:
    return _line({"problem": problems.describe(error)})


def _line(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"
