"""Comparison of namespaces, parties and storage with the log."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

from pyoxigraph import NamedNode, Quad

from idstore.model.party import OF_PARTIES, PartyFacts, node
from idstore.model.storage import fold as fold_storage
from idstore.registry.findings import DAMAGED, VerificationFinding, differences, guarded
from idstore.registry.imports.replay import (
    OF_STORAGE,
    Replay,
    fold_namespace,
    fold_party,
    party_state,
)
from idstore.registry.party_descriptions import Naming, descriptions
from idstore.stores.contract import View
from idstore.vocabulary import IDS, PROV, RDF, REGISTRY_GRAPH, STORAGE_GRAPH, party_name

_PARTY = node("").value


class FactVerification(Replay):
    """Compares what the registry graph says with the log."""

    def _registry_facts(self, view: View, names: set[Naming]) -> Iterator[VerificationFinding]:
        """Yield the triples about namespaces and parties that contradict the log."""
        explained = set()
        for key, expected_quads in self._expected(view, names):
            explained.add(key)
            yield from guarded("unreadable", key, self._facts_about(view, key, expected_quads))
        stored = (
            view.quads(None, None, None, REGISTRY_GRAPH),
            view.quads(None, IDS.suspended),
            filter(is_of_party, view.quads(None, RDF.type, IDS.Party)),
            filter(is_of_party, view.quads(None, IDS.name)),
        )
        for quad in dict.fromkeys(chain(*stored)):
            if shown(quad.subject) not in explained:
                yield VerificationFinding(
                    "unexplained-triple",
                    shown(quad.subject),
                    f"{quad} is stored, but does not follow from the log",
                )

    def _expected(self, view: View, names: set[Naming]) -> Iterator[tuple[str, Callable[[], list[Quad]]]]:
        """Yield the IRIs of namespaces and parties in the log, each with a function for its quads."""
        for base in self._values(view, IDS.about, IDS.NamespaceAddition):
            yield base.value, partial(self._namespace_quads, view, base)
            yield from self._namespace_parts(view, base)
        parties = self._values(view, IDS.about, *OF_PARTIES)
        parties |= self._values(view, PROV.wasAssociatedWith, IDS.Initialization)
        graphs: dict[str, set[NamedNode]] = {party_name(party): set() for party in parties}
        for name, graph in names:
            graphs.setdefault(name, set()).add(graph)
        for name, naming in graphs.items():
            yield node(name).value, partial(self._party_quads, view, name, naming)

    def _storage_facts(self, view: View) -> Iterator[VerificationFinding]:
        """Compare file systems and directories with the placements in the log."""
        expected: set[Quad] = set()
        for storage in sorted(self._values(view, IDS.about, *OF_STORAGE), key=str):
            try:
                expected.update(
                    fold_storage([event for event, _ in self.core.history(view, storage)]).quads()
                )
            except DAMAGED:
                yield VerificationFinding(
                    "event-changed", storage.value, "the events about it cannot be read"
                )
        stored = set(view.quads(None, None, None, STORAGE_GRAPH))
        for key in sorted({quad.subject for quad in stored ^ expected}, key=str):
            own, expected_here = (
                {quad for quad in quads if quad.subject == key} for quads in (stored, expected)
            )
            yield from differences(own, expected_here, shown(key))

    def _facts_about(
        self, view: View, key: str, expected: Callable[[], list[Quad]]
    ) -> Iterator[VerificationFinding]:
        stored = {
            quad
            for quad in view.quads(NamedNode(key))
            if quad.graph_name == REGISTRY_GRAPH or is_of_party(quad)
        }
        yield from differences(stored, set(expected()), key)

    def _values(self, view: View, predicate: NamedNode, *kinds: NamedNode) -> set[NamedNode]:
        """Return the objects of a predicate in events of these kinds."""
        events = (quad.subject for kind in kinds for quad in view.quads(None, RDF.type, kind))
        values = (
            quad.object
            for event in events
            if isinstance(event, NamedNode)
            for quad in view.quads(event, predicate)
        )
        return {value for value in values if isinstance(value, NamedNode)}

    def _namespace_quads(self, view: View, base: NamedNode) -> list[Quad]:
        return [quad for quad in self._all_namespace_quads(view, base) if quad.subject == base]

    def _namespace_parts(self, view: View, base: NamedNode) -> Iterator[tuple[str, Callable[[], list[Quad]]]]:
        """Yield the further nodes of a namespace, such as its types.

        Yields nothing if the log about it is unreadable, which is a finding about the namespace.
        """
        try:
            quads = self._all_namespace_quads(view, base)
        except DAMAGED:
            return
        for part in {quad.subject for quad in quads if quad.subject != base}:
            yield shown(part), partial(lambda part: [quad for quad in quads if quad.subject == part], part)

    def _all_namespace_quads(self, view: View, base: NamedNode) -> list[Quad]:
        return fold_namespace([event for event, _ in self.core.history(view, base)]).quads()

    def _party_quads(self, view: View, name: str, graphs: Iterable[NamedNode]) -> list[Quad]:
        """Return the quads of a party that events and records in these graphs name."""
        facts = self._folded_party(view, name)
        described = {name} if facts.added else set()
        return [*party_state(facts), *descriptions({(name, graph) for graph in graphs}, described)]

    def _folded_party(self, view: View, name: str) -> PartyFacts:
        """Return the facts about a party according to the log."""
        return fold_party(name, self._party_events(view, name))


def is_of_party(quad: Quad) -> bool:
    """Return whether a quad says something of a party that private graphs may say."""
    return quad.predicate == IDS.suspended or (
        shown(quad.subject).startswith(_PARTY)
        and (quad.predicate == IDS.name or (quad.predicate, quad.object) == (RDF.type, IDS.Party))
    )


def shown(term: object) -> str:
    """Return a term in a finding: an IRI without brackets."""
    return term.value if isinstance(term, NamedNode) else str(term)
