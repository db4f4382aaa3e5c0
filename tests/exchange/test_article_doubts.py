"""What a source of article metadata says and a label cannot tell: a warning, or a refusal with --strict.

A derived identifier is for ever, so nothing of that is passed over in silence.
"""

import io
import json
from pathlib import Path

import pytest
from command_lines import Run

from idstore.errors import InvalidData
from idstore.exchange import metadata
from idstore.exchange.articles import ArticleEntry
from idstore.schemes._articles import derive, doi

FIELDS = {"issn": "0036-3634", "volume": "12", "issue": "4", "page": "1", "title": "On Names"}
LABEL = "00363634/v12i0004/1_on"


def entries(text: str) -> list[ArticleEntry]:
    return [*metadata.entries(io.BytesIO(text.encode()))]


def jats(numbering: str, title: str = "On Names") -> str:
    return (
        '<article xmlns:mml="http://www.w3.org/1998/Math/MathML"><front><journal-meta><issn>0036-3634</issn>'
        f"</journal-meta><article-meta><title-group><article-title>{title}</article-title></title-group>"
        f"{numbering}<fpage>1</fpage></article-meta></front></article>"
    )


USUAL = "<volume>12</volume><issue>4</issue>"
DOIS = "".join(f'<article-id pub-id-type="doi">10.5072/{letter}</article-id>' for letter in "ab")


def test_the_usual_gives_no_doubt() -> None:
    usual = (
        jats(f"{USUAL}<issue-id>x</issue-id><volume-id>y</volume-id><issue-title>Names</issue-title>"),
        json.dumps(FIELDS),
        json.dumps({"ISSN": "0036-3634", "volume": "12", "title": "Costs of $5 and $6", "page": "1-2"}),
        "@article{a, issn = {0036-3634}, volume = 12, number = {4}, pages = {1--2},\n title = {On Names}\n}",
    )
    for text in usual:
        [entry] = entries(text)
        assert (entry.doubts, bool(entry.fields(strict=True))) == ((), True)


@pytest.mark.parametrize(
    ("numbering", "told"),
    [
        (f"{USUAL}<supplement>Proceedings</supplement>", "the element supplement (Proceedings) is not used"),
        (
            "<volume>12</volume><issue>4 suppl 2</issue><supplement>3</supplement>",
            "the element supplement (3) is not used",
        ),
        (
            f"{USUAL}<supplement>2</supplement><supplement>3</supplement>",
            "the element supplement (3) is not used",
        ),
        (f"{USUAL}<issue-part>B</issue-part>", "the element issue-part (B) is not used"),
        (f"{USUAL}<volume-series>3</volume-series>", "the element volume-series (3) is not used"),
        ("<volume>12</volume><issue>4</issue><issue>5</issue>", "of the elements issue (4, 5) the first"),
        ("<volume>12</volume><volume>13</volume><issue>4</issue>", "of the elements volume (12, 13) the"),
        (f"{USUAL}<fpage>5</fpage>", "of the elements fpage (5, 1) the first is used"),
        (f"{USUAL}<issue-title>Suppl 2</issue-title>", "the element issue-title (Suppl 2) is not used"),
        (
            DOIS + USUAL,
            "of the elements article-id (10.5072/a, 10.5072/b) the first is used",
        ),
    ],
)
def test_elements_of_jats_that_number_are_not_passed_over(numbering: str, told: str) -> None:
    [entry] = entries(jats(numbering))
    assert [told in doubt for doubt in entry.doubts] == [True]
    with pytest.raises(InvalidData, match="line 1"):
        entry.fields(strict=True)


