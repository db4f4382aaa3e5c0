"""Relations that a file denies: `predicate_modifier` of SSSOM in RDF, and columns of tables of requests."""

from pathlib import Path

import pytest
from command_lines import Run

HEAD = """
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix sssom: <https://w3id.org/sssom/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix h: <https://hdl.handle.net/12345/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
h:a skos:exactMatch <http://x.example.org/1> , <http://x.example.org/2> .
"""
AXIOM = """[] a owl:Axiom ; owl:annotatedSource {0} ; owl:annotatedProperty skos:exactMatch ;
    owl:annotatedTarget {1} ; sssom:predicate_modifier {2} .
"""
STATEMENT = """[] sssom:predicate_modifier {2} ; rdf:subject {0} ;
    rdf:predicate skos:exactMatch ; rdf:object {1} .
"""


@pytest.fixture
def handles(run: Run) -> None:
    run("namespace", "add", "h", "12345", "--scheme", "handle")


@pytest.mark.usefixtures("handles")
@pytest.mark.parametrize("form", [AXIOM, STATEMENT])
@pytest.mark.parametrize(
    ("modifier", "reason"),
    [
        ("sssom:NegatedPredicate", "it denies the mapping"),
        ('"Not"', "it denies the mapping"),
        ('"Foo"', "'Foo' is no predicate_modifier"),
    ],
)
@pytest.mark.parametrize("ends", [("h:a", "<http://x.example.org/1>"), ("<http://x.example.org/1>", "h:a")])
def test_a_denied_relation_of_rdf_is_not_bound(
    run: Run, tmp_path: Path, form: str, modifier: str, reason: str, ends: tuple[str, str]
) -> None:
    file = tmp_path / "a.ttl"
    file.write_text(HEAD + form.format(*ends, modifier), encoding="utf-8")
    refused = run("import", file, "--namespace", "h", code=3)
    assert reason in refused.out and "nothing was changed" in refused.err
    run("import", file, "--namespace", "h", "--keep-going", code=3)
    bound = {one["target"] for one in run("show", "h:a", "--json").object["bindings"]}
    assert bound == {"http://x.example.org/2"}


@pytest.mark.usefixtures("handles")
def test_a_modifier_without_content_denies_nothing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.ttl"
    file.write_text(HEAD + AXIOM.format("h:a", "<http://x.example.org/1>", '""'), encoding="utf-8")
    run("import", file, "--namespace", "h")
    assert len(run("show", "h:a", "--json").object["bindings"]) == 2


@pytest.mark.usefixtures("handles")
def test_a_table_of_requests_has_no_column_that_denies(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("name,exactMatch,predicate_modifier\nq,http://x.example.org/9,Not\n", encoding="utf-8")
    assert "'predicate_modifier' may deny mappings" in run("mint", "h", "--from", file, code=3).err
    assert run("list").out == ""
