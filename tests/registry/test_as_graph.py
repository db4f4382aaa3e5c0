"""The registry as a dataset of rdflib: equal to its export, for each party, with minimal reads."""

from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from random_histories import ANN, BEN, GIL, OUT, RDL, ROOT, Act, acts, begun, clock, memory, perform
from rdflib import RDF, Dataset, Graph, Literal, URIRef
from rdflib.namespace import RDFS, SKOS

from idstore import Party, Registry, Request, Statement
from idstore.vocabulary import IDS, PUBLIC_LOG

pytestmark = pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")
_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
LABEL = URIRef(IDS.stage.value)

QUESTIONS = (
    (
        "SELECT ?kind (COUNT(?event) AS ?many) WHERE { ?event a ?kind ; "
        "prov:wasAssociatedWith ?who } GROUP BY ?kind"
    ),
    "SELECT ?id ?name WHERE { ?id ids:stage ids:Fixated . OPTIONAL { ?id rdfs:label ?name } }",
    "SELECT ?graph (COUNT(*) AS ?many) WHERE { GRAPH ?graph { ?s ?p ?o } } GROUP BY ?graph",
    (
        "SELECT ?id ?target WHERE { ?id ids:owner <https://w3id.org/idstore/party/ann> "
        "; skos:exactMatch ?target } ORDER BY ?id"
    ),
    (
        "SELECT DISTINCT ?event WHERE { ?id skos:notation ?label . ?event ids:about "
        "?id FILTER NOT EXISTS { ?id owl:deprecated true } }"
    ),
)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with begun(tmp_path / "store") as registry:
        iri = registry.register("names", "x", ANN, Request("valve", lang="en")).iri
        registry.bind(iri, Statement("http://example.org/a"), ANN)
        registry.fixate([iri], ANN)
        registry.mint("rdl", BEN, Request("draft"))
        yield registry


def loaded(registry: Registry, party: Party) -> Dataset:
    """Return the export, loaded by rdflib itself."""
    made = Dataset(default_union=True)
    with registry.quads(party) as quads:
        text = "".join(f"{quad} .\n" for quad in quads if quad.predicate != IDS.partial)
    with patch.object(rdflib, "NORMALIZE_LITERALS", False):  # noqa: FBT003 texts as they are
        made.parse(data=text, format="nquads")
    return made


def quads(dataset: Dataset) -> set[object]:
    return {(s, p, o, g) for s, p, o, g in dataset.quads((None, None, None, None))}


