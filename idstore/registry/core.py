"""The basis of all use cases: reading records, running acts, and turning an event into a change."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, TypeVar

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import (
    InvalidData,
    NotPermitted,
    NotRegistered,
    ReplicaReadOnly,
    SignInRequired,
    StageConflict,
    UnknownScheme,
)
from idstore.model import event as events
from idstore.model import record as records
from idstore.model.change import Change
from idstore.model.event import Event
from idstore.model.listing import Listing, listing_of
from idstore.model.party import NOBODY, Party, node, party_of
from idstore.model.record import Record, Stage
from idstore.model.steps import apply_all
from idstore.model.terms import TEXT_LIMIT, Term, check_size, iri_of
from idstore.model.value import DATA_LIMIT, TOTAL_LIMIT
from idstore.registry.party_descriptions import with_descriptions
from idstore.registry.visibility import Sight, Visibility, graph_of
from idstore.remedies import Remedy
from idstore.stores.contract import Store, Transaction, View
from idstore.vocabulary import IDS, RDF, XSD, access_graph, argument_term

T = TypeVar("T")
_NOBODY: Final = node(NOBODY.name)
_MOST: Final = 500
"""Names, values, grantees and successors of an identifier, and a party's bindings of it.

Each act on the identifier reads and writes all of them, while other acts wait. Administrators may exceed it.
"""
_MOST_MOVED: Final = 10_000
"""Events of an identifier that an act moves to other readers: other acts wait 0.25 ms for each.

