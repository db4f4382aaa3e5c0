"""What every reader of articles' metadata gives: entries of a file, and errors that tell file and line."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange.sources import Source

FIELDS: Final = ("issn", "volume", "issue", "page", "title", "subtitle", "doi", "key", "type")
"""What is read. ``issn`` may list several, the one to use first. ``key`` is the caller's own key for the article. ``type`` says which type of
identifier a scheme with several is to mint (``x-fmt``)."""

EXTRA: Final = "articles"
"""The optional dependencies that reading JATS and BibTeX takes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One article of a file, or what is wrong with it, so that a reader can go on behind it.

    line    where it begins, from 1.
    passed  keys of idstore's own JSON that are not known, and were passed over.
    """

    file: str
    line: int
    found: Mapping[str, str] | InvalidData
    passed: tuple[str, ...] = ()

    def fields(self) -> Mapping[str, str]:
        """What it says, in the order of `FIELDS`. Raises InvalidData, with file and line, and the field where it is one's fault."""
        if isinstance(self.found, InvalidData):
            raise self.found
        return self.found


class Stream:
    """A source behind what was read of it ahead.

    head  the bytes read ahead.
    """

    def __init__(self, source: Source, head: bytes) -> None:
        self._source = source
        self._head = head
        self.name = source.name

    def put_back(self, content: bytes) -> None:
        """Have these bytes read next."""
        self._head = content + self._head

    def read(self, size: int) -> bytes:
        """At most so many bytes, none at the end. Raises InvalidData as the source."""
        if self._head:
            found, self._head = self._head[:size], self._head[size:]
            return found
        return self._source.read(size)

    def read_line(self, size: int) -> bytes:
        """The next line, or so many bytes of it; nothing at the end. Raises InvalidData as the source."""
        end = self._head.find(b"\n", 0, size) + 1 or min(size, len(self._head))
        line, self._head = self._head[:end], self._head[end:]
        if line.endswith(b"\n") or len(line) >= size:
            return line
        return line + self._source.read_line(size - len(line))


def failure(file: str, line: int | None, reason: str, **fields: object) -> InvalidData:
    """The error for what is wrong in a file."""
    place = file if line is None else f"{file}, line {line}"
    return InvalidData(f"{place}: {reason}", file=file, line=line, **fields)


def cleaned(said: Mapping[str, str | None]) -> dict[str, str]:
    """The fields that are said, in the order of `FIELDS`, without blank ones."""
    return {name: text for name in FIELDS if (text := said.get(name)) is not None and text.strip()}


def library(file: str, module: str, what: str) -> Any:
    """A module of an optional dependency. Raises InvalidData, naming the extra."""
    try:
        found = import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        reason = f"reading {what} takes the package {package}, which is not installed; install it with `pip install 'idstore[{EXTRA}]'`"
        raise failure(file, None, reason, extra=EXTRA) from error
    logging.getLogger(module.partition(".")[0]).addHandler(logging.NullHandler())  # what it says of a file, its reader says
    return found
