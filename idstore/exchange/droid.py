"""DROID signature files: all PUIDs of a PRONOM release, with name, version, extensions and media types.

There are two layouts: ``FFSignatureFile``, as The National Archives publish the files, and the response of
PRONOM's web service, which wraps it in a ``SignatureFile`` without a namespace (tools store that response).
Elements are matched by local name.
Source: The National Archives, DROID signature files V45 (2010) to V122 (2026),
https://www.nationalarchives.gov.uk/aboutapps/pronom/droid-signature-files.htm.

>>> import io
>>> pdf = b'<FileFormat ID="637" Name="PDF" PUID="fmt/18" Version="1.4"/>'
>>> formats = b"<FileFormatCollection>" + pdf + b"</FileFormatCollection>"
>>> with signatures(io.BytesIO(b'<FFSignatureFile Version="122">' + formats + b"</FFSignatureFile>")) as file:
...     [(format.puid, format.name, format.version) for format in file]
[('fmt/18', 'PDF', '1.4')]
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from xml.parsers import expat

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.exchange import limits
from idstore.exchange.sources import Flaws, Readable, Source, opened
from idstore.schemes import puid

_ROOT: Final = "FFSignatureFile"
_WRAPPER: Final = "SignatureFile"
_LONGEST: Final = 1000
"""Characters in the version or date of a file."""
_PLAIN_NUMBER: Final = re.compile("[0-9]+")


@dataclass(frozen=True, slots=True)
class Release:
    """Version and date of a signature file; None if the file does not state them."""

    version: str | None
    date: str | None

    @property
    def number(self) -> int | None:
        """The version as a number; None if the file states none, or it is no plain number."""
        return int(self.version) if self.version and _PLAIN_NUMBER.fullmatch(self.version) else None

    @property
    def moment(self) -> datetime | None:
        """The date as a moment, by default in UTC; None without a date in ISO 8601."""
        try:
            moment = datetime.fromisoformat(self.date or "")
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def is_as_new_as(self, other: "Release") -> bool:
        """Return whether this release is known to be no older than another one.

        The date decides between releases of the same version, unless the other one has no date.
        """
        if self.number is None or other.number is None:
            return other.number is None
        if self.number != other.number:
            return self.number > other.number
        return other.moment is None or (self.moment is not None and self.moment >= other.moment)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format as a signature file lists it.

    version    version of the format, None without one.
    mimes      media types, as written.
    pronom_id  PRONOM's internal number.
    line       its first line in the file, from 1.
    """

    puid: str
    name: str
    version: str | None
    extensions: tuple[str, ...]
    mimes: tuple[str, ...]
    pronom_id: str | None
    line: int


