"""Saved queries: files whose comments declare parameters, and texts that become terms."""

from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData
from idstore.queries.saved import OWN, saved_queries, saved_query
from idstore.vocabulary import XSD

GOOD = """# Who bound what to an entry?
# parameter entry (iri, required): an entry of another registry
# parameter since (date): the first day
SELECT ?id ?entry ?since { ?id skos:exactMatch ?entry }
"""


def write(folder: Path, text: str, name: str = "q.rq") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_title_and_parameters_come_from_the_comments(tmp_path: Path) -> None:
    query = saved_query(write(tmp_path, GOOD))
    assert (query.name, query.title) == ("q", "Who bound what to an entry?")
    assert {one.name: (one.type, one.required) for one in query.parameters.values()} == {
        "entry": ("iri", True),
        "since": ("date", False),
    }


def test_texts_become_terms(tmp_path: Path) -> None:
    query = saved_query(write(tmp_path, GOOD))
    assert query.bindings({"entry": "http://example.org/x", "since": ""}) == {
        "entry": NamedNode("http://example.org/x")
    }
    assert query.bindings({"entry": "urn:x", "since": "2026-11-26"})["since"] == Literal(
        "2026-11-26", datatype=XSD.date
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"entry": ""},
        {"entry": "no iri"},
        {"entry": "http://example.org/> } #"},
        {"entry": "urn:x", "since": "yesterday"},
        {"entry": "urn:x", "since": "2026-11-26\n"},
        {"entry": "urn:x", "since": "\u0662\u0660\u0662\u0666-11-26"},
        {"entry": "urn:x", "other": "1"},
    ],
)
def test_wrong_texts_are_refused(tmp_path: Path, given: dict[str, str]) -> None:
    with pytest.raises(InvalidData):
        saved_query(write(tmp_path, GOOD)).bindings(given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ?x {", "correct it"),
        ("DELETE WHERE { ?a ?b ?c }", ""),
        ("SELECT ?x { SERVICE <http://example.org/> { ?x ?y ?z } }", "SERVICE"),
        ("# parameter x (colour): a colour\nSELECT ?x { ?x ?y ?z }", "no type 'colour'"),
        (
            "# parameter y (iri): not selected\nSELECT ?x { ?x ?y ?z }",
            "must be a variable of the SELECT clause",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InvalidData) as raised:
        saved_queries(tmp_path)
    assert str(path) in str(raised.value)
    assert message in str(raised.value)


def test_a_query_that_is_too_long_is_refused_and_not_cut(tmp_path: Path) -> None:
    longest = GOOD + "#" * ((1 << 20) - len(GOOD.encode()))
    assert saved_query(write(tmp_path, longest)).text == longest
    with pytest.raises(InvalidData, match="shorten the query"):
        saved_query(write(tmp_path, longest + "#"))


def test_names_are_parts_of_addresses(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="part of an address"):
        saved_query(write(tmp_path, GOOD, "a b.rq"))
    latin = tmp_path / "latin.rq"
    latin.write_bytes(b"# caf\xe9\nSELECT ?x { ?x ?y ?z }")
    with pytest.raises(InvalidData, match="cannot be read"):
        saved_query(latin)


def test_a_folder_s_query_replaces_the_package_s(tmp_path: Path) -> None:
    own = saved_queries()
    assert own.keys() == {path.stem for path in OWN.glob("*.rq")}
    assert own
    name = min(own)
    write(tmp_path, "# Mine\nASK {}", f"{name}.rq")
    replaced = saved_queries(tmp_path)
    assert replaced[name].title == "Mine"
    assert replaced.keys() == own.keys()
    with pytest.raises(InvalidData, match="name a folder"):
        saved_queries(tmp_path / "none")
