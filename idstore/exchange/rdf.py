"""Export and import of a registry without loss: Turtle, TriG, N-Triples, N-Quads, JSON-LD.

An export holds the log, and an import reads the log back: records, bindings and visibility follow from the
events. A file is refused if its other triples do not follow from its events.
"""

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse

from idstore import opening, scratch
from idstore.errors import ExchangeError, IdstoreError, InvalidData, StoreUnavailable
from idstore.exchange import jsonld, patch, turtle
from idstore.exchange.comparison import LeftOut, divergences, leave_out, valid
from idstore.exchange.effects import LISTED, Effect
from idstore.exchange.scratch_engine import canonical
from idstore.exchange.sorted_import import EventGroup, ImportFile, SortedImport
from idstore.exchange.sources import PACKED, ending
from idstore.model import times
from idstore.model.event import Event
from idstore.model.filter import Filter
from idstore.model.history import History
from idstore.model.namespace import Namespace
from idstore.model.party import Party, node, party_of
from idstore.model.terms import triples
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.registry.bindings import SharedTarget
from idstore.registry.core import DryRunEnded
from idstore.registry.export import read
from idstore.registry.imports.merge import Divergence, Merge
from idstore.registry.imports.replay import BEGINNINGS, Replay, check_time, taken, unknown_namespace
from idstore.registry.party_descriptions import Naming, descriptions, named_in_events, named_in_record
from idstore.remedies import Remedy
from idstore.scratch import sorting_in
from idstore.stores.contract import Bulk
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, SKOS

