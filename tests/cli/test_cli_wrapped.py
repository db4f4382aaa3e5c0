"""Identifiers, addresses and cells with something round them: white space, quotes, words, invisible signs."""

import json
import os
from pathlib import Path

import pytest
from command_lines import Run

HOME = "https://hdl.handle.net/10.5072/"
TARGET = "https://example.org/a"

pytestmark = pytest.mark.usefixtures("rdl")


@pytest.fixture
def doi(run: Run) -> str:
    run("namespace", "add", "doi", "10.5072", "--scheme", "handle")
    return "doi"


@pytest.mark.parametrize("space", [" ", "\t", "\u00a0", "\u2003", "\u3000", " \n"])
def test_white_space_around_an_identifier_counts_for_nothing(run: Run, doi: str, space: str) -> None:
    assert run("register", doi, f"{space}10.5072/a5{space}").line == f"{HOME}a5"
    for text in ("10.5072/a5", f"{HOME}a5", "doi:10.5072/a5", "doi:a5"):
        assert run("show", f"{space}{text}{space}", "--json").object["id"] == f"{HOME}a5"
    run("fixate", "-", stdin=f"{space}10.5072/a5{space}".rstrip("\n"))
    run("target", "10.5072/a5", f"{space}{TARGET}{space}")
    assert run("resolve", f"{space}10.5072/a5").line == TARGET
    assert run("list", "--bound-to", f"{TARGET}{space}").lines


@pytest.mark.parametrize(
    "label",
    [
        "10.5072/10.5072/a",
        f"{HOME}10.5072/a",
        "10.5072/doi:10.5072/a",
        "urn:doi:10.5072/a",
        "<https://doi.org/10.5072/a>",
        "(10.5072/a)",
        "[10.5072/a]",
        '"c1"',
        "'c1'",
        "\u201cc1\u201d",
        "<c1>",
        "URL: https://doi.org/10.5072/a",
        "DOI 10.5072/a",
        "(DOI: 10.5072/a)",
        "`10.5072/a`",
        "`c1`",
        "{c1}",
        "\u203910.5072/a\u203a",
        "\u300c10.5072/a\u300d",
        "\uff0810.5072/a\uff09",
        "[x](https://doi.org/10.5072/a)",
        "[10.5072/a](https://doi.org/10.5072/a)",
        r"\url{https://doi.org/10.5072/a}",
        r"\href{https://doi.org/10.5072/a}{a}",
        "*10.5072/a*",
        '""10.5072/a""',
        "''10.5072/a''",
        '\u201c10.5072/a"',
        "<10.5072/a",
        "10.5072/a>",
        "&lt;10.5072/a&gt;",
        "10.5072/ a",
        "doi:10.5072/\u00a0a",
        "https://hdl.handle.net/10.5072/a%20",
        "10.5072/a [doi]",
        "10.5072/a (DOI)",
        "a [hdl]",
        "/10.5072/a",
        "//10.5072/a",
        "10.5072 / a",
        "10.5072 /a",
        r"10.5072\a",
        "10.5072\uff0fa",
        "\uff11\uff10.\uff15\uff10\uff17\uff12/a",
        "10.5072\u2044a",
        "10.5072/a</a>",
        "<b>10.5072/a</b>",
        '<a href="https://doi.org/10.5072/a">10.5072/a</a>',
        "a<br>",
        '=HYPERLINK("https://doi.org/10.5072/a";"a")',
        '=hyperlink("10.5072/a")',
        "=CONCAT(A1,B1)",
        "=A1",
        "#N/A",
        "#REF!",
        "10.5072/#N/A",
    ],
)
def test_a_label_with_something_around_it_is_refused_unless_insisted(run: Run, doi: str, label: str) -> None:
    run("register", doi, label, code=3)
    assert run("list", "--namespace", doi).out == ""


@pytest.mark.parametrize("label", ["10.5072/10.5072/a", '"c1"', "(10.5072/a)"])
def test_who_insists_gets_the_label_and_the_log_says_so(run: Run, doi: str, label: str) -> None:
    told = run("register", doi, label, code=3).err
    assert "write that, or insist (at position 0) (--force)" in told
    iri = run("register", doi, label, "--force").line
    assert iri.startswith(HOME)
    [event] = run("log", "--id", iri, "--json").objects
    assert event["forced"] is True
    plain = run("register", doi, "plain", "--force").line
    assert "forced" not in run("log", "--id", plain, "--json").object


