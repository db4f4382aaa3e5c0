"""What a registry's data are, for catalogues of datasets: VoID and DCAT, counted for whoever asks."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from idstore.model import terms, times
from idstore.model.namespace import number
from idstore.model.party import Party
from idstore.model.terms import Term
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.vocabulary import DCAT, DCTERMS, IDS, PREFIXES, PROV, RDF, REGISTRY_GRAPH, VOID, store_name

_PREFIXES = {**PREFIXES, "dcat": "http://www.w3.org/ns/dcat#", "void": "http://rdfs.org/ns/void#"}

_LISTED = {IDS.grantee, IDS.bindGrantee, IDS.offeredTo}
"""What is said of a published identifier beside its record, where it was counted."""


def describe(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    *,
    title: str | None = None,
    licence: str | None = None,
    progress: Progress = unwatched,
) -> None:
    """Write what the data that the party may see are: triples, things by class, vocabularies, dates. The same state gives the same bytes.

    licence  IRI of the licence that the data are under.
    Raises InvalidData, OSError. Cost: every triple is read. Memory: flat but for the names of classes.
    """
    given: list[tuple[NamedNode, Term]] = []
    if title is not None:
        given.append((DCTERMS.title, Literal(terms.plain(title, "title"))))
    if licence is not None:
        given.append((DCTERMS.license, terms.iri(licence, "IRI of a licence")))
    tally = _Tally()
    with registry.quads(party, progress=progress) as quads:
        for quad in quads:
            tally.add(quad)
    dataset = NamedNode(store_name(registry.store.origin))
    serialize(tally.triples(dataset, given), target, format=RdfFormat.TURTLE, prefixes=_PREFIXES)


@dataclass(slots=True)
class _Tally:
    """Counts of what goes by, subjects together.

    few       the subjects that may come in two places: parties, and whatever else is in the registry graph.
    subjects  how many others there are.
    """

    quads: int = 0
    subjects: int = 0
    few: set[object] = field(default_factory=set)
    times: list[int] = field(default_factory=list)
    classes: Counter[NamedNode] = field(default_factory=Counter)
    spaces: set[str] = field(default_factory=set)
    _before: object = None

    def add(self, quad: Quad) -> None:
        """Count a quad."""
        self.quads += 1
        if quad.subject != self._before and quad.predicate not in _LISTED:
            if quad.graph_name == REGISTRY_GRAPH or quad.predicate == IDS.suspended:
                self.few.add(quad.subject)
            else:
                self.subjects += 1
        self._before = quad.subject
        self.spaces.add(terms.stem(quad.predicate.value))
        if quad.predicate == RDF.type and isinstance(quad.object, NamedNode):
            self.classes[quad.object] += 1
        elif quad.predicate == PROV.endedAtTime and isinstance(quad.object, Literal):
            moment = times.parse(quad.object.value)
            self.times = [min([moment, *self.times]), max([moment, *self.times])]

    def triples(self, dataset: NamedNode, given: list[tuple[NamedNode, Term]]) -> Iterator[Triple]:
        """The description, with what is said of the dataset beside the counts."""
        for kind in (VOID.Dataset, DCAT.Dataset):
            yield Triple(dataset, RDF.type, kind)
        for predicate, value in given:
            yield Triple(dataset, predicate, value)
        if self.times:
            yield Triple(dataset, DCTERMS.issued, times.literal(self.times[0]))
            yield Triple(dataset, DCTERMS.modified, times.literal(self.times[1]))
        yield Triple(dataset, VOID.triples, number(self.quads))
        yield Triple(dataset, VOID.distinctSubjects, number(self.subjects + len(self.few)))
        yield Triple(dataset, VOID.classes, number(len(self.classes)))
        for space in sorted(self.spaces):
            yield Triple(dataset, VOID.vocabulary, NamedNode(space))
        parts = {kind: NamedNode(f"{dataset.value}#{terms.hashed(kind.value):016x}") for kind in sorted(self.classes, key=str)}
        for part in parts.values():
            yield Triple(dataset, VOID.classPartition, part)
        for kind, part in parts.items():
            many = self.classes[kind]
            yield Triple(part, VOID.of_class, kind)
            yield Triple(part, VOID.entities, number(many))
