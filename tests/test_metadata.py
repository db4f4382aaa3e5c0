"""Metadata files: JSON objects, one a line or a single one; each malformed one is reported with its line."""

import gzip
import io
import json
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idstore import errors
from idstore.exchange import limits, metadata

UNICORN = {
    "issn": "0392-1921",
    "volume": "30",
    "issue": "119",
    "page": "1-23",
    "title": "The Myth of the Unicorn",
}


def read(content: bytes) -> list[dict[str, str]]:
    return [dict(fields) for fields in metadata.read(io.BytesIO(content))]


def test_one_object_a_line() -> None:
    line = json.dumps(UNICORN).encode()
    content = b"\xef\xbb\xbf" + line + b"\r\n\n  \n" + b'{"title": "Book Review"}'
    assert read(content) == [UNICORN, {"title": "Book Review"}]
    assert [entry.line for entry in metadata.entries(io.BytesIO(content))] == [1, 4]
    assert read(gzip.compress(content)) == read(content)


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_a_single_object(indent: int | None) -> None:
    assert read(json.dumps(UNICORN, indent=indent).encode()) == [UNICORN]


def test_values_are_texts() -> None:
    content = (
        b'{"issn": "x", "volume": 12345678901234567890, "issue": null, "page": '
        b'4.10, "title": " ", "issns": ["x"], "year": 2010}'
    )
    assert read(content) == [{"issn": "x", "volume": "12345678901234567890", "page": "4.10"}]


def test_unknown_keys_are_ignored_and_named() -> None:
    content = b'{"issn": "1", "issns": "2", "page": "3", "pages": 12, "issued": "2010", "year": 2010}'
    [own] = metadata.entries(io.BytesIO(content))
    assert (own.fields(), own.passed) == ({"issn": "1", "page": "3"}, ("issns", "pages", "issued", "year"))
    columns = (
        b'{"issn": "1", "issue": null, "number": null, "pages": "", "issuer": "ACS", "age": 3, "issue_id": 4}'
    )
    assert [entry.fields() for entry in metadata.entries(io.BytesIO(columns))] == [{"issn": "1"}]
    foreign = (b'{"ISSN": "1", "vol": 2, "number": 3}', b'{"message": {"ISSN": "1", "number": 3}}')
    assert [[entry.passed for entry in metadata.entries(io.BytesIO(text))] for text in foreign] == [
        [()],
        [()],
    ]


def test_an_empty_file_has_no_metadata() -> None:
    assert read(b"") == read(b"\n \n") == []


@pytest.mark.parametrize(
    ("line", "reason", "field"),
    [
        (b"{", "not JSON", None),
        (b'{"issn": }', "not JSON: Expecting value (column 10)", None),
        (b"[1]", "no JSON object", None),
        (b'"text"', "no JSON object", None),
        (b"\xff", "not UTF-8 (byte 0xff)", None),
        (b'{"issn": NaN}', "NaN is no number", None),
        (b'{"issn": "1", "issn": "2"}', "the key 'issn' occurs twice", None),
        (b"[" * 100_000, "nested too deep", None),
        (b'{"Issn": "1"}', "the key 'Issn' is not known; write 'issn'", "Issn"),
        (b'{"issn": "1", "vol": "2"}', "the key 'vol' is not known; write 'volume'", "vol"),
        (b'{"issn": "1", "Volum": "2"}', "write 'volume'", "Volum"),
        (b'{"issn": "1", "number": 2}', "write 'issue'", "number"),
        (b'{"issn": "1", "page": null, "pages": "1-2"}', "write 'page'", "pages"),
        (b'{"issn": "1", "start_page": "1"}', "write 'page'", "start_page"),
        (b'{"issn": "1", "titel": "A"}', "write 'title'", "titel"),
        (b'{"eissn": "1"}', "write 'issn'", "eissn"),
        (b'{"ISSN": "1", "issn": "1"}', "the key 'issn' of one, and 'ISSN' or others of another", "issn"),
        (b'{"ISSN": {"a": "1"}}', "ISSN is an object", "ISSN"),
        (b'{"issn": ["1"]}', "issn is a list", "issn"),
        (b'{"volume": {}}', "volume is an object", "volume"),
        (b'{"page": false}', "page is true or false", "page"),
        (b'{"title": "a\\ud800"}', "half a surrogate pair (position 1)", "title"),
    ],
)
def test_a_malformed_line_does_not_hide_the_others(line: bytes, reason: str, field: str | None) -> None:
    good = b'{"issn": "1"}'
    first, second, third = metadata.entries(io.BytesIO(b"\n".join([good, line, good])))
    assert first.fields() == third.fields() == {"issn": "1"}
    with pytest.raises(errors.InvalidData) as caught:
        second.fields()
    assert caught.value.message.startswith("the stream, line 2: ")
    assert reason in caught.value.message
    assert (caught.value.fields["line"], caught.value.fields.get("field")) == (2, field)


