"""Output of commands on identifiers, their stages, parties, trails, files and checks."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_lines import NEVER, RDL, WIKIDATA, Minting, Outcome, Run

import idstore
from idstore.cli import session
from idstore.cli.call import Call
from idstore.cli.commands import log as log_command
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.log import LogEntry
from idstore.stores.store import DirectoryStore


def test_an_act_prints_its_event_only_with_json(run: Run, mint: Minting) -> None:
    iri = mint()
    assert run("name", iri, "valve").out == ""
    event = run("name", iri, "Ventil", "--lang", "de", "--json").object
    assert (event["kind"], event["about"], event["by"], event["name"], event["lang"]) == (
        "Naming",
        iri,
        "alice",
        "Ventil",
        "de",
    )
    assert run("show", iri, "--json").object["names"] == {"und": "valve", "de": "Ventil"}


def test_binding_again_changes_nothing(run: Run, mint: Minting) -> None:
    iri = mint()
    assert run("bind", iri, WIKIDATA, "--json").object["target"] == WIKIDATA
    again = run("bind", iri, WIKIDATA, "--json")
    assert again.out == "" and "already" in again.err
    assert json.loads(again.err) == {"warning": "you have bound it already; nothing was changed"}
    run("bind", iri, "http://example.org/", "--relation", "owl:sameAs")
    relations = {one["relation"] for one in run("show", iri, "--json").object["bindings"]}
    assert "http://www.w3.org/2002/07/owl#sameAs" in relations
    run("unbind", iri, "http://example.org/", "--relation", "http://www.w3.org/2002/07/owl#sameAs")
    run("unbind", iri, "http://example.org/", code=4)
    assert len(run("show", iri, "--json").object["bindings"]) == 1


def test_comments_and_their_fixation(run: Run, mint: Minting) -> None:
    iri = mint("--comment", "draft")
    run("comment", iri, "between us", "--internal")
    assert run("fixate", iri).err == f"idstore: warning: 1 comment on {iri} can be read by everyone now\n"
    assert "2 comments on 2 identifiers" in run("fixate", mint("--comment", "a"), mint("--comment", "b")).err
    assert [one["text"] for one in run("show", iri, "--json", by="carol").object["comments"]] == ["draft"]
    assert len(run("show", iri, "--json").object["comments"]) == 2


def test_namespaces_are_commented_by_their_owner(run: Run, rdl: str) -> None:
    run("comment", rdl, "for valves")
    assert run("namespace", "show", RDL, "--json", by="carol").object["comments"][0]["text"] == "for valves"
    assert "comments" not in run("comment", rdl, "and pipes", "--json").object
    assert "comments" not in run("namespace", "list", "--json").objects[-1]
    run("comment", rdl, "mine?", by="carol", code=7)
    run("comment", rdl, "hidden", "--internal", code=2)


def test_fixate_takes_several_identifiers_and_is_all_or_nothing(run: Run, mint: Minting) -> None:
    ids = [mint(), mint()]
    run("fixate", *ids, NEVER, code=4)
    assert {one["stage"] for one in run("list", "--json").objects} == {"created"}
    assert [one["kind"] for one in run("fixate", "-", "--json", stdin="\n".join(ids)).objects] == [
        "Fixation"
    ] * 2
    run("fixate", ids[0], code=8)
    run("release", ids[0], code=8)


@pytest.mark.usefixtures("rdl")
def test_release_keeps_the_label(run: Run) -> None:
    run("register", "h", "a")
    assert run("release", "h:a", "--json").object["kind"] == "Release"
    run("show", "h:a", code=4)
    assert "taken" in run("register", "h", "a", code=8).err


def test_deprecate_and_supersede_name_successors(run: Run, mint: Minting) -> None:
    old, new, newer = mint(), mint(), mint()
    run("fixate", old, new, newer)
    assert set(run("supersede", old, "--by", new, newer, "--json").object["supersededBy"]) == {new, newer}
    run("deprecate", new, "--reason", "worn out")
    found = run("show", new, "--json").object
    assert (found["deprecated"], found["reason"]) == (True, "worn out")
    assert run("show", old, "--json").object["supersededBy"] == sorted([new, newer])
    run("deprecate", old, new, "--reason", "x", code=2)
    run("supersede", old, code=2)


def test_transfer_needs_the_receiver(run: Run, mint: Minting) -> None:
    iri = mint()
    run("transfer", iri, "bob")
    assert run("show", iri, "--json", by="bob").object["owner"] == "alice"
    run("transfer", iri, "bob", by="bob")
    assert run("show", iri, "--json", by="bob").object["owner"] == "bob"
    run("transfer", "rdl", "bob")
    assert run("transfer", "rdl", "bob", "--json", by="bob").object["owner"] == "bob"


@pytest.mark.parametrize(
    "words",
    [
        ("mint", "rdl"),
        ("mint", "rdl", "--json"),
        ("mint", "rdl", "--target", "http://example.org/"),
        ("register", "h", "x"),
        ("import", "-", "--format", "list", "--namespace", "rdl"),
        ("fixate", "rdl:R1"),
        ("comment", "rdl", "x"),
        ("transfer", "rdl", "bob"),
        ("fixate", "-"),
        ("revoke", "rdl:R1", "--dry-run"),
        ("revoke", "--party", "bob", "--since", "2026-01-01", "--dry-run"),
        ("revoke", "--party", "bob", "--since", "2026-01-01", "--yes", "--reason", "x"),
        ("suspend", "bob", "--reason", "x"),
        ("reinstate", "bob"),
        ("namespace", "freeze", "rdl"),
        ("list",),
    ],
)
def test_an_absent_store_is_reported(run: Run, store: Path, words: tuple[str, ...]) -> None:
    found = run(*words, code=6, stdin="R7081857972\n")
    assert f"there is no store at {store}; create one there" in found.err
    assert found.out == "" and not store.exists()


def test_grants(run: Run, mint: Minting) -> None:
    iri = mint()
    run("grant", iri, "bob")
    run("bind", iri, WIKIDATA, by="bob", code=7)
    run("grant", iri, "bob", "--bind")
    run("bind", iri, WIKIDATA, by="bob")
    assert run("show", iri, "--json").object["mayBind"] == ["bob"]
    assert "on it are bob" in run("ungrant", iri, "bbo", code=4).err
    run("ungrant", iri, "bob")
    run("show", iri, by="bob", code=4)
    assert "only its owner is" in run("ungrant", iri, "bob", code=4).err


def test_members_of_a_group_see_identifiers_granted_to_it(run: Run, mint: Minting) -> None:
    iri = mint()
    run("party", "add", "staff", "--group")
    run("party", "add", "bob")
    run("grant", iri, "staff")
    assert run("party", "join", "bob", "staff", "--json").object == {
        "name": "bob",
        "kind": "user",
        "groups": ["staff"],
        "suspended": None,
    }
    assert run("party", "show", "staff", "--json").object["members"] == ["bob"]
    assert "but as a member of staff; on it are staff" in run("ungrant", iri, "bob", code=4).err
    assert [one.get("members") for one in run("party", "list", "--json").objects] == [None, None, ["bob"]]
    assert run("list", by="bob").line.startswith(iri)
    run("party", "leave", "bob", "staff")
    assert run("list", by="bob").out == ""
    assert [line.split("\t")[:2] for line in run("party", "list").lines] == [
        ["alice", "administrator"],
        ["bob", "user"],
        ["staff", "group"],
    ]
    run("party", "show", "nobody", code=4)
    run("party", "add", "root", "--group", "--administrator", code=2)


def test_a_suspended_party_gets_the_reason(run: Run, mint: Minting) -> None:
    run("suspend", "bob", "--reason", "spam")
    assert "spam" in run("mint", "rdl", by="bob", code=7).err
    run("reinstate", "bob")
    mint(by="bob")


def test_an_unknown_party_gives_a_warning(run: Run, mint: Minting) -> None:
    mint(by="bob")
    run("party", "add", "carol")
    revoke = ("revoke", "--since", "2020-01-01", "--party")
    for words in ((*revoke, "{}"), (*revoke, "{}", "--yes"), ("suspend", "{}", "--reason", "x")):
        said = [run(*(word.format(name) for word in words)).err for name in ("bbo", "bob", "carol")]
        assert ["was never added" in err for err in said] == [True, False, False]
    for words in ((*revoke, "bbo"), ("suspend", "bbo", "--reason", "x")):
        assert "no party" not in run(*words, by="dan", code=7).err


def test_revocation_is_rehearsed_first(run: Run, mint: Minting) -> None:
    draft, published = mint(by="bob"), mint(by="bob")
    run("fixate", published, by="bob")
    dry = run("revoke", "--party", "bob", "--since", "2020-01-01")
    assert set(dry.lines) == {draft, published}
    assert "dry run" in dry.err and "--yes" in dry.err
    assert run("revoke", "--party", "bob", "--since", "2020-01-01", "--dry-run").lines == dry.lines
    assert run("show", published, "--json").object["stage"] == "fixated"
    assert len(run("revoke", "--party", "bob", "--since", "2020-01-01", "--yes", "--json").objects) == 2
    assert run("show", published, "--json").object["stage"] == "tombstone"
    run("show", draft, code=4)
    for words in (
        ("--party", "bob"),
        (NEVER, "--party", "bob", "--since", "2020"),
        (),
        (NEVER,),
        (NEVER, "--since", "2020", "--reason", "x"),
    ):
        run("revoke", *words, code=2)


def test_revoking_one_identifier_has_a_dry_run(run: Run, mint: Minting) -> None:
    iri = mint(by="bob")
    for words in ((), ("--reason", "spam")):
        dry = run("revoke", iri, "--dry-run", *words)
        assert (dry.lines, "leave --dry-run out to revoke it" in dry.err) == ([iri], True)
        assert "it is a draft" in dry.err
    assert run("show", iri, "--json").object["stage"] == "created"
    run("revoke", iri, "--dry-run", by="bob", code=7)
    run("revoke", iri, "--dry-run", by="carol", code=4)
    run("revoke", iri, "--yes", "--dry-run", code=2)
    run("fixate", iri, by="bob")
    assert "it is published" in run("revoke", iri, "--dry-run").err
    run("revoke", iri, "--yes", "--reason", "spam")
    assert run("show", iri, "--json").object["stage"] == "tombstone"
    run("revoke", iri, "--dry-run", code=8)


def test_namespaces(run: Run, store: Path) -> None:
    made = run(
        "namespace",
        "add",
        "rdl",
        RDL,
        "--scheme",
        "rdswip",
        "--set",
        "profile=rdlfacade",
        "--set",
        "refuse_patterns=true",
    )
    assert made.line == f"rdl\t{RDL}\trdswip\talice\topen"
    assert made.err == f"idstore: made a store at {store}, with alice as its first administrator\n"
    found = run("namespace", "show", "rdl", "--json").object
    assert found["settings"] == {"digits": "11", "max_run": "2", "max_count": "4", "refuse_patterns": "true"}
    assert "setting      digits=11" in run("namespace", "show", "rdl").out
    assert found["identifiers"] == 0 < found["space"] < 9 * 10**10
    assert run("namespace", "list", "--json").object["name"] == "rdl"
    assert run("namespace", "allow", "rdl", "bob", "--per-minute", "1", "--json").object["allocators"] == [
        "bob"
    ]
    run("mint", "rdl", by="carol", code=7)
    run("mint", "rdl", by="bob")
    assert "a minute" in run("mint", "rdl", by="bob", code=7).err
    run("namespace", "allow", "rdl", code=2)
    run("namespace", "allow", "rdl", "--everyone")
    run("mint", "rdl", by="carol")
    assert run("namespace", "freeze", "rdl").line.endswith("\tfrozen")
    run("mint", "rdl", code=8)
    run("import", "-", "--format", "list", "--namespace", "rdl", stdin=b"R19192838477\tissued elsewhere\n")
    run("namespace", "freeze", "rdl", "--thaw")
    run("mint", "rdl")
    run("namespace", "add", "x", "http://x.example.org/#", "--scheme", "rdswip", "--set", "digits", code=2)
    run("namespace", "add", "x", "http://x.example.org/#", "--scheme", "rdswip", by="bob", code=7)


def test_init_completes_an_interrupted_init(run: Run, tmp_path: Path) -> None:
    """A store exists before its first administrator does."""
    made = ("--store", tmp_path / "made")
    DirectoryStore(tmp_path / "made", create=True).close()
    told = run(*made, "verify", code=7).err
    assert (
        told
        == "idstore: only administrators may do this; there is none, because the initialisation of the store"
        " was interrupted; initialise it again (idstore init)\n"
    )
    assert run(*made, "init").line == str(tmp_path / "made")
    assert run(*made, "verify").line == "sound"
    run(*made, "init", code=8)


@pytest.mark.local("init makes a folder")
def test_init_creates_a_store_once(run: Run, store: Path) -> None:
    assert run("init", "--administrator", "root", "--json").object == {
        "store": str(store),
        "administrator": "root",
    }
    assert run("party", "list").line.startswith("root\tadministrator")
    run("init", code=8)


def test_the_trails_show_parties_and_acts(run: Run, mint: Minting) -> None:
    iri = mint("--name", "valve")
    run("bind", iri, WIKIDATA)
    mint(by="bob")
    lines = [line.split("\t") for line in run("log").lines]
    assert [line[2] for line in lines] == [
        "Initialization",
        *["NamespaceAddition"] * 4,
        "Mint",
        "Bind",
        "Mint",
    ]
    assert lines[-2][1:4] == ["alice", "Bind", iri] and "relation=skos:exactMatch" in lines[-2][4]
    assert lines[1][4].startswith("name=rdl scheme=rdswip settings=digits=10,")
    assert [one["kind"] for one in run("log", "--id", iri, "--json").objects] == ["Mint", "Bind"]
    assert [one["by"] for one in run("log", "--user", "bob", "--json").objects] == ["bob"]
    assert [one["kind"] for one in run("log", "--kind", "mint", "--kind", "Bind", "--json").objects] == [
        "Mint",
        "Bind",
        "Mint",
    ]
    assert "publication" not in run("log", "--id", iri, "--json").objects[0]
    assert run("log", "--until", "2020-01-01").out == run("log", "--since", "2999-01-01").out == ""
    assert len(run("log", by="carol").lines) == 5
    assert "did you mean Mint" in run("log", "--kind", "mnt", code=2).err
    run("log", "--id", NEVER, code=4)


def test_a_trail_can_be_followed(run: Run, mint: Minting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that others publish during a pause appear, with earlier events about those identifiers."""
    made = [mint()]
    run("comment", "rdl", "public, and later")
    acts: Iterator[Callable[[], Outcome]] = iter(
        [lambda: run("fixate", made[0]), lambda: run("bind", made[0], WIKIDATA)]
    )
    seen: list[str] = []

    def pause(_: float) -> None:
        act = next(acts, None)
        if act is None:
            raise KeyboardInterrupt
        act()

    def read(call: Call, act: Callable[[Registry, Party], list[LogEntry]]) -> list[LogEntry]:
        found = session.read(call, act)
        seen.extend(entry.event.act for entry in found)
        return found

    monkeypatch.setattr(log_command, "time", SimpleNamespace(sleep=pause))
    monkeypatch.setattr(log_command, "session", SimpleNamespace(read=read))
    run("--user", "carol", "log", "--follow", code=130)
    assert seen[5:] == ["Comment", "Fixation", "Mint", "Bind"]


