"""Description of what a registry publishes, as a dataset (VoID and DCAT), and of each namespace as a part."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import IO, Final

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from idstore import arguments
from idstore.exchange import exporting, rdf, workbooks
from idstore.exchange.sources import ending
from idstore.model import particulars, terms, times
from idstore.model.filter import Filter
from idstore.model.namespace import Namespace, shared
from idstore.model.terms import Term, integer
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.registry.export import read
from idstore.vocabulary import DCAT, DCTERMS, IDS, PREFIXES, PROV, RDF, REGISTRY_GRAPH, VOID, store_name
from idstore.web_addresses import address_parts

_PREFIXES = {**PREFIXES, "void": "http://rdfs.org/ns/void#"}
_TIMES: Final = (DCTERMS.created, DCTERMS.modified, IDS.fixated, PROV.generatedAtTime)
_SUFFIXES: Final = {**rdf.SUFFIXES, ".csv": "csv", workbooks.SUFFIX: workbooks.FORMAT}
"""Formats of files by the ends of their names."""


@arguments.checks
def describe(
    registry: Registry,
    target: IO[bytes],
    *,
    namespace: str | None = None,
    title: str | None = None,
    licence: str | None = None,
    publisher: str | None = None,
    downloads: Sequence[str] = (),
    progress: Progress = unwatched,
) -> None:
    """Describe what an export for publication holds: numbers of triples and entities, vocabularies, dates.

    namespace  the only namespace described, by name or base; None: the data of all, and each as a part.
    title    title of the data; None: the name of the namespace, else none.
    licence  IRI of the licence of the data; None: the one that all described namespaces state.
    publisher  name or IRI of the publisher of the data; None: the one that all described namespaces state.
    downloads  addresses of files with the data.
    The same state gives the same bytes.
    Raises UnknownNamespace, InvalidData, OSError.
    Cost: every published triple is read. Memory: flat but for the names of classes.
    """
    spaces = registry.namespaces() if namespace is None else [registry.namespace(namespace)]
    properties: list[tuple[NamedNode, Term]] = []
    title = title if namespace is None or title is not None else spaces[0].name
    if title is not None:
        properties.append((DCTERMS.title, Literal(terms.check_text(title, "title"))))
    licence = licence or shared(spaces, "licence")
    if licence is not None:
        properties.append((DCTERMS.license, terms.iri(licence, "IRI of a licence")))
    publisher = publisher or shared(spaces, "publisher")
    if publisher is not None:
        properties.append((DCTERMS.publisher, particulars.term("publisher", publisher)))
    tally = _Tally()
    with registry.publication(Filter(namespace=namespace), progress) as lines:
        for quad in read(lines):
            tally.add(quad)
    whole = NamedNode(store_name(registry.store.origin))
    dataset = whole if namespace is None else spaces[0].iri
    triples = chain(
        tally.triples(dataset, whole, properties),
        chain.from_iterable(_part(whole, dataset, space, tally) for space in spaces),
        chain.from_iterable(distribution(whole, dataset, one, _media_type(one)) for one in downloads),
    )
    serialize(dict.fromkeys(triples), target, format=RdfFormat.TURTLE, prefixes=_PREFIXES)


def _part(whole: NamedNode, dataset: NamedNode, space: Namespace, tally: "_Tally") -> Iterator[Triple]:
    """Yield a namespace as a part of the data: what it states, and its size.

    dataset  the described one, which has title, licence and publisher already.
    """
    yield Triple(whole, VOID.subset, space.iri)
    for kind in (VOID.Dataset, DCAT.Dataset):
        yield Triple(space.iri, RDF.type, kind)
    yield Triple(space.iri, VOID.uriSpace, Literal(space.base))
    yield Triple(space.iri, VOID.entities, integer(tally.entities[space.base]))
    stated = ["description", "contact"]
    if space.iri != dataset:
        yield Triple(space.iri, DCTERMS.title, Literal(space.name))
        stated += ["licence", "publisher"]
    for key, text in space.particulars:
        if key in stated:
            yield Triple(space.iri, particulars.PREDICATES[key], particulars.term(key, text))


def distribution(
    whole: NamedNode, dataset: NamedNode, address: str, media_type: str | None
) -> Iterator[Triple]:
    """Yield the description of a file with the data of a dataset. Raises InvalidData (address).

    whole  the dataset of all data, whose name begins that of the distribution.
    """
    file = terms.iri(address, "address of a file")
    node = NamedNode(f"{whole.value}#{terms.hashed(address):016x}")
    yield Triple(dataset, VOID.dataDump, file)
    yield Triple(dataset, DCAT.distribution, node)
    yield Triple(node, RDF.type, DCAT.Distribution)
    yield Triple(node, DCAT.downloadURL, file)
    yield Triple(node, DCAT.accessURL, file)
    if media_type is not None:
        kind = media_type.partition(";")[0]
        iri = NamedNode(f"https://www.iana.org/assignments/media-types/{kind}")
        yield Triple(node, DCAT.mediaType, iri)


def _media_type(address: str) -> str | None:
    """Return the media type that the end of an address stands for, None if it is unknown."""
    format = _SUFFIXES.get(ending(address_parts(address).path))
    return None if format is None else exporting.MEDIA_TYPES[format]


@dataclass(slots=True)
class _Tally:
    """Counts over quads that are grouped by subject.

    few       subjects whose quads may be scattered: parties, and all other subjects in the registry graph.
    described parties: several graphs may describe one.
    subjects  number of the other subjects.
    entities  number of identifiers by base.
    """

    quads: int = 0
    subjects: int = 0
    few: set[object] = field(default_factory=set)
    described: set[object] = field(default_factory=set)
    entities: Counter[str] = field(default_factory=Counter)
    times: list[datetime] = field(default_factory=list)
    classes: Counter[NamedNode] = field(default_factory=Counter)
    spaces: set[str] = field(default_factory=set)
    _before: object = None

    def add(self, quad: Quad) -> None:
        """Count one quad."""
        self.quads += 1
        if quad.subject != self._before:
            if quad.graph_name == REGISTRY_GRAPH or quad.object == IDS.Party:
                self.few.add(quad.subject)
            else:
                self.subjects += 1
        self._before = quad.subject
        self.spaces.add(terms.stem(quad.predicate.value))
        if quad.predicate == RDF.type and quad.object == IDS.Party:
            self.described.add(quad.subject)
        elif quad.predicate == RDF.type and isinstance(quad.object, NamedNode):
            self.classes[quad.object] += 1
        elif quad.predicate == IDS.inNamespace and isinstance(quad.object, NamedNode):
            self.entities[quad.object.value] += 1
        elif quad.predicate in _TIMES and isinstance(quad.object, Literal):
            moment = times.parse(quad.object.value)
            self.times = [min([moment, *self.times]), max([moment, *self.times])]

    def triples(
        self, dataset: NamedNode, whole: NamedNode, properties: list[tuple[NamedNode, Term]]
    ) -> Iterator[Triple]:
        """Yield the description: the properties of the dataset, and the counts.

        whole  the dataset of all data, whose name begins those of parts by class.
        """
        classes = self.classes + Counter({IDS.Party: len(self.described)})
        for kind in (VOID.Dataset, DCAT.Dataset):
            yield Triple(dataset, RDF.type, kind)
        for predicate, value in properties:
            yield Triple(dataset, predicate, value)
        if self.times:
            yield Triple(dataset, DCTERMS.issued, times.literal(self.times[0]))
            yield Triple(dataset, DCTERMS.modified, times.literal(self.times[1]))
        yield Triple(dataset, VOID.triples, integer(self.quads))
        yield Triple(dataset, VOID.distinctSubjects, integer(self.subjects + len(self.few)))
        yield Triple(dataset, VOID.classes, integer(len(classes)))
        for space in sorted(self.spaces):
            yield Triple(dataset, VOID.vocabulary, NamedNode(space))
        parts = {
            kind: NamedNode(f"{whole.value}#{terms.hashed(dataset.value + kind.value):016x}")
            for kind in sorted(classes, key=str)
        }
        for part in parts.values():
            yield Triple(dataset, VOID.classPartition, part)
        for kind, part in parts.items():
            yield Triple(part, VOID.of_class, kind)
            yield Triple(part, VOID.entities, integer(classes[kind]))
