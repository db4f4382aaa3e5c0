"""Metadata of articles as JSON: an object a line, a single object on one line or several, an array, or an answer of Crossref's interface.

An object is read as idstore's own if its keys are (``issn``, ``title``), and as CSL-JSON or Crossref's if one of `_FOREIGN` is among them. Null
and absent keys mean that the source has none. Numbers are taken as they are written (``4.10`` stays ``4.10``). Other keys are passed over,
whatever they hold, since real records carry more, and are told; but one that differs from a field in nothing but its letters' case (``Issn``)
is refused, and so is a word for a field that is absent (``vol``, ``pages``), or almost one (``volum``): passing over it would silently give
another identifier.
Sources: CSL-JSON schema 1.0.2, https://github.com/citation-style-language/schema; Crossref REST API format,
https://github.com/CrossRef/rest-api-doc/blob/master/api_format.md.
"""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange.articles import FIELDS, Entry, Stream, cleaned, failure

_LONGEST: Final = 1 << 20
"""Bytes (in an array: characters) of one object: memory stays bounded."""
_CHUNK: Final = 1 << 16
_FOREIGN: Final = frozenset({"ISSN", "DOI", "issn-type", "container-title", "message-type", "article-number"})
"""Keys that only CSL-JSON and Crossref's JSON have."""
_WORDS: Final[Mapping[str, str]] = {
    "vol": "volume",
    "no": "issue",
    "nr": "issue",
    "num": "issue",
    "number": "issue",
    "pp": "page",
    "pages": "page",
    "firstpage": "page",
    "startpage": "page",
    "fpage": "page",
    "spage": "page",
    "articletitle": "title",
    "titel": "title",
    "volum": "volume",
    "eissn": "issn",
    "pissn": "issn",
    **{field: field for field in FIELDS},
}
"""Other words and spellings of fields, in lower case, without what divides them."""
_LIST: Final = re.compile(
    rb'\s*\{\s*(?:"items"\s*:\s*\[|"status"\s*:\s*"ok"\s*,\s*"message-type"\s*:\s*"work-list".*?"items"\s*:\s*\[)', re.DOTALL
)
"""The beginning of Crossref's lists: an answer to a search, and a file of the public data."""
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_KINDS: Final[Mapping[type, str]] = {bool: "true or false", list: "a list", dict: "an object"}


def entries(stream: Stream) -> Iterator[Entry]:
    """The articles, in file order; empty lines are passed over. Raises InvalidData as `idstore.exchange.metadata.entries`."""
    head = b""
    while len(head) <= _LONGEST and (more := stream.read(_LONGEST)):
        head += more
    listed = _LIST.match(head)
    if listed or head.lstrip().startswith(b"["):
        start = listed.end() if listed else head.index(b"[") + 1
        stream.put_back(head[start:])
        return _Array(stream, 1 + head.count(b"\n", 0, start)).entries()
    if len(head) <= _LONGEST and _single(head):
        return iter([_parsed(stream.name, 1, head)])
    stream.put_back(head)
    return _lines(stream)


def _lines(stream: Stream) -> Iterator[Entry]:
    number = 0
    while line := stream.read_line(_LONGEST + 1):
        number += 1
        if len(line) > _LONGEST:
            raise failure(stream.name, number, f"the line is longer than {_LONGEST} bytes; write one object a line")
        if line.strip():
            yield _parsed(stream.name, number, line.rstrip())


def _single(text: bytes) -> bool:
    """Whether it is one JSON value, or an object begun on a line of its own, and not a line for each."""
    if text.lstrip().partition(b"\n")[0].strip() == b"{":
        return True
    try:
        json.loads(text.decode())
    except (ValueError, RecursionError):
        return False
    return True


