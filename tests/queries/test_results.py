"""Answers are written as the engine writes them, cut exactly, and displayed safely in terminals."""

import csv
import io
import json
import re
from typing import TypeAlias

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, QueryResultsFormat, QuerySolutions, Store, Triple

from idstore import spreadsheets
from idstore.errors import QueryRefused
from idstore.queries import formats, results, table
from idstore.vocabulary import PREFIXES

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
XSD = "http://www.w3.org/2001/XMLSchema#"

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
iris = st.sampled_from(["urn:a", "http://example.org/é#x", "https://w3id.org/idstore/ontology#owner"]).map(
    NamedNode
)
literals = st.one_of(
    texts.map(Literal),
    st.builds(
        lambda text, language: Literal(text, language=language), texts, st.sampled_from(["en", "de-at"])
    ),
    st.builds(
        lambda text, kind: Literal(text, datatype=NamedNode(XSD + kind)),
        st.one_of(texts, st.sampled_from(["1", "1.5", "-0.5", "1e3", "true", "INF", "5."])),
        st.sampled_from(["integer", "decimal", "double", "boolean", "date"]),
    ),
)
terms = st.one_of(
    iris,
    literals,
    st.builds(Triple, iris, iris, st.one_of(literals, st.builds(Triple, iris, iris, literals))),
)


NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a document of XML cannot hold (XML 1.0, section 2.2)."""


def solutions(values: list[Term]) -> QuerySolutions:
    """Return rows with these values, and an unbound variable."""
    store = Store()
    for number, value in enumerate(values):
        store.add(Quad(NamedNode(f"urn:{number:03d}"), NamedNode("urn:p"), value))
    found = store.query("SELECT ?s ?o ?unbound { ?s <urn:p> ?o } ORDER BY ?s")
    assert isinstance(found, QuerySolutions)
    return found


def written(
    found: pyoxigraph.QuerySolutions | pyoxigraph.QueryTriples | pyoxigraph.QueryBoolean,
    name: str | None,
    rows: int | None = None,
) -> str:
    out = io.BytesIO()
    results.write(found, [] if name is None else [name], rows, PREFIXES, out)
    return out.getvalue().decode()


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("tsv", QueryResultsFormat.TSV),
        ("json", QueryResultsFormat.JSON),
        ("xml", QueryResultsFormat.XML),
    ],
)
@given(values=st.lists(terms, max_size=5))
def test_rows_are_written_as_the_engine_writes_them(
    name: str, form: QueryResultsFormat, values: list[Term]
) -> None:
    straight = solutions(values).serialize(format=form)
    assert straight is not None
    if name == "xml" and NO_XML.search(straight.decode()):
        with pytest.raises(QueryRefused, match="what XML cannot express"):
            written(solutions(values), name)
        return
    text, engine = written(solutions(values), name).rstrip("\n"), straight.decode().rstrip("\n")
    if name == "json":  # it escapes what a terminal should not get
        assert text.isprintable()
        text, engine = json.loads(text), json.loads(engine)
    assert text == engine


@given(values=st.lists(terms, max_size=5))
def test_csv_holds_the_values(values: list[Term]) -> None:
    [head, *lines] = csv.reader(io.StringIO(written(solutions(values), "csv"), newline=""))
    assert head == ["s", "o", "unbound"]
    plain = [
        term.value
        for term in (row["o"] for row in solutions(values))
        if isinstance(term, NamedNode | Literal)
    ]
    assert {spreadsheets.plain(line[1]) for line in lines} >= {spreadsheets.plain(text) for text in plain}
    assert all(len(line) == 3 and line[2] == "" for line in lines)


def test_an_iri_with_a_comma_is_one_field_of_csv() -> None:
    iri = "https://hdl.handle.net/10.1029/2005GC000960,%25202006"
    assert written(solutions([NamedNode(iri)]), "csv") == f's,o,unbound\r\nurn:000,"{iri}",\r\n'


def test_blank_nodes_keep_their_names() -> None:
    node = BlankNode("b1")
    assert json.loads(written(solutions([node, node]), "json"))["results"]["bindings"][0]["o"] == {
        "type": "bnode",
        "value": "b1",
    }


@pytest.mark.parametrize(
    ("there", "most", "given_", "cut"),
    [
        (3, 2, 2, True),
        (3, 3, 3, False),
        (3, 4, 3, False),
        (3, None, 3, False),
        (0, 0, 0, False),
        (1, 0, 0, True),
    ],
)
def test_rows_are_cut_exactly(there: int, most: int | None, given_: int, cut: bool) -> None:
    values: list[Term] = [Literal(str(number)) for number in range(there)]
    summary = results.write(solutions(values), ["csv"], most, PREFIXES, io.BytesIO())
    assert (summary["rows"], summary["truncated"]) == (given_, cut)
    store = Store()
    store.extend(Quad(NamedNode("urn:s"), NamedNode("urn:p"), value) for value in values)
    summary = results.write(
        store.query("CONSTRUCT WHERE { ?s ?p ?o }"), ["ntriples"], most, PREFIXES, io.BytesIO()
    )
    assert (summary["rows"], summary["truncated"]) == (given_, cut)


def test_triples_are_sorted_and_abbreviated() -> None:
    store = Store()
    for subject in ("urn:b", "urn:a"):
        for name in ("y", "x"):
            store.add(Quad(NamedNode(subject), NamedNode(PREFIXES["rdfs"] + "label"), Literal(name)))
    asked = "CONSTRUCT { ?s ?p ?o . ?s ?p ?o } { ?s ?p ?o }"
    turtle = written(store.query(asked), None)
    assert turtle.splitlines()[-2:] == ['<urn:a> rdfs:label "x" , "y" .', '<urn:b> rdfs:label "x" , "y" .']
    assert turtle == written(store.query(asked), "turtle")
    assert [line for line in turtle.splitlines() if line.startswith("@prefix")] == sorted(
        f"@prefix {prefix}: <{space}> ." for prefix, space in PREFIXES.items()
    )
    assert (
        written(store.query(asked), "ntriples").splitlines()[0]
        == '<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "x" .'
    )


@pytest.mark.parametrize(
    ("name", "expected"), [("table", "true\n"), ("csv", "true\n"), ("json", '{"head":{},"boolean":true}\n')]
)
def test_boolean_answers_are_written_in_each_format(name: str, expected: str) -> None:
    assert written(Store().query("ASK {}"), name) == expected


def test_a_format_that_cannot_hold_the_answer_is_refused() -> None:
    with pytest.raises(QueryRefused, match="use turtle, ntriples, jsonld, rdfxml"):
        written(Store().query("CONSTRUCT WHERE { ?s ?p ?o }"), "csv")
    for asked in ("ASK {}", "SELECT * {}"):
        with pytest.raises(QueryRefused, match="use table, csv, tsv, json, xml"):
            written(Store().query(asked), "turtle")
    with pytest.raises(QueryRefused, match="there is no format 'nix'"):
        formats.check(["nix"])


def shown(*rows: tuple[Term | None, ...]) -> list[str]:
    out = io.BytesIO()
    table.write(["id", "what"], list(rows), PREFIXES, out)
    return out.getvalue().decode().splitlines()


def test_a_table_is_aligned_and_abbreviated() -> None:
    assert shown(
        (NamedNode(PREFIXES["skos"] + "exactMatch"), Literal("valve", language="en")),
        (NamedNode("http://example.org/a"), None),
        (NamedNode(PREFIXES["skos"] + "a/b"), Literal("阀门")),
        (BlankNode("b"), Literal("7", datatype=NamedNode(XSD + "integer"))),
    ) == [
        "id                                       what",
        "---------------------------------------  --------",
        "skos:exactMatch                          valve@en",
        "http://example.org/a",
        "http://www.w3.org/2004/02/skos/core#a/b  阀门",
        "_:b                                      7",
    ]


def test_cells_and_headings_are_cut_on_request() -> None:
    out = io.BytesIO()
    rows: list[tuple[Term | None, ...]] = [(Literal("abcde"), Literal("abcdef")), (None, Literal("\0\0"))]
    table.write(["id", "long_name"], rows, PREFIXES, out, longest_cell=5)
    assert out.getvalue().decode().splitlines() == [
        "id     long…",
        "-----  -----",
        "abcde  abcd…",
        "       \\x00…",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert shown(
        (Literal("阀门"), Literal("x")), (Literal("abcd"), Literal("y")), (Literal("e\u0301"), Literal("z"))
    ) == [
        "id    what",
        "----  ----",
        "阀门  x",
        "abcd  y",
        "e\u0301     z",
    ]


@given(texts)
def test_a_table_contains_no_terminal_control_characters(text: str) -> None:
    [_, _, line] = shown((Literal(text), Literal("end")))
    assert line.isprintable()
    assert "\x1b" not in "".join(shown((Literal(f"\x1b[2J{text}"), NamedNode("urn:x"))))