@pytest.mark.parametrize(
    "text",
    [
        jats(USUAL, "On <inline-formula><mml:math><mml:mi>n</mml:mi></mml:math></inline-formula>"),
        jats(USUAL, "On <tex-math>n</tex-math>"),
        json.dumps({**FIELDS, "title": "On <mml:math><mml:mi>n</mml:mi></mml:math>"}),
        json.dumps({**FIELDS, "title": r"On $\alpha_1$ names"}),
        "@article{a,\n title = {On $n$ Names},\n issn = {0036-3634}\n}",
        "@article{a,\n title = {On \\ensuremath{n} Names},\n issn = {0036-3634}\n}",
        *(
            json.dumps({**FIELDS, "title": title})
            for title in (
                "On $x$ Things",
                r"\textit{Drosophila} wings",
                r"The \emph{E. coli} case",
                r"{\alpha} decay",
                r"\alpha-synuclein in mice",
            )
        ),
        json.dumps({**FIELDS, "subtitle": r"of $\alpha$"}),
        jats(USUAL, r"On $\alpha$ Things"),
        jats(
            USUAL, "On Names</article-title><subtitle>of <mml:math><mml:mi>n</mml:mi></mml:math></subtitle>"
        ).replace("</subtitle></article-title>", "</subtitle>"),
        "@article{a,\n title = {On Names},\n subtitle = {of $n$},\n issn = {0036-3634}\n}",
        "TY  - JOUR\nTI  - The $x$ case\nSN  - 0036-3634\nER  - \n",
    ],
)
def test_tex_or_a_formula_in_a_title_is_told_and_refused_if_strict(
    run: Run, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "a"
    file.write_text(text, encoding="utf-8")
    run("namespace", "add", "sp", "http://journals.example.org/", "--scheme", "scholars-portal")
    told = "the title has TeX or a formula, whose words differ from source to source"
    assert run("derive", "sp", "--metadata", file).err.count(told) == 1
    assert told in run("derive", "sp", "--metadata", file, "--strict", code=3).err


@pytest.mark.parametrize(
    "doi",
    [r"10.5072/a$_8$", r"10.5072/a$\_8$", r"10.5072/$a_8$", r"10.5072/a$\textunderscore$8", r"10.5072/a$8"],
)
def test_tex_that_is_not_understood_in_a_doi_is_refused(doi: str) -> None:
    """The article would get a second identifier."""
    [entry] = entries(f"@article{{a,\n doi = {{{doi}}},\n title = {{On Names}},\n issn = {{0036-3634}}\n}}")
    with pytest.raises(InvalidData, match="has TeX that is not known"):
        entry.fields()


@pytest.mark.parametrize(
    ("written", "same", "doubted"),
    [
        ("10.5072/b&lt;8&gt;", "10.5072/b<8>", True),
        ("https://doi.org/10.5072/b&lt;8&gt;", "10.5072/b<8>", True),
        ("10.5072/b&#60;8&#x3e;", "10.5072/b<8>", True),
        ("10.5072/b#8", "10.5072/b#8", False),
        ("10.5072/b&8", "10.5072/b&8", False),
    ],
)
def test_a_doi_in_html_is_that_doi(
    run: Run, tmp_path: Path, written: str, same: str, *, doubted: bool
) -> None:
    run("namespace", "add", "sp", "http://journals.example.org/", "--scheme", "scholars-portal")
    made = []
    for number, one in enumerate((same, written)):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps({**FIELDS, "doi": one}), encoding="utf-8")
        outcome = run("mint", "sp", "--metadata", file)
        made.append(outcome.line)
    assert made[0] == made[1]
    assert ("is written in HTML" in run("derive", "sp", "--metadata", file).err) == doubted


def test_a_doi_with_a_place_in_a_page_is_none(run: Run, tmp_path: Path) -> None:
    run("namespace", "add", "sp", "http://journals.example.org/", "--scheme", "scholars-portal")
    file = tmp_path / "a.json"
    file.write_text(json.dumps({**FIELDS, "doi": "https://doi.org/10.5072/a_8#abstract"}), encoding="utf-8")
    assert "which is no DOI" in run("mint", "sp", "--metadata", file).err
    assert "which is no DOI" in run("mint", "sp", "--metadata", file, "--strict", code=3).err


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("volume = {82}\n number = {3-4},", 2),
        ('volume = "82"\n number = {3-4},', 2),
        ("volume = 82\n number = {3-4},", 2),
        ("number = 4,\n volume = {82} {83},", 3),
    ],
)
def test_a_field_that_nothing_ends_is_malformed(field: str, line: int) -> None:
    [entry] = entries(f"@article{{a,\n {field}\n title = {{On Names}}\n}}")
    with pytest.raises(InvalidData, match=f"line {line}: the field .* comma"):
        entry.fields()


def test_crossref_takes_missing_fields_from_a_later_entry() -> None:
    text = """@article{a, crossref = {Vol}, title = {On Names}, pages = {1}}
@article{b, crossref = "vol", title = {More}, volume = {13}}
@article{c, title = {Alone}, volume = 7}
@periodical{vol, issn = {0036-3634}, volume = {12}, number = {4}, title = {Journal}, doi = {10.5072/j}}
@article{d, title = {After}}
"""
    found = [dict(entry.fields()) for entry in entries(text)]
    assert found == [
        FIELDS,
        {"issn": "0036-3634", "volume": "13", "issue": "4", "title": "More"},
        {"volume": "7", "title": "Alone"},
        {"title": "After"},
    ]


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("crossref = {none}", "no entry after it has the key 'none'"),
        ("xref = {none}", "takes fields from another entry by xref"),
        ("xdata = {none}", "takes fields from another entry by xdata"),
    ],
)
def test_an_entry_that_refers_to_nothing_readable_is_refused(field: str, told: str) -> None:
    first, second = entries(f"@article{{a, title = {{A}}, {field}}}\n@article{{b, title = {{B}}}}\n")
    with pytest.raises(InvalidData, match=told):
        first.fields()
    assert second.fields() == {"title": "B"}


