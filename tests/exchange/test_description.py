"""The counts in the description of the data match counts by SPARQL."""

import io
from collections import Counter
from pathlib import Path

import rdflib
from command_lines import Minting, Run
from hypothesis import HealthCheck, given, settings
from pyoxigraph import Store
from random_histories import ANN, Act, acts, begun, clock, memory, perform
from rdflib import DCTERMS, RDF, VOID, Graph, Literal, URIRef
from rdflib.namespace import DCAT, XSD

from idstore import Registry
from idstore.exchange import description
from idstore.model.filter import Filter
from idstore.model.party import NOBODY
from idstore.registry.export import read

_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)


def described(registry: Registry, namespace: str | None = None) -> Graph:
    target = io.BytesIO()
    description.describe(registry, target, namespace=namespace)
    again = io.BytesIO()
    description.describe(registry, again, namespace=namespace)
    assert again.getvalue() == target.getvalue()
    return Graph().parse(data=target.getvalue(), format="turtle")


def counted(store: Store, what: str) -> int:
    [row] = store.query(f"SELECT (COUNT({what}) AS ?many) WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}")  # type: ignore[misc]
    return int(row["many"].value)


def compare(registry: Registry, namespace: str | None = None) -> None:
    found = described(registry, namespace)
    store = Store()
    with registry.publication(Filter(namespace=namespace)) as lines:
        store.extend(read(lines))
    whole = URIRef(f"urn:uuid:{registry.store.origin}")
    dataset = URIRef(registry.namespace(namespace).base) if namespace else whole
    assert {*found.objects(dataset, RDF.type)} == {VOID.Dataset, DCAT.Dataset}
    assert found.value(dataset, VOID.triples) == Literal(counted(store, "*"))
    assert found.value(dataset, VOID.distinctSubjects) == Literal(counted(store, "DISTINCT ?s"))
    kinds = Counter(
        row["o"].value
        for row in store.query("SELECT DISTINCT ?s ?o WHERE { GRAPH ?g { ?s a ?o } }")  # type: ignore[union-attr]
    )
    parts = {
        str(found.value(part, VOID["class"])): int(str(found.value(part, VOID.entities)))
        for part in found.objects(dataset, VOID.classPartition)
    }
    assert parts == kinds
    assert found.value(dataset, VOID.classes) == Literal(len(kinds))
    spaces = {str(space) for space in found.objects(dataset, VOID.vocabulary)}
    used = {row["p"].value for row in store.query("SELECT DISTINCT ?p WHERE { GRAPH ?g { ?s ?p ?o } }")}  # type: ignore[union-attr]
    assert all(any(predicate.startswith(space) for space in spaces) for predicate in used)
    assert all(any(predicate.startswith(space) for predicate in used) for space in spaces)
    at = {
        row["t"].value
        for row in store.query(  # type: ignore[union-attr]
            "PREFIX dcterms: <http://purl.org/dc/terms/> PREFIX ids: <https://w3id.org/idstore/ontology#>"
            " PREFIX prov: <http://www.w3.org/ns/prov#> SELECT ?t WHERE { GRAPH ?g {"
            " ?s dcterms:created|dcterms:modified|ids:fixated|prov:generatedAtTime ?t } }"
        )
    }
    moments = sorted(Literal(text, datatype=XSD.dateTime) for text in at)
    assert [found.value(dataset, one) for one in (DCTERMS.issued, DCTERMS.modified)] == [
        moments[0],
        moments[-1],
    ]
    for space in registry.namespaces() if namespace is None else [registry.namespace(namespace)]:
        part = URIRef(space.base)
        assert (whole, VOID.subset, part) in found
        assert found.value(part, VOID.uriSpace) == Literal(space.base)
        count = registry.list(NOBODY, Filter(namespace=space.name), limit=None)
        assert found.value(part, VOID.entities) == Literal(len(count))


@settings(_QUIET, max_examples=8, derandomize=True)
@given(acts(5, 20))
def test_counts_match_sparql(history: list[Act]) -> None:
    with clock(), memory() as folder, begun(folder / "store") as registry:
        for act in history:
            perform(registry, act)
        compare(registry)
        compare(registry, "rdl")


def test_no_count_moves_when_others_draft(tmp_path: Path) -> None:
    with begun(tmp_path / "store") as registry:
        before = described(registry).serialize(format="nt")
        registry.mint("rdl", ANN)
        assert described(registry).serialize(format="nt") == before


def test_title_and_licence_are_those_of_the_options(run: Run, mint: Minting, tmp_path: Path) -> None:
    run("fixate", mint())
    licence = "https://creativecommons.org/publicdomain/zero/1.0/"
    run(
        "export",
        "--description",
        "--title",
        "Valves",
        "--license",
        licence,
        "-o",
        tmp_path / "void.ttl",
        by="carol",
    )
    found = rdflib.Graph().parse(tmp_path / "void.ttl")
    [dataset] = found.subjects(DCTERMS.title, Literal("Valves"))
    assert (found.value(dataset, DCTERMS.title), found.value(dataset, DCTERMS.license)) == (
        Literal("Valves"),
        URIRef(licence),
    )
    run("export", "--title", "Valves", code=2)
    run("export", "--download", "http://x.example.org/", code=2)
    for address in ("no address", "http://[::1"):
        run("export", "--description", "--download", address, code=3)
    run("export", "--description", "--stage", "fixated", code=2)
    run("export", "--description", "--namespace", "none", code=4)
    run("export", "--description", "--after", "0", code=2)
    run("export", "--description", "--license", "no iri", code=3)


def test_the_description_of_an_empty_registry(run: Run) -> None:
    run("init")
    text = run("export", "--description").out
    assert "void:triples" in text
    assert len(rdflib.Graph().parse(data=text, format="turtle")) > 5


def test_a_namespace_and_its_files_are_described(run: Run, mint: Minting) -> None:
    run("namespace", "set", "rdl", "publisher=Acme", "description=Valves", "contact=curator@example.org")
    run("fixate", mint())
    mint("--name", "hidden")
    address = "https://example.org/rdl.ttl"
    words = ("export", "--description", "--namespace", "rdl", "--download", address)
    text = run(*words).out
    assert run(*words, by="bob").out == text
    found = rdflib.Graph().parse(data=text, format="turtle")
    part = URIRef("http://rdl.example.org/data#")
    assert {*found.objects(part, DCTERMS.title)} == {Literal("rdl")}
    assert found.value(part, DCTERMS.publisher) == Literal("Acme")
    assert found.value(part, DCTERMS.description) == Literal("Valves")
    assert found.value(part, DCAT.contactPoint) == URIRef("mailto:curator@example.org")
    assert found.value(part, VOID.entities) == Literal(1)
    [file] = found.objects(part, DCAT.distribution)
    assert found.value(file, DCAT.downloadURL) == URIRef(address)
    assert str(found.value(file, DCAT.mediaType)).endswith("/text/turtle")
    whole = rdflib.Graph().parse(data=run("export", "--description").out, format="turtle")
    assert whole.value(part, DCTERMS.title) == Literal("rdl")