@pytest.mark.near_and_far
def test_a_cursor_in_a_file_gives_each_public_event_once(run: Run, mint: Minting, tmp_path: Path) -> None:
    file, iri = tmp_path / "cursor", mint()
    assert len(run("log", "--cursor-file", file, by="carol").lines) == 5
    assert file.read_text() == "5\n"
    assert run("log", "--cursor-file", file, by="carol").out == ""
    run("fixate", iri)
    assert "Fixation" in run("log", "--after", "6", by="carol").line
    assert run("log", "--cursor-file", file, "--kind", "bind", by="carol").out == ""
    run("bind", iri, WIKIDATA)
    [entry] = run("log", "--cursor-file", file, "--json", by="carol").objects
    assert (entry["kind"], entry["publication"], file.read_text()) == ("Bind", 8, "8\n")
    assert "commit" not in entry


@pytest.mark.near_and_far
def test_an_administrator_s_cursor_counts_commits(run: Run, mint: Minting, tmp_path: Path) -> None:
    file, iri = tmp_path / "cursor", mint()
    first = run("log", "--after", "commit:0", "--cursor-file", file, "--json").objects
    assert [one["commit"] for one in first] == [*range(1, 7)]
    mint(by="bob")
    [second] = run("log", "--cursor-file", file, "--json").objects
    assert (second["kind"], second["by"], file.read_text()) == ("Mint", "bob", "commit:7\n")
    run("log", "--cursor-file", file, by="carol", code=7)
    assert file.read_text() == "commit:7\n"
    run("log", "--after", "commit:0", "--id", iri, by="carol", code=7)


