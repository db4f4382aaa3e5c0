"""Lists of existing identifiers imported from tables, and tables that are exported."""

import csv
import io
import json
from pathlib import Path

import pytest
from command_lines import RDL, WIKIDATA, Minting, Run

import idstore

H = "https://hdl.handle.net/10.1000/"
HERE = (
    "identifier",
    "stage",
    "version",
    "leads_to",
    "name",
    "lang",
    "relation",
    "target",
    "note",
    "confidence",
    "justification",
    "author",
)
"""Columns that survive the round trip. Author and time are those of the import."""


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def told(text: str) -> list[tuple[str, ...]]:
    return [tuple(row[column] for column in HERE) for row in rows(text)]


@pytest.fixture
def full(run: Run, rdl: str) -> None:
    """Fill a registry with every fact that a table can hold."""
    assert rdl
    run(
        "register",
        "h",
        "a",
        "--name",
        'ball "valve", open',
        "--lang",
        "en",
        "--target",
        "http://example.org/a",
    )
    run("name", "h:a", "Kugelhahn", "--lang", "de")
    run("name", "h:a", "V-1")
    run("bind", "h:a", WIKIDATA, "--note", "the same\nthing", "--confidence", "0.75", "--author", "A|B; C")
    run(
        "bind",
        "h:a",
        WIKIDATA,
        "--relation",
        "skos:closeMatch",
        "--justification",
        "semapv:LexicalMatching",
        "--author",
        "https://orcid.org/0000-0002-1825-0097",
    )
    run("fixate", "h:a")
    run("register", "h", "b/ä", "--name", "draft")
    run("register", "h", "c")


@pytest.mark.usefixtures("full")
def test_a_table_survives_a_round_trip(run: Run, tmp_path: Path) -> None:
    file, other = tmp_path / "list.csv", tmp_path / "other"
    run("export", "-o", file, "--namespace", "h")
    run("namespace", "add", "h", "10.1000", "--scheme", "handle", "--store", other)
    before = run("export", "--digest", "--store", other).line
    dry = run("import", file, "--namespace", "h", "--dry-run", "--store", other)
    assert [line.split("\t")[1] for line in dry.lines] == ["new"] * 5
    assert run("export", "--digest", "--store", other).line == before
    run("import", file, "--namespace", "h", "--store", other)
    assert told(run("export", "--format", "csv", "--store", other).out) == told(file.read_text())
    after = run("export", "--digest", "--store", other).line
    again = run("import", file, "--namespace", "h", "--json", "--store", other)
    assert {one["verdict"] for one in again.objects} == {"known"}
    assert run("export", "--digest", "--store", other).line == after != before
    assert run("verify", "--store", other).line == "sound"
    assert run("validate", "--store", other).line == "conforms"
    assert H + "a" in run("list", "--store", other, by="bob").out
    run("show", "h:b/ä", "--store", other, by="bob", code=4)  # a draft remains a draft


@pytest.mark.usefixtures("full")
def test_each_line_gets_a_result(run: Run) -> None:
    table = (
        "code\ttitle\tlanguage\tstage\tleads_to\tsame as\n"
        'a\tball "valve", open\ten\tfixated\thttp://example.org/a\thttp://example.org/other\n'
        f"new\tnew one\t\t\t\t{WIKIDATA}\n"
        "hdl:10.1000/A\tgate\ten\t\t\t\n"
        "c\tnamed now\t\t\thttp://example.org/c\t\n"
        "a\t\t\tcreated\thttp://example.org/x\t\n"
        "b/ä\tdraft\t\t\t\t\n"
    )
    options = (
        "--namespace",
        "h",
        "--format",
        "tsv",
        "--column",
        "subject=code",
        "--column",
        "name=title",
        "--column",
        "target=same as",
    )
    before = run("export", "--format", "nquads").out
    dry = run("import", "-", *options, "--dry-run", stdin=table)
    assert dry.err.splitlines()[0] == (
        "idstore: reading standard input: subject ← code, name ← title, target ← same as,"
        " lang ← language, stage ← stage, leads_to ← leads_to"
    )
    assert (
        dry.lines
        == [
            f"line 2\tnew\t{H}a",
            f"line 3\tcontradictory\t{H}new\t{WIKIDATA} is claimed by {H}a",
            f"line 4\tcontradictory\t{H}a\tit is called 'ball \"valve\", open' here",
            f"line 5\tnew\t{H}c",
            f"line 6\tcontradictory\t{H}a\tit is fixated here; it leads to http://example.org/a here",
            f"line 7\tknown\t{H}b/ä",
        ]
        or dry.lines
    )
    assert run("export", "--format", "nquads").out == before
    run("import", "-", *options, stdin=table)
    shown = run("show", "h:a", "--json").object
    assert (shown["names"]["en"], shown["target"], shown["stage"]) == (
        'ball "valve", open',
        "http://example.org/a",
        "fixated",
    )
    assert run("show", "h:c", "--json").object["names"] == {"und": "named now"}
    assert run("show", "h:new", "--json", by="bob").object["bindings"][0]["target"] == WIKIDATA


