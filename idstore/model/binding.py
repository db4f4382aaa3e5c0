"""Bindings: statements that an identifier is associated with another URI."""

from collections.abc import Iterable

from pyoxigraph import Literal, NamedNode, Quad

from idstore.frozen import dataclass
from idstore.model import times
from idstore.model.party import node, party_of
from idstore.model.terms import Term, text_of
from idstore.vocabulary import IDS, PROV, RDF, SKOS


@dataclass(frozen=True, slots=True)
class Binding:
    """A statement that the identifier is associated with another URI.

    node      name of the statement, made from the event that bound.
    by, at    who says so, since when.
    notes     what was said with it: note, confidence, justification, author.
    """

    node: NamedNode
    relation: NamedNode
    target: NamedNode
    by: str
    at: int
    notes: tuple[tuple[NamedNode, Term], ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """Binding again with the same key changes nothing."""
        return (self.relation.value, self.target.value, self.by)

    @property
    def note(self) -> str | None:
        """The remark."""
        return self.said(SKOS.note)

    def said(self, predicate: NamedNode) -> str | None:
        """What was said with it: note, confidence, justification or author; None if that was not."""
        return next((value.value for name, value in self.notes if name == predicate), None)

    def told(self, subject: NamedNode) -> list[tuple[NamedNode, Term]]:
        """What the statement, which stands beside the plain triple, says."""
        return [
            (RDF.type, IDS.Binding),
            (RDF.subject, subject),
            (RDF.predicate, self.relation),
            (RDF.object, self.target),
            (PROV.wasAssociatedWith, node(self.by)),
            (PROV.endedAtTime, times.literal(self.at)),
            *self.notes,
        ]


_STATEMENT = {RDF.type, RDF.subject, RDF.predicate, RDF.object, PROV.wasAssociatedWith, PROV.endedAtTime}


def parse_binding(name: NamedNode, quads: Iterable[Quad]) -> Binding:
    """Read a binding statement. Raises KeyError if something is missing."""
    values = {quad.predicate: quad.object for quad in quads}
    relation, target = values[RDF.predicate], values[RDF.object]
    assert isinstance(relation, NamedNode) and isinstance(target, NamedNode)
    notes = sorted(((key, value) for key, value in values.items() if key not in _STATEMENT), key=lambda pair: pair[0].value)
    return Binding(
        name,
        relation,
        target,
        party_of(values[PROV.wasAssociatedWith]),
        times.parse(text_of(values[PROV.endedAtTime])),
        tuple((key, value) for key, value in notes if isinstance(value, NamedNode | Literal)),
    )
