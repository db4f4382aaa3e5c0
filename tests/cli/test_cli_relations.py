"""Relations in the namespaces of SKOS, OWL and RDF Schema are terms of these, or refused.

Source of the terms: the vocabularies themselves, as rdflib carries them.
"""

import json
from pathlib import Path

import pytest
from command_lines import Run
from rdflib.namespace import OWL, RDFS, SKOS

from idstore.model.closed_vocabularies import correction
from idstore.vocabulary import ONTOLOGY

WIKIDATA = "http://www.wikidata.org/entity/Q1"


@pytest.mark.parametrize("vocabulary", [OWL, RDFS, SKOS])
def test_every_term_of_a_vocabulary_is_taken(vocabulary: type[SKOS]) -> None:
    for term in vocabulary.__annotations__:
        assert correction(str(vocabulary[term])) is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http://www.w3.org/2004/02/skos/mapping#exactMatch", SKOS.exactMatch),
        ("http://www.w3.org/2008/05/skos-xl#exactMatch", SKOS.exactMatch),
        ("http://www.w3.org/TR/skos-reference/#exactMatch", SKOS.exactMatch),
        ("http://www.w3.org/2000/01/rdfs#seeAlso", RDFS.seeAlso),
        ("http://www.w3.org/2006/12/owl2#sameAs", OWL.sameAs),
        (f"{OWL}exactMatch", SKOS.exactMatch),
        (f"{SKOS}sameAs", OWL.sameAs),
        ("https://w3id.org/idstore#boundTo", f"{ONTOLOGY}boundTo"),
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
        ("http://www.w3.org/2008/05/skos#exactMatch", SKOS.exactMatch),
        ("https://www.w3.org/2008/05/skos#exactmatch", SKOS.exactMatch),
        ("http://w3id.org/idstore/ontology#canContain", f"{ONTOLOGY}canContain"),
        ("https://w3id.org/idstore/ontology/canContain", f"{ONTOLOGY}canContain"),
        ("https://www.w3id.org/idstore/Ontology#canContain", f"{ONTOLOGY}canContain"),
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


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("term", ["skos:Concept", "owl:Class", "rdfs:Datatype", "skos:prefLabel"])
def test_a_term_that_relates_no_identifiers_is_refused(run: Run, tmp_path: Path, term: str) -> None:
    iri = run("mint", "own").line
    assert "relates no identifiers" in run("bind", iri, WIKIDATA, "--relation", term, code=3).err
    table = tmp_path / "table.tsv"
    table.write_text(f"subject\tpredicate\tobject\n{iri}\t{term}\t{WIKIDATA}\n", encoding="utf-8")
    run("import", table, code=3)
    assert run("show", iri, "--json").object["bindings"] == []


@pytest.mark.parametrize("name", ["a.tsv", "a.ttl", "a.nq"])
def test_a_misspelt_relation_is_no_agreement(run: Run, store: Path, tmp_path: Path, name: str) -> None:
    """It would be passed over, and with it the contradiction of the two statements."""
    run("init")
    one, other = (f"<http://x.example.org/a> <{SKOS}exactmatch> <http://y.example.org/{n}> ." for n in (1, 2))
    table = "subject\tpredicate\tobject\n" + "".join(
        f"http://x.example.org/a\tskos:exactmatch\thttp://y.example.org/{n}\n" for n in (1, 2)
    )
    (tmp_path / name).write_text(table if name == "a.tsv" else f"{one}\n{other}\n", encoding="utf-8")
    told = run("reconcile", store, tmp_path / name).out
    assert f"has no such term; {SKOS.exactMatch} is probably meant" in told


@pytest.mark.usefixtures("rdl")
def test_an_export_with_a_misspelt_relation_is_refused(run: Run, tmp_path: Path) -> None:
    iri = run("mint", "own").line
    run("bind", iri, WIKIDATA)
    file = tmp_path / "a.nq"
    file.write_text(run("export", "--format", "nquads").out.replace("exactMatch", "exactmatch"), "utf-8")
    assert f"{SKOS.exactMatch} is probably meant" in run("validate", file, code=5).out
    assert (
        f"{SKOS.exactMatch} is probably meant"
        in run("import", file, "--store", tmp_path / "other", code=3).err
    )


@pytest.mark.near_and_far
def test_a_binding_within_the_registry_to_nothing_or_to_a_draft_is_told(run: Run, rdl: str) -> None:
    assert rdl
    public, draft = run("register", "h", "public").line, run("register", "h", "draft").line
    assert run("bind", public, draft).err == ""
    run("fixate", public)
    absent = run("bind", public, "h:absent").err
    assert "https://hdl.handle.net/10.1000/absent is in a namespace of this registry, and no" in absent
    told = run("bind", public, draft, "--relation", "skos:closeMatch").err
    assert f"{draft} is a draft, and everyone sees this binding to it" in told
    run("fixate", draft)
    assert run("bind", public, draft, "--relation", "skos:relatedMatch").err == ""
    hidden = run("register", "h", "hidden", by="bob").line
    unseen = run("bind", public, hidden, by="carol").err
    assert unseen == absent.replace("absent", "hidden")


@pytest.mark.near_and_far
def test_the_log_says_why_a_binding_was_removed(run: Run, rdl: str, tmp_path: Path) -> None:
    assert rdl
    iri = run("register", "h", "a").line
    for target in ("http://x.example/1", "http://x.example/2"):
        run("bind", iri, target)
    run("unbind", iri, "http://x.example/1", "--note", "another thing")
    decisions = tmp_path / "d.tsv"
    decisions.write_text(
        f"action\tsubject_id\tpredicate_id\tobject_id\tcomment\n"
        f"unbind\t{iri}\tskos:exactMatch\thttp://x.example/2\tno longer there\n"
    )
    run("reconcile", "--accept", decisions)
    events = run("log", "--id", iri, "--json").objects
    notes = [one["note"] for one in events if one["kind"] == "Unbind"]
    assert notes == ["another thing", "no longer there"]
    assert run("show", iri, "--json").object["bindings"] == []
    run("verify")


def test_a_summary_of_decisions_says_why(run: Run, tmp_path: Path) -> None:
    decisions = tmp_path / "d.tsv"
    decisions.write_text(
        "action\tsubject_id\tpredicate_id\tobject_id\tcomment\n"
        "unbind\turn:x:a\tskos:exactMatch\thttp://x.example/1\tnot the <same> charter\n"
        "bind\turn:x:a\tskos:closeMatch\thttp://x.example/1\tas the archive says\n"
        f"keep\turn:x:b\tskos:exactMatch\thttp://x.example/2\t{'long ' * 40}\n"
    )
    words = ("reconcile", "--accept", decisions, "--summary")
    text = run(*words).lines
    assert text[2].endswith("instead of skos:exactMatch: not the <same> charter; as the archive says")
    assert text[4].endswith("long…") and len(text[4]) < 200
    first, second = run(*words, "--json").objects
    assert (first["note"], second["note"]) == (
        "not the <same> charter; as the archive says",
        "long " * 40,
    )
    page = run(*words, "--format", "html").out
    assert "<br>not the &lt;same&gt; charter; as the archive says</li>" in page