def test_a_cursor_that_cannot_be_used(run: Run, mint: Minting, store: Path, tmp_path: Path) -> None:
    mint()
    run("log", "--after", "x", code=3)
    run("log", "--after", "99", code=3)
    run("log", "--after", "0", "--follow", code=2)
    assert "folder of the store" in run("log", "--cursor-file", store / "cursor", code=2).err
    run("log", "--cursor-file", tmp_path, code=2)
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert "--cursor-file" in run("log", "--cursor-file", tmp_path / "bytes", code=2).err


def test_counts_cover_the_identifiers_that_a_party_sees(run: Run, mint: Minting) -> None:
    run("fixate", mint())
    mint()
    mint(by="bob")
    assert run("stats").lines == [
        "rdl\tcreated\talice\t1",
        "rdl\tcreated\tbob\t1",
        "rdl\tfixated\talice\t1",
        "total\t3",
    ]
    assert run("stats", by="carol").lines == ["rdl\tfixated\talice\t1", "total\t1"]
    found = run("stats", "--json", by="bob").object
    assert found["total"] == 2 and found["days"][0]["count"] == 2
    assert run("stats", "--days").lines[-1] == "total\t3"
    assert {one["party"]: one["total"] for one in run("stats", "--pace", "--json").objects} == {
        "alice": 2,
        "bob": 1,
    }
    assert run("stats", "--pace", "--since", "2999-01-01").out == ""
    run("stats", "--days", "--pace", code=2)
    run("stats", "--since", "2020-01-01", code=2)


