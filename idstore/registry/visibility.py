"""Read rights: the sight of a party, the graphs that it allows, and the quads in them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyoxigraph import NamedNode, Quad

from idstore.errors import NotPermitted, UnknownNamespace
from idstore.model import event as events
from idstore.model import times
from idstore.model.filter import Filter
from idstore.model.listing import Selection
from idstore.model.namespace import Namespace
from idstore.model.party import Party, PartyFacts
from idstore.model.terms import Term
from idstore.registry.facts import Facts, read_facts
from idstore.remedies import Remedy
from idstore.stores.contract import Store, View
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, REGISTRY_GRAPH, STORAGE_GRAPH, access_list, closed_party

_FEW: Final = 100
"""Most graphs that are queried one by one."""
_WITHOUT_RECORDS: Final = frozenset({REGISTRY_GRAPH, STORAGE_GRAPH, PUBLIC_LOG})
_VERSIONS: Final = 4
"""Versions of parties and namespaces that are cached: the newest, and those of snapshots in use."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The read rights of a party: its names and groups, or everything for an administrator."""

    names: frozenset[str]
    party: str
    everything: bool

    @property
    def public(self) -> bool:
        """Whether it sees what everyone sees, and nothing else."""
        return not self.everything and not self.party and self.names <= {""}

    def sees(self, graph: NamedNode) -> bool:
        """Return whether the quads of ``graph`` may be shown."""
        if self.everything:
            return True
        listed = access_list(graph)
        if listed is not None:
            return not self.names.isdisjoint(listed)
        closed = closed_party(graph)
        return closed is None or closed == self.party


EVERYONE: Final = Sight(frozenset(), "", everything=False)
"""The sight of the public; a group has the same."""