@pytest.mark.parametrize(
    "label",
    [
        "(SICI)1096-8644(199601)99:1",
        "(SICI)1096-8644(199601)99:1<1::AID-AJPA1>3.0.CO;2-1",
        "a(b)",
        "it's",
        '12"',
        "doing well",
        "(a)b",
        "a (second draft)",
        "/a",
        "a / b",
        r"a\b",
        "=a",
        "=",
        "#a",
        "a=A1",
    ],
)
def test_labels_with_such_characters_stay_possible(run: Run, doi: str, label: str) -> None:
    run("register", doi, label)


@pytest.mark.parametrize(
    ("label", "told"),
    [
        *((f"a{sign}", f"its label ends in '{sign}'") for sign in ".,;:!?"),
        ("nan", "its label is 'nan', as tables write a missing value"),
        ("NULL", "its label is 'NULL'"),
        ("a.b", ""),
    ],
)
def test_a_label_that_may_be_none_is_told(run: Run, doi: str, label: str, told: str, tmp_path: Path) -> None:
    errors = run("register", doi, label).err
    assert (told in errors) if told else errors == ""
    run("namespace", "add", "other", "10.5073", "--scheme", "handle")
    (tmp_path / "list.txt").write_text(f"10.5073/{label}\n")
    assert told in run("import", tmp_path / "list.txt").err
    run("namespace", "add", "third", "10.5074", "--scheme", "handle")
    (tmp_path / "new.tsv").write_text(f"label\tname\n{label}\tN\n")
    assert told in run("register", "third", "--from", tmp_path / "new.tsv").err


def test_a_missing_name_is_told_by_line(run: Run, doi: str, tmp_path: Path) -> None:
    told = "line 3: its name is 'nan', as tables write a missing value"
    (tmp_path / "list.csv").write_text("id,name\na,None of it\nb,nan\n")
    errors = run("import", tmp_path / "list.csv", "--namespace", doi).err
    assert told in errors and "line 2" not in errors
    (tmp_path / "new.csv").write_text("label,name\nc,None of it\nd,nan\n")
    errors = run("register", doi, "--from", tmp_path / "new.csv").err
    assert told in errors and "line 2" not in errors


def test_an_import_keeps_such_a_label_with_a_warning(run: Run, doi: str, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("10.5072/10.5072/a\n10.5072/b\n")
    told = run("import", tmp_path / "list.txt", "--namespace", doi).err
    assert f"line 1: it looks like {HOME}a with something before or around it" in told
    assert "line 2" not in told
    assert run("show", f"{HOME}10.5072/a", "--json").object["label"] == "10.5072/a"


@pytest.mark.parametrize("command", ["target", "bind"])
def test_invisible_characters_around_an_address_are_left_out(run: Run, doi: str, command: str) -> None:
    iri = run("register", doi, "a").line
    told = run(command, iri, f"\u200b{TARGET}\u2060").err
    assert "\\u200bhttps://example.org/a\\u2060 has invisible characters around it" in told
    shown = run("show", iri, "--json").object
    assert TARGET in (shown.get("target"), *(one["target"] for one in shown["bindings"]))


@pytest.mark.parametrize("sign", ["\u200b", "\u2060", "\ufeff", "\u00ad"])
def test_invisible_characters_in_an_address_are_refused_unless_insisted(
    run: Run, doi: str, sign: str
) -> None:
    iri, address = run("register", doi, "a").line, f"https://example.org/a{sign}b"
    for command in ("target", "bind"):
        told = run(command, iri, address, code=3).err
        assert f"U+{ord(sign):04X}" in told and "(--force)" in told
        run(command, iri, address, "--force")
        assert run("log", "--id", iri, "--json").objects[-1]["forced"] is True


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("\u201d", "it ends in '\u201d'"),
        ("&gt;", "it ends in '&gt;'"),
        (")", "it ends in ')', which it does not open"),
        (",", "it ends in ','"),
        (";http://example.org/b", "it holds a second address after ';'"),
    ],
)
@pytest.mark.parametrize("command", ["target", "bind"])
def test_an_address_with_something_behind_it_is_refused(
    run: Run, doi: str, command: str, after: str, reason: str, tmp_path: Path
) -> None:
    iri = run("register", doi, "a").line
    assert reason in run(command, iri, TARGET + after, code=3).err
    (tmp_path / "t.tsv").write_text(f"subject_id\tobject_id\n{iri}\t{TARGET}{after}\n")
    assert reason in run("import", tmp_path / "t.tsv", code=3).out


