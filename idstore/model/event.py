"""Events: what a party did, when, and with which arguments. An event never changes and is never removed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat
from pyoxigraph import parse as parse_rdf

from idstore.model import times
from idstore.model.party import node
from idstore.model.terms import Term, hashed, lines
from idstore.schemes import value_types
from idstore.vocabulary import (
    ARGUMENTS,
    DCTERMS,
    EVENTS,
    IDS,
    ONTOLOGY,
    PROV,
    RDF,
    XSD,
    argument_property,
    argument_term,
    event_name,
    party_name,
)

_TARGETS: Mapping[NamedNode, NamedNode] = {
    IDS.Bind: RDF.object,
    IDS.Mint: IDS.target,
    IDS.Registration: IDS.target,
    IDS.Targeting: IDS.target,
}
"""The argument that holds the target, by kind of event."""
_HEAD = {RDF.type, IDS.about, PROV.wasAssociatedWith, PROV.endedAtTime}


@dataclass(frozen=True, slots=True)
class Event:
    """One act of a party.

    origin     UUID of the store where the act happened.
    token      number of the event in that store. It rises among events of one millisecond; otherwise it is
               random,
               so that a reader cannot count the events that are hidden from the reader.
    kind       the class of the act.
    about      identifier, namespace, party or registry.
    by         name of the party that acted.
    moment     when, in milliseconds since 1970; `at` is the same as a datetime.
    arguments  everything else that determines the outcome: the property that the event sets, and its value.
               In triples the properties of records become terms of their own (`vocabulary.ARGUMENTS`).
    """

    origin: str
    token: int
    kind: NamedNode
    about: str
    by: str
    moment: int
    arguments: tuple[tuple[NamedNode, Term], ...] = ()

    @property
    def iri(self) -> str:
        """The IRI of the event."""
        return event_name(self.origin, self.token)

    @property
    def node(self) -> NamedNode:
        """The event as a node."""
        return NamedNode(self.iri)

    @property
    def at(self) -> datetime:
        """When the party acted."""
        return times.of(self.moment)

    @property
    def order(self) -> tuple[int, str, int]:
        """The sort key among events about the same thing: time, origin, token."""
        return (self.moment, self.origin, self.token)

    @property
    def act(self) -> str:
        """The local name of the kind, such as ``Mint``."""
        return self.kind.value.removeprefix(ONTOLOGY)

    def get(self, predicate: NamedNode) -> Term | None:
        """Return the first value of an argument, or None."""
        for (
            name,
            value,
        ) in self.arguments:  # called many times per event: a generator would take three times as long
            if name == predicate:
                return value
        return None

    def text(self, predicate: NamedNode) -> str | None:
        """Return the text of an argument, or None."""
        value = self.get(predicate)
        return None if value is None else value.value

    def all(self, predicate: NamedNode) -> list[Term]:
        """Return all values of an argument."""
        return [value for name, value in self.arguments if name == predicate]

    @property
    def target(self) -> str | None:
        """The IRI that the identifier leads or is bound to by this event, or None."""
        if self.kind == IDS.ValueSetting:
            is_url = value_types.is_type("URL.", self.text(IDS.valueType) or "")
            return self.text(IDS.data) if is_url else None
        predicate = _TARGETS.get(self.kind)
        return None if predicate is None else self.text(predicate)

    @property
    def parent(self) -> str | None:
        """The IRI of the batch event that this event is part of, or None."""
        return self.text(DCTERMS.isPartOf)

    @property
    def internal(self) -> bool:
        """Whether the event stays private after fixation.

        The grant list, or the importing party, and administrators still see it.
        """
        return self.text(IDS.internal) == "true"

    def _properties(self) -> tuple[tuple[NamedNode, Term], ...]:
        return (
            (RDF.type, self.kind),
            (IDS.about, NamedNode(self.about)),
            (PROV.wasAssociatedWith, node(self.by)),
            (PROV.endedAtTime, times.literal(self.at)),
            *((argument_term(name), value) for name, value in self.arguments),
        )

    @property
    def confined(self) -> bool:
        """Whether only owner and administrators may read the event in every stage (its value is private)."""
        permissions = self.text(IDS.permissions)
        return permissions is not None and permissions[2:3] != "1"

    @property
    def withheld(self) -> bool:
        """Whether the event stays private in every stage of its identifier: it is internal or confined."""
        return self.internal or self.confined

    def quads(self, graph: NamedNode) -> list[Quad]:
        """Return the triples of the event as quads of ``graph``."""
        iri = self.iri
        return [Quad(NamedNode(iri), predicate, value, graph) for predicate, value in self._properties()]

    def lines(self, graph: NamedNode) -> str:
        """Return the `quads` as N-Quads."""
        return lines(f"<{self.iri}>", self._properties(), graph)


REDACTED: Final = "redacted-"
"""Start of a pseudonym; the token of the redaction's event follows."""
PSEUDONYM: Final = re.compile(rf"\b{REDACTED}[0-9a-f]{{16}}\b")