@pytest.mark.parametrize("form", ["turtle", "trig", "ntriples", "nquads", "jsonld"])
def test_an_export_survives_a_round_trip(run: Run, mint: Minting, tmp_path: Path, form: str) -> None:
    run("fixate", mint("--name", "valve"))
    mint("--comment", "draft")
    file, again = tmp_path / "all", tmp_path / "again"
    run("export", "--format", form, "-o", file)
    assert run("export", "--format", form).out.encode() == file.read_bytes()
    dry = run("import", file, "--format", form, "--store", tmp_path / "other", "--dry-run", "--json").object
    assert dry["created"] == 2 and not (tmp_path / "other").exists()
    run("import", "-", "--format", form, "--store", tmp_path / "other", stdin=file.read_bytes())
    run("export", "--format", form, "-o", again, "--store", tmp_path / "other")
    assert again.read_bytes() == file.read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["again", "all", "other", "store"]


def test_an_export_holds_the_data_that_a_party_sees(run: Run, mint: Minting, tmp_path: Path) -> None:
    public, draft = mint(), mint()
    run("fixate", public)
    seen = run("export", by="carol").out
    assert public in seen and draft not in seen and "ids:partial" in seen
    part = run("export", "--namespace", "rdl", "--stage", "created", "--format", "ntriples").out
    assert draft in part and public not in part
    run("export", "-o", tmp_path / "x.nq")
    assert (tmp_path / "x.nq").read_text().endswith(" .\n")
    run("export", "-o", tmp_path / "missing" / "x.ttl", code=2)
    run("export", "--format", "word", code=2)