@pytest.mark.parametrize(
    ("written", "doi"),
    [
        (r"10.5072/a$\_$8", "10.5072/a_8"),
        (r"10.5072/a\_8", "10.5072/a_8"),
        (r"10.5072/a{\_}8", "10.5072/a_8"),
        (r"10.5072/a$<$1", "10.5072/a<1"),
        (r"10.5072/a\textless 1", "10.5072/a<1"),
    ],
)
def test_a_doi_is_read_without_tex(written: str, doi: str) -> None:
    [entry] = entries(f"@article{{a, doi = {{{written}}}}}")
    assert entry.fields() == {"doi": doi}


def test_a_doi_with_unknown_tex_is_refused() -> None:
    [entry] = entries(r"@article{a, doi = {10.5072/a\foo8}}")
    with pytest.raises(InvalidData, match="TeX that is not known"):
        entry.fields()


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("<?xml version='1.0'?><!DOCTYPE x><PubmedArticleSet/>", "PubMed XML"),
        ("<mods:modsCollection xmlns:mods='http://www.loc.gov/mods/v3'/>", "MODS"),
        ("<resource xmlns='http://datacite.org/schema/kernel-4'/>", "DataCite XML"),
        ("PMID- 1\nTI  - On Names\n", "MEDLINE"),
        ("issn,volume,title\n1,2,3\n", "a table"),
        ("<oai_dc:dc xmlns:oai_dc='http://www.openarchives.org/OAI/2.0/oai_dc/'/>", "Dublin Core"),
        ("<eSummaryResult/>", "an answer of PubMed"),
        ("<responseWrapper/>", "an answer of Europe PMC"),
        ("<book/>", "XML of a book"),
        ("references:\n- id: a\n  title: On Names\n", "YAML"),
        ("TY - JOUR\nTI - On Names\nER - \n", "RIS"),
        ("Exported by a program\n\nTY  - JOUR\nTI  - On Names\nER  - \n", "RIS"),
        ("@prefix dcterms: <http://purl.org/dc/terms/> .\n", "Turtle"),
        ("00714cam a2200205 a 4500", "MARC 21"),
        ("RT Journal Article\nA1 Ada\n", "RefWorks"),
        ("{\\rtf1\\ansi}", "RTF"),
    ],
)
def test_another_format_is_named(text: str, format: str) -> None:
    with pytest.raises(InvalidData, match=f"this is {format}.*; taken are"):
        entries(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"status":"ok","message-type":"work-list","message":{"items":[]}}',
        '{"items": []}',
        '{"message-type":"work-list","message":{"items":[]},"status":"ok"}',
        '{"message":{"total-results":0,"items":[]},"status":"ok","message-type":"work-list"}',
        (
            '{"status": "ok", "message-type": "work-list", "message-version": "1.0.0",'
            ' "message": {"facets": {}, "total-results": 0, "items": [], "items-per-page": 20}}'
        ),
    ],
)
def test_an_empty_list_of_crossref_is_an_empty_list(text: str) -> None:
    assert entries(text) == []


