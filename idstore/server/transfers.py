"""Bodies that are too long for memory: a download is written aside, and an upload is read to its end first.

So no client decides how long a snapshot is held or an act lasts: a slow one waits alone.
"""

import asyncio
import io
import os
import re
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, cast
from weakref import WeakValueDictionary

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from idstore import scratch
from idstore.errors import IdstoreError, InvalidData, LimitReached, Overloaded, StoreUnavailable
from idstore.server.query_answers import has_left
from idstore.server.request_body import check_encoding, check_size
from idstore.server.sign_in import counted_as

BLOCK: Final = 1 << 16
"""Bytes that are written, read or sent at once."""
SLOWEST: Final = 1024
"""Bytes of an upload that must come in a second, after the time in which a small request must come."""
_ENDING: Final = re.compile(r"(\.[A-Za-z0-9]{1,16}){0,2}$")
"""The endings of a file's name, which tell its format."""
_GZIP: Final = b"\x1f\x8b"


class Download:
    """A temporary file that a thread writes and a request reads, each at its own pace.

    filler  is sent when nothing was written for ``pause`` seconds, so that the connection is not taken for
            dead; without it the answer waits.
    Disk: the bytes that were written; the file has no name, and ends with its last user.
    Raises StoreUnavailable: the file cannot be made.
    """

    def __init__(self, filler: bytes = b"", pause: float = 15.0) -> None:
        self._filler, self._pause = filler, pause if filler else None
        with _room_for("the answer"):
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 it is closed by its last user
        self._size = 0
        self._ended = False
        self._failure: BaseException | None = None
        self._abandoned = threading.Event()
        self._grown = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def begin(
        self, write: Callable[[IO[bytes]], None], places: Sequence[CapacityLimiter], seconds: float
    ) -> None:
        """Start the writer, and return once a block or all of it is there, or a filler is due.

        places  kinds of places; the writer takes one of each, in this order.
        Raises Overloaded: other writers did not end within ``seconds``. Raises an error of the writer.
        """
        held = ExitStack()
        try:
            with anyio.fail_after(seconds):
                for place in places:
                    await place.acquire_on_behalf_of(self)
                    held.callback(place.release_on_behalf_of, self)
        except BaseException as error:
            held.close()
            self._ended = True
            self.abandon()
            if isinstance(error, TimeoutError):
                raise Overloaded("too many exports or checks at the moment; try again soon") from None
            raise
        work = partial(copy_context().run, self._run, write, held)
        threading.Thread(target=work, name="download", daemon=True).start()
        try:
            await self._wait(0)
            if self._failure is not None and not self._size:
                raise self._failure  # noqa: TRY301 the file is closed below
        except BaseException:
            self.abandon()
            raise

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody reads it any more."""
        return self._abandoned.is_set()

    def progress(self, what: str, done: int, total: int) -> None:  # noqa: ARG002 nobody is told of it
        """Go on with the work that writes it. Raises Abandoned: nobody reads it any more."""
        if self.is_abandoned:
            raise Abandoned

    def abandon(self) -> None:
        """Stop the writer. To be called unless `blocks` is read."""
        self._abandoned.set()
        if self._ended:
            self._file.close()

    async def blocks(self) -> AsyncGenerator[bytes, None]:
        """Yield what is written, until the end. Raises an error of the writer, which cuts the answer off."""
        place = 0
        try:
            while True:
                if not await self._wait(place):
                    yield self._filler
                    continue
                if place == self._size:
                    break
                block = await to_thread.run_sync(os.pread, self._file.fileno(), BLOCK, place)
                place += len(block)
                yield block
            if self._failure is not None:
                raise self._failure
        finally:
            self.abandon()

    async def _wait(self, place: int) -> bool:
        """Wait until there is more than ``place`` bytes, or the end. Return False if a filler is due."""
        with anyio.move_on_after(self._pause) as waiting:
            while self._size <= place and not self._ended:
                self._grown.clear()
                if self._size <= place and not self._ended:
                    await self._grown.wait()
        return not waiting.cancelled_caught

    def _run(self, write: Callable[[IO[bytes]], None], places: ExitStack) -> None:
        """Write everything, in a thread of its own, and give up its places."""
        failure: BaseException | None = None
        raw = _Aside(self._file, self._abandoned, self._tell)
        target = io.BufferedWriter(raw, BLOCK)
        try:
            write(cast("IO[bytes]", target))
            target.flush()
        except Abandoned:
            pass
        except IdstoreError as error:  # some are also an OSError
            failure = error
        except OSError as error:
            failure = StoreUnavailable(
                f"there is no room for the answer: {error.strerror or error}; free some"
            )
            failure.__cause__ = error
        except Exception as error:  # noqa: BLE001 the request raises it
            failure = error
        finally:
            raw.discards = True  # after a failure the rest of the buffer is no part of the answer
            target.close()

        def end() -> None:
            self._ended, self._failure = True, failure
            places.close()
            self._grown.set()
            if self._abandoned.is_set():
                self._file.close()

        self._loop.call_soon_threadsafe(end)

    def _tell(self, size: int) -> None:
        """Tell the reader of more bytes, from the writer's thread."""

        def grow() -> None:
            self._size += size
            self._grown.set()

        self._loop.call_soon_threadsafe(grow)