def compare(registry: Registry, party: Party) -> None:
    shown, expected = registry.as_graph(party), loaded(registry, party)
    assert {*shown} == {*expected}
    assert quads(shown) == quads(expected)
    assert {*shown.triples((None, None, None))} == {*expected.triples((None, None, None))}
    assert len(shown) == len(expected)
    names = {graph.identifier for graph in expected.graphs() if len(graph)}
    assert {graph.identifier for graph in shown.graphs() if len(graph)} == names
    for name in names:
        assert {*shown.graph(name)} == {*expected.graph(name)}
    for subject, predicate, value in sorted(expected.triples((None, None, None)))[
        :: max(1, len(expected) // 12)
    ]:
        for pattern in (
            (subject, None, None),
            (None, predicate, value),
            (subject, predicate, value),
            (subject, None, value),
        ):
            assert {*shown.triples(pattern)} == {*expected.triples(pattern)}
        assert (subject, predicate, value) in shown
        assert (subject, predicate, Literal("nothing of the kind")) not in shown
    for question in QUESTIONS:
        assert rows(shown, question) == rows(expected, question)


def rows(dataset: Dataset, question: str) -> list[str]:
    spaces = {
        "ids": IDS.stage.value.removesuffix("stage"),
        "prov": "http://www.w3.org/ns/prov#",
        "skos": str(SKOS),
        "rdfs": str(RDFS),
    }
    spaces["owl"] = "http://www.w3.org/2002/07/owl#"
    return sorted(str(tuple(row)) for row in dataset.query(question, initNs=spaces))  # type: ignore[arg-type]


@settings(_QUIET, max_examples=4, derandomize=True)
@given(acts(8, 20))
def test_the_dataset_equals_the_export(history: list[Act]) -> None:
    with clock(), memory() as folder, begun(folder / "store") as registry:
        for act in history:
            perform(registry, act)
        for party in (ANN, GIL, ROOT, OUT):
            compare(registry, party)


def test_each_party_sees_its_part_of_the_dataset(registry: Registry) -> None:
    draft = URIRef(next(record.iri for record in registry.list(BEN) if record.namespace == RDL))
    seen = {party.name: (draft, None, None) in registry.as_graph(party) for party in (ANN, BEN, ROOT, OUT)}
    assert seen == {"ann": False, "ben": True, "root": True, "out": False}
    hidden = {graph.identifier for graph in registry.as_graph(BEN).graphs()} - {
        graph.identifier for graph in registry.as_graph(OUT).graphs()
    }
    assert hidden
    for name in hidden:
        assert [*registry.as_graph(OUT).graph(name)] == []
    assert rows(registry.as_graph(OUT), f"SELECT ?p WHERE {{ <{draft}> ?p ?o }}") == []
    claims = URIRef("https://w3id.org/idstore/graph/claims")
    assert [*registry.as_graph(ROOT).graph(claims)] == []


def test_the_dataset_shows_the_newest_state(registry: Registry) -> None:
    graph = registry.as_graph(OUT)
    before = len(graph)
    iri = registry.register("names", "y", ANN).iri
    assert len(graph) == before
    registry.fixate([iri], ANN)
    assert graph.value(URIRef(iri), LABEL) == URIRef(IDS.Fixated.value)


def test_a_pattern_reads_only_matching_quads(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(30):
        registry.mint("rdl", ANN)
    read: list[int] = []
    matching = Registry.matching

    def counted(*words: object) -> object:
        found = matching(*words)  # type: ignore[arg-type]
        read.append(len(found))
        return found

    monkeypatch.setattr(Registry, "matching", counted)
    graph = registry.as_graph(ROOT)
    assert read == []
    assert (
        len([*graph.subjects(SKOS.notation, Literal("x"))]) == sum(read) == 1
    )  # the identifier; the event that created it says so in a term of its own
    assert len([*graph.subjects(LABEL, URIRef(IDS.Fixated.value))]) == 1
    assert sum(read) == 2
    found = rows(graph, "SELECT ?name WHERE { ?id skos:notation 'x' ; rdfs:label ?name }")
    assert len(found) == 1
    assert sum(read) < 10
    assert len(graph) > 200


CHANGES: dict[str, Callable[[Dataset], object]] = {
    "add": lambda graph: graph.add((URIRef("a:a"), RDF.type, URIRef("a:b"))),
    "add to a graph": lambda graph: graph.graph(PUBLIC_LOG.value).add(
        (URIRef("a:a"), RDF.type, URIRef("a:b"))
    ),
    "add many": lambda graph: graph.addN([(URIRef("a:a"), RDF.type, URIRef("a:b"), graph.default_graph)]),
    "remove": lambda graph: graph.remove((None, None, None)),  # type: ignore[arg-type]
    "remove from a graph": lambda graph: graph.graph(PUBLIC_LOG.value).remove((None, None, None)),
    "remove a graph": lambda graph: graph.remove_graph(URIRef(PUBLIC_LOG.value)),
    "parse": lambda graph: graph.parse(data="<a:a> a <a:b> .", format="turtle"),
    "update": lambda graph: graph.update("DELETE WHERE { ?s ?p ?o }"),
    "insert": lambda graph: graph.update("INSERT DATA { <a:a> a <a:b> }"),
    "set": lambda graph: graph.set((URIRef("a:a"), RDF.type, URIRef("a:b"))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_dataset_is_read_only(registry: Registry, change: str) -> None:
    before = quads(registry.as_graph(ROOT))
    with pytest.raises(TypeError, match="the graph of a registry is read-only"):
        CHANGES[change](registry.as_graph(ROOT))
    assert quads(registry.as_graph(ROOT)) == before


def test_the_dataset_can_be_serialised_and_copied(registry: Registry) -> None:
    shown = registry.as_graph(OUT)
    text = shown.serialize(format="turtle")
    assert "skos:notation" in text
    assert (
        rdflib.Graph()
        .parse(data=text, format="turtle")
        .isomorphic(Graph() + Graph().parse(data=shown.serialize(format="nt")))
    )
    copy = Graph()
    for triple in shown.triples((None, LABEL, None)):
        copy.add(triple)
    assert len(copy) == 1


@pytest.mark.parametrize("odd", [URIRef("no iri at all"), Literal("a subject"), rdflib.BNode("nowhere")])
def test_impossible_terms_match_nothing(registry: Registry, odd: rdflib.term.Identifier) -> None:
    graph = registry.as_graph(ROOT)
    assert [*graph.triples((odd, None, None))] == []
    assert [*graph.triples((None, odd, None))] == []
    assert [*graph.triples((None, None, odd))] == []