@pytest.mark.parametrize("wrong", ["https://orcid.org/0000-0002-1825-0098", "orcid:0000-0002-1825-009X"])
def test_an_orcid_id_as_an_address_is_checked(run: Run, doi: str, wrong: str) -> None:
    iri = run("register", doi, "a").line
    for command in ("bind", "target"):
        assert "is no ORCID iD" in run(command, iri, wrong, code=3).err
    run("bind", iri, "https://orcid.org/0000-0002-1825-0097")


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("'k1", "its label begins or ends with"),
        ('k2"', "its label begins or ends with"),
        ("[k3]", "its label is in brackets"),
        ("10.5072/k4)", "which it does not open"),
        ("10.5072/k5 10.5072/k6", "its label holds a second identifier"),
        ("10.5072/k7,10.5072/k8", "its label holds a second identifier"),
        ("k9 (new)", "its label has a space"),
        ("2024-03-04T00:00:00", "its label is a moment"),
        ("True", "its label is a truth value"),
        ("k10%20", "its label has '%20'"),
    ],
)
def test_a_label_with_a_remark_is_told(run: Run, doi: str, label: str, told: str, tmp_path: Path) -> None:
    assert told in run("register", doi, label).err
    run("namespace", "add", "other", "10.5073", "--scheme", "handle")
    (tmp_path / "k.csv").write_text(
        f'id,name\n"{label.replace("10.5072", "10.5073").replace(chr(34), chr(34) * 2)}",x\n'
    )
    assert told in run("import", tmp_path / "k.csv", "--namespace", "other").err


@pytest.mark.parametrize("label", ["'10.5072/k1", "* 10.5072/k2", "1. 10.5072/k3", '="v7"'])
def test_an_identifier_with_a_mark_before_it_is_refused(run: Run, doi: str, label: str) -> None:
    assert "something before or around it" in run("register", doi, label, code=3).err
    assert run("list").lines == []


def test_who_insists_gets_such_an_address(run: Run, doi: str) -> None:
    iri = run("register", doi, "a").line
    run("bind", iri, f"{TARGET})", "--force")
    assert run("show", iri, "--json").object["bindings"][0]["target"] == f"{TARGET})"
    run("unbind", iri, f"{TARGET})")


@pytest.mark.parametrize(
    "address",
    [
        "https://en.wikipedia.org/wiki/Turtle_(syntax)",
        "https://web.archive.org/web/2020/http://example.org/a",
        "https://example.org/?same=http://example.org/a,http://example.org/b",
        "urn:example:a)",
    ],
)
def test_addresses_with_such_signs_stay_possible(run: Run, doi: str, address: str) -> None:
    iri = run("register", doi, "a").line
    assert run("target", iri, address).err == run("bind", iri, address).err == ""


def test_an_address_that_ends_as_a_sentence_is_told(run: Run, doi: str, tmp_path: Path) -> None:
    iri = run("register", doi, "a").line
    address = "https://en.wikipedia.org/wiki/Washington,_D.C."
    told = f"{address} ends in '.', as a sentence does"
    assert told in run("target", iri, address).err
    (tmp_path / "t.tsv").write_text(f"subject_id\tobject_id\n{iri}\t{address}\n")
    assert f"line 2: {told}" in run("import", tmp_path / "t.tsv").err


@pytest.mark.parametrize("sign", ["\u200c", "\u200d"])
def test_joiners_of_letters_are_kept_in_an_address(run: Run, doi: str, sign: str) -> None:
    iri = run("register", doi, "a").line
    run("target", iri, f"https://example.org/a{sign}b")
    assert run("show", iri, "--json").object["target"] == f"https://example.org/a{sign}b"


