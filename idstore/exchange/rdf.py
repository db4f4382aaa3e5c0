"""Export and import of a registry without loss: Turtle, TriG, N-Triples, N-Quads, JSON-LD.

An export holds the log, and an import reads the log back: records, bindings and visibility follow from the
events. A file is refused if its other triples do not follow from its events.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from pyoxigraph import RdfFormat

from idstore import opening, scratch
from idstore.errors import ExchangeError, InvalidData
from idstore.exchange import jsonld, patch, turtle
from idstore.exchange.comparison import LeftOut, divergences, leave_out
from idstore.exchange.effects import LISTED
from idstore.exchange.event_intake import EventIntake, ImportReport
from idstore.exchange.sorted_import import ImportFile, SortedImport
from idstore.exchange.sources import PACKED, ending
from idstore.model.filter import Filter
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.registry.core import DryRunEnded
from idstore.registry.export import read
from idstore.registry.imports.merge import Divergence, Merge
from idstore.remedies import Remedy
from idstore.scratch import sorting_in
from idstore.stores.contract import Bulk

FORMATS = {
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "jsonld": RdfFormat.JSON_LD,
}
"""RDF formats by the names that users type."""
SUFFIXES: Mapping[str, str] = {
    ".ttl": "turtle",
    ".trig": "trig",
    ".nt": "ntriples",
    ".nq": "nquads",
    ".jsonld": "jsonld",
}
"""Formats by file name extension."""


def export(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    format: str = "turtle",
    filter: Filter = Filter(),
    *,
    for_publication: bool = False,
    progress: Progress = unwatched,
) -> None:
    """Write all triples that the party may see; the same state gives the same bytes.

    for_publication  only what everyone sees, without events: see `Registry.publication`.
    Raises InvalidData (format), UnknownNamespace, OSError. Memory: flat.
    """
    chosen = rdf_format(format)
    selected = (
        registry.publication(filter, progress)
        if for_publication
        else registry.nquads(party, filter, progress)
    )
    with selected as nquads:
        match chosen:
            case RdfFormat.TURTLE | RdfFormat.TRIG:
                texts = turtle.lines(nquads, graphs=chosen.supports_datasets)
            case RdfFormat.JSON_LD:
                texts = jsonld.lines(read(nquads))
            case RdfFormat.N_TRIPLES:
                texts = (f"{text.rpartition(' ')[0]} .\n" for text in nquads)
            case _:
                texts = (f"{text} .\n" for text in nquads)
        target.writelines(map(str.encode, texts))


def rdf_format(name: str) -> RdfFormat:
    """Return the format of that name. Raises InvalidData."""
    try:
        return FORMATS[name]
    except KeyError:
        raise InvalidData(f"no RDF format {name!r}; there are {', '.join(FORMATS)}", format=name) from None


def replicate(registry: Registry, path: Path) -> ImportReport:
    """Apply an RDF Patch of another registry to a replica of it, all or nothing. No party acts.

    Raises ExchangeError, StoreUnavailable. Cost: see `import_registry`.
    """
    with (
        scratch.folder() as place,
        sorting_in("the import", place),
        SortedImport([(path, None, patch.FORMAT)], place, unwatched) as events,
    ):
        return _import(
            registry, events, None, str(path), unwatched, own_history=True, dry_run=False, force=False
        )


def import_registry(
    registry: Registry,
    paths: Sequence[Path],
    party: Party,
    format: str | None = None,
    *,
    own_history: bool = False,
    dry_run: bool = False,
    force: bool = False,
    progress: Progress = unwatched,
) -> ImportReport:
    """Import what `export` wrote, all or nothing. Only administrators may. A repeated import changes nothing.

    A registry without events takes everything: after a complete export of another registry it is a copy, and
    the two export the same. Any other registry is merged: published identifiers come in, with their authors,
    times and origin. Drafts, internal remarks, parties and storage of the other registry stay out.

    own_history  also accept events of this registry itself, or of one that it is a copy of, that the log here
                 lacks: to restore what was lost, or to bring a copy up to date. They may publish drafts, and
                 change parties, permissions and ownership, and everybody can forge them. So they are refused
                 otherwise.
    force        also take labels that tell a time in the future; the log says so.

    Raises ExchangeError (malformed, not the log of a registry, or with triples that do not follow from its
    events), NotPermitted, StoreUnavailable.
    Cost: a bulk load for identifiers that are new here, a replay event by event for the others. A merge of a
    complete export also loads it into a store aside, to check the file.
    Memory: flat; a dry run holds the differences. Disk: 1 kB for each identifier while the import runs, and
    0.4 GB at most beside the new state.
    """
    files = [(path, *_format(path, format)) for path in paths]
    source = ", ".join(str(path) for path in paths)
    with (
        scratch.folder() as place,
        sorting_in("the import", place),
        SortedImport(files, place, progress) as events,
    ):
        patched = any(name == patch.FORMAT for _, _, name in files)  # one without changes has no events
        if not (events.whole or patched or len(events)):
            raise ExchangeError(
                source,
                None,
                "it holds no events: it is a publication, for other systems to read; a registry takes in an"
                " export with its log",
            )
        check = partial(_check_state, files, source, party, place)
        return _import(
            registry,
            events,
            party,
            source,
            progress,
            own_history=own_history,
            dry_run=dry_run,
            force=force,
            check=check,
        )


def _check_state(files: Sequence[ImportFile], source: str, party: Party, place: Path) -> None:
    """Raise ExchangeError if a triple of the files does not follow from the events in them.

    The events are replayed in an empty registry. One that continues the log of the importing registry can
    lack its beginning here: what such files say of state is not checked.
    """
    (place / "check").mkdir()
    try:
        with (
            opening.open(place / "check" / "store", administrator=party) as empty,
            SortedImport(files, place / "check", unwatched) as events,
        ):
            _import(
                empty,
                events,
                party,
                source,
                unwatched,
                own_history=True,
                dry_run=True,
                force=True,
                compare=True,
            )
    except ExchangeError as error:
        if "triple" in error.fields:
            raise


def _format(path: Path, format: str | None) -> tuple[RdfFormat | None, str]:
    packed = path.suffix.lower() == PACKED
    name = format or (None if packed else {**SUFFIXES, patch.SUFFIX: patch.FORMAT}.get(ending(path.name)))
    if name is None:
        remedy = Remedy.NAME_FORMAT
        if not path.exists():
            raise ExchangeError(str(path), None, "there is no such file; look for a misspelling")
        if packed:
            reason, remedy = "it is compressed; unpack it first", Remedy.UNPACK
        else:
            formats = ", ".join((*FORMATS, patch.FORMAT))
            reason = (
                f"the extension {path.suffix!r} stands for no format; name the format of the file: {formats}"
            )
        raise ExchangeError(str(path), None, reason, remedy=remedy)
    return None if name == patch.FORMAT else rdf_format(name), name


def _import(
    registry: Registry,
    events: SortedImport,
    party: Party | None,
    source: str,
    progress: Progress,
    *,
    own_history: bool,
    dry_run: bool,
    force: bool,
    compare: bool = False,
    check: Callable[[], None] | None = None,
) -> ImportReport:
    """Import sorted events, for an administrator or for none: see `import_registry` and `replicate`.

    compare  whether to compare the other triples of partial files with the events, too.
    check    called if they are not compared; it raises.
    """
    if party is not None:
        registry.only_administrators(party)  # before the bulk copies the store
    report = ImportReport(0, 0, 0)
    try:
        with registry.store.bulk(fresh=events.whole) as bulk:
            if party is not None:
                registry.only_administrators(party, acting=True)
            target = Registry(bulk)
            pristine, fresh = (
                target.pristine(),
                events.whole and not bulk.sequence,
            )  # asked while no other party can act
            left, differences = (
                (LeftOut(), [])
                if pristine
                else _compare(target, bulk, events, source, progress, dry_run=dry_run)
            )
            before = {namespace.base for namespace in target.namespaces()}
            forbidden = frozenset() if own_history else target.core.homes(bulk)
            intake = EventIntake(target, bulk, events, source, progress, force=force)
            report = intake.all(compare=fresh or compare, forbidden=forbidden)
            if check is not None and not fresh:
                check()
            if party is not None:
                intake.log_forced(party)
            report = replace(
                report,
                left=left,
                differences=differences,
                namesakes=_namesakes(target, before),
                shared=()
                if pristine or party is None
                else target.shared_targets(events.targeted(), party, LISTED),
            )
            if dry_run or not report.events:
                raise DryRunEnded  # noqa: TRY301 the bulk is discarded
    except DryRunEnded:
        pass
    return report


def _namesakes(registry: Registry, before: Container[str]) -> list[tuple[Namespace, Namespace]]:
    pairs = [(namespace, registry.namespace(namespace.name)) for namespace in registry.namespaces()]
    return [
        (namespace, named)
        for namespace, named in pairs
        if namespace != named and not (namespace.base in before and named.base in before)
    ]


def _compare(
    registry: Registry, bulk: Bulk, events: SortedImport, source: str, progress: Progress, *, dry_run: bool
) -> tuple[LeftOut, list[Divergence]]:
    """Return what stays out and, in a dry run, the differences. Raises ExchangeError."""
    try:
        bases, merge = events.added(), Merge(registry.core)
        return leave_out(events, merge, bulk, progress), [
            *divergences(events, merge, bulk, bases)
        ] if dry_run else []
    except InvalidData as error:
        raise ExchangeError(source, None, error.message) from error