BAD = {
    "empty": (",x,,", "malformed"),
    "no label of the scheme": ("R12x,x,,", "malformed"),
    "of another namespace": (f"{H}a,x,,", "malformed"),
    "no language": ("R3732211755,x,e_n,", "malformed"),
    "no stage": ("R3732211755,x,,tombstone", "malformed"),
    "cells too many": ("R3732211755,x,,,,,,,", "malformed"),
    "released here": ("R7654321098,x,,", "refused"),
}


@pytest.mark.parametrize("kind", BAD)
def test_all_or_nothing(run: Run, mint: Minting, kind: str) -> None:
    released = mint()
    run("release", released)
    line, verdict = BAD[kind]
    line = line.replace("R7654321098", released.removeprefix(RDL))
    before = run("export", "--format", "nquads").out
    answer = run(
        "import",
        "-",
        "--format",
        "csv",
        "--namespace",
        "rdl",
        stdin=f"id,name,lang,stage\nR3732211754,y,,\n{line}\n",
        code=3,
    )
    assert [one.split("\t")[:2] for one in answer.lines] == [["line 2", "new"], ["line 3", verdict]]
    assert answer.err.endswith(f"1 new, 1 {verdict}; nothing was changed\n") or answer.err.endswith(
        f"1 {verdict}, 1 new; nothing was changed\n"
    )
    assert run("export", "--format", "nquads").out == before


@pytest.mark.usefixtures("rdl")
def test_only_administrators_import_identifiers_that_the_scheme_chooses(run: Run) -> None:
    table = "id,name\nR3732211754,valve\n"
    run("import", "-", "--format", "csv", "--namespace", "rdl", stdin=table, by="bob", code=7)
    run("import", "-", "--format", "csv", "--namespace", "none", stdin=table, code=4)
    run("import", "-", "--format", "csv", "--namespace", "rdl", stdin="name\nvalve\n", code=3)
    run("import", "-", "--format", "csv", "--namespace", "rdl", stdin=table)
    assert run("show", RDL + "R3732211754", "--json", by="bob").object["stage"] == "fixated"
    assert run("verify").line == "sound"


def test_conflicting_options_are_refused(run: Run, mint: Minting) -> None:
    mint()
    for words in (
        ("--digest", "--format", "csv"),
        ("--digest", "-o", "x"),
        ("--digest", "--description"),
        ("--license", "http://x.org/l"),
    ):
        run("export", *words, code=2)
    run("export", "-o", "x.tsv", code=2)
    assert (
        '#license: "http://x.org/l"'
        in run("export", "--format", "sssom", "--license", "http://x.org/l", "--title", "T").lines
    )
    assert run("export", "--digest", "--namespace", "rdl", "--json").object["statements"] > 10


@pytest.mark.parametrize("kind", ["new", "changed"])
def test_a_list_of_drafts_alone_is_visible_to_its_importer_alone(
    run: Run, rdl: str, tmp_path: Path, kind: str
) -> None:
    assert rdl
    if kind == "changed":
        run("register", "h", "draft")
    file = tmp_path / "merger-with-acme.csv"
    file.write_text(
        "id,name,stage,target\ndraft,secret,created,http://example.org/secret\n", encoding="utf-8"
    )
    before = [run(*words, by="bob").out for words in SEEN]
    run("import", file, "--namespace", "h")
    assert [run(*words, by="bob").out for words in SEEN] == before
    assert file.name in run("log").out
    assert (run("verify").line, run("validate").line) == ("sound", "conforms")
    run("export", "-o", tmp_path / "all.nq")
    run("import", tmp_path / "all.nq", "--store", tmp_path / "copy")
    assert (
        run("export", "--format", "nquads", "--store", tmp_path / "copy").out
        == (tmp_path / "all.nq").read_text()
    )
    assert run("verify", "--store", tmp_path / "copy").line == "sound"
    assert file.name not in run("log", "--store", tmp_path / "copy", by="bob").out
    assert file.name not in run("export", "--after", "0", by="bob").out
    run("fixate", "h:draft")
    assert file.name not in run("log", by="bob").out
    assert run("verify").line == "sound"