def encode(event: Event) -> list[object]:
    """Return an event as JSON values, with terms in N-Triples."""
    return [
        event.origin,
        event.token,
        event.act,
        event.about,
        event.by,
        event.moment,
        [(name.value, str(value)) for name, value in event.arguments],
    ]


def decode(values: list[Any]) -> Event:
    """Read the output of `encode`."""
    origin, token, act, text, by, at, pairs = values
    about = NamedNode(text).value  # it raises ValueError for what is no IRI
    return Event(origin, token, NamedNode(ONTOLOGY + act), about, by, at, tuple(read_arguments(pairs)))


def read_arguments(pairs: Iterable[Sequence[str]]) -> list[tuple[NamedNode, Any]]:
    """Read arguments from pairs of an IRI and a term in N-Triples."""
    text = "".join(f"<x:> <{name}> {value} .\n" for name, value in pairs)
    return [(quad.predicate, quad.object) for quad in parse_rdf(text, format=RdfFormat.N_TRIPLES)]


def digest(event: Event) -> int:
    """Return a 63-bit checksum of an event, independent of how a store writes numbers and times."""
    pairs = [f"{name.value} {_stable(value)}" for name, value in event.arguments]
    return hashed(
        "\0".join((event.iri, event.kind.value, event.about, event.by, str(event.moment), *sorted(pairs)))
    )


def same(first: Event, second: Event) -> bool:
    """Whether two events agree also in numbers and times; `digest` covers only their datatypes."""
    return digest(first) == digest(second) and set(first.arguments) == set(second.arguments)


_REWRITTEN = (XSD.boolean, XSD.dateTime, XSD.decimal, XSD.integer)


def _stable(value: Term) -> str:
    """Return the part of a term that every store writes alike: of some literals the datatype only."""
    text = str(value)
    if not (text.startswith('"') and text.endswith(">")):
        return text
    assert isinstance(value, Literal)
    return str(value.datatype) if value.datatype in _REWRITTEN else text


def split(iri: str) -> tuple[str, int]:
    """Return origin and token from the IRI of an event.

    Raises ValueError if the IRI is not one of an event.
    """
    return origin_of(iri), int(iri.partition("#")[2], 16)


def origin_of(iri: str) -> str:
    """Return the origin from the IRI of an event; from another IRI, a text that no store has as its name."""
    return iri.removeprefix(EVENTS).partition("#")[0]


def parse(iri: NamedNode, quads: Iterable[Quad]) -> Event:
    """Read an event from its quads.

    Raises ValueError or KeyError if kind, subject, party or time is missing, or a property of records is
    there.
    """
    head: dict[NamedNode, Term] = {}
    arguments: list[tuple[NamedNode, Term]] = []
    for quad in quads:
        value = quad.object
        assert isinstance(value, NamedNode | Literal)
        if quad.predicate in _HEAD:
            head[quad.predicate] = value
        else:
            if quad.predicate in ARGUMENTS:
                raise ValueError(f"{iri} has {quad.predicate}, a property of records")
            arguments.append((argument_property(quad.predicate), value))
    origin, token = split(iri.value)
    kind, about, by = head[RDF.type], head[IDS.about], head[PROV.wasAssociatedWith]
    assert isinstance(kind, NamedNode) and isinstance(about, NamedNode) and isinstance(by, NamedNode)
    return Event(
        origin,
        token,
        kind,
        about.value,
        party_name(by),
        times.milliseconds(times.parse(head[PROV.endedAtTime].value)),
        tuple(sorted(arguments, key=lambda pair: (pair[0].value, str(pair[1])))),
    )


def group(quads: Iterable[Quad]) -> Iterator[tuple[NamedNode, list[Quad]]]:
    """Yield each subject with its quads, which must be consecutive."""
    subject: NamedNode | None = None
    members: list[Quad] = []
    for quad in quads:
        if quad.subject != subject:
            if subject is not None:
                yield subject, members
            assert isinstance(quad.subject, NamedNode)
            subject, members = quad.subject, []
        members.append(quad)
    if subject is not None:
        yield subject, members


KINDS = frozenset(
    {
        IDS.Initialization,
        IDS.Import,
        IDS.NamespaceAddition,
        IDS.NamespaceAllowance,
        IDS.NamespaceFreeze,
        IDS.NamespaceChange,
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
        IDS.Undeprecation,
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
        IDS.Redaction,
    }
)
"""Every kind of event."""
