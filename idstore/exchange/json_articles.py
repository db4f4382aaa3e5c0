"""Article metadata as JSON: an object a line, a single object, an array, or Crossref's REST API response.

An object with a key of `_FOREIGN` is CSL-JSON or Crossref's JSON; any other is idstore's own (``issn``,
``title``). Null and absent keys mean that the source has no value. Numbers keep their spelling (``4.10``
stays ``4.10``). Unknown keys are ignored, since real records have more, and reported; those that stand in the
place of a field are refused (`idstore.schemes.article_fields`).
Sources: CSL-JSON schema 1.0.2, https://github.com/citation-style-language/schema; Crossref REST API format,
https://github.com/CrossRef/rest-api-doc/blob/master/api_format.md.
"""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange import limits
from idstore.exchange.articles import (
    ArticleEntry,
    Stream,
    failure,
    in_supplement,
    nonblank,
    not_taken,
    unpaged,
    unread_doi,
    unread_note,
)
from idstore.schemes.article_fields import FIELDS, check_names, meant

_CHUNK: Final = 1 << 16
_FOREIGN: Final = frozenset(
    {
        "ISSN",
        "DOI",
        "issn-type",
        "container-title",
        "message-type",
        "article-number",
        "supplement-number",
        "part-number",
    }
)
"""Keys that only CSL-JSON and Crossref's JSON have."""
_PLACES: Final = ("volume", "issue", "page", "title", "subtitle")
_NUMBERING: Final = ("part-number", "supplement", "number", "pages", "firstPage", "startPage")
"""Keys beside those that are read that say where an article is: of CSL-JSON, and of other programs."""
_PROSE: Final = frozenset({"abstract", "annote", "references", "title", "subtitle"})
"""Keys of texts that may name the DOIs of other articles."""
_ARTICLES: Final = frozenset({
    "article", "article-journal", "article-magazine", "article-newspaper", "journal-article", "review",
    "review-book",
})  # fmt: skip
"""Types of articles in CSL-JSON, and Crossref's."""
_LIST: Final = re.compile(
    rb'\s*\{\s*(?:"(?:status"\s*:\s*"ok|message-type"\s*:\s*"work-list|message-version"\s*:\s*"[^"]*)"\s*,\s*)*'
    rb'(?:"message"\s*:\s*\{(?:(?!"DOI"\s*:).)*?)?"items"\s*:\s*\[',
    re.DOTALL,
)
"""The start of Crossref's lists: the response to a search, and a file of the public data."""
_OTHERS: Final[Mapping[str, frozenset[str]]] = {
    "OpenAlex's JSON": frozenset({"biblio", "display_name"}),
    "an answer of OpenAlex": frozenset({"meta", "results"}),
    "DataCite's JSON": frozenset({"titles", "creators"}),
    "an answer of DataCite's API": frozenset({"attributes", "relationships"}),
    "Zotero's JSON": frozenset({"itemType"}),
    "an answer of Zotero's API": frozenset({"library", "version", "data"}),
    "Better BibTeX's JSON": frozenset({"config", "items"}),
    "Semantic Scholar's JSON": frozenset({"paperId"}),
    "an answer of Semantic Scholar": frozenset({"offset", "data"}),
    "an answer of DataCite's API with many records": frozenset({"data", "meta", "links"}),
    "DOAJ's JSON": frozenset({"bibjson"}),
    "an answer of Europe PMC": frozenset({"resultList"}),
    "an answer of PubMed": frozenset({"header", "result"}),
    "Unpaywall's JSON": frozenset({"oa_locations"}),
    "Zenodo's JSON": frozenset({"conceptrecid"}),
    "JSON-LD": frozenset({"@context"}),
}
"""Format → keys that its records have together."""
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_KINDS: Final[Mapping[type, str]] = {bool: "true or false", list: "a list", dict: "an object"}


def entries(stream: Stream) -> Iterator[ArticleEntry]:
    """Yield the articles in file order; empty lines are ignored. Raises InvalidData as `metadata.entries`."""
    head = b""
    while len(head) <= limits.LINE and (more := stream.read(limits.LINE)):
        head += more
    crossref = _LIST.match(head)
    if crossref or head.lstrip().startswith(b"["):
        start = crossref.end() if crossref else head.index(b"[") + 1
        stream.put_back(head[start:])
        return _Array(stream, 1 + head.count(b"\n", 0, start)).entries()
    if len(head) <= limits.LINE and _single(head):
        return iter([_parsed(stream.name, 1, head)])
    stream.put_back(head)
    return _lines(stream)


