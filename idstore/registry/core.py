"""What every use case stands on: who sees what, reading records, and turning an event into a change."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import InvalidData, NotPermitted, NotRegistered, StageConflict, UnknownNamespace, UnknownScheme
from idstore.frozen import dataclass, field, replace
from idstore.model import event as events
from idstore.model import namespace as namespaces
from idstore.model import record as records
from idstore.model.change import Change, Entry, entry_of
from idstore.model.event import Event
from idstore.model.namespace import Namespace
from idstore.model.party import Party, PartyFacts, party_of
from idstore.model.record import Record, Stage
from idstore.model.steps import apply
from idstore.model.terms import Term, named
from idstore.stores import Store, Turn, View
from idstore.stores.blocks import block
from idstore.stores.scans import anything
from idstore.vocabulary import (
    CLAIMS,
    IDS,
    PUBLIC_LOG,
    RDF,
    REGISTRY_GRAPH,
    STORAGE_GRAPH,
    access_graph,
    access_list,
    closed_party,
    party_name,
)

_FEW: Final = 100
"""Graphs that are asked one by one, at most."""
_WITHOUT_RECORDS: Final = frozenset({REGISTRY_GRAPH, STORAGE_GRAPH, PUBLIC_LOG})
_KINDS = {IDS.User: "user", IDS.Group: "group", IDS.Administrator: "administrator"}


@dataclass(frozen=True, slots=True)
class Sight:
    """What a party sees: its names, or everything for an administrator."""

    names: frozenset[str]
    party: str
    everything: bool

    def sees(self, graph: NamedNode) -> bool:
        """Whether what is kept in ``graph`` may be shown."""
        if graph == CLAIMS:
            return False
        if self.everything:
            return True
        listed = access_list(graph)
        if listed is not None:
            return not self.names.isdisjoint(listed)
        closed = closed_party(graph)
        return closed is None or closed == self.party


@dataclass(frozen=True, slots=True)
class _Facts:
    """Parties and namespaces as of one version of the registry graph.

    parties  not shown where an error's traceback shows variables: they tell who is suspended, and why.
    """

    version: int
    parties: dict[str, PartyFacts] = field(repr=False)
    by_name: dict[str, Namespace]
    by_base: dict[str, Namespace]


class Core:
    """Shared by the use cases; `Registry` is made of them. Safe for many threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._facts_now: _Facts | None = None
        self._graphs_now: tuple[int, Sight, tuple[NamedNode, ...]] | None = None

    def close(self) -> None:
        """Give the store up. What was acknowledged is kept."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # parties and namespaces

    def _facts(self, view: View) -> _Facts:
        known, version = self._facts_now, view.registry_version
        if known is None or known.version != version:
            known = self._facts_now = _read_facts(view, version, self.homes)
        return known

    def homes(self, view: View) -> frozenset[str]:
        """The stores of which all that happened is this registry's own: this one, and those that it is a copy of."""
        begun = (quad.subject for quad in view.quads(None, RDF.type, IDS.Initialization))
        return frozenset({self.store.origin, *(events.origin_of(event.value) for event in begun if isinstance(event, NamedNode))})

    def facts(self, view: View, party: Party) -> PartyFacts:
        """What the registry knows of a party; one that only acts is a user."""
        return self._facts(view).parties.get(party.name) or PartyFacts(party.name)

    def sight(self, view: View, party: Party) -> Sight:
        """What a party sees; whoever comes under the name of a group sees what everyone sees, for its members see by their own names."""
        facts = self.facts(view, party)
        if facts.kind == "group":
            return Sight(frozenset(), "", everything=False)
        return Sight(facts.names, party.name, facts.administrator)

    def administers(self, party: Party) -> bool:
        """Whether a party administers the registry."""
        with self.store.reading() as view:
            return self.facts(view, party).administrator

    def only_administrators(self, party: Party, *, acting: bool = False) -> None:
        """Raise NotPermitted unless the party administers the registry; also if it is suspended, where it is to act and not only to read."""
        with self.store.reading() as view:
            if not self.facts(view, party).administrator:
                begun = any(facts.administrator for facts in self._facts(view).parties.values())
                none = (
                    f"{party.name} is none"
                    if begun
                    else "there is none, for the making of the store was cut short; end it with `idstore init`"
                )
                raise NotPermitted(f"only administrators may do this, and {none}", party=party.name)
            if acting:
                self._may_act(view, party)

    def pristine(self) -> bool:
        """Whether nothing has happened yet but, at most, the registry's beginning."""
        with self.store.reading() as view:
            return view.catalogue.counts()[1] <= 1

    def audiences(self, view: View, party: Party) -> frozenset[str] | None:
        """The private graphs that a party sees; None: all of them."""
        sight = self.sight(view, party)
        if sight.everything:
            return None
        return frozenset(graph.value for graph in self._named_graphs(view, sight) if _private(graph))

    def _graphs(self, view: View, sight: Sight) -> list[NamedNode]:
        """The graphs that ``sight`` allows, as far as something is kept in them.

        The engine goes on naming those that were emptied, and a name tells a grant list. Cost: some 10 µs for each graph that is seen.
        """
        return [graph for graph in self._named_graphs(view, sight) if anything(view.quads(None, None, None, graph))]

    def _named_graphs(self, view: View, sight: Sight) -> Sequence[NamedNode]:
        """The graphs that ``sight`` allows, those included that were emptied. Cost: some 10 µs for each graph of the store after a change."""
        known, applied = self._graphs_now, view.catalogue.applied
        if known is None or known[:2] != (applied, sight):
            known = self._graphs_now = (applied, sight, tuple(filter(sight.sees, view.graphs())))
        return known[2]

    def _seen_quads(
        self,
        view: View,
        sight: Sight,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        *,
        of_records: bool = False,
    ) -> Iterator[Quad]:
        """The quads that match and that ``sight`` allows.

        of_records  what records say is enough; the events beside some of them may be among it.
        Each graph that is seen is asked for them, so that it takes no longer where others hide many that match; where they are more than
        `_FEW`, and for whoever sees everything, all are read.
        """
        seen = () if sight.everything else self._named_graphs(view, sight)
        if of_records:
            seen = [graph for graph in seen if graph not in _WITHOUT_RECORDS]
        if sight.everything or len(seen) > _FEW:
            yield from (quad for quad in view.quads(subject, predicate, value) if sight.sees(_graph(quad)))
        else:
            for graph in seen:
                yield from view.quads(subject, predicate, value, graph)

    def _namespace(self, view: View, name: str) -> Namespace:
        """The namespace of that name or base. Raises UnknownNamespace."""
        facts = self._facts(view)
        found = facts.by_name.get(name) or facts.by_base.get(name)
        if found is None:
            raise UnknownNamespace(name)
        return found

    def home(self, record: Record) -> Namespace:
        """The namespace of a record that this registry gave. Nothing is read for it, nor waited for: it was looked at to give the record."""
        facts = self._facts_now
        assert facts is not None
        return facts.by_base[record.namespace]

    # taking the turn

    @block
    def _acting(self, party: Party) -> Iterator[Turn]:
        """Take the turn for a party. Raises NotPermitted if it is suspended, or a group."""
        with self.store.turn() as turn:
            self._may_act(turn, party)
            yield turn

    def _may_own(self, view: View, party: Party) -> None:
        """Raise InvalidData for a group: it could not accept."""
        if self.facts(view, party).kind == "group":
            raise InvalidData(f"{party.name} is a group, and groups own nothing; offer it to one of its members", party=party.name)

    def _may_act(self, view: View, party: Party) -> None:
        """Raise NotPermitted if the party is suspended, or a group."""
        facts = self.facts(view, party)
        if facts.kind == "group":
            raise NotPermitted(f"{party.name} is a group, and groups do not act; its members do, each by its own name", party=party.name)
        if facts.suspended is not None:
            raise NotPermitted(
                f"{party.name} is suspended: {facts.suspended}; an administrator can reinstate the party",
                party=party.name,
                reason=facts.suspended,
            )

    # reading

    def _load(self, view: View, iri: NamedNode, sight: Sight | None = None) -> Record:
        """The record, or as much of it as ``sight`` allows (None: all). Raises NotRegistered."""
        own = [quad for quad in view.quads(iri) if sight is None or sight.sees(_graph(quad))]
        if not any(quad.predicate == IDS.stage for quad in own):
            raise NotRegistered(iri.value)
        nodes: set[NamedNode] = set()
        if not all(records.reserved(quad.predicate) for quad in own):  # each binding is there as a plain triple as well
            nodes = {named(quad.subject) for quad in view.quads(None, RDF.subject, iri) if sight is None or sight.sees(_graph(quad))}
        typed = []
        if sight is None or self._may_have_values(view, own):  # what a change is made from is read whole, whatever it is
            typed = [
                list(view.quads(named(quad.subject)))
                for graph in ([None] if sight is None else _homes(own, sight))
                for quad in view.quads(None, IDS.valueOf, iri, graph)
            ]
        return records.parse(iri, own, [(name, list(view.quads(name))) for name in nodes], typed)

    def _may_have_values(self, view: View, own: Iterable[Quad]) -> bool:
        """Whether an identifier of which these quads are told can have typed values; where its namespace does not tell, it may."""
        known = self._facts(view).by_base
        bases = [quad.object.value for quad in own if quad.predicate == IDS.inNamespace and isinstance(quad.object, NamedNode)]
        with suppress(UnknownScheme):
            return not bases or any(base not in known or known[base].valued for base in bases)
        return True

    def _own(self, turn: Turn, iri: NamedNode, party: Party, act: str) -> Record:
        """The whole record, for its owner. Raises NotRegistered (also when the party may not see it), NotPermitted."""
        owner = self._seen(turn, iri, party).owner
        if owner != party.name:
            raise NotPermitted(f"only the owner of {iri.value}, {owner}, may {act} it", id=iri.value, owner=owner, party=party.name)
        return self._load(turn, iri)

    def _seen(self, turn: Turn, iri: NamedNode, party: Party) -> Record:
        """As much of the record as the party may see, which is enough to say something of it that leaves the rest as it is. Raises NotRegistered."""
        return self._load(turn, iri, self.sight(turn, party))

    def _history(self, view: View, about: NamedNode, sight: Sight | None = None) -> list[tuple[Event, NamedNode]]:
        """The events about something that ``sight`` allows, with their graphs, in order."""
        found = []
        for quad in list(view.quads(None, IDS.about, about)):
            graph = _graph(quad)
            if sight is None or sight.sees(graph):
                found.append((read_event(view, named(quad.subject), graph), graph))
        return sorted(found, key=lambda pair: pair[0].order)

    # changing

    def _event(self, turn: Turn, kind: NamedNode, about: NamedNode, party: Party, *arguments: tuple[NamedNode, Term]) -> Event:
        """A new event of this store; what is said twice in it is said once."""
        return Event(self.store.origin, turn.token(), kind, about, party.name, turn.moment, tuple(dict.fromkeys(arguments)))

    def _record_event(self, turn: Turn, before: Record, event: Event) -> Record:
        """Log an event about an identifier and make what follows from it. Returns the record after it. Raises StageConflict: a tombstone."""
        living(before)
        after = apply(before, event)
        assert after is not None
        turn.enlist(self.transition(turn, before, after, event))
        return after

    def transition(self, view: View, before: Record | None, after: Record, *logged: Event) -> Change:
        """The change that leads from one record to the next, with the events that say so."""
        old, new = (set(before.quads()) if before else set()), after.quads()
        add = [quad for quad in new if quad not in old]
        remove = old.difference(new)
        moved: list[tuple[Event, NamedNode]] = []
        if before is not None and _places(before) != _places(after):
            for past, graph in self._history(view, after.iri):
                home = after.home(past)
                if home != graph:
                    remove.update(past.quads(graph))
                    add += past.quads(home)
                    moved.append((past, home))
        return Change(
            events=tuple((event, after.home(event)) for event in logged),
            add=tuple(add),
            remove=tuple(remove),
            entries=_entries(before, after),
            moved=tuple(moved),
        )

    def _log(self, turn: Turn, event: Event, graph: NamedNode, add: list[Quad], remove: list[Quad]) -> None:
        """Log an event about a namespace or a party, with its quads."""
        kept = set(add) & set(remove)
        turn.enlist(
            Change(
                ((event, graph),),
                add=tuple(quad for quad in add if quad not in kept),
                remove=tuple(quad for quad in remove if quad not in kept),
            )
        )


