"""PRONOM's reports on file formats: how formats are related to each other, and which are deprecated in favour of others.

A report is the XML that PRONOM gives of one format; opf-fido carries all of a release in one ZIP archive. Relations name the other format by
PRONOM's internal number, so that only all the reports together tell its PUID. That a PUID is deprecated, a report says in its description
alone, in a few fixed phrases.
Source: The National Archives, PRONOM reports as of DROID signature file V109, in opf-fido 1.6.1.
"""

import io
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NoReturn
from xml.etree import ElementTree as ET

from idstore.errors import ExchangeError, InvalidIdentifier
from idstore.exchange.sources import STDIN
from idstore.schemes import puid

_SPACE: Final = "{http://pronom.nationalarchives.gov.uk}"
_ARCHIVE: Final = 1 << 28
"""Bytes of an archive: memory stays bounded."""
_LARGEST: Final = 1 << 20
"""Bytes of one report; the largest real one has 70,000."""
_MOST: Final = 100_000
"""Reports of one archive; PRONOM has 2,500 formats."""
_ONE: Final = r"(?:x-)?[a-z0-9]+/[0-9]+"
_DEPRECATED: Final = re.compile(
    rf"(?:PUID )?deprecated(?:\. Please see| in favou?r of(?: another entry\. Please see)?) ({_ONE}(?:(?:, | and ){_ONE})*)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Relation:
    """How a format is related to another, in PRONOM's words; the other by PRONOM's internal number and by name."""

    kind: str
    pronom_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Report:
    """What PRONOM reports of a format.

    pronom_id    PRONOM's internal number.
    identifiers  kind and text of identifiers that others gave it: ``MIME``, ``Apple Uniform Type Identifier``.
    deprecation  PRONOM's words, if it is deprecated.
    successors   PUIDs that these words name.
    source       file, or member of the archive.
    """

    puid: str
    pronom_id: str
    name: str
    identifiers: tuple[tuple[str, str], ...]
    relations: tuple[Relation, ...]
    deprecation: str | None
    successors: tuple[str, ...]
    source: str


def read(file: str | Path) -> list[Report]:
    """The reports in a ZIP archive of them, or the one in an XML file; ``-`` is standard input.

    Raises ExchangeError: it cannot be read, it is no archive of reports, a report is malformed, two are about the same PUID.
    """
    found: dict[str, Report] = {}
    for name, content in _contents(str(file)):
        report = _report(name, content)
        if report.puid in found:
            raise ExchangeError(name, None, f"{report.puid} has a report already, {found[report.puid].source}")
        found[report.puid] = report
    if not found:
        raise ExchangeError(str(file), None, "it holds no report of PRONOM, an .xml file for each format")
    return list(found.values())


def _contents(file: str) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each report."""
    stream = _opened(file)
    if not zipfile.is_zipfile(stream):
        stream.seek(0)
        yield _called(file), _limited(stream, _called(file))
        return
    try:
        with zipfile.ZipFile(stream) as archive:
            yield from _members(archive, _called(file))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise ExchangeError(_called(file), None, f"the archive cannot be read: {error}") from error


def _members(archive: zipfile.ZipFile, file: str) -> Iterator[tuple[str, bytes]]:
    reports = [member for member in archive.infolist() if member.filename.lower().endswith(".xml")]
    if len(reports) > _MOST:
        raise ExchangeError(file, None, f"it holds {len(reports)} reports, more than {_MOST}")
    for member in reports:
        with archive.open(member) as stream:
            yield f"{file}, {member.filename}", _limited(stream, f"{file}, {member.filename}")


def _limited(stream: IO[bytes], name: str) -> bytes:
    content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ExchangeError(name, None, f"it is longer than {_LARGEST} bytes, which no report of PRONOM is")
    return content


def _opened(file: str) -> IO[bytes]:
    try:
        if file != STDIN:
            with Path(file).open("rb") as stream:
                content: bytes | None = stream.read(_ARCHIVE + 1)
        else:
            content = sys.stdin.buffer.read(_ARCHIVE + 1) if sys.stdin else None
    except (OSError, ValueError) as error:
        raise ExchangeError(_called(file), None, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if content is None:
        raise ExchangeError(_called(file), None, "it is closed; give a file, or pipe something in")
    if len(content) > _ARCHIVE:
        raise ExchangeError(_called(file), None, f"it is longer than {_ARCHIVE} bytes, which no archive of PRONOM's reports is")
    return io.BytesIO(content)


def _called(file: str) -> str:
    return "standard input" if file == STDIN else file


class _Builder(ET.TreeBuilder):
    """Builds the tree of a report, which declares nothing."""

    def doctype(self, _name: str, _public: str, _system: str) -> NoReturn:
        """Refuse a document type, which could declare entities."""
        raise ValueError("it has a document type, which no report of PRONOM has")


def _report(source: str, content: bytes) -> Report:
    if not content:
        raise ExchangeError(source, None, "it is empty; fetch it again")
    try:
        root = ET.fromstring(content, ET.XMLParser(target=_Builder()))  # noqa: S314 no document type, so no entities
    except ET.ParseError as error:
        raise ExchangeError(source, error.position[0], f"it is not well-formed XML: {error}") from error
    except (ValueError, LookupError) as error:
        raise ExchangeError(source, None, str(error)) from error
    if root.tag != f"{_SPACE}PRONOM-Report":
        raise ExchangeError(source, 1, f"it begins with <{root.tag.rpartition('}')[2]}>, and a report of PRONOM with <PRONOM-Report>")
    identifiers = [(_text(one, "IdentifierType"), _text(one, "Identifier")) for one in root.iter(f"{_SPACE}FileFormatIdentifier")]
    puids = [text for kind, text in identifiers if kind == "PUID"]
    if len(puids) != 1:
        raise ExchangeError(source, None, f"it names {len(puids)} PUIDs, and a report is about one")
    said = _DEPRECATED.search(" ".join((root.findtext(f".//{_SPACE}FormatDescription") or "").split()))
    return Report(
        _puid(source, puids[0]),
        (root.findtext(f".//{_SPACE}FormatID") or "").strip(),
        (root.findtext(f".//{_SPACE}FormatName") or "").strip(),
        tuple(pair for pair in identifiers if pair[0] != "PUID"),
        tuple(_relation(one) for one in root.iter(f"{_SPACE}RelatedFormat")),
        said and said[0],
        tuple(re.findall(_ONE, said[1])) if said else (),
        source,
    )


def _puid(source: str, text: str) -> str:
    try:
        return str(puid.parse(text))
    except InvalidIdentifier as error:
        raise ExchangeError(source, None, error.message) from error


def _relation(one: ET.Element) -> Relation:
    return Relation(_text(one, "RelationshipType"), _text(one, "RelatedFormatID"), _text(one, "RelatedFormatName"))


def _text(element: ET.Element, name: str) -> str:
    return (element.findtext(f"{_SPACE}{name}") or "").strip()
