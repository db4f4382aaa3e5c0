"""What a command reads: files, and ``-`` for standard input."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

from idstore.errors import InvalidData

STDIN = "-"
_LINE: Final = 1 << 20
"""Bytes of a line, its end included: memory stays bounded, whatever comes."""
_TEXT: Final = 1 << 26
"""Bytes of a whole text."""
_CHUNK: Final = 1 << 16


def texts(arguments: Iterable[str]) -> Iterator[str]:
    """The arguments one by one; ``-`` stands for the lines of standard input, without the empty ones.

    Raises InvalidData: standard input is closed, or a line is not UTF-8.
    """
    for argument in arguments:
        if argument == STDIN:
            yield from lines(STDIN)
        else:
            yield argument


def lines(file: str) -> Iterator[str]:
    """The lines of a file, without their ends and without the empty ones.

    Raises InvalidData, with file and line: it is not UTF-8, or longer than any line that is read.
    """
    with _opened(file) as stream:
        for number in count(1):
            line = stream.readline(_LINE + 1)
            if not line:
                return
            if len(line) > _LINE:
                raise InvalidData(f"{name(file)}, line {number}: longer than {_LINE} bytes", file=name(file), line=number)
            try:
                text = line.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise InvalidData(
                    f"{name(file)}, line {number}: not UTF-8 (byte {error.start + 1})", file=name(file), line=number
                ) from error
            if number == 1:
                text = text.removeprefix("\ufeff")
            if text:
                yield text


def content(file: str) -> bytes:
    """The whole of a text that is held in memory, from a file or standard input. Raises InvalidData: it cannot be read, or is too long."""
    return b"".join(chunks(file, _TEXT))


def chunks(file: str, limit: int) -> Iterator[bytes]:
    """A file, or standard input, piece by piece. Raises InvalidData: it cannot be read, or has more bytes than ``limit``."""
    left = limit
    with _opened(file) as stream:
        while chunk := stream.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise InvalidData(f"{name(file)}: longer than {limit} bytes; give less at once", file=name(file))
            yield chunk


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    try:
        if file != STDIN:
            with Path(file).open("rb") as stream:
                yield stream
        elif sys.stdin is not None:
            yield sys.stdin.buffer
        else:
            raise InvalidData("standard input is closed; give a file, or pipe something in", file=name(STDIN))
    except OSError as error:
        raise InvalidData(f"{name(file)}: {error.strerror}", file=name(file)) from error


def name(file: str) -> str:
    """What a file is called in messages."""
    return "standard input" if file == STDIN else file