@pytest.mark.usefixtures("rdl")
def test_a_doubt_is_a_warning_or_with_strict_a_refusal(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_text(jats(f"{USUAL}<issue-part>B</issue-part>"))
    for command in (("derive",), ("mint",)):
        told = run(*command, "sp", "--metadata", file, "--strict", code=3).err
        assert "the element issue-part (B) is not used" in told
        outcome = run(*command, "sp", "--metadata", file)
        assert outcome.line.endswith(LABEL)
        assert "the element issue-part (B) is not used" in outcome.err


BEGUN = '"ISSN": "0036-3634", "volume": "12"'
IN_SUPPLEMENT = {
    "jats": jats(f"{USUAL}<supplement>2</supplement>"),
    "jats, with its word": jats(f"{USUAL}<supplement>Suppl. 2</supplement>"),
    "jats, in the issue": jats("<volume>12</volume><issue>4 suppl 2</issue>"),
    "jats, in both": jats("<volume>12</volume><issue>4 suppl 2</issue><supplement>2</supplement>"),
    "json": json.dumps({**FIELDS, "issue": "4(Supplement 02)"}),
    "csl": f'{{{BEGUN}, "issue": "4", "supplement-number": "2", "page": "1", "title": "On Names"}}',
    "bibtex": "@article{a, issn = {0036-3634}, volume = 12, number = {04 Suppl. 2},\n"
    " pages = {1--2}, title = {On Names}\n}",
    "ris": "TY  - JOUR\nSN  - 0036-3634\nVL  - 12\nIS  - 4_suppl_2\nSP  - 1\nTI  - On Names\nER  - \n",
}


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("form", IN_SUPPLEMENT)
def test_an_article_of_a_supplement_has_one_label_of_its_own(run: Run, tmp_path: Path, form: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text(IN_SUPPLEMENT[form])
    outcome = run("derive", "sp", "--metadata", file)
    assert outcome.line.endswith("/v12i4-suppl-2/1_on")
    assert "suppl" in outcome.err  # the policy knows no such label
    run("mint", "sp", "--metadata", file, "--strict", code=3)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{{{BEGUN}, "title": "a", "part-number": "3"}}', "the field part-number (3) is not used"),
        (
            f'{{{BEGUN}, "title": "a", "supplement-number": "Proceedings"}}',
            "the field supplement-number (Proceedings) is not used",
        ),
        ("@article{a, number = {4}, issue = {Spring}\n}", "the field issue (Spring) is not used"),
        ("@article{a, number = {4}, part = {B}\n}", "the field part (B) is not used"),
    ],
)
def test_numbers_of_other_fields_are_not_passed_over(text: str, told: str) -> None:
    [entry] = entries(text)
    assert [told in doubt for doubt in entry.doubts] == [True]


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize(
    "written",
    [
        "10.5072/A5\u200b",
        "10.5072/\u2060a5",
        "https://doi.org/10.5072/a5?utm_source=mail",
        " 10.5072/a5\u00a0",
    ],
)
def test_invisible_signs_and_tracking_make_no_second_identifier(
    run: Run, written: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.jsonl"
    rows = [{**FIELDS, "doi": doi} for doi in ("10.5072/a5", written)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    first, second = run("mint", "sp", "--metadata", file).lines
    assert first == second
    alone = {**FIELDS, "title": "Other", "doi": written.replace("a5", "b6").replace("A5", "b6")}
    (tmp_path / "b.json").write_text(json.dumps(alone))
    told = run("mint", "sp", "--metadata", tmp_path / "b.json").err
    assert ("that are not seen do not count" in told) is any(sign in written for sign in "\u200b\u2060")


@pytest.mark.usefixtures("rdl")
def test_another_query_is_no_doi(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**FIELDS, "doi": "https://doi.org/10.5072/a5?page=2"}))
    assert "which is no DOI" in run("mint", "sp", "--metadata", tmp_path / "a.json").err


RIS = (
    "TY  - JOUR\r\nTI  - On Names\r\nVL  - 12\r\nIS  - 4\r\nSP  - 1\r\nEP  - 9\r\nSN  - 0036-3634\r\n"
    "ER  - \r\n"
)


def test_ris_is_read() -> None:
    first, second, third = entries(RIS + "\n" + RIS.replace("On Names", "More\r\nof them") + RIS[:-8])
    assert first.fields(strict=True) == FIELDS
    assert (second.line, second.fields()["title"]) == (10, "More of them")
    with pytest.raises(InvalidData, match="line 19: the entry does not end"):
        third.fields()


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (RIS.replace("VL  - 12", "VL  - 12\nVL  - 13"), "of the values of volume (12, 13) the first is used"),
        (RIS.replace("IS  -", "M1  -"), "the field M1 (4), which may be the issue, is not used"),
        (RIS.replace("JOUR", "BOOK"), "the entry is of type BOOK, which is no article"),
    ],
)
def test_what_ris_says_beside_is_told(entry: str, told: str) -> None:
    [read] = entries(entry)
    assert read.doubts == (told,)


def test_ris_between_entries_is_malformed() -> None:
    with pytest.raises(InvalidData, match="line 9: it is outside of an entry"):
        entries(RIS + "TI  - On Names\n")


@pytest.mark.parametrize("kind", ["article-journal", "journal-article", "review"])
def test_types_of_articles_are_as_usual(kind: str) -> None:
    [entry] = entries(json.dumps({"ISSN": "0036-3634", "title": "On Names", "type": kind}))
    assert entry.doubts == ()