FORMATS = {
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "jsonld": RdfFormat.JSON_LD,
}
"""RDF formats by the names that users type."""
_CENTURY = 36_525 * times.DAY
_PARTY = str(node(""))[:-1]
"""Beginning of the triples about a party."""

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


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import, or of its dry run.

    events       number of new events.
    known        number of events that were here already.
    identifiers  number of new identifiers.
    left         content of another registry that stays out.
    differences  after a dry run: identifiers that differ between the two registries.
    effects      what the new events change about parties, permissions, ownership and publication.
    namesakes    pairs of namespaces with the same name, at least one of them new: the one that the name does
                 not find, and the one that it finds.
    shared       the first `LISTED` imported targets of several identifiers, as far as the party sees them;
                 none if the registry was empty.
    """

    events: int
    known: int
    identifiers: int
    left: LeftOut = field(default_factory=LeftOut)
    differences: Sequence[Divergence] = ()
    effects: Sequence[Effect] = ()
    namesakes: Sequence[tuple[Namespace, Namespace]] = ()
    shared: Sequence[SharedTarget] = ()


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
            intake = _Intake(target, bulk, events, source, progress, force=force)
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


def _parsed(line: str) -> Triple | None:
    """Return the triple of a line as the engine writes it; None if it is none."""
    try:
        (quad,) = parse(canonical(line), format=RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError):
        return None
    triple: Triple = quad.triple
    return triple


class _Intake:
    """Replay of sorted events into a registry on a bulk. Raises ExchangeError."""

    def __init__(
        self,
        registry: Registry,
        bulk: Bulk,
        events: SortedImport,
        source: str,
        progress: Progress,
        *,
        force: bool,
    ) -> None:
        self._replay, self._bulk, self._events = Replay(registry.core), bulk, events
        self._source, self._progress = source, progress
        self._empty = not bulk.sequence
        self._bases = {namespace.base for namespace in registry.namespaces()}
        self._added = {base: order for base, order in events.added().items() if base not in self._bases}
        self._lost: AbstractSet[tuple[str, str]] = frozenset()
        self._created = 0
        described = registry.core.facts(bulk).described
        private = {quad.subject for quad in bulk.quads(None, RDF.type, IDS.Party)}
        names = {party_of(party) for party in private} - described
        self._acted_on = events.acted_on_by(names) if names else set[str]()
        self._names: set[Naming] = set()
        self._force = force
        self._forced: set[str] = set()

    def log_forced(self, party: Party) -> None:
        """Log which namespaces took labels that tell a time in the future."""
        core, note = self._replay.core, Literal("export (forced: labels from the future)")
        for base in sorted(self._forced):
            event = core.event(self._bulk, IDS.Import, NamedNode(base), party, (SKOS.note, note))
            core.log_event(self._bulk, event, PUBLIC_LOG, [], [])

    def all(self, *, compare: bool, forbidden: Collection[str]) -> ImportReport:
        """Take in all new events.

        compare    whether to refuse files with triples that do not follow from the events.
        forbidden  stores whose new events are refused.
        """
        bulk, events = self._bulk, self._events
        new, known = events.number(
            bulk.sequence, self._is_known, self._is_single, self._check_same, self._progress
        )
        if events.whole and not len(events):
            raise self._refused(
                "holds no event of a registry; for identifiers issued elsewhere name their namespace, for"
                " mappings name the format sssom, tsv, csv or xlsx",
                Remedy.NAME_NAMESPACE,
            )
        self._check_origins(forbidden)
        self._lost = events.lost_requests()
        try:
            for number, event in events.singles():
                bulk.number(number)
                with valid(event):
                    self._check_time(event)
                    self._replay.replay(bulk, event, self._added)
            bulk.load(self._histories(new, compare=compare))
        except (ExchangeError, StoreUnavailable):
            raise
        except IdstoreError as error:
            raise self._refused(error.message) from error
        contested = events.contested()
        if contested is not None:
            raise self._refused(taken(*map(NamedNode, contested)).message)
        return ImportReport(new, known, self._created, effects=events.effects())

    def _check_origins(self, forbidden: Collection[str]) -> None:
        count, first = self._events.of_origins(forbidden)
        if first is not None:
            raise self._refused(
                f"{count} of its events, first {first.iri} ({first.act} by {first.by}), are this"
                " registry's own, but its log lacks them: they are forged, or were lost here; if nobody else"
                " can have written the file, accept its own history",
                Remedy.ACCEPT_HISTORY,
            )

    def _is_known(self, event: str) -> bool:
        return not self._empty and self._bulk.catalogue.knows(event)

    def _check_same(self, event: Event) -> None:
        try:
            self._replay.check_same(self._bulk, event)
        except InvalidData as error:
            raise self._refused(error.message) from error

    def _check_time(self, event: Event) -> None:
        """Raise InvalidData for an event that is more than a day ahead, in an empty registry a century.

        A copy takes back what the registry's own clock said, however wrong.
        """
        tolerance = _CENTURY if self._empty else times.DAY
        check_time(self._bulk, event, tolerance)
        try:
            self._replay.check_label(self._bulk, event, tolerance)
        except InvalidData:
            if not self._force:
                raise
            self._forced.add(event.text(IDS.inNamespace) or "")

    def _is_single(self, about: str) -> bool:
        """Return whether events about an IRI are replayed singly.

        It is a namespace, or has events here, or a party acted on it that only private graphs describe: if it
        becomes public, that description must go.
        """
        if about in self._bases or about in self._added or about in self._acted_on:
            return True
        return not self._empty and self._bulk.catalogue.mentions(about)

    def _histories(self, new: int, *, compare: bool) -> Iterator[History]:
        done = 0
        pending: History | None = None
        of_parties: list[str] = []
        for group in self._events.groups(state=compare):
            history = self._history(group.events) if group.events else None
            state = triples(history.state) if history and group.state else set()
            for line in group.state:
                if line not in state and not self._follows(line, state):
                    if not line.startswith(_PARTY):
                        raise self._contradicted(line)
                    of_parties.append(line)
            self._check_complete(group, state)
            if history is not None:
                if pending is not None:
                    yield pending
                pending = history
                self._names |= named_in_record(history.record) if history.state else set()
                self._names |= named_in_events((entry.event, entry.graph) for entry in history.events)
                self._created += 1
                done += len(history.events)
                self._progress("taking in", done, new)
        parties = descriptions(self._names, self._replay.core.facts(self._bulk).described)
        lines = "".join(sorted(f"{quad} .\n" for quad in parties))
        state = triples(lines)
        for line in of_parties if self._events.whole else ():  # an extract lacks events of its parties
            if not self._follows(line, state):
                raise self._contradicted(line)
        if pending is not None:
            yield replace(pending, state=pending.state + lines)
        self._progress("finishing", 0, new)  # one step of the engine, and one of the catalogue

    def _check_complete(self, group: EventGroup, state: set[str]) -> None:
        """Raise ExchangeError if a whole export lacks a triple of a record or binding that is in it."""
        missing = state.difference(group.state) if self._events.whole and group.state else set()
        if not missing:
            return
        given = {str(triple) for line in group.state if (triple := _parsed(line)) is not None}
        described = {line.partition(" ")[0] for line in given}
        first = min((line for line in missing - given if line.partition(" ")[0] in described), default=None)
        if first is not None:
            raise self._contradicted(first, "follows from the events in it, and is missing")

    def _contradicted(self, line: str, fault: str = "does not follow from the events in it") -> ExchangeError:
        error = self._refused(
            f"the triple {line} {fault}; change a registry by its operations, not in its export"
        )
        error.fields = {**error.fields, "triple": line}
        return error

    def _history(self, events: Sequence[tuple[int, Event]]) -> History:
        number, first = events[0]
        base = first.text(IDS.inNamespace) or ""
        added = self._added.get(base, first.order)
        if (
            first.kind in BEGINNINGS and added > first.order and added[1] == first.origin
        ):  # else it may come from elsewhere
            raise unknown_namespace(first, base)
        with valid(first):
            for _, event in events:
                self._check_time(event)
            history = self._replay.build_history(self._bulk, events, self._lost)
        for claim in history.claims:
            self._events.claim(claim.key.value, number, claim.holder.value)
        other = None if self._empty else self._bulk.claim(history.claims[0].key)
        if other is not None:
            raise taken(NamedNode(first.about), other.holder)
        return history

    def _follows(self, line: str, state: set[str]) -> bool:
        """Return whether the log yields a triple: in another spelling, or from an earlier import."""
        triple = _parsed(line)
        if triple is None:
            return False
        subject, value = triple.subject, triple.object
        if not isinstance(subject, NamedNode) or not isinstance(value, NamedNode | Literal):
            return False
        return str(triple) in state or any(self._bulk.quads(subject, triple.predicate, value))

    def _refused(self, reason: str, remedy: Remedy | None = None) -> ExchangeError:
        return ExchangeError(self._source, None, reason, remedy=remedy)