SEEN = (
    ("log",),
    ("log", "--id", "h"),
    ("export", "--format", "nquads"),
    ("export", "--after", "0"),
    ("export", "--digest"),
    ("query", "SELECT * { ?s ?p ?o }"),
)
"""Terms that would reveal an import."""


@pytest.mark.usefixtures("full")
def test_a_mixed_list_shows_the_public_only_its_public_part(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "both.csv"
    file.write_text(
        "id,name,stage\nsecret,draft,created\nx,published,fixated\nother,draft,created\n", encoding="utf-8"
    )
    run("import", file, "--namespace", "h")
    imports = [line for line in run("log", "--kind", "Import").lines if file.name in line]
    assert [line for line in run("log", "--kind", "Import", by="bob").lines if file.name in line] == imports[
        1:
    ]
    assert len(imports) == 2
    parts = [one["partOf"] for one in run("log", "--kind", "Registration", "--json").objects[-3:]]
    assert parts[0] == parts[2] != parts[1]
    assert run("verify").line == "sound"


def test_the_log_names_the_file_of_a_list_without_its_folder(run: Run, rdl: str, tmp_path: Path) -> None:
    (tmp_path / "secret project").mkdir()
    file = tmp_path / "secret project" / "list.txt"
    file.write_text("R19192838477\n")
    run("import", file, "--namespace", rdl)
    (event,) = [event for event in run("log", "--json", by="mallory").objects if event["kind"] == "Import"]
    assert event["note"] == "list.txt"
    assert "secret" not in run("export", "--format", "nquads").out


@pytest.mark.usefixtures("full")
def test_a_list_that_changes_nothing_is_not_logged(run: Run) -> None:
    before = run("export", "--digest").line
    run("import", "-", "--format", "csv", "--namespace", "h", stdin="id,stage\na,created\nc,created\n")
    assert run("export", "--digest").line == before


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("more", [("--namespace", "h"), ()])
def test_ignored_columns_are_named(run: Run, more: tuple[str, ...]) -> None:
    run("register", "h", "a")
    table = "subject\tcolour\ttarget\tb\x1bc\nh:a\tred\thttp://example.org/\tx\n"
    first = run("import", "-", "--format", "tsv", *more, stdin=table).err.splitlines()[0]
    assert (
        first
        == "idstore: reading standard input: subject ← subject, target ← target; passed over: colour, b\\x1bc"
    )


@pytest.mark.usefixtures("rdl")
def test_a_line_that_only_a_setting_refuses_names_the_setting(run: Run, tmp_path: Path) -> None:
    base = "http://rdl.rdlfacade.org/data#"
    run("namespace", "add", "facade", base, "--scheme", "rdswip")
    run("namespace", "add", "emoji", "777", "--scheme", "handle")
    lists = {
        "facade": ("R21210571481", "with profile=rdlfacade it would be one"),
        "emoji": ("777/\U0001f600", "with bmp_only=false it would be one"),
    }
    for namespace, (line, hint) in lists.items():
        file = tmp_path / f"{namespace}.txt"
        file.write_text(f"{line}\n", encoding="utf-8")
        command = ("import", "--format", "list", "--namespace", namespace, file)
        assert hint in run(*command, code=3).out
        if namespace == "facade":
            file.write_text(f"{base}{line}\n", encoding="utf-8")
            assert hint in run("import", "--format", "list", file, code=3).out
        run("namespace", "set", namespace, hint.split()[1])
        run(*command)
        assert run("list", "--namespace", namespace).out.count("\n") == 1
    nothing = tmp_path / "nothing.txt"
    nothing.write_text("R12x\n", encoding="utf-8")
    assert (
        "would be one" not in run("import", "--format", "list", "--namespace", "facade", nothing, code=3).out
    )


@pytest.mark.local("the library opens the folder")
def test_a_record_of_the_library_has_the_keys_of_the_command(run: Run, mint: Minting, store: Path) -> None:
    iri = mint("--name", "valve", "--lang", "en", "--target", "http://x.example.org/")
    run("bind", iri, "http://y.example.org/", "--author", "Ann", "--confidence", "0.5")
    run("fixate", iri)
    shown = run("show", iri, "--json").object
    with idstore.open(store, mode="read") as registry:
        document = json.loads(json.dumps(registry.show(iri, idstore.Party("alice")).as_dict()))
        assert document.pop("namespace") == registry.namespace(shown.pop("namespace")).base
    assert document == {key: value for key, value in shown.items() if key not in ("scheme", "comments")}
