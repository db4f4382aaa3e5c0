"""Lists of existing identifiers: tables with a column of identifiers, and columns with their metadata."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from idstore.errors import InvalidData
from idstore.exchange import mapping_rows, mappings, table_rows
from idstore.exchange.bad_lines import Malformed
from idstore.exchange.columns import ROLES as MAPPING_ROLES
from idstore.exchange.columns import Columns
from idstore.exchange.mappings import Cells, Reading
from idstore.exchange.sources import Readable
from idstore.model.record import Stage
from idstore.model.terms import UNDETERMINED, iri, language
from idstore.registry.imports.enroll import Listed
from idstore.remedies import Remedy

ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    **{
        role: names
        for role, names in MAPPING_ROLES.items()
        if role not in {"action", "kind", "subject_kind", "target_name"}
    },
    "subject": (*MAPPING_ROLES["subject"], "label", "notation"),
    "lang": ("lang", "language"),
    "stage": ("stage",),
    "leads_to": ("leads_to",),
    "version": ("version",),
}
"""Roles of columns, with the column names that imply them."""

_OPERATION: Final = re.compile(r"(?:CREATE|ADD|MODIFY|DELETE|REMOVE|HOME|UNHOME|AUTHENTICATE)\s")
"""The beginning of an operation in a batch file of the Handle System."""
_STAGES: Final = {"": None, **{stage.value: stage for stage in (Stage.CREATED, Stage.FIXATED)}}


@contextmanager
def read(
    file: Readable,
    format: str,
    columns: Columns = Columns(),
    metadata: str | None = None,
    *,
    force: bool = False,
) -> Iterator[Reading[Listed]]:
    """Open a list of identifiers.

    metadata, force  see `mappings.read`.
    Raises ExchangeError: no such column, no column of identifiers, malformed metadata.
    """
    with mappings.interpreted(file, format, columns, ROLES, ("subject",), metadata, force=force) as cells:
        rows = cells.rows(lambda row: _listed(cells, row))
        yield Reading(cells, _each(rows))


def _each(rows: Iterator[list[Listed] | Malformed]) -> Iterator[Listed | Malformed]:
    for row in rows:
        if isinstance(row, Malformed):
            yield row
        else:
            yield from row


def _listed(cells: Cells, row: table_rows.TableRow) -> list[Listed] | None:
    """Read the identifier of a row, and once more with each further name.

    Returns None if the row maps a text without identifier. Raises InvalidData.
    """
    literals = cells.literal_ends(row)
    if "subject" in literals:
        return None
    stage, lang, leads_to = cells.cell(row, "stage"), cells.cell(row, "lang"), cells.cell(row, "leads_to")
    if stage not in _STAGES:
        raise InvalidData(
            f"the stage {stage!r} cannot be taken over; there are created and fixated: leave the row out",
            field="stage",
            text=stage,
        )
    bound = cells.cell(row, "target") and not literals
    if not cells.force and _OPERATION.match(cells.cell(row, "subject")):
        raise InvalidData(
            "it is a line of a handle batch file, not an identifier; name the format handle-batch, or insist",
            field="subject",
            value=cells.cell(row, "subject"),
            remedy=Remedy.INSIST,
        )
    statement = mapping_rows.statement(cells.mapping(row)) if bound else None
    if statement is not None:
        statement.arguments()  # raises if it cannot be stored
    names = _names(cells, row, language(lang) if lang else UNDETERMINED)
    tag, name = next(names, (UNDETERMINED, None))
    first = Listed(
        row.line,
        cells.end(row, "subject"),
        name,
        tag,
        _STAGES[stage],
        iri(leads_to).value if leads_to else None,
        cells.cell(row, "version") or None,
        statement,
        cells.force,
    )
    further = [Listed(row.line, first.id, name, tag, first.stage) for tag, name in names]
    return [first, *further]


def _names(cells: Cells, row: table_rows.TableRow, language_of_row: str) -> Iterator[tuple[str, str]]:
    """Yield language and name, from the column of names and from those of names in a language."""
    for role, tag in {"name": language_of_row, **cells.languages}.items():
        name = cells.cell(row, role)
        if name:
            yield tag, name


def valid(rows: Iterator[Listed | Malformed], malformed: list[Malformed]) -> Iterator[Listed]:
    """Yield the valid rows; append the others to ``malformed``."""
    for row in rows:
        if isinstance(row, Malformed):
            malformed.append(row)
        else:
            yield row
