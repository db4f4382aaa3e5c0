"""Minting, looking up, resolving and citing identifiers."""

import json
from pathlib import Path

import pytest
from command_lines import NEVER, RDL, WIKIDATA, Minting, Run

from idstore.model import times

ARTICLE = {
    "issn": "1936-0851",
    "volume": 4,
    "issue": "10",
    "page": "6153",
    "title": "Direct Synthesis of Graphene",
}
DERIVED = "http://journals.example.org/19360851/v04i0010/6153_dsog"


@pytest.mark.near_and_far
def test_mint_prints_the_iri_alone(run: Run, rdl: str) -> None:
    outcome = run("mint", rdl, "--name", "valve", "--lang", "EN", "--comment", "a try", "--target", WIKIDATA)
    assert outcome.line.startswith(f"{RDL}R")
    assert outcome.err == ""


def test_a_record_has_the_keys_of_the_contract(run: Run, mint: Minting) -> None:
    iri = mint("--name", "valve", "--lang", "en", "--comment", "a try", "--target", WIKIDATA)
    run("bind", iri, WIKIDATA, "--note", "surely")
    run("grant", iri, "bob")
    found = run("show", iri, "--json").object
    created, bound, said = (
        found.pop("created"),
        found["bindings"][0].pop("at"),
        found["comments"][0].pop("at"),
    )
    assert times.iso(times.parse(created)) == created and bound > created == said
    assert found.pop("grants") in (["bob"], ["alice", "bob"])
    for extra in ("version", "versionOf", "deprecated", "reason", "offeredTo", "mayBind", "below", "kind"):
        found.pop(extra)
    assert found == {
        "id": iri,
        "label": iri.removeprefix(RDL),
        "namespace": "rdl",
        "scheme": "rdswip",
        "stage": "created",
        "provisional": False,
        "owner": "alice",
        "names": {"en": "valve"},
        "target": WIKIDATA,
        "fixated": None,
        "supersededBy": [],
        "bindings": [
            {
                "relation": "http://www.w3.org/2004/02/skos/core#exactMatch",
                "target": WIKIDATA,
                "by": "alice",
                "note": "surely",
            }
        ],
        "comments": [{"text": "a try", "by": "alice", "internal": False}],
    }


def test_mint_and_register_print_the_record_with_json(run: Run, rdl: str) -> None:
    assert run("mint", rdl, "--json").object["stage"] == "created"
    made = run("register", "h", "abc/def", "--name", "x", "--json").object
    assert (made["id"], made["label"], made["names"]) == (
        "https://hdl.handle.net/10.1000/abc/def",
        "abc/def",
        {"und": "x"},
    )


def test_a_second_identifier_for_a_target_gives_a_warning(run: Run, mint: Minting) -> None:
    first = mint("--target", WIKIDATA)
    again = run("mint", "rdl", "--target", WIKIDATA)
    assert again.err == f"idstore: warning: {WIKIDATA}: {first} already leads there\n"
    assert run("mint", "rdl", "--target", WIKIDATA, by="bob").err == ""  # bob sees neither
    third = mint()
    assert first in run("target", third, WIKIDATA).err


def test_a_request_key_gives_the_same_identifier(run: Run, mint: Minting) -> None:
    first = mint("--request-key", "k", "--target", WIKIDATA)
    again = run("mint", "rdl", "--request-key", "k", "--target", WIKIDATA)
    assert (again.line, again.err) == (first, "")
    assert "target" in run("mint", "rdl", "--request-key", "k", "--target", "http://example.org/", code=8).err


@pytest.mark.usefixtures("rdl")
def test_provisional_puids_are_minted_by_type(run: Run) -> None:
    assert run("mint", "own", "--type", "x-fmt", "--json").object["provisional"]
    assert (
        run("mint", "own", "--metadata", "-", stdin='{"type": "sfw"}').line
        == "http://formats.example.org/sfw/1"
    )


