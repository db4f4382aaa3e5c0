"""Mapping sets of SSSOM: denials, prefixes, shared values, literals, metadata in own files and in CSV."""

import gzip
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from command_lines import Run

from idstore.errors import ExchangeError
from idstore.exchange import identifiers, mapping_rows, mappings
from idstore.exchange.bad_lines import Malformed
from idstore.exchange.columns import Columns
from idstore.exchange.mapping_rows import MappingRow
from idstore.exchange.sources import Readable

A, B, C = "http://example.org/a", "http://example.org/b", "http://example.org/c"
HEAD = "#curie_map:\n#  e: http://example.org/\n#  s: https://w3id.org/sssom/\n"
YAML = "curie_map:\n  e: http://example.org/\nobject_source: e:source\n"


def rows(
    content: str | Readable, format: str = "sssom", metadata: str | None = None
) -> tuple[list[MappingRow | Malformed], int]:
    """Return the rows, and how many rows map a literal."""
    file = BytesIO(content.encode()) if isinstance(content, str) else content
    with mappings.read(file, format, metadata=metadata) as reading:
        return list(reading.rows), reading.literals


def table(format: str, *lines: tuple[str, ...]) -> str:
    return "".join(("," if format == "csv" else "\t").join(line) + "\n" for line in lines)


@pytest.mark.parametrize("format", ["sssom", "tsv", "csv"])
@pytest.mark.parametrize(
    "modifier",
    ["Not", "NOT", "not", "sssom:NegatedPredicate", "https://w3id.org/sssom/NegatedPredicate", " Not "],
)
def test_a_defined_modifier_denies_the_mapping(format: str, modifier: str) -> None:
    [row], _ = rows(
        table(format, ("subject_id", "predicate_modifier", "object_id"), (A, modifier, B)), format
    )
    assert isinstance(row, MappingRow) and row.negated
    broken: list[Malformed] = []
    assert list(mapping_rows.proposals([row], broken)) == [] and len(broken) == 1


def test_a_modifier_may_have_a_declared_prefix() -> None:
    [row], _ = rows(
        HEAD + table("sssom", ("subject_id", "predicate_modifier", "object_id"), (A, "s:NegatedPredicate", B))
    )
    assert isinstance(row, MappingRow) and row.negated


@pytest.mark.parametrize(
    "column",
    [
        *(
            "modified",
            "Modified",
            "dateModified",
            "last-modified",
            "modified_by",
            "modified by",
            "modification",
        ),
        *(
            "date_modifi\u00e9e",
            "modifies",
            "codifier",
            "identifier",
            "classifier",
            "mode",
            "type",
            "predicate",
        ),
        *("predicate_label", "predicate_type", "predicate_id_2", "subject_category", "cardinality_scope"),
    ],
)
def test_a_column_that_denies_nothing_is_passed_over(column: str) -> None:
    content = table(
        "tsv", ("subject_id", "predicate_id", column, "object_id"), (A, "skos:exactMatch", "Not", B)
    )
    [row] = rows(content, "tsv")[0]
    assert isinstance(row, MappingRow) and not row.negated


def test_a_list_of_identifiers_without_targets_may_name_its_modifiers() -> None:
    content = table("tsv", ("id", "name", "modifier"), (A, "A", "Ann"))
    with identifiers.read(BytesIO(content.encode()), "tsv") as reading:
        [row] = reading.rows
    assert not isinstance(row, Malformed) and row.name == "A"


@pytest.mark.parametrize("format", ["sssom", "tsv", "csv"])
@pytest.mark.parametrize(
    "modifier", ["No", "Nota", "NegatedPredicate", "sssom:Not", "true", "-", "s:NegatedPredicate"]
)
def test_any_other_modifier_is_malformed(format: str, modifier: str) -> None:
    content = table(format, ("subject_id", "predicate_modifier", "object_id"), (A, modifier, B), (A, "", C))
    found, _ = rows(content, format)
    assert [type(row) for row in found] == [Malformed, MappingRow]
    with identifiers.read(BytesIO(content.encode()), format) as reading:
        assert [isinstance(row, Malformed) for row in reading.rows] == [True, False]


@pytest.mark.parametrize(
    "column",
    [
        *("Predicate_Modifier", "PREDICATE_MODIFIER", "predicate modifier", "predicate-modifier"),
        *(
            "modifier",
            "Modifiers",
            "predicateModifier",
            "predicatemodifier",
            "pred_modifier",
            "mapping modifier",
        ),
        *("predicate_modifer", "predicat_modifyer", "predicate_modifeir", "modifer", "predicate_modified"),
        *("predicate_modifier\u200b", "\ufeffpredicate\u00ad_modifier", "predicate\u00a0modifier"),
        *("predicate_m\u043edifi\u0435r", "predicate\u2010modifi\u00e9r"),
    ],
)
def test_a_column_that_may_deny_mappings_is_not_passed_over(column: str) -> None:
    content = table("tsv", ("subject_id", column, "object_id"), (A, "Not", B))
    with pytest.raises(ExchangeError, match="may deny mappings"):
        rows(content, "tsv")
    with mappings.read(BytesIO(content.encode()), "tsv", Columns({"modifier": column})) as reading:
        [row] = reading.rows
    assert isinstance(row, MappingRow) and row.negated


