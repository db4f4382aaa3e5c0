"""Article metadata in RIS: an entry from a line ``TY  - `` to a line ``ER  - ``.

Source: Research Information Systems, RIS Format Specifications (2011), as kept by the package rispy.
"""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange import limits
from idstore.exchange.articles import (
    ArticleEntry,
    Stream,
    failure,
    library,
    nonblank,
    unpaged,
    unread_doi,
)

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "volume": ("VL",),
    "issue": ("IS", "CP"),
    "page": ("SP",),
    "title": ("TI", "T1"),
    "doi": ("DO",),
}
"""Tags of each field; the first one present counts."""
_REPEATED: Final = ("SN", "VL", "IS", "CP", "SP", "DO", "M1")
"""Tags that may occur several times in an entry."""
_ARTICLES: Final = frozenset({"JOUR", "EJOUR", "MGZN", "NEWS", "ABST", "INPR", "JFULL", "GEN"})
_MEANT: Final = re.compile(rb"[ \t]*(?P<tag>[A-Za-z][A-Za-z0-9])(?:[ \t]+-|-(?![^\s\d]))")
"""A line that is meant as a tag and its text. ``T1-weighted`` begins a word of a longer text."""
_TAGGED: Final = re.compile(rb"[A-Z][A-Z0-9]  -(?: |\r?\n|$)")
_ELSEWHERE: Final = ("M2", "SE", "AR", "EP")
"""Tags that some programs use for the first page, or for what stands in its place."""
_OTHER_TITLES: Final = ("ST", "BT", "CT")
"""Tags of short titles and of titles of books."""
_OF_PROGRAMS: Final = ("DI", "L3", "LK", "U1", "U2", "U3", "U4", "U5")
"""Tags that are not in the format, and that some programs write."""
_PROSE: Final = ("AB", "N2", "CR", "TI", "T1")
"""Tags of texts that may name the DOIs of other articles."""
_BEGIN: Final = b"TY  -"
_END: Final = b"ER  -"


def entries(stream: Stream) -> Iterator[ArticleEntry]:
    """Yield the articles in file order.

    Raises InvalidData as `metadata.entries`, and if the package is not installed.
    """
    rispy = library(stream.name, "rispy", "RIS")
    known = {
        *rispy.RisParser.DEFAULT_MAPPING,
        *_REPEATED,
        *_ELSEWHERE,
        *_FIELDS["title"],
        *_OTHER_TITLES,
        *_OF_PROGRAMS,
    }
    parser = rispy.RisParser(
        mapping={tag: tag for tag in known},
        list_tags=[*_REPEATED],  # a longer text than a line is one text in all others
        delimiter_tags_mapping={},
    )
    for line, block in _blocks(stream):
        misspelt = _misspelt(block, known)
        if misspelt is not None:
            yield ArticleEntry(stream.name, line, _no_tag(stream.name, line, *misspelt))
            continue
        try:
            [record] = parser.parse(block.decode())
        except UnicodeDecodeError as error:
            place = line + block.count(b"\n", 0, error.start)
            reason = f"it is not UTF-8 (byte 0x{block[error.start]:02x})"
            yield ArticleEntry(stream.name, line, failure(stream.name, place, reason))
        except ValueError:
            yield ArticleEntry(stream.name, line, _unended(stream.name, line))
        else:
            fields = nonblank(_fields(record))
            yield ArticleEntry(stream.name, line, fields, doubts=tuple(_doubts(record)))


def _misspelt(block: bytes, known: Container[str]) -> tuple[int, str] | None:
    """Return the first line of an entry, from 0, that is meant as a tag and its text, and is none."""
    for number, line in enumerate(block.splitlines()):
        meant = _MEANT.match(line)
        if meant is not None and meant["tag"].decode().upper() in known and not _TAGGED.match(line):
            return number, line.decode(errors="replace").strip()
    return None


def _no_tag(file: str, first: int, number: int, text: str) -> InvalidData:
    tag, _, value = text.partition("-")
    meant = f"{tag.strip().upper()}  - {value.strip()}"
    return failure(file, first + number, f"{text!r} is not as RIS writes a line; write {meant!r}")


def _unended(file: str, line: int) -> InvalidData:
    return failure(file, line, "the entry does not end; write a line `ER  - ` after it")


def _blocks(stream: Stream) -> Iterator[tuple[int, bytes]]:
    """Yield each entry with its line; one without an end reaches up to the next one. Raises InvalidData."""
    first, number, block = 1, 0, b""
    while line := stream.read_line(limits.LINE + 1):
        number += 1
        if line.startswith(_BEGIN) and block:
            yield first, block
            block = b""
        if not block and not line.startswith(_BEGIN):
            if line.strip():
                raise failure(stream.name, number, "it is outside of an entry, which begins with `TY  - `")
            continue
        first, block = first if block else number, block + line
        if len(block) > limits.LINE:
            raise failure(stream.name, first, f"an entry is longer than {limits.LINE} bytes")
        if line.startswith(_END):
            yield first, block
            block = b""
    if block:
        yield first, block


def _values(record: Mapping[str, Any], tag: str) -> list[str]:
    """Return the different values of a tag, without those that are blank."""
    found = record.get(tag, ())
    texts = [found] if isinstance(found, str) else found
    return list(dict.fromkeys(text for text in map(str.strip, texts) if text))


def _fields(record: Mapping[str, Any]) -> dict[str, str | None]:
    fields: dict[str, str | None] = {"issn": ", ".join(_values(record, "SN"))}
    for name, tags in _FIELDS.items():
        fields[name] = next((values[0] for tag in tags if (values := _values(record, tag))), None)
    return fields


def _doubts(record: Mapping[str, Any]) -> Iterator[str]:
    kind = record["TY"]
    if kind.upper() not in _ARTICLES:
        yield f"the entry is of type {kind}, which is no article"
    for name, tags in _FIELDS.items():
        values = next((found for tag in tags if (found := _values(record, tag))), [])
        if len(values) > 1:
            yield f"of the values of {name} ({', '.join(values)}) the first is used"
    yield from unpaged("".join(_values(record, "SP")), ", ".join(_values(record, "C7")))
    for tag in _unread(record):
        yield f"the field {tag} ({', '.join(_values(record, tag))}) is not used"
    yield from unread_doi({tag: ", ".join(_values(record, tag)) for tag in record}, "DO", _PROSE)
    issue, other = _values(record, "IS") or _values(record, "CP"), _values(record, "M1")
    if other and other != issue:
        yield f"the field M1 ({', '.join(other)}), which may be the issue, is not used"


def _unread(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tags that say, at another place, what belongs to the label."""
    titles = {text for tag in _FIELDS["title"] for text in _values(record, tag)}
    if len(titles) > 1:
        yield "T1"
    if not _values(record, "SP"):
        yield from (tag for tag in _ELSEWHERE if _values(record, tag))
    if not titles:
        yield from (tag for tag in _OTHER_TITLES if _values(record, tag))
    for tag in ("T3", "M3", "C6"):
        if any(re.match("suppl?", text, re.IGNORECASE) for text in _values(record, tag)):
            yield tag
