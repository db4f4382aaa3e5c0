"""Files that a command reads, and ``-`` for standard input."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

from idstore.characters import file_name
from idstore.errors import InvalidData

STDIN = "-"
_LINE: Final = 1 << 20
"""Longest line in bytes, with its end: it bounds the memory that any input takes."""
_TEXT: Final = 1 << 26
"""Largest text in bytes that is read into memory."""
_CHUNK: Final = 1 << 16


def texts(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the arguments; ``-`` stands for the lines of standard input that are not blank.

    Raises InvalidData: standard input is closed, a line is not UTF-8, or longer than 1 MiB.
    """
    for argument in arguments:
        if argument == STDIN:
            yield from lines(STDIN)
        else:
            yield argument


def lines(file: str) -> Iterator[str]:
    """Yield the lines of a file that are not blank, without line ends.

    Raises InvalidData, with file and line: the line is not UTF-8, or longer than 1 MiB.
    """
    with _opened(file) as stream:
        for number in count(1):
            line = stream.readline(_LINE + 1)
            if not line:
                return
            if len(line) > _LINE:
                raise InvalidData(
                    f"{name(file)}, line {number}: longer than {_LINE} bytes", file=name(file), line=number
                )
            try:
                text = line.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise InvalidData(
                    f"{name(file)}, line {number}: not UTF-8 (byte {error.start + 1})",
                    file=name(file),
                    line=number,
                ) from error
            if number == 1:
                text = text.removeprefix("\ufeff")
            if text.strip():
                yield text


def content(file: str) -> bytes:
    """Return the content of a file or standard input.

    Raises InvalidData: the file cannot be read, or is larger than 64 MiB.
    """
    return b"".join(chunks(file, _TEXT))


def chunks(file: str, limit: int) -> Iterator[bytes]:
    """Yield the content of a file or standard input in pieces.

    Raises InvalidData: the file cannot be read, or has more bytes than ``limit``.
    """
    remaining = limit
    with _opened(file) as stream:
        while chunk := stream.read(_CHUNK):
            remaining -= len(chunk)
            if remaining < 0:
                raise InvalidData(
                    f"{name(file)}: longer than {limit} bytes; split the input", file=name(file)
                )
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
    """Return the name of a file in messages, which is text: see `file_name`."""
    return "standard input" if file == STDIN else file_name(file)