def _places(record: Record) -> tuple[NamedNode, ...]:
    """Where events about it are kept."""
    return record.log, record.private_graph, record.owner_graph


def living(record: Record) -> None:
    """Raise StageConflict for a tombstone: it does not change any more."""
    if record.stage is Stage.TOMBSTONE:
        raise StageConflict(
            f"{record.iri.value} is a tombstone, which does not change any more", id=record.iri.value, stage=record.stage.value
        )


def read_event(view: View, iri: NamedNode, graph: NamedNode) -> Event:
    """The event of that name in ``graph``."""
    return events.parse(iri, view.quads(iri, None, None, graph))


def _entries(before: Record | None, after: Record) -> tuple[Entry, ...]:
    """The new listing, where it differs."""
    listed = entry_of(after, fresh=before is None)
    return () if before is not None and entry_of(before, fresh=False) == listed else (listed,)


def _private(graph: NamedNode) -> bool:
    return access_list(graph) is not None or closed_party(graph) is not None


def _graph(quad: Quad) -> NamedNode:
    assert isinstance(quad.graph_name, NamedNode)
    return quad.graph_name


def _homes(own: Iterable[Quad], sight: Sight) -> set[NamedNode]:
    """The graphs of a record that may be seen, by what it tells of itself in them. What only its owner reads is not even looked for by others."""
    owners = {access_graph(frozenset({party_of(quad.object)})) for quad in own if quad.predicate == IDS.owner}
    return {_graph(quad) for quad in own} | set(filter(sight.sees, owners))