class Writers:
    """Places for the writers of downloads. A further one waits for ``seconds``.

    most    at the same time.
    of_one  of one party that signed in, or of one address: others find a place beside them.
    """

    def __init__(self, most: int, of_one: int, seconds: float) -> None:
        self._places, self._of_one, self._seconds = CapacityLimiter(most), of_one, seconds
        self._callers = WeakValueDictionary[str, CapacityLimiter]()

    async def begin(self, request: Request, download: Download, write: Callable[[IO[bytes]], None]) -> bool:
        """Begin a download, and return whether its client is still there; else it is abandoned.

        Raises as `Download.begin`.
        """
        caller = counted_as(request)
        own = self._callers.get(caller) or CapacityLimiter(self._of_one)
        self._callers[caller] = own
        return not await has_left(request, download.begin(write, [own, self._places], self._seconds))


class Abandoned(Exception):
    """Nobody reads the download any more."""


class _Aside(io.RawIOBase):
    """Writes to a temporary file; each write is told to the reader."""

    def __init__(self, file: Any, abandoned: threading.Event, tell: Callable[[int], None]) -> None:
        super().__init__()
        self._file, self._abandoned, self._tell = file, abandoned, tell
        self.discards = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.discards:
            return len(data)
        if self._abandoned.is_set():
            raise Abandoned
        written: int = self._file.write(data)
        self._tell(written)
        return written


@asynccontextmanager
async def upload(
    request: Request, name: str, *, limit: int, seconds: float, packed: bool
) -> AsyncIterator[Path]:
    """Write the body of a request to a temporary file that lasts for the block.

    name     the file's name at the client: the temporary one has its endings.
    limit    bytes.
    seconds  in which each part of the body must come.
    packed   whether gzip data are accepted: what they unpack to is not limited.
    Raises RequestTooLarge, UnsupportedMedia (a ``Content-Encoding``), LimitReached (too slow), InvalidData
    (gzip), StoreUnavailable (no room).
    """
    check_encoding(request.headers)
    declared = request.headers.get("Content-Length", "")
    if declared.isdecimal():
        check_size(int(declared), limit)
    place = scratch.folder()
    with _room_for("the body of a request"):
        folder = await to_thread.run_sync(place.__enter__)
    try:
        ending = _ENDING.search(name)
        path = folder / f"upload{ending[0] if ending else ''}"
        with _room_for("the body of a request"):
            file = path.open("wb")
        with file:
            async for block in _parts(request, limit, seconds):
                if not packed and not file.tell() and block.startswith(_GZIP):
                    raise InvalidData("only administrators may send gzip data; unpack the file")
                await to_thread.run_sync(_write, file, block)
        yield path
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(place.__exit__, None, None, None)


async def _parts(request: Request, limit: int, seconds: float) -> AsyncIterator[bytes]:
    """Yield the parts of a body, about `BLOCK` each. Raises RequestTooLarge, LimitReached."""
    stream, size, start, held = request.stream(), 0, time.monotonic(), b""
    while True:
        with anyio.move_on_after(seconds) as waiting:
            part = await anext(stream, None)
        if waiting.cancelled_caught or time.monotonic() - start > seconds + size / SLOWEST:
            raise LimitReached("the body comes too slowly; send it again")
        if part is None:
            break
        size, held = size + len(part), held + part
        check_size(size, limit)
        if len(held) >= BLOCK:
            yield held
            held = b""
    yield held


def _write(file: IO[bytes], block: bytes) -> None:
    with _room_for("the body of a request"):
        file.write(block)
        file.flush()


@contextmanager
def _room_for(what: str) -> Iterator[None]:
    """Raise StoreUnavailable for an OSError: the disk is full, or the process has no file left to open."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"there is no room for {what}: {error.strerror or error}; free some"
        ) from error
