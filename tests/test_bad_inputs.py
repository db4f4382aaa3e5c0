"""The same bad input to a command and to a method of the library: both refuse it with the same error."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from command_lines import Run

import idstore
from idstore import Filter, Party, Registry, Request, Statement
from idstore.errors import IdstoreError

ALICE, BOB = Party("alice"), Party("bob")
ARTICLE = {"issn": "0305-4179", "volume": "31", "issue": "4", "page": "530", "title": "A burn"}
Act = Callable[[Registry], object]


def metadata(**fields: object) -> dict[str, object]:
    return {**{name: text for name, text in ARTICLE.items() if name not in fields}, **fields}


def article(fields: dict[str, object], **more: object) -> Act:
    return lambda registry: registry.mint("sp", ALICE, Request(metadata=fields, **more))  # type: ignore[arg-type]


VOL = {name: text for name, text in metadata(vol="77").items() if name != "volume"}
INPUTS: Sequence[tuple[str, tuple[str, ...], Act, str, str | None]] = [
    (
        "an unknown namespace",
        ("mint", "nope"),
        lambda r: r.mint("nope", ALICE),
        "unknown-namespace",
        "namespace",
    ),
    (
        "an empty name",
        ("mint", "rdl", "--name", ""),
        lambda r: r.mint("rdl", ALICE, Request("")),
        "invalid-data",
        "name",
    ),
    (
        "a language that is none",
        ("mint", "rdl", "--name", "x", "--lang", "french"),
        lambda r: r.mint("rdl", ALICE, Request("x", "french")),
        "invalid-data",
        "lang",
    ),
    (
        "an empty comment",
        ("mint", "rdl", "--comment", " "),
        lambda r: r.mint("rdl", ALICE, Request(comment=" ")),
        "invalid-data",
        "comment",
    ),
    (
        "a relative target",
        ("mint", "rdl", "--target", "a/b"),
        lambda r: r.mint("rdl", ALICE, Request(target="a/b")),
        "invalid-data",
        "target",
    ),
    (
        "a target without host",
        ("target", "h:taken", "http:///x"),
        lambda r: r.target("h:taken", "http:///x", ALICE),
        "invalid-data",
        "target",
    ),
    (
        "an empty request key",
        ("mint", "rdl", "--key", ""),
        lambda r: r.mint("rdl", ALICE, Request(request_key="")),
        "",
        "request_key",
    ),
    ("a count of none", ("mint", "h", "--count", "0"), lambda r: r.mint_several("h", 0, ALICE), "", "count"),
    (
        "a taken label",
        ("register", "h", "taken"),
        lambda r: r.register("h", "taken", ALICE),
        "taken",
        "label",
    ),
    (
        "a label that is none",
        ("register", "own", "FMT/1"),
        lambda r: r.register("own", "FMT/1", ALICE),
        "invalid-identifier",
        "label",
    ),
    (
        "a label where they are drawn",
        ("register", "rdl", "R3732211754"),
        lambda r: r.register("rdl", "R3732211754", ALICE),
        "not-permitted",
        "namespace",
    ),
    ("what is not here", ("show", "h:absent"), lambda r: r.show("h:absent", ALICE), "not-registered", "id"),
    ("what is hidden", ("show", "h:taken"), lambda r: r.show("h:taken", BOB), "not-registered", "id"),
    (
        "a relation that is none",
        ("bind", "h:taken", "http://x.example.org/", "--relation", "skos:exactmatch"),
        lambda r: r.bind("h:taken", Statement("http://x.example.org/", "skos:exactmatch"), ALICE),
        "invalid-data",
        "relation",
    ),
    (
        "a confidence above 1",
        ("bind", "h:taken", "http://x.example.org/", "--confidence", "3"),
        lambda r: r.bind("h:taken", Statement("http://x.example.org/", confidence=3), ALICE),  # type: ignore[arg-type]
        "invalid-data",
        "confidence",
    ),
    (
        "an ORCID iD with a wrong check digit",
        ("bind", "h:taken", "http://x.example.org/", "--author", "0000-0002-1825-0098"),
        lambda r: r.bind("h:taken", Statement("http://x.example.org/", author="0000-0002-1825-0098"), ALICE),
        "invalid-data",
        "author",
    ),
    (
        "a binding to itself",
        ("bind", "h:taken", "doi:10.1000/taken"),
        lambda r: r.bind("h:taken", Statement("doi:10.1000/taken"), ALICE),
        "invalid-data",
        "target",
    ),
    (
        "a reason that is empty",
        ("deprecate", "h:public", "--reason", ""),
        lambda r: r.deprecate("h:public", "", ALICE),
        "invalid-data",
        "reason",
    ),
    (
        "the deprecation of a draft",
        ("deprecate", "h:taken", "--reason", "x"),
        lambda r: r.deprecate("h:taken", "x", ALICE),
        "wrong-stage",
        "id",
    ),
    (
        "a second publication",
        ("fixate", "h:public"),
        lambda r: r.fixate(["h:public"], ALICE),
        "wrong-stage",
        "id",
    ),
    (
        "the release of what is public",
        ("release", "h:public"),
        lambda r: r.release("h:public", ALICE),
        "wrong-stage",
        "id",
    ),
    (
        "an unknown stage",
        ("list", "--stage", "gone"),
        lambda r: r.list(ALICE, Filter(stage="gone")),
        "",
        "stage",
    ),
    ("a negative limit", ("list", "--limit", "-1"), lambda r: r.list(ALICE, limit=-1), "", "limit"),
    (
        "an unknown kind",
        ("log", "--kind", "Gone"),
        lambda r: [*r.log(ALICE, Filter(kinds=["Gone"]))],
        "",
        "kinds",
    ),
    (
        "a scheme that is not installed",
        ("namespace", "add", "x", "http://x.example.org/#", "--scheme", "nope"),
        lambda r: r.add_namespace("x", "http://x.example.org/#", "nope", ALICE),
        "unknown-scheme",
        "scheme",
    ),
    (
        "a setting that is none",
        ("namespace", "add", "x", "http://x.example.org/#", "--scheme", "rdswip", "--set", "colour=red"),
        lambda r: r.add_namespace("x", "http://x.example.org/#", "rdswip", ALICE, {"colour": "red"}),
        "invalid-data",
        "settings",
    ),
    (
        "a malformed name of a namespace",
        ("namespace", "add", "a b", "http://x.example.org/#", "--scheme", "rdswip"),
        lambda r: r.add_namespace("a b", "http://x.example.org/#", "rdswip", ALICE),
        "invalid-data",
        "name",
    ),
    (
        "a query that changes data",
        ("query", "CLEAR ALL"),
        lambda r: r.query("CLEAR ALL", ALICE),
        "query-refused",
        "text",
    ),
    (
        "a version of a draft",
        ("version", "add", "h:taken", "V1.0"),
        lambda r: r.add_version("h:taken", "V1.0", ALICE),
        "",
        "id",
    ),
]
ARTICLES: Sequence[tuple[str, dict[str, object], bool, str]] = [
    ("another word for a field", VOL, False, "vol"),
    ("a field in another case", metadata(Title="x"), False, "Title"),
    ("an ISSN that is none", metadata(issn="nope"), False, "issn"),
    ("no ISSN", metadata(issn=""), False, "issn"),
    ("a list of pages", metadata(page=["1"]), False, "page"),
    ("a DOI that is none, strictly", metadata(doi="nope"), True, "metadata"),
    ("an unknown key, strictly", metadata(colour="red"), True, "metadata"),
    ("a volume that is no number, strictly", metadata(volume="Spring"), True, "metadata"),
]


@pytest.fixture
def registry(store: Path, rdl: str) -> Path:
    """Return the folder of a registry with a draft and a published identifier."""
    assert rdl
    with idstore.open(store) as registry:
        registry.register("h", "taken", ALICE)
        registry.register("h", "public", ALICE, Request(fixate=True))
    return store


def refused(folder: Path, act: Act) -> IdstoreError:
    with idstore.open(folder) as registry:
        before = [*registry.log(ALICE)]
        with pytest.raises(IdstoreError) as caught:
            act(registry)
        assert [*registry.log(ALICE)] == before
    return caught.value


@pytest.mark.local("both ways open the folder")
@pytest.mark.parametrize(
    ("words", "act", "code", "field"), [one[1:] for one in INPUTS], ids=[one[0] for one in INPUTS]
)
def test_a_command_and_a_method_refuse_alike(
    run: Run, registry: Path, words: tuple[str, ...], act: Act, code: str, field: str | None
) -> None:
    error = refused(registry, act)
    assert (error.field, bool(error.reason)) == (field, True)
    by = "bob" if words == ("show", "h:taken") else "alice"
    told = json.loads(command_error(run, words, by))
    if code:  # else the command line refuses it as its own usage
        assert told["error"] == error.code == code
        assert told.get("field") == field


def command_error(run: Run, words: tuple[str, ...], by: str) -> str:
    for code in (2, 3, 4, 7, 8, 9):
        try:
            return run(*words, "--json", by=by, code=code).err
        except AssertionError as error:
            if "Traceback" in str(error) or ": exit 0" in str(error):
                raise
    raise AssertionError(words)


@pytest.mark.local("both ways open the folder")
@pytest.mark.parametrize(
    ("fields", "strict", "field"), [one[1:] for one in ARTICLES], ids=[one[0] for one in ARTICLES]
)
def test_metadata_are_refused_alike(
    run: Run, registry: Path, tmp_path: Path, fields: dict[str, object], strict: bool, field: str
) -> None:
    error = refused(registry, article(fields, strict=strict))
    file = tmp_path / "article.json"
    file.write_text(json.dumps(fields))
    told = json.loads(
        run("mint", "sp", "--metadata", file, "--json", *["--strict"] * strict, code=3).err.splitlines()[-1]
    )
    assert told["error"] == error.code == "invalid-data"
    assert error.field == field


@pytest.mark.local("both ways open the folder")
def test_the_key_of_metadata_is_the_request_key(run: Run, registry: Path, tmp_path: Path) -> None:
    file = tmp_path / "article.json"
    file.write_text(json.dumps(metadata(key="a7")))
    first = run("mint", "sp", "--metadata", file).line
    with idstore.open(registry) as opened:
        again = opened.mint("sp", ALICE, Request(metadata=metadata(key="a7")))  # type: ignore[arg-type]
        assert again.iri == first
    assert run("mint", "sp", "--metadata", file).line == first