@pytest.mark.usefixtures("rdl")
def test_an_import_reports_the_administrators_of_a_copy(run: Run, mint: Minting, tmp_path: Path) -> None:
    mint()
    run("export", "-o", tmp_path / "full.nq")
    copied = run("import", tmp_path / "full.nq", "--store", tmp_path / "copy", by="zoe")
    assert (
        f"idstore: made a store at {tmp_path / 'copy'}, with the administrators of the imported registry:"
        " alice" in copied.err.splitlines()
    )
    run("party", "add", "eve", "--store", tmp_path / "copy", by="zoe", code=7)
    assert (
        "with alice as its first administrator"
        in run("import", tmp_path / "full.nq", "--store", tmp_path / "other").err
    )


@pytest.mark.usefixtures("rdl")
def test_an_import_warns_of_namespaces_of_one_name(run: Run, tmp_path: Path) -> None:
    other, base = tmp_path / "other", "http://other.example.org/data#"
    run("namespace", "add", "rdl", base, "--scheme", "rdswip", "--store", other)
    run("export", "-o", tmp_path / "other.nq", "--store", other)
    [foreseen] = [
        line
        for line in run("import", tmp_path / "other.nq", "--dry-run").err.splitlines()
        if "warning" in line
    ]
    [warning] = [line for line in run("import", tmp_path / "other.nq").err.splitlines() if "warning" in line]
    assert foreseen == warning
    assert warning.endswith(
        f"rdl stands for http://rdl.example.org/data# here; name the imported namespace by its base, {base}"
    )
    run("namespace", "add", "more", "http://more.example.org/", "--scheme", "puid", "--store", other)
    run("export", "-o", tmp_path / "more.nq", "--store", other)
    assert base not in run("mint", "rdl").line and base in run("mint", base).line
    assert "warning" not in run("import", tmp_path / "more.nq").err, "it is known by now"
    assert base in run("check", f"{base}R3732211754").out and base not in run("check", "rdl:R3732211754").out
    assert run("validate").out.count("Warning: ") == 2
    run("validate", "--changed")
    run("mint", "rdl")
    assert "checked 2 nodes" in run("validate", "--changed").err, (
        "a warning does not make all of it be checked again"
    )


