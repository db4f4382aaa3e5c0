"""What a command reads: files, and ``-`` for standard input."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from idstore.errors import InvalidData

STDIN = "-"


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

    Raises InvalidData, with file and line.
    """
    with _opened(file) as stream:
        for number, line in enumerate(stream, start=1):
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
    """The whole of a file, or of standard input. Raises InvalidData when it cannot be read."""
    with _opened(file) as stream:
        return stream.read()


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
