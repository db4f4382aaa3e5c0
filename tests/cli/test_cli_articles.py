"""Articles and storage on the command line: replacing, loading, placing."""

import json
from pathlib import Path

import pytest
from command_lines import Run

UNICORN = {
    "issn": "0392-1921",
    "volume": "30",
    "issue": "119",
    "page": "1-23",
    "title": "The Myth of the Unicorn",
    "doi": "10.5555/x",
}
IRI = "http://journals.example.org/03921921/v30i0119/1_tmotu"
GB = 10**9

pytestmark = pytest.mark.usefixtures("rdl")


@pytest.fixture
def unicorn(run: Run, tmp_path: Path) -> Path:
    file = tmp_path / "unicorn.json"
    file.write_text(json.dumps(UNICORN))
    assert run("mint", "sp", "--metadata", file).line == IRI
    return file


def test_replace_prints_the_old_copy(run: Run, unicorn: Path) -> None:
    assert run("replace", IRI, "--metadata", unicorn).line == f"{IRI}_old1"
    made = run("replace", "/03921921/v30i0119/1_tmotu", "--metadata", unicorn, "--json").object
    assert (made["id"], made["deprecated"], made["supersededBy"]) == (f"{IRI}_old2", True, [IRI])


def test_replace_lists_what_stays_and_what_moves(run: Run, unicorn: Path) -> None:
    run("target", IRI, "http://example.org/old.pdf")
    run("bind", IRI, "http://example.org/review", "--note", "good")
    file = run("mint", "sp", "--parent", IRI, "--kind", "pdf").line
    outcome = run("replace", IRI, "--metadata", unicorn)
    assert f"stays with {IRI}: skos:exactMatch http://example.org/review (by alice)" in outcome.err
    assert f"moved to {IRI}_old1: {file}" in outcome.err
    asked = run("resolve", IRI)
    assert asked.lines == [IRI, f"{IRI}_old1"]
    assert "these are both copies; ask its owner alice to set one (idstore target)" in asked.err
    assert run("resolve", IRI, "--json").object["copies"] == [
        {"id": IRI, "target": None},
        {"id": f"{IRI}_old1", "target": "http://example.org/old.pdf"},
    ]
    again = run("replace", IRI, "--metadata", unicorn, "--target", "http://example.org/old.pdf", "--json")
    assert (again.object["moved"], len(again.object["staying"])) == ([], 1)
    assert f"http://example.org/old.pdf: {IRI}_old1 already leads there" in again.err
    assert run("resolve", IRI).line == "http://example.org/old.pdf"


def test_replacements_that_are_refused(run: Run, unicorn: Path, tmp_path: Path) -> None:
    assert (
        "describe another article"
        in run(
            "replace", IRI, "--metadata", "-", stdin=json.dumps({**UNICORN, "volume": "2", "doi": ""}), code=3
        ).err
    )
    run("replace", IRI, "--metadata", unicorn, by="bob", code=4)
    run("fixate", IRI)
    run("replace", IRI, "--metadata", unicorn, by="bob", code=7)
    run("replace", f"{IRI}_1", "--metadata", unicorn, code=4)
    run("replace", IRI, "--metadata", tmp_path / "none", code=3)
    assert run("replace", IRI, "--metadata", unicorn).line == f"{IRI}_old1"
    assert run("show", f"{IRI}_old1", "--json", by="bob").object["stage"] == "fixated"


def test_a_second_load_reports_existing_articles(run: Run, unicorn: Path) -> None:
    assert run("mint", "sp", "--metadata", unicorn).line == IRI
    other = {**UNICORN, "doi": "10.5555/y", "issn": "0392-1921, 1467-7695"}
    outcome = run("mint", "sp", "--metadata", "-", stdin="\n".join(map(json.dumps, (UNICORN, other, other))))
    assert outcome.lines == [IRI, f"{IRI}_1", f"{IRI}_1"]
    warning, last = outcome.err.splitlines()
    assert warning.startswith("idstore: warning: ") and "the ISSNs 0392-1921, 1467-7695" in warning
    assert last == "idstore: 1 minted, 2 known by their DOI or key, 0 refused; what is minted is kept"


