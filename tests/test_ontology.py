"""The ontology describes exactly the terms of the code, within OWL 2 DL."""

from collections.abc import Iterator

import owlrl  # type: ignore[import-untyped]
import pytest
from pyoxigraph import Literal, NamedNode
from rdflib import DC, DCTERMS, OWL, RDF, RDFS, SKOS, XSD, Graph, Namespace, URIRef
from rdflib.term import Node
from small_registry import sound

from idstore import vocabulary
from idstore.model import event, particulars, record
from idstore.resources import folder
from idstore.schemes import installed

IDS = Namespace(vocabulary.ONTOLOGY)
VANN = Namespace("http://purl.org/vocab/vann/")
VS = Namespace("http://www.w3.org/2003/06/sw-vocab-status/ns#")
BIBO = Namespace("http://purl.org/ontology/bibo/")
ONTOLOGY = URIRef("https://w3id.org/idstore/ontology")
MODULES = {
    entry.name.removesuffix(".ttl"): Graph().parse(data=entry.read_text(encoding="utf-8"), format="turtle")
    for entry in folder("ontology").iterdir()
    if entry.name.endswith(".ttl")
}
"""The core (``idstore``) and the modules that import it."""
GRAPH = Graph()
for module in MODULES.values():
    GRAPH += module

CODE = {URIRef(term.value) for name, term in vars(vocabulary.IDS).items() if not name.startswith("_")}
DESCRIBED = {
    term for term in GRAPH.subjects() if isinstance(term, URIRef) and term.startswith(vocabulary.ONTOLOGY)
}
SETTINGS = {
    URIRef(vocabulary.setting_term(key).value) for code in installed().values() for key in code.defaults
}
STATED = {URIRef(vocabulary.setting_term(key).value) for key in particulars.PREDICATES}
ARGUMENTS = {URIRef(vocabulary.argument_term(NamedNode(str(term))).value) for term in SETTINGS | STATED}
OWN = DESCRIBED | SETTINGS | ARGUMENTS
KINDS = {OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty, OWL.NamedIndividual}
RESERVED = (str(RDF), str(RDFS), str(OWL), str(XSD))
ALLOWED = {
    OWL.Thing,
    OWL.Nothing,
    RDFS.Literal,
    RDFS.label,
    RDFS.comment,
    RDFS.seeAlso,
    RDFS.isDefinedBy,
    OWL.versionInfo,
}
"""Reserved names that an OWL 2 DL ontology may use as a class, a datatype or a property."""


def iri(module: str) -> URIRef:
    return ONTOLOGY if module == "idstore" else ONTOLOGY + "/" + module


def test_code_and_ontology_have_the_same_terms() -> None:
    assert CODE == DESCRIBED


def test_every_setting_is_described_for_namespaces_and_for_events() -> None:
    for term in SETTINGS | ARGUMENTS:
        assert GRAPH.value(term, RDFS.range) in (XSD.string, XSD.boolean, XSD.integer)


def test_the_core_is_small_and_the_modules_import_it() -> None:
    classes = {term for term in MODULES["idstore"].subjects(RDF.type, OWL.Class) if term in DESCRIBED}
    assert len(classes) <= 32
    for name, graph in MODULES.items():
        assert list(graph.objects(iri(name), OWL.imports)) == ([] if name == "idstore" else [ONTOLOGY])
        assert set(graph.subjects(RDF.type, OWL.Ontology)) == {iri(name)}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_uses_its_own_terms_and_those_of_the_core(name: str) -> None:
    own = set(MODULES[name].subjects(RDF.type)) | set(MODULES["idstore"].subjects(RDF.type))
    assert {term for triple in MODULES[name] for term in triple if term in OWN} <= own


def test_the_catalogue_of_files_has_every_module() -> None:
    text = (folder("ontology") / "catalog-v001.xml").read_text(encoding="utf-8")
    assert {line.strip() for line in text.splitlines() if "<uri" in line} == {
        f'<uri name="{iri(name)}" uri="{name}.ttl"/>' for name in MODULES
    }


def test_cardinalities_are_left_to_the_shapes() -> None:
    """With a cardinality, a binding by owl:sameAs would make two owners one."""
    assert not set(GRAPH.objects(None, RDF.type)) & {OWL.Restriction, OWL.FunctionalProperty}
    assert not list(GRAPH.subject_objects(OWL.hasKey))


@pytest.mark.parametrize("term", sorted(OWN))
def test_every_term_is_annotated(term: URIRef) -> None:
    assert set(GRAPH.objects(term, RDF.type)) & KINDS, "it is declared as something"
    for predicate in (RDFS.label, SKOS.definition):
        assert [text.language for text in GRAPH.objects(term, predicate)] == ["en"]  # type: ignore[attr-defined]
    (home,) = GRAPH.objects(term, RDFS.isDefinedBy)
    assert [name for name, graph in MODULES.items() if (term, RDFS.label, None) in graph] == [
        name for name in MODULES if iri(name) == home
    ]
    assert len(list(GRAPH.objects(term, VS.term_status))) == 1


@pytest.mark.parametrize("term", sorted(OWN))
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
def test_the_header_has_the_metadata_of_an_ontology(predicate: URIRef) -> None:
    for name in MODULES:
        assert len(list(GRAPH.objects(iri(name), predicate))) == 1


