"""Small changes for the tests of stores, and functions that read them back.

`mint` makes the richest change: a claim, an event, a record, a listing and a label of a series.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

from pyoxigraph import Literal, NamedNode, Quad

from idstore.model.change import Change, Claim
from idstore.model.event import Event, parse
from idstore.model.listing import Selection, listing_of
from idstore.model.record import Record
from idstore.model.steps import apply
from idstore.model.terms import Term
from idstore.stores.contract import Store, Transaction, View
from idstore.vocabulary import IDS, PUBLIC_LOG, RDFS, SKOS

T = TypeVar("T")
Act: TypeAlias = Callable[[Transaction], T]

PARTY: Final = "alice"
"""The acting party of all tests."""
BASE: Final = "http://example.org/things/"
"""Base of the namespace of all test identifiers."""
SERIES: Final = "numbers"
"""The series in which labels are counted."""
GRAPH: Final = NamedNode("http://example.org/graphs/one")
"""Graph of the tests' quads unless a test names another."""
EVERYTHING: Final = Selection(audiences=None)
"""The view of an administrator."""


def thing(name: str) -> NamedNode:
    """Return the subject of a name's quads and events: the identifier with that label."""
    return NamedNode(BASE + name)


def key(name: str) -> NamedNode:
    """Return the key of a name's claim."""
    return NamedNode(f"http://example.org/keys/{name}")


def quad(name: str, text: str, graph: NamedNode = GRAPH) -> Quad:
    """Return a quad that assigns a text to a thing."""
    return Quad(thing(name), RDFS.label, Literal(text), graph)


def texts(view: View, name: str, graph: NamedNode | None = GRAPH) -> list[str]:
    """Return the texts of a thing, sorted."""
    return sorted(
        quad.object.value
        for quad in view.quads(thing(name), RDFS.label, None, graph)
        if isinstance(quad.object, Literal)
    )


def read_texts(store: Store, name: str) -> list[str]:
    """Return the texts of a thing in the newest state, sorted."""
    return store.read(lambda view: texts(view, name))


def event(transaction: Transaction, kind: NamedNode, name: str, *arguments: tuple[NamedNode, Term]) -> Event:
    """Create an event about a thing."""
    token = transaction.token()  # first: it may advance the moment
    return Event(transaction.origin, token, kind, thing(name).value, PARTY, transaction.moment, arguments)


def comment(
    transaction: Transaction,
    name: str,
    *,
    add: Sequence[Quad] = (),
    remove: Sequence[Quad] = (),
    claims: Sequence[Claim] = (),
    graph: NamedNode = PUBLIC_LOG,
) -> Event:
    """Enlist a change: a comment on a thing, quads and claims. Returns the event."""
    commented = event(transaction, IDS.Comment, name)
    transaction.enlist(
        Change(((commented, graph),), add=tuple(add), remove=tuple(remove), claims=tuple(claims))
    )
    return commented


def commenting(
    name: str, *, add: Sequence[Quad] = (), remove: Sequence[Quad] = (), claims: Sequence[Claim] = ()
) -> Act[Event]:
    """Return an act that enlists a comment."""
    return lambda transaction: comment(transaction, name, add=add, remove=remove, claims=claims)


def add_one(transaction: Transaction) -> int:
    """Count in a quad: read the number, and replace the quad with the next number."""
    (number,) = map(int, texts(transaction, "counter"))
    comment(
        transaction, "counter", remove=[quad("counter", str(number))], add=[quad("counter", str(number + 1))]
    )
    return number + 1


def beginning(name: str) -> tuple[tuple[NamedNode, Term], ...]:
    """Return the arguments of the event that mints the identifier with that label."""
    return ((IDS.inNamespace, NamedNode(BASE)), (SKOS.notation, Literal(name)), (IDS.type, IDS.Identifier))


def mint(transaction: Transaction, name: str, number: int = 1, digest: str = "") -> Record:
    """Enlist the minting of an identifier.

    number  of its label in the series.
    digest  of its claim.
    """
    minted = event(transaction, IDS.Mint, name, *beginning(name))
    record = apply(None, minted)
    assert record is not None
    claim = Claim(key(name), record.node, digest)
    transaction.enlist(
        Change(
            ((minted, record.log),),
            begins=True,
            claims=(claim,),
            issued=((BASE, SERIES, number),),
            begun=(record,),
        )
    )
    return record


def minting(name: str, number: int = 1, digest: str = "") -> Act[Record]:
    """Return an act that mints an identifier."""
    return lambda transaction: mint(transaction, name, number, digest)


def history(view: View, name: str) -> list[tuple[Event, NamedNode]]:
    """Return every event about a thing, in order, each with its graph."""
    events = []
    for row in view.catalogue.events(EVERYTHING, about=thing(name).value):
        assert row.graph is not None
        node, graph = NamedNode(row.iri), NamedNode(row.graph)
        events.append((parse(node, view.quads(node, None, None, graph)), graph))
    return events


def record_of(view: View, name: str) -> Record:
    """Return the record that results from an identifier's events."""
    record: Record | None = None
    for logged, _ in history(view, name):
        record = apply(record, logged)
    assert record is not None
    return record


def proceed(transaction: Transaction, kind: NamedNode, name: str) -> Record:
    """Enlist an identifier's ``ids:Fixation`` or ``ids:Release``. Returns the resulting record."""
    before, proceeded = record_of(transaction, name), event(transaction, kind, name)
    after = apply(before, proceeded)
    assert after is not None
    moved = [(past, graph) for past, graph in history(transaction, name) if after.home(past) != graph]
    old, new = before.quads(), after.quads()
    add, remove = [quad for quad in new if quad not in old], [quad for quad in old if quad not in new]
    for past, graph in moved:
        remove += past.quads(graph)
        add += past.quads(after.home(past))
    transaction.enlist(
        Change(
            ((proceeded, after.home(proceeded)),),
            add=tuple(add),
            remove=tuple(remove),
            listings=(listing_of(after, new=False),),
            moved=tuple((past, after.home(past)) for past, _ in moved),
        )
    )
    return after


def proceeding(kind: NamedNode, name: str) -> Act[Record]:
    """Return an act that fixates or releases an identifier."""
    return lambda transaction: proceed(transaction, kind, name)


def is_minted(view: View, name: str) -> bool:
    """Whether an identifier is minted. Fails: only a part of its change is visible."""
    node = thing(name)
    parts = {
        "claim": view.claim(key(name)) is not None,
        "record": any(view.quads(node, IDS.stage)),
        "event's quads": any(view.quads(None, IDS.about, node)),
        "event's row": bool(view.catalogue.events(EVERYTHING, about=node.value)),
        "listing": view.catalogue.listed(node.value) is not None,
    }
    assert len(set(parts.values())) == 1, f"{name} is partly there: {parts}"
    return parts["claim"]


def read_minted(store: Store, name: str) -> bool:
    """Whether an identifier is minted in the newest state. Fails: only a part of it is visible."""
    return store.read(lambda view: is_minted(view, name))


def read_all_minted(store: Store, names: Sequence[str]) -> bool:
    """Whether all identifiers are minted in the newest state. Fails: only a part of one is visible."""
    return store.read(lambda view: all(is_minted(view, name) for name in names))