def test_a_signature_file_is_imported(run: Run) -> None:
    one = '<FileFormat ID="637" Name="{}" PUID="fmt/18" Version="1.4" MIMEType="application/pdf"/>'
    text = (
        '<FFSignatureFile Version="1"><FileFormatCollection>'
        + one
        + "</FileFormatCollection></FFSignatureFile>"
    )
    assert "idstore namespace add pronom" in run("import", "-", "--format", "droid", stdin=text, code=3).err
    run("namespace", "add", "pronom", "info:pronom/", "--scheme", "puid")
    found = run("import", "-", "--format", "droid", stdin=text.format("PDF"))
    assert found.line == "registered 1 identifiers, renamed 0; 0 are as they were"
    assert run("show", "fmt/18", "--json").object["version"] == "1.4"
    renamed = run("import", "-", "--format", "droid", "--dry-run", stdin=text.format("Acrobat"))
    assert renamed.lines[1] == "renamed\tinfo:pronom/fmt/18: PDF 1.4 → Acrobat 1.4"
    run("import", "a.xml", "b.xml", code=2)
    run("import", "-", "--format", "turtle", "--namespace", "rdl", code=4)


def test_a_sound_store_conforms(run: Run, mint: Minting, tmp_path: Path) -> None:
    run("fixate", mint())
    assert run("validate").out == "conforms\n"
    assert run("verify", "--json").object == {"sound": True}
    run("verify", by="carol", code=7)
    text = run("export").out.replace("a ids:RdsWipIdentifier", "a ids:Puid")
    broken = run("validate", "-", stdin=text, code=5)
    assert broken.lines and all(line.startswith(("Violation: ", "Warning: ")) for line in broken.lines)
    (tmp_path / "x.ttl").write_text(text)
    assert run("validate", tmp_path / "x.ttl", "--json", code=5).objects[0]["severity"] == "Violation"