@pytest.mark.parametrize("query", ["utm_source=mail", "utm_a=1&utm_b=2", "gclid=1&fbclid=2", "UTM_x=1#top"])
def test_a_query_of_tracking_is_no_part_of_a_doi(run: Run, doi: str, query: str) -> None:
    iri = run("register", doi, "a").line
    query = query.partition("#")[0]
    for host in ("https://doi.org", "http://dx.doi.org", "https://hdl.handle.net"):
        assert run("show", f"{host}/10.5072/a?{query}", "--json").object["id"] == iri
    run("show", "https://doi.org/10.5072/a?b=1", code=3)


RESULTS = ["=CONCAT(A1;B1)", "=A1", "#N/A", "#REF!", '=HYPERLINK("https://example.org")']


@pytest.mark.parametrize("cell", RESULTS)
def test_formulas_and_errors_are_refused_unless_insisted(
    run: Run, doi: str, cell: str, tmp_path: Path
) -> None:
    for table in (f"id\tname\n{cell}\tN\n", f"id\tname\na\t{cell}\n"):
        (tmp_path / "t.tsv").write_text(table, encoding="utf-8")
        told = run("import", tmp_path / "t.tsv", "--namespace", doi, code=3).out
        assert "line 2\tmalformed" in told and "of a spreadsheet; write " in told
        assert run("list").out == ""
    run("import", tmp_path / "t.tsv", "--namespace", doi, "--force")


CELLS = ['"c1"', '="c1"', "'c1'", "\u201cc1\u201d", "\u00abc1\u00bb"]