@pytest.mark.parametrize("kind", ["book", "PhDThesis", "periodical", "inproceedings"])
def test_an_entry_of_bibtex_that_is_no_article_is_told(kind: str) -> None:
    [entry] = entries(f"@{kind}{{a, issn = {{0036-3634}}, volume = 1, title = {{On Names}}}}")
    assert entry.doubts == (f"the entry is of type {kind.lower()}, which is no article",)


def test_an_entry_before_the_ones_that_refer_to_it_is_told() -> None:
    text = """@proceedings{vol, issn = {0036-3634}, volume = {12}, title = {Names}}
@article{a, crossref = {vol}, title = {On Names}}"""
    parent, child = entries(text)
    assert parent.doubts == ("the entry is of type proceedings, which is no article",)
    with pytest.raises(InvalidData, match="no entry after it has the key 'vol'"):
        child.fields()


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"number": "4"}, "the field number (4) is not used"),
        ({"pages": "1-5"}, "the field pages (1-5) is not used"),
        ({"firstPage": "1"}, "the field firstPage (1) is not used"),
        ({"message-type": "journal"}, "the record is of the type journal, which is no article"),
        ({"type": "book"}, "the record is of the type book, which is no article"),
    ],
)
def test_keys_of_json_that_number_are_not_passed_over(record: dict[str, str], told: str) -> None:
    [entry] = entries(json.dumps({"ISSN": "0036-3634", "volume": "12", "title": "On Names", **record}))
    assert entry.doubts == (told,)
    with pytest.raises(InvalidData):
        entry.fields(strict=True)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"ISSN": "0036-3634", "volume": "12", "journal-issue": {"issue": "4"}, "number": "4"}),
        json.dumps(
            {"message-type": "work", "message": {"ISSN": ["0036-3634"], "journal-issue": {"issue": "4"}}}
        ),
        "TY  - JOUR\nSN  - 0036-3634\nCP  - 4\nER  - \n",
    ],
)
def test_an_issue_in_another_place_is_read(text: str) -> None:
    [entry] = entries(text)
    assert (entry.fields(strict=True)["issue"], entry.doubts) == ("4", ())


def test_a_second_number_of_ris_is_told() -> None:
    [entry] = entries("TY  - JOUR\nSN  - 0036-3634\nIS  - 4\nM1  - S2\nER  - \n")
    assert entry.doubts == ("the field M1 (S2), which may be the issue, is not used",)


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("series = {2}", "the field series (2) is not used"),
        ("issuetitle = {Suppl. 2}", "the field issuetitle (Suppl. 2) is not used"),
    ],
)
def test_fields_of_bibtex_that_number_are_told(field: str, told: str) -> None:
    [entry] = entries(f"@article{{a,\n title = {{On Names}},\n issn = {{0036-3634}},\n {field}\n}}")
    assert entry.doubts == (told,)


@pytest.mark.parametrize(
    ("field", "value", "label"),
    [
        ("page", "1E+05", None),
        ("page", "1,005", None),
        ("volume", "NaT", "00363634/vnonei0004/1_on"),
        ("issue", "#N/A N/A", "00363634/v12icomplete/1_on"),
        ("issue", "(blank)", "00363634/v12icomplete/1_on"),
    ],
)
def test_what_a_program_leaves_in_a_cell_is_understood_or_told(
    run: Run, tmp_path: Path, field: str, value: str, label: str | None
) -> None:
    run("namespace", "add", "sp", "http://journals.example.org/", "--scheme", "scholars-portal")
    file = tmp_path / "a.json"
    file.write_text(json.dumps({**FIELDS, field: value}), encoding="utf-8")
    if label is None:
        assert "is not a page number" in run("derive", "sp", "--metadata", file).err
        run("derive", "sp", "--metadata", file, "--strict", code=3)
    else:
        assert label in run("derive", "sp", "--metadata", file, "--strict").line


ENTRY = "TY  - JOUR\nSN  - 0036-3634\n{}IS  - 4\nER  - \n"


@pytest.mark.parametrize(
    "line", ["VL - 12", "VL- 12", "VL  -12", " VL  - 12", "vl  - 12", "VL  -\t12", "VL   - 12"]
)
def test_a_line_of_ris_with_other_spaces_is_refused(line: str) -> None:
    [entry] = entries(ENTRY.format(f"TI  - On Names\nJO  - Journal\n{line}\n"))
    with pytest.raises(InvalidData, match=r"line 5: .* is not as RIS writes a line; write 'VL  - 12'"):
        entry.fields()