def test_an_error_inside_an_object_on_several_lines_has_its_line() -> None:
    with pytest.raises(errors.InvalidData, match="line 4: it is not JSON") as caught:
        read(b'{\n "issn": "1",\n "title": \n}')
    assert caught.value.fields["line"] == 4


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(errors.InvalidData, match="line 1: the line is longer than 1048576 bytes"):
        read(b'{"title": "' + b"x" * (1 << 21))


def test_the_buffered_start_and_the_rest_are_both_read() -> None:
    lines = [{"title": f"{number} {'x' * (number % 997)}"} for number in range(5000)]
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert len(content) > 2 << 20
    assert read(content) == lines


@pytest.mark.parametrize("name", ["missing.json", ""])
def test_an_unreadable_file_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.InvalidData, match="it cannot be read"):
        list(metadata.read(tmp_path / name))


@given(
    st.lists(
        st.dictionaries(st.sampled_from(metadata.FIELDS), st.text(min_size=1).filter(str.strip), min_size=1),
        min_size=1,
    ),
    st.booleans(),
)
def test_written_metadata_are_read_back(objects: list[dict[str, str]], escaped: bool) -> None:
    content = "\n".join(json.dumps(one, ensure_ascii=escaped) for one in objects)
    assert read(content.encode()) == objects


@pytest.mark.realdata
def test_real_records_are_read(real_data: Path) -> None:
    entries = [entry.fields() for entry in metadata.entries(real_data / "articles.jsonl.gz")]
    assert len(entries) > 9000
    assert all(entry["title"] and entry["issn"] for entry in entries if {"title", "issn"} <= entry.keys())


TWO = {
    "issn": "1936-0851, 1936-086X",
    "volume": "4",
    "issue": "10",
    "page": "6153-6161",
    "title": "\u00c9tude of E. coli",
    "doi": "10.1021/nn101328h",
}

CSL = {
    "type": "article-journal",
    "ISSN": "1936-0851, 1936-086X",
    "volume": 4,
    "issue": "10",
    "page": "6153-6161",
    "container-title": "ACS Nano",
}
CSL |= {
    "title": "\u00c9tude of E. coli",
    "DOI": "10.1021/nn101328h",
    "author": [{"family": "Hung"}],
    "issued": {"date-parts": [[2010]]},
}

WORK = {**CSL, "ISSN": ["1936-086X", "1936-0851"], "title": [CSL["title"]], "container-title": ["ACS Nano"]}
WORK |= {"issn-type": [{"value": "1936-086X", "type": "electronic"}, {"value": "1936-0851", "type": "print"}]}
LIST = {
    "status": "ok",
    "message-type": "work-list",
    "message-version": "1.0.0",
    "message": {"facets": {}, "items": [WORK, WORK]},
}

BIBTEX = r"""% made by hand
@string{nano = "ACS Nano"}
@article{hung2010,
  title = {{\'E}tude of \emph{E. coli}}, journal = nano, year = 2010,
  volume = 4, number = {10}, pages = {6153--6161},
  issn = {1936-0851, 1936-086X}, doi = {10.1021/nn101328h},
}
"""

JATS = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Publishing DTD v1.1//EN"
  "JATS-journalpublishing1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink">
  <front>
    <journal-meta><issn pub-type="epub">1936-086X</issn><issn pub-type="ppub">1936-0851</issn></journal-meta>
    <article-meta>
      <article-id pub-id-type="pmid">1</article-id>
      <article-id pub-id-type="doi">10.1021/nn101328h</article-id>
      <title-group><article-title>\u00c9tude of <italic>E.
        coli</italic><xref ref-type="fn">*</xref></article-title></title-group>
      <volume>4</volume><issue>10</issue><fpage>6153-6161</fpage>
    </article-meta>
  </front>
  <sub-article><front-stub/></sub-article>