def test_the_namespace_matches_the_code() -> None:
    assert str(GRAPH.value(ONTOLOGY, VANN.preferredNamespaceUri)) == vocabulary.ONTOLOGY
    assert (
        vocabulary.PREFIXES[str(GRAPH.value(ONTOLOGY, VANN.preferredNamespacePrefix))] == vocabulary.ONTOLOGY
    )


def test_the_version_iri_names_the_version() -> None:
    for name in MODULES:
        version = GRAPH.value(iri(name), OWL.versionInfo)
        assert str(GRAPH.value(iri(name), OWL.versionIRI)) == f"{iri(name)}/{version}"


def test_kinds_of_event_are_the_subclasses_of_event() -> None:
    assert set(GRAPH.subjects(RDFS.subClassOf, IDS.Event)) == {URIRef(kind.value) for kind in event.KINDS}


def test_each_name_is_one_kind_of_term() -> None:
    for term in set(GRAPH.subjects(RDF.type)):
        kinds = set(GRAPH.objects(term, RDF.type)) & (KINDS - {OWL.NamedIndividual})
        assert len(kinds) <= 1, term


def test_every_property_and_class_is_declared() -> None:
    declared = {term for kind in KINDS for term in GRAPH.subjects(RDF.type, kind)}
    for term in set(GRAPH.predicates()) | set(expressions()):
        assert term in declared or str(term).startswith(RESERVED), term


def test_no_reserved_name_is_used_as_a_term() -> None:
    """OWL 2 DL reserves the names of RDF, RDFS, OWL and XML Schema."""
    for term in set(GRAPH.subjects()) | set(expressions()):
        datatype = str(term).startswith(str(XSD))
        assert (
            not isinstance(term, URIRef) or not str(term).startswith(RESERVED) or term in ALLOWED or datatype
        ), term


def expressions() -> Iterator[Node]:
    """Yield the named classes, datatypes and properties in axioms."""
    for predicate in (
        RDFS.subClassOf,
        RDFS.subPropertyOf,
        RDFS.domain,
        RDFS.range,
        OWL.disjointWith,
        OWL.onProperty,
    ):
        yield from (term for term in GRAPH.objects(None, predicate) if isinstance(term, URIRef))
    for predicate in (OWL.unionOf, OWL.members, OWL.hasKey, OWL.oneOf):
        for members in GRAPH.objects(None, predicate):
            yield from (term for term in GRAPH.items(members) if predicate != OWL.oneOf)


def test_domains_and_ranges_fit_the_kind_of_property() -> None:
    for kind, datatypes in ((OWL.DatatypeProperty, True), (OWL.ObjectProperty, False)):
        for term in GRAPH.subjects(RDF.type, kind):
            ranges = [found for found in GRAPH.objects(term, RDFS.range) if isinstance(found, URIRef)]
            assert all(
                (found.startswith(str(XSD)) or found == RDFS.Literal) == datatypes for found in ranges
            ), term


def test_the_standard_terms_are_not_redefined() -> None:
    foreign = {term for term in GRAPH.subjects() if isinstance(term, URIRef)} - OWN - set(map(iri, MODULES))
    for term in foreign:
        assert set(GRAPH.predicates(term)) == {RDF.type}, term
    assert not list(GRAPH.subject_objects(DC.title))


def inconsistent(*extra: tuple[Node, Node, Node]) -> bool:
    """Return whether the OWL RL rules find a contradiction in the ontology with these triples."""
    graph = Graph()
    for triple in (*GRAPH, *extra):
        graph.add(triple)
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return bool(
        list(graph.subjects(RDF.type, URIRef("http://www.daml.org/2002/03/agents/agent-ont#ErrorMessage")))
    )


THING = URIRef("urn:example:thing")


@pytest.mark.slow
def test_the_ontology_is_consistent_and_its_disjointness_is_effective() -> None:
    assert not inconsistent()
    assert inconsistent((THING, RDF.type, IDS.Mint), (THING, RDF.type, IDS.Bind))
    assert inconsistent((THING, RDF.type, IDS.Administrator), (THING, RDF.type, IDS.Group))
    assert not inconsistent((THING, RDF.type, IDS.PilinHandle), (THING, RDF.type, IDS.Handle))


STATEMENT = {str(RDF.subject), str(RDF.predicate), str(RDF.object)}
"""The properties that docs/architecture.md names as outside OWL 2 DL."""


def test_data_use_each_property_as_it_is_declared() -> None:
    for quad in sound():
        name = URIRef(quad.predicate.value)
        if name == RDF.type:
            assert (URIRef(quad.object.value), RDF.type, OWL.Class) in GRAPH  # type: ignore[union-attr]
        elif str(name) not in STATEMENT and name not in ALLOWED | {OWL.deprecated}:
            literal = isinstance(quad.object, Literal)
            wanted = OWL.DatatypeProperty if literal else OWL.ObjectProperty
            assert set(GRAPH.objects(name, RDF.type)) & {wanted, OWL.AnnotationProperty}, name


def test_each_property_of_the_ontology_is_used_by_data_or_above_one_that_is() -> None:
    used = {URIRef(quad.predicate.value) for quad in sound()}
    findings = set(MODULES["findings"].subjects(RDF.type))
    relations = {URIRef(relation.value) for relation in record.RELATIONS}
    partial = URIRef(vocabulary.IDS.partial.value)  # in the header of a partial export
    properties = {
        term
        for kind in (OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty)
        for term in GRAPH.subjects(RDF.type, kind)
        if term in DESCRIBED
    }
    assert properties - used - findings - relations - {partial} == set()
