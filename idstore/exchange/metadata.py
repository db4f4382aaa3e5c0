"""Metadata of articles, as JSON: one object a line, or a single one that may stand on several lines.

    {"issn": "0016-0032", "volume": 238, "issue": "3", "page": "224-224", "title": "Book Review", "doi": "10.1016/…"}

`FIELDS` are read. An absent key, null and blank text mean that the source has none. Numbers are taken as they are written (``4.10`` stays
``4.10``). Other keys are passed over, whatever they hold, since real records carry more; but one that differs from a field in nothing but
its letters' case (``ISSN``) is refused, since passing over it would silently give another identifier. Plain or gzip, UTF-8.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange.sources import Readable, Source, opened

FIELDS: Final = ("issn", "volume", "issue", "page", "title", "doi", "type")
"""What is read: of articles the first six; ``type`` says which type of identifier a scheme with several is to mint (``x-fmt``)."""

_LONGEST: Final = 1 << 20
"""Bytes of one object: memory stays bounded."""
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of a file, not looked into yet, so that a reader can go on behind a malformed one.

    line  where it begins, from 1.
    """

    file: str
    line: int
    text: bytes

    def fields(self) -> Mapping[str, str]:
        """What it says, in the order of `FIELDS`. Raises InvalidData, with file and line, and the field where it is one's fault."""
        found = self._object()
        for key in found.keys() - set(FIELDS):
            if key.strip().lower() in FIELDS:
                raise self._error(f"the key {key!r} is not known; write {key.strip().lower()!r}", field=key)
        said = ((name, self._text(name, found[name])) for name in FIELDS if found.get(name) is not None)
        return {name: text for name, text in said if text.strip()}

    def _object(self) -> dict[str, Any]:
        try:
            text = self.text.decode()
            found = json.loads(text, parse_int=str, parse_float=str, parse_constant=_no_number, object_pairs_hook=_unique)
        except UnicodeDecodeError as error:
            line = self.text.count(b"\n", 0, error.start)
            raise self._error(f"it is not UTF-8 (byte 0x{self.text[error.start]:02x})", line) from error
        except json.JSONDecodeError as error:
            raise self._error(f"it is not JSON: {error.msg} (column {error.colno})", error.lineno - 1) from error
        except (ValueError, RecursionError) as error:
            reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
            raise self._error(reason) from error
        if not isinstance(found, dict):
            raise self._error('it is no JSON object; write one a line, as in {"issn": "0016-0032", "title": "Book Review"}')
        return found

    def _text(self, name: str, value: object) -> str:
        if not isinstance(value, str):
            kind = {bool: "true or false", list: "a list", dict: "an object"}[type(value)]
            raise self._error(f"{name} is {kind}; write a text or a number", field=name)
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise self._error(f"{name} holds half a surrogate pair (position {error.start})", field=name) from error
        return value

    def _error(self, reason: str, down: int = 0, **fields: object) -> InvalidData:
        return _failure(self.file, self.line + down, reason, **fields)


def entries(file: Readable) -> Iterator[Entry]:
    """The objects of a file (a path, ``-`` for standard input, or a binary stream), in file order; empty lines are passed over.

    Raises InvalidData: the file cannot be read, is cut off, or one object is longer than a mebibyte. Memory: flat beyond a mebibyte.
    """
    with opened(file, _failure) as source:
        yield from _entries(source)


def read(file: Readable) -> Iterator[Mapping[str, str]]:
    """The metadata of a file, object by object. Raises InvalidData, with file and line, at the first that is malformed."""
    return (entry.fields() for entry in entries(file))


def _entries(source: Source) -> Iterator[Entry]:
    head = b""
    while len(head) <= _LONGEST and (more := source.read(_LONGEST)):
        head += more
    head = head.removeprefix(_BOM)
    if len(head) <= _LONGEST and _single(head):
        yield Entry(source.name, 1, head)
        return
    for number, line in enumerate(_lines(source, head), start=1):
        if len(line) > _LONGEST:
            raise source.error(number, f"the line is longer than {_LONGEST} bytes; write one object a line")
        if line.strip():
            yield Entry(source.name, number, line)


def _lines(source: Source, head: bytes) -> Iterator[bytes]:
    """The lines of what was read ahead, and of the rest."""
    *whole, last = head.split(b"\n")
    yield from whole
    yield last + (source.read_line(_LONGEST) if not last.endswith(b"\n") else b"")
    while line := source.read_line(_LONGEST + 1):
        yield line


def _single(text: bytes) -> bool:
    """Whether it is one JSON value, or an object begun on a line of its own, and not a line for each."""
    if text.lstrip().partition(b"\n")[0].strip() == b"{":
        return True
    try:
        json.loads(text.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _failure(file: str, line: int | None, reason: str, **fields: object) -> InvalidData:
    place = file if line is None else f"{file}, line {line}"
    return InvalidData(f"{place}: {reason}", file=file, line=line, **fields)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number in JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands there twice")
        found[key] = value
    return found
