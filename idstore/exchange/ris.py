"""Article metadata in RIS: an entry from a line ``TY  - `` to a line ``ER  - ``.

Source: Research Information Systems, RIS Format Specifications (2011), as kept by the package rispy.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange import limits
from idstore.exchange.articles import ArticleEntry, Stream, failure, library, nonblank, unpaged

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
_BEGIN: Final = b"TY  -"
_END: Final = b"ER  -"


def entries(stream: Stream) -> Iterator[ArticleEntry]:
    """Yield the articles in file order.

    Raises InvalidData as `metadata.entries`, and if the package is not installed.
    """
    rispy = library(stream.name, "rispy", "RIS")
    parser = rispy.RisParser(
        mapping={tag: tag for tag in (*rispy.RisParser.DEFAULT_MAPPING, *_REPEATED)},
        list_tags=[*_REPEATED],  # a longer text than a line is one text in all others
        delimiter_tags_mapping={},
    )
    for line, block in _blocks(stream):
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
    issue, other = _values(record, "IS") or _values(record, "CP"), _values(record, "M1")
    if other and other != issue:
        yield f"the field M1 ({', '.join(other)}), which may be the issue, is not used"
