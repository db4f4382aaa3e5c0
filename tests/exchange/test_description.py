"""The counts in the description of the data match counts by SPARQL."""

import io
from collections import Counter
from pathlib import Path

import rdflib
from command_lines import Minting, Run
from hypothesis import HealthCheck, given, settings
from pyoxigraph import Store
from random_histories import ANN, OUT, ROOT, Act, acts, begun, clock, memory, perform
from rdflib import DCTERMS, RDF, VOID, Graph, Literal, URIRef
from rdflib.namespace import DCAT, XSD

from idstore import Party, Registry
from idstore.exchange import description

_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)


def described(registry: Registry, party: Party) -> Graph:
    target = io.BytesIO()
    description.describe(registry, target, party)
    again = io.BytesIO()
    description.describe(registry, again, party)
    assert again.getvalue() == target.getvalue()
    return Graph().parse(data=target.getvalue(), format="turtle")


def counted(store: Store, what: str) -> int:
    [row] = store.query(f"SELECT (COUNT({what}) AS ?many) WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}")  # type: ignore[misc]
    return int(row["many"].value)


def compare(registry: Registry, party: Party) -> None:
    found = described(registry, party)
    store = Store()
    with registry.quads(party) as quads:
        store.extend(quads)
    dataset = URIRef(f"urn:uuid:{registry.store.origin}")
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
            "SELECT ?t WHERE { GRAPH ?g { ?e <http://www.w3.org/ns/prov#endedAtTime> ?t } }"
        )
    }
    moments = sorted(Literal(text, datatype=XSD.dateTime) for text in at)
    assert [found.value(dataset, one) for one in (DCTERMS.issued, DCTERMS.modified)] == [
        moments[0],
        moments[-1],
    ]


@settings(_QUIET, max_examples=8, derandomize=True)
@given(acts(5, 20))
def test_counts_match_sparql(history: list[Act]) -> None:
    with clock(), memory() as folder, begun(folder / "store") as registry:
        for act in history:
            perform(registry, act)
        for party in (ANN, OUT, ROOT):
            compare(registry, party)


def test_no_count_moves_when_others_draft(tmp_path: Path) -> None:
    with begun(tmp_path / "store") as registry:
        before = described(registry, OUT).serialize(format="nt")
        registry.mint("rdl", ANN)
        assert described(registry, OUT).serialize(format="nt") == before


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
    [dataset] = found.subjects(RDF.type, VOID.Dataset)
    assert (found.value(dataset, DCTERMS.title), found.value(dataset, DCTERMS.license)) == (
        Literal("Valves"),
        URIRef(licence),
    )
    run("export", "--title", "Valves", code=2)
    run("export", "--description", "--namespace", "rdl", code=2)
    run("export", "--description", "--after", "0", code=2)
    run("export", "--description", "--license", "no iri", code=3)


def test_the_description_of_an_empty_registry(run: Run) -> None:
    run("init")
    text = run("export", "--description").out
    assert "void:triples" in text
    assert len(rdflib.Graph().parse(data=text, format="turtle")) > 5
