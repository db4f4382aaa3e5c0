"""Imports of every kind: the one place that knows which reader a file needs."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Final, TypeVar

from idstore import arguments
from idstore.characters import file_name
from idstore.documents import compact_iri
from idstore.errors import ExchangeError, IdstoreError, InvalidData
from idstore.exchange import (
    bad_lines,
    droid,
    handle_batch,
    handle_batch_import,
    identifiers,
    limits,
    mapping_rows,
    mappings,
    patch,
    plain_rdf,
    pronom,
    pronom_reports,
    rdf,
    sssom,
    tables,
)
from idstore.exchange.bad_lines import Malformed
from idstore.exchange.columns import Columns
from idstore.exchange.comparison import ChangedFields, changed_fields
from idstore.exchange.event_intake import ImportReport
from idstore.exchange.mappings import Reading
from idstore.exchange.sources import PACKED, ending
from idstore.model.party import Party
from idstore.progress import Meter, Progress, unwatched
from idstore.registry import Registry
from idstore.registry.imports.adopt import Adoption
from idstore.registry.imports.enroll import Listed
from idstore.registry.imports.relate import Related
from idstore.registry.mappings import LineOutcome
from idstore.remedies import Remedy

T = TypeVar("T")


class ImportKind(StrEnum):
    """What a file is to a registry."""

    EXPORT = "an export of a registry"
    BINDINGS = "a table of bindings"
    TABLE = "a table of identifiers issued elsewhere"
    DESCRIBED = "RDF of identifiers issued elsewhere"
    SIGNATURES = "a DROID signature file"
    REPORTS = "PRONOM's reports"
    BATCH = "a batch file of handles"


_PUBLICATIONS: Final = {
    "droid": ImportKind.SIGNATURES,
    "pronom": ImportKind.REPORTS,
    handle_batch.FORMAT: ImportKind.BATCH,
}
FORMATS: Final = (*plain_rdf.FORMATS, patch.FORMAT, *_PUBLICATIONS, tables.LIST, *tables.FORMATS)
"""Formats of files to import."""
_SUFFIXES: Final = {".xml": "droid", ".zip": "pronom", ".json": "pronom", ".txt": tables.LIST}
"""File suffix → format, for formats that are neither RDF nor tables."""
LARGEST: Final[Mapping[ImportKind, int]] = {
    **dict.fromkeys(ImportKind, 1 << 30),
    ImportKind.EXPORT: 1 << 34,
    ImportKind.REPORTS: limits.PRONOM_ARCHIVE,
    ImportKind.BATCH: 1 << 26,
}
"""Bytes of input that has no known end."""
TABLES: Final = frozenset({ImportKind.BINDINGS, ImportKind.TABLE})
_CHOICES: Final[Mapping[str, frozenset[ImportKind]]] = {
    "own_history": frozenset({ImportKind.EXPORT}),
    "keep_going": frozenset({ImportKind.TABLE, ImportKind.DESCRIBED}),
    "force": frozenset(ImportKind) - {ImportKind.BATCH},
    "columns": TABLES,
}
"""Choice → the kinds of files that have it."""


@dataclass(frozen=True, slots=True)
class ImportChoices:
    """How to import a file.

    format       None: by the name of the file.
    namespace    the namespace of identifiers issued elsewhere, or the only one of a batch file. It decides
                 whether a table or RDF is of identifiers, or of bindings or an export.
    columns      of a table.
    own_history  of an export: whether it may hold acts of this registry that this registry lacks.
    keep_going   of identifiers issued elsewhere: take the lines that are right, although others are wrong.
    force        take what is refused otherwise: older publications, future suffixes, doubtful cells of
                 tables; the log says so.
    dry_run      change nothing.
    """

    format: str | None = None
    namespace: str | None = None
    columns: Columns = field(default_factory=Columns)
    own_history: bool = False
    keep_going: bool = False
    force: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidData: a field is of another kind."""
        arguments.check_fields(self)


