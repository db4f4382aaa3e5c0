"""Comparison of the stored data with the log."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Final

from pyoxigraph import Literal, NamedNode

from idstore.model.change import Claim
from idstore.model.event import Event, digest
from idstore.model.event import parse as parse_event
from idstore.model.listing import EventDetails, Series, listing_of
from idstore.model.names import target_number
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.terms import hashed
from idstore.progress import Meter, Progress, unwatched
from idstore.registry.fact_verification import FactVerification, is_of_party, shown
from idstore.registry.findings import DAMAGED, VerificationFinding, differences, guarded, is_public, misplaced
from idstore.registry.imports.replay import (
    BEGINNINGS,
    fold,
    home_of,
    request_node,
)
from idstore.registry.lookup import label_node
from idstore.registry.party_descriptions import Naming, named_in_events, named_in_record
from idstore.registry.requests import request_claim
from idstore.stores.contract import Snapshot, View
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, REGISTRY_GRAPH, STORAGE_GRAPH

_REMEMBERED: Final = 10_000
"""Identifiers whose first events are kept in memory."""


@dataclass(slots=True)
class _Issued:
    """Counts of issued labels by series, and the highest number of each.

    Memory: flat except for the series.
    """

    counts: Counter[Series] = field(default_factory=Counter)
    highest: Counter[Series] = field(default_factory=Counter)

    def add(self, namespace: Namespace, label: str) -> None:
        """Count a label."""
        series, number = namespace.scheme.series(label, namespace.context)
        key = (namespace.base, series)
        self.counts[key] += 1
        self.highest[key] = max(self.highest[key], number)


class Verification(FactVerification):
    """Replay of the whole log, and comparison with the stored data."""

    def verify(self, party: Party, progress: Progress = unwatched) -> Iterator[VerificationFinding]:
        """Yield every contradiction between the log and the stored data, without repair.

        Only administrators may. Damage yields findings and raises no errors. Raises NotPermitted,
        StoreUnavailable.
        Cost: every quad is read, in each index. Memory: flat except for namespaces, parties and series.
        """
        with self.store.snapshot() as view:
            if not self._administered(view, party):
                self.core.only_administrators(party)
            issued, labels, names = _Issued(), 0, set[Naming]()
            with suppress(*DAMAGED):
                labels = self._labels(view)
            parts = {
                "files": (
                    VerificationFinding("unreadable", "files", message) for message in view.faults(progress)
                ),
                "events": self._trail(view, progress, names),
                "identifiers": self._identifiers(view, Meter(progress, "identifiers", labels), issued, names),
                "namespaces and parties": self._registry_facts(view, names),
                "storage": self._storage_facts(view),
                "labels": self._claims(view, Meter(progress, "labels", labels)),
                "triples": self._strays(view, Meter(progress, "unexplained triples")),
                "lists": self._listings(view, Meter(progress, "lists", labels)),
                "counters": self._miscounts(view, issued),
            }
            for key, findings in parts.items():
                yield from guarded("unreadable", key, findings)

    def repair_counters(self, party: Party, progress: Progress = unwatched) -> None:
        """Recount the listed identifiers and the labels issued according to the log. Nothing else changes.

        Only administrators may. Raises NotPermitted, StoreUnavailable.
        """
        self.core.only_administrators(party, acting=True)
        with self.store.bulk() as bulk:
            issued = _Issued()
            for beginning, _ in Meter(progress, "identifiers").over(self._beginnings(bulk)):
                with suppress(*DAMAGED):
                    issued.add(*self._named_by(bulk, beginning))
            bulk.recount(issued.counts, issued.highest)

    def _administered(self, view: View, party: Party) -> bool:
        """Return whether the party is an administrator by the log, even if its triples are damaged."""
        try:
            return self._folded_party(view, party.name).administrator
        except DAMAGED:
            return False

    # events

    def _labels(self, view: View) -> int:
        """Return the number of issued labels according to the counters."""
        return sum(
            count
            for base in self.core.facts(view).by_base
            for count, _ in view.catalogue.series(base).values()
        )

    def _trail(self, view: View, progress: Progress, names: set[Naming]) -> Iterator[VerificationFinding]:
        """Check that sequence and publication numbers have no gaps and that each event is intact.

        names  takes the parties of the events.
        """
        last = published = 0
        for details in Meter(progress, "events", view.catalogue.sequence).over(view.catalogue.details()):
            row = details.row
            if row.sequence != last + 1:
                yield VerificationFinding(
                    "sequence-gap", f"#{last + 1}", f"the log has no event between {last} and {row.sequence}"
                )
            last = row.sequence
            published += row.publication is not None
            if (row.graph == PUBLIC_LOG.value) != (row.publication is not None):
                kind = "private-in-public" if row.publication else "publication-gap"
                yield VerificationFinding(
                    kind,
                    row.iri,
                    f"it is stored in {row.graph}, but its number in the public feed is {row.publication}",
                )
            yield from guarded("event-changed", row.iri, self._logged_event(view, details, names))
        if view.catalogue.sequence != last:
            yield VerificationFinding(
                "sequence-gap",
                f"#{last + 1}",
                f"the log ends with {last}, but {view.catalogue.sequence} events were accepted",
            )
        yield from self._feed(view, published)

    def _feed(self, view: View, published: int) -> Iterator[VerificationFinding]:
        after = 0
        while rows := view.catalogue.published(after, 1000):
            for expected, row in enumerate(rows, after + 1):
                if row.publication != expected:
                    yield VerificationFinding(
                        "publication-gap", row.iri, f"public event {row.publication} follows {expected - 1}"
                    )
                    return
            after += len(rows)
        if view.catalogue.publication != published:
            yield VerificationFinding(
                "publication-gap",
                f"#{published + 1}",
                f"{view.catalogue.publication} events were published, but {published} are stored",
            )

    def _logged_event(
        self, view: View, details: EventDetails, names: set[Naming]
    ) -> Iterator[VerificationFinding]:
        """Check that an event is unchanged, in its graph only, and listed correctly."""
        row, graph = details.row, NamedNode(details.row.graph or "")
        quads = list(view.quads(NamedNode(row.iri)))
        if not quads:
            yield VerificationFinding("event-missing", row.iri, f"event {row.sequence} is not in {row.graph}")
            return
        for other in sorted({quad.graph_name for quad in quads if quad.graph_name != graph}, key=str):
            kind = "event-changed" if is_public(graph) else misplaced(other, "event-changed")
            yield VerificationFinding(
                kind, row.iri, f"the event is stored in {other}, but belongs in {row.graph}"
            )
        event = parse_event(NamedNode(row.iri), [quad for quad in quads if quad.graph_name == graph])
        names |= named_in_events([(event, graph)])
        if digest(event) != details.digest:
            yield VerificationFinding(
                "event-changed",
                row.iri,
                f"event {row.sequence} ({event.act} of {event.about}) was altered",
            )
        if (event.act, hashed(event.about), event.by, event.moment, target_number(event)) != (
            details.act,
            details.about,
            details.actor,
            details.at,
            details.target,
        ):
            yield VerificationFinding(
                "listing",
                row.iri,
                f"the log lists it as {details.act} by {details.actor}, but it is {event.act} by {event.by}",
            )
        home = home_of(event, self.core.facts(view).by_base)
        if home is not None and home != graph:
            yield VerificationFinding(
                misplaced(graph, "event-changed"),
                row.iri,
                f"the event is stored in {row.graph}, but belongs in {home.value}",
            )

    # identifiers

    def _identifiers(
        self, view: View, meter: Meter, issued: _Issued, names: set[Naming]
    ) -> Iterator[VerificationFinding]:
        for beginning, about in meter.over(self._beginnings(view)):
            findings = self._identifier(view, beginning, about, issued, names)
            yield from guarded("unreadable", about.value, findings)

    def _beginnings(self, view: View) -> Iterator[tuple[NamedNode, NamedNode]]:
        """Yield the first event about each identifier, with the identifier."""
        for kind in sorted(BEGINNINGS, key=str):
            for quad in view.quads(None, RDF.type, kind):
                event = quad.subject
                for about in view.quads(event, IDS.about) if isinstance(event, NamedNode) else ():
                    if (
                        isinstance(event, NamedNode)
                        and isinstance(about.object, NamedNode)
                        and self._first(view, about.object) == event
                    ):
                        yield event, about.object

    def _first(self, view: View, about: NamedNode) -> NamedNode | None:
        """Return the first event of an identifier, or that of the lowest IRI if the order is unreadable."""
        events = {quad.subject for quad in view.quads(None, IDS.about, about)}
        begun = [event for event in events if isinstance(event, NamedNode) and _begins(view, event)]
        if not begun[1:]:
            return begun[0] if begun else None
        try:
            return min(
                (parse_event(event, view.quads(event)) for event in begun), key=lambda event: event.order
            ).node
        except DAMAGED:
            return min(begun, key=str)

    def _named_by(self, view: View, beginning: NamedNode) -> tuple[Namespace, str]:
        """Return the namespace and the label of a first event. Raises the errors of damaged data."""
        objects = {quad.predicate: quad.object for quad in view.quads(beginning)}
        base, label = objects[IDS.withNamespace], objects[IDS.withLabel]
        assert isinstance(base, NamedNode) and isinstance(label, Literal)
        return self.core.facts(view).by_base[base.value], label.value

    def _identifier(
        self, view: View, beginning: NamedNode, about: NamedNode, issued: _Issued, names: set[Naming]
    ) -> Iterator[VerificationFinding]:
        try:
            history = self.core.history(view, about)
            record = fold([event for event, _ in history])
        except DAMAGED:
            yield VerificationFinding("event-changed", about.value, "the events about it cannot be read")
            return
        assert record is not None
        if record.stage is not Stage.RELEASED:
            names |= named_in_record(record)
        yield from self._state(view, record)
        for event, graph in history:
            if graph != record.home(event):
                yield VerificationFinding(
                    misplaced(graph, "event-changed"),
                    event.iri,
                    f"the event is stored in {graph.value}, but belongs in {record.home(event).value}",
                )
        listed = view.catalogue.listed(about.value)
        listing = listing_of(record, new=False)
        if listed != (None if record.stage is Stage.RELEASED else listing):
            yield VerificationFinding(
                "listing", about.value, f"lists show it as {listed}, but it is {listing}"
            )
        yield from self._claimed(
            view, record, next(event for event, _ in history if event.node == beginning), issued
        )

    def _state(self, view: View, record: Record) -> Iterator[VerificationFinding]:
        """Compare a record, its bindings and its values, triple by triple."""
        stored = set(view.quads(record.node))
        for statement in {quad.subject for quad in view.quads(None, RDF.subject, record.node)}:
            stored.update(
                view.quads(statement)
                if isinstance(statement, NamedNode)
                else view.quads(None, RDF.subject, record.node)
            )
        for value in {quad.subject for quad in view.quads(None, IDS.valueOf, record.node)}:
            stored.update(
                view.quads(value)
                if isinstance(value, NamedNode)
                else view.quads(None, IDS.valueOf, record.node)
            )
        yield from differences(stored, set(record.quads()), record.iri)

    def _claimed(
        self, view: View, record: Record, began: Event, issued: _Issued
    ) -> Iterator[VerificationFinding]:
        """Check that the label and the request key are taken, and count the label."""
        namespace = self.core.facts(view).by_base.get(record.namespace)
        if namespace is None:
            yield VerificationFinding(
                "missing-triple", record.iri, f"its namespace {record.namespace} is not stored"
            )
            return
        claim = view.claim(label_node(namespace, record.label))
        if claim is None:
            yield VerificationFinding(
                "claim-missing",
                record.iri,
                "its label is not marked as issued and could be issued again",
            )
        elif claim.holder != record.node:
            yield VerificationFinding(
                "issued-twice",
                record.iri,
                f"its label equals that of {claim.holder.value}",
            )
        key = began.text(IDS.requestDigest)
        # after a merge of registries the key can belong to another identifier here
        if key is not None and view.claim(request_node(key)) is None:
            yield VerificationFinding(
                "claim-missing",
                record.iri,
                "its request key is not marked as used and could create another identifier",
            )
        issued.add(namespace, record.label)

    # unexplained data

    def _claims(self, view: Snapshot, meter: Meter) -> Iterator[VerificationFinding]:
        for claim in meter.over(view.claims()):
            yield from guarded("claim-unexplained", claim.key.value, self._claim(view, claim))

    def _claim(self, view: View, claim: Claim) -> Iterator[VerificationFinding]:
        """Check that a taken label or request key belongs to the identifier that holds it."""
        beginning = self._first(view, claim.holder)
        if beginning is None:
            yield VerificationFinding(
                "claim-unexplained",
                claim.key.value,
                f"marked as taken by {claim.holder}, which no event created",
            )
        elif claim not in self._expected_claims(view, beginning, claim.holder):
            message = f"marked as taken by {claim.holder}, which has another label or another request key"
            yield VerificationFinding("claim-unexplained", claim.key.value, message)

    def _expected_claims(self, view: View, beginning: NamedNode, holder: NamedNode) -> Iterator[Claim]:
        """Yield the claims of an identifier according to the log."""
        yield Claim(label_node(*self._named_by(view, beginning)), holder)
        for about in view.quads(None, IDS.about, holder):
            for quad in (
                view.quads(about.subject, IDS.requestDigest) if isinstance(about.subject, NamedNode) else ()
            ):
                if isinstance(quad.object, Literal):
                    yield request_claim(quad.object.value, holder)

    def _strays(self, view: View, meter: Meter) -> Iterator[VerificationFinding]:
        """Yield a finding for each subject that no event created."""
        first = lru_cache(_REMEMBERED)(partial(self._first, view))  # one identifier may have many bindings
        last: object = None
        for quad in meter.over(view.quads()):
            if (
                quad.graph_name in (REGISTRY_GRAPH, STORAGE_GRAPH)
                or is_of_party(quad)
                or quad.subject == last
            ):
                continue
            last = quad.subject
            kind = self._unexplained(view, last, first)
            if kind is not None:
                yield VerificationFinding(
                    kind, shown(last), f"{quad} is stored, but does not follow from the log"
                )

    def _unexplained(
        self, view: View, subject: object, first: Callable[[NamedNode], NamedNode | None]
    ) -> str | None:
        """Return the kind of finding for a subject that no event created.

        first  returns the first event of an identifier.
        Returns None for an event, an identifier, a binding or a value, which were compared triple by triple.
        """
        if not isinstance(subject, NamedNode):
            return "unexplained-triple"
        if next(view.quads(subject, IDS.about), None) is not None:
            try:
                return None if view.catalogue.knows(subject.value) else "event-unlisted"
            except ValueError:
                return "event-unlisted"
        if first(subject) is not None:
            return None
        for of, kind in ((RDF.subject, "dangling-binding"), (IDS.valueOf, "dangling-value")):
            link = next(view.quads(subject, of), None)
            if link is not None:
                return kind if not isinstance(link.object, NamedNode) or first(link.object) is None else None
        return "unexplained-triple"

    def _listings(self, view: View, meter: Meter) -> Iterator[VerificationFinding]:
        for iri, times in meter.over(view.catalogue.listings()):
            if times > 1 or self._first(view, NamedNode(iri)) is None:
                yield VerificationFinding(
                    "listing",
                    iri,
                    f"it is listed {times} times" if times > 1 else "it is listed, but no event created it",
                )

    def _miscounts(self, view: View, issued: _Issued) -> Iterator[VerificationFinding]:
        for key, message in view.catalogue.miscounts(issued.counts, issued.highest):
            yield VerificationFinding("counter", key, message)


def _begins(view: View, event: NamedNode) -> bool:
    return any(quad.object in BEGINNINGS for quad in view.quads(event, RDF.type))