Administrators may exceed it.
"""


class Core(Visibility):
    """The store of a registry, as the parts of `Registry` use it. Safe for concurrent threads.

    source  address of the server that the store is a replica of: then no party acts. Empty: it is none.
    """

    source = ""

    def only_administrators(self, party: Party, *, acting: bool = False) -> None:
        """Raise NotPermitted unless the party is an administrator; with ``acting`` also if suspended."""

        def question(view: View) -> None:
            if not self.party_facts(view, party).administrator:
                raise self.no_administrator(view, party)
            if acting:
                self.check_acting(view, party)

        self.store.read(question)

    # acting

    def act(self, party: Party, act: Callable[[Transaction], T], *, dry_run: bool = False) -> T:
        """Run an act for a party: see `idstore.stores.contract.Store.write`.

        dry_run  return what the act would return, and change nothing.
        Raises NotPermitted if the party is suspended or a group; the errors of the act; StoreUnavailable.
        """

        def checked(transaction: Transaction) -> T:
            self.check_acting(transaction, party)
            return act(transaction)

        if not dry_run:
            return self.store.write(checked)
        results: list[T] = []

        def rehearsed(transaction: Transaction) -> None:
            results.append(checked(transaction))
            raise DryRunEnded

        with suppress(DryRunEnded):
            self.store.write(rehearsed)
        return results[-1]

    def only_acting(self, party: Party) -> None:
        """Raise NotPermitted if the party does nothing here: see `check_acting`."""
        self.store.read(lambda view: self.check_acting(view, party))

    def check_owner(self, view: View, party: Party) -> None:
        """Raise InvalidData for a group, which cannot accept an identifier."""
        if self.party_facts(view, party).kind == "group":
            raise InvalidData(
                f"{party.name} is a group, and groups own nothing; choose one of its members",
                party=party.name,
            )

    def check_acting(self, view: View, party: Party) -> None:
        """Raise NotPermitted if the party is nobody, suspended or a group, or in a replica."""
        if self.source:
            raise ReplicaReadOnly(f"this is a replica, which only reads; make the change at {self.source}")
        if not party.name:
            raise SignInRequired("an anonymous request changes nothing; sign in", remedy=Remedy.SIGN_IN)
        facts = self.party_facts(view, party)
        if facts.kind == "group":
            raise NotPermitted(
                f"{party.name} is a group, and groups do not act; act as one of its members",
                party=party.name,
            )
        if facts.suspended is not None:
            raise NotPermitted(
                f"{party.name} is suspended: {facts.suspended}; an administrator can reinstate the party",
                party=party.name,
                reason=facts.suspended,
                remedy=Remedy.REINSTATE,
            )

    # reading

    def load(self, view: View, iri: NamedNode, sight: Sight | None = None) -> Record:
        """Return the record, or the part of it that ``sight`` allows (None: all). Raises NotRegistered."""
        own = [quad for quad in view.quads(iri) if sight is None or sight.sees(graph_of(quad))]
        if not any(quad.predicate == IDS.stage for quad in own):
            raise NotRegistered(iri.value)
        statements: set[NamedNode] = set()
        if not all(
            records.reserved(quad.predicate) for quad in own
        ):  # each binding is stored as a plain triple as well
            statements = {
                iri_of(quad.subject)
                for quad in view.quads(None, RDF.subject, iri)
                if sight is None or sight.sees(graph_of(quad))
            }
        typed = []
        if sight is None or self._may_have_values(view, own):  # a change needs the whole record
            typed = [
                list(view.quads(iri_of(quad.subject)))
                for graph in ([None] if sight is None else _homes(own, sight))
                for quad in view.quads(None, IDS.valueOf, iri, graph)
            ]
        return records.parse(iri, own, [(name, list(view.quads(name))) for name in statements], typed)

    def _may_have_values(self, view: View, own: Iterable[Quad]) -> bool:
        """Return whether an identifier with these quads can have typed values; True if in doubt."""
        namespaces = self.facts(view).by_base
        bases = [
            quad.object.value
            for quad in own
            if quad.predicate == IDS.inNamespace and isinstance(quad.object, NamedNode)
        ]
        with suppress(UnknownScheme):
            return not bases or any(base not in namespaces or namespaces[base].valued for base in bases)
        return True

    def own_record(self, transaction: Transaction, iri: NamedNode, party: Party, act: str) -> Record:
        """Check that the party owns an identifier, and return its whole record.

        Raises NotRegistered (also when the party may not see the identifier), NotPermitted.
        """
        owner = self.seen_record(transaction, iri, party).owner
        if owner != party.name:
            raise NotPermitted(
                f"only its owner, {owner}, may {act} {iri.value}",
                id=iri.value,
                owner=owner,
                party=party.name,
            )
        return self.load(transaction, iri)

    def seen_record(self, transaction: Transaction, iri: NamedNode, party: Party) -> Record:
        """Return the part of a record that the party may see.

        What an act writes of it must not remove the rest.
        Raises NotRegistered.
        """
        return self.load(transaction, iri, self.sight(transaction, party))

    def history(
        self, view: View, about: NamedNode, sight: Sight | None = None, having: NamedNode | None = None
    ) -> list[tuple[Event, NamedNode]]:
        """Return the events about a node that ``sight`` allows (None: all), with their graphs, in order.

        having  only those with an argument for this property. Cost: some 4 µs for each of the others, which
                take 75 µs when they are read.
        """
        found = (
            view.quads(None, IDS.about, about) if sight is None else self.visible_abouts(view, sight, about)
        )
        return _events(
            view,
            (
                quad
                for quad in list(found)
                if having is None
                or any(view.quads(iri_of(quad.subject), argument_term(having), None, graph_of(quad)))
            ),
        )

    # changing

    def event(
        self,
        transaction: Transaction,
        kind: NamedNode,
        about: NamedNode,
        party: Party,
        *arguments: tuple[NamedNode, Term],
    ) -> Event:
        """Return a new event of this store, without duplicate arguments.

        Raises InvalidData: an argument is too large, or an anonymous request as a party.
        """
        check_sizes(about, arguments)
        if _NOBODY in (about, *(value for _, value in arguments)):
            raise InvalidData(
                "an anonymous request has no name and no rights; name a party", field="party", value=""
            )
        return Event(
            transaction.origin,
            transaction.token(),
            kind,
            about.value,
            party.name,
            transaction.moment,
            tuple(dict.fromkeys(arguments)),
        )

    def record_events(
        self, transaction: Transaction, before: Record, *events: Event, beginning: Change | None = None
    ) -> Record:
        """Log events about an identifier as one change, and apply them.

        beginning  the change that makes the identifier, if it is new; an error leaves it out too.
        Returns the new record. Raises StageConflict (a tombstone), InvalidData (it would grow too large, or
        too many earlier events would move).
        Cost: two times the size of the record, however many events there are; those that move.
        """
        check_living(before)
        after = apply_all(before, events)
        if events:
            party = Party(events[-1].by)
            self.check_growth(transaction, before, after, party)
            self._check_move(transaction, before, after, party)
        if beginning is not None:
            self.enlist(transaction, beginning)
        if events:
            self.enlist(transaction, self.transition(transaction, before, after, *events))
        return after

    def check_growth(self, view: View, before: Record, after: Record, party: Party) -> None:
        """Raise InvalidData if a party enlarges a record beyond what one holds; administrators may."""
        for (what, size, most), (_, earlier, _) in zip(
            _sizes(after, party), _sizes(before, party), strict=True
        ):
            if size > max(earlier, most) and not self.party_facts(view, party).administrator:
                raise InvalidData(
                    f"{after.iri} would have {size} {what}, more than the {most} allowed; remove some:"
                    " only administrators may set more",
                    size=size,
                    limit=most,
                )

    def _check_move(self, view: View, before: Record, after: Record, party: Party) -> None:
        """Raise InvalidData if a party moves more events than other acts can wait for; administrators may."""
        above = next(islice(_leaving(view, before, after), _MOST_MOVED, None), None)
        if above is not None and not self.party_facts(view, party).administrator:
            raise InvalidData(
                f"{after.iri} has more than {_MOST_MOVED} events, which this act would show to other parties"
                f" while all acts wait; only administrators may: ask one to add {party.name} as another",
                limit=_MOST_MOVED,
            )

    def transition(self, view: View, before: Record | None, after: Record, *logged: Event) -> Change:
        """Return the change from one record to the next, with the events that cause it."""
        old, new = (set(before.quads()) if before else set()), after.quads()
        add = [quad for quad in new if quad not in old]
        remove = old.difference(new)
        moved: list[tuple[Event, NamedNode]] = []
        if before is not None:
            for past, graph in _events(view, list(_leaving(view, before, after))):
                home = after.home(past)
                if home != graph:
                    remove.update(past.quads(graph))
                    add += past.quads(home)
                    moved.append((past, home))
        return Change(
            events=tuple((event, after.home(event)) for event in logged),
            add=tuple(add),
            remove=tuple(remove),
            listings=_listings(before, after),
            moved=tuple(moved),
        )

    def log_event(
        self, transaction: Transaction, event: Event, graph: NamedNode, add: list[Quad], remove: list[Quad]
    ) -> None:
        """Log an event about a namespace or a party, with its quads."""
        kept = set(add) & set(remove)
        self.enlist(
            transaction,
            Change(
                ((event, graph),),
                add=tuple(quad for quad in add if quad not in kept),
                remove=tuple(quad for quad in remove if quad not in kept),
            ),
        )

    def enlist(self, transaction: Transaction, change: Change) -> None:
        """Enlist a change, with the descriptions of the parties that it names."""
        transaction.enlist(with_descriptions(transaction, change, self.facts(transaction).described))


def _leaving(view: View, before: Record, after: Record) -> Iterator[Quad]:
    """Yield the quad `ids:about` of each event in a graph that some events leave for another one."""
    graphs = zip(_places(before), _places(after), strict=True)
    for graph in {old for old, new in graphs if old != new}:
        yield from view.quads(None, IDS.about, after.node, graph)


def _places(record: Record) -> tuple[NamedNode, ...]:
    """Return the graphs that hold the events about a record."""
    return record.log, record.private_graph, record.owner_graph


def _events(view: View, abouts: Iterable[Quad]) -> list[tuple[Event, NamedNode]]:
    """Return the events with these quads `ids:about`, with their graphs, in order."""
    found = [(read_event(view, iri_of(quad.subject), graph_of(quad)), graph_of(quad)) for quad in abouts]
    return sorted(found, key=lambda pair: pair[0].order)


def check_living(record: Record) -> None:
    """Raise StageConflict for a tombstone, which never changes."""
    if record.stage is Stage.TOMBSTONE:
        raise StageConflict(
            f"{record.iri} is withdrawn (a tombstone), and never changes",
            id=record.iri,
            stage=record.stage.value,
        )


def read_event(view: View, iri: NamedNode, graph: NamedNode) -> Event:
    """Read the event with that IRI from ``graph``."""
    return events.parse(iri, view.quads(iri, None, None, graph))


def check_sizes(about: NamedNode, arguments: Iterable[tuple[NamedNode, Term]]) -> None:
    """Raise InvalidData if the IRI or an argument of an event exceeds the size that a store keeps."""
    check_size(about.value, "IRI", DATA_LIMIT)  # percent-encoding can triple the length of a label
    for predicate, value in arguments:
        limit = DATA_LIMIT if predicate == IDS.data else TEXT_LIMIT
        if isinstance(value, Literal) and value.datatype == XSD.hexBinary:
            limit *= 2  # two digits for each byte
        check_size(value.value, f"argument {predicate.value}", limit)


def _sizes(record: Record, party: Party) -> list[tuple[str, int, int]]:
    """Return each kind of part that a record has, how many there are, and how many there may be."""
    return [
        ("names", len(record.names), _MOST),
        ("values", len(record.values), _MOST),
        ("parties on its grant list", len(record.grants), _MOST),
        ("successors", len(record.successors), _MOST),
        (f"bindings by {party.name}", sum(one.by == party.name for one in record.bindings), _MOST),
        ("bytes in its values", sum(value.size for value in record.values), TOTAL_LIMIT),
    ]


def _listings(before: Record | None, after: Record) -> tuple[Listing, ...]:
    """Return the new listing if it differs from the old one."""
    listing = listing_of(after, new=before is None)
    return () if before is not None and listing_of(before, new=False) == listing else (listing,)


def _homes(own: Iterable[Quad], sight: Sight) -> set[NamedNode]:
    """Return the graphs of a record that may be visible, as its own quads name them.

    The graph of an owner is read only if ``sight`` allows it.
    """
    owners = {access_graph(frozenset({party_of(quad.object)})) for quad in own if quad.predicate == IDS.owner}
    return {graph_of(quad) for quad in own} | set(filter(sight.sees, owners))


class DryRunEnded(Exception):
    """Rolls back a dry run, or an import that changes nothing."""


class Part:
    """A part of `Registry`: use cases over the core that all parts share."""

    def __init__(self, core: Core) -> None:
        self.core = core

    @property
    def store(self) -> Store:
        """The store of the registry."""
        return self.core.store
