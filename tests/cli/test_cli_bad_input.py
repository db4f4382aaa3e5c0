"""Bad input gives an exit code and one clear line, and writes nothing."""

import gzip
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_lines import NEVER, RDL, WIKIDATA, Outcome, Run, tree

import idstore

NAMESPACE = ("namespace", "add", "x")
REFUSED: Sequence[tuple[str, tuple[str, ...], int, str]] = [
    ("wrong scheme", (*NAMESPACE, "http://x.example.org/#", "--scheme", "nonesuch"), 2, "unknown-scheme"),
    (
        "a base without # for rdswip",
        (*NAMESPACE, "http://x.example.org/", "--scheme", "rdswip"),
        3,
        "invalid-data",
    ),
    (
        "an unknown setting",
        (*NAMESPACE, "http://x.example.org/#", "--scheme", "rdswip", "--set", "colour=red"),
        3,
        "invalid-data",
    ),
    (
        "an unregistered parent",
        (*NAMESPACE, "10.1000.7", "--scheme", "handle", "--set", "parent=10.1000.1"),
        3,
        "invalid-data",
    ),
    ("a taken base", (*NAMESPACE, RDL, "--scheme", "rdswip"), 8, "taken"),
    ("a taken name", ("namespace", "add", "rdl", "http://x.example.org/#", "--scheme", "rdswip"), 8, "taken"),
    (
        "a malformed name",
        ("namespace", "add", "a b", "http://x.example.org/#", "--scheme", "rdswip"),
        3,
        "invalid-data",
    ),
    ("a malformed label", ("register", "own", "FMT/1"), 3, "invalid-identifier"),
    ("a malformed identifier", ("show", "rdl:R37"), 3, "invalid-identifier"),
    ("a chosen label where they are drawn", ("register", "rdl", "R3732211754"), 7, "not-permitted"),
    ("a taken label", ("register", "h", "taken"), 8, "taken"),
    ("a taken label under the comparison rule", ("register", "h", "TAKEN"), 8, "taken"),
    ("an unknown namespace", ("mint", "nonesuch"), 4, "unknown-namespace"),
    ("a namespace that is mistyped", ("show", "rdll:R7081857972"), 4, "unknown-namespace"),
    ("a binding to no absolute IRI", ("bind", "h:taken", "nonsense"), 3, "invalid-data"),
    ("a binding to itself", ("bind", "h:taken", "https://hdl.handle.net/10.1000/taken"), 3, "invalid-data"),
    ("a binding to an unknown prefix", ("bind", "h:taken", "no-such-prefix:1"), 3, "invalid-data"),
    ("a target with a mistyped scheme", ("target", "h:taken", "htpp://example.org/"), 3, "invalid-data"),
    (
        "a mistyped relation",
        ("bind", "h:taken", "urn:x:y", "--relation", "skso:exactMatch"),
        3,
        "invalid-data",
    ),
    ("a binding to a short form that cannot be read", ("bind", "h:taken", "own:FMT/1"), 3, "invalid-data"),
    ("a target in short", ("target", "h:taken", "own:FMT/1"), 3, "invalid-data"),
    ("a target of a new identifier in short", ("mint", "rdl", "--target", "own:FMT/1"), 3, "invalid-data"),
    (
        "a target of a chosen label in short",
        ("register", "h", "new", "--target", "own:FMT/1"),
        3,
        "invalid-data",
    ),
    (
        "a target of a version in short",
        ("version", "add", "h:public", "--number", "2", "--target", "own:FMT/1"),
        3,
        "invalid-data",
    ),
    ("a value in short", ("handle", "set", "h:taken", "URL", "own:fmt/1"), 3, "invalid-data"),
    ("a target without a host", ("target", "h:taken", "http:///x"), 3, "invalid-data"),
    ("a binding without a host", ("bind", "h:taken", "HTTPS://:80/"), 3, "invalid-data"),
    (
        "a relation that is the record's own",
        ("bind", "h:taken", WIKIDATA, "--relation", "ids:stage"),
        3,
        "invalid-data",
    ),
    (
        "a confidence that is no number",
        ("bind", "h:taken", WIKIDATA, "--confidence", "nan"),
        3,
        "invalid-data",
    ),
    (
        "a confidence too small to write out",
        ("bind", "h:taken", WIKIDATA, "--confidence", "1e-400000"),
        3,
        "invalid-data",
    ),
    (
        "a confidence that rounds to nothing",
        ("bind", "h:taken", WIKIDATA, "--confidence", "1e-19"),
        3,
        "invalid-data",
    ),
    (
        "a limit that is no number to the engine",
        ("namespace", "allow", "h", "--everyone", "--per-minute", f"{2**63}"),
        3,
        "invalid-data",
    ),
    (
        "a moment that no date can say",
        ("handle", "set", "h:taken", "URL", "http://a", "--ttl", "9999-12-31T23:59-23:59"),
        3,
        "invalid-data",
    ),
    ("a moment before all dates", ("history", "--at", "0001-01-01T00:00+01:00"), 3, "invalid-data"),
    ("differences since a moment to come", ("diff", "9999-12-31"), 3, "invalid-data"),
    ("an empty request key", ("mint", "rdl", "--request-key", ""), 3, "invalid-data"),
    ("a blank request key of a label", ("register", "h", "b", "--request-key", " "), 3, "invalid-data"),
    (
        "an empty request key of a version",
        ("version", "add", "h:taken", "--number", "2", "--request-key", ""),
        3,
        "invalid-data",
    ),
    (
        "an empty request key of an article",
        ("mint", "sp", "--metadata", "-", "--request-key", ""),
        3,
        "invalid-data",
    ),
    ("a file in a folder that is not there", ("export", "-o", "nonesuch/all.ttl"), 2, "usage"),
    ("a folder in place of a file", ("reconcile", "store", "-o", "."), 2, "usage"),
    ("a target that is no IRI", ("target", "h:taken", "http://example.org/a b"), 3, "invalid-data"),
    (
        "a target of a new identifier that is no IRI",
        ("mint", "rdl", "--target", "nonsense"),
        3,
        "invalid-data",
    ),
    ("an empty name", ("name", "h:taken", " "), 3, "invalid-data"),
    ("a language that is none", ("name", "h:taken", "x", "--lang", "no language"), 3, "invalid-data"),
    ("fixating twice", ("fixate", "h:public"), 8, "wrong-stage"),
    ("releasing what is fixated", ("release", "h:public"), 8, "wrong-stage"),
    ("releasing another party's identifier", ("--user", "bob", "release", "h:shared"), 7, "not-permitted"),
    ("releasing what is not there", ("release", NEVER), 4, "not-registered"),
    ("releasing a tombstone", ("release", "h:buried"), 8, "wrong-stage"),
    ("superseding by nothing", ("supersede", "h:public"), 2, "usage"),
    ("replacing itself", ("supersede", "h:public", "--by", "h:public"), 3, "invalid-data"),
    ("a party's name that is none", ("grant", "h:taken", "a b"), 3, "invalid-data"),
    ("acting under a name that is none", ("--user", "a b", "mint", "rdl"), 3, "invalid-data"),
    ("an unknown party", ("party", "join", "nobody", "nowhere"), 4, "unknown-party"),
    (
        "revoking as no administrator",
        ("--user", "bob", "revoke", "h:public", "--reason", "x"),
        7,
        "not-permitted",
    ),
    ("a store that is no folder and no server", ("mint", "rdl", "--store", "ftp://a.example/"), 2, "usage"),
    ("an address with a password", ("mint", "rdl", "--store", "http://alice:ids_x@127.0.0.1:9/"), 2, "usage"),
    ("an address with an impossible port", ("mint", "rdl", "--store", "http://127.0.0.1:99999/"), 2, "usage"),
    (
        "a server that does not answer",
        ("mint", "rdl", "--store", "http://127.0.0.1:9/"),
        6,
        "store-unavailable",
    ),
    ("a language without a name", ("mint", "rdl", "--lang", "en"), 2, "usage"),
    ("a language of a label without a name", ("register", "h", "new", "--lang", "en"), 2, "usage"),
    ("an unknown command", ("mnit", "rdl"), 2, "usage"),
    ("an unknown option", ("mint", "rdl", "--colour", "red"), 2, "usage"),
    ("an unknown kind", ("mint", "sp", "--parent", "h:taken", "--kind", "box"), 2, "usage"),
    ("a metadata file that is not there", ("mint", "sp", "--metadata", "nonesuch.json"), 3, "invalid-data"),
    ("metadata without an ISSN", ("mint", "sp", "--metadata", "-"), 3, "invalid-data"),
    ("metadata where nothing is derived from them", ("mint", "h", "--metadata", "-"), 3, "invalid-data"),
    ("metadata where a type is all that counts", ("mint", "own", "--metadata", "-"), 3, "invalid-data"),
    ("a type where there are none", ("mint", "h", "--type", "zzz"), 3, "invalid-data"),
    ("a type beside metadata", ("mint", "sp", "--metadata", "-", "--type", "zzz"), 2, "usage"),
    ("deriving where nothing is derived", ("derive", "rdl", "--metadata", "-"), 3, "invalid-data"),
    ("a file to import that is not there", ("import", "nonesuch.ttl"), 3, "invalid-file"),
    ("an unknown format", ("import", "x", "--format", "word"), 2, "usage"),
    (
        "an unknown format, into a namespace",
        ("import", "x", "--format", "word", "--namespace", "h"),
        2,
        "usage",
    ),
    ("RDF of identifiers that is not there", ("import", "x.ttl", "--namespace", "h"), 3, "invalid-file"),
    ("a base that is no IRI", ("import", "x.csv", "--base", "subject=foo"), 2, "usage"),
    ("a relation that is no IRI", ("import", "x.csv", "--relation", "x=y"), 2, "usage"),
]