</article>
"""


@pytest.mark.parametrize(
    ("content", "many"),
    [
        (json.dumps(CSL), 1),
        (json.dumps([CSL, CSL, CSL], indent=1), 3),
        (json.dumps(CSL) + "\n" + json.dumps(CSL), 2),
        (json.dumps({"status": "ok", "message-type": "work", "message": WORK}), 1),
        (json.dumps(LIST), 2),
        (json.dumps(LIST, indent=2), 2),
        (json.dumps({"items": [WORK]}), 1),
        (BIBTEX, 1),
        (BIBTEX.replace("hung", "x") + BIBTEX, 2),
        (JATS.replace("ISO-8859-1", "UTF-8"), 1),
        (JATS.replace("ISO-8859-1", "UTF-8").replace("fpage>", "page-range>"), 1),
    ],
)
def test_every_format_of_metadata_gives_the_same(content: str, many: int) -> None:
    found = read(content.encode())
    assert [{**one, "page": one["page"].replace("\u2013", "-")} for one in found] == [TWO] * many


@pytest.mark.parametrize(
    ("fields", "page"),
    [
        ({"page-first": "7"}, "7"),
        ({"page-first": 7, "page": ""}, "7"),
        ({"page-first": "7", "page": "8-9"}, "8-9"),
    ],
)
def test_the_first_page_is_used_without_a_page(fields: dict[str, object], page: str) -> None:
    assert read(json.dumps({"DOI": "10.1/a", **fields}).encode()) == [{"page": page, "doi": "10.1/a"}]


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (r"{\LaTeX{} for all}", "LaTeX for all"),
        (r"{\TeX}", "TeX"),
        (r"{The \BibTeX{} way}", "The BibTeX way"),
        (r"{\href{http://example.org/x_y}{Link} text}", "Link text"),
        (r"{\sc Small} \textbf{caps} \relax here", "Small caps here"),
        (r"Arnol\cprime d", "Arnold"),
        (r"\ce{H2O} and $\mathcal{A}$-groups, {\o}re, \'a \H o", "H2O and 𝒜-groups, øre, á ő"),
    ],
)
def test_no_word_of_latex_is_lost(title: str, text: str) -> None:
    assert read(f"@article{{x,\n title = {{{title}}}\n}}".encode()) == [{"title": text}]


@pytest.mark.parametrize(
    ("title", "macro"),
    [(r"\foo bar", "foo"), (r"On {\foo}", "foo"), (r"the $\SU(2)$", "SU"), (r"a-\foo{}", "foo")],
)
def test_an_unknown_latex_macro_is_refused(title: str, macro: str) -> None:
    """Its first letter becomes part of a label for ever."""
    [entry] = metadata.entries(io.BytesIO(f"@article{{x,\n title = {{{title}}}\n}}".encode()))
    with pytest.raises(
        errors.InvalidData, match=rf"line 1: the macro \\{macro} is not known; write its text in its place"
    ):
        entry.fields()


@pytest.mark.parametrize("wrap", ["{}", "<pmc-articleset>\n{}\n{}</pmc-articleset>"])
def test_jats_gives_the_same_metadata(wrap: str) -> None:
    head, _, article = JATS.partition("<article ")
    content = head.replace(
        "<!DOCTYPE article", f"<!DOCTYPE {'article' if wrap == '{}' else 'pmc-articleset'}"
    ) + wrap.replace("{}", "<article " + article)
    found = list(metadata.entries(io.BytesIO(content.encode("latin-1"))))
    assert [dict(entry.fields()) for entry in found] == [TWO] * wrap.count("{}")
    assert found[0].line == content[: content.index("<article ")].count("\n") + 1


def test_jats_under_a_namespace_with_a_subtitle_and_entities_of_its_document_type() -> None:
    article = (
        '<article xmlns="https://jats.nlm.nih.gov/ns/archiving/1.4/"><front><article-meta><title-group>'
        "<article-title>Caf&eacute;<break/>b</article-title><subtitle>S</subtitle>"
    )
    content = (
        '<!DOCTYPE r SYSTEM "file:///etc/passwd"><r>'
        + article
        + "</title-group></article-meta></front></article></r>"
    )
    assert read(content.encode()) == [{"title": "Caf&eacute; b", "subtitle": "S"}]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (
            "<alternatives><tex-math>\\begin{document}$x$</tex-math><math>x</math></alternatives>",
            "Of x itself",
        ),
        (
            (
                "<alternatives>\n<textual-form>x</textual-form><inline-graphic>y</inline-graphic>"
                "<tex-math>$x$</tex-math>\n</alternatives>"
            ),
            "Of x itself",
        ),
        ("<alternatives><inline-graphic/><tex-math>x</tex-math></alternatives>", "Of x itself"),
        ("<alternatives><inline-graphic>y</inline-graphic></alternatives>", "Of itself"),
        ("<tex-math>x</tex-math>", "Of x itself"),
    ],
)
def test_one_of_several_alternatives_is_read(formula: str, expected: str) -> None:
    title = (
        f"<title-group><article-title>Of <inline-formula>{formula}</inline-formula> "
        f"itself</article-title></title-group>"
    )
    assert read(f"<article><front><article-meta>{title}</article-meta></front></article>".encode()) == [
        {"title": expected}
    ]


def test_jats_in_other_encodings() -> None:
    text = "<article><front><article-meta><volume>4</volume></article-meta></front></article>"
    for encoding in ("utf-16", "utf-8-sig"):
        assert read(text.encode(encoding)) == [{"volume": "4"}]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            (
                '<!DOCTYPE all [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;'
                '&a;">]><all x="&b;"><article a="&b;"/></all>'
            ),
            "declares the entity 'a'",
        ),
        ("<article>" + "<a>" * 5000, "not well-formed XML"),
        (
            '<!DOCTYPE article [<!ENTITY x SYSTEM "file:///etc/passwd">]><article><front/></article>',
            "declares the entity 'x'",
        ),
        (
            (
                '<!DOCTYPE article [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;'
                '&a;&a;&a;&a;&a;">]><article>&b;</article>'
            ),
            "declares the entity 'a'",
        ),
        ("<a>no article</a>", "there is no element article in it"),
        ("<article><front>", "line 1: it is not well-formed XML"),
        (
            "<article>\n<\0\0\0",
            "line 2: it is not well-formed XML: Invalid character: Char 0x0 out of allowed range (column ",
        ),
        ('[{"title": "a"}, {"title": ', "line 1: it is not JSON"),
        ('[{"title": "a"}\n{"title": "b"}]', "line 2: '{' cannot stand here in the array"),
        ('[{"title": "a"},\n', "line 2: the array ends too soon"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_a_file_that_cannot_be_parsed_further_is_an_error(content: str, reason: str) -> None:
    with pytest.raises(errors.InvalidData) as caught:
        read(content.encode())
    assert reason in caught.value.message
    assert "\n" not in caught.value.message


def test_a_broken_entry_does_not_hide_the_others_in_bibtex() -> None:
    content = BIBTEX + (
        "@article{bad, title = {abc},\n volume = {3\n@article{twice, title={x},"
        " title={y}}\n@article{last, title={z}}\n"
    )
    first, bad, twice, last = metadata.entries(io.BytesIO(content.encode()))
    assert (first.line, bad.line, twice.line, last.fields()) == (3, 8, 10, {"title": "z"})
    for entry, reason in (
        (bad, "line 8: it is not BibTeX"),
        (twice, "line 10: it is not BibTeX: Duplicate field keys"),
    ):
        with pytest.raises(errors.InvalidData, match=reason):
            entry.fields()


@pytest.mark.parametrize("opening", ["{", r"\emph{", r"$\sqrt{"])
@pytest.mark.parametrize(
    ("depth", "reason"),
    [
        (limits.BIBTEX_DEPTH, None),
        (limits.BIBTEX_DEPTH + 1, "braces are nested more than 12 deep"),
        (20_000, "braces are nested more than 12 deep"),
    ],
)
def test_bibtex_that_is_nested_too_deep_is_malformed(opening: str, depth: int, reason: str | None) -> None:
    title = f"{{{opening * depth}x{'}' * depth}{'$' * opening.count('$') * depth}}}"
    entry, last = metadata.entries(
        io.BytesIO(f"@article{{a,\n title = {title}}}\n@article{{last, title={{z}}}}".encode())
    )
    assert last.fields() == {"title": "z"}
    if reason is None:
        assert "x" in entry.fields()["title"]
        return
    with pytest.raises(errors.InvalidData, match=f"the stream, line 1: its {reason}; remove some"):
        entry.fields()


@pytest.mark.parametrize("opening", [r"\sqrt[", r"\begin{a}", r"\("])
def test_latex_that_is_nested_too_deep_without_braces_is_malformed(opening: str) -> None:
    [entry] = metadata.entries(io.BytesIO(f"@article{{a, title = {{{opening * 1000}}}}}\n".encode()))
    with pytest.raises(errors.InvalidData) as caught:
        entry.fields()
    assert caught.value.message == "the stream, line 1: it is not LaTeX: it is nested too deep"


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (
            r"doi = {https://doi.org/10.1002/(SICI)1(199806)49:8%3C693::AID%3E3.0.CO;2-O}",
            "https://doi.org/10.1002/(SICI)1(199806)49:8%3C693::AID%3E3.0.CO;2-O",
        ),
        (r"doi = {10.1007/978-3-642-1\_2}", "10.1007/978-3-642-1_2"),
        (r"doi = {10.1007/a_b--c~d\%3C}", "10.1007/a_b--c~d%3C"),
        (r"doi = {{10.1/a{\_}b}}", "10.1/a_b"),
        (r"doi = {10.1002/49:8{\textless}693::AID\textgreater{}3$<$x$>$}", "10.1002/49:8<693::AID>3<x>"),
        (r"doi = {\url{https://doi.org/10.1/a}}", "https://doi.org/10.1/a"),
        (r"doi = {10.1000/abc{\textasciitilde}x}", "10.1000/abc~x"),
        (r"doi = {10.1000/abc\textasciitilde{}x}", "10.1000/abc~x"),
        (r"doi = {10.1000/a\ensuremath{<}b$\sim$c\_d}", "10.1000/a<b~c_d"),
        ("title = {50% of all things}", "50% of all things"),
        (r"title = {50\% of {100\%}}", "50% of 100%"),
        ("title = {AT&T and R\\&D}", "AT&T and R&D"),
        ('title = "Gold " # "and silver"', "Gold and silver"),
        ('title = {Gold # 1} # " and " # metal # { no } # 7', "Gold # 1 and Silver no 7"),
        ("title = METAL", "Silver"),
        ("title = both", "Silver, Gold"),
        ('title = {{G{"o}}}', 'G"o'),
        ("volume = {{4}}", "4"),
        ("pages = {1%3}", "1%3"),
        ("volume = S7", "S7"),
    ],
)
def test_fields_of_bibtex_are_decoded(field: str, expected: str) -> None:
    content = (
        f'@string{{metal = "Silver"}}\n@string{{both = metal # ", Gold"}}\n'
        f"@article{{a,\n {field},\n year = 2000}}\n"
    )
    (found,) = read(content.encode())
    assert [*found.values()] == [expected]


def test_a_concatenation_with_an_undefined_name_is_refused() -> None:
    content = '@string{a = "A" # b}\n@article{x,\n title = "Gold " # a}\n@article{y, title = {Z}}\n'
    bad, good = metadata.entries(io.BytesIO(content.encode()))
    assert good.fields() == {"title": "Z"}
    with pytest.raises(
        errors.InvalidData,
        match=r"line 2: 'a', which a # joins, is not defined; write @string\{a = \{…\}\} before",
    ):
        bad.fields()


def test_a_broken_object_does_not_hide_the_others_in_an_array() -> None:
    first, second, third = metadata.entries(io.BytesIO(b'[{"title": "a"},\n7,\n{"title": "c"}]'))
    assert (first.fields(), third.fields()) == ({"title": "a"}, {"title": "c"})
    with pytest.raises(errors.InvalidData, match="line 2: it is no JSON object"):
        second.fields()


@pytest.mark.parametrize(("content", "package"), [(BIBTEX, "bibtexparser"), (JATS, "lxml")])
def test_a_missing_package_is_reported_with_its_extra(
    content: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (package, "lxml.etree"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        errors.InvalidData,
        match=(
            rf"the package {package}, which is not installed; install it "
            rf"with `pip install 'idstore\[articles\]'`"
        ),
    ):
        read(content.encode())


def peak(content: bytes) -> int:
    """Return the peak memory of reading in bytes, as allocated by Python, without the articles themselves."""
    stream = io.BytesIO(content)
    tracemalloc.start()
    try:
        assert sum(bool(entry.fields()) for entry in metadata.entries(stream)) >= 1000
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "kind", ["lines", "list", pytest.param("bibtex", marks=pytest.mark.slow), "jats"]
)  # its parser is slow
def test_reading_needs_constant_memory(kind: str) -> None:
    head, _, article = JATS.partition("<article ")
    xml = head.partition("<!DOCTYPE")[0] + "<all>" + ("<article " + article) * 1500 + "</all>"
    content = {
        "lines": (json.dumps(WORK) + "\n") * 6000,
        "list": json.dumps(LIST | {"message": {"items": [WORK] * 6000}}),
        "bibtex": BIBTEX * 1000,
        "jats": xml,
    }[kind].encode("latin-1")
    next(metadata.entries(io.BytesIO(content))).fields()  # what the first article imports is kept
    assert peak(content) < 5 << 20
