"""What is given away: publications, redirect maps and descriptions show what everyone sees."""

import json
from pathlib import Path

import pytest
from command_lines import WIKIDATA, Minting, Run

CC0 = "https://creativecommons.org/publicdomain/zero/1.0/"
MAPS = ("nginx-map", "apache-map")
FORMATS = ("turtle", "trig", "ntriples", "nquads", "jsonld", "csv", "sssom", "handle-batch", *MAPS)


@pytest.mark.near_and_far
def test_a_publication_is_the_same_for_everyone(run: Run, mint: Minting, tmp_path: Path) -> None:
    run("namespace", "set", "rdl", f"licence={CC0}", "publisher=Acme", "description=Valves")
    iri = mint("--name", "valve", "--comment", "first remark", "--target", WIKIDATA)
    run("fixate", iri)
    before = [run("export", "--for-publication", "--format", format).out for format in FORMATS]
    draft = mint("--name", "secret", "--target", WIKIDATA)
    run("bind", draft, WIKIDATA)
    run("comment", iri, "second remark", "--internal")
    for party in ("alice", "bob"):
        after = [run("export", "--for-publication", "--format", format, by=party).out for format in FORMATS]
        assert after == before
    assert not [text for text in before if "remark" in text or "secret" in text]
    for text in (CC0, '"Acme"', '"Valves"', '"valve"', "ids:Fixated"):
        assert text in before[0]
    place = tmp_path / "rdl.ttl"
    run("export", "--for-publication", "--namespace", "rdl", "-o", place)
    assert run("validate", place).line == "conforms"
    assert "it holds no events" in run("import", place, code=3).err
    assert iri in run("export", "--for-publication", "--format", "csv", "--wide").out


@pytest.mark.usefixtures("rdl")
def test_a_publication_goes_with_formats_of_a_state(run: Run) -> None:
    for words in (("--digest",), ("--description",), ("--after", "0"), ("--format", "rdf-patch")):
        assert "--for-publication" in run("export", "--for-publication", *words, code=2).err
    answer = run("export", "--for-publication", "--stage", "created", "--json", code=3)
    assert json.loads(answer.err)["field"] == "stage"


@pytest.mark.near_and_far
def test_a_redirect_map_has_published_identifiers_alone(run: Run, rdl: str) -> None:
    assert rdl
    for label in ("a", "gone", "draft"):
        run("register", "h", label, "--target", f"http://t.example/{label}")
    run("fixate", "h:a", "h:gone")
    run("revoke", "h:gone", "--reason", "abuse")
    for format, line in zip(
        MAPS, ('"/10.1000/a" "http://t.example/a";', "/10.1000/a http://t.example/a"), strict=True
    ):
        answer = run("export", "--format", format, "--namespace", "h", by="bob")
        assert answer.line == line
        told = "left out: 1 withdrawn, such as https://hdl.handle.net/10.1000/gone"
        assert answer.err == f"idstore: warning: {told}\n"


@pytest.mark.near_and_far
def test_a_batch_file_tells_of_values_that_not_everyone_may_read(run: Run, rdl: str) -> None:
    assert rdl
    run("register", "h", "a", "--target", "http://t.example/a")
    run("handle", "set", "h:a", "EMAIL", "me@t.example", "--permissions", "1100")
    run("fixate", "h:a")
    words = ("export", "--format", "handle-batch", "--namespace", "h")
    told = "warning: values that not everyone may read are in this file (1)"
    answer = run(*words)
    assert told in answer.err and "me@t.example" in answer.out
    hidden = run(*words, "--for-publication")
    assert told not in hidden.err and "me@t.example" not in hidden.out


@pytest.mark.near_and_far
def test_a_batch_file_of_changes(run: Run, rdl: str) -> None:
    assert rdl
    warned = run("export", "--format", "handle-batch", "--changed-since", "2020-01-01")
    assert warned.out == warned.err == ""
    run("register", "h", "a", "--target", "http://t.example/a")
    words = ("export", "--format", "handle-batch", "--namespace", "h", "--changed-since", "yesterday")
    assert "warning: handles of h are created without HS_ADMIN" in run(*words).err
    run("namespace", "set", "h", "admin=200:0.NA/10.1000")
    answer = run(*words)
    assert "warning: drafts are in this file (1), and a handle server shows them to everybody" in answer.err
    assert answer.lines == [
        "CREATE 10.1000/a",
        "1 URL 86400 1110 UTF8 http://t.example/a",
        "100 HS_ADMIN 86400 1110 ADMIN 200:111111111111:0.NA/10.1000",
        "",
    ]
    for hidden in (run(*words, by="bob"), run(*words, "--for-publication")):
        assert hidden.out == hidden.err == ""
    run("export", "--changed-since", "yesterday", code=2)
    run(*words, "--stage", "fixated", code=3)
