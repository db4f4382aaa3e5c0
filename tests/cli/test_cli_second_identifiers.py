"""A second identifier of one target is warned of, among the identifiers that the party sees."""

from pathlib import Path

import pytest
from command_lines import Run

URL = "http://example.org/pump"
FIRST = "https://hdl.handle.net/10.1000/first"

pytestmark = pytest.mark.usefixtures("rdl")


@pytest.fixture
def first(run: Run) -> str:
    return run("register", "h", "first", "--target", URL).line


def test_every_way_to_a_target_warns(run: Run, first: str) -> None:
    told = f"{URL}: {first} already leads there"
    assert told in run("register", "h", "second", "--target", URL).err
    run("target", "h:second", "--unset")
    assert told in run("target", "h:second", URL).err
    run("target", "h:second", "--unset")
    assert told in run("handle", "set", "h:second", "URL", URL).err
    run("target", "h:second", "--unset")
    batch = f"CREATE 10.1000/third\n1 URL 86400 1110 UTF8 {URL}\n"
    words = ("import", "-", "--format", "handle-batch")
    assert f"standard input, line 2: {told}" in run(*words, stdin=batch).err
    run("target", "h:third", "--unset")
    table = f"subject,leads_to\nfourth,{URL}\n"
    outcome = run("import", "-", "--format", "csv", "--namespace", "h", stdin=table)
    assert f"line 2: {told}" in outcome.err


def test_ten_of_many_identifiers_for_one_target_are_named(run: Run, first: str) -> None:
    table = "subject,leads_to\n" + "".join(f"n{number:02},{URL}\n" for number in range(15))
    outcome = run("import", "-", "--format", "csv", "--namespace", "h", stdin=table)
    assert f"line 3: {URL}: {first}, https://hdl.handle.net/10.1000/n00 already lead there" in outcome.err
    rest = [line for line in outcome.err.splitlines() if "and others already lead there" in line]
    assert len(rest) == 5 and all(line.count("/10.1000/") == 10 for line in rest)
    for words in (("register", "h", "last", "--target", URL), ("target", "h:last", URL)):
        [warning] = run(*words).err.splitlines()
        assert "and others already lead there" in warning and warning.count("/10.1000/") == 10


def test_a_version_with_a_target_of_another_identifier_warns(run: Run, first: str) -> None:
    work = run("mint", "rdl").line
    run("fixate", work)
    told = f"idstore: warning: {URL}: {first} already leads there\n"
    added = ("version", "add", work, "--number", "0.1", "--target", URL, "--request-key", "k")
    version = run(*added)
    assert version.err == told
    assert run(*added).lines == version.lines
    assert run("version", "add", work, "--number", "0.2", "--target", "http://example.org/other").err == ""
    assert run("version", "add", work, "--number", "0.3", "--id", run("mint", "rdl").line).err == ""


def test_several_identifiers_for_one_target_warn_once(run: Run, first: str) -> None:
    run("namespace", "add", "many", "10.9999", "--scheme", "handle", "--set", "suffix=uuid")
    several = run("mint", "many", "--count", "3", "--target", URL)
    assert len(several.out.splitlines()) == 3
    assert several.err.count(f"{URL}: {first} already leads there") == 1
    assert several.err.count(f"{URL} is the target of all 3 new identifiers") == 1
    hidden = run("mint", "many", "--count", "2", "--target", URL, by="bob").err
    assert "already lead" not in hidden and "all 2 new" in hidden
    assert "target" not in run("mint", "many", "--count", "2").err


def test_the_same_target_again_is_no_second_identifier(run: Run, first: str) -> None:
    assert "already lead" not in run("handle", "set", first, "URL", URL, "--index", "1").err
    assert "already lead" not in run("handle", "set", first, "DESC", URL).err


def test_a_draft_of_another_party_is_not_told(run: Run, first: str) -> None:
    run("register", "h", "other", by="bob")
    assert "already lead" not in run("handle", "set", "h:other", "URL", URL, by="bob").err
    batch = f"CREATE 10.1000/more\n1 URL 86400 1110 UTF8 {URL}\n"
    outcome = run("import", "-", "--format", "handle-batch", stdin=batch, by="bob")
    assert first not in outcome.err and "10.1000/other" in outcome.err


def test_an_export_that_brings_a_second_identifier_warns(run: Run, first: str, tmp_path: Path) -> None:
    there = ("--store", tmp_path / "there")
    export = tmp_path / "export.nq"
    run("namespace", "add", "g", "20.500.2", "--scheme", "handle", *there)
    run("register", "g", "pump", "--target", URL, *there)
    run("fixate", "g:pump", *there)
    run("export", "-o", export, *there)
    told = f"https://hdl.handle.net/20.500.2/pump: {URL}: {first} already leads there"
    for options in (("--dry-run",), ()):
        assert told in run("import", export, *options).err
    assert "already lead" not in run("import", export).err
