"""Description of a registry as a dataset (VoID and DCAT), with counts of the data that a party may see."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import IO

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from idstore.model import particulars, terms, times
from idstore.model.namespace import Namespace, number, shared
from idstore.model.party import Party
from idstore.model.terms import Term
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.vocabulary import DCAT, DCTERMS, IDS, PREFIXES, PROV, RDF, REGISTRY_GRAPH, VOID, store_name

_PREFIXES = {**PREFIXES, "void": "http://rdfs.org/ns/void#"}

_LISTED = {IDS.grantee, IDS.bindGrantee, IDS.offeredTo}
"""Properties of a published identifier outside its record, which is already counted."""


def describe(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    *,
    title: str | None = None,
    licence: str | None = None,
    publisher: str | None = None,
    progress: Progress = unwatched,
) -> None:
    """Describe the data that the party may see: number of triples, entities by class, vocabularies, dates.

    title    title of the data; None: it has none.
    licence  IRI of the licence of the data; None: the one that all namespaces state.
    publisher  name or IRI of the publisher of the data; None: the one that all namespaces state.
    Licence and publisher of each namespace are those of its part of the data.
    The same state gives the same bytes.
    Raises InvalidData, OSError. Cost: every triple is read. Memory: flat but for the names of classes.
    """
    properties: list[tuple[NamedNode, Term]] = []
    if title is not None:
        properties.append((DCTERMS.title, Literal(terms.check_text(title, "title"))))
    spaces = registry.namespaces()
    licence = licence or shared(spaces, "licence")
    if licence is not None:
        properties.append((DCTERMS.license, terms.iri(licence, "IRI of a licence")))
    publisher = publisher or shared(spaces, "publisher")
    if publisher is not None:
        properties.append((DCTERMS.publisher, particulars.term("publisher", publisher)))
    tally = _Tally()
    with registry.quads(party, progress=progress) as quads:
        for quad in quads:
            tally.add(quad)
    dataset = NamedNode(store_name(registry.store.origin))
    triples = chain(tally.triples(dataset, properties), _parts(dataset, spaces))
    serialize(triples, target, format=RdfFormat.TURTLE, prefixes=_PREFIXES)


def _parts(dataset: NamedNode, spaces: Iterable[Namespace]) -> Iterator[Triple]:
    """Yield what the namespaces state of their parts of the data."""
    for space in spaces:
        stated = [(key, text) for key, text in space.particulars if key in ("licence", "publisher")]
        if stated:
            yield Triple(dataset, VOID.subset, space.iri)
            yield Triple(space.iri, RDF.type, VOID.Dataset)
            yield Triple(space.iri, VOID.uriSpace, Literal(space.base))
        for key, text in stated:
            yield Triple(space.iri, particulars.PREDICATES[key], particulars.term(key, text))


@dataclass(slots=True)
class _Tally:
    """Counts over quads that are grouped by subject.

    few       subjects whose quads may be scattered: parties, and all other subjects in the registry graph.
    described parties: several private graphs may describe one.
    subjects  number of the other subjects.
    """

    quads: int = 0
    subjects: int = 0
    few: set[object] = field(default_factory=set)
    described: set[object] = field(default_factory=set)
    times: list[datetime] = field(default_factory=list)
    classes: Counter[NamedNode] = field(default_factory=Counter)
    spaces: set[str] = field(default_factory=set)
    _before: object = None

    def add(self, quad: Quad) -> None:
        """Count one quad."""
        self.quads += 1
        if quad.subject != self._before and quad.predicate not in _LISTED:
            if (
                quad.graph_name == REGISTRY_GRAPH
                or quad.predicate == IDS.suspended
                or quad.object == IDS.Party
            ):
                self.few.add(quad.subject)
            else:
                self.subjects += 1
        self._before = quad.subject
        self.spaces.add(terms.stem(quad.predicate.value))
        if quad.predicate == RDF.type and quad.object == IDS.Party:
            self.described.add(quad.subject)
        elif quad.predicate == RDF.type and isinstance(quad.object, NamedNode):
            self.classes[quad.object] += 1
        elif quad.predicate == PROV.endedAtTime and isinstance(quad.object, Literal):
            moment = times.parse(quad.object.value)
            self.times = [min([moment, *self.times]), max([moment, *self.times])]

    def triples(self, dataset: NamedNode, properties: list[tuple[NamedNode, Term]]) -> Iterator[Triple]:
        """Yield the description: the properties of the dataset, and the counts."""
        classes = self.classes + Counter({IDS.Party: len(self.described)})
        for kind in (VOID.Dataset, DCAT.Dataset):
            yield Triple(dataset, RDF.type, kind)
        for predicate, value in properties:
            yield Triple(dataset, predicate, value)
        if self.times:
            yield Triple(dataset, DCTERMS.issued, times.literal(self.times[0]))
            yield Triple(dataset, DCTERMS.modified, times.literal(self.times[1]))
        yield Triple(dataset, VOID.triples, number(self.quads))
        yield Triple(dataset, VOID.distinctSubjects, number(self.subjects + len(self.few)))
        yield Triple(dataset, VOID.classes, number(len(classes)))
        for space in sorted(self.spaces):
            yield Triple(dataset, VOID.vocabulary, NamedNode(space))
        parts = {
            kind: NamedNode(f"{dataset.value}#{terms.hashed(kind.value):016x}")
            for kind in sorted(classes, key=str)
        }
        for part in parts.values():
            yield Triple(dataset, VOID.classPartition, part)
        for kind, part in parts.items():
            yield Triple(part, VOID.of_class, kind)
            yield Triple(part, VOID.entities, number(classes[kind]))
