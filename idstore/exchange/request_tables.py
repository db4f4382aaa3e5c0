"""Tables of requests for new identifiers: a row is a request, and the table comes back with identifiers.

Columns, in any order:

- ``name``, ``name@de``, ``name_de``; ``lang`` is the language of ``name``
- ``comment``, ``target``
- a relation: ``exactMatch`` and the like of SKOS, ``sameAs``, or a prefixed name; ``|`` divides several URIs
- ``label``, where labels are chosen
- fields of an article (`idstore.schemes.article_fields`), where labels are derived
- ``key``: the request key. The key of a row without one is a digest of its cells that are read, so that a
  second run of the same table changes nothing.
- ``identifier``: a row that has one is left alone

Other columns are passed over, and come back.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final

from idstore import spreadsheets
from idstore.errors import ExchangeError
from idstore.exchange import limits, table_rows, tables, workbooks
from idstore.exchange.columns import check_denying, divided, language_of_names
from idstore.exchange.table_export import write_rows
from idstore.registry.batch_mint import RequestRow
from idstore.registry.bindings import Statement
from idstore.registry.requests import Request
from idstore.schemes import Deriving, Scheme, Typed
from idstore.schemes.article_fields import FIELDS, UNUSED_NUMBERING, bare, meant
from idstore.vocabulary import MAPPING_PREFIXES

FORMATS: Final = ("tsv", "csv", workbooks.FORMAT)
IDENTIFIER: Final = "identifier"
_LABEL: Final = "label"
_ROLES: Final = ("name", "lang", "comment", "target", "key", _LABEL, IDENTIFIER)
"""Columns that every table of requests may have."""
_STDIN: Final = "-"
_RELATIONS: Final[Mapping[str, str]] = {
    **{f"{name}Match": f"skos:{name}Match" for name in ("exact", "close", "broad", "narrow", "related")},
    "sameAs": "owl:sameAs",
}
BETWEEN: Final = "|"
"""Divides the values of a cell; no IRI holds it."""


@dataclass(frozen=True, slots=True)
class RequestTable:
    """A table of requests.

    header    names of the columns.
    cells     rows of the table, each with its line.
    rows      the requests, each with its line.
    left      how many rows have an identifier already.
    summary   how the columns are understood, in words.
    flaws     lines that cannot be read, with their reasons.
    divider   what divides the cells of csv.
    workbook  the bytes of a workbook; None for another table.
    """

    format: str
    header: Sequence[str]
    cells: Sequence[tuple[int, Sequence[str]]]
    rows: Sequence[RequestRow]
    left: int
    summary: str
    flaws: Sequence[tuple[int, str]]
    divider: str
    workbook: bytes | None

    def write(self, target: IO[bytes], format: str, identifiers: Mapping[int, str]) -> None:
        """Write the table with identifiers, by line. A workbook stays as it is otherwise.

        Raises InvalidData (a workbook is too large).
        """
        if format == workbooks.FORMAT and self.workbook is not None:
            workbooks.fill(self.workbook, target, IDENTIFIER, identifiers)
            return
        place = self.header.index(IDENTIFIER) if IDENTIFIER in self.header else None
        header = self.header if place is not None else [IDENTIFIER, *self.header]
        rows = [_with_identifier(cells, place, identifiers.get(line, "")) for line, cells in self.cells]
        if format == workbooks.FORMAT:
            workbooks.write(target, header, rows)
        else:
            write_rows(target, format, header, rows, self.divider if self.format == "csv" else ",")

    def check_output(self, format: str) -> None:
        """Raise InvalidData: written in this format, the table would lose something."""
        if format == workbooks.FORMAT and self.workbook is not None:
            workbooks.check_complete(self.workbook)


def _dialect(path: Path) -> str:
    """Return the format of a table without a name, by its header."""
    with path.open("rb") as file:
        header = file.readline(limits.LINE)
    return "csv" if b"\t" not in header and (b"," in header or b";" in header) else "tsv"


def format_of(name: str) -> str:
    """Return the format that a file name implies; tsv if it implies none."""
    found = tables.format_of(name)
    return found if found in FORMATS else "tsv"


def _format(path: Path, name: str) -> str:
    return _dialect(path) if name == _STDIN else format_of(name)


def opened(path: Path, name: str) -> AbstractContextManager[table_rows.Table]:
    """Open a table.

    name  its name, which implies the format; ``-`` for one without a name.
    Raises ExchangeError; InvalidData: see `workbooks.read`.
    """
    return tables.read(path, _format(path, name))


def metadata_fields(scheme: Scheme) -> Sequence[str]:
    """Return the columns that are metadata for the labels of a scheme."""
    return FIELDS if isinstance(scheme, Deriving) else ("type",) if isinstance(scheme, Typed) else ()


def read(path: Path, name: str, base: Request, fields: Sequence[str], *, labelled: bool) -> RequestTable:
    """Read a table of requests.

    name      its name, which implies the format.
    base      what holds for rows that do not say otherwise.
    fields    columns that are metadata: see `metadata_fields`.
    labelled  whether each row has a label.
    Raises ExchangeError: the file cannot be read, or a column is missing; InvalidData: see `workbooks.read`.
    """
    format = _format(path, name)
    with tables.read(path, format) as table:
        columns = {column: role for column in table.header if (role := _role(column, fields)) is not None}
        _check_spelling(table, columns, fields)
        _check_columns(table, columns, labelled=labelled)
        if base.strict and fields is FIELDS:
            _check_numbering(table)
        rows, cells, flaws = list[RequestRow](), list[tuple[int, Sequence[str]]](), list[tuple[int, str]]()
        seen, left = Counter[str](), 0
        keyed = dict[str, tuple[int, Mapping[str, str]]]()
        for row in table.rows:
            if row.error is not None:
                flaws.append((row.line, row.error))
                if len(flaws) > limits.BAD_LINES:
                    break
                continue
            cells.append((row.line, row.cells))
            given = {column: cell.strip() for column, cell in zip(table.header, row.cells, strict=True)}
            given = {column: cell for column, cell in given.items() if cell}
            if IDENTIFIER in given:
                left += 1
                continue
            if not labelled and _column_of(columns, _LABEL) in given:
                flaws.append((row.line, "a label is chosen, not minted: register the table instead"))
                continue
            read = {column: cell for column, cell in given.items() if column in columns}
            flaw = (None if base.force else _mark(read)) or _conflict(keyed, row.line, read, columns)
            if flaw is not None:
                flaws.append((row.line, flaw))
                continue
            request = _request(given, columns, base)
            if request.request_key is None:
                request = replace(request, request_key=_digest(read, base, seen))
            rows.append(RequestRow(row.line, request, given.get(_column_of(columns, _LABEL))))
    summary = _summary(table.name, columns, table.header)
    workbook = workbooks.content(path) if format == workbooks.FORMAT else None
    return RequestTable(format, table.header, cells, rows, left, summary, flaws, table.divider, workbook)


def _check_spelling(table: table_rows.Table, columns: Mapping[str, str], fields: Sequence[str]) -> None:
    """Raise ExchangeError: a column that is not read is another spelling or word for one that would be."""
    spelled = {bare(name): name for name in (*_ROLES, *_RELATIONS, *fields)}
    for column in table.header:
        usual = _usual(column, spelled, fields)
        if usual is not None and not {column, usual} & columns.keys():
            reason = f"the column {column!r} is not known; name it {usual!r}"
            raise ExchangeError(table.name, 1, reason, outcome="nothing was done")


def _usual(column: str, spelled: Mapping[str, str], fields: Sequence[str]) -> str | None:
    """Return the name of the column that a header means; None if it means none.

    spelled  letters of a name → name of the column.
    """
    written = column.strip().lower()
    if language_of_names(written) is not None:
        return written
    return spelled.get(bare(written)) or (meant(column) if fields is FIELDS else None)


def _check_columns(table: table_rows.Table, columns: Mapping[str, str], *, labelled: bool) -> None:
    """Raise ExchangeError: a column may deny what others say, that of labels is missing, or none is read."""
    check_denying(table, [column for column in table.header if column not in columns])
    if labelled and _LABEL not in columns.values():
        raise ExchangeError(table.name, 1, "no column is named label, which holds the labels to register")
    if columns.keys() <= {IDENTIFIER, _LABEL} and not labelled:
        free = divided(table.header) or f"; there are {', '.join(table.header)}"
        raise ExchangeError(table.name, 1, f"no column of it is read{free}", outcome="nothing was done")


def _check_numbering(table: table_rows.Table) -> None:
    """Raise ExchangeError: a column numbers articles, and is no part of their labels."""
    for column in table.header:
        if bare(column) in UNUSED_NUMBERING:
            reason = f"the column {column!r} is not used"
            raise ExchangeError(table.name, 1, reason, outcome="nothing was done")


def _mark(read: Mapping[str, str]) -> str | None:
    """Return what is wrong with the first cell that has a mark of a spreadsheet."""
    marks = (spreadsheets.mark(column, cell) for column, cell in read.items())
    return next(filter(None, marks), None)


def _conflict(
    keyed: dict[str, tuple[int, Mapping[str, str]]],
    line: int,
    read: Mapping[str, str],
    columns: Mapping[str, str],
) -> str | None:
    """Return what is wrong with the key of a row, if another row has it; ``keyed`` has the rows by key."""
    key = read.get(_column_of(columns, "key"))
    first, former = (line, read) if key is None else keyed.setdefault(key, (line, read))
    return None if former == read else f"its key is that of line {first}, which says something else"


def _role(column: str, fields: Sequence[str]) -> str | None:
    """Return what a column holds; None if it is passed over."""
    language = language_of_names(column)
    if language is not None:
        return f"name@{language}"
    if column in _RELATIONS:
        return _RELATIONS[column]
    if column in (*_ROLES, *fields):
        return column
    return column if ":" in column else None


def header_of(relation: str) -> str:
    """Return the header of a column for the IRI of a relation: a word, a prefixed name, or the IRI."""
    bases = ((prefix, base) for prefix, base in MAPPING_PREFIXES.items() if relation.startswith(base))
    short = next((f"{prefix}:{relation[len(base) :]}" for prefix, base in bases), relation)
    return next((name for name, one in _RELATIONS.items() if one == short), short)


def _column_of(columns: Mapping[str, str], role: str) -> str:
    return next((column for column, one in columns.items() if one == role), "")


def _request(given: Mapping[str, str], columns: Mapping[str, str], base: Request) -> Request:
    """Return the request of a row; the order of the columns makes no difference."""
    by_role = {role: given[column] for column, role in columns.items() if column in given}
    names = {role[5:]: text for role, text in sorted(by_role.items()) if role.startswith("name@")}
    name, lang = by_role.get("name", base.name), by_role.get("lang", base.lang)
    if name is None and names:
        lang = next(iter(names))
        name = names.pop(lang)
    bound = [
        Statement(target.strip(), role, force=base.force)
        for role, cell in sorted(by_role.items())
        if ":" in role
        for target in cell.split(BETWEEN)
        if target.strip()
    ]
    metadata = {role: text for role, text in by_role.items() if role in FIELDS and role != "key"}
    return replace(
        base,
        name=name,
        lang=lang,
        names=names,
        comment=by_role.get("comment", base.comment),
        target=by_role.get("target", base.target),
        request_key=by_role.get("key"),
        metadata={**base.metadata, **metadata},
        bindings=bound,
    )


def _digest(read: Mapping[str, str], base: Request, seen: Counter[str]) -> str:
    """Return the request key of a row: a digest of the options and what is read, and its number in equals."""
    options = [base.name, base.lang, base.comment, base.target, sorted(base.metadata.items()), base.fixate]
    content = json.dumps([options, sorted(read.items())], ensure_ascii=False)
    digest = hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:32]
    seen[digest] += 1
    return f"row {digest} {seen[digest]}"


def _with_identifier(cells: Sequence[str], place: int | None, identifier: str) -> Sequence[str]:
    if place is None:
        return [identifier, *cells]
    return [*cells[:place], identifier or cells[place], *cells[place + 1 :]]


def _summary(name: str, columns: Mapping[str, str], header: Sequence[str]) -> str:
    taken = ", ".join(f"{role} ← {column}" for column, role in columns.items())
    passed = ", ".join(column for column in header if column and column not in columns)
    return f"{name}: {taken or 'no column is read'}{f'; passed over: {passed}' if passed else ''}"
