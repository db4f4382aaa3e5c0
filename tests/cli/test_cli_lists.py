"""Filters of ``list``, and articles found by their DOI."""

import json
from pathlib import Path

import pytest
from command_lines import Minting, Run

ARTICLE = {
    "issn": "0305-4179",
    "volume": "31",
    "issue": "4",
    "page": "530",
    "title": "A burn",
    "doi": "10.5072/ABC",
}
FORMS = (
    "10.5072/abc",
    "https://doi.org/10.5072/ABC",
    "doi:10.5072/aBc",
    "https://doi.org/10.5072/abc?utm_source=x",
)


@pytest.fixture
def article(run: Run, rdl: str, tmp_path: Path) -> str:
    assert rdl
    (tmp_path / "a.json").write_text(json.dumps(ARTICLE))
    return run("mint", "sp", "--metadata", tmp_path / "a.json").line


@pytest.mark.parametrize("form", FORMS)
def test_an_article_is_found_by_its_doi(run: Run, article: str, form: str) -> None:
    assert run("show", form, "--json").object["id"] == article
    assert run("list", "--doi", form).line.startswith(article)
    assert article in run("cite", form).out
    told = run("show", form, by="bob", code=4).err
    assert told.replace(form, "X") == run("show", "10.5072/none", by="bob", code=4).err.replace(
        "10.5072/none", "X"
    )
    assert run("list", "--doi", form, by="bob").lines == []
    run("target", article, "https://repo.example.org/1")
    run("fixate", article)
    assert run("resolve", form, by="bob").line == "https://repo.example.org/1"
    run("deprecate", form, "--reason", "x", code=4)  # an act names the identifier itself


def test_a_handle_that_is_the_doi_is_meant_before_the_article(run: Run, article: str) -> None:
    run("namespace", "add", "dois", "10.5072", "--scheme", "handle")
    assert run("show", "10.5072/abc", "--json").object["id"] == article
    handle = run("register", "dois", "abc").line
    assert run("show", "10.5072/abc", "--json").object["id"] == handle
    assert run("list", "--doi", "10.5072/abc").line.startswith(article)
    outcome = run("show", "10.5072/abc")
    assert f"{article} is the article with this DOI" in outcome.err


def test_names_that_are_missing(run: Run, mint: Minting) -> None:
    both, one, none = mint("--name", "valve", "--lang", "en"), mint("--name", "pump", "--lang", "en"), mint()
    run("name", both, "Ventil", "--lang", "de")
    run("name", one, "Pumpe", "--lang", "pt-br")
    assert [line.split("\t")[0] for line in run("list", "--without-name", "de").lines] == [none, one]
    assert [line.split("\t")[0] for line in run("list", "--without-name", "EN").lines] == [none]
    assert len(run("list", "--without-name", "de", "--limit", "1").lines) == 1
    assert len(run("list", "--without-name", "und").lines) == 3
    run("fixate", one)
    run("deprecate", one, "--reason", "x")
    assert [line.split("\t")[0] for line in run("list", "--without-name", "de", "--deprecated").lines] == [
        one
    ]
    assert run("list", "--without-name", "de", by="bob").line.startswith(one)
    run("list", "--without-name", "german", code=3)


def test_names_in_a_language(run: Run, mint: Minting) -> None:
    iri = mint("--name", "valve", "--lang", "en")
    other = mint("--name", "pump", "--lang", "en")
    run("name", iri, "Ventil", "--lang", "de")
    shown = {line.split("\t")[0]: line.split("\t")[-1] for line in run("list", "--lang", "de").lines}
    assert shown == {iri: "Ventil", other: "pump"}


def test_counts_by_month_party_and_namespace(run: Run, mint: Minting) -> None:
    first = mint()
    mint(by="bob")
    run("register", "h", "x")
    run("fixate", first)
    month = run("show", first, "--json").object["created"][:7]
    assert run("stats", "--by", "party").lines == ["alice\t2", "bob\t1"]
    assert run("stats", "--by", "namespace").lines == ["h\t1", "rdl\t2"]
    assert run("stats", "--by", "month").lines == [f"{month}\t3"]
    assert run("stats", "--by", "party", by="carol").lines == ["alice\t1"]  # what carol may see
    assert run("stats", "--by", "party", "--json").objects[0] == {"party": "alice", "count": 2}
    run("stats", "--by", "party", "--days", code=2)
    run("stats", "--by", "year", code=2)


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("more", [("--dry-run",), ()])
def test_a_character_that_is_not_seen_is_told(run: Run, tmp_path: Path, more: tuple[str, ...]) -> None:
    run("namespace", "add", "hidden", "20.500.55", "--scheme", "handle")
    (tmp_path / "list.txt").write_text("20.500.55/a\u200b\n20.500.55/b\n", encoding="utf-8")
    told = run("import", tmp_path / "list.txt", *more).err
    assert "line 1: U+200B in its label is an invisible character" in told
    assert "line 2" not in told


def test_a_batch_file_is_no_list(run: Run, tmp_path: Path) -> None:
    """Else its lines would be identifiers for ever."""
    run("namespace", "add", "hdl", "10.1000", "--scheme", "handle")
    batch = tmp_path / "batch.txt"
    batch.write_text("CREATE 10.1000/z1\n1 URL 86400 1110 UTF8 http://x.example.org/\n")
    told = run("import", batch, "--namespace", "hdl", code=3)
    assert "it is a line of a handle batch file" in told.out
    assert run("list").lines == []
    run("import", batch, "--namespace", "hdl", "--format", "handle-batch")
    assert run("list").line.startswith("https://hdl.handle.net/10.1000/z1")
