"""Export of identifiers as a table with one row for each: CSV or XLSX.

Headers are those that `idstore.exchange.request_tables` reads.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Final

from idstore.exchange import request_tables, workbooks
from idstore.exchange.table_export import write_rows
from idstore.model import times
from idstore.model.filter import Filter
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.model.terms import UNDETERMINED
from idstore.progress import Progress, unwatched
from idstore.registry import Registry

FORMATS: Final = ("csv", workbooks.FORMAT)
_IN_MEMORY: Final = 1 << 20
"""Bytes of rows in memory; more go to a temporary file."""
_FIXED: Final = (
    "identifier", "namespace", "label", "stage", "owner", "created", "fixated", "version", "deprecated",
    "replaced_by", "reason", "target",
)  # fmt: skip
_LETTERS: Final = 2
"""Letters of a language that a header has after an underscore."""


def export(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    filter: Filter = Filter(),
    format: str = "csv",
    *,
    progress: Progress = unwatched,
) -> None:
    """Write a row for each identifier that the party may see, in a fixed order.

    Several values of a cell are divided by ``|``. The same state gives the same CSV.
    Raises UnknownNamespace, InvalidData (the package for XLSX is missing, or a sheet too small), OSError.
    Memory: flat, but for the names of the columns; a workbook holds its rows.
    """
    spaces = {namespace.base: namespace.name for namespace in registry.namespaces()}
    with tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="\n") as held:
        columns = dict[str, None]()
        with registry.records(party, filter, progress) as records:
            for record in records:
                further = {**_names(record), **_relations(record)}
                columns |= dict.fromkeys(further)
                held.write(json.dumps([_fixed(record, spaces[record.namespace]), further]) + "\n")
        held.seek(0)
        ordered = sorted(columns, key=lambda name: (not name.startswith("name"), name))
        rows = _rows(held, ordered)
        if format == workbooks.FORMAT:
            workbooks.write(target, [*_FIXED, *ordered], rows)
        else:
            write_rows(target, format, [*_FIXED, *ordered], rows)


def _rows(held: IO[str], columns: Sequence[str]) -> Iterator[Sequence[str]]:
    for line in held:
        fixed, further = json.loads(line)
        yield [*fixed, *(further.get(name, "") for name in columns)]


def _fixed(record: Record, namespace: str) -> list[str]:
    return [
        record.iri,
        namespace,
        record.label,
        record.stage.value,
        record.owner,
        times.iso(record.created),
        "" if record.fixated is None else times.iso(record.fixated),
        record.version or "",
        "yes" if record.deprecated else "",
        request_tables.BETWEEN.join(iri for iri in record.successors),
        record.reason or "",
        record.target or "",
    ]


def _names(record: Record) -> Mapping[str, str]:
    """Return the names by header: ``name``, ``name_de``, ``name@pt-br``."""
    return {
        "name"
        if lang == UNDETERMINED
        else f"name_{lang}"
        if len(lang) == _LETTERS and lang != "id"
        else f"name@{lang}": text
        for lang, text in record.names
    }


def _relations(record: Record) -> Mapping[str, str]:
    """Return the targets of bindings by relation."""
    found = dict[str, dict[str, None]]()
    for binding in sorted(record.bindings, key=lambda one: one.key):
        header = request_tables.header_of(binding.relation)
        found.setdefault(header, {})[binding.target] = None
    return {header: request_tables.BETWEEN.join(targets) for header, targets in found.items()}
