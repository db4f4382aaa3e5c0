"""Descriptions of parties: class and name of each party that owns, binds or acts, or that an event is about.

A party that was added, or that public triples name, is described in the registry graph. Any other party is
described in each private graph that names it, and nowhere else: its description is visible to those who see
what it did.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from pyoxigraph import NamedNode, Quad

from idstore.model.change import Change
from idstore.model.event import Event
from idstore.model.party import description, node
from idstore.model.record import Record
from idstore.stores.contract import View
from idstore.vocabulary import IDS, PROV, RDF, REGISTRY_GRAPH, hides, party_name

NAMING: Final = (PROV.wasAssociatedWith, PROV.wasAttributedTo, IDS.owner)
"""Properties whose values are parties that act."""

_PARTY: Final = node("").value
"""Beginning of the IRIs of parties."""
Naming: TypeAlias = tuple[str, NamedNode]
"""The name of a party, and a graph that names it."""


def named(quads: Iterable[Quad]) -> set[Naming]:
    """Return the parties that quads name, or describe publicly, each with the graph."""
    return set(namings(quads))


def namings(quads: Iterable[Quad]) -> Iterator[Naming]:
    """Yield the party that each quad names, or describes publicly, with the graph."""
    for quad in quads:
        graph = quad.graph_name
        assert isinstance(graph, NamedNode)
        if quad.predicate in NAMING or (quad.predicate == IDS.about and _is_party(quad.object)):
            assert isinstance(quad.object, NamedNode)
            yield party_name(quad.object), graph
        elif quad.object == IDS.Party and graph == REGISTRY_GRAPH:
            assert isinstance(quad.subject, NamedNode)
            yield party_name(quad.subject), graph


def named_in_record(record: Record) -> set[Naming]:
    """Return the parties that the triples of a record name, each with the graph."""
    return {(name, record.graph) for name in (record.owner, *(binding.by for binding in record.bindings))}


def named_in_events(events: Iterable[tuple[Event, NamedNode]]) -> set[Naming]:
    """Return the parties that did the events, or that the events are about, each with the graph."""
    names: set[Naming] = set()
    for event, graph in events:
        names.add((event.by, graph))
        about = NamedNode(event.about)
        if _is_party(about):
            names.add((party_name(about), graph))
    return names


def _is_party(term: object) -> bool:
    return isinstance(term, NamedNode) and term.value.startswith(_PARTY)


def descriptions(names: Collection[Naming], described: Collection[str] = ()) -> set[Quad]:
    """Return the descriptions of named parties.

    described  parties that the registry graph describes already; they need nothing.
    """
    public = {name for name, graph in names if not hides(graph)}
    places = {(name, REGISTRY_GRAPH if name in public else graph) for name, graph in names}
    return {quad for name, graph in places if name not in described for quad in description(name, graph)}


def with_descriptions(view: View, change: Change, described: Collection[str]) -> Change:
    """Return a change that also describes the parties that it names, and no longer those that it unnames.

    view       the state before the change.
    described  parties that the registry graph describes.
    Cost: nothing for described parties; for others some look-ups.
    """
    present = {naming for naming in _named_after(change) if naming[0] not in described}
    absent = {
        (name, graph)
        for name, graph in named(change.remove) - present
        if hides(graph) and name not in described
    }
    if not (present or absent):
        return change
    public = {name for name, graph in present if not hides(graph)}
    gone = [naming for name in public for naming in _described(view, name)]
    gone += [
        naming for naming in absent if naming[0] not in public and not _named_still(view, change, naming)
    ]
    new = [
        quad
        for quad in sorted(descriptions(present), key=str)
        if quad.graph_name == REGISTRY_GRAPH or next(view.quads(*quad), None) is None
    ]
    return replace(
        change,
        add=tuple(dict.fromkeys((*change.add, *new))),
        remove=(*change.remove, *(quad for naming in sorted(gone, key=str) for quad in description(*naming))),
    )


def _named_after(change: Change) -> set[Naming]:
    """Return the parties that the added triples name."""
    names = named(change.add) | named_in_events(change.events)
    for record in change.records():
        names |= named_in_record(record)
    return names


def _described(view: View, name: str) -> Iterator[Naming]:
    """Yield the party with each private graph that describes it."""
    for quad in view.quads(node(name), RDF.type, IDS.Party):
        if hides(quad.graph_name):
            assert isinstance(quad.graph_name, NamedNode)
            yield name, quad.graph_name


def _named_still(view: View, change: Change, naming: Naming) -> bool:
    """Return whether a graph names a party also after the change."""
    name, graph = naming
    removed = set(change.remove)
    return any(
        quad not in removed for predicate in NAMING for quad in view.quads(None, predicate, node(name), graph)
    )