def test_a_longer_text_of_ris_may_hold_hyphens() -> None:
    [entry] = entries(ENTRY.format("TI  - On Names\nVL  - 12\nAB  - Images,\nT1-weighted, and so on\n- VL\n"))
    assert (entry.fields(strict=True)["title"], entry.doubts) == ("On Names", ())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("M2  - 100", "the field M2 (100) is not used"),
        ("EP  - 100-110", "the field EP (100-110) is not used"),
        ("T1  - Of Names", "the field T1 (Of Names) is not used"),
        ("T3  - Supplement 2", "the field T3 (Supplement 2) is not used"),
    ],
)
def test_what_ris_says_elsewhere_is_told(line: str, told: str) -> None:
    [entry] = entries(ENTRY.format(f"TI  - On Names\nVL  - 12\n{line}\n"))
    assert entry.doubts == (told,)


@pytest.mark.parametrize(("key", "name"), [("page", "pages"), ("vol", "volume"), ("no", "number")])
def test_fields_of_bibtex_under_other_names_are_refused(key: str, name: str) -> None:
    [entry] = entries(f"@article{{a, issn = {{0036-3634}}, title = {{On Names}}, {key} = {{12}}\n}}")
    with pytest.raises(InvalidData, match=f"the field '{key}' is not known; write '{name}'"):
        entry.fields()


def test_keys_of_csl_json_under_other_names_are_refused() -> None:
    [entry] = entries(json.dumps({"ISSN": "0036-3634", "Volume": "12", "title": "On Names"}))
    with pytest.raises(InvalidData, match="the key 'Volume' is not known; write 'volume'"):
        entry.fields()
    [entry] = entries(json.dumps({"ISSN": "0036-3634", "locator": "12", "supplement": "2"}))
    assert entry.doubts == (
        "the field supplement (2) is not used",
        "the field locator (12) is not used",
    )


@pytest.mark.parametrize(
    "title", [r"{\'E}tude", r"\'Etude", "{DNA} in Europe", "<inline-formula>x</inline-formula>", "\ufffdtude"]
)
def test_titles_whose_words_differ_from_source_to_source_are_told(title: str) -> None:
    assert derive({**FIELDS, "title": title}, "complete").irregular


@pytest.mark.parametrize(
    "written",
    [
        "doi.org/10.5072/z", "dx.doi.org/10.5072/z", "DOI 10.5072/z", "doi:https://doi.org/10.5072/z",
        "(10.5072/z)", "<10.5072/z>", "10.5072/z [doi]", "urn:doi:10.5072/z", "(doi:10.5072/z)",
        "doi:10.5072/z?utm_source=x", "10.5072/z?utm_source=x", "10.5072/z>",
    ],
)  # fmt: skip
def test_a_doi_with_something_round_it_is_that_doi(written: str) -> None:
    assert doi({"doi": written}) == "10.5072/z"
    assert not derive({**FIELDS, "doi": written}, "complete").irregular


@pytest.mark.parametrize(
    "written", ["10.5072/z)", "10.5072/z\u201d", r"10.5072/a\_8", "10.5072/a\u2013b", "10.5072/e\u0301"]
)
def test_a_doi_that_other_sources_write_otherwise_is_told(written: str) -> None:
    assert derive({**FIELDS, "doi": written}, "complete").irregular


def test_brackets_and_angles_within_a_doi_are_usual() -> None:
    for usual in (
        "10.1016/S0016-0032(44)90001-X",
        "10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O",
    ):
        assert not derive({**FIELDS, "doi": usual}, "complete").doubts


@pytest.mark.parametrize(
    ("page", "is_doubtful"),
    [
        ("1,100-1,110", True), ("1,100--1,110", True), ("100\u00ad110", True), ("1-1 - 1-10", True),
        ("14-1-14-9", True), ("S1-100-S1-110", True), ("-110", True), ("100-110", False), ("100--110", False),
        ("1-3, 10-12", False), ("100, 105-110", False), ("e12", False), ("n/a", False),
    ],
)  # fmt: skip
def test_a_page_of_several_meanings_is_told(page: str, is_doubtful: bool) -> None:
    assert bool(derive({**FIELDS, "page": page}, "complete").irregular) == is_doubtful


def test_joined_volumes_are_one_volume_with_and_without_zeros() -> None:
    written = [derive({**FIELDS, "volume": volume}, "complete") for volume in ("12-13", "012-013")]
    assert {one.label for one in written} == {"00363634/v12-13i0004/1_on"}
    assert written[1].doubts


def test_a_field_of_bibtex_that_stands_twice_is_refused() -> None:
    [entry] = entries("@article{a, issn = {0036-3634}, TITLE = {On Names}, Title = {Of Names}\n}")
    with pytest.raises(InvalidData, match="the field title stands twice"):
        entry.fields()


