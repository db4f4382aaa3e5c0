"""Relations in the namespaces of SKOS, OWL and RDF Schema are terms of these, or refused.

Source of the terms: the vocabularies themselves, as rdflib carries them.
"""

import json
from pathlib import Path

import pytest
from command_lines import Run
from rdflib.namespace import OWL, RDFS, SKOS

from idstore.model.closed_vocabularies import correction

WIKIDATA = "http://www.wikidata.org/entity/Q1"


@pytest.mark.parametrize("vocabulary", [OWL, RDFS, SKOS])
def test_every_term_of_a_vocabulary_is_taken(vocabulary: type[SKOS]) -> None:
    for term in vocabulary.__annotations__:
        assert correction(str(vocabulary[term])) is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (f"{SKOS}exactmatch", SKOS.exactMatch),
        (f"{SKOS}ExactMatch", SKOS.exactMatch),
        (f"{SKOS}exact_match", SKOS.exactMatch),
        (f"{SKOS}closeMatches", SKOS.closeMatch),
        (f"{OWL}sameas", OWL.sameAs),
        (f"{RDFS}seealso", RDFS.seeAlso),
        ("https://www.w3.org/2004/02/skos/core#exactMatch", SKOS.exactMatch),
        ("http://w3.org/2004/02/skos/core#exactMatch", SKOS.exactMatch),
        ("http://www.w3.org/2004/02/skos/core/exactMatch", SKOS.exactMatch),
        ("http://www.w3.org/2004/02/skos/core##exactMatch", SKOS.exactMatch),
        ("http://www.w3.org/2004/02/skos#exactMatch", SKOS.exactMatch),
        ("http://www.w3.org/2004/02/SKOS/core#broadMatch", SKOS.broadMatch),
        ("http://www.w3.org/2002/07/owl/sameAs", OWL.sameAs),
        ("http://www.w3.org/2002/07/OWL#sameAs", OWL.sameAs),
        ("https://www.w3.org/2000/01/rdf-schema#seeAlso", RDFS.seeAlso),
    ],
)
def test_a_misspelt_term_is_corrected(written: str, meant: object) -> None:
    assert correction(written) == str(meant)


@pytest.mark.parametrize(
    "relation",
    [
        "http://purl.org/dc/terms/relation",
        "http://www.w3.org/2008/05/skos-xl#prefLabel",
        "http://www.w3.org/ns/prov#wasDerivedFrom",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#value",
        "http://www.w3.org/2003/01/geo/wgs84_pos#lat",
        "http://example.org/skos/core#exactmatch",
    ],
)
def test_relations_of_other_vocabularies_are_free(relation: str) -> None:
    assert correction(relation) is None


@pytest.mark.usefixtures("rdl")
def test_a_misspelt_relation_is_refused_with_the_nearest_term(run: Run, tmp_path: Path) -> None:
    iri = run("mint", "own").line
    told = run("bind", iri, WIKIDATA, "--relation", "skos:exactmatch", "--json", code=3).err
    error = json.loads(told)
    assert error["error"] == "invalid-data"
    assert error["message"].endswith(f"did you mean {SKOS.exactMatch}?")
    (tmp_path / "table.tsv").write_text(
        f"subject\tpredicate\tobject\n{iri}\tskos:exactmatch\t{WIKIDATA}\n", encoding="utf-8"
    )
    outcome = run("import", tmp_path / "table.tsv", code=3)
    assert f"did you mean {SKOS.exactMatch}?" in outcome.out + outcome.err
    assert run("show", iri, "--json").object["bindings"] == []
