"""Events: what was done, by whom, when, with which arguments. They are never changed or removed."""

from collections.abc import Iterable, Iterator
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat
from pyoxigraph import parse as parse_rdf

from idstore.frozen import dataclass
from idstore.model import times
from idstore.model.party import node
from idstore.model.terms import Term, hashed, lines
from idstore.vocabulary import DCTERMS, EVENTS, IDS, ONTOLOGY, PROV, RDF, XSD, event_name, party_name

_HEAD = {RDF.type, IDS.about, PROV.wasAssociatedWith, PROV.endedAtTime}


@dataclass(frozen=True, slots=True)
class Event:
    """One act.

    origin, token   the store where it happened (a UUID) and the event's own number there: among events of one millisecond it rises,
                    otherwise it is random, so that nobody reads off it how much happened that he may not see.
    kind            the class of the act.
    about           identifier, namespace, party or registry.
    by              the name of the party that acted.
    at              milliseconds since 1970.
    arguments       the rest of what determines the outcome, as predicate and value.
    """

    origin: str
    token: int
    kind: NamedNode
    about: NamedNode
    by: str
    at: int
    arguments: tuple[tuple[NamedNode, Term], ...] = ()

    @property
    def iri(self) -> NamedNode:
        """What names the event."""
        return NamedNode(self.name)

    @property
    def name(self) -> str:
        """Its IRI's text."""
        return event_name(self.origin, self.token)

    @property
    def order(self) -> tuple[int, str, int]:
        """Sorts the events about one thing: by time, then origin and token."""
        return (self.at, self.origin, self.token)

    @property
    def act(self) -> str:
        """The kind's local name, ``Mint``."""
        return self.kind.value.removeprefix(ONTOLOGY)

    def one(self, predicate: NamedNode) -> Term | None:
        """The argument, None if it was not given."""
        for name, value in self.arguments:  # called for every event many times: a generator would cost three times as much
            if name == predicate:
                return value
        return None

    def text(self, predicate: NamedNode) -> str | None:
        """The argument's text, None if it was not given."""
        value = self.one(predicate)
        return None if value is None else value.value

    def all(self, predicate: NamedNode) -> list[Term]:
        """Every argument of that name."""
        return [value for name, value in self.arguments if name == predicate]

    @property
    def parent(self) -> str | None:
        """The event of the batch that this one is part of."""
        return self.text(DCTERMS.isPartOf)

    @property
    def internal(self) -> bool:
        """Whether it stays with the grant list also after fixation; of an import, with whoever imported."""
        return self.text(IDS.internal) == "true"

    def _said(self) -> tuple[tuple[NamedNode, Term], ...]:
        return (
            (RDF.type, self.kind),
            (IDS.about, self.about),
            (PROV.wasAssociatedWith, node(self.by)),
            (PROV.endedAtTime, times.literal(self.at)),
            *self.arguments,
        )

    @property
    def confined(self) -> bool:
        """Whether only the owner of its identifier (and administrators) may read it, in every stage: it is about a value that others may not."""
        permissions = self.text(IDS.permissions)
        return permissions is not None and permissions[2:3] != "1"

    @property
    def withheld(self) -> bool:
        """Whether only some may read it, in every stage of its identifier: it is internal, or confined."""
        return self.internal or self.confined

    def quads(self, graph: NamedNode) -> list[Quad]:
        """Its triples, in ``graph``."""
        iri = self.iri
        return [Quad(iri, predicate, value, graph) for predicate, value in self._said()]

    def lines(self, graph: NamedNode) -> str:
        """Its `quads` as N-Quads."""
        return lines(f"<{self.name}>", self._said(), graph)


def encode(event: Event) -> list[object]:
    """An event as JSON values; terms in N-Triples."""
    return [
        event.origin,
        event.token,
        event.act,
        event.about.value,
        event.by,
        event.at,
        [(name.value, str(value)) for name, value in event.arguments],
    ]