@pytest.mark.parametrize(
    ("numbering", "told"),
    [
        (
            f"{USUAL}<issue-title-group><issue-title>Supplement 2</issue-title></issue-title-group>",
            "the element issue-title (Supplement 2) is not used",
        ),
        (
            f"{USUAL}<issue-subtitle>Suppl 2</issue-subtitle>",
            "the element issue-subtitle (Suppl 2) is not used",
        ),
        (
            f'<article-id pub-id-type="publisher-id">10.5072/a</article-id>{USUAL}',
            "the article-id (10.5072/a), which may be the DOI, is not used; mark it as one",
        ),
    ],
)
def test_what_jats_says_elsewhere_is_told(numbering: str, told: str) -> None:
    [entry] = entries(jats(numbering))
    assert entry.doubts == (told,)


def test_an_empty_element_of_jats_says_nothing() -> None:
    [entry] = entries(jats("<volume/><volume>12</volume><issue> </issue><issue>4</issue>"))
    assert (entry.fields(strict=True)["volume"], entry.fields()["issue"]) == ("12", "4")


def test_a_doi_of_jats_is_marked_in_any_case() -> None:
    [entry] = entries(jats(f'<article-id pub-id-type="DOI">10.5072/a</article-id>{USUAL}'))
    assert entry.fields(strict=True)["doi"] == "10.5072/a"


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("A</article-title><article-title>B", "of the elements article-title (A, B) the first is used"),
        ("</article-title><alt-title>B</alt-title><article-title>", "the element alt-title (B) is not used"),
    ],
)
def test_titles_of_jats_beside_the_first_are_told(title: str, told: str) -> None:
    [entry] = entries(jats(USUAL, title))
    assert entry.doubts == (told,)


def test_a_formula_as_a_picture_is_a_formula() -> None:
    [entry] = entries(jats(USUAL, "On <inline-formula><inline-graphic/></inline-formula>"))
    assert len(entry.doubts) == 1


def test_an_article_within_the_article_is_told() -> None:
    inner = '<front-stub><article-id pub-id-type="doi">10.5072/b</article-id></front-stub>'
    text = jats(USUAL).replace("</article>", f"<sub-article>{inner}</sub-article></article>")
    [entry] = entries(text)
    assert entry.doubts == ("the sub-article (10.5072/b) is not read",)


def test_an_entity_that_html_does_not_know_is_told() -> None:
    assert derive({**FIELDS, "title": "&agr; decay"}, "complete").irregular
    assert not derive({**FIELDS, "title": "&alpha; decay"}, "complete").irregular


@pytest.mark.parametrize(
    ("record", "format"),
    [
        ({"id": "W1", "doi": "x", "title": "y", "display_name": "y", "biblio": {}}, "OpenAlex's JSON"),
        ({"meta": {"count": 1}, "results": []}, "an answer of OpenAlex"),
        ({"doi": "10.5072/a", "titles": [], "creators": []}, "DataCite's JSON"),
        ({"id": "10.5072/a", "type": "dois", "attributes": {}, "relationships": {}}, "an answer of DataCite"),
        ({"key": "K", "itemType": "journalArticle", "ISSN": "0036-3634", "DOI": "x"}, "Zotero's JSON"),
        ({"paperId": "a", "externalIds": {"DOI": "10.5072/a"}, "title": "y"}, "Semantic Scholar's JSON"),
        ({"total": 1, "offset": 0, "data": []}, "an answer of Semantic Scholar"),
        ({"@context": "https://schema.org", "@type": "ScholarlyArticle"}, "JSON-LD"),
        ({"data": {"id": "10.5072/a", "attributes": {}, "relationships": {}}}, "an answer of DataCite"),
        ({"config": {}, "items": [{"itemType": "journalArticle"}]}, "Better BibTeX's JSON"),
    ],
)
def test_another_format_in_json_is_named(record: dict[str, object], format: str) -> None:
    for text in (json.dumps(record), f"[{json.dumps(record)}]"):
        [entry] = entries(text)
        with pytest.raises(InvalidData, match=f"line 1: this is {format}.*; taken are"):
            entry.fields()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("@article{{a,\n title = {{On Names}},\n url = {{{}}}\n}}", "url"),
        ("@article{{a,\n title = {{On Names}},\n note = {{DOI {}}}\n}}", "note"),
        ("@article{{a,\n title = {{On Names}},\n eprint = {{{}}}\n}}", "eprint"),
        ('{{"ISSN": "0036-3634", "title": "On Names", "URL": "{}"}}', "URL"),
        ('{{"ISSN": "0036-3634", "title": "On Names", "note": "DOI: {}"}}', "note"),
        ("TY  - JOUR\nTI  - On Names\nUR  - {}\nER  - \n", "UR"),
        ("TY  - JOUR\nTI  - On Names\nN1  - doi:{}\nER  - \n", "N1"),
        ("TY  - JOUR\nTI  - On Names\nLK  - {}\nER  - \n", "LK"),
        ("TY  - JOUR\nTI  - On Names\nU1  - {}\nER  - \n", "U1"),
    ],
)
def test_a_doi_in_another_field_is_told(text: str, name: str) -> None:
    for written in ("10.5072/q1", "https://doi.org/10.5072/q1", "https://doi.org/10.5072%2Fq1"):
        [entry] = entries(text.format(written))
        [doubt] = entry.doubts
        assert f"the field {name} (" in doubt and "which may be the DOI, is not used" in doubt