@pytest.fixture(scope="module")
def handles(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with handles in different stages, as a template."""
    place = tmp_path_factory.mktemp("handles") / "store"
    shutil.copytree(prepared, place)
    alice = idstore.Party("alice")
    with idstore.open(place) as registry:
        for label in ("taken", "public", "shared", "buried"):
            registry.register("h", label, alice)
        registry.fixate(["h:public", "h:buried"], alice)
        registry.revoke("h:buried", "spam", alice)
        registry.grant("h:shared", idstore.Party("bob"), alice)
    return place


@pytest.fixture
def registry(handles: Path, store: Path) -> None:
    shutil.copytree(handles, store)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("words", "code", "slug"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_bad_input_is_refused_in_one_line(run: Run, words: tuple[str, ...], code: int, slug: str) -> None:
    before = run("log").out
    refused = run(*words, code=code, stdin='{"title": "Valves"}')
    assert refused.out in ("", "\n")
    assert one_line(refused).startswith("idstore: ")
    found = json.loads(one_line(run("--json", *words, code=code, stdin='{"title": "Valves"}')))
    assert found["error"] == slug and one_line(refused) == f"idstore: {found['message']}"
    assert run("log").out == before


@pytest.mark.usefixtures("registry")
def test_what_cannot_be_done_is_not_advised(run: Run) -> None:
    assert "it can be deprecated instead" in run("release", "h:public", code=8).err
    assert "idstore deprecate" not in run("release", "h:buried", code=8).err


@pytest.mark.usefixtures("registry")
def test_an_error_of_a_namespace_is_reported_once(run: Run) -> None:
    told = run("derive", "rdl", "--metadata", "-", stdin='{"title": "a"}\n{"title": "b"}\n', code=3)
    assert told.out == "" and "derives nothing" in one_line(told)


def one_line(refused: Outcome) -> str:
    [line] = refused.err.splitlines()
    return line


BROKEN = b'@prefix e: <http://e.example/> .\ne:a e:b "\xff" .\n'


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("place", ["store", "fresh"])
def test_a_truncated_file_is_refused_with_its_line(run: Run, tmp_path: Path, place: str) -> None:
    run("mint", "rdl", "--name", "valve")
    whole = run("export").out.encode()
    lines = whole.splitlines(keepends=True)
    for name, content in {
        "syntax.ttl": b"".join([*lines[:12], b"this is no Turtle\n", *lines[12:]]),
        "bytes.ttl": BROKEN,
        "cut.ttl": whole[: len(whole) // 2],
    }.items():
        file = tmp_path / name
        file.write_bytes(content)
        before = run("log").out
        assert one_line(run("import", file, "--store", tmp_path / place, code=3)).startswith(
            f"idstore: {file}, line "
        )
        assert run("log").out == before
    assert not (tmp_path / "fresh").exists()


@pytest.mark.usefixtures("rdl")
def test_a_truncated_gzip_is_refused(run: Run, tmp_path: Path) -> None:
    run("namespace", "add", "pronom", "info:pronom/", "--scheme", "puid")
    formats = "".join(f'<FileFormat ID="{n}" Name="Format {n}" PUID="fmt/{n}"/>\n' for n in range(1, 2000))
    text = (
        f'<FFSignatureFile Version="1"><FileFormatCollection>\n'
        f"{formats}</FileFormatCollection></FFSignatureFile>"
    )
    file = tmp_path / "signatures.xml.gz"
    file.write_bytes(gzip.compress(text.encode())[:-200])
    refused = one_line(run("import", file, code=3))
    assert refused.startswith(f"idstore: {file}, line ") and "too soon" in refused
    file.write_bytes(gzip.compress(text.replace("Format 7", "Format \x07", 1).encode()))
    assert "line 8" in one_line(run("import", file, code=3))
    assert run("list", "--namespace", "pronom").out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("mint", "rdl"),
        ("list",),
        ("init",),
        ("namespace", "add", "rdl", RDL, "--scheme", "rdswip"),
        ("export",),
    ],
)
def test_a_folder_that_is_no_store_is_left_alone(run: Run, store: Path, words: tuple[str, ...]) -> None:
    store.mkdir()
    (store / "letter.txt").write_text("dear")
    refused = one_line(run(*words, code=6))
    assert str(store) in refused and "--store" in refused
    assert tree(store) == {"letter.txt": b"dear"}


def test_a_file_where_the_store_should_be_is_left_alone(run: Run, store: Path) -> None:
    store.write_text("dear")
    assert str(store) in one_line(run("mint", "rdl", code=6))
    assert str(store) in one_line(run("list", code=6))
    assert store.read_text() == "dear"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_refused(run: Run, store: Path) -> None:
    store.parent.chmod(0o500)
    try:
        one_line(run("init", "--store", store.parent / "other", code=6))
    finally:
        store.parent.chmod(0o700)


def test_an_unusable_file_is_reported_with_its_fault(run: Run, tmp_path: Path) -> None:
    run("init")
    (tmp_path / "a.csv").write_text("nonsense\n")
    (tmp_path / "a.nq.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "a.nt").write_text(
        "<urn:uuid:0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e#1> "
        "<https://w3id.org/idstore/ontology#about> <urn:x:1> .\n"
    )
    (tmp_path / "a.rdfp").touch()
    (tmp_path / "a.zip").touch()
    (tmp_path / "a.foo").touch()
    (tmp_path / "divided.tsv").write_text("subject;object\na;http://a\n")
    (tmp_path / "returns.csv").write_bytes(b"subject,object\ra,http://a\r")
    (tmp_path / "latin.csv").write_bytes(b"subject,object,caf\xe9\n")
    for words, said in (
        (("reconcile", tmp_path / "a.csv"), "nothing was compared"),
        (
            ("reconcile", "x" * 300),
            f"{'x' * 300}: it cannot be read: File name too long; nothing was compared",
        ),
        (("import", tmp_path / "a.nq.gz"), "it is compressed; unpack it first"),
        (
            ("import", tmp_path / "a.nt"),
            f"{tmp_path / 'a.nt'}: <urn:uuid:0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e#1> is not a whole event",
        ),
        (("import", tmp_path / "a.rdfp"), f"{tmp_path / 'a.rdfp'}: it ends too soon"),
        (("import", tmp_path / "a.zip"), f"{tmp_path / 'a.zip'}: it is empty"),
        (
            ("import", tmp_path / "a.foo"),
            "the extension '.foo' stands for no format; name the format of the file",
        ),
        (("import", tmp_path / "divided.tsv"), "the header looks divided by semicolons"),
        (("import", tmp_path / "returns.csv"), "a carriage return stands alone in it"),
        (("import", tmp_path / "latin.csv"), "it is not UTF-8 (byte 0xe9); save it as UTF-8"),
    ):
        assert said in one_line(run(*words, code=3))


@pytest.mark.parametrize(("option", "value"), [("--user", ""), ("--store", "")])
def test_an_empty_user_or_store_is_refused(run: Run, store: Path, option: str, value: str) -> None:
    """As with an unset variable in a script: otherwise the account's own user or store would apply."""
    for words in (("stats",), ("mint", "rdl"), ("init",)):
        assert f"{option} is empty" in one_line(run(*words, option, value, code=2))
        assert f"{option} is empty" in one_line(run(option, value, *words, code=2))
    assert not store.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("show", NEVER),
        ("log",),
        ("stats",),
        ("namespace", "list"),
        ("export",),
        ("validate",),
        ("verify",),
    ],
)
def test_reading_creates_no_store(run: Run, store: Path, words: tuple[str, ...]) -> None:
    assert "idstore init" in one_line(run(*words, code=6))
    assert not store.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("mint", "rdl"), 6),
        (("namespace", "add", "rdl", "http://rdl.example.org/data", "--scheme", "rdswip"), 3),
        (("namespace", "add", "rdl", RDL, "--scheme", "nonesuch"), 2),
        (("bind", NEVER, WIKIDATA), 6),
        (("import", "nonesuch.ttl"), 3),
    ],
)
def test_a_first_act_that_fails_creates_no_store(
    run: Run, store: Path, words: tuple[str, ...], code: int
) -> None:
    one_line(run(*words, code=code))
    assert not store.exists()