@dataclass(frozen=True, slots=True)
class TableReport:
    """What became of the lines of a table, or of the identifiers that RDF describes.

    outcomes   what became of each line.
    reading    what was read, and how it was understood, in words.
    malformed  lines that cannot be read; with any of them nothing was changed, unless told to go on.
    literals   number of mappings of a text without identifier, which are passed over.
    listed     whether the lines are about identifiers, several about one perhaps; else they are bindings.
    """

    reading: str
    outcomes: Sequence[LineOutcome]
    malformed: Sequence[Malformed]
    literals: int = 0
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or would do: the report for the kind of file.

    merged   an export.
    changed  of an export, in a dry run: the fields of identifiers that differ here and there.
    table    lines of a table, or identifiers that RDF describes.
    adopted  identifiers that a publisher lists.
    related  relations that a publisher states.
    batch    handles of a batch file.
    """

    merged: ImportReport | None = None
    changed: Sequence[ChangedFields] = ()
    table: TableReport | None = None
    adopted: Adoption | None = None
    related: Related | None = None
    batch: handle_batch_import.BatchReport | None = None


def kind_of(name: str, format: str | None, namespace: str | None, *, folder: bool = False) -> ImportKind:
    """Return what a file is by its name, its format and the namespace that it is for.

    folder  whether it is a folder, which holds PRONOM's records.
    Raises InvalidData: unknown format, or one that needs a namespace or has none.
    """
    if format is not None and format not in FORMATS:
        raise InvalidData(f"no format {format!r} to import; there are {', '.join(FORMATS)}", format=format)
    by_name = "pronom" if folder else tables.format_of(name) or _SUFFIXES.get(ending(name), "")
    chosen = format or by_name
    if chosen in _PUBLICATIONS:
        return _PUBLICATIONS[chosen]
    if chosen == tables.LIST or (chosen in tables.FORMATS and namespace is not None):
        return ImportKind.TABLE
    if chosen in tables.FORMATS:
        return ImportKind.BINDINGS
    if namespace is not None:
        if format == patch.FORMAT:
            raise InvalidData(
                f"{patch.FORMAT} is a part of an export, and has no namespace; leave it out",
                field="namespace",
            )
        return ImportKind.DESCRIBED
    if plain_rdf.RDFXML in (format, plain_rdf.SUFFIXES.get(ending(name)) if format is None else None):
        raise InvalidData(
            "RDF/XML describes identifiers issued elsewhere; name their namespace", field="namespace"
        )
    return ImportKind.EXPORT


def misplaced(kind: ImportKind, choices: ImportChoices) -> list[str]:
    """Return the names of choices that a kind of file does not have."""
    default = ImportChoices()
    return [
        name
        for name, kinds in _CHOICES.items()
        if getattr(choices, name) != getattr(default, name) and kind not in kinds
    ]


@arguments.checks
def import_file(
    registry: Registry,
    file: Path,
    party: Party,
    name: str = "",
    choices: ImportChoices = ImportChoices(),
    *,
    others: Sequence[Path] = (),
    metadata: str | None = None,
    progress: Progress = unwatched,
) -> Imported:
    """Import a file, all or nothing, with the rights of the party.

    name      the name of the file for people, in messages and in the log; it has the suffix of ``file``.
              Empty: its path.
    others    further files of an export, which is imported as a whole.
    metadata  the file of SSSOM's metadata, if it is not in the table or beside it.
    Bindings are for all parties that may bind, a batch file needs the rights for each operation, and all else
    is for administrators.
    Raises InvalidData (a choice that the kind of file does not have), ExchangeError (malformed),
    NotPermitted, UnknownNamespace, ImportConflict, StoreUnavailable; nothing was changed then.
    """
    name = name or str(file)
    kind = kind_of(name, choices.format, choices.namespace, folder=file.is_dir())
    for choice in misplaced(kind, choices):
        raise InvalidData(f"{choice} means nothing for {kind}; leave it out", choice=choice)
    with _named(file, name):
        _check_exists(file, name)
        if kind is ImportKind.EXPORT and choices.format is None:
            _check_extension(file, name)
        _check_rights(registry, kind, party)
        match kind:
            case ImportKind.EXPORT:
                return _import_export(registry, [file, *others], party, choices, progress)
            case ImportKind.BINDINGS:
                return _import_bindings(registry, file, party, name, choices, metadata, progress)
            case ImportKind.TABLE:
                return _import_table(registry, file, party, name, choices, metadata, progress)
            case ImportKind.DESCRIBED:
                return _import_described(registry, file, party, name, choices, progress)
            case ImportKind.SIGNATURES:
                with droid.signatures(file) as signatures:
                    return Imported(
                        adopted=pronom.import_formats(
                            registry,
                            signatures,
                            party,
                            choices.namespace,
                            dry_run=choices.dry_run,
                            force=choices.force,
                        )
                    )
            case ImportKind.REPORTS:
                return _import_reports(registry, file, party, name, choices)
            case ImportKind.BATCH:
                report = handle_batch_import.import_batch(
                    registry,
                    file,
                    party,
                    choices.namespace,
                    dry_run=choices.dry_run,
                    progress=progress,
                )
                return Imported(batch=report)


@contextmanager
def packed(
    file: Path,
    name: str,
    choices: ImportChoices = ImportChoices(),
    others: Sequence[Path] = (),
    metadata: str | None = None,
) -> Iterator[IO[bytes]]:
    """Open one file with all that `import_file` would read: a folder of PRONOM's records becomes an archive.

    Raises InvalidData: it cannot be one file. Raises ExchangeError: it cannot be read.
    """
    if others:
        raise InvalidData("a server takes one file at a time; import them one after the other", name=name)
    kind = kind_of(name, choices.format, choices.namespace, folder=file.is_dir())
    outside = metadata or (sssom.beside(file) if kind in TABLES else None)
    if outside is not None:
        raise InvalidData(
            f"a server takes one file, and the metadata of {name} are in {outside}; put them into the table,"
            " in lines that begin with #",
            name=name,
        )
    if file.is_dir():
        with tempfile.TemporaryFile() as archive:
            pronom_reports.archive(file, archive)
            archive.seek(0)
            yield archive
        return
    _check_exists(file, name)
    with _opened(file, name) as stream:
        yield stream


def _check_extension(file: Path, name: str) -> None:
    """Raise ExchangeError: the extension stands for neither a kind of file nor a format of RDF."""
    if file.suffix.lower() != PACKED and ending(file.name) not in (*rdf.SUFFIXES, patch.SUFFIX):
        raise ExchangeError(
            name,
            None,
            f"the extension {file.suffix!r} stands for no format; name the format of the file:"
            f" {', '.join(FORMATS)}; or name the file after it, such as export.nq",
            remedy=Remedy.NAME_FORMAT,
        )


def _check_exists(file: Path, name: str) -> None:
    """Raise ExchangeError if there is no such file."""
    try:
        file.stat()
    except FileNotFoundError as error:
        raise ExchangeError(name, None, "there is no such file; look for a misspelling") from error
    except (OSError, ValueError):
        return  # its reader says why it cannot be read


def _opened(file: Path, name: str) -> IO[bytes]:
    try:
        return file.open("rb")
    except OSError as error:
        raise ExchangeError(name, None, f"it cannot be read: {error.strerror or error}") from error


def _check_rights(registry: Registry, kind: ImportKind, party: Party) -> None:
    """Raise NotPermitted for a file of administrators, before it is read."""
    if kind not in (ImportKind.BINDINGS, ImportKind.BATCH):
        registry.core.only_administrators(party, acting=True)


def _import_export(
    registry: Registry,
    files: Sequence[Path],
    party: Party,
    choices: ImportChoices,
    progress: Progress,
) -> Imported:
    report = rdf.import_registry(
        registry,
        files,
        party,
        choices.format,
        own_history=choices.own_history,
        dry_run=choices.dry_run,
        force=choices.force,
        progress=progress,
    )
    changed = [changed_fields(one) for one in report.differences]
    return Imported(merged=replace(report, differences=()), changed=changed)


def _import_bindings(
    registry: Registry,
    file: Path,
    party: Party,
    name: str,
    choices: ImportChoices,
    metadata: str | None,
    progress: Progress,
) -> Imported:
    malformed = bad_lines.BadLines(str(file))
    format = _format_of(ImportKind.BINDINGS, name, choices)
    with mappings.read(file, format, choices.columns, metadata, force=choices.force) as reading:
        proposals = list(mapping_rows.proposals(reading.rows, malformed))
        decided = "action" in reading.columns
    outcomes = registry.state(
        _watched(proposals, progress),
        party,
        decided=decided,
        dry_run=choices.dry_run or bool(malformed),
        on_outcome=malformed.check,
    )
    return _table_report(reading, file, name, outcomes, malformed)


def column_summary(file: Path, name: str, choices: ImportChoices, metadata: str | None = None) -> str:
    """Return how the columns of a table are understood, in words, without importing it.

    Parameters and errors as of `import_file`. Cost: the header.
    """
    kind = kind_of(name, choices.format, choices.namespace)
    format = _format_of(kind, name, choices)
    with _named(file, name):
        if kind is ImportKind.TABLE:
            with identifiers.read(file, format, choices.columns, metadata) as listed:
                words = mappings.column_summary(listed)
        else:
            with mappings.read(file, format, choices.columns, metadata) as reading:
                words = mappings.column_summary(reading)
    return words.replace(str(file), name)


def _format_of(kind: ImportKind, name: str, choices: ImportChoices) -> str:
    """Return the format of a table."""
    default = tables.LIST if kind is ImportKind.TABLE else "tsv"
    return choices.format or tables.format_of(name) or default


def _import_table(
    registry: Registry,
    file: Path,
    party: Party,
    name: str,
    choices: ImportChoices,
    metadata: str | None,
    progress: Progress,
) -> Imported:
    malformed = bad_lines.BadLines(str(file))
    format = _format_of(ImportKind.TABLE, name, choices)
    with identifiers.read(file, format, choices.columns, metadata, force=choices.force) as reading:
        rows = list(identifiers.valid(reading.rows, malformed))
    outcomes = _enrol(registry, rows, party, name, choices, malformed, progress)
    return _table_report(reading, file, name, outcomes, malformed, listed=True)


def _table_report(
    reading: Reading[T],
    file: Path,
    name: str,
    outcomes: Sequence[LineOutcome],
    malformed: Sequence[Malformed],
    *,
    listed: bool = False,
) -> Imported:
    words = mappings.column_summary(reading).replace(str(file), name)
    return Imported(table=TableReport(words, outcomes, [*malformed], reading.literals, listed))


def _import_described(
    registry: Registry,
    file: Path,
    party: Party,
    name: str,
    choices: ImportChoices,
    progress: Progress,
) -> Imported:
    assert choices.namespace is not None
    reading = plain_rdf.read(file, registry.namespace(choices.namespace), choices.format)
    passed = [f"{count} {compact_iri(iri)}" for iri, count in reading.passed.most_common()]
    passed += [f"{reading.others} statements about other subjects"] if reading.others else []
    words = f"{name} as {reading.format}" + (f"; passed over: {', '.join(passed)}" if passed else "")
    outcomes = _enrol(registry, reading.rows, party, name, choices, reading.malformed, progress)
    return Imported(table=TableReport(words, outcomes, [*reading.malformed], listed=True))


def _enrol(
    registry: Registry,
    rows: Sequence[Listed],
    party: Party,
    name: str,
    choices: ImportChoices,
    malformed: bad_lines.BadLines,
    progress: Progress,
) -> list[LineOutcome]:
    return registry.enrol(
        choices.namespace,
        _watched(rows, progress),
        party,
        _source(name),
        keep_going=choices.keep_going,
        dry_run=choices.dry_run or (bool(malformed) and not choices.keep_going),
        force=choices.force,
        on_outcome=malformed.check,
    )


def _source(name: str) -> str:
    """Return the name of a file for the log, which shows it to everybody: the folders concern nobody."""
    return file_name(Path(name).name)


def _import_reports(
    registry: Registry, file: Path, party: Party, name: str, choices: ImportChoices
) -> Imported:
    reports = pronom_reports.read(file)
    if not all(report.record for report in reports):
        related = pronom.import_relations(
            registry,
            reports,
            party,
            f"PRONOM reports, {_source(name)}",
            choices.namespace,
            dry_run=choices.dry_run,
        )
        return Imported(related=related)
    adopted, related = pronom.import_records(
        registry,
        reports,
        party,
        f"PRONOM records, {_source(name)}",
        choices.namespace,
        dry_run=choices.dry_run,
        force=choices.force,
    )
    return Imported(adopted=adopted, related=related)


def _watched(items: Sequence[T], progress: Progress) -> Iterator[T]:
    """Yield the items, and report how many of them are done."""
    return Meter(progress, "lines", len(items)).over(items)


@contextmanager
def _named(file: Path, name: str) -> Iterator[None]:
    """Name the file in errors by its name for people."""
    try:
        yield
    except IdstoreError as error:
        if error.field is None and isinstance(error, ExchangeError):
            error.field, error.value = "file", name
        if str(file) != name:
            path = re.compile(rf"(?<![\w./-]){re.escape(str(file))}(?![\w-])")
            error.message = path.sub(lambda _: name, error.message)
            error.args = (error.message, *error.args[1:])
            error.fields = {
                key: path.sub(lambda _: name, value) if isinstance(value, str) else value
                for key, value in error.fields.items()
            }
        raise
