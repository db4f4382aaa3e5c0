"""``idstore handle``, ``resolve`` by type and index, and batch files, from a user's point of view."""

from pathlib import Path

import pytest
from command_lines import RDL, Run

HANDLE = "10.1000/doc"


@pytest.fixture
def handle(run: Run, rdl: str) -> str:
    """Return a handle that alice owns."""
    assert rdl
    run("register", "h", "doc", "--target", "http://example.org/a")
    return HANDLE


def test_values_are_set_and_shown(run: Run, handle: str) -> None:
    run("handle", "set", handle, "EMAIL", "a@example.org", "--ttl", "3600")
    run(
        "handle",
        "set",
        handle,
        "BLOB",
        "00ff",
        "--hex",
        "--index",
        "9",
        "--permissions",
        "1100",
        "--ttl",
        "2027-01-01",
    )
    assert [line.split("\t")[:4] for line in run("handle", "values", handle).lines] == [
        ["1", "URL", "86400", "1110"],
        ["2", "EMAIL", "3600", "1110"],
        ["9", "BLOB", "2027-01-01T00:00:00.000Z", "1100"],
    ]
    *_, blob = run("handle", "values", handle, "--json").objects
    assert (blob["data"], blob["ttl"]) == ({"format": "hex", "value": "00FF"}, "2027-01-01T00:00:00.000Z")
    assert [one["index"] for one in run("show", handle, "--json").object["values"]] == [1, 2, 9]
    assert "2 EMAIL a@example.org" in run("show", handle).out
    assert run("handle", "unset", handle, "2", "9", "--json").objects[1]["kind"] == "ValueUnsetting"
    assert len(run("handle", "values", handle, "--type", "URL").lines) == 1


def test_resolution_by_type_and_index(run: Run, handle: str) -> None:
    run("handle", "set", handle, "EMAIL", "a@example.org")
    assert run("resolve", handle, "--type", "email").line == "a@example.org"
    assert run("resolve", handle, "--type", "URL", "--index", "2").lines == [
        "http://example.org/a",
        "a@example.org",
    ]
    assert run("resolve", handle, "--index", "1", "--json").object["type"] == "URL"
    assert "no value of type NONE" in run("resolve", handle, "--type", "NONE", code=4).err
    run("register", "h", "other")
    run("handle", "set", "10.1000/other", "HS_ALIAS", handle)
    assert run("resolve", "10.1000/other").line == "http://example.org/a"
    assert run("resolve", "10.1000/other", "--type", "HS_ALIAS").line == handle
    run("resolve", "10.1000/other", "--ignore-aliases", code=4)
    for other in (handle, "10.1000/other"):
        assert "cannot be an alias of itself" in run("handle", "set", handle, "HS_ALIAS", other, code=3).err


def test_locations(run: Run, handle: str) -> None:
    places = (
        '<locations><location id="0" href="http://uk.example/" weight="0"/><location '
        'id="1" href="http://www.example/"/></locations>'
    )
    run("handle", "set", handle, "10320/loc", places)
    assert run("resolve", handle).line == "http://www.example/"
    assert run("resolve", handle, "--locatt", "id:0").line == "http://uk.example/"
    assert "not an IP address" in run("resolve", handle, "--address", "nonsense", code=3).err
    assert run("resolve", handle, "--country", "gb").line == "http://www.example/"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("URL", "no iri"), 3, "not an absolute URL"),
        (("URL", "http://a.example/", "--index", "0"), 3, "index '0'"),
        (("URL", "http://a.example/", "--index", "99999999999"), 3, "index '99999999999'"),
        (("URL", "http://a.example/", "--index", "x"), 2, "valid int"),
        (("DESC", "x", "--permissions", "11"), 3, "not a set of permissions"),
        (("DESC", "x", "--ttl", "soon"), 3, "not a date or time"),
        (("DESC", "x", "--ttl", "-1"), 3, "the time to live '-1'"),
        (("DESC", "0g", "--hex"), 3, "hexadecimal"),
        (("HS_SECKEY", "x"), 3, "secret"),
        (("HS_ADMIN", "200"), 3, "administrator"),
        (("HS_ALIAS", "x"), 3, "a '/' is missing"),
        (("two words", "x"), 3, "not a type"),
    ],
)
def test_refused_handle_commands(
    run: Run, handle: str, words: tuple[str, ...], code: int, message: str
) -> None:
    before = run("handle", "values", handle).out
    assert message in run("handle", "set", handle, *words, code=code).err
    assert run("handle", "values", handle).out == before