def decode(values: list[Any]) -> Event:
    """Read what `encode` wrote."""
    origin, token, act, about, by, at, said = values
    text = "".join(f"<x:> <{name}> {value} .\n" for name, value in said)
    arguments = [(quad.predicate, quad.object) for quad in parse_rdf(text, format=RdfFormat.N_TRIPLES)]
    return Event(origin, token, NamedNode(ONTOLOGY + act), NamedNode(about), by, at, tuple(arguments))


def digest(event: Event) -> int:
    """A 63-bit number that tells whether an event is still what it was; independent of how a store writes numbers and moments."""
    said = [f"{name.value} {_lasting(value)}" for name, value in event.arguments]
    return hashed("\0".join((event.name, event.kind.value, event.about.value, event.by, str(event.at), *sorted(said))))


def same(one: Event, other: Event) -> bool:
    """Whether two are told alike, by the same store or as it writes: numbers and moments too, of which a `digest` holds the datatype only."""
    return digest(one) == digest(other) and set(one.arguments) == set(other.arguments)


_REWRITTEN = (XSD.boolean, XSD.dateTime, XSD.decimal, XSD.integer)


def _lasting(value: Term) -> str:
    """What no store writes otherwise: of some literals the datatype only."""
    text = str(value)
    if not (text.startswith('"') and text.endswith(">")):
        return text
    assert isinstance(value, Literal)
    return str(value.datatype) if value.datatype in _REWRITTEN else text


def split(iri: str) -> tuple[str, int]:
    """Origin and token of an event's IRI. Raises ValueError if it is none."""
    return origin_of(iri), int(iri.partition("#")[2], 16)


def origin_of(iri: str) -> str:
    """Origin of an event, from its IRI; of any other IRI a text that no store is named by."""
    return iri.removeprefix(EVENTS).partition("#")[0]


def parse(iri: NamedNode, quads: Iterable[Quad]) -> Event:
    """Read an event from its quads. Raises ValueError or KeyError if its head is not whole."""
    head: dict[NamedNode, Term] = {}
    arguments: list[tuple[NamedNode, Term]] = []
    for quad in quads:
        value = quad.object
        assert isinstance(value, NamedNode | Literal)
        if quad.predicate in _HEAD:
            head[quad.predicate] = value
        else:
            arguments.append((quad.predicate, value))
    origin, token = split(iri.value)
    kind, about, by = head[RDF.type], head[IDS.about], head[PROV.wasAssociatedWith]
    assert isinstance(kind, NamedNode) and isinstance(about, NamedNode) and isinstance(by, NamedNode)
    return Event(
        origin,
        token,
        kind,
        about,
        party_name(by),
        times.parse(head[PROV.endedAtTime].value),
        tuple(sorted(arguments, key=lambda pair: (pair[0].value, str(pair[1])))),
    )


def group(quads: Iterable[Quad]) -> Iterator[tuple[NamedNode, list[Quad]]]:
    """Consecutive quads of one subject, together."""
    subject: NamedNode | None = None
    found: list[Quad] = []
    for quad in quads:
        if quad.subject != subject:
            if subject is not None:
                yield subject, found
            assert isinstance(quad.subject, NamedNode)
            subject, found = quad.subject, []
        found.append(quad)
    if subject is not None:
        yield subject, found


KINDS = frozenset(
    {
        IDS.Initialization,
        IDS.Import,
        IDS.NamespaceAddition,
        IDS.NamespaceAllowance,
        IDS.NamespaceFreeze,
        IDS.TypeAddition,
        IDS.Mint,
        IDS.Registration,
        IDS.Naming,
        IDS.Targeting,
        IDS.Bind,
        IDS.Unbind,
        IDS.Comment,
        IDS.Grant,
        IDS.Ungrant,
        IDS.Fixation,
        IDS.Release,
        IDS.Revocation,
        IDS.Deprecation,
        IDS.Supersession,
        IDS.Replacement,
        IDS.Versioning,
        IDS.Vetting,
        IDS.Transfer,
        IDS.ValueSetting,
        IDS.ValueUnsetting,
        IDS.PartyAddition,
        IDS.Joining,
        IDS.Leaving,
        IDS.Suspension,
        IDS.Reinstatement,
        IDS.StorageAddition,
        IDS.StorageAllowance,
        IDS.Placement,
    }
)
"""Every kind of event."""