@pytest.mark.parametrize(
    ("metadata", "line", "reason"),
    [
        ("curie_map:\n  skos: http://example.org/", None, "the prefix skos stands for"),
        ("curie_map:\n  xsd: https://www.w3.org/2001/XMLSchema#", None, "the prefix xsd stands for"),
        ("curie_map: {sssom: 'http://w3id.org/sssom/'}", None, "the prefix sssom stands for"),
        ("curie_map:\n  e: http://example.org/1\n  e: http://example.org/2", 3, "'e' is declared twice"),
        (
            "curie_map:\n  e: http://example.org/1\n  f: 'urn:x:'\n  e: http://example.org/1",
            4,
            "'e' is declared twice",
        ),
        (
            "curie_map:\n  e: http://example.org/\ncurie_map:\n  f: 'urn:x:'",
            3,
            "'curie_map' is declared twice",
        ),
        ("license: urn:a:b\ntitle: x\nlicense: urn:a:b", 3, "'license' is declared twice"),
        ("curie_map:\n  e: example.org", None, "begins no IRI"),
        ("curie_map: [e]", None, "no table of prefixes"),
        ("object_source: {a: b}", None, "is no text"),
        ("predicate_modifier: Not", None, "is said of single mappings"),
        ("predicate_id: skos:closeMatch", None, "predicate_id is said of single mappings"),
        ("author_id:\n- orcid:0000-0002-1825-0098", None, "author_id is said of single mappings"),
        ("a: b: c", 1, "not YAML"),
    ],
)
def test_metadata_that_contradict_themselves_are_refused(
    tmp_path: Path, metadata: str, line: int | None, reason: str
) -> None:
    block = "".join(f"#{text}\n" for text in metadata.split("\n"))
    (tmp_path / "x.yml").write_text(metadata, encoding="utf-8")
    outside = str(tmp_path / "x.yml")
    for content, format, file in ((block, "sssom", None), (block, "csv", None), ("", "tsv", outside)):
        if format == "csv" and "," in metadata:
            continue
        with pytest.raises(ExchangeError, match=reason) as caught:
            rows(content + table(format, ("subject_id", "object_id"), (A, B)), format, file)
        assert caught.value.line == line


def test_a_built_in_prefix_may_be_declared_as_it_is() -> None:
    content = "#curie_map:\n#  skos: http://www.w3.org/2004/02/skos/core#\n#  SKOS: 'urn:x:'\n"
    [row], _ = rows(
        content + table("sssom", ("subject_id", "predicate_id", "object_id"), (A, "skos:closeMatch", B))
    )
    assert isinstance(row, MappingRow) and row.relation.endswith("core#closeMatch")


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (None, ["x:y"] * 3),
        (["", "", ""], ["x:y"] * 3),
        (["", "", "z"], ["", "", "z"]),
        (["z", "", ""], ["z", "", ""]),
    ],
)
def test_a_shared_value_counts_unless_any_row_has_its_own(
    sources: list[str] | None, expected: list[str]
) -> None:
    column = [] if sources is None else [("object_source", *sources)]
    columns = [
        ("subject_id", A, A, A),
        ("object_id", A, B, C),
        ("object_label", "a\tb", 'c"', "d\ne"),
        *column,
    ]
    lines = "".join(
        "\t".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in line) + "\n"
        for line in zip(*columns, strict=True)
    )
    found, _ = rows(f"#object_source: x:y\n#confidence: 0.5\n#mapping_set_id: urn:x:y\n{lines}")
    assert [
        (row.kind, row.target_name, row.confidence) for row in found if isinstance(row, MappingRow)
    ] == list(zip(expected, ["a\tb", 'c"', "d\ne"], [None] * 3, strict=True))


def test_mappings_of_literals_are_passed_over_and_counted() -> None:
    head = ("subject_id", "subject_label", "subject_type", "object_id", "object_type")
    content = table(
        "sssom",
        head,
        ("", "alice", "rdfs literal", B, ""),
        (A, "bob", "owl class", "", "rdfs:Literal"),
        (A, "", "", B, "rdf literal"),
        (A, "", "", "", ""),
    )
    found, literals = rows(content)
    assert [row.line for row in found] == [4, 5] and isinstance(found[1], Malformed)
    assert literals == 2
    with identifiers.read(BytesIO(content.encode()), "sssom") as reading:
        listed = [
            (row.line, row.statement is not None) for row in reading.rows if not isinstance(row, Malformed)
        ]
        assert (listed, reading.literals) == ([(3, False), (4, True), (5, False)], 2)