@pytest.mark.usefixtures("rdl")
def test_derive_writes_nothing_and_continues_after_a_bad_line(run: Run) -> None:
    lines = [json.dumps(ARTICLE), "not json", json.dumps(ARTICLE), '{"volume": 1}']
    outcome = run("derive", "sp", "--metadata", "-", stdin="\n".join(lines) + "\n", code=3)
    assert outcome.lines == [DERIVED, "", DERIVED, ""]
    first, second = outcome.err.splitlines()
    assert first.startswith("idstore: standard input, line 2: ")
    assert second.startswith("idstore: standard input, line 4: the metadata have no issn")
    assert run("list", "--namespace", "sp").out == ""


@pytest.mark.usefixtures("rdl")
def test_derive_reports_collisions(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "articles.jsonl"
    file.write_text(json.dumps(ARTICLE) + "\n" + json.dumps(ARTICLE) + "\n")
    assert [found["collides"] for found in run("derive", "sp", "--metadata", file, "--json").objects] == [
        False,
        True,
    ]
    assert run("mint", "sp", "--metadata", file).lines == [DERIVED, f"{DERIVED}_1"]
    found = run("derive", "sp", "--metadata", file, "--json").objects
    assert [one["collides"] for one in found] == [True, True]
    assert found[0]["id"] == DERIVED and found[0]["extensions"] == []


@pytest.mark.usefixtures("rdl")
def test_a_single_object_may_stand_on_several_lines(run: Run) -> None:
    assert run("derive", "sp", "--metadata", "-", stdin=json.dumps(ARTICLE, indent=2)).line == DERIVED


@pytest.mark.usefixtures("rdl")
def test_a_bad_article_among_several_is_reported_and_the_others_are_minted(run: Run) -> None:
    lines = json.dumps(ARTICLE) + '\n{"volume": 1}\n\n{\n' + json.dumps(ARTICLE) + "\n"
    outcome = run("mint", "sp", "--metadata", "-", stdin=lines, code=3)
    assert outcome.lines == [DERIVED, "", "", f"{DERIVED}_1"]
    first, second, last = outcome.err.splitlines()
    assert first.startswith("idstore: standard input, line 2: the metadata have no issn")
    assert second.startswith("idstore: standard input, line 4: it is not JSON")
    assert last == (
        "idstore: 2 minted, 0 known by their DOI or key, 2 refused; what is minted is kept; 2 have no DOI and"
        " no field key: a second run mints them again"
    )


@pytest.mark.usefixtures("rdl")
def test_what_a_second_run_mints_again_is_told(run: Run) -> None:
    below = ("mint", "sp", "--metadata", "-", "--kind", "pdf", "--parent")
    with_doi = [{**ARTICLE, "doi": f"10.5072/{number}"} for number in range(2)]
    run("mint", "sp", "--metadata", "-", stdin=json.dumps(ARTICLE))
    for _ in range(2):
        outcome = run(*below, DERIVED, stdin="\n".join(map(json.dumps, with_doi)))
        assert "2 minted" in outcome.err
        assert "2 have no field key: a second run mints them again" in outcome.err
    keyed = [{**article, "key": f"k{number}"} for number, article in enumerate(with_doi)]
    for minted in (2, 0):
        told = run(*below, DERIVED, stdin="\n".join(map(json.dumps, keyed))).err
        assert f"{minted} minted" in told and "again" not in told


@pytest.mark.usefixtures("rdl")
def test_files_are_minted_below_their_article(run: Run) -> None:
    run("mint", "sp", "--metadata", "-", stdin=json.dumps(ARTICLE))
    assert run("mint", "sp", "--parent", DERIVED, "--kind", "pdf").line.startswith(f"{DERIVED}/pdf_fulltext/")
    run("mint", "sp", "--parent", f"{DERIVED}_1", "--kind", "pdf", code=4)
    run("mint", "sp", "--parent", DERIVED, code=2)


def test_check_tries_every_scheme(run: Run) -> None:
    assert run("check", "R3732211754").line == "R3732211754\trdswip"
    assert run("check", "-", "--scheme", "puid", stdin="info:pronom/fmt/18\nfmt/19\n").lines == [
        "fmt/18",
        "fmt/19",
    ]
    refused = run("check", "R37322", "--json", code=3)
    assert refused.out == "" and json.loads(refused.err)["error"] == "invalid-identifier"
    assert "position" in json.loads(refused.err)


def test_check_shows_the_time_in_a_suffix(run: Run) -> None:
    assert run("check", "Y35XYS0QH").line == "Y35XYS0QH\tpilin\tmade 2007-05-25T03:49:52.865Z"
    assert run("check", "Y35XYS0QH", "--scheme", "pilin").line == "Y35XYS0QH"
    assert (
        run("check", "Y35XYS0QH", "--scheme", "pilin", "--json").object["made"] == "2007-05-25T03:49:52.865Z"
    )


@pytest.mark.usefixtures("rdl")
def test_check_tries_registered_namespaces_first(run: Run) -> None:
    assert run("check", "R3732211754").line == f"{NEVER}\trdswip\trdl"
    assert run("check", "rdl:R3732211754", NEVER).lines == [f"{NEVER}\trdswip\trdl"] * 2
    assert run("check", "10.1000/a", "--json").object == {
        "text": "10.1000/a",
        "scheme": "handle",
        "canonical": "10.1000/a",
        "namespace": "h",
    }
    assert "rdswip" in run("check", "rdl:R37", code=3).err
    run("check", "no identifier", code=3)  # although it could be the suffix of a handle


@pytest.mark.usefixtures("rdl")
def test_check_lists_each_scheme_once_that_refuses_a_text(run: Run) -> None:
    run("namespace", "add", "other", "67890", "--scheme", "handle")
    run("namespace", "add", "facade", "http://facade.example.org/data#", "--scheme", "rdswip")
    refusals = json.loads(run("check", "no identifier", "--json", code=3).err)["refusals"]
    named = [refusal["scheme"] for refusal in refusals]
    assert sorted(named) == sorted({"handle", "pilin", "puid", "rdswip", "scholars-portal"})


def test_check_reads_whole_handles_beside_a_namespace_called_hdl(run: Run) -> None:
    run("namespace", "add", "hdl", "10.5", "--scheme", "handle")
    run("namespace", "add", "other", "12345", "--scheme", "handle")
    assert run("check", "hdl:12345/x").lines[0] == "12345/x\thandle\tother"


def test_check_accepts_forms_that_a_namespace_s_settings_allow(run: Run) -> None:
    run("namespace", "add", "e", "10.9", "--scheme", "handle", "--set", "bmp_only=false")
    chicken = run("register", "e", "10.9/\U0001f414").line
    assert (
        run("check", "10.9/\U0001f414", "hdl:10.9/\U0001f414", "e:\U0001f414").lines
        == [f"{chicken}\thandle\te"] * 3
    )
    run("check", "\U0001f414", code=3)  # it could be a suffix of any prefix
    run("check", "10.8/\U0001f414", code=3)


def test_check_works_beside_a_broken_store(run: Run, store: Path) -> None:
    store.write_text("a file")
    assert run("check", "R3732211754").line == "R3732211754\trdswip"
    address = run("check", "R3732211754", "--store", "https://127.0.0.1:9/")
    assert address.line == "R3732211754\trdswip"
    assert address.err.startswith(
        "idstore: warning: the namespaces of the store were not tried: https://127.0.0.1:9/ cannot be reached"
    )


@pytest.mark.near_and_far
def test_show_gives_a_line_for_each_fact(run: Run, mint: Minting) -> None:
    iri = mint("--name", "va\x1b[31mlve")
    lines = run("show", iri.removeprefix(RDL)).lines
    assert lines[0] == iri
    assert [line.split()[0] for line in lines[1:6]] == ["namespace", "label", "stage", "owner", "created"]
    assert lines[6].endswith("va\\x1b[31mlve")  # no control character reaches the terminal


def test_list_filters_and_limits(run: Run, mint: Minting) -> None:
    ids = [mint("--target", WIKIDATA), mint(), mint(by="bob")]
    handle = run("register", "h", "a").line
    run("fixate", ids[0], ids[1])
    run("bind", ids[1], WIKIDATA, by="bob")
    listed = [line.split("\t")[0] for line in run("list").lines]
    assert listed == [handle, ids[2], ids[1], ids[0]]  # newest first
    assert run("list", by="carol", code=0).lines == [line for line in run("list").lines if "fixated" in line]
    for words, expected in (
        (("--namespace", "rdl", "--owner", "alice"), [ids[1], ids[0]]),
        (("--stage", "created"), [handle, ids[2]]),
        (("--until", "2020-01-01"), []),
        (("--since", "2020-01-01T00:00:00Z", "--namespace", "h"), [handle]),
        (("--bound-to", WIKIDATA), [ids[1], ids[0]]),
        (("--bound-to", WIKIDATA, "--limit", "1"), [ids[1]]),
        (("--bound-to", WIKIDATA, "--stage", "tombstone"), []),
    ):
        assert [found["id"] for found in run("list", *words, "--json").objects] == expected
    cut = run("list", "--limit", "2")
    assert len(cut.lines) == 2 and "--limit N" in cut.err
    assert len(run("list", "--limit", "0").lines) == len(run("list", "--limit", "4").lines) == 4


def test_list_shows_deprecated_identifiers_alone(run: Run, mint: Minting) -> None:
    ids = [mint("--target", WIKIDATA), mint(), mint("--target", WIKIDATA)]
    assert run("list", "--deprecated").lines == []
    run("fixate", *ids)
    run("deprecate", ids[0], "--reason", "old")
    run("supersede", ids[1], "--by", ids[2])
    for words, expected in (
        ((), [ids[1], ids[0]]),
        (("--namespace", "rdl", "--owner", "alice", "--stage", "fixated"), [ids[1], ids[0]]),
        (("--owner", "bob"), []),
        (("--until", "2020-01-01"), []),
        (("--bound-to", WIKIDATA), [ids[0]]),
        (("--limit", "0"), [ids[1], ids[0]]),
    ):
        found = run("list", "--deprecated", *words, "--json", by="carol").objects
        assert [one["id"] for one in found] == expected
        assert all(one["deprecated"] for one in found)
    cut = run("list", "--deprecated", "--limit", "1")
    assert cut.line.startswith(ids[1]) and "--limit N" in cut.err


def test_resolve_leads_to_the_target(run: Run, mint: Minting) -> None:
    iri = mint()
    assert "ask its owner" in run("resolve", iri, code=4).err
    run("bind", iri, "http://example.org/first")
    assert run("resolve", iri).line == "http://example.org/first"
    run("target", iri, WIKIDATA)
    assert run("resolve", iri).line == WIKIDATA
    assert run("resolve", iri, "--json").object["target"] == WIKIDATA
    run("target", iri, "--unset")
    assert run("resolve", iri).line == "http://example.org/first"


@pytest.mark.usefixtures("rdl")
@pytest.mark.near_and_far
def test_resolve_follows_the_only_successor(run: Run) -> None:
    draft = run("mint", "own", "--type", "x-fmt").line
    formal = run("mint", "own", "--target", WIKIDATA).line
    run("supersede", draft, "--by", formal, code=8)  # not published yet
    run("fixate", formal)
    run("supersede", draft, "--by", formal)
    outcome = run("resolve", draft)
    assert outcome.line == WIKIDATA
    assert f"superseded by {formal}" in outcome.err
    assert run("resolve", draft, "--json", "--quiet").object["path"] == [draft, formal]


@pytest.mark.usefixtures("rdl")
def test_a_successor_precedes_a_binding(run: Run) -> None:
    old, new = run("mint", "own").line, run("mint", "own").line
    run("fixate", old, new)
    run("deprecate", old, "--reason", "x", "--by", new)
    for relation in ("skos:relatedMatch", "skos:exactMatch"):
        run("bind", old, f"{WIKIDATA}{relation[5]}", "--relation", relation)
        assert run("resolve", old).line == new
    run("target", new, "http://example.org/new")
    assert run("resolve", old).line == "http://example.org/new"
    run("target", old, "http://example.org/old")
    outcome = run("resolve", old)
    assert (outcome.line, f"superseded by {new}" in outcome.err) == ("http://example.org/old", True)


@pytest.mark.usefixtures("rdl")
def test_a_mere_relation_is_no_target(run: Run) -> None:
    iri = run("mint", "own").line
    for relation in ("skos:relatedMatch", "skos:closeMatch", "skos:broadMatch", "rdfs:seeAlso"):
        run("bind", iri, WIKIDATA, "--relation", relation)
    run("bind", iri, "http://example.org/by-another", by="bob", code=4)
    error = run("resolve", iri, "--json", code=4).err
    assert json.loads(error.splitlines()[-1])["error"] == "no-target"
    assert "is only a citation" in error
    run("fixate", iri)
    run("bind", iri, "http://example.org/by-another", by="bob")
    run("resolve", iri, code=4)
    run("bind", iri, "http://example.org/same", "--relation", "owl:sameAs")
    run("bind", iri, "http://example.org/exact")
    assert run("resolve", iri).line == "http://example.org/same"
    lonely = run("mint", "own").line
    run("fixate", lonely)
    run("deprecate", lonely, "--reason", "withdrawn")
    assert "is deprecated (withdrawn) and has no target" in run("resolve", lonely, code=4).err


def test_a_tombstone_resolves_to_its_reason(run: Run, mint: Minting) -> None:
    iri, other = mint("--target", WIKIDATA), mint()
    run("fixate", iri, other)
    run("deprecate", iri, "--reason", "old", "--by", other)
    run("revoke", iri, "--reason", "spam")
    lines = run("resolve", iri).lines
    assert lines[0].startswith(f"{iri} is withdrawn, with its reason (tombstone) since 20") and lines[
        0
    ].endswith(": spam")
    assert lines[1] == f"replaced by {other}"
    found = run("resolve", iri, "--json").object
    assert (found["target"], found["reason"], found["supersededBy"]) == (None, "spam", [other])
    assert times.iso(times.parse(found["date"])) == found["date"]
    assert run("resolve", iri).err == ""
    assert "  revoked      spam" in run("show", iri).lines


def test_a_reason_is_printed_on_one_line(run: Run, mint: Minting) -> None:
    iri = mint()
    run("fixate", iri)
    run("revoke", iri, "--reason", "x\x1b[31m\nhttp://evil.example/")
    assert run("resolve", iri).line.endswith(": x\\x1b[31m\\nhttp://evil.example/")


@pytest.mark.usefixtures("rdl")
def test_cite_writes_every_form(run: Run) -> None:
    run("register", "h", "abc")
    *lines, reference = run("cite", "h:abc").lines
    assert {
        "https://hdl.handle.net/10.1000/abc",
        "hdl:10.1000/abc",
        "https://doi.org/10.1000/abc",
        "h:abc",
    } <= set(lines)
    assert reference.endswith("). https://doi.org/10.1000/abc (draft)")
    for form in lines:
        assert run("show", form).lines[0] == "https://hdl.handle.net/10.1000/abc"
    assert {"kind", "text"} == run("cite", "h:abc", "--json").objects[0].keys()


@pytest.mark.usefixtures("rdl")
def test_cite_tells_name_date_and_state(run: Run) -> None:
    iri = run("register", "h", "abc", "--name", "ball valve").line
    run("fixate", iri)
    address = "https://doi.org/10.1000/abc"
    date = run("show", iri, "--json").object["fixated"][:10]
    assert run("cite", iri).lines[-1] == f"ball valve ({date}). {address}"
    run("deprecate", iri, "--reason", "outdated")
    assert run("cite", iri, by="carol").lines[-1] == f"ball valve ({date}). {address} (deprecated)"
    run("revoke", iri, "--reason", "abuse")
    *_, reference = run("cite", iri, "--json").objects
    assert reference == {
        "kind": "reference",
        "text": f"ball valve ({date}). {address} (withdrawn)",
        "name": "ball valve",
        "date": date,
        "state": "withdrawn",
    }


@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.usefixtures("rdl")
def test_a_malformed_date_is_refused(run: Run, option: str) -> None:
    assert "2026-11-20" in run("list", option, "last week", code=3).err


def test_a_note_cannot_forge_a_line_of_the_authority_metadata(run: Run) -> None:
    run("namespace", "add", "h", "12345", "--scheme", "handle")
    run("register", "h", "a")
    run("vet", "12345/a", "--note", "fine\n  manager      mallory")
    lines = run("authority", "12345/a").lines
    assert [line.split()[0] for line in lines[1:]] == ["manager", "created", "updated", "vetted"]
    assert lines[-1].endswith(r"fine\n  manager      mallory")


def test_texts_cannot_forge_a_line_of_the_changes(run: Run, tmp_path: Path) -> None:
    run("namespace", "add", "h", "12345", "--scheme", "handle")
    run("namespace", "add", "pronom", "info:pronom/", "--scheme", "puid")
    run("register", "h", "a")
    run("comment", "12345/a", "fine\n+ https://hdl.handle.net/12345/forged")
    assert [line[:2] for line in run("diff", "2000-01-01").lines if not line.startswith("    ")] == ["+ "]
    for name in ("A", "B&#10;vanished&#9;info:pronom/fmt/2"):
        signatures = (
            f'<FFSignatureFile Version="1"><FileFormatCollection><FileFormat PUID="fmt/1" '
            f'Name="{name}"/></FileFormatCollection></FFSignatureFile>'
        )
        (tmp_path / "d.xml").write_text(signatures)
        lines = run("import", str(tmp_path / "d.xml")).lines
    assert lines[1:] == ["renamed\tinfo:pronom/fmt/1: A → B\\nvanished\\tinfo:pronom/fmt/2"]


@pytest.mark.usefixtures("rdl")
def test_what_to_give_is_told(run: Run) -> None:
    assert "provide the metadata" in run("mint", "sp", code=3).err
    assert "mint one for each key" in run("mint", "h", "--count", "3", "--request-key", "k", code=3).err
    assert (
        "its suffix .dat stands for no format; name it with --format"
        in run("import", "l2.dat", "--namespace", "h", code=2).err
    )


@pytest.mark.parametrize(
    "address", ["https://example.org/x", "http://formats.example.net/fmt/1", "ftp://a/b"]
)
def test_an_address_elsewhere_is_not_registered_and_no_malformed_label(
    run: Run, rdl: str, address: str
) -> None:
    """The grammars of all schemes break at its first characters, which would explain nothing."""
    told = run("show", address, code=4).err
    assert f"'{address}' is not registered here" in told
    assert rdl
    near = run("show", "https://hdl.handle.net/10.1000", code=3).err
    assert "not a valid handle identifier: a '/' is missing after the prefix" in near


def test_a_text_of_no_scheme_is_explained_by_the_schemes_of_the_namespaces(run: Run, tmp_path: Path) -> None:
    run("init")
    run("namespace", "add", "h", "12345", "--scheme", "handle")
    told = run("check", "zzz", code=3)
    assert told.err.startswith("idstore: no scheme fits: 'zzz' is not a valid handle identifier: a '/' is")
    assert run("check", "https://example.org/x", code=3).err == (
        "idstore: no registered namespace and no scheme fits the address 'https://example.org/x'\n"
    )
    (tmp_path / "list.txt").write_text("plain\n")
    told = run("import", tmp_path / "list.txt", code=3)
    assert "'plain' is not a valid handle identifier: a '/' is missing after the prefix" in told.out
    run("namespace", "add", "formats", "http://formats.example.org/", "--scheme", "puid")
    assert "'fmt/A' is not a valid puid identifier" in run("check", "fmt/A", "--scheme", "puid", code=3).err
    assert "no registered namespace" in run("check", "https://example.org/x", code=3).err