@pytest.mark.near_and_far
def test_a_quiet_import_prints_all_that_is_new_and_else_nothing(run: Run, rdl: str, tmp_path: Path) -> None:
    assert rdl
    run("namespace", "add", "pronom", "info:pronom/", "--scheme", "puid")
    formats = "".join(f'<FileFormat Name="{n}" PUID="fmt/{n}" MIMEType=""/>' for n in range(1, 61))
    text = "<FFSignatureFile Version='{}'><FileFormatCollection>{}</FileFormatCollection></FFSignatureFile>"
    droid = ("import", "-", "--format", "droid", "--quiet")
    head, *lines = run(*droid, stdin=text.format(1, formats)).lines
    assert head == "registered 60 identifiers, renamed 0; 0 are as they were"
    assert sorted(lines) == sorted(f"new\tinfo:pronom/fmt/{number}" for number in range(1, 61))
    for options in ((), ("--json",), ("--dry-run",)):
        outcome = run(*droid, *options, stdin=text.format(2, formats))
        assert (outcome.out, outcome.err) == ("", "")
    less = formats.replace('Name="7"', 'Name="seven"').replace('PUID="fmt/60"', 'PUID="fmt/61"')
    assert run(*droid, stdin=text.format(3, less)).lines == [
        "registered 1 identifiers, renamed 1; 58 are as they were; 1 no longer in PRONOM's file; kept here",
        "new\tinfo:pronom/fmt/61",
        "renamed\tinfo:pronom/fmt/7: 7 → seven",
        "no longer in PRONOM's file; kept here\tinfo:pronom/fmt/60",
    ]
    assert run(*droid, stdin=text.format(4, less)).out == ""

    (tmp_path / "list.txt").write_text("10.1000/a\n10.1000/b\n")
    (tmp_path / "pairs.csv").write_text("subject,object\nhdl:10.1000/a,http://example.org/a\n")
    for file, new in (("list.txt", 2), ("pairs.csv", 1)):
        lines = run("import", tmp_path / file, "--quiet").lines
        assert [line.split("\t")[1] for line in lines] == ["new"] * new
        for options in ((), ("--json",)):
            outcome = run("import", tmp_path / file, "--quiet", *options)
            assert (outcome.out, outcome.err) == ("", "")

    run("export", "--format", "trig", "-o", tmp_path / "all.trig")
    outcome = run("import", tmp_path / "all.trig", "--quiet")
    assert (outcome.out, outcome.err) == ("", "")


def test_accepted_mappings_conform_to_the_shapes(run: Run, mint: Minting) -> None:
    """The engine's numbers have 18 decimals and 63 bits: a value beyond that is rounded or refused."""
    id = mint()
    run("bind", id, "http://example.org/1", "--confidence", "0.1234567890123456789")
    run("bind", id, "http://example.org/2", "--confidence", "0.99999999999999999999999999999")
    rows = (
        f"subject_id\tpredicate_id\tobject_id\tconfidence\n"
        f"{id}\tskos:closeMatch\thttp://example.org/3\t0.0012345678901234567\n"
    )
    run("import", "-", "--format", "sssom", stdin=rows)
    run("namespace", "allow", "rdl", "--everyone", "--per-minute", str(2**53 - 1))
    found = {
        binding["target"][-1]: binding["confidence"]
        for binding in run("show", id, "--json").object["bindings"]
    }
    assert found == {"1": 0.123456789012345679, "2": 1.0, "3": 0.001234567890123457}
    assert run("import", "-", "--format", "sssom", "--dry-run", stdin=rows).line == f"line 2\tknown\t{id}"
    assert run("validate").out == "conforms\n"
    run("verify")