@pytest.mark.parametrize("declared", ["#subject_type: rdfs literal\n", ""])
def test_a_set_of_literals_alone_needs_no_column_of_subjects(declared: str) -> None:
    shared = ("subject_label", "object_id"), ("alice", A), ("bob", B)
    own = (
        ("subject_label", "object_id", "subject_type"),
        ("alice", A, "rdfs literal"),
        ("b", B, "rdfs literal"),
    )
    lines: Sequence[tuple[str, ...]] = shared if declared else own
    assert rows(declared + table("sssom", *lines)) == ([], 2)
    with pytest.raises(ExchangeError, match="no column is known to be the subject"):
        rows(table("sssom", ("subject_label", "object_id"), ("alice", A)))


@pytest.mark.parametrize("name", ["x.sssom.tsv", "x.tsv", "x.csv", "x.sssom.tsv.gz"])
@pytest.mark.parametrize("beside", ["x.sssom.yml", "x.sssom.yaml"])
def test_metadata_are_read_from_a_file_beside_the_table(tmp_path: Path, name: str, beside: str) -> None:
    content = table(
        "csv" if ".csv" in name else "tsv", ("subject_id", "object_id"), ("e:a", "e:b"), ("e:a", "f:b")
    ).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    (tmp_path / beside).write_text("\ufeff" + YAML, encoding="utf-8")
    [row, undeclared], _ = rows(tmp_path / name, "csv" if ".csv" in name else "tsv")
    assert isinstance(row, MappingRow) and (row.subject, row.target, row.kind) == (A, B, "e:source")
    assert isinstance(undeclared, Malformed)


def test_metadata_in_the_table_hide_those_beside_it(tmp_path: Path) -> None:
    content = "#curie_map: {e: 'urn:e:'}\n" + table("tsv", ("subject_id", "object_id"), ("e:a", "e:b"))
    (tmp_path / "x.tsv").write_text(content, encoding="utf-8")
    (tmp_path / "x.sssom.yml").write_text(YAML, encoding="utf-8")
    [row], _ = rows(tmp_path / "x.tsv", "tsv")
    assert isinstance(row, MappingRow) and row.target == "urn:e:b"
    with pytest.raises(ExchangeError, match="it has metadata of its own"):
        rows(tmp_path / "x.tsv", "tsv", str(tmp_path / "x.sssom.yml"))


@pytest.mark.parametrize(
    "block",
    [
        "#curie_map:\n#  e: http://example.org/\n#object_source: e:source\n",
        "# curie_map:\n#   e: http://example.org/\n# object_source: e:source\n",
        "#curie_map:,,\n#  e: http://example.org/,,\n#object_source: e:source,,\n",
        '#curie_map:,\r\n"#  e: ""http://example.org/""",\r\n"#object_source: e:source",\r\n',
        "\ufeff#title: apples, pears\n#curie_map:\n#  e: http://example.org/\n#object_source: e:source\n",
    ],
)
def test_csv_may_have_metadata(block: str) -> None:
    [row], _ = rows(block + table("csv", ("subject_id", "object_id"), ("e:a", "e:b")), "csv")
    assert isinstance(row, MappingRow) and (row.subject, row.target, row.kind) == (A, B, "e:source")


def test_a_csv_header_may_begin_with_a_number_sign() -> None:
    [row], _ = rows(table("csv", ("#", "subject_id", "object_id"), ("1", A, B)), "csv")
    assert isinstance(row, MappingRow) and row.line == 2


@pytest.mark.usefixtures("rdl")
def test_an_import_takes_external_metadata_and_counts_literals(run: Run, tmp_path: Path) -> None:
    id = run("--quiet", "mint", "rdl").line
    (tmp_path / "t.tsv").write_text(
        table("tsv", ("subject_id", "object_id", "object_type"), (id, "e:b", ""), (id, "", "rdfs literal")),
        encoding="utf-8",
    )
    (tmp_path / "meta").write_text(YAML, encoding="utf-8")
    told = run("import", tmp_path / "t.tsv", "--metadata", tmp_path / "meta").err
    assert (
        "1 mapping of a text without identifier (rdfs literal) passed over" in told
        and f"{tmp_path / 'meta'}" in told
    )
    assert [one["target"] for one in run("show", id, "--json").object["bindings"]] == [B]
    run("import", tmp_path / "t.nq", "--metadata", tmp_path / "meta", code=2)
