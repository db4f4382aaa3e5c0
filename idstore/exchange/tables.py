"""Tables: tab- or comma-separated rows under a header, read line by line.

``tsv`` knows no quoting (a ``"`` is data), ``csv`` is RFC 4180, ``sssom`` is tab-separated with the quoting of csv and comment lines
(``#``) before the header. ``list`` has no header: an identifier a line, after a tab its name; lines that begin with ``# `` are passed over.
UTF-8, plain or gzip; flat memory.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from idstore.exchange.sources import PACKED, Readable, Source, ending, opened

FORMATS: Final = ("sssom", "tsv", "csv")
LIST: Final = "list"
SUFFIXES: Final = {".tsv": "tsv", ".csv": "csv", ".sssom": "sssom"}
"""Formats by the ending of a file's name; ``.sssom.tsv`` is sssom."""

_DIALECTS: Final[dict[str, dict[str, Any]]] = {
    "tsv": {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
    "csv": {"delimiter": ",", "strict": True},
    "sssom": {"delimiter": "\t", "strict": True},
    LIST: {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
}
_LONGEST: Final = 1 << 20
"""Bytes of one line: memory stays bounded."""
csv.field_size_limit(max(_LONGEST, csv.field_size_limit()))  # which is one for the whole process, and below what a line may hold
_RETURNS: Final = "a carriage return stands alone in it; end lines with a line feed, and quote a cell that holds one"
_BOM: Final = "\ufeff"


def format_of(name: str) -> str | None:
    """The format that a file's name tells; None if it tells none."""
    if name.lower().removesuffix(PACKED).endswith(".sssom.tsv"):
        return "sssom"
    return SUFFIXES.get(ending(name))


class Row(NamedTuple):
    """One row: the number of its line, from 1, and its cells in the header's order; ``wrong`` says why it is no row."""

    line: int
    cells: Sequence[str]
    wrong: str | None = None


@dataclass(slots=True)
class Table:
    """A table that is being read.

    name      what messages call it.
    comments  what stood before the header, without ``#``.
    header    names of the columns.
    rows      the rest, once.
    """

    name: str
    comments: Sequence[str]
    header: Sequence[str]
    rows: Iterator[Row] = field(repr=False)


@contextmanager
def read(file: Readable, format: str) -> Iterator[Table]:
    """Open a table. Raises ExchangeError: it cannot be read, is not UTF-8, has no header or a column twice."""
    with opened(file) as source:
        lines = _Lines(source)
        comments = list(lines.comments()) if format == "sssom" else []
        try:
            reader = csv.reader(lines, **_DIALECTS[format])
            header = ["id", "name"] if format == LIST else [cell.strip() for cell in next(reader, [])]
        except csv.Error as error:
            raise source.error(lines.line, f"the header cannot be read: {_told(error)}") from error
        if not any(header):
            raise source.error(lines.line or 1, "it has no header; name the columns in the first line")
        twice = sorted({name for name in header if name and header.count(name) > 1})
        if twice:
            raise source.error(lines.line, f"the column {twice[0]!r} is there twice")
        rows = _rows(reader, lines, len(header))
        if format == LIST:
            rows = (_trimmed(row) for row in rows if not row.cells[0].startswith("# "))
        yield Table(source.name, comments, header, rows)


def _trimmed(row: Row) -> Row:
    """A line that somebody typed: spaces round what stands in it are no part of it, as they are of a table's cells."""
    return row._replace(cells=[cell.strip(" ") for cell in row.cells])


def _rows(reader: Any, lines: "_Lines", width: int) -> Iterator[Row]:
    while True:
        begun = lines.line + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield Row(begun, (), f"not a row of the table: {_told(error)}")
            continue
        if cells is None:
            return
        if not any(cells):
            continue
        if len(cells) > width:
            yield Row(begun, cells, f"it has {len(cells)} cells, and the header names {width} columns")
        else:
            yield Row(begun, cells + [""] * (width - len(cells)) if len(cells) < width else cells)


def _told(error: csv.Error) -> str:
    return _RETURNS if str(error).startswith("new-line character") else str(error)


class _Lines:
    """The lines of a source as text, counted."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._raw = source.lines(_LONGEST)
        self._kept: str | None = None
        self.line = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        kept, self._kept = self._kept, None
        if kept is not None:
            return kept
        raw = next(self._raw)
        self.line += 1
        if len(raw) >= _LONGEST and not raw.endswith(b"\n"):
            raise self._source.error(self.line, f"the line is longer than {_LONGEST} bytes")
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise self._source.error(self.line, f"it is not UTF-8 (byte 0x{raw[error.start]:02x}); save it as UTF-8") from error
        if "\x00" in text:
            raise self._source.error(self.line, "it holds a NUL character")
        return text.removeprefix(_BOM) if self.line == 1 else text

    def comments(self) -> Iterator[str]:
        """The lines at the beginning that begin with ``#``."""
        for line in self:
            if not line.startswith("#"):
                self._kept = line
                return
            yield line[1:].rstrip("\r\n")