@pytest.mark.parametrize("cell", CELLS)
def test_cells_in_quotes_are_refused_unless_insisted(run: Run, doi: str, cell: str, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(f"id\tname\nc0\tN\n{cell}\tM\n", encoding="utf-8")
    command = ("import", tmp_path / "t.tsv", "--namespace", doi)
    told = run(*command, code=3).out
    assert "line 3\tmalformed" in told and "write c1, or insist" in told
    run(*command, "--force")
    (tmp_path / "n.tsv").write_text(f"id\tname\nc5\t{cell}\n", encoding="utf-8")
    run("import", tmp_path / "n.tsv", "--namespace", doi, code=3)


def test_labels_whose_letters_are_composed_differently_are_told(run: Run, doi: str) -> None:
    first = run("register", doi, "caf\u00e9").line
    told = run("register", doi, "cafe\u0301").err
    assert f"{first} looks the same" in told
    run("register", doi, "th\u00e9", by="bob")
    assert "looks the same" not in run("register", doi, "the\u0301", by="carol").err


# people


@pytest.mark.parametrize(
    "author",
    [
        "https://orcid.org/0000-0002-1825-0097",
        "http://orcid.org/0000-0002-1825-0097",
        "orcid:0000-0002-1825-0097",
        "0000-0002-1825-0097",
        "https://orcid.org/0000-0002-1694-233x",
    ],
)
def test_an_orcid_id_is_kept_in_its_https_form(run: Run, doi: str, author: str) -> None:
    iri = run("register", doi, "a").line
    run("bind", iri, TARGET, "--author", author)
    [binding] = run("show", iri, "--json").object["bindings"]
    assert binding["author"] == f"https://orcid.org/{author[-19:].upper()}"


@pytest.mark.parametrize(
    "author", ["https://orcid.org/0000-0002-1825-0098", "orcid:0000-0002-1825", "0000-0002-1825-0096"]
)
def test_a_wrong_orcid_id_is_refused_and_warned_of_in_tables(
    run: Run, doi: str, author: str, tmp_path: Path
) -> None:
    iri = run("register", doi, "a").line
    assert "is no ORCID iD" in run("bind", iri, TARGET, "--author", author, code=3).err
    (tmp_path / "t.tsv").write_text(f"subject_id\tobject_id\tauthor\n{iri}\t{TARGET}\t{author}\n")
    assert "line 2: " in (told := run("import", tmp_path / "t.tsv").err) and "is no ORCID iD" in told
    (tmp_path / "c.tsv").write_text(
        f"subject_id\tobject_id\tcreator_id\n{iri}\t{TARGET}/2\torcid:0000-0002-1825-0097|{author}\n"
        f"{iri}\t{TARGET}/3\torcid:0000-0002-1825-0097\n"
    )
    told = run("import", tmp_path / "c.tsv").err
    assert "line 2: " in told and told.count("is no ORCID iD") == 1


@pytest.mark.parametrize("slot", ["creator_id", "reviewer_id"])
def test_a_wrong_orcid_id_of_a_whole_table_is_told_once(
    run: Run, doi: str, slot: str, tmp_path: Path
) -> None:
    iri = run("register", doi, "a").line
    rows = "".join(f"{iri}\tskos:closeMatch\t{TARGET}/{number}\n" for number in range(3))
    (tmp_path / "t.sssom.tsv").write_text(
        f"# {slot}:\n#  - orcid:0000-0002-1825-0097\n#  - orcid:0000-0002-1825-0098\n"
        f"subject_id\tpredicate_id\tobject_id\n{rows}"
    )
    told = run("import", tmp_path / "t.sssom.tsv").err
    assert told.count("is no ORCID iD") == 1


def test_a_second_source_of_a_match_is_kept(run: Run, doi: str, tmp_path: Path) -> None:
    iri = run("register", doi, "a").line
    for _ in range(2):
        for author in ("Ada", "Bob"):
            run("bind", iri, TARGET, "--author", author)
    assert "bound it already" in run("bind", iri, TARGET).err
    assert [one["author"] for one in run("show", iri, "--json").object["bindings"]] == ["Ada", "Bob"]
    rows = [line for line in run("export", "--format", "sssom").lines if not line.startswith("#")]
    assert len(rows) == 3
    (tmp_path / "t.tsv").write_text(
        f"subject_id\tobject_id\tauthor\n{iri}\t{TARGET}\tCyd\n{iri}\t{TARGET}\tAda\n"
    )
    told = run("import", tmp_path / "t.tsv", "--dry-run").out
    assert [line.split("\t")[1] for line in told.splitlines()] == ["new", "known"]
    run("unbind", iri, TARGET)
    assert run("show", iri, "--json").object["bindings"] == []


# addresses that are probably one


@pytest.mark.parametrize(
    "other",
    [
        "http://example.org/a%7Eb",
        "https://EXAMPLE.org/a~b",
        "http://example.org:80/a~b",
    ],
)
def test_addresses_that_are_probably_one_are_a_hint(run: Run, other: str, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(
        f"subject\ttarget\nurn:x:1\thttps://example.org/a~b\nurn:y:1\t{other}\nurn:z:1\thttps://example.org/c\n"
    )
    [finding] = run("reconcile", tmp_path / "t.tsv", "--json", "--strict").objects
    assert finding["kind"] == "probably-same"
    assert {claim["target"] for claim in finding["claims"]} == {"https://example.org/a~b", other}


@pytest.mark.parametrize(
    "other",
    [
        "http://example.org/Caf%C3%A9?q=%c3%a9",
        "https://example.org/Caf\u00e9?q=\u00e9",
        "https://example.org/Cafe\u0301?q=\u00e9",
    ],
)
def test_letters_and_their_escapes_are_probably_one(run: Run, other: str, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(
        f"subject\ttarget\nurn:x:1\thttps://example.org/Caf\u00e9?q=%C3%A9\nurn:y:1\t{other}\n",
        encoding="utf-8",
    )
    [finding] = run("reconcile", tmp_path / "t.tsv", "--json", "--strict").objects
    assert finding["kind"] == "probably-same"


def test_the_two_addresses_of_a_wikidata_item_are_probably_one(run: Run, tmp_path: Path) -> None:
    page, entity = "https://www.wikidata.org/wiki/Q2192", "http://www.wikidata.org/entity/Q2192"
    (tmp_path / "t.tsv").write_text(f"subject\ttarget\nurn:x:1\t{page}\nurn:y:1\t{entity}\n")
    [finding] = run("reconcile", tmp_path / "t.tsv", "--json").objects
    assert finding["kind"] == "probably-same"


# names in several languages


@pytest.mark.parametrize("head", ["id\tname_de\tname@en", "id\tDeutsch\tEnglisch"])
def test_a_table_gives_names_in_several_languages(run: Run, doi: str, head: str, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(f"{head}\na\tHaus\thouse\nb\t\ttree\n")
    columns = ["--column", "name@de=Deutsch", "--column", "name@en=Englisch"] if "Deutsch" in head else []
    told = run("import", tmp_path / "t.tsv", "--namespace", doi, *columns).err
    assert "2 new" in told
    assert run("show", f"{HOME}a", "--json").object["names"] == {"de": "Haus", "en": "house"}
    assert "2 known" in run("import", tmp_path / "t.tsv", "--namespace", doi, *columns).err


def test_a_column_named_after_an_identifier_is_no_language(run: Run, doi: str, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("id\tname_id\tname_url\na\t17\thttps://example.org\n")
    told = run("import", tmp_path / "t.tsv", "--namespace", doi).err
    assert "passed over: name_id, name_url" in told
    run("import", tmp_path / "t.tsv", "--namespace", doi, "--column", "name@not a tag=name_id", code=3)


# files


@pytest.mark.parametrize(
    "name", ["x.json", "x.rdf", "x.ods", "x.xml", "x.jsonl", "x.trix", "x.rj", "x.hext", "x.md", "x.sql.gz"]
)
def test_a_suffix_of_a_format_that_is_not_written_is_refused(run: Run, name: str, tmp_path: Path) -> None:
    run("export", "-o", tmp_path / name, code=2)
    assert not (tmp_path / name).exists()
    run("export", "-o", tmp_path / name, "--format", "turtle")


@pytest.mark.parametrize(
    ("command", "refused", "taken"),
    [
        (("export", "--after", "0"), ("p.ttl", "p.nq", "p.json"), ("p.rdfp", "p", "p.txt")),
        (("export", "--description"), ("d.nt", "d.jsonld", "d.json"), ("d.ttl",)),
        (("shapes",), ("s.json", "s.rdf", "s.xlsx"), ("s.ttl", "s")),
        (
            ("reconcile", "store"),
            ("z.xlsx", "z.csv", "z.xml", "z.rdf", "z.pdf"),
            ("z.html", "z.txt", "z.json"),
        ),
        (("mint", "own", "--from", "t.csv"), ("t1.json", "t1.ttl", "t1.ods"), ("t1.tsv",)),
    ],
)
def test_an_ending_of_another_format_is_refused_by_every_command(
    run: Run, store: Path, tmp_path: Path, command: tuple[str, ...], refused: list[str], taken: list[str]
) -> None:
    (tmp_path / "t.csv").write_text("name\nvalve\n", encoding="utf-8")
    words = [{"store": store, "t.csv": tmp_path / "t.csv"}.get(word, word) for word in command]
    for name in refused:
        assert "stands for another format" in run(*words, "-o", tmp_path / name, code=2).err
        assert not (tmp_path / name).exists()
    assert run("list").out == ""
    for name in taken:
        run(*words, "-o", tmp_path / name)


def test_json_of_a_forced_event(run: Run, doi: str) -> None:
    iri = run("mint", doi, "--target", "wd9:Q42", "--force").line
    assert json.loads(run("log", "--id", iri, "--json").line)["forced"] is True


@pytest.mark.parametrize("format", ["table", "json", "html", "turtle"])
def test_a_file_name_that_is_not_utf8_is_shown(run: Run, format: str, tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/x\xff.tsv")
    Path(name).write_text("subject\ttarget\nurn:x:1\turn:a:1\nurn:x:1\turn:a:2\n")
    told = run("reconcile", name, "--format", format).out
    assert "x\\xff.tsv" in told.replace("\\\\", "\\")


@pytest.mark.parametrize(
    ("suffix", "content"), [("txt", "10.5072/a\n"), ("tsv", "id\ttarget\n10.5072/a\thttps://example.org\n")]
)
def test_a_list_whose_file_name_is_not_utf8_is_imported(
    run: Run, doi: str, suffix: str, content: str, tmp_path: Path
) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/x\xff." + suffix.encode())
    Path(name).write_text(content)
    assert "1 new" in run("import", name, "--namespace", doi).err
    assert f"x\\xff.{suffix}" in [event.get("note") for event in run("log", "--json").objects]


def test_the_counts_of_a_list_say_what_is_new_and_contradictory(run: Run, doi: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("id,name\na,N1\na,N2\nb,M\nb,M\n")
    told = run("import", tmp_path / "list.csv", "--namespace", doi).err
    assert "1 contradictory (1 of them new), 1 new; done" in told
    assert len(run("list").lines) == 2
