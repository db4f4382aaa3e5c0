"""The body of a request: read as a whole within limits, or what an early answer has left unread."""

import asyncio
import json
from contextlib import suppress
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope

from idstore.errors import IdstoreError, InvalidData, LimitReached, RequestTooLarge, UnsupportedMedia

EMPTY_BODIES: Final = (b"", b"{}")
"""What may stand in the body of a request that has no parameters there."""
_LEFT: Final = 64 << 20
"""Bytes that are read at most after an early answer."""


def check_size(size: int, limit: int) -> None:
    """Raise RequestTooLarge if a body of ``size`` bytes, or of at least as many, is over the limit."""
    if size > limit:
        raise RequestTooLarge(f"the request is larger than {limit} bytes; send less at once", limit=limit)


def check_keys(body: bytes) -> None:
    """Raise InvalidData if an object in JSON has a key twice: readers differ in which value counts.

    Whatever is no JSON is refused by its reader.
    """
    try:
        json.loads(body, object_pairs_hook=_check_pairs)
    except InvalidData:
        raise
    except (ValueError, RecursionError):
        return


def _check_pairs(pairs: list[tuple[str, object]]) -> None:
    keys = set[str]()
    for key, _ in pairs:
        if key in keys:
            raise InvalidData(f"{key!r} stands twice in an object of the body; give it once", field=key)
        keys.add(key)


def check_encoding(headers: Headers) -> None:
    """Raise UnsupportedMedia if a header says that a body is compressed."""
    for name, usual in (("Content-Encoding", "identity"), ("Transfer-Encoding", "chunked")):
        encoding = headers.get(name, usual)
        if encoding.lower() != usual:
            raise UnsupportedMedia(f"the body is in the encoding {encoding}; send it as it is", field=name)


class RequestBody:
    """The body of a request as it arrives. It knows whether its end has been read.

    ``receive`` is the channel for an application that reads the body itself.

    is_small  whether it says beforehand that it has at most `SMALL` bytes.
    """

    SMALL: Final = 1 << 16

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        declared = headers.get("Content-Length", "0")
        self._headers = headers
        self._receive = receive
        self._declared = int(declared) if declared.isdecimal() else 0
        self.is_small = "Transfer-Encoding" not in headers and self._declared <= self.SMALL
        self.has_ended = declared == "0" and "Transfer-Encoding" not in headers

    async def receive(self) -> Message:
        """Return the next part, or that the client has gone."""
        message = await self._receive()
        self.has_ended = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message

    async def read(self, limit: int, seconds: float) -> bytes:
        """Return the whole body.

        Raises RequestTooLarge, UnsupportedMedia (it is compressed), LimitReached (too slow), ClientDisconnect
        (it did not arrive as a whole).
        """
        if not self.has_ended:
            check_encoding(self._headers)
        check_size(self._declared, limit)
        parts, size = list[bytes](), 0
        try:
            async with asyncio.timeout(seconds):
                while not self.has_ended:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    check_size(size, limit)
        except TimeoutError as error:
            if isinstance(error, IdstoreError):
                raise
            raise LimitReached(
                f"the request did not arrive within {seconds:g} seconds; send it again"
            ) from None
        return b"".join(parts)

    async def drain(self, seconds: float) -> None:
        """Read and drop the rest, as far as it arrives within some seconds."""
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.has_ended and size < _LEFT:
                    size += len((await self.receive()).get("body", b""))

    def replayed(self, body: bytes) -> Receive:
        """Return a channel that gives the body that was read, and then what comes after it."""
        read = False

        async def receive() -> Message:
            nonlocal read
            if read:
                return await self._receive()
            read = True
            return {"type": "http.request", "body": body, "more_body": False}

        return receive