ISSN, NUMBERED, TITLE = "0392-1921", ("Vol. 3", "No. 4", "pp. 12-15"), "The Myth of the Unicorn"
FORMATS = {
    "own": '{{"issn": "{}", "volume": "{}", "issue": "{}", "page": "{}", "title": "{}"}}',
    "csl": '{{"ISSN": "{}", "volume": "{}", "issue": "{}", "page": "{}", "title": "{}"}}',
    "crossref": '{{"message": {{"ISSN": ["{}"], "volume": "{}", "issue": "{}",'
    ' "page": "{}", "title": ["{}"]}}}}',
    "bibtex": "@article{{u, issn={{{}}}, volume={{{}}}, number={{{}}}, pages={{{}}}, title={{{}}}}}",
    "jats": "<article><front><journal-meta><issn>{}</issn></journal-meta><article-meta>"
    "<volume>{}</volume><issue>{}</issue><fpage>{}</fpage>"
    "<title-group><article-title>{}</article-title></title-group></article-meta></front></article>",
}


@pytest.mark.parametrize("format", FORMATS)
def test_numbers_are_found_in_every_format(run: Run, format: str) -> None:
    def derived(*numbers: str, code: int = 0) -> tuple[str, str]:
        text = FORMATS[format].format(ISSN, *numbers, TITLE)
        outcome = run("derive", "sp", "--metadata", "-", "--strict", stdin=text, code=code)
        return outcome.line.removeprefix("http://journals.example.org/03921921/"), outcome.err

    assert derived(*NUMBERED) == ("v03i0004/12_tmotu", "")
    assert derived("n/a", "N/A", "n/a-n/a") == ("vnoneicomplete/nfp_tmotu", "")
    for missing in ("n.a.", "N.A.", "n. a."):
        assert derived(missing, missing, missing) == ("vnoneicomplete/nfp_tmotu", "")
    line, refusal = derived("3", "Spring", "12", code=3)
    assert (line, "the issue 'Spring' is not a number" in refusal) == ("", True)


ARTICLE_NUMBERS = {
    "csl": ('"page": "{}"', '"article-number": "e1001", "page": ""'),
    "crossref": ('"page": "{}"', '"article-number": "e1001"'),
    "bibtex": ("pages={{{}}}", "eid={{e1001}}"),
    "jats": ("<fpage>{}</fpage>", "<elocation-id>e1001</elocation-id>"),
    "ris": ("SP  - {}", "C7  - e1001"),
}
RIS = "TY  - JOUR\nSN  - {}\nVL  - {}\nIS  - {}\nSP  - {}\nTI  - {}\nER  - \n"


@pytest.mark.parametrize("format", ARTICLE_NUMBERS)
def test_an_article_number_is_no_page_and_told(run: Run, format: str) -> None:
    paged = {**FORMATS, "ris": RIS}[format]
    page, number = ARTICLE_NUMBERS[format]
    numbered = paged.replace(page, number).format(ISSN, "3", "4", TITLE)
    kept = run("derive", "sp", "--metadata", "-", stdin=numbered)
    assert kept.line.endswith("/03921921/v03i0004/nfp_tmotu")
    assert "the article number (e1001) is no page, and not used" in kept.err
    run("derive", "sp", "--metadata", "-", "--strict", stdin=numbered, code=3)
    plain = paged.format(ISSN, "3", "4", "e1001", TITLE)
    assert run("derive", "sp", "--metadata", "-", "--strict", stdin=plain).line.endswith("/e1001_tmotu")


def test_numbers_of_json_in_several_writings_give_one_identifier(run: Run) -> None:
    article = json.dumps({"issn": ISSN, "volume": "V", "issue": "I", "page": "P", "title": TITLE})
    rows = ("12", "4", "5"), ("12.0", "4.0", "5.0"), ('"012"', '"0004"', '"5.0"'), ('"12.0"', '"4"', "5")
    texts = [
        article.replace('"V"', volume).replace('"I"', issue).replace('"P"', page)
        for volume, issue, page in rows
    ]
    answer = run("derive", "sp", "--metadata", "-", "--strict", stdin="\n".join(texts))
    assert answer.lines == ["http://journals.example.org/03921921/v12i0004/5_tmotu"] * len(rows)


def test_a_page_with_a_zero_in_front_is_kept_with_a_warning(run: Run) -> None:
    article = json.dumps({**UNICORN, "page": "0012"})
    kept = run("derive", "sp", "--metadata", "-", stdin=article)
    assert kept.line == IRI.replace("/1_", "/0012_") and "the page '0012' begins with 0" in kept.err
    refused = run("derive", "sp", "--metadata", "-", "--strict", stdin=article, code=3)
    assert "the page '0012' begins with 0, which is kept" in refused.err