def _lines(stream: Stream) -> Iterator[ArticleEntry]:
    number = 0
    while line := stream.read_line(limits.LINE + 1):
        number += 1
        if len(line) > limits.LINE:
            raise failure(
                stream.name, number, f"the line is longer than {limits.LINE} bytes; write one object a line"
            )
        if line.strip():
            yield _parsed(stream.name, number, line.rstrip())


def _single(text: bytes) -> bool:
    """Return whether a text is one JSON value, not an object a line.

    A text with ``{`` alone on its first line counts, even if it is malformed.
    """
    if text.lstrip().partition(b"\n")[0].strip() == b"{":
        return True
    try:
        json.loads(text.decode())
    except (ValueError, RecursionError):
        return False
    return True


class _Array:
    """An array of objects, read in chunks.

    line  its first line, from 1.
    """

    def __init__(self, stream: Stream, line: int) -> None:
        self._stream = stream
        self._line = line
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0

    def entries(self) -> Iterator[ArticleEntry]:
        """Yield the objects. Raises InvalidData."""
        after_separator = True
        while (mark := self._next()) != "]":
            if mark == "":
                raise self._error("the array ends too soon; fetch the file again")
            if (mark == ",") == after_separator:
                raise self._error(f"{mark!r} cannot stand here in the array")
            if mark == ",":
                self._pass(1)
            else:
                yield self._item()
            after_separator = mark == ","

    def _item(self) -> ArticleEntry:
        """Return the object that begins here. Raises InvalidData: its end is not found."""
        line = self._line
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > limits.LINE or not self._more():
                    down = self._text.count("\n", self._at, error.pos)
                    raise self._error(
                        f"it is not JSON: {error.msg}; nothing after it can be read", down
                    ) from error
            except (ValueError, RecursionError) as error:
                raise self._error(
                    "it is nested too deep" if isinstance(error, RecursionError) else str(error)
                ) from error
            else:
                self._pass(end - self._at)
                return _entry(self._stream.name, line, value)

    def _next(self) -> str:
        """Return the next character that is no space, empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._pass((space.end() if space else self._at) - self._at)
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _pass(self, count: int) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count

    def _more(self) -> bool:
        """Read the next chunk; return False at the end."""
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


def _parsed(file: str, line: int, text: bytes) -> ArticleEntry:
    """Return the article of one JSON text."""
    try:
        return _entry(file, line, _DECODER.decode(text.decode()))
    except UnicodeDecodeError as error:
        return ArticleEntry(
            file, line, failure(file, line + text.count(b"\n", 0, error.start), _not_utf8(error))
        )
    except json.JSONDecodeError as error:
        reason = f"it is not JSON: {error.msg} (column {error.colno})"
        return ArticleEntry(file, line, failure(file, line + error.lineno - 1, reason))
    except RecursionError:
        return ArticleEntry(file, line, failure(file, line, "it is nested too deep"))
    except ValueError as error:
        return ArticleEntry(file, line, failure(file, line, str(error)))


def _entry(file: str, line: int, record: object) -> ArticleEntry:
    try:
        fields = nonblank(_fields(record))
        doubts = tuple(_unused(record))
        return ArticleEntry(file, line, fields, _unknown_keys(record), doubts)
    except InvalidData as error:
        return ArticleEntry(
            file, line, failure(file, line, error.message, remedy=error.remedy, **error.fields)
        )


def _fields(record: Any) -> dict[str, str | None]:
    """Return the fields of an object in either dialect. Raises InvalidData."""
    if not isinstance(record, dict):
        raise InvalidData(
            'it is no JSON object; write one a line, as in {"issn": "0016-0032", "title": "Book Review"}'
        )
    if isinstance(record.get("message"), dict):  # Crossref's response about one article
        record = record["message"]
    inner = record["data"] if isinstance(record.get("data"), dict) else {}
    for format, keys in _OTHERS.items():
        if keys <= record.keys() or keys <= inner.keys():
            raise InvalidData(not_taken(format))
    if not _FOREIGN.isdisjoint(record):
        return _foreign(record)
    check_names(record)
    return {name: _text(name, record.get(name)) for name in FIELDS}


def _unknown_keys(record: Any) -> tuple[str, ...]:
    """Return the unknown keys of idstore's own JSON; the other dialects define theirs elsewhere."""
    return () if _is_foreign(record) else tuple(key for key in record if key not in FIELDS)


