"""Tables: tab- or comma-separated rows under a header, read line by line.

``tsv`` has no quoting (a ``"`` is data), ``csv`` is RFC 4180 with guarded cells (`idstore.spreadsheets`),
also with semicolons for commas, as spreadsheets write it where the comma is the decimal sign,
``sssom`` is tab-separated with the quoting of csv and metadata in lines with ``#`` before the header. A
``tsv`` with metadata is ``sssom``, and ``csv`` may have metadata too, also as a spreadsheet saves them.
``list`` has no header: an identifier a line, then a tab and its name; lines that begin with ``# `` are
ignored. UTF-8, plain or gzip; flat memory. ``xlsx`` is the first sheet of a workbook.
"""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, Final

from idstore import spreadsheets
from idstore.exchange import limits, workbooks
from idstore.exchange.sources import PACKED, Readable, Source, ending, opened
from idstore.exchange.table_rows import Table, TableRow

FORMATS: Final = ("sssom", "tsv", "csv", workbooks.FORMAT)
LIST: Final = "list"
SUFFIXES: Final = {".tsv": "tsv", ".csv": "csv", ".sssom": "sssom", workbooks.SUFFIX: workbooks.FORMAT}
"""Formats by file name extension; ``.sssom.tsv`` is sssom."""

_DIALECTS: Final[dict[str, dict[str, Any]]] = {
    "tsv": {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
    "csv": {"delimiter": ",", "strict": True},
    "sssom": {"delimiter": "\t", "strict": True},
    LIST: {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
}
csv.field_size_limit(
    max(limits.LINE, csv.field_size_limit())
)  # the default, one for the process, is below a line's limit
_RETURNS: Final = (
    "a carriage return stands alone in it; end lines with a line feed, and quote a cell that holds one"
)
_BOM: Final = "\ufeff"
_COMMENT: Final = re.compile('"?#')
_METADATA: Final = re.compile('"?# *[A-Za-z_]+ *:')
"""The first line of metadata, in formats whose header may begin with ``#``."""


def format_of(name: str) -> str | None:
    """Return the format that a file name implies; None if it implies none."""
    if name.lower().removesuffix(PACKED).endswith(".sssom.tsv"):
        return "sssom"
    return SUFFIXES.get(ending(name))


@contextmanager
def read(file: Readable, format: str) -> Iterator[Table]:
    """Open a table.

    Raises ExchangeError: it cannot be read, is not UTF-8, has no header or a column twice; InvalidData: see
    `workbooks.read`.
    """
    with opened(file) as source:
        if format == workbooks.FORMAT:
            with workbooks.read(source) as table:
                _check_once(table.header, source, 1)
                yield table
            return
        lines = _CountedLines(source)
        metadata = [] if format == LIST else list(lines.metadata(format))
        if metadata and format == "tsv":
            format = "sssom"
        dialect = _DIALECTS[format]
        if format == "csv":
            dialect = {**dialect, "delimiter": lines.divider()}
        try:
            reader = csv.reader(lines, **dialect)
            header = ["id", "name"] if format == LIST else [cell.strip() for cell in next(reader, [])]
        except csv.Error as error:
            raise source.error(lines.line, f"the header cannot be read: {_reason(error)}") from error
        if not any(header):
            raise source.error(lines.line or 1, "it has no header; name the columns in the first line")
        _check_once(header, source, lines.line)
        rows = _rows(reader, lines, len(header))
        if format == "csv":
            rows = (row._replace(cells=[spreadsheets.plain(cell) for cell in row.cells]) for row in rows)
        if format == LIST:
            rows = (_trimmed(row) for row in rows if row.error or not row.cells[0].startswith("# "))
        yield Table(source.name, metadata, header, rows, str(dialect["delimiter"]))


def _check_once(header: Sequence[str], source: Source, line: int) -> None:
    """Raise ExchangeError: two columns have one name."""
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise source.error(line, f"the column {twice[0]!r} occurs twice")


def _trimmed(row: TableRow) -> TableRow:
    """Strip the cells of a list, which people type by hand; in the cells of a table, spaces are data."""
    return row._replace(cells=[cell.strip(" ") for cell in row.cells])


def _rows(reader: Any, lines: "_CountedLines", width: int) -> Iterator[TableRow]:
    while True:
        first_line = lines.line + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield TableRow(first_line, (), f"not a row of the table: {_reason(error)}")
            continue
        if cells is None:
            return
        if not any(cells):
            continue
        if len(cells) > width:
            yield TableRow(
                first_line, cells, f"it has {len(cells)} cells, and the header names {width} columns"
            )
        else:
            yield TableRow(first_line, cells + [""] * (width - len(cells)) if len(cells) < width else cells)


def read_ahead(
    rows: Iterator[TableRow], columns: set[int], held: IO[str]
) -> tuple[Iterator[TableRow], set[int]]:
    """Read until each of the columns had a value. Return all rows, and the columns that have no value.

    held  an empty file for the rows that were read; it must stay open.
    """
    for row in rows:
        held.write(json.dumps(row) + "\n")
        columns = {column for column in columns if row.error or not row.cells[column].strip(" ")}
        if not columns:
            break
    held.seek(0)
    return _rejoined(held, rows), columns


def _rejoined(held: IO[str], rest: Iterator[TableRow]) -> Iterator[TableRow]:
    yield from (TableRow(*json.loads(line)) for line in held)
    yield from rest


def _reason(error: csv.Error) -> str:
    return _RETURNS if str(error).startswith("new-line character") else str(error)


class _CountedLines:
    """The lines of a source as text, with the number of the current line."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._raw = source.lines(limits.LINE)
        self._pending: str | None = None
        self.line = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        pending, self._pending = self._pending, None
        if pending is not None:
            return pending
        raw = next(self._raw)
        self.line += 1
        if len(raw) >= limits.LINE and not raw.endswith(b"\n"):
            raise self._source.error(self.line, f"the line is longer than {limits.LINE} bytes")
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            reason = f"it is not UTF-8 (byte 0x{raw[error.start]:02x}); save it as UTF-8"
            raise self._source.error(self.line, reason) from error
        if "\x00" in text:
            raise self._source.error(self.line, "it holds a NUL character")
        return text.removeprefix(_BOM) if self.line == 1 else text

    def divider(self) -> str:
        """Return the sign that divides the header of csv: a comma, or a semicolon if no comma is in it."""
        self._pending = next(self, None)
        first = self._pending or ""
        return ";" if ";" in first and "," not in first and "\t" not in first else ","

    def metadata(self, format: str) -> Iterator[str]:
        """Yield the lines of metadata before the header, without ``#``. Raises ExchangeError: too many."""
        expected, size = _COMMENT if format == "sssom" else _METADATA, 0
        for line in self:
            if not expected.match(line):
                self._pending = line
                return
            expected, size = _COMMENT, size + len(line)
            if size > limits.METADATA:
                raise self._source.error(self.line, f"the metadata have more than {limits.METADATA} bytes")
            yield _without_sign(line.rstrip("\r\n"), _DIALECTS[format]["delimiter"])


def _without_sign(line: str, delimiter: str) -> str:
    """Return a line of metadata without ``#``; of a line that a spreadsheet saved as a row, its only cell."""
    try:
        first, *others = next(csv.reader([line], delimiter=delimiter))
    except csv.Error:  # no row: a lone carriage return
        return line[1:]
    return (line if any(others) else first)[1:]
