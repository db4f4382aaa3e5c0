"""Tables of changes: each row deprecates, supersedes, targets, names or grants one identifier.

Columns are ``identifier`` or ``id``; ``reason``; ``replaced_by``, several divided by ``|``; ``target``;
``name``, whose language is in ``lang``, ``name_de`` and ``name@de``; ``party``, and ``bind`` with yes or no.
A wide export (`idstore.exchange.wide_table`) has most of them. Other columns are passed over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from idstore import spreadsheets
from idstore.errors import ExchangeError
from idstore.exchange import limits, request_tables
from idstore.exchange.columns import language_of_names
from idstore.model.terms import UNDETERMINED
from idstore.registry.change_rows import ChangeRow

_IDENTIFIERS: Final = (request_tables.IDENTIFIER, "id", "iri")
_NEEDED: Final[Mapping[str, str]] = {
    "deprecate": "reason",
    "supersede": "replaced_by",
    "target": "target",
    "name": "name",
    "grant": "party",
}
_TRUTHS: Final[Mapping[str, bool]] = {
    "yes": True,
    "true": True,
    "1": True,
    "no": False,
    "false": False,
    "0": False,
}


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """A table of changes.

    rows     the changes.
    summary  how the columns are understood, in words.
    flaws    lines that cannot be read, with their reasons.
    empty    how many rows have nothing to change.
    """

    rows: Sequence[ChangeRow]
    summary: str
    flaws: Sequence[tuple[int, str]]
    empty: int


def read(path: Path, name: str, act: str, defaults: Mapping[str, str], *, force: bool = False) -> ChangeTable:
    """Read a table of changes.

    defaults  values of columns that rows leave empty.
    force     whether names are taken that look like marks of a spreadsheet.
    A row without the cell that the act needs has nothing to change.
    Raises ExchangeError: the file cannot be read, or a column is missing; InvalidData: see `workbooks.read`.
    """
    with request_tables.opened(path, name) as table:
        identifier = next((column for column in _IDENTIFIERS if column in table.header), None)
        if identifier is None:
            raise ExchangeError(table.name, 1, "no column is named identifier, which holds the identifiers")
        columns = _columns(act, table.header)
        needed = {_NEEDED[act], *filter(language_of_names, columns)} if act in _NEEDED else set()
        if needed and needed.isdisjoint((*table.header, *defaults)):
            raise ExchangeError(table.name, 1, f"no column is named {_NEEDED[act]}, which {act} needs")
        rows, flaws, empty = list[ChangeRow](), list[tuple[int, str]](), 0
        for row in table.rows:
            given = dict(defaults) | {
                column: cell.strip()
                for column, cell in zip(table.header, row.cells, strict=False)
                if cell.strip()
            }
            reason = row.error or _flaw(given, identifier, () if act == "name" else columns)
            if reason is not None:
                flaws.append((row.line, reason))
                if len(flaws) > limits.BAD_LINES:
                    break
            elif needed and needed.isdisjoint(given):
                empty += 1
            else:
                rows.append(_change(row.line, act, given, identifier, columns, force=force))
    used = [column for column in (identifier, *columns) if column in table.header]
    passed = ", ".join(column for column in table.header if column and column not in used)
    summary = f"{table.name}: {', '.join(used)}{f'; passed over: {passed}' if passed else ''}"
    return ChangeTable(rows, summary, flaws, empty)


def _columns(act: str, header: Sequence[str]) -> Sequence[str]:
    """Return the columns of an act beside the identifier."""
    match act:
        case "deprecate":
            return ("reason", "replaced_by")
        case "grant":
            return ("party", "bind")
        case "name":
            return ("name", "lang", *filter(language_of_names, header))
    return (_NEEDED[act],) if act in _NEEDED else ()


def _flaw(given: Mapping[str, str], identifier: str, columns: Sequence[str]) -> str | None:
    """Return why a row cannot be read, or None."""
    for column in (identifier, *columns):
        mark = spreadsheets.mark(column, given.get(column, ""))
        if mark is not None:
            return mark.removesuffix(", or insist")
    if identifier not in given:
        return "it has no identifier"
    if given.get("bind", "no").lower() not in _TRUTHS:
        return f"bind is {given['bind']!r}; write yes or no"
    return None


def _change(
    line: int, act: str, given: Mapping[str, str], identifier: str, columns: Sequence[str], *, force: bool
) -> ChangeRow:
    values = {column: given.get(column, "") for column in columns}
    successors = (one.strip() for one in values.get("replaced_by", "").split(request_tables.BETWEEN))
    return ChangeRow(
        line,
        act,
        given[identifier],
        values.get("reason", ""),
        tuple(filter(None, successors)),
        values.get("target"),
        values.get("party", ""),
        _TRUTHS[values.get("bind", "").lower() or "no"],
        _names(values),
        force,
    )


def _names(values: Mapping[str, str]) -> Mapping[str, str]:
    """Return the names in the columns of a row, by language."""
    names = {values.get("lang") or UNDETERMINED: values.get("name", "")}
    names |= {language: text for column, text in values.items() if (language := language_of_names(column))}
    return {language: text for language, text in names.items() if text}