class Visibility:
    """Parties, namespaces, and the read rights of each party. Safe for concurrent threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._facts_cache: tuple[Facts, ...] = ()
        self._graphs_cache: tuple[int, Sight, tuple[NamedNode, ...]] | None = None

    # parties and namespaces

    def facts(self, view: View) -> Facts:
        """Return every party and namespace. Cost: a read of the registry graph after it changed."""
        version, kept = view.registry_version, self._facts_cache
        for facts in kept:
            if facts.version == version:
                return facts
        facts = read_facts(view, version, self.homes)
        self._facts_cache = (facts, *kept[: _VERSIONS - 1])
        return facts

    def homes(self, view: View) -> frozenset[str]:
        """Return the stores whose whole log is this registry's own: this one, and those it is a copy of."""
        begun = (quad.subject for quad in view.quads(None, RDF.type, IDS.Initialization))
        return frozenset(
            {
                self.store.origin,
                *(events.origin_of(event.value) for event in begun if isinstance(event, NamedNode)),
            }
        )

    def party_facts(self, view: View, party: Party) -> PartyFacts:
        """Return what the registry knows of a party; a party that was never added is a user.

        Of the groups that its sign-in names, those count that the registry has.
        """
        parties = self.facts(view).parties
        facts = parties.get(party.name) or PartyFacts(party.name)
        groups = {name for name in party.groups if name in parties and parties[name].kind == "group"}
        return replace(facts, groups=facts.groups | groups) if groups else facts

    def namespace(self, view: View, name: str) -> Namespace:
        """Return the namespace with that name or base. Raises UnknownNamespace."""
        facts = self.facts(view)
        namespace = facts.by_name.get(name) or facts.by_base.get(name)
        if namespace is None:
            raise UnknownNamespace(name)
        return namespace

    def home(self, base: str) -> Namespace:
        """Return the namespace with that base, of a record that this registry returned.

        Mostly this reads nothing, because reading the record has cached the namespace.
        """
        cached = [facts for facts in self._facts_cache if base in facts.by_base]
        if cached:
            return max(cached, key=lambda facts: facts.version).by_base[base]
        return self.store.read(lambda view: self.namespace(view, base))

    # administrators

    def require_administrator(self, view: View, party: Party, act: str) -> None:
        """Raise NotPermitted unless the party is an administrator.

        act  the act, for the message: a verb phrase.
        """
        if not self.party_facts(view, party).administrator:
            raise NotPermitted(
                f"only administrators may {act}; {_caller(party)} is not one", party=party.name
            )

    def no_administrator(self, view: View, party: Party) -> NotPermitted:
        """Return the error for a party that is not an administrator, or for a registry without any."""
        initialised = any(facts.administrator for facts in self.facts(view).parties.values())
        reason = (
            f"{_caller(party)} is not one"
            if initialised
            else "there is none, because the initialisation of the store was interrupted; initialise it again"
        )
        return NotPermitted(
            f"only administrators may do this; {reason}",
            remedy=None if initialised else Remedy.INITIALISE,
            party=party.name,
        )

    # sight

    def sight(self, view: View, party: Party) -> Sight:
        """Return the read rights of a party.

        A group has those of the public: its members read by their own names.
        """
        facts = self.party_facts(view, party)
        return EVERYONE if facts.kind == "group" else Sight(facts.names, party.name, facts.administrator)

    def audiences(self, view: View, party: Party) -> frozenset[str] | None:
        """Return the private graphs that a party sees; None: all of them."""
        sight = self.sight(view, party)
        if sight.everything:
            return None
        return frozenset(graph.value for graph in self._named_graphs(view, sight) if is_private(graph))

    def selection(self, view: View, party: Party, filter: Filter) -> Selection:
        """Return the catalogue's selection for a filter of a party. Raises UnknownNamespace."""
        base = None if filter.namespace is None else self.namespace(view, filter.namespace).base
        return Selection(
            audiences=self.audiences(view, party),
            namespace=base,
            owner=filter.party,
            stage=filter.stage,
            since=None if filter.since is None else times.milliseconds(filter.since),
            until=None if filter.until is None else times.milliseconds(filter.until),
        )

    def graphs(self, view: View, sight: Sight) -> list[NamedNode]:
        """Return the graphs that ``sight`` allows and that are not empty.

        The engine also names emptied graphs, and a name reveals a grant list. Cost: some 10 µs for each
        visible graph.
        """
        return [
            graph
            for graph in self._named_graphs(view, sight)
            if any_quad(view.quads(None, None, None, graph))
        ]

    def _named_graphs(self, view: View, sight: Sight) -> Sequence[NamedNode]:
        """Return the graphs that ``sight`` allows, including emptied ones.

        The result is cached by the number of the last event. Acts do not use it, because a refused act leaves
        its numbers to others. Cost: some 10 µs for each graph of the store after a change.
        """
        kept, sequence = self._graphs_cache, view.catalogue.sequence
        if kept is None or kept[:2] != (sequence, sight):
            kept = self._graphs_cache = (sequence, sight, tuple(filter(sight.sees, view.graphs())))
        return kept[2]

    def private_graphs(self, view: View, sight: Sight) -> Sequence[NamedNode] | None:
        """Return the restricted graphs of records that ``sight`` allows; None if they are too many to query.

        Acts do not use it: see `_named_graphs`.
        """
        seen = [graph for graph in self._named_graphs(view, sight) if access_list(graph) is not None]
        return seen if len(seen) <= _FEW else None

    def visible_abouts(self, view: View, sight: Sight, about: NamedNode) -> Iterator[Quad]:
        """Yield the quads by which the events that ``sight`` allows are about a node.

        As in `visible_quads`, but only graphs that hold events are queried.
        """
        own = () if sight.everything or sight.public else self._named_graphs(view, sight)
        return _matching(view, sight, [PUBLIC_LOG, *filter(is_private, own)], None, IDS.about, about)

    def visible_quads(
        self,
        view: View,
        sight: Sight,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        *,
        of_records: bool = False,
    ) -> Iterator[Quad]:
        """Yield the matching quads that ``sight`` allows.

        of_records  the quads of records suffice; events beside some of them may be included.
        Each visible graph is queried alone, so that the time does not depend on hidden matches. All matches
        are read if more than `_FEW` graphs are visible, and for a party that sees everything.
        """
        seen = () if sight.everything else self._named_graphs(view, sight)
        if of_records:
            seen = [graph for graph in seen if graph not in _WITHOUT_RECORDS]
        return _matching(view, sight, seen, subject, predicate, value)


def _matching(
    view: View,
    sight: Sight,
    graphs: Collection[NamedNode],
    subject: NamedNode | None,
    predicate: NamedNode | None,
    value: Term | None,
) -> Iterator[Quad]:
    """Yield the matching quads in some graphs, or in all that ``sight`` allows if the graphs are many."""
    if sight.everything or len(graphs) > _FEW:
        yield from (quad for quad in view.quads(subject, predicate, value) if sight.sees(graph_of(quad)))
    else:
        for graph in graphs:
            yield from view.quads(subject, predicate, value, graph)


def is_private(graph: NamedNode) -> bool:
    """Return whether a graph is hidden from the public."""
    return access_list(graph) is not None or closed_party(graph) is not None


def graph_of(quad: Quad) -> NamedNode:
    """Return the graph of a stored quad; each has one."""
    assert isinstance(quad.graph_name, NamedNode)
    return quad.graph_name


def any_quad(quads: Iterator[Quad]) -> bool:
    """Return whether the iterator yields a quad."""
    return next(quads, None) is not None


def _caller(party: Party) -> str:
    return party.name or "a caller without a sign-in"
