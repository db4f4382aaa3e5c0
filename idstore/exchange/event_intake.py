"""Taking in the sorted events of an import: in bulk where an identifier is new, else one by one."""

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse

from idstore.errors import ExchangeError, IdstoreError, InvalidData, StoreUnavailable
from idstore.exchange.comparison import LeftOut, valid
from idstore.exchange.effects import Effect
from idstore.exchange.scratch_engine import canonical
from idstore.exchange.sorted_import import EventGroup, SortedImport
from idstore.model import times
from idstore.model.event import Event
from idstore.model.history import History
from idstore.model.namespace import Namespace
from idstore.model.party import Party, node, party_of
from idstore.model.terms import triples
from idstore.progress import Progress
from idstore.registry import Registry
from idstore.registry.bindings import SharedTarget
from idstore.registry.imports.merge import Divergence
from idstore.registry.imports.replay import BEGINNINGS, Replay, check_time, taken, unknown_namespace
from idstore.registry.party_descriptions import Naming, descriptions, named_in_events, named_in_record
from idstore.remedies import Remedy
from idstore.stores.contract import Bulk
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, SKOS

_CENTURY: Final = 36_525 * times.DAY
_PARTY: Final = str(node(""))[:-1]
"""Beginning of the triples about a party."""


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


class EventIntake:
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
                bulk.set_next_sequence(number)
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


def _parsed(line: str) -> Triple | None:
    """Return the triple of a line as the engine writes it; None if it is none."""
    try:
        (quad,) = parse(canonical(line), format=RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError):
        return None
    triple: Triple = quad.triple
    return triple