def _is_foreign(record: Any) -> bool:
    return isinstance(record.get("message"), dict) or not _FOREIGN.isdisjoint(record)


def _unused(record: Any) -> Iterator[str]:
    """Yield what numbers an article of CSL-JSON beside its volume and issue and is no part of these."""
    if not _is_foreign(record):
        return
    kinds = [kind] if (kind := record.get("message-type")) not in (None, "work", "work-list") else []
    record = record["message"] if isinstance(record.get("message"), dict) else record
    if not kinds and (kind := record.get("type")) not in (None, *_ARTICLES):
        kinds = [kind]
    if _with_supplement(record) is None:
        yield f"the field supplement-number ({_number(record, 'supplement-number')}) is not used"
    for name in _NUMBERING:
        if (text := _number(record, name)) and not (name == "number" and _issue(record)):
            yield f"the field {name} ({text}) is not used"
    if (text := _number(record, "locator")) and not _number(record, "page"):
        yield f"the field locator ({text}) is not used"
    number = _number(record, "number") if _issue(record) else ""  # for some programs that of the issue
    number = "" if number == _issue(record) else number
    yield from unpaged(_number(record, "page"), _number(record, "article-number") or number)
    texts = {name: text for name, text in record.items() if isinstance(text, str)}
    yield from unread_doi(texts, "DOI", _PROSE)
    if said := unread_note(texts.get("note", "")):
        yield f"the field note ({said}) is not used"
    for kind in kinds:
        yield f"the record is of the type {kind}, which is no article"


def _with_supplement(record: Mapping[str, Any]) -> str | None:
    """Return the issue with its supplement, or None if it cannot tell it."""
    issue, supplement = _issue(record), _number(record, "supplement-number")
    return in_supplement(issue, supplement) if supplement else issue


def _issue(record: Mapping[str, Any]) -> str:
    """Return the issue: Crossref's own key, or that of the issue that it describes."""
    within = record.get("journal-issue")
    return _number(record, "issue") or (_number(within, "issue") if isinstance(within, dict) else "")


def _number(record: Mapping[str, Any], name: str) -> str:
    return (_text(name, record.get(name)) or "").strip()


def _foreign(record: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the fields of CSL-JSON, or of Crossref's JSON, which is almost the same. Raises InvalidData."""
    for own in ("issn", "doi"):
        if own in record:
            raise InvalidData(
                f"it mixes two dialects: the key {own!r} of one, and {own.upper()!r} or others of another;"
                " use one",
                field=own,
            )
    for key in record.keys() - {*_FOREIGN, *_NUMBERING, *FIELDS}:
        field = meant(key)
        if field in _PLACES and record[key] not in (None, "", []) and not record.get(field):
            raise InvalidData(f"the key {key!r} is not known; write {field!r}", field=key)
    plain = {name: _text(name, record.get(name)) for name in _PLACES[:3]}
    plain["page"] = plain["page"] or _text("page-first", record.get("page-first"))
    plain["issue"] = _with_supplement(record) or _issue(record)
    first = {name: _text(name, _first(record.get(name))) for name in ("title", "subtitle")}
    return {"issn": _issns(record), "doi": _text("DOI", record.get("DOI")), **plain, **first}


def _first(value: Any) -> Any:
    return (value[0] if value else None) if isinstance(value, list) else value


def _issns(record: Mapping[str, Any]) -> str | None:
    """Return the ISSNs, those of the printed edition first."""
    value, types = record.get("ISSN"), record.get("issn-type")
    texts = [_text("ISSN", issn) or "" for issn in (value if isinstance(value, list) else [value])]
    typed = [entry for entry in types if isinstance(entry, dict)] if isinstance(types, list) else []
    printed = [entry.get("value") for entry in typed if entry.get("type") == "print"]
    return ", ".join(sorted(filter(None, texts), key=lambda text: text not in printed))


def _text(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidData(f"{name} is {_KINDS[type(value)]}; write a text or a number", field=name)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidData(
            f"{name} holds half a surrogate pair (position {error.start})", field=name
        ) from error
    return value


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"it is not UTF-8 (byte 0x{error.object[error.start]:02x})"


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number in JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for key, value in pairs:
        if key in unique:
            raise ValueError(f"the key {key!r} occurs twice")
        unique[key] = value
    return unique


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=_no_number
)
