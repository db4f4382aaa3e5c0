"""Identifiers that RDF from elsewhere describes: SKOS and OWL vocabularies, reference data, bare triples.

Each subject that is an identifier of the namespace becomes one here, with its names, its version and its
relations to other IRIs. All other statements are counted and passed over.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple

from idstore.errors import ExchangeError, InvalidData, InvalidIdentifier
from idstore.exchange import rdf, rdf_input, rdfxml, sssom
from idstore.exchange.bad_lines import BadLines, Malformed
from idstore.exchange.mapping_rows import DENIAL
from idstore.exchange.sources import Readable, Source, ending, opened
from idstore.model import terms
from idstore.model.namespace import Namespace
from idstore.model.record import reserved
from idstore.model.terms import UNDETERMINED, Term
from idstore.registry.bindings import Statement
from idstore.registry.imports.enroll import Listed
from idstore.remedies import Remedy
from idstore.vocabulary import DCTERMS, IDS, MAPPING_PREFIXES, OWL, RDF, RDFS, SKOS, XSD

RDFXML: Final = "rdfxml"
FORMATS: Final[Mapping[str, RdfFormat]] = {**rdf.FORMATS, RDFXML: RdfFormat.RDF_XML}
"""RDF formats by the names that users type."""
SUFFIXES: Final[Mapping[str, str]] = {**rdf.SUFFIXES, ".rdf": RDFXML, ".owl": RDFXML}
"""Formats by file name extension."""
_STEMS: Final = 1000
"""Number of beginnings of other subjects that are counted."""


def _terms(prefix: str, *names: str) -> tuple[NamedNode, ...]:
    return tuple(NamedNode(MAPPING_PREFIXES.get(prefix, prefix) + name) for name in names)


NAMES: Final = (
    SKOS.prefLabel,
    RDFS.label,
    *_terms("dcterms", "title"),
    *_terms("http://purl.org/dc/elements/1.1/", "title"),
    *_terms("https://schema.org/", "name"),
    *_terms("http://schema.org/", "name"),
    *_terms("foaf", "name"),
)
"""Properties whose values are names; for each language the first of these that occurs counts."""
NOT_RELATIONS: Final = frozenset(
    (
        *_terms("rdfs", "isDefinedBy", "domain", "range"),
        *_terms("skos", "inScheme", "topConceptOf", "hasTopConcept"),
        *_terms("owl", "imports", "versionIRI", "priorVersion"),
        *_terms("dcterms", "creator", "contributor", "publisher", "license", "rights", "rightsHolder"),
        *_terms("dcterms", "accessRights", "language", "type", "format", "conformsTo"),
        *_terms("http://purl.org/dc/elements/1.1/", "creator", "contributor", "publisher", "rights"),
        *_terms("http://purl.org/dc/elements/1.1/", "language", "type", "format"),
        *_terms("prov", "wasAttributedTo", "wasGeneratedBy", "wasAssociatedWith"),
    )
)
"""Properties with IRIs as values that describe a document or its parts, and relate no identifier."""
REPLACED_BY: Final = frozenset(
    (DCTERMS.isReplacedBy, NamedNode("http://purl.obolibrary.org/obo/IAO_0100001"))
)
"""Properties that name a successor; the second one is that of the OBO ontologies ("term replaced by")."""
SYMMETRIC: Final = frozenset(
    (
        *_terms("skos", "exactMatch", "closeMatch", "relatedMatch", "related"),
        *_terms("owl", "sameAs", "equivalentClass", "equivalentProperty"),
    )
)
"""Relations that also say something about the identifier at their other end."""


_MODIFIER: Final = NamedNode(MAPPING_PREFIXES["sssom"] + "predicate_modifier")
_PARTS: Final = range(3)
"""The places of subject, relation and target."""
_ANNOTATED: Final = _terms("owl", "annotatedSource", "annotatedProperty", "annotatedTarget")
_ENDS: Final = {
    **dict(zip(_ANNOTATED, _PARTS, strict=True)),
    **dict(zip((RDF.subject, RDF.predicate, RDF.object), _PARTS, strict=True)),
}
"""Properties of a node that describes a statement → the place of the part that it names."""


class _Name(NamedTuple):
    """A name of an identifier. The least one of a language counts, in any order of the file."""

    rank: int
    text: str
    line: int


class _Related(NamedTuple):
    """A relation to another IRI, and its line."""

    statement: Statement
    line: int


@dataclass(slots=True)
class _Description:
    """The statements of a file about one identifier.

    id          the identifier as the file writes it.
    line        the first line about it.
    outdated    the line that deprecates or replaces it.
    successors  IRIs that replace it.
    """

    id: str
    line: int
    names: dict[str, _Name] = field(default_factory=dict)
    versions: list[str] = field(default_factory=list)
    related: dict[Statement, _Related] = field(default_factory=dict)
    outdated: int | None = None
    successors: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[Listed]:
        """Yield the description as lines of a table: a name and a relation each."""
        names, related = sorted(self.names.items()), self.related.values()
        for number, (named, relation) in enumerate(zip_longest(names, related)):
            lang, name = named or (UNDETERMINED, None)
            yield Listed(
                min([entry.line for entry in (name, relation) if entry is not None], default=self.line),
                self.id,
                None if name is None else name.text,
                lang,
                version=min(self.versions, default=None) if number == 0 else None,
                statement=None if relation is None else relation.statement,
            )
        if not (names or related):
            yield Listed(self.line, self.id, version=min(self.versions, default=None))


@dataclass(slots=True)
class RdfReading:
    """What a file says about the identifiers of a namespace.

    name       the name of the file in messages.
    format     its format.
    rows       lines of a table: at least one for each identifier.
    malformed  statements that cannot be read, and subjects that are no identifiers.
    passed     statements passed over, by property.
    others     number of statements about other subjects.
    """

    name: str
    format: str
    rows: list[Listed]
    malformed: BadLines
    passed: Counter[str] = field(default_factory=Counter)
    others: int = 0


def read(file: Readable, namespace: Namespace, format: str | None = None) -> RdfReading:
    """Read the identifiers of a namespace that a file describes. Memory: the identifiers.

    format  of `FORMATS`; by default by the suffix, where ``.owl`` can also be Turtle.
    Raises ExchangeError: it cannot be read, ends in the middle, is the export of a registry, or describes no
    identifier of the namespace.
    """
    with opened(file) as source:
        source.skip_mark()
        name = format or _format_of(source)
        reader = _Reader(source.name, namespace)
        for line, quad in reader.quads(source, name):
            reader.take(quad, line)
        return reader.reading(name)


def _format_of(source: Source) -> str:
    """Return the format by the suffix of the name. Raises ExchangeError."""
    suffix = ending(source.name)
    name = SUFFIXES.get(suffix)
    if name is None:
        raise ExchangeError(
            source.name,
            None,
            f"the extension {suffix!r} stands for no format of RDF; name the format of the file:"
            f" {', '.join(FORMATS)}",
            remedy=Remedy.NAME_FORMAT,
        )
    return "turtle" if name == RDFXML and not source.begins_as_xml() else name


class _Reader:
    """Collects what a file says about the identifiers of a namespace."""

    def __init__(self, name: str, namespace: Namespace) -> None:
        self._name, self._namespace = name, namespace
        self._malformed = BadLines(name)
        self._descriptions: dict[str, _Description] = {}
        self._passed: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        self._refused: set[str] = set()
        self._stated: dict[str, dict[int, str]] = {}
        self._modified: list[tuple[str, str, int]] = []
        self._label = lru_cache(maxsize=1 << 16)(self._read_label)

    # the file

    def quads(self, source: Source, format: str) -> Iterator[tuple[int, Quad]]:
        """Yield the quads of the file with their lines; note malformed ones. Raises ExchangeError."""

        def fail(line: int | None, reason: str) -> ExchangeError:
            return ExchangeError(self._name, line, f"not valid {format}: {reason}")

        if format == RDFXML:
            yield from rdfxml.quads(source, fail, self._skip)
            return
        stream = _Lines(source)
        for quad in rdf_input.quads(
            stream, FORMATS[format], fail, lambda line, reason: self._skip(line or stream.line, reason)
        ):
            yield stream.line, quad

    def _skip(self, line: int, reason: str) -> None:
        """Note a malformed line, once."""
        if not self._malformed or self._malformed[-1].line != line:
            self._malformed.append(Malformed(line, reason))

    # statements

    def take(self, quad: Quad, line: int) -> None:
        """Take a statement. Raises ExchangeError: the file is the export of a registry."""
        subject, predicate, value = quad.subject, quad.predicate, quad.object
        if predicate == IDS.about:
            raise ExchangeError(
                self._name,
                line,
                "it is the export of a registry, which names its namespaces itself; import it without a"
                " namespace",
                remedy=Remedy.OMIT_NAMESPACE,
            )
        if predicate in _ENDS and isinstance(value, NamedNode):
            self._stated.setdefault(str(subject), {})[_ENDS[predicate]] = value.value
        elif predicate == _MODIFIER and not isinstance(value, Triple):
            self._modified.append((str(subject), value.value, line))
        description = self._description(subject, line) if isinstance(subject, NamedNode) else None
        if description is not None:
            if not (
                isinstance(value, NamedNode | Literal) and self._describe(description, predicate, value, line)
            ):
                self._passed[predicate.value] += 1
        elif predicate in SYMMETRIC and isinstance(subject, NamedNode) and isinstance(value, NamedNode):
            other = self._description(value, line)
            if other is not None:
                self._relate(other, predicate, subject.value, line)

    def _description(self, iri: NamedNode, line: int) -> _Description | None:
        """Return the description of an identifier, None for another IRI and for a malformed identifier."""
        label, reason = self._label(iri.value)
        if label is not None:
            return self._descriptions.setdefault(label, _Description(iri.value, line))
        if reason is None:
            self._others[terms.stem(iri.value) if len(self._others) < _STEMS else ""] += 1
        elif iri.value not in self._refused:
            self._refused.add(iri.value)
            self._malformed.append(Malformed(line, reason))
        return None

    def _read_label(self, iri: str) -> tuple[str | None, str | None]:
        """Return the label of an identifier, or why an IRI of the namespace is none."""
        base, scheme = self._namespace.base, self._namespace.scheme
        if iri.rstrip("#/") == base.rstrip("#/"):
            return None, None
        try:
            return scheme.label(iri, self._namespace.context), None
        except InvalidIdentifier as error:
            return None, error.message if iri.startswith(base) else None

    def _describe(self, description: _Description, predicate: NamedNode, value: Term, line: int) -> bool:
        """Take a statement about an identifier. Returns False if it is passed over."""
        if isinstance(value, Literal) and value.datatype == XSD.anyURI and predicate not in NAMES:
            return self._relate(description, predicate, value.value, line)
        if isinstance(value, NamedNode) and predicate in REPLACED_BY:
            description.outdated = line
            description.successors.append(value.value)
            return True
        if isinstance(value, NamedNode):
            return self._relate(description, predicate, value.value, line)
        if predicate == OWL.deprecated and value.value in ("true", "1"):
            description.outdated = line
            return True
        try:
            if predicate in NAMES:
                return _add_name(description, NAMES.index(predicate), value, line)
            if predicate == OWL.versionInfo:
                description.versions.append(terms.check_text(value.value, "version"))
                return len(description.versions) == 1
        except InvalidData as error:
            self._malformed.append(Malformed(line, error.message))
            return True
        return False

    def _relate(self, description: _Description, predicate: NamedNode, target: str, line: int) -> bool:
        label, _ = self._label(target)
        itself = label is not None and label == self._label(description.id)[0]
        if reserved(predicate) or predicate in NOT_RELATIONS or itself:
            return False
        statement = Statement(target, predicate.value, force=True)
        try:
            statement.arguments()
        except InvalidData as error:
            self._malformed.append(Malformed(line, error.message))
        else:
            description.related.setdefault(statement, _Related(statement, line))
        return True

    def _deprecations(self) -> Iterator[Listed]:
        """Yield what is outdated, with its successors in the file: lines that follow all identifiers."""
        for description in self._descriptions.values():
            if description.outdated is None:
                continue
            labels = {iri: self._label(iri)[0] for iri in description.successors}
            here = tuple(
                iri
                for iri, label in labels.items()
                if label in self._descriptions and self._descriptions[label] is not description
            )
            if len(here) < len(labels):
                self._passed[DCTERMS.isReplacedBy.value] += len(labels) - len(here)
            yield Listed(
                description.outdated, description.id, outdated="its publisher deprecated it", successors=here
            )

    def _drop_denied(self) -> None:
        """Drop the relations that nodes with a ``predicate_modifier`` describe; note each as malformed."""
        for node, modifier, line in self._modified:
            stated = self._stated.get(node, {})
            if len(stated) < len(_PARTS):
                continue
            source, relation, target = (stated[place] for place in _PARTS)
            label, other = self._label(source)[0], self._label(target)[0]
            if label is None and other is None:
                continue
            try:
                denied = sssom.negates(modifier)
            except InvalidData as error:
                denied, reason = True, error.message
            else:
                reason = DENIAL
            if denied:
                self._malformed.append(Malformed(line, reason))
                for own, far in ((label, target), (other, source)):
                    description = None if own is None else self._descriptions.get(own)
                    if description is not None:
                        description.related.pop(Statement(far, relation, force=True), None)

    def reading(self, format: str) -> RdfReading:
        """Return what was collected. Raises ExchangeError: nothing is about the namespace."""
        self._drop_denied()
        rows = [row for description in self._descriptions.values() for row in description.rows()]
        rows += self._deprecations()
        if not rows and not self._malformed:
            stems = " or ".join(stem for stem, _ in self._others.most_common(3) if stem)
            raise ExchangeError(
                self._name,
                None,
                f"it describes no identifier of the namespace {self._namespace.name}, whose base is"
                f" {self._namespace.base}" + (f"; its subjects begin with {stems}" if stems else ""),
            )
        return RdfReading(self._name, format, rows, self._malformed, self._passed, sum(self._others.values()))


def _add_name(description: _Description, rank: int, value: Literal, line: int) -> bool:
    """Add a name; keep the least one of its language. Returns False if there was one."""
    if value.language is None and value.datatype != XSD.string:
        return False
    lang = UNDETERMINED if value.language is None else terms.language(value.language)
    name = _Name(rank, terms.check_text(value.value, "name"), line)
    before = description.names.get(lang)
    description.names[lang] = name if before is None else min(name, before)
    return before is None


class _Lines:
    """A stream that hands out a source line by line, so that its position tells the line of a quad.

    line  of the bytes that were handed out last, from 1.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ended = True
        self.line = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most ``size``, of one line; none at the end.

        The parser ends the process if it gets more than it asked for.
        """
        data = self._source.read_line(size)
        self.line += self._ended and bool(data)
        self._ended = data.endswith(b"\n")
        return data
