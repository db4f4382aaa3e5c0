"""Tables of mappings and identifiers: import gives their statements, and export and import give the same."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pytest

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.exchange import identifiers, mapping_rows, mappings, table_export
from idstore.exchange.bad_lines import Malformed
from idstore.exchange.columns import Columns
from idstore.exchange.mapping_rows import MappingRow
from idstore.model.terms import TEXT_LIMIT

ADA = Party("ada")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ADA) as made:
        made.add_namespace("h", "10.5", "handle", ADA)
        yield made


def rows(
    content: str, format: str = "sssom", columns: Columns = Columns()
) -> Sequence[MappingRow | Malformed]:
    with mappings.read(BytesIO(content.encode()), format, columns) as reading:
        return list(reading.rows)


def written(registry: Registry, format: str) -> bytes:
    out = BytesIO()
    {"sssom": table_export.export_sssom, "csv": table_export.export_csv}[format](registry, out, ADA)
    return out.getvalue()


@pytest.mark.parametrize(
    "ends", ["h:1\tsssom:NoTermFound", "sssom:NoTermFound\th:1", "h:1\thttps://w3id.org/sssom/NoTermFound"]
)
def test_a_row_without_a_match_is_no_binding(ends: str) -> None:
    content = f"#curie_map:\n#  h: http://example.org/\nsubject_id\tobject_id\n{ends}\nh:2\th:3\n"
    broken: list[Malformed] = []
    assert [one.line for one in mapping_rows.proposals(rows(content), broken)] == [5]
    assert broken == [Malformed(4, "it says that nothing was found (sssom:NoTermFound), which is no binding")]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [("sssom:NoTermFound\t", "nothing was found"), ("http://example.org/\tNot", "it denies")],
)
def test_a_negated_mapping_is_refused(cells: str, reason: str) -> None:
    content = f"subject_id\tobject_id\tpredicate_modifier\n10.5/a\t{cells}\n"
    with identifiers.read(BytesIO(content.encode()), "sssom") as reading:
        [row] = reading.rows
    assert isinstance(row, Malformed)
    assert reason in row.reason


@pytest.mark.parametrize("format", ["sssom", "csv"])
def test_every_character_of_a_name_and_a_note_survives_a_round_trip(registry: Registry, format: str) -> None:
    texts = {
        "a": "a\rb",
        "c": "a\nb\r\nc",
        "d": 'a"b',
        "e": "a\tb,c",
        "f": "a\u2028\x85b",
        "g": " a ",
        "h": "\u3000a\r",
    }
    for label, text in texts.items():
        iri = registry.register("h", label, ADA, Request(name=text)).iri
        registry.bind(iri, Statement("http://example.org/", note=text), ADA)
    content = written(registry, format)
    found = {
        one.subject[-1]: (one.name, one.note)
        for one in rows(content.decode(), format)
        if isinstance(one, MappingRow)
    }
    assert found == {label: (text, text) for label, text in texts.items()}
    assert b"\r\n" not in content.replace(b"a\nb\r\nc", b"")


def test_a_registry_imports_no_change_from_its_own_table(registry: Registry) -> None:
    for label in ("x\u3000", "x", "y ", "\u2003"):
        whole = f"https://hdl.handle.net/10.5/{quote(label)}"
        iri = registry.register("h", whole, ADA, Request(name=f" {label}lead", force=True)).iri
        registry.bind(iri, Statement("http://example.org/", note=" trail ", author=" A\u3000"), ADA)
        registry.fixate([iri], ADA)
    with identifiers.read(BytesIO(written(registry, "csv")), "csv") as reading:
        outcomes = list(registry.enrol("h", [*identifiers.valid(reading.rows, [])], ADA, "own"))
    assert [(one.verdict, one.reason) for one in outcomes] == [("known", "")] * 4
    with mappings.read(BytesIO(written(registry, "sssom")), "sssom") as reading:
        outcomes = list(registry.state(list(mapping_rows.proposals(reading.rows, [])), ADA))
    assert [(one.verdict, one.reason) for one in outcomes] == [("known", "")] * 4


def test_rows_that_only_name_an_identifier_add_no_binding(registry: Registry) -> None:
    """An export in CSV has such rows for an identifier without bindings, or with more names than bindings."""
    bare, bound = (registry.register("h", label, ADA, Request(name="n")).iri for label in ("bare", "bound"))
    for lang in ("en", "de"):
        registry.name(bound, f"in {lang}", ADA, lang)
    registry.bind(bound, Statement("http://example.org/"), ADA)
    content = written(registry, "csv").decode()
    assert content.count(bound) == 3 and bare in content
    [found] = rows(content, "csv")
    assert isinstance(found, MappingRow) and (found.subject, found.target) == (bound, "http://example.org/")
    for table in ("id,relation,target\nx,skos:closeMatch,\n", "id,target,name\nx,,n\n"):
        assert rows(table, "csv") == [Malformed(2, "the target is empty")]


@pytest.mark.parametrize("format", ["csv", "tsv", "list"])
def test_white_space_around_a_handle_counts_for_nothing(registry: Registry, format: str) -> None:
    table = {
        "csv": "handle,name\n10.5/x\u3000,\n",
        "tsv": "handle\tname\n10.5/x\u3000\t \n",
        "list": "10.5/x\u3000\n",
    }[format]
    with identifiers.read(BytesIO(table.encode()), format) as reading:
        registry.enrol("h", [*identifiers.valid(reading.rows, [])], ADA, "a list")
    assert [one.label for one in registry.list(ADA)] == ["x"]


def test_spaces_around_lines_of_a_list_are_ignored(registry: Registry) -> None:
    with identifiers.read(BytesIO(b"10.5/x  \n 10.5/y\ta name \n"), "list") as reading:
        registry.enrol("h", [*identifiers.valid(reading.rows, [])], ADA, "a list")
    assert {one.label: one.names for one in registry.list(ADA)} == {"x": (), "y": (("und", "a name"),)}


def test_spaces_around_words_numbers_and_headings_are_ignored() -> None:
    [row] = rows(
        " subject_id , predicate_id,object_id ,confidence\n10.5/a, "
        "skos:closeMatch , http://example.org/ , 0.5 \n",
        "csv",
    )
    assert isinstance(row, MappingRow)
    assert (row.subject, row.relation[-10:], row.target, str(row.confidence)) == (
        "10.5/a",
        "closeMatch",
        "http://example.org/",
        "0.5",
    )


def reasons(content: str, format: str = "sssom", columns: Columns = Columns()) -> Sequence[Malformed]:
    broken: list[Malformed] = []
    list(mapping_rows.proposals(rows(content, format, columns), broken))
    return broken


HEAD = "subject_id\tpredicate_id\tobject_id\tmapping_justification\tauthor_id\tauthor_label\n"


def test_a_subject_may_have_any_written_form(registry: Registry) -> None:
    registry.register("h", "a", ADA)
    content = f"{HEAD}h:a\tskos:exactMatch\thttp://example.org/2\t\t\t"
    proposed = list(mapping_rows.proposals(rows(content), []))
    assert [one.verdict for one in registry.state(proposed, ADA)] == ["new"]


@pytest.mark.parametrize("place", range(1, 5))
def test_an_undeclared_prefix_is_refused(place: int) -> None:
    cells = [
        "http://example.org/1",
        "skos:exactMatch",
        "http://example.org/2",
        "semapv:LexicalMatching",
        "orcid:0000-0002-1825-0097",
    ]
    cells[place] = "foo:1"
    told = "'foo:1' is not declared; declare foo in curie_map, or write the whole IRI"
    assert reasons(HEAD + "\t".join(cells)) == [Malformed(2, f"the prefix of {told}")]
    assert reasons(f"#curie_map:\n#  foo: http://foo.example.org/\n{HEAD}" + "\t".join(cells)) == []
    assert told not in str(
        reasons(HEAD + "\t".join(cells), "tsv")
    )  # places where prefixes need no declaration


@pytest.mark.parametrize(
    "text",
    [
        "http://example.org/1",
        "urn:uuid:1",
        "info:hdl/10.5/a",
        "hdl:10.5/a",
        "doi:10.5/a",
        "foo://a",
        "10.5/a:b",
        "R1",
        "linkml:a",
        "sssom:a",
    ],
)
def test_iris_and_local_forms_need_no_prefix(text: str) -> None:
    [row] = rows(f"subject_id\tobject_id\n{text}\thttp://example.org/")
    assert isinstance(row, MappingRow)
    assert row.subject == text.replace("linkml:", "https://w3id.org/linkml/").replace(
        "sssom:", "https://w3id.org/sssom/"
    )


def test_a_text_with_an_option_for_its_base_needs_no_prefix() -> None:
    [row] = rows(
        "subject_id\tobject_id\nx:1\thttp://example.org/",
        columns=Columns(bases={"subject": "http://base.example.org/"}),
    )
    assert isinstance(row, MappingRow)
    assert row.subject == "http://base.example.org/x:1"


@pytest.mark.parametrize(
    ("id", "label", "authors"),
    [
        ("", "A|B", ("A", "B")),
        ("", r"A\|B", ("A|B",)),
        ("", r"A\\|B", ("A\\", "B")),
        ("", r"A\\\|B\C|D", (r"A\|B\C", "D")),
        (
            "orcid:0000-0002-1825-0097|orcid:1",
            "A|B",
            ("https://orcid.org/0000-0002-1825-0097", "https://orcid.org/1"),
        ),
        ("orcid:0000-0002-1825-0097", "A|B", ("https://orcid.org/0000-0002-1825-0097",)),
        ("", "", ()),
        ("", "|A|", ("A",)),
    ],
)
def test_authors_are_split_as_in_sssom(id: str, label: str, authors: tuple[str, ...]) -> None:
    content = f"{HEAD}http://example.org/1\t\thttp://example.org/2\t\t{id}\t{label}"
    [row] = rows(content)
    assert isinstance(row, MappingRow)
    assert row.authors == authors
    message = (
        f"author_id names several authors ({', '.join(authors)}), and a binding has one; leave one there"
    )
    assert reasons(content) == ([Malformed(2, message)] if len(authors) > 1 and id else [])
    if not id:
        assert mapping_rows.statement(row).author == (", ".join(authors) or None)


def test_white_space_round_a_heading_does_not_count(registry: Registry) -> None:
    with identifiers.read(
        BytesIO("id,name,stage\u00a0\n10.5/secret ,Draft,created\n".encode()), "csv"
    ) as reading:
        registry.enrol("h", [*identifiers.valid(reading.rows, [])], ADA, "a list")
    assert [(one.label, one.stage) for one in registry.list(ADA)] == [("secret", "created")]


@pytest.mark.parametrize("author", ["A|B", "A\\", r"A\|B", "|", r"\\", " A "])
@pytest.mark.parametrize("format", ["sssom", "csv"])
def test_an_author_survives_a_round_trip(registry: Registry, author: str, format: str) -> None:
    registry.bind(registry.register("h", "a", ADA).iri, Statement("http://example.org/", author=author), ADA)
    [row] = rows(written(registry, format).decode(), format)
    assert isinstance(row, MappingRow)
    assert row.authors == (author,)


@pytest.mark.parametrize("format", ["sssom", "csv"])
def test_a_long_name_survives_a_round_trip(registry: Registry, format: str) -> None:
    name = ("long " * TEXT_LIMIT)[:TEXT_LIMIT]
    registry.bind(
        registry.register("h", "a", ADA, Request(name=name)).iri, Statement("http://example.org/"), ADA
    )
    [row] = rows(written(registry, format).decode(), format)
    assert isinstance(row, MappingRow)
    assert row.name == name


@pytest.mark.parametrize("column", ["target", "leads_to"])
@pytest.mark.parametrize(
    ("text", "iri"),
    [
        ("h:2", "https://hdl.handle.net/10.5/2"),
        ("orcid:0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("urn:x:y", "urn:x:y"),
        ("no-prefix:2", None),
        ("foo://a", None),
    ],
)
def test_a_known_prefix_is_expanded_in_a_table(
    registry: Registry, column: str, text: str, iri: str | None
) -> None:
    def enrolled(*, force: bool = False) -> str:
        table = BytesIO(f"subject,{column}\n10.5/1,{text}\n".encode())
        with identifiers.read(table, "csv", force=force) as reading:
            listed = [*identifiers.valid(reading.rows, [])]
            return registry.enrol("h", listed, ADA, "own")[0].verdict

    assert enrolled() == ("refused" if iri is None else "new")
    if iri is None:
        assert enrolled(force=True) == "new"
    assert enrolled() == "known"
    assert [one.label for one in registry.list_bound(iri or text, ADA)] == ["1"]
