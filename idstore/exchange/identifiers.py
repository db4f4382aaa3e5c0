"""Lists of identifiers that exist already: tables with a column of identifiers, and what else is known of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from idstore.errors import InvalidData
from idstore.exchange import mappings, tables
from idstore.exchange.mappings import Cells, Columns, Malformed, Reading
from idstore.exchange.sources import Readable
from idstore.model.record import Stage
from idstore.model.terms import UNDETERMINED, iri, language
from idstore.registry.enrolling import Listed

ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    **{role: names for role, names in mappings.ROLES.items() if role not in {"action", "kind", "target_name"}},
    "subject": (*mappings.ROLES["subject"], "label", "notation"),
    "lang": ("lang", "language"),
    "stage": ("stage",),
    "leads_to": ("leads_to",),
    "version": ("version",),
}
"""What a column can be for, and the names that say so by themselves."""

_STAGES: Final = {"": None, **{stage.value: stage for stage in (Stage.CREATED, Stage.FIXATED)}}


@contextmanager
def read(file: Readable, format: str, columns: Columns = Columns()) -> Iterator[Reading[Listed]]:
    """Open a list of identifiers. Raises ExchangeError: no such column, no column of identifiers, a prefix map that cannot be read."""
    with mappings.understood(file, format, columns, ROLES, ("subject",)) as cells:
        yield Reading(cells.name, cells.found, cells.rows(lambda row: _listed(cells, row)), cells.passed)


def _listed(cells: Cells, row: tables.Row) -> Listed:
    """What a row says. Raises InvalidData."""
    stage, lang, leads_to = cells.cell(row, "stage"), cells.cell(row, "lang"), cells.cell(row, "leads_to")
    if stage not in _STAGES:
        raise InvalidData(
            f"the stage {stage!r} cannot be taken over; there are created and fixated: leave the row out (`export --stage`)", text=stage
        )
    bound = mappings.statement(cells.mapping(row)) if cells.cell(row, "target") else None
    if bound is not None:
        bound.arguments()  # refuses what cannot be stored
    return Listed(
        row.line,
        cells.end(row, "subject"),
        cells.cell(row, "name") or None,
        language(lang) if lang else UNDETERMINED,
        _STAGES[stage],
        iri(leads_to).value if leads_to else None,
        cells.cell(row, "version") or None,
        bound,
    )


def sound(rows: Iterator[Listed | Malformed], broken: list[Malformed]) -> Iterator[Listed]:
    """The rows that can be understood; ``broken`` takes the others."""
    for row in rows:
        if isinstance(row, Malformed):
            broken.append(row)
        else:
            yield row