def test_strict_minting_refuses_what_is_else_kept_with_a_warning(run: Run) -> None:
    odd = json.dumps({**UNICORN, "issue": "Suppl. 1"})
    words = ("mint", "sp", "--metadata", "-")
    refused = run(*words, "--strict", stdin=f"{odd}\n{json.dumps(UNICORN)}", code=3)
    assert refused.lines == ["", IRI]
    assert "line 1: the issue 'Suppl. 1' is not a number; it is written 'suppl.-1'; correct" in refused.err
    kept = run(*words, stdin=json.dumps({**UNICORN, "issue": "Suppl. 1", "doi": ""}))
    assert kept.line == IRI.replace("i0119", "isuppl.-1")
    assert f"warning: {kept.line}: the issue 'Suppl. 1' is not a number" in kept.err
    run("mint", "rdl", "--strict", code=2)


def test_unknown_keys_are_reported_once(run: Run, unicorn: Path) -> None:
    more = json.dumps({**json.loads(unicorn.read_text()), "journal": "Diogenes", "year": 2010})
    told = (
        "idstore: warning: unknown keys, ignored: journal, year; the keys are issn, volume, issue, page,"
        " title, subtitle, doi, key, type\n"
    )
    assert run("derive", "sp", "--metadata", "-", stdin=more).err == told
    assert run("replace", IRI, "--metadata", "-", stdin=more).err == told
    for text in (more, f"{more}\n{more}"):
        assert run("mint", "sp", "--metadata", "-", stdin=text).err.count(told) == 1
    short = json.dumps({"issn": "1234-5679", "title": "A Study", "vol": 12, "number": 3, "pages": "15-19"})
    for words in (("mint", "sp"), ("derive", "sp"), ("replace", IRI)):
        assert "is not known; write '" in run(*words, "--metadata", "-", stdin=short, code=3).err


def test_options_without_effect_on_an_existing_article_are_reported(run: Run, unicorn: Path) -> None:
    known = "idstore: known by its DOI or key; nothing was minted"
    assert run("mint", "sp", "--metadata", unicorn).err == f"{known}\n"
    given = ("--name", "The Myth", "--lang", "en", "--comment", "look", "--target", "http://example.org/")
    outcome = run("mint", "sp", "--metadata", unicorn, *given)
    warning, said = outcome.err.replace(
        f"idstore: warning: http://example.org/: {IRI} already leads there\n", ""
    ).splitlines()
    assert (outcome.line, said) == (IRI, known)
    options = (
        "--name, --comment, --target; set it with `idstore name` or `idstore comment` or `idstore target`"
    )
    assert (
        warning == f"idstore: warning: not applied, because existing identifiers stay as they are: {options}"
    )
    assert run("show", IRI, "--json").object["names"] == {"und": "The Myth of the Unicorn"}
    several = run("mint", "sp", "--metadata", "-", "--name", "A", stdin=f"{json.dumps(UNICORN)}\n" * 2)
    assert "--name (2 times); set it with `idstore name`" in several.err
    assert "not applied" in run("mint", "sp", "--metadata", unicorn, "--name", "The Myth").err
    run("target", IRI, "https://doi.org/10.5072/ABC")
    assert "not applied" not in run("mint", "sp", "--metadata", unicorn, "--target", "doi:10.5072/abc").err


def test_comments_are_part_of_every_printed_record(run: Run, unicorn: Path) -> None:
    """An empty list would state that there are no comments."""
    run("comment", IRI, "seen")
    fresh = json.dumps({**UNICORN, "doi": "10.5555/y"})
    made = run(
        "mint", "sp", "--metadata", "-", "--comment", "new", "--json", stdin=f"{json.dumps(UNICORN)}\n{fresh}"
    ).objects
    assert [[one["text"] for one in article["comments"]] for article in made] == [["seen"], ["new"]]
    assert [one["text"] for one in run("mint", "sp", "--metadata", unicorn, "--json").object["comments"]] == [
        "seen"
    ]
    old = run("replace", IRI, "--metadata", unicorn, "--json").object
    assert old["comments"] == run("show", old["id"], "--json").object["comments"]


def test_options_that_an_existing_article_already_has_are_not_reported(run: Run) -> None:
    given = (
        "mint",
        "sp",
        "--metadata",
        "-",
        "--name",
        "A",
        "--lang",
        "EN",
        "--comment",
        "look",
        "--target",
        "http://example.org/",
    )
    first = run(*given, stdin=json.dumps(UNICORN))
    again = run(*given, stdin=json.dumps(UNICORN))
    assert (first.err, again.line) == ("", first.line) and "not applied" not in again.err