class SignatureFile:
    """An open signature file: iterate over it once for its formats, in file order.

    Memory: one format, and the PUIDs seen.

    Raises ExchangeError, with the line: malformed, cut off, not UTF-8, with a document type (which could
    declare entities), no ``FileFormatCollection``. After the last format, one ExchangeError names all formats
    that were skipped: malformed or repeated PUIDs, formats without a name, and refused ones (`refuse`).
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._chunks = source.chunks()
        self._reader = _SignatureReader(source)
        self.release = self._begin()

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self._source.name

    def _begin(self) -> Release:
        """Read up to the release."""
        while self._reader.release is None:
            chunk = next(self._chunks, b"")
            self._reader.take(chunk)
            if not chunk and self._reader.release is None:
                raise self._source.error(self._reader.line, f"it holds no <{_ROOT}>")
        return self._reader.release

    def __iter__(self) -> Iterator[FileFormat]:
        yield from self._reader.formats()
        for chunk in self._chunks:
            self._reader.take(chunk)
            yield from self._reader.formats()
        self._reader.take(b"")
        if not self._reader.collected:
            reason = "it has no <FileFormatCollection>: a DROID signature file lists its formats there"
            raise self._source.error(self._reader.line, reason)
        if self._reader.flaws:
            raise self._source.error(*self._reader.flaws.summary())

    def refuse(self, line: int, reason: str) -> None:
        """Report a format as unusable; the error after the last format includes it."""
        self._reader.flaws.add(line, reason)


@contextmanager
def signatures(file: Readable) -> Iterator[SignatureFile]:
    """Open a signature file of any release, plain or gzip.

    file  a path, ``-`` for standard input, or a binary stream.
    Raises as `SignatureFile`.
    """
    with opened(file) as source:
        yield SignatureFile(source)


class _Flaw(Exception):
    """An error in one format."""


class _SignatureReader:
    """An XML parser with its callbacks, and the formats read so far."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parser = expat.ParserCreate("utf-8", " ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._taken = 0
        self._path: list[str] = []
        self._lines: dict[str, int] = {}
        self._formats: list[FileFormat] = []
        self._attributes: Mapping[str, str] = {}
        self._began = 0
        self._extensions: list[str] = []
        self._size = 0
        self.release: Release | None = None
        self.collected = False
        self.flaws = Flaws()

    @property
    def line(self) -> int:
        """The current line of the parser."""
        return self._parser.CurrentLineNumber

    def take(self, chunk: bytes) -> None:
        """Parse a chunk; an empty chunk ends the file."""
        self._taken += len(chunk)
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            raise self._source.error(
                error.lineno, f"it is not well-formed XML: {expat.ErrorString(error.code)}"
            ) from error
        if self._taken - self._parser.CurrentByteIndex > limits.XML_ITEM:
            raise self._source.error(self.line, f"a tag or comment is longer than {limits.XML_ITEM} bytes")

    def formats(self) -> Iterator[FileFormat]:
        """Yield the formats completed since the last call."""
        yield from self._formats
        self._formats.clear()

    def _error(self, reason: str) -> InvalidData:
        return self._source.error(self.line, reason)

    def _refuse(self, *_: object) -> None:
        raise self._error("it has a document type, which could pull in other files; remove the <!DOCTYPE>")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if self.release is None:
            self._enter(local, attributes)
        if len(self._path) >= limits.XML_DEPTH:
            raise self._error(f"elements are nested more than {limits.XML_DEPTH} deep")
        parent = self._path[-1] if self._path else ""
        self._path.append(local)
        if (parent, local) == (_ROOT, "FileFormatCollection"):
            self.collected = True
        elif (parent, local) == ("FileFormatCollection", "FileFormat"):
            self._attributes, self._began, self._extensions, self._size = attributes, self.line, [], 0
        elif (parent, local) == ("FileFormat", "Extension"):
            self._extensions.append("")

    def _enter(self, local: str, attributes: Mapping[str, str]) -> None:
        """Read the root element. Raises the error of the source: this is no signature file."""
        if local == _ROOT:
            self.release = Release(
                self._short(attributes.get("Version")), self._short(attributes.get("DateCreated"))
            )
        elif local == "ContainerSignatureMapping":
            raise self._error(
                "it is a container signature file, which lists no formats; take DROID_SignatureFile_V….xml"
            )
        elif local != _WRAPPER or self._path:
            raise self._error(f"it is no DROID signature file: it begins with <{local}>, not <{_ROOT}>")

    def _short(self, text: str | None) -> str | None:
        """Return a text about the release, which the log keeps.

        Raises the error of the source: the text is too long.
        """
        if text is not None and len(text) > _LONGEST:
            raise self._error(
                f"version and date of the file have {_LONGEST} characters at most,"
                f" and one of them has {len(text)}"
            )
        return text

    def _text(self, text: str) -> None:
        if self._path[-2:] == ["FileFormat", "Extension"]:
            self._add_size(text)
            self._extensions[-1] += text

    def _add_size(self, text: str) -> None:
        self._size += len(text)
        if self._size + len(self._extensions) > limits.XML_ITEM:
            raise self._error("the format has more extensions than any can have")

    def _end(self, _: str) -> None:
        local = self._path.pop()
        if local == "FileFormat" and self._path[-1:] == ["FileFormatCollection"]:
            try:
                self._formats.append(self._format(self._attributes))
            except _Flaw as flaw:
                self.flaws.add(self._began, str(flaw))
        elif local == "Extension":
            self._add_size("")

    def _format(self, attributes: Mapping[str, str]) -> FileFormat:
        canonical = self._puid(attributes.get("PUID"))
        name = attributes.get("Name", "")
        if not name.strip():
            raise _Flaw(f"the format {canonical} has no Name")
        return FileFormat(
            puid=canonical,
            name=name,
            version=attributes.get("Version", "").strip() or None,
            extensions=tuple(text for extension in self._extensions if (text := extension.strip())),
            mimes=tuple(text for mime in attributes.get("MIMEType", "").split(",") if (text := mime.strip())),
            pronom_id=attributes.get("ID"),
            line=self._began,
        )

    def _puid(self, text: str | None) -> str:
        if text is None:
            raise _Flaw("a <FileFormat> has no PUID")
        try:
            canonical = str(puid.parse(text))
        except InvalidIdentifier as error:
            raise _Flaw(f"{text!r} is no PUID: {error.reason} (at position {error.position})") from error
        if canonical != text:
            raise _Flaw(f"{text!r} is not the canonical form of a PUID; write {canonical}")
        if text in self._lines:
            raise _Flaw(f"{text} occurs twice; the first is on line {self._lines[text]}")
        self._lines[text] = self._began
        return text