@pytest.mark.parametrize(
    "text",
    [
        "@article{a,\n title = {On 10.5072/b},\n doi = {10.5072/a},\n url = {https://doi.org/10.5072/a}\n}",
        "@article{a,\n title = {On 10.5072/b},\n abstract = {See 10.5072/b}\n}",
        '{"ISSN": "0036-3634", "title": "On 10.5072/b", "DOI": "10.5072/a", "URL": "https://doi.org/10.5072/a"}',
        "TY  - JOUR\nTI  - On 10.5072/b\nAB  - See 10.5072/b\nER  - \n",
    ],
)
def test_dois_of_other_articles_are_not_told(text: str) -> None:
    [entry] = entries(text)
    assert entry.doubts == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_text_in_wide_characters_is_named(encoding: str) -> None:
    with pytest.raises(InvalidData, match="it is UTF-16 or UTF-32"):
        [*metadata.entries(io.BytesIO(ENTRY.format("TI  - On Names\n").encode(encoding)))]


@pytest.mark.parametrize("text", [ENTRY.format("TI  - On Names\n"), "@article{a,\n title = {On Names}\n}\n"])
def test_lines_that_end_in_carriage_returns_alone_are_refused(text: str) -> None:
    with pytest.raises(InvalidData, match="carriage returns"):
        entries(text.replace("\n", "\r"))
    [entry] = entries(text.replace("\n", "\r\n"))
    assert entry.fields()["title"] == "On Names"


@pytest.mark.parametrize("written", ["10.5072%2Fa%3C8%3E", "doi:10.5072%2fa%3c8%3e"])
def test_a_doi_may_be_written_as_in_an_address(written: str) -> None:
    assert doi({"doi": written}) == "10.5072/a<8>"


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("[On Names].", True),
        ("'On Names'", True),
        ("\u201cOn Names\u201d", True),
        ("=On Names", True),
        ('"Hamlet" and "Lear"', False),
        ("(Z)-Hexenol in Names", False),
    ],
)
def test_a_title_within_marks_is_told(title: str, *, told: bool) -> None:
    assert (
        "the title stands within" in str(derive({**FIELDS, "title": title}, "complete").irregular)
    ) == told


@pytest.mark.parametrize("end", ["", ".", " "])
def test_a_subtitle_that_the_title_has_counts_once(end: str) -> None:
    fields = {**FIELDS, "title": f"On Names: A Study{end}", "subtitle": "a study"}
    assert (
        derive(fields, "complete").label == derive({**FIELDS, "title": "On Names: A Study"}, "complete").label
    )
    assert derive({**fields, "title": "On Names"}, "complete").label == f"{LABEL[:-3]}_onas"


@pytest.mark.parametrize(
    "written",
    ["10.5072/a?via=ihub", "10.5072/a#abs", "10.5072/a%20", "10.5072/a&utm_source=x", "10.5072/a\ufffd"],
)
def test_what_an_address_has_behind_a_doi_is_told(written: str) -> None:
    assert "as if something stood behind it" in str(derive({**FIELDS, "doi": written}, "complete").irregular)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '{"ISSN": "0036-3634", "title": "x", "note": "Volume: 31"}',
            "the field note (Volume: 31) is not used",
        ),
        (
            '{"ISSN": "0036-3634", "title": "x", "note": "a\\nIssue: 2"}',
            "the field note (Issue: 2) is not used",
        ),
        ("@article{a,\n title = {x},\n note = {Suppl. 2}\n}", "the field note (Suppl. 2) is not used"),
        ("@article{a,\n title = {x},\n note = {In a volume of essays}\n}", ""),
    ],
)
def test_a_note_that_says_what_belongs_into_the_label_is_told(text: str, told: str) -> None:
    [entry] = entries(text)
    assert entry.doubts == ((told,) if told else ())