def test_counters_can_be_repaired(run: Run, rdl: str, store: Path) -> None:
    with idstore.open(store) as registry:
        registry.mint(rdl, idstore.Party("alice"))
    [catalogue] = store.glob("generation-*/catalogue.sqlite")
    damaged = sqlite3.connect(catalogue)
    damaged.execute("UPDATE tally SET count = count + 1")
    damaged.commit()
    damaged.close()
    assert run("verify", "--json", code=5).objects[0]["kind"] == "counter"
    run("verify", "--repair-counters", code=5)
    run("verify")


@pytest.mark.usefixtures("rdl")
def test_identifiers_are_read_in_every_written_form(run: Run) -> None:
    run("register", "h", "Abc", "--target", WIKIDATA)
    for form in ("h:Abc", "hdl:10.1000/Abc", "https://doi.org/10.1000/Abc", "10.1000/ABC"):
        assert run("resolve", form).line == WIKIDATA


def test_a_party_that_has_acted_joins_a_group_without_being_added_first(run: Run, rdl: str) -> None:
    run("mint", rdl, by="bob")
    run("party", "add", "staff", "--group")
    run("party", "join", "bob", "staff")
    assert "bob\tuser\tstaff" in run("party", "list").lines
    assert "no party 'bbo' here" in run("party", "join", "bbo", "staff", code=4).err
    assert "no party 'bbo' here" in run("party", "leave", "bbo", "staff", code=4).err
    assert run("verify").line == "sound"


def test_a_grant_to_an_unknown_name_warns(run: Run, mint: Minting, rdl: str) -> None:
    draft = mint()
    run("fixate", run("mint", rdl, by="bob").line, by="bob")
    run("party", "add", "carol")
    assert [run("grant", draft, name).err for name in ("bob", "carol")] == ["", ""]
    assert "no party 'bbo' was added here" in run("grant", draft, "bbo").err


def test_a_permission_for_an_unknown_name_warns(run: Run, rdl: str) -> None:
    run("fixate", run("mint", rdl, by="bob").line, by="bob")
    run("party", "add", "carol", "--group")
    run("storage", "add", "books", "--path", "/mnt/books")
    for kind, name in (("namespace", "rdl"), ("storage", "books")):
        assert run(kind, "allow", name, "bob", "carol").err == ""
        assert run(kind, "allow", name, "bob", "bbo", "dvae", "bbo").err.splitlines() == [
            f"idstore: warning: no party {unknown!r} was added here, and none has acted as far as you see;"
            f" if the name is misspelt, name the right parties instead (idstore {kind} allow)"
            for unknown in ("bbo", "dvae")
        ]
    assert (
        "no party 'boob' was added here, and none has acted as far as you see; if"
        in run("namespace", "allow", "rdl", "boob", by="alice").err
    )  # bob has acted, and was not added
    assert (
        "'carl' was added here, and none has acted as far as you see (perhaps carol?);"
        in run("namespace", "allow", "rdl", "carl").err
    )
    told = run("transfer", "rdl", "carrol").err
    assert "(perhaps carol?)" in told and "withdraw the offer by a transfer to yourself" in told
    assert run("namespace", "allow", "rdl", "--everyone").err == ""
    assert run("storage", "allow", "books").err == ""


def test_the_warning_of_a_grant_reveals_no_hidden_act(run: Run, mint: Minting, rdl: str) -> None:
    """A party that grants learns nothing about drafts of others: it is warned as for a new name."""
    run("mint", rdl, by="bob")
    draft = run("mint", rdl, by="dave").line
    hidden, new = (run("grant", draft, name, by="dave").err.replace(name, "X") for name in ("bob", "nobody"))
    assert hidden == new != ""
    assert mint()