def _read_party(subject: NamedNode, quads: list[Quad], kinds: Collection[object]) -> Iterator[PartyFacts]:
    for kind, word in _KINDS.items():
        if kind in kinds:
            groups = frozenset(party_name(named(quad.object)) for quad in quads if quad.predicate == IDS.memberOf)
            yield PartyFacts(party_name(subject), word, groups, added=True)


def _read_facts(view: View, version: int, homes: Callable[[View], Container[str]]) -> _Facts:
    by_subject: dict[NamedNode, list[Quad]] = {}
    for quad in view.quads(None, None, None, REGISTRY_GRAPH):
        if isinstance(quad.subject, NamedNode):
            by_subject.setdefault(quad.subject, []).append(quad)
    parties: dict[str, PartyFacts] = {}
    found: list[Namespace] = []
    for subject, quads in by_subject.items():
        with suppress(AssertionError, LookupError, ValueError):  # what is damaged is as if it were not there; verify names it
            kinds = {quad.object for quad in quads if quad.predicate == RDF.type}
            if IDS.Namespace in kinds:
                found.append(namespaces.parse(subject, quads))
            else:
                parties |= {known.name: known for known in _read_party(subject, quads, kinds)}
    for quad in view.quads(None, IDS.suspended):
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
            name = party_name(quad.subject)
            known = parties.get(name) or PartyFacts(name)
            parties[name] = replace(known, suspended=quad.object.value)
    found.sort(key=lambda one: (one.created, one.base), reverse=True)
    return _Facts(version, parties, _named(view, found, homes), {one.base: one for one in found})


def _named(view: View, found: Sequence[Namespace], homes: Callable[[View], Container[str]]) -> dict[str, Namespace]:
    """Namespaces, which come in the newest first, by name: of several merged registries' that have one name it stays with what was added at home, else the oldest."""
    named: dict[str, list[Namespace]] = {}
    for one in found:
        named.setdefault(one.name, []).append(one)
    return {name: _keeper(view, several, homes(view)) if several[1:] else several[0] for name, several in named.items()}


def _keeper(view: View, several: Sequence[Namespace], homes: Container[str]) -> Namespace:
    own = [one for one in several if _is_own(view, one, homes)]
    return (own or several)[-1]


def _is_own(view: View, namespace: Namespace, homes: Container[str]) -> bool:
    about = [quad.subject for quad in view.quads(None, IDS.about, namespace.iri)]
    own = (event for event in about if isinstance(event, NamedNode) and events.origin_of(event.value) in homes)
    return any(next(view.quads(event, RDF.type, IDS.NamespaceAddition), None) is not None for event in own)
