"""Bindings: statements that associate an identifier with another URI."""

from collections.abc import Iterable
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Quad

from idstore.model import times
from idstore.model.party import node, party_of
from idstore.model.terms import Term, text_of
from idstore.vocabulary import IDS, MAPPING_PREFIXES, PAV, PROV, RDF, SKOS, SSSOM


@dataclass(frozen=True, slots=True)
class Binding:
    """A statement that associates the identifier with another URI.

    node      IRI of the statement, derived from the event that created it.
    by        name of the party that made the statement.
    at        when the party made it, in milliseconds since 1970.
    notes     annotations as predicate and value: note, confidence, justification, author.
    """

    node: NamedNode
    relation: str
    target: str
    by: str
    at: int
    notes: tuple[tuple[NamedNode, Term], ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """Relation, target and party. Of two bindings with one key, the later one adds a source."""
        return (self.relation, self.target, self.by)

    def adds_to(self, earlier: Iterable["Binding"]) -> bool:
        """Whether the binding says more than earlier ones with its key: an author, or a method that found it.

        A binding without an earlier one does.
        """
        same = [binding for binding in earlier if binding.key == self.key]
        return not same or any(
            (source := self.annotation(kind)) not in (None, UNSPECIFIED)
            and all(binding.annotation(kind) != source for binding in same)
            for kind in _SOURCES
        )

    @property
    def note(self) -> str | None:
        """The text of the note, or None."""
        return self.annotation(SKOS.note)

    def annotation(self, predicate: NamedNode) -> str | None:
        """Return the text of the annotation (note, confidence, justification or author), or None."""
        return next((value.value for name, value in self.notes if name == predicate), None)

    def statement(self, subject: NamedNode) -> list[tuple[NamedNode, Term]]:
        """Return predicates and objects of the statement's node. The plain triple is not part of them."""
        return [
            (RDF.type, IDS.Binding),
            (RDF.subject, subject),
            (RDF.predicate, NamedNode(self.relation)),
            (RDF.object, NamedNode(self.target)),
            (PROV.wasAttributedTo, node(self.by)),
            (PROV.generatedAtTime, times.literal(self.at)),
            *self.notes,
        ]


UNSPECIFIED = MAPPING_PREFIXES["semapv"] + "UnspecifiedMatching"
"""The method that SSSOM files name where none is known."""
_SOURCES = (PAV.authoredBy, SSSOM.mapping_justification)
_STATEMENT = {RDF.type, RDF.subject, RDF.predicate, RDF.object, PROV.wasAttributedTo, PROV.generatedAtTime}


def parse_binding(name: NamedNode, quads: Iterable[Quad]) -> Binding:
    """Read a binding from the quads of its node. Raises KeyError if a property is missing."""
    values = {quad.predicate: quad.object for quad in quads}
    relation, target = values[RDF.predicate], values[RDF.object]
    assert isinstance(relation, NamedNode) and isinstance(target, NamedNode)
    notes = sorted(
        ((key, value) for key, value in values.items() if key not in _STATEMENT),
        key=lambda pair: pair[0].value,
    )
    return Binding(
        name,
        relation.value,
        target.value,
        party_of(values[PROV.wasAttributedTo]),
        times.parse(text_of(values[PROV.generatedAtTime])),
        tuple((key, value) for key, value in notes if isinstance(value, NamedNode | Literal)),
    )
