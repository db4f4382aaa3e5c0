"""The triples of a registry in an order that depends on nothing but its state."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from heapq import merge
from typing import Final

from pyoxigraph import NamedNode, Quad

from idstore.frozen import dataclass
from idstore.model.namespace import TRUE
from idstore.model.party import Party
from idstore.model.record import Record, reserved
from idstore.registry.core import Core, Sight
from idstore.stores import View
from idstore.stores.catalogue import Selection
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, REGISTRY_GRAPH, STORAGE_GRAPH, access_list, closed_party

Spelled = tuple[str, Quad]
"""A quad, and its text in N-Quads, but for the dot."""
_TYPE: Final = f" {RDF.type} "


@dataclass(frozen=True, slots=True)
class Extract:
    """What to export; without restrictions, by an administrator, it is everything and can be read back without loss.

    since  only identifiers created at this moment (milliseconds since 1970) or later.
    """

    namespace: str | None = None
    stage: str | None = None
    since: int | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self == Extract()

    def chooses(self, record: Record) -> bool:
        """Whether stage and moment of a record are among those wanted."""
        return self.stage in (None, record.stage) and record.created >= (self.since or 0)


class Exporting(Core):
    """Reading everything out."""

    @contextmanager
    def quads(self, party: Party, extract: Extract = Extract()) -> Iterator[Iterator[Quad]]:
        """What the party may see, subjects together, in an order that only the state decides; the present state while the block runs.

        A partial extract says so by ``ids:partial``. Memory: flat, but for namespaces, parties and the grants of fixated identifiers.
        Raises UnknownNamespace.
        """
        with self.spelled(party, extract) as found:
            yield (quad for _, quad in found)

    @contextmanager
    def spelled(self, party: Party, extract: Extract = Extract()) -> Iterator[Iterator[Spelled]]:
        """As `quads`, each with its text, by which it was put in order: to spell one takes a sixth as long as to read it."""
        with self.store.reading() as view:
            sight = self.sight(view, party)
            yield self._whole(view, sight) if extract.whole else self._part(view, sight, extract, party)

    @contextmanager
    def records(self, party: Party, extract: Extract = Extract()) -> Iterator[Iterator[Record]]:
        """The records that the party may see, as much of each as it may see, by IRI; the present state while the block runs.

        Memory: flat. Raises UnknownNamespace.
        """
        with self.store.reading() as view:
            base = None if extract.namespace is None else self._namespace(view, extract.namespace).base
            yield self._records(view, self.sight(view, party), extract, base)

    def _records(self, view: View, sight: Sight, extract: Extract, base: str | None) -> Iterator[Record]:
        public = [view.catalogue.sorted_identifiers(namespace=one) for one in self._facts(view).by_base if base in (None, one)]
        seen = [graph for graph in view.graphs() if access_list(graph) is not None and sight.sees(graph)]
        for iri in merge(*public, *(view.catalogue.sorted_identifiers(audience=graph.value) for graph in seen)):
            record = self._load(view, NamedNode(iri), sight)
            if (base or record.namespace) == record.namespace and extract.chooses(record):
                yield record

    def _whole(self, view: View, sight: Sight) -> Iterator[Spelled]:
        if not sight.everything:
            yield _partial()
        yield from _sorted(view.quads(None, None, None, REGISTRY_GRAPH))
        yield from _sorted(view.quads(None, None, None, STORAGE_GRAPH))
        for base in sorted(self._facts(view).by_base):
            graph = NamedNode(base)
            for iri in view.catalogue.sorted_identifiers(namespace=base):
                yield from _record(view, NamedNode(iri), graph)
        for graph in sorted(filter(sight.sees, view.graphs()), key=lambda one: one.value):
            if access_list(graph) is not None or closed_party(graph) is not None:
                yield from _private(view, graph)
        yield from _events(view, PUBLIC_LOG)

    def _part(self, view: View, sight: Sight, extract: Extract, party: Party) -> Iterator[Spelled]:
        yield _partial()
        base = None
        if extract.namespace is not None:
            namespace = self._namespace(view, extract.namespace)
            base = namespace.base
            yield from _sorted(namespace.quads())
        chosen = Selection(self.audiences(view, party), namespace=base, stage=extract.stage, since=extract.since)
        for iri in sorted(view.catalogue.identifiers(chosen, None)):
            yield from self._one(view, NamedNode(iri), sight)

    def _one(self, view: View, iri: NamedNode, sight: Sight) -> Iterator[Spelled]:
        """A record, its bindings and its events."""
        graphs = {quad.graph_name for quad in (*view.quads(iri), *view.quads(None, IDS.valueOf, iri))}
        for graph in sorted((graph for graph in graphs if isinstance(graph, NamedNode) and sight.sees(graph)), key=lambda one: one.value):
            yield from _record(view, iri, graph)
        for event, graph in self._history(view, iri, sight):
            yield from _sorted(event.quads(graph))


def _record(view: View, iri: NamedNode, graph: NamedNode) -> Iterator[Spelled]:
    """A record, its bindings and its values, as far as they are kept in ``graph``."""
    own = _sorted(view.quads(iri, None, None, graph))
    yield from own
    bound = not all(reserved(quad.predicate) for _, quad in own)  # each binding is there as a plain triple as well
    for of in (RDF.subject, IDS.valueOf) if bound else (IDS.valueOf,):
        for beside in sorted((quad.subject for quad in view.quads(None, of, iri, graph)), key=str):
            assert isinstance(beside, NamedNode)
            yield from _sorted(view.quads(beside, None, None, graph))


def _private(view: View, graph: NamedNode) -> Iterator[Spelled]:
    """Everything in an access list's graph, or in a party's closed log."""
    for iri in view.catalogue.sorted_identifiers(audience=graph.value):
        yield from _record(view, NamedNode(iri), graph)
    yield from _sorted(_left(view, graph))
    yield from _events(view, graph)


def _left(view: View, graph: NamedNode) -> Iterator[Quad]:
    """What is kept in the graph of identifiers whose records are elsewhere, and suspensions."""
    for predicate in (IDS.grantee, IDS.bindGrantee, IDS.offeredTo, IDS.suspended):
        for quad in view.quads(None, predicate, None, graph):
            assert isinstance(quad.subject, NamedNode)
            if next(view.quads(quad.subject, IDS.stage, None, graph), None) is None:
                yield quad
    for quad in view.quads(None, IDS.valueOf, None, graph):
        assert isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode)
        if next(view.quads(quad.object, IDS.stage, None, graph), None) is None:
            yield from view.quads(quad.subject, None, None, graph)


def _events(view: View, graph: NamedNode) -> Iterator[Spelled]:
    for iri in view.catalogue.ordered_events(graph.value):
        yield from _sorted(view.quads(NamedNode(iri), None, None, graph))


def _sorted(quads: Iterable[Quad]) -> list[Spelled]:
    """Sorted by subject, its class first, then by predicate and object. Cost: a third of comparing terms."""
    return sorted([(str(quad), quad) for quad in quads], key=_order)


def _order(spelled: Spelled) -> str:
    return spelled[0].replace(_TYPE, " ! ", 1)


def _partial() -> Spelled:
    quad = Quad(REGISTRY_GRAPH, IDS.partial, TRUE, REGISTRY_GRAPH)
    return str(quad), quad
