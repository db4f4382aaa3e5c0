"""PRONOM's reports on file formats: relations between formats, and deprecated formats with their successors.

A report is PRONOM's XML or JSON for one format. All formats are published as JSON records, in a folder for
each type of PUID; opf-fido includes the XML reports of a release in one ZIP archive. Relations name the other
format by PRONOM's internal number, so that its PUID is in another report. A deprecation stands only in the
description, in one of a few fixed phrases.
Source: The National Archives, https://github.com/nationalarchives/pronom-signatures (2026); PRONOM reports as
of DROID signature file V109, in opf-fido 1.6.1.
"""

import codecs
import io
import json
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NoReturn
from xml.etree import ElementTree as ET

from idstore.errors import ExchangeError, InvalidIdentifier
from idstore.exchange import limits
from idstore.exchange.sources import STDIN
from idstore.schemes import puid

_ENDINGS: Final = (".xml", ".json")
_SPACE: Final = "{http://pronom.nationalarchives.gov.uk}"
_PUID: Final = r"(?:x-)?[a-z0-9]+/[0-9]+"
_DEPRECATED: Final = re.compile(
    r"(?:PUID )?deprecated(?:\. Please see| in favou?r of(?: another entry\. Please see)?)"
    rf" ({_PUID}(?:(?:, | and ){_PUID})*)",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation to another format in PRONOM's words, with that format's name and internal number."""

    kind: str
    pronom_id: str
    name: str


@dataclass(frozen=True, slots=True)
class PronomReport:
    """PRONOM's report on a format.

    pronom_id    PRONOM's internal number.
    version      version of the format, None without one.
    identifiers  kind and text of identifiers in other systems: ``MIME``, ``Apple Uniform Type Identifier``.
    deprecation  PRONOM's words, if the format is deprecated.
    successors   PUIDs in these words.
    source       the file, or the member of the archive.
    record       whether it is a JSON record: these are published all together, and so list all formats.
    """

    puid: str
    pronom_id: str
    name: str
    identifiers: tuple[tuple[str, str], ...]
    relations: tuple[Relation, ...]
    deprecation: str | None
    successors: tuple[str, ...]
    source: str
    version: str | None = None
    record: bool = False


def read(file: str | Path) -> list[PronomReport]:
    """Return the reports of a folder or ZIP archive, or the one report of a file; ``-`` is standard input.

    Of a folder or an archive, other JSON (such as PRONOM's records of actors) is passed over.
    Raises ExchangeError: the file cannot be read or holds no reports, a report is malformed, or two are about
    one PUID.
    """
    reports: dict[str, PronomReport] = {}
    for name, content in _contents(str(file)):
        report = _report(name, content)
        if report is None:
            continue
        if report.puid in reports:
            raise ExchangeError(
                name, None, f"{report.puid} has a report already, {reports[report.puid].source}"
            )
        reports[report.puid] = report
    if not reports:
        raise ExchangeError(
            _display_name(str(file)),
            None,
            "it holds no report of PRONOM, an .xml or .json file for each format",
        )
    return list(reports.values())


def archive(folder: Path, target: IO[bytes]) -> None:
    """Write the reports of a folder as a ZIP archive. Raises ExchangeError."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in _below(folder):
            packed.writestr(str(Path(name).relative_to(folder)), content)


def _contents(file: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each report."""
    if file != STDIN and Path(file).is_dir():
        yield from _below(Path(file))
        return
    stream = _opened(file)
    if not zipfile.is_zipfile(stream):
        stream.seek(0)
        yield _display_name(file), _limited(stream, _display_name(file))
        return
    try:
        with zipfile.ZipFile(stream) as archive:
            yield from _members(archive, _display_name(file))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise ExchangeError(_display_name(file), None, f"the archive cannot be read: {error}") from error


def _below(folder: Path) -> Iterator[tuple[str, bytes]]:
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _ENDINGS)
    _check_count(str(folder), len(files))
    for path in files:
        try:
            with path.open("rb") as stream:
                yield str(path), _limited(stream, str(path))
        except OSError as error:
            reason = f"it cannot be read: {error.strerror or error}"
            raise ExchangeError(str(path), None, reason) from error


def _check_count(name: str, count: int) -> None:
    if count > limits.PRONOM_REPORTS:
        raise ExchangeError(name, None, f"it holds {count} reports, more than {limits.PRONOM_REPORTS}")


def _members(archive: zipfile.ZipFile, file: str) -> Iterator[tuple[str, bytes]]:
    reports = [member for member in archive.infolist() if member.filename.lower().endswith(_ENDINGS)]
    _check_count(file, len(reports))
    for member in reports:
        with archive.open(member) as stream:
            yield f"{file}, {member.filename}", _limited(stream, f"{file}, {member.filename}")


def _limited(stream: IO[bytes], name: str) -> bytes:
    content = stream.read(limits.XML_ITEM + 1)
    if len(content) > limits.XML_ITEM:
        raise ExchangeError(
            name, None, f"it is longer than {limits.XML_ITEM} bytes, which no report of PRONOM is"
        )
    return content


def _opened(file: str) -> IO[bytes]:
    try:
        if file != STDIN:
            with Path(file).open("rb") as stream:
                content: bytes | None = stream.read(limits.PRONOM_ARCHIVE + 1)
        else:
            content = sys.stdin.buffer.read(limits.PRONOM_ARCHIVE + 1) if sys.stdin else None
    except (OSError, ValueError) as error:
        reason = f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ExchangeError(_display_name(file), None, reason) from error
    if content is None:
        raise ExchangeError(_display_name(file), None, "it is closed; give a file, or pipe something in")
    if len(content) > limits.PRONOM_ARCHIVE:
        reason = f"it is longer than {limits.PRONOM_ARCHIVE} bytes, which no archive of PRONOM's reports is"
        raise ExchangeError(_display_name(file), None, reason)
    return io.BytesIO(content)


def _display_name(file: str) -> str:
    return "standard input" if file == STDIN else file


class _Builder(ET.TreeBuilder):
    """A builder of a report's tree that refuses declarations."""

    def doctype(self, _name: str, _public: str, _system: str) -> NoReturn:
        """Refuse a document type, which could declare entities."""
        raise ValueError("it has a document type, which no report of PRONOM has")


def _report(source: str, content: bytes) -> PronomReport | None:
    """Return the report in a file, None for other JSON."""
    if not content:
        raise ExchangeError(source, None, "it is empty; fetch it again")
    if content.lstrip(codecs.BOM_UTF8 + b" \t\r\n").startswith((b"{", b"[")):
        return _record(source, content)
    try:
        root = ET.fromstring(content, ET.XMLParser(target=_Builder()))  # noqa: S314 entities are refused
    except ET.ParseError as error:
        raise ExchangeError(source, error.position[0], f"it is not well-formed XML: {error}") from error
    except (ValueError, LookupError) as error:
        raise ExchangeError(source, None, str(error)) from error
    if root.tag != f"{_SPACE}PRONOM-Report":
        root_name = root.tag.rpartition("}")[2]
        raise ExchangeError(
            source, 1, f"it begins with <{root_name}>, and a report of PRONOM with <PRONOM-Report>"
        )
    identifiers = [
        (_text(element, "IdentifierType"), _text(element, "Identifier"))
        for element in root.iter(f"{_SPACE}FileFormatIdentifier")
    ]
    deprecation, successors = _deprecation(root.findtext(f".//{_SPACE}FormatDescription") or "")
    return PronomReport(
        _own_puid(source, identifiers),
        (root.findtext(f".//{_SPACE}FormatID") or "").strip(),
        (root.findtext(f".//{_SPACE}FormatName") or "").strip(),
        tuple(pair for pair in identifiers if pair[0] != "PUID"),
        tuple(_relation(element) for element in root.iter(f"{_SPACE}RelatedFormat")),
        deprecation,
        successors,
        source,
    )


def _record(source: str, content: bytes) -> PronomReport | None:
    """Return the report in a JSON record, None for other JSON."""
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise ExchangeError(source, line, f"it is not valid JSON: {error}") from error
    if not isinstance(values, dict) or not {"formatName", "identifiers"} <= values.keys():
        return None
    record = _Fields(source, values)
    identifiers = [
        (one.text("identifierType"), one.text("identifierText")) for one in record.items("identifiers")
    ]
    name = record.text("formatName")
    if not name:
        raise ExchangeError(source, None, "its format has no name")
    deprecation, successors = _deprecation(record.text("formatDescription"))
    return PronomReport(
        _own_puid(source, identifiers),
        record.text("fileFormatID"),
        name,
        tuple(pair for pair in identifiers if pair[0] != "PUID"),
        tuple(
            Relation(one.text("relationshipType"), one.text("relatedFormatID"), one.text("relatedFormatName"))
            for one in record.items("relationships")
        ),
        deprecation,
        successors,
        source,
        record.text("version") or None,
        record=True,
    )


class _Fields:
    """The fields of a JSON object. Raises ExchangeError for values of another type."""

    def __init__(self, source: str, values: object) -> None:
        if not isinstance(values, dict):
            raise ExchangeError(source, None, f"{str(values)[:40]!r} stands for an object")
        self._source, self._values = source, values

    def text(self, key: str) -> str:
        """Return a text, or a number as text; empty for a missing or null value."""
        value = self._values.get(key)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ExchangeError(self._source, None, f"its {key} is neither a text nor a number")
        return str(value).strip()

    def items(self, key: str) -> "Iterator[_Fields]":
        """Yield the objects of a list; none for a missing or null value."""
        value = self._values.get(key) or []
        if not isinstance(value, list):
            raise ExchangeError(self._source, None, f"its {key} is no list")
        for item in value:
            yield _Fields(self._source, item)


def _deprecation(description: str) -> tuple[str | None, tuple[str, ...]]:
    """Return PRONOM's words for a deprecation, and the successors in them."""
    match = _DEPRECATED.search(" ".join(description.split()))
    return (match[0], tuple(re.findall(_PUID, match[1]))) if match else (None, ())


def _own_puid(source: str, identifiers: Iterable[tuple[str, str]]) -> str:
    """Return the one PUID among identifiers. Raises ExchangeError."""
    puids = [text for kind, text in identifiers if kind == "PUID"]
    if len(puids) != 1:
        raise ExchangeError(source, None, f"it names {len(puids)} PUIDs, and a report is about one")
    return _puid(source, puids[0])


def _puid(source: str, text: str) -> str:
    try:
        return str(puid.parse(text))
    except InvalidIdentifier as error:
        raise ExchangeError(source, None, error.message) from error


def _relation(element: ET.Element) -> Relation:
    return Relation(
        _text(element, "RelationshipType"),
        _text(element, "RelatedFormatID"),
        _text(element, "RelatedFormatName"),
    )


def _text(element: ET.Element, name: str) -> str:
    return (element.findtext(f"{_SPACE}{name}") or "").strip()