@pytest.mark.usefixtures("rdl")
def test_input_that_is_not_utf8_is_refused(run: Run) -> None:
    assert "line 2" in one_line(run("fixate", "-", code=3, stdin=b"h:a\nh:\xff\n"))
    assert "UTF-8" in one_line(run("derive", "sp", "--metadata", "-", code=3, stdin=b'{"title": "\xff"}'))
    assert "UTF-8" in one_line(run("mint", "rdl", "--name", "\udcff", code=3))


@pytest.mark.usefixtures("rdl")
def test_a_party_name_that_is_not_utf8_matches_nothing(run: Run) -> None:
    assert run("list", "--owner", "a\udcff").out == run("log", "--user", "a\udcff").out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("stats", "--by", "month", "--by", "party"),
        ("list", "--limit", "1", "--limit=2"),
    ],
)
def test_an_option_of_one_value_stands_once(run: Run, words: tuple[str, ...]) -> None:
    assert f"{words[1]} stands 2 times; give it once" in run(*words, code=2).err


def test_of_a_shared_option_the_last_value_counts(run: Run, tmp_path: Path) -> None:
    none = str(tmp_path / "none")
    assert none in run("list", "--store", none, "--user", "a", "--store", none, "--user", "b", code=6).err


@pytest.mark.usefixtures("rdl")
def test_options_of_several_values_stand_several_times(run: Run) -> None:
    run("log", "--kind", "Mint", "--kind", "Bind")
    run("list", "--quiet", "--quiet")
