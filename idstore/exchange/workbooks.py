"""Workbooks of spreadsheet programs (XLSX): the first sheet as a table. Needs the package openpyxl."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from importlib import import_module
from io import BytesIO
from itertools import islice
from typing import IO, Any, Final
from zipfile import BadZipFile, ZipFile

from idstore.errors import InvalidData
from idstore.exchange import limits
from idstore.exchange.sources import Readable, Source, opened
from idstore.exchange.table_rows import Table, TableRow

FORMAT: Final = "xlsx"
SUFFIX: Final = ".xlsx"
EXTRA: Final = "spreadsheets"
"""The extra with the optional dependency."""
_BLOCK: Final = 1 << 16
"""Bytes read at once."""
_LOST: Final = (
    "xl/charts/",
    "xl/media/",
    "xl/drawings/drawing",
    "xl/pivot",
    "xl/vbaProject",
    "xl/embeddings/",
)
"""Parts of a workbook that the package does not keep."""
_MOST: Final = 1 << 20
"""Rows of a sheet in the format."""


@contextmanager
def read(source: Source) -> Iterator[Table]:
    """Open the first sheet of a workbook. Formulas count as their last values.

    Raises ExchangeError: it is no workbook, too large, or has no header; InvalidData: the package is not
    installed. Cost: the sheet is read twice. Memory: the file, and its texts.
    """
    package = _openpyxl()
    content = _content(source)
    try:
        _check_size(content, source)
        workbook, formulas = (
            package.load_workbook(BytesIO(content), read_only=True, data_only=data_only)
            for data_only in (True, False)
        )
    except (
        BadZipFile,
        KeyError,
        ValueError,
        AttributeError,
        TypeError,
        OSError,
        package.utils.exceptions.InvalidFileException,
    ) as error:
        reason = (
            f"it is no XLSX workbook that can be read: {error}; save its first sheet alone, without charts"
        )
        raise source.error(None, reason) from error
    try:
        rows = enumerate(workbook.worksheets[0].iter_rows(values_only=True), 1)
        _, first = next(rows, (1, ()))
        header = _header(first)
        if not header:
            raise source.error(1, "it has no header; name the columns in the first row")
        written = islice(formulas.worksheets[0].iter_rows(values_only=True), 1, None)
        yield Table(source.name, [], header, _rows(rows, written, len(header)))
    finally:
        workbook.close()
        formulas.close()


def content(file: Readable) -> bytes:
    """Return the bytes of a workbook, for `check_complete` and `fill`. Raises ExchangeError: no such file."""
    with opened(file) as source:
        return _content(source)


def _content(source: Source) -> bytes:
    return b"".join(iter(lambda: source.read(_BLOCK), b""))


def _header(cells: Iterable[object]) -> list[str]:
    """Return the names of columns, without empty ones at the end."""
    header = [_text(cell) for cell in cells]
    while header and not header[-1]:
        header.pop()
    return header


def _check_size(content: bytes, source: Source) -> None:
    """Raise ExchangeError: unpacked, the parts of a workbook are too large. Raises BadZipFile."""
    with ZipFile(BytesIO(content)) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > limits.WORKBOOK:
        raise source.error(
            None, f"the workbook has {size} bytes, and the most are {limits.WORKBOOK}; write csv"
        )


def _rows(
    rows: Iterable[tuple[int, Sequence[Any]]], written: Iterable[Sequence[Any]], width: int
) -> Iterator[TableRow]:
    """Yield the rows that are not empty; ``written`` has them with their formulas."""
    for (number, row), formulas in zip(rows, written, strict=True):
        cells = [_text(_value(*pair)) for pair in zip(row, formulas, strict=True)]
        if not any(cells):
            continue
        cells += [""] * (width - len(cells))
        error = "a cell stands behind the last column of the header" if any(cells[width:]) else None
        yield TableRow(number, cells[:width], error)


def _value(value: object, written: object) -> object:
    """Return the value of a cell: of a formula without one the formula, which no column takes."""
    is_formula = isinstance(written, str) and written.startswith("=")
    return written if value is None and is_formula else value


def write(target: IO[bytes], header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a workbook of one sheet, in which every cell is a text.

    Raises InvalidData: there are more rows than a sheet has; the package is not installed.
    """
    workbook = _openpyxl().Workbook(write_only=True)
    sheet = workbook.create_sheet("idstore")
    for number, row in enumerate([header, *rows], 1):
        if number > _MOST:
            raise InvalidData(f"a sheet has {_MOST} rows, and these are more; write csv", field="format")
        sheet.append([_cell(sheet, text) for text in row])
    workbook.save(target)


def check_complete(content: bytes) -> None:
    """Raise InvalidData: a workbook has parts that `fill` would lose."""
    with ZipFile(BytesIO(content)) as archive:
        lost = next((name for name in archive.namelist() if name.startswith(_LOST)), None)
    if lost is not None:
        raise InvalidData(
            f"the workbook has pictures, charts or the like ({lost}), which a copy with identifiers would"
            " lose; write the identifiers to a csv file",
            field="output",
        )


def fill(content: bytes, target: IO[bytes], column: str, texts: Mapping[int, str]) -> None:
    """Write a copy of a workbook with texts in a column of its first sheet. All else stays, formulas too.

    column  name of the column; a new one is the last.
    texts   row, from 1 → text.
    Raises InvalidData: the package is not installed.
    """
    workbook = _openpyxl().load_workbook(BytesIO(content))
    sheet = workbook.worksheets[0]
    header = _header(cell.value for cell in sheet[1])
    place = header.index(column) + 1 if column in header else len(header) + 1
    for row, text in {1: column, **texts}.items():
        if text:
            sheet.cell(row, place).value = text
            sheet.cell(row, place).data_type = "s"
    workbook.save(target)


def _cell(sheet: Any, text: str) -> Any:
    cell = import_module("openpyxl.cell").WriteOnlyCell(sheet, text or None)
    if text:
        cell.data_type = "s"  # else a text that begins with = would be a formula
    return cell


def _text(cell: object) -> str:
    """Return the text of a cell: a whole number without decimal places, a date in ISO 8601."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    return str(cell).strip()


def _openpyxl() -> Any:
    try:
        return import_module("openpyxl")
    except ImportError as error:
        raise InvalidData(
            "reading and writing XLSX takes the package openpyxl, which is not installed;"
            f" install it with `pip install 'idstore[{EXTRA}]'`",
            extra=EXTRA,
        ) from error
