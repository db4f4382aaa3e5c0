"""Bindings: statements that associate an identifier with another URI."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NotRequired, TypedDict

from pyoxigraph import Literal, NamedNode, Quad

from idstore.model import times
from idstore.model.party import node, party_of
from idstore.model.terms import Term, text_of
from idstore.vocabulary import IDS, MAPPING_PREFIXES, PAV, PROV, RDF, SKOS, SSSOM


class BindingDocument(TypedDict):
    """A binding: a statement that associates the identifier with another URI.

    relation       IRI of the relation.
    target         the other URI.
    by             name of the party that made the statement.
    at             when the party made it.
    confidence     certainty from 0 to 1.
    justification  IRI of the method that found the relation.
    author         who found the relation, if not the party: an IRI or a name.
    node           its IRI; in answers of a server only.
    notes          annotations as pairs of predicate and value; in answers of a server only.
    """

    relation: str
    target: str
    by: str
    at: str
    note: str | None
    confidence: NotRequired[float]
    justification: NotRequired[str]
    author: NotRequired[str]
    node: NotRequired[str]
    notes: NotRequired[list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Binding:
    """A statement that associates the identifier with another URI.

    node      IRI of the statement, derived from the event that created it.
    by        name of the party that made the statement.
    at        when the party made it.
    notes     annotations as predicate and value: note, confidence, justification, author.
    """

    node: NamedNode
    relation: str
    target: str
    by: str
    at: datetime
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

    @property
    def metadata(self) -> dict[str, str]:
        """Confidence, justification and author, as far as they are known."""
        fields = {
            "confidence": self.annotation(SSSOM.confidence),
            "justification": self.annotation(SSSOM.mapping_justification),
            "author": self.annotation(PAV.authoredBy),
        }
        return {name: value for name, value in fields.items() if value is not None}

    def as_dict(self) -> BindingDocument:
        """Return the binding with its annotations as JSON has them."""
        document: BindingDocument = {
            "relation": self.relation,
            "target": self.target,
            "by": self.by,
            "at": times.iso(self.at),
            "note": self.note,
        }
        metadata = self.metadata
        if "confidence" in metadata:
            document["confidence"] = float(metadata["confidence"])
        if "justification" in metadata:
            document["justification"] = metadata["justification"]
        if "author" in metadata:
            document["author"] = metadata["author"]
        return document

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