def test_other_parties_set_no_values_and_see_public_ones(run: Run, handle: str) -> None:
    run("handle", "set", handle, "NOTE", "sesame", "--permissions", "1100")
    run("handle", "set", handle, "DESC", "x", by="bob", code=4)
    run("fixate", handle)
    run("handle", "set", handle, "DESC", "x", by="bob", code=7)
    run("handle", "unset", handle, "1", by="bob", code=7)
    query = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    for words in (
        ("handle", "values", handle),
        ("show", handle),
        ("log",),
        ("log", "--id", handle),
        ("export",),
        ("query", query),
    ):
        assert "sesame" in run(*words).out
        assert "sesame" not in run(*words, by="bob").out
    assert "sesame" not in run("export", "--format", "handle-batch", by="bob").out
    assert "sesame" not in run("resolve", handle, "--type", "NOTE", by="bob", code=4).err


def test_handle_commands_refuse_other_identifiers(run: Run, rdl: str) -> None:
    made = run("mint", rdl).line
    assert made.startswith(RDL)
    assert "is not a handle" in run("handle", "values", made, code=3).err
    assert "is not a handle" in run("handle", "set", made, "URL", "http://a.example/", code=3).err


def test_an_administrator_in_every_form(run: Run) -> None:
    shown = run("handle", "admin", "200:json=011111110011:0.NA/21.T1", "--json").object
    assert shown["batch"] == "200:110011111110:0.NA/21.T1"
    for form in (shown["text"], f"200:batch={shown['batch'].split(':')[1]}:0.NA/21.T1"):
        assert run("handle", "admin", form, "--json").object == shown
    assert run("handle", "admin", shown["bytes"], "--hex", "--json").object == shown
    run("handle", "admin", "200", code=3)


def test_batch_files(run: Run, handle: str, tmp_path: Path) -> None:
    place = tmp_path / "batch.txt"
    place.write_text(
        "AUTHENTICATE SECKEY:300:0.NA/10.1000\nsesame\n\nCREATE 10.1000/new\n"
        "1 URL 86400 1110 UTF8 http://example.org/n\n"
    )
    assert (
        run("import", place, "--format", "handle-batch", "--dry-run").line
        == "would have created 1, changed 0, deleted 0 handles"
    )
    assert run("import", place, "--format", "handle-batch", "--json").object["created"] == ["10.1000/new"]
    assert run("resolve", "10.1000/new").line == "http://example.org/n"
    written = run("export", "--format", "handle-batch", "--namespace", "h").out
    assert written == (
        f"CREATE {handle}\n1 URL 86400 1110 UTF8 http://example.org/a\n\nCREATE 10.1000/new\n"
        f"1 URL 86400 1110 UTF8 http://example.org/n\n\n"
    )
    bad = (
        "CREATE 10.1000/b\n0 URL 86400 1110 UTF8 http://b.example/\n1 KEY 86400 "
        "1110 FILE /etc/passwd\n\nDELETE 10.1000/none\n"
    )
    outcome = run("import", "-", "--format", "handle-batch", "--dry-run", stdin=bad, code=3)
    assert outcome.out == ""
    assert [line.split(": ")[1] for line in outcome.err.splitlines()] == [
        f"standard input, line {line}" for line in (2, 3, 5)
    ]
    run("show", "10.1000/b", code=4)
    run("import", place, place, "--format", "handle-batch", code=2)
    run("import", tmp_path / "none", "--format", "handle-batch", code=3)


def test_a_batch_file_creates_a_store_only_with_a_namespace(run: Run, store: Path) -> None:
    run(
        "import",
        "-",
        "--format",
        "handle-batch",
        stdin="CREATE 10.1000/a\n1 DESC 86400 1110 UTF8 x\n",
        code=3,
    )
    assert not store.exists()
