"""Comparing what is stored with what the log says."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from pyoxigraph import Literal, NamedNode, Quad

from idstore.model.change import entry_of
from idstore.model.event import Event, digest
from idstore.model.event import parse as parse_event
from idstore.model.namespace import Namespace
from idstore.model.party import Party, PartyFacts
from idstore.model.record import Record, Stage
from idstore.model.storage import fold as fold_storage
from idstore.model.terms import hashed
from idstore.progress import Meter, Progress, unwatched
from idstore.registry.findings import DAMAGED, Finding, differences, guarded, is_public, misplaced
from idstore.registry.naming import label_node
from idstore.registry.replaying import (
    BEGINNINGS,
    OF_STORAGE,
    Replaying,
    fold,
    fold_namespace,
    fold_party,
    home_of,
    party_state,
    request_node,
)
from idstore.stores import View
from idstore.stores.auditing import Logged, Series
from idstore.vocabulary import CLAIMS, IDS, PROV, PUBLIC_LOG, RDF, REGISTRY_GRAPH, SKOS, STORAGE_GRAPH, party_name

_OF_PARTIES = (IDS.PartyAddition, IDS.Joining, IDS.Leaving, IDS.Suspension, IDS.Reinstatement)


@dataclass(slots=True)
class _Issued:
    """How many labels of each series were issued, and the highest number of each. Memory: flat but for the series."""

    counts: Counter[Series] = field(default_factory=Counter)
    highest: Counter[Series] = field(default_factory=Counter)

    def add(self, namespace: Namespace, label: str) -> None:
        """Count a label."""
        series, number = namespace.scheme.series(label, namespace.context)
        place = (namespace.base, series)
        self.counts[place] += 1
        self.highest[place] = max(self.highest[place], number)


class Verifying(Replaying):
    """Folding the whole log, and comparing."""

    def verify(self, party: Party, progress: Progress = unwatched) -> Iterator[Finding]:
        """Every contradiction between the log and what is stored; nothing is repaired. None is found in a sound store.

        Only administrators may. Whatever is damaged is a finding, and no error. Cost: every quad is read, in each index; memory is flat but
        for namespaces, parties and series. Raises NotPermitted, StoreUnavailable.
        """
        with self.store.reading() as view:
            if not self._administered(view, party):
                self.only_administrators(party)
            issued, labels = _Issued(), 0
            with suppress(*DAMAGED):
                labels = self._labels(view)
            parts = {
                "files": (Finding("unreadable", "files", message) for message in view.faults(progress)),
                "events": self._trail(view, progress),
                "identifiers": self._identifiers(view, Meter(progress, "identifiers", labels), issued),
                "namespaces and parties": self._registry_facts(view),
                "storage": self._storage_facts(view),
                "labels": self._claims(view, Meter(progress, "labels", labels)),
                "triples": self._strays(view, Meter(progress, "looking for what nothing explains")),
                "lists": self._listings(view, Meter(progress, "lists", labels)),
                "counters": self._miscounts(view, issued),
            }
            for place, found in parts.items():
                yield from guarded("unreadable", place, found)

    def repair_counters(self, party: Party) -> None:
        """Count anew: what is listed, and the labels that the log says were issued. Nothing else is touched.

        Only administrators may. Raises NotPermitted, StoreUnavailable.
        """
        self.only_administrators(party, acting=True)
        with self.store.turn(), self.store.reading() as view:
            issued = _Issued()
            for beginning, _ in self._beginnings(view):
                try:
                    issued.add(*self._named_by(view, beginning))
                except DAMAGED:
                    continue
            view.catalogue.recount(issued.counts, issued.highest)

    def _administered(self, view: View, party: Party) -> bool:
        """Whether the log says that a party administers the registry, even where its triples are damaged."""
        try:
            return self._folded_party(view, party.name).administrator
        except DAMAGED:
            return False

    # the trail

    def _labels(self, view: View) -> int:
        """How many labels were issued, as the counters say."""
        return sum(many for base in self._facts(view).by_base for many, _ in view.catalogue.series(base).values())

    def _trail(self, view: View, progress: Progress) -> Iterator[Finding]:
        """Sequence and publication numbers without a gap, and every event whole in its place."""
        last = published = 0
        for logged in Meter(progress, "events", view.catalogue.applied).over(view.catalogue.logged()):
            row = logged.row
            if row.sequence != last + 1:
                yield Finding("sequence-gap", f"#{last + 1}", f"the log has no event between {last} and {row.sequence}")
            last = row.sequence
            published += row.publication is not None
            if (row.graph == PUBLIC_LOG.value) != (row.publication is not None):
                kind = "private-in-public" if row.publication else "publication-gap"
                yield Finding(kind, row.iri, f"it is kept in {row.graph}, and its number in the public feed is {row.publication}")
            yield from guarded("event-changed", row.iri, self._logged_event(view, logged))
        if view.catalogue.applied != last:
            yield Finding("sequence-gap", f"#{last + 1}", f"the log ends with {last}, and {view.catalogue.applied} were taken in")
        yield from self._feed(view, published)

    def _feed(self, view: View, published: int) -> Iterator[Finding]:
        after = 0
        while rows := view.catalogue.published(after, 1000):
            for expected, row in enumerate(rows, after + 1):
                if row.publication != expected:
                    yield Finding("publication-gap", row.iri, f"public event {row.publication} follows {expected - 1}")
                    return
            after += len(rows)
        if view.catalogue.publication != published:
            yield Finding(
                "publication-gap", f"#{published + 1}", f"{view.catalogue.publication} events were published, and {published} are there"
            )

    def _logged_event(self, view: View, logged: Logged) -> Iterator[Finding]:
        """An event as it was, in its place and nowhere else, and listed as it is."""
        row, graph = logged.row, NamedNode(logged.row.graph or "")
        quads = list(view.quads(NamedNode(row.iri)))
        if not quads:
            yield Finding("event-missing", row.iri, f"event {row.sequence} is not in {row.graph}")
            return
        for other in sorted({quad.graph_name for quad in quads if quad.graph_name != graph}, key=str):
            kind = "event-changed" if is_public(graph) else misplaced(other, "event-changed")
            yield Finding(kind, row.iri, f"the event is kept in {other} and belongs in {row.graph}")
        event = parse_event(NamedNode(row.iri), [quad for quad in quads if quad.graph_name == graph])
        if digest(event) != logged.digest:
            yield Finding("event-changed", row.iri, f"event {row.sequence} ({event.act} of {event.about.value}) is not what it was")
        if (event.act, hashed(event.about.value), event.by, event.at) != (logged.act, logged.about, logged.actor, logged.at):
            yield Finding("listing", row.iri, f"the log lists it as {logged.act} by {logged.actor}, and it is {event.act} by {event.by}")
        home = home_of(event, self._facts(view).by_base)
        if home is not None and home != graph:
            yield Finding(misplaced(graph, "event-changed"), row.iri, f"the event is kept in {row.graph} and belongs in {home.value}")

    # identifiers

    def _identifiers(self, view: View, meter: Meter, issued: _Issued) -> Iterator[Finding]:
        for beginning, about in meter.over(self._beginnings(view)):
            yield from guarded("unreadable", about.value, self._identifier(view, beginning, about, issued))

    def _beginnings(self, view: View) -> Iterator[tuple[NamedNode, NamedNode]]:
        """The first event about each identifier, and the identifier."""
        for kind in sorted(BEGINNINGS, key=str):
            for quad in view.quads(None, RDF.type, kind):
                event = quad.subject
                for about in view.quads(event, IDS.about) if isinstance(event, NamedNode) else ():
                    if isinstance(event, NamedNode) and isinstance(about.object, NamedNode) and self._first(view, about.object) == event:
                        yield event, about.object

    def _first(self, view: View, about: NamedNode) -> NamedNode | None:
        """The event that an identifier began with, or the one of lowest name where that cannot be told."""
        events = {quad.subject for quad in view.quads(None, IDS.about, about)}
        begun = [event for event in events if isinstance(event, NamedNode) and _begins(view, event)]
        if not begun[1:]:
            return begun[0] if begun else None
        try:
            return min((parse_event(event, view.quads(event)) for event in begun), key=lambda event: event.order).iri
        except DAMAGED:
            return min(begun, key=str)

    def _named_by(self, view: View, beginning: NamedNode) -> tuple[Namespace, str]:
        """The namespace and the label that a first event gives. Raises what damaged data raise."""
        said = {quad.predicate: quad.object for quad in view.quads(beginning)}
        base, label = said[IDS.inNamespace], said[SKOS.notation]
        assert isinstance(base, NamedNode) and isinstance(label, Literal)
        return self._facts(view).by_base[base.value], label.value

    def _identifier(self, view: View, beginning: NamedNode, about: NamedNode, issued: _Issued) -> Iterator[Finding]:
        try:
            history = self._history(view, about)
            record = fold([event for event, _ in history])
        except DAMAGED:
            yield Finding("event-changed", about.value, "the events about it cannot be read")
            return
        assert record is not None
        yield from self._state(view, record)
        for event, graph in history:
            if graph != record.home(event):
                yield Finding(
                    misplaced(graph, "event-changed"),
                    event.iri.value,
                    f"the event is kept in {graph.value} and belongs in {record.home(event).value}",
                )
        listed = view.catalogue.listed(about.value)
        if listed != (None if record.stage is Stage.RELEASED else entry_of(record, fresh=False)):
            yield Finding("listing", about.value, f"lists show it as {listed}, and it is {entry_of(record, fresh=False)}")
        yield from self._claimed(view, record, next(event for event, _ in history if event.iri == beginning), issued)

    def _state(self, view: View, record: Record) -> Iterator[Finding]:
        """A record, its bindings and its values, triple by triple."""
        stored = {quad for quad in view.quads(record.iri) if quad.graph_name != CLAIMS}
        for statement in {quad.subject for quad in view.quads(None, RDF.subject, record.iri)}:
            stored.update(view.quads(statement) if isinstance(statement, NamedNode) else view.quads(None, RDF.subject, record.iri))
        for value in {quad.subject for quad in view.quads(None, IDS.valueOf, record.iri)}:
            stored.update(view.quads(value) if isinstance(value, NamedNode) else view.quads(None, IDS.valueOf, record.iri))
        yield from differences(stored, set(record.quads()), record.iri.value)

    def _claimed(self, view: View, record: Record, began: Event, issued: _Issued) -> Iterator[Finding]:
        """The label, and the request key, are taken; the label is counted."""
        namespace = self._facts(view).by_base.get(record.namespace)
        if namespace is None:
            yield Finding("missing-triple", record.iri.value, f"its namespace {record.namespace} is not there")
            return
        holder = view.holder(label_node(namespace, record.label))
        if holder is None:
            yield Finding("claim-missing", record.iri.value, "its label is not marked as issued, and could be issued again")
        elif holder != record.iri:
            yield Finding("issued-twice", record.iri.value, f"its label is the same name as that of {holder.value}")
        key = began.text(IDS.requestDigest)
        if key is not None and view.holder(request_node(key)) is None:  # where registries were merged it may have made another here
            yield Finding("claim-missing", record.iri.value, "the request key that made it is not marked as used, and could make another")
        issued.add(namespace, record.label)

    # namespaces and parties

    def _registry_facts(self, view: View) -> Iterator[Finding]:
        known = set()
        for place, tell in self._told(view):
            known.add(place)
            yield from guarded("unreadable", place, self._facts_about(view, place, tell))
        for quad in [*view.quads(None, None, None, REGISTRY_GRAPH), *view.quads(None, IDS.suspended)]:
            if _text(quad.subject) not in known:
                yield Finding("unexplained-triple", _text(quad.subject), f"nothing in the log says {quad}")

    def _told(self, view: View) -> Iterator[tuple[str, Callable[[], list[Quad]]]]:
        """The namespaces and parties that the log knows, each with what gives its triples."""
        for base in self._values(view, IDS.about, IDS.NamespaceAddition):
            yield base.value, partial(self._namespace_told, view, base)
            yield from self._beside_told(view, base)
        for party in self._values(view, IDS.about, *_OF_PARTIES) | self._values(view, PROV.wasAssociatedWith, IDS.Initialization):
            yield party.value, partial(self._party_told, view, party_name(party))

    def _storage_facts(self, view: View) -> Iterator[Finding]:
        """File systems and directories, as the placements in the log give them."""
        told: set[Quad] = set()
        for storage in sorted(self._values(view, IDS.about, *OF_STORAGE), key=str):
            try:
                told.update(fold_storage([event for event, _ in self._history(view, storage)]).quads())
            except DAMAGED:
                yield Finding("event-changed", storage.value, "the events about it cannot be read")
        stored = set(view.quads(None, None, None, STORAGE_GRAPH))
        for place in sorted({quad.subject for quad in stored ^ told}, key=str):
            own, wanted = ({quad for quad in quads if quad.subject == place} for quads in (stored, told))
            yield from differences(own, wanted, _text(place))

    def _facts_about(self, view: View, place: str, tell: Callable[[], list[Quad]]) -> Iterator[Finding]:
        stored = {quad for quad in view.quads(NamedNode(place)) if quad.graph_name == REGISTRY_GRAPH or quad.predicate == IDS.suspended}
        yield from differences(stored, set(tell()), place)

    def _values(self, view: View, predicate: NamedNode, *kinds: NamedNode) -> set[NamedNode]:
        """What events of these kinds say by a predicate."""
        events = (quad.subject for kind in kinds for quad in view.quads(None, RDF.type, kind))
        found = (quad.object for event in events if isinstance(event, NamedNode) for quad in view.quads(event, predicate))
        return {value for value in found if isinstance(value, NamedNode)}

    def _namespace_told(self, view: View, base: NamedNode) -> list[Quad]:
        return [quad for quad in self._quads_told(view, base) if quad.subject == base]

    def _beside_told(self, view: View, base: NamedNode) -> Iterator[tuple[str, Callable[[], list[Quad]]]]:
        """What is said beside a namespace, as of its types; nothing if the log about it cannot be read, which is told of the namespace."""
        try:
            quads = self._quads_told(view, base)
        except DAMAGED:
            return
        for one in {quad.subject for quad in quads if quad.subject != base}:
            yield _text(one), partial(lambda one: [quad for quad in quads if quad.subject == one], one)

    def _quads_told(self, view: View, base: NamedNode) -> list[Quad]:
        return fold_namespace([event for event, _ in self._history(view, base)]).quads()

    def _party_told(self, view: View, name: str) -> list[Quad]:
        return party_state(self._folded_party(view, name))

    def _folded_party(self, view: View, name: str) -> PartyFacts:
        """What the log says of a party."""
        return fold_party(name, self._party_events(view, name))

    # what nothing explains

    def _claims(self, view: View, meter: Meter) -> Iterator[Finding]:
        for quad in meter.over(view.quads(None, None, None, CLAIMS)):
            yield from guarded("claim-unexplained", _text(quad.subject), self._claim(view, quad))

    def _claim(self, view: View, quad: Quad) -> Iterator[Finding]:
        """A label or request key is marked as taken by the identifier that has it."""
        beginning = self._first(view, quad.object) if isinstance(quad.object, NamedNode) else None
        if beginning is None:
            yield Finding("claim-unexplained", _text(quad.subject), f"marked as taken by {quad.object}, which no event created")
        elif not self._claims_rightly(view, beginning, quad.subject):
            yield Finding("claim-unexplained", _text(quad.subject), f"marked as taken by {quad.object}, whose label or key is another")

    def _claims_rightly(self, view: View, beginning: NamedNode, claimed: object) -> bool:
        if claimed == label_node(*self._named_by(view, beginning)):
            return True
        begun = (quad.subject for about in view.quads(beginning, IDS.about) for quad in view.quads(None, IDS.about, about.object))  # type: ignore[arg-type]
        keys = (quad.object for event in begun for quad in view.quads(event, IDS.requestDigest))  # type: ignore[arg-type]
        return any(isinstance(key, Literal) and request_node(key.value) == claimed for key in keys)

    def _strays(self, view: View, meter: Meter) -> Iterator[Finding]:
        """Triples about what no event created; a finding for each subject."""
        last: object = None
        for quad in meter.over(view.quads()):
            if quad.graph_name in (CLAIMS, REGISTRY_GRAPH, STORAGE_GRAPH) or quad.predicate == IDS.suspended or quad.subject == last:
                continue
            last = quad.subject
            kind = self._unexplained(view, last)
            if kind is not None:
                yield Finding(kind, _text(last), f"nothing in the log says {quad}")

    def _unexplained(self, view: View, subject: object) -> str | None:
        """What is wrong with a subject; None for an event, an identifier, a binding, a value: these were compared triple by triple."""
        if not isinstance(subject, NamedNode):
            return "unexplained-triple"
        if next(view.quads(subject, IDS.about), None) is not None:
            try:
                return None if view.catalogue.knows(subject.value) else "event-unlisted"
            except ValueError:
                return "event-unlisted"
        if self._first(view, subject) is not None:
            return None
        for of, kind in ((RDF.subject, "dangling-binding"), (IDS.valueOf, "dangling-value")):
            found = next(view.quads(subject, of), None)
            if found is not None:
                return kind if not isinstance(found.object, NamedNode) or self._first(view, found.object) is None else None
        return "unexplained-triple"

    def _listings(self, view: View, meter: Meter) -> Iterator[Finding]:
        for iri, times in meter.over(view.catalogue.listings()):
            if times > 1 or self._first(view, NamedNode(iri)) is None:
                yield Finding("listing", iri, f"it is listed {times} times" if times > 1 else "it is listed, and no event created it")

    def _miscounts(self, view: View, issued: _Issued) -> Iterator[Finding]:
        for place, message in view.catalogue.miscounts(issued.counts, issued.highest):
            yield Finding("counter", place, message)


def _begins(view: View, event: NamedNode) -> bool:
    return any(quad.object in BEGINNINGS for quad in view.quads(event, RDF.type))


def _text(term: object) -> str:
    return term.value if isinstance(term, NamedNode) else str(term)