def test_a_key_in_the_metadata(run: Run) -> None:
    keyed = json.dumps({**UNICORN, "doi": "", "key": "a"})
    assert (
        run("mint", "sp", "--metadata", "-", stdin=keyed).line
        == run("mint", "sp", "--metadata", "-", stdin=keyed).line
    )
    changed = json.dumps({**UNICORN, "doi": "", "key": "a", "volume": "31"})
    assert "another metadata" in run("mint", "sp", "--metadata", "-", stdin=changed, code=8).err
    outcome = run("mint", "sp", "--metadata", "-", stdin=f"{keyed}\n{changed}\n", code=3)
    assert outcome.lines == [IRI, ""] and "line 2: request key 'a' was used" in outcome.err
    assert (
        "several"
        in run(
            "mint", "sp", "--metadata", "-", "--request-key", "k", stdin=f"{keyed}\n{changed}\n", code=2
        ).err
    )


def test_many_in_json(run: Run) -> None:
    lines = "\n".join(json.dumps({**UNICORN, "doi": f"10.5555/{number}"}) for number in range(3))
    found = run("mint", "sp", "--metadata", "-", "--json", "--name", "unicorn", stdin=lines).objects
    assert [one["id"] for one in found] == [IRI, f"{IRI}_1", f"{IRI}_2"]
    assert {one["names"]["und"] for one in found} == {"unicorn"}


def test_a_taken_doi_reveals_nothing_else(run: Run, unicorn: Path) -> None:
    assert unicorn.exists()
    error = run("mint", "sp", "--metadata", "-", stdin=json.dumps(UNICORN), by="bob", code=8).err
    assert "10.5555/x is taken in sp" in error and IRI not in error and "alice" not in error


def test_an_identifier_below_an_article_shows_the_article(run: Run, unicorn: Path) -> None:
    assert unicorn.exists()
    below = run("mint", "sp", "--parent", IRI, "--kind", "xml", "--json").object
    assert (below["below"], below["kind"]) == (IRI, "xml")
    assert f"  xml          part of article {IRI}" in run("show", below["id"]).lines
    run("mint", "sp", "--parent", IRI, "--kind", "xml", by="bob", code=4)
    run("fixate", below["id"], code=8)


def test_storage_on_the_command_line(run: Run) -> None:
    assert run("storage", "list").out == ""
    run("storage", "add", "ejournals", "--path", "/mnt/pillar", by="bob", code=7)
    added = run(
        "storage",
        "add",
        "ejournals",
        "--path",
        "/mnt/pillar",
        "--directory-limit",
        "1 GiB",
        "--file-system-limit",
        "2GiB",
        "--json",
    ).object
    assert (added["directoryLimit"], added["fileSystemLimit"], added["path"]) == (
        2**30,
        2**31,
        "/mnt/pillar/",
    )
    place = ("storage", "place", "--collection", "ejournals", "--publisher", "wiley", "--size")
    first = run(*place, "1GiB", "--delivery", "k", "--json").object
    assert first == {
        "path": "/mnt/pillar/ejournals1/wiley1/",
        "fileSystem": "/mnt/pillar/ejournals1/",
        "publisher": "wiley",
        "newFileSystem": True,
        "newDirectory": True,
        "readOnly": None,
        "again": False,
    }
    assert run(*place, "1GiB", "--delivery", "k", "--json").object["again"]
    assert run(*place, "2GiB", "--delivery", "k", code=8).err.startswith(
        "idstore: the delivery 'k' was placed as"
    )
    assert run(*place, "1KiB", "--dry-run").line == "/mnt/pillar/ejournals1/wiley2/"
    for words, code in ((("2GiB",), 3), (("much",), 2), (("1", "--delivery", " "), 3)):
        run(*place, *words, code=code)
    run("storage", "place", "--collection", "books", "--publisher", "wiley", "--size", "1", code=4)
    run(*place, "1", by="bob", code=7)
    assert run("storage", "allow", "ejournals", "bob", "--json").object["placers"] == ["bob"]
    assert run(*place, "1", by="bob").line == "/mnt/pillar/ejournals1/wiley2/"
    listed = run("storage", "list", "ejournals", "--json", by="carol").object
    assert [one["size"] for one in listed["directories"]] == [2**30, 1]
    run("storage", "list", "books", code=4)
    assert [line.split("\t")[2] for line in run("log").lines][-4:] == [
        "StorageAddition",
        "Placement",
        "StorageAllowance",
        "Placement",
    ]
    assert run("verify").line == "sound"
