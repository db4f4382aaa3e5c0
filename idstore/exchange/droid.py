"""DROID signature files: every PUID that a release of PRONOM knows, with name, version, extensions and media types.

Two layouts are out there: ``FFSignatureFile``, as The National Archives publish the files, and the answer of PRONOM's web service, which
wraps it in a ``SignatureFile`` without a namespace (tools that ask the service keep that). Elements are known by their local names.
Source: The National Archives, DROID signature files V45 (2010) to V122 (2026),
https://www.nationalarchives.gov.uk/aboutapps/pronom/droid-signature-files.htm.

>>> import io
>>> formats = b'<FileFormatCollection><FileFormat ID="637" Name="PDF" PUID="fmt/18" Version="1.4"/></FileFormatCollection>'
>>> with signatures(io.BytesIO(b'<FFSignatureFile Version="122">' + formats + b"</FFSignatureFile>")) as file:
...     [(one.puid, one.name, one.version) for one in file]
[('fmt/18', 'PDF', '1.4')]
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.exchange.sources import Flaws, Readable, Source, opened
from idstore.schemes import puid

_HELD: Final = 1 << 20
"""Bytes of one tag or comment, and characters that one format may hold: no file comes near it, and memory stays bounded."""
_DEPTH: Final = 64
"""Elements within each other; real files have seven."""
_ROOT: Final = "FFSignatureFile"
_WRAPPER: Final = "SignatureFile"


@dataclass(frozen=True, slots=True)
class Release:
    """Which release of the file it is; None where the file does not say."""

    version: str | None
    date: str | None


@dataclass(frozen=True, slots=True)
class Format:
    """A file format as a signature file lists it.

    version    of the format, None if it has none.
    mimes      media types, as written.
    pronom_id  PRONOM's internal number.
    line       where in the file it begins, from 1.
    """

    puid: str
    name: str
    version: str | None
    extensions: tuple[str, ...]
    mimes: tuple[str, ...]
    pronom_id: str | None
    line: int


class SignatureFile:
    """An open signature file: iterate over it once for its formats, in file order. Memory: one format, and the PUIDs seen.

    Raises ExchangeError, with the line: malformed, cut off, not UTF-8, with a document type (which could declare entities), no
    ``FileFormatCollection``; and behind the last format, of all that were passed over at once: a PUID that is none or stands there twice,
    a format without a name, what was refused.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._chunks = source.chunks()
        self._reader = _Reader(source)
        self.release = self._begin()

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._source.name

    def _begin(self) -> Release:
        """Read as far as the release."""
        while self._reader.release is None:
            chunk = next(self._chunks, b"")
            self._reader.take(chunk)
            if not chunk and self._reader.release is None:
                raise self._source.error(self._reader.line, f"it holds no <{_ROOT}>")
        return self._reader.release

    def __iter__(self) -> Iterator[Format]:
        yield from self._reader.given()
        for chunk in self._chunks:
            self._reader.take(chunk)
            yield from self._reader.given()
        self._reader.take(b"")
        if not self._reader.collected:
            raise self._source.error(self._reader.line, "it has no <FileFormatCollection>: a DROID signature file lists its formats there")
        if self._reader.flaws:
            raise self._source.error(*self._reader.flaws.told())

    def refuse(self, line: int, reason: str) -> None:
        """Say that a format of this file is of no use; it is told with the others behind the last format."""
        self._reader.flaws.add(line, reason)


@contextmanager
def signatures(file: Readable) -> Iterator[SignatureFile]:
    """Open a signature file of any release, plain or gzip: a path, ``-`` for standard input, or a binary stream.

    Raises as `SignatureFile`.
    """
    with opened(file) as source:
        yield SignatureFile(source)


class _Flaw(Exception):
    """What is wrong with one format."""


class _Reader:
    """The parser's callbacks, and what they found."""

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
        self._formats: list[Format] = []
        self._attributes: Mapping[str, str] = {}
        self._began = 0
        self._extensions: list[str] = []
        self._held = 0
        self.release: Release | None = None
        self.collected = False
        self.flaws = Flaws()

    @property
    def line(self) -> int:
        """Where the parser is."""
        return self._parser.CurrentLineNumber

    def take(self, chunk: bytes) -> None:
        """Parse on; nothing ends the file."""
        self._taken += len(chunk)
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            raise self._source.error(error.lineno, f"it is not well-formed XML: {expat.ErrorString(error.code)}") from error
        if self._taken - self._parser.CurrentByteIndex > _HELD:
            raise self._source.error(self.line, f"a tag or comment is longer than {_HELD} bytes")

    def given(self) -> Iterator[Format]:
        """The formats that are complete since the last call."""
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
        if len(self._path) >= _DEPTH:
            raise self._error(f"elements stand more than {_DEPTH} deep in each other")
        above = self._path[-1] if self._path else ""
        self._path.append(local)
        if (above, local) == (_ROOT, "FileFormatCollection"):
            self.collected = True
        elif (above, local) == ("FileFormatCollection", "FileFormat"):
            self._attributes, self._began, self._extensions, self._held = attributes, self.line, [], 0
        elif (above, local) == ("FileFormat", "Extension"):
            self._extensions.append("")

    def _enter(self, local: str, attributes: Mapping[str, str]) -> None:
        """Whether this is a signature file at all."""
        if local == _ROOT:
            self.release = Release(attributes.get("Version"), attributes.get("DateCreated"))
        elif local == "ContainerSignatureMapping":
            raise self._error("it is a container signature file, which lists no formats; take DROID_SignatureFile_V….xml")
        elif local != _WRAPPER or self._path:
            raise self._error(f"it is no DROID signature file: it begins with <{local}>, not <{_ROOT}>")

    def _text(self, text: str) -> None:
        if self._path[-2:] == ["FileFormat", "Extension"]:
            self._hold(text)
            self._extensions[-1] += text

    def _hold(self, text: str) -> None:
        self._held += len(text)
        if self._held + len(self._extensions) > _HELD:
            raise self._error("the format has more extensions than any can have")

    def _end(self, _: str) -> None:
        local = self._path.pop()
        if local == "FileFormat" and self._path[-1:] == ["FileFormatCollection"]:
            try:
                self._formats.append(self._format(self._attributes))
            except _Flaw as flaw:
                self.flaws.add(self._began, str(flaw))
        elif local == "Extension":
            self._hold("")

    def _format(self, attributes: Mapping[str, str]) -> Format:
        found = self._puid(attributes.get("PUID"))
        name = attributes.get("Name", "")
        if not name.strip():
            raise _Flaw(f"the format {found} has no Name")
        return Format(
            puid=found,
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
            raise _Flaw(f"{text!r} is no PUID as files write it; write {canonical}")
        if text in self._lines:
            raise _Flaw(f"{text} stands there twice; the first is on line {self._lines[text]}")
        self._lines[text] = self._began
        return text
