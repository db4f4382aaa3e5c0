"""The ontology describes the terms that the code uses, fully and within OWL 2 DL."""

from collections.abc import Iterator

import owlrl  # type: ignore[import-untyped]
import pytest
from rdflib import DC, DCTERMS, OWL, RDF, RDFS, SKOS, XSD, Graph, Namespace, URIRef
from rdflib.term import Node

from idstore import vocabulary
from idstore.model import event
from idstore.resources import folder

IDS = Namespace(vocabulary.ONTOLOGY)
VANN = Namespace("http://purl.org/vocab/vann/")
VS = Namespace("http://www.w3.org/2003/06/sw-vocab-status/ns#")
BIBO = Namespace("http://purl.org/ontology/bibo/")
ONTOLOGY = URIRef("https://w3id.org/idstore/ontology")
GRAPH = Graph().parse(data=(folder("ontology") / "idstore.ttl").read_text(encoding="utf-8"), format="turtle")

CODE = {URIRef(term.value) for name, term in vars(vocabulary.IDS).items() if not name.startswith("_")}
DESCRIBED = {term for term in GRAPH.subjects() if isinstance(term, URIRef) and term.startswith(vocabulary.ONTOLOGY)}
KINDS = {OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty, OWL.NamedIndividual}
RESERVED = (str(RDF), str(RDFS), str(OWL), str(XSD))
ALLOWED = {OWL.Thing, OWL.Nothing, RDFS.Literal, RDFS.label, RDFS.comment, RDFS.seeAlso, RDFS.isDefinedBy, OWL.versionInfo}
"""Reserved names that an OWL 2 DL ontology may use as a class, a datatype or a property of its own accord."""


def test_code_and_ontology_know_the_same_terms() -> None:
    assert CODE == DESCRIBED


@pytest.mark.parametrize("term", sorted(DESCRIBED))
def test_every_term_is_annotated(term: URIRef) -> None:
    assert set(GRAPH.objects(term, RDF.type)) & KINDS, "it is declared as something"
    for predicate in (RDFS.label, SKOS.definition):
        assert [text.language for text in GRAPH.objects(term, predicate)] == ["en"]  # type: ignore[attr-defined]
    assert list(GRAPH.objects(term, RDFS.isDefinedBy)) == [ONTOLOGY]
    assert len(list(GRAPH.objects(term, VS.term_status))) == 1


@pytest.mark.parametrize("term", sorted(DESCRIBED))
def test_definitions_are_sentences(term: URIRef) -> None:
    for predicate in (SKOS.definition, RDFS.comment):
        assert all(str(text).endswith(".") for text in GRAPH.objects(term, predicate))


@pytest.mark.parametrize(
    "predicate",
    [
        OWL.versionIRI,
        OWL.versionInfo,
        VANN.preferredNamespacePrefix,
        VANN.preferredNamespaceUri,
        DCTERMS.title,
        DCTERMS.description,
        DCTERMS.creator,
        DCTERMS.license,
        DCTERMS.created,
        DCTERMS.modified,
        DCTERMS.publisher,
        BIBO.status,
    ],
)
def test_the_header_says_what_reviewers_look_for(predicate: URIRef) -> None:
    assert len(list(GRAPH.objects(ONTOLOGY, predicate))) == 1


def test_the_namespace_is_the_code_s() -> None:
    assert str(GRAPH.value(ONTOLOGY, VANN.preferredNamespaceUri)) == vocabulary.ONTOLOGY
    assert vocabulary.PREFIXES[str(GRAPH.value(ONTOLOGY, VANN.preferredNamespacePrefix))] == vocabulary.ONTOLOGY


def test_the_version_iri_names_the_version() -> None:
    assert str(GRAPH.value(ONTOLOGY, OWL.versionIRI)) == f"{ONTOLOGY}/{GRAPH.value(ONTOLOGY, OWL.versionInfo)}"


def test_kinds_of_event_are_the_subclasses_of_event() -> None:
    assert set(GRAPH.subjects(RDFS.subClassOf, IDS.Event)) == {URIRef(kind.value) for kind in event.KINDS}


def test_no_name_is_two_kinds_of_property_or_class_and_property() -> None:
    for term in set(GRAPH.subjects(RDF.type)):
        kinds = set(GRAPH.objects(term, RDF.type)) & (KINDS - {OWL.NamedIndividual})
        assert len(kinds) <= 1, term


def test_every_property_and_class_is_declared() -> None:
    declared = {term for kind in KINDS for term in GRAPH.subjects(RDF.type, kind)}
    for term in set(GRAPH.predicates()) | set(expressions()):
        assert term in declared or str(term).startswith(RESERVED), term


def test_no_reserved_name_is_used_as_a_term() -> None:
    """OWL 2 DL keeps the names of RDF, RDFS, OWL and XML Schema for itself."""
    for term in set(GRAPH.subjects()) | set(expressions()):
        datatype = str(term).startswith(str(XSD))
        assert not isinstance(term, URIRef) or not str(term).startswith(RESERVED) or term in ALLOWED or datatype, term


def expressions() -> Iterator[Node]:
    """The named classes, datatypes and properties that axioms speak of."""
    for predicate in (RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range, OWL.disjointWith, OWL.onProperty):
        yield from (term for term in GRAPH.objects(None, predicate) if isinstance(term, URIRef))
    for predicate in (OWL.unionOf, OWL.members, OWL.hasKey, OWL.oneOf):
        for members in GRAPH.objects(None, predicate):
            yield from (term for term in GRAPH.items(members) if predicate != OWL.oneOf)


def test_domains_and_ranges_fit_the_kind_of_property() -> None:
    for kind, datatypes in ((OWL.DatatypeProperty, True), (OWL.ObjectProperty, False)):
        for term in GRAPH.subjects(RDF.type, kind):
            ranges = [found for found in GRAPH.objects(term, RDFS.range) if isinstance(found, URIRef)]
            assert all((found.startswith(str(XSD)) or found == RDFS.Literal) == datatypes for found in ranges), term


def test_the_standard_terms_are_not_redefined() -> None:
    foreign = {term for term in GRAPH.subjects() if isinstance(term, URIRef)} - DESCRIBED - {ONTOLOGY}
    for term in foreign:
        assert set(GRAPH.predicates(term)) == {RDF.type}, term
    assert not list(GRAPH.subject_objects(DC.title))


def inconsistent(*extra: tuple[Node, Node, Node]) -> bool:
    """Whether the OWL RL rules find a contradiction in the ontology with these triples."""
    graph = Graph()
    for triple in (*GRAPH, *extra):
        graph.add(triple)
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return bool(list(graph.subjects(RDF.type, URIRef("http://www.daml.org/2002/03/agents/agent-ont#ErrorMessage"))))


THING = URIRef("urn:example:thing")


def test_the_ontology_is_consistent_and_its_disjointness_bites() -> None:
    assert not inconsistent()
    assert inconsistent((THING, RDF.type, IDS.Mint), (THING, RDF.type, IDS.Bind))
    assert inconsistent((THING, RDF.type, IDS.Administrator), (THING, RDF.type, IDS.Group))
    assert not inconsistent((THING, RDF.type, IDS.PilinHandle), (THING, RDF.type, IDS.Handle))