class _Array:
    """The objects of an array that is read piece by piece.

    line  where it stands, from 1.
    """

    def __init__(self, stream: Stream, line: int) -> None:
        self._stream = stream
        self._line = line
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0

    def entries(self) -> Iterator[Entry]:
        divided = True
        while (mark := self._next()) != "]":
            if mark == "" or (mark == ",") == divided:
                raise self._error(
                    "the array ends too soon; fetch the file again" if mark == "" else f"{mark!r} cannot stand here in the array"
                )
            if mark == ",":
                self._pass(1)
            else:
                yield self._item()
            divided = mark == ","

    def _item(self) -> Entry:
        """The object that begins here. Raises InvalidData where its end cannot be found."""
        line = self._line
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > _LONGEST or not self._more():
                    down = self._text.count("\n", self._at, error.pos)
                    raise self._error(f"it is not JSON: {error.msg}; what follows cannot be told apart", down) from error
            except (ValueError, RecursionError) as error:
                raise self._error("it is nested too deep" if isinstance(error, RecursionError) else str(error)) from error
            else:
                self._pass(end - self._at)
                return _entry(self._stream.name, line, found)

    def _next(self) -> str:
        """The next character that is no space, empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._pass((space.end() if space else self._at) - self._at)
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _pass(self, count: int) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count

    def _more(self) -> bool:
        """Read on, unless it is the end."""
        chunk = self._stream.read(_CHUNK)
        try:
            self._text = self._text[self._at :] + self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            down = self._text.count("\n", self._at) + error.object.count(b"\n", 0, error.start)
            raise self._error(_not_utf8(error), down) from error
        self._at = 0
        return bool(chunk)

    def _error(self, reason: str, down: int = 0) -> InvalidData:
        return failure(self._stream.name, self._line + down, reason)


def _parsed(file: str, line: int, text: bytes) -> Entry:
    """The article that a text describes."""
    try:
        return _entry(file, line, _DECODER.decode(text.decode()))
    except UnicodeDecodeError as error:
        return Entry(file, line, failure(file, line + text.count(b"\n", 0, error.start), _not_utf8(error)))
    except json.JSONDecodeError as error:
        return Entry(file, line, failure(file, line + error.lineno - 1, f"it is not JSON: {error.msg} (column {error.colno})"))
    except RecursionError:
        return Entry(file, line, failure(file, line, "it is nested too deep"))
    except ValueError as error:
        return Entry(file, line, failure(file, line, str(error)))


def _entry(file: str, line: int, found: object) -> Entry:
    try:
        return Entry(file, line, cleaned(_said(found)), _passed(found))
    except InvalidData as error:
        return Entry(file, line, failure(file, line, error.message, **error.fields))


def _said(found: Any) -> dict[str, str | None]:
    """The fields of an object, in whichever of the dialects it is. Raises InvalidData."""
    if not isinstance(found, dict):
        raise InvalidData('it is no JSON object; write one a line, as in {"issn": "0016-0032", "title": "Book Review"}')
    if isinstance(found.get("message"), dict):  # Crossref's answer about one article
        found = found["message"]
    if not _FOREIGN.isdisjoint(found):
        return _foreign(found)
    for key in found.keys() - set(FIELDS):
        meant = _WORDS.get(re.sub(r"[\s_-]", "", key.lower()))
        if meant is not None and (key.strip().lower() == meant or (found.get(meant) is None and found[key] not in (None, ""))):
            raise InvalidData(f"the key {key!r} is not known; write {meant!r}", field=key)
    return {name: _text(name, found.get(name)) for name in FIELDS}


def _passed(found: Any) -> tuple[str, ...]:
    """The keys that are passed over without anybody's having meant that; those of other dialects have their own documentation."""
    foreign = isinstance(found.get("message"), dict) or not _FOREIGN.isdisjoint(found)
    return () if foreign else tuple(key for key in found if key not in FIELDS)


def _foreign(found: Mapping[str, Any]) -> dict[str, str | None]:
    """CSL-JSON, or Crossref's JSON, which is almost the same."""
    for own in ("issn", "doi"):
        if own in found:
            raise InvalidData(
                f"it has the key {own!r} of one way to write metadata and {own.upper()!r} or others of another; use one", field=own
            )
    plain = {name: _text(name, found.get(name)) for name in ("volume", "issue", "page")}
    plain["page"] = plain["page"] or _text("page-first", found.get("page-first"))
    first = {name: _text(name, _first(found.get(name))) for name in ("title", "subtitle")}
    return {"issn": _issns(found), "doi": _text("DOI", found.get("DOI")), **plain, **first}


def _first(value: Any) -> Any:
    return (value[0] if value else None) if isinstance(value, list) else value


def _issns(found: Mapping[str, Any]) -> str | None:
    """The ISSNs, those of the printed edition first."""
    given = found.get("ISSN")
    texts = [_text("ISSN", one) or "" for one in given] if isinstance(given, list) else [_text("ISSN", given) or ""]
    typed = found.get("issn-type")
    printed = [one.get("value") for one in typed if isinstance(one, dict) and one.get("type") == "print"] if isinstance(typed, list) else []
    return ", ".join(sorted(filter(None, texts), key=lambda text: text not in printed))


def _text(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidData(f"{name} is {_KINDS[type(value)]}; write a text or a number", field=name)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidData(f"{name} holds half a surrogate pair (position {error.start})", field=name) from error
    return value


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"it is not UTF-8 (byte 0x{error.object[error.start]:02x})"


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number in JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands there twice")
        found[key] = value
    return found


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=_no_number)
