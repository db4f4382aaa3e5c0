"""Each example query returns the right rows, to a party with drafts and to one that sees what is public."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from rich_registry import ANN, EVE, SECRET, fill

import idstore
from idstore import Party, Registry, vocabulary
from idstore.queries.example_queries import example_queries

HIDDEN_VARIABLES = {"time", "act", "created", "fixated", "revoked"}
"""Variables whose values differ from one run to the next."""
SAMPLE = "http://rdl.example.org/data#R3732211754"
"""The identifier in the example that is to be edited."""
MONTH = "<month>"
ZERO = "https://creativecommons.org/publicdomain/zero/1.0/"
"""The licence of the namespace rdl."""
PUBLISHED = (
    *(
        ("valve", "ann"),
        ("pump", "ann"),
        ("old", "ann"),
        ("older", "ann"),
        ("pump2", "ben"),
        ("abuse", "ben"),
    ),
    *(
        ("report", "ann"),
        ("first", "ann"),
        ("second", "ann"),
        ("pilin", "ben"),
        ("pdf", "ben"),
        ("txt", "ben"),
    ),
    *(("article", "ann"), ("other", "ann"), ("file", "ann")),
)
Q1, Q2 = "http://www.wikidata.org/entity/Q1", "http://www.wikidata.org/entity/Q2"

PUBLIC: dict[str, set[tuple[str, ...]]] = {
    "articles-of-journal": {("article", "Of graphs")},
    "binding-sources": {("pump", "skos:closeMatch", Q2, "0.5", "semapv:LexicalMatching", "Ada")},
    "deprecated": {("old", "worn out", "valve"), ("older", "", "old")},
    "drafts": set(),
    "events-of-identifier": {
        ("ids:Mint", "ann", ""),
        ("ids:Naming", "ann", ""),
        ("ids:Targeting", "ann", ""),
        ("ids:Bind", "ann", ""),
        ("ids:Fixation", "ann", ""),
        ("ids:Vetting", "ben", "compared with the paper"),
    },
    "files-of-articles": {("article", "pdf", "file")},
    "formats-by-name": {("fmt/1", "Example PDF", "")},
    "formats-without-media-type": {("fmt/2", "Plain text")},
    "groups": {("staff", "ann"), ("staff", "ben")},
    "handle-values": {("URL", "4", "4"), ("EMAIL", "1", "1")},
    "handles-by-address": {
        ("pilin", "1", "http://example.org/1"),
        ("report", "1", "http://example.org/report"),
        ("first", "1", "http://example.org/report/1"),
    },
    "latest-replacement": {("old", "valve"), ("older", "valve")},
    "namespaces": {
        ("doc", "https://hdl.handle.net/12345/", "handle", "root", "", ""),
        ("own", "http://formats.example.org/", "puid", "root", "", ""),
        ("pilin", "https://hdl.handle.net/102.100.272/", "pilin", "root", "", ""),
        ("rdl", "http://rdl.example.org/data#", "rdswip", "root", ZERO, "The Example Library"),
        ("sp", "http://journals.example.org/", "scholars-portal", "root", "", ""),
    },
    "offers": {("http://journals.example.org/", "root", "ann")},
    "owners": {
        ("ann", "ids:Fixated", "10"),
        ("ben", "ids:Fixated", "4"),
        ("ben", "ids:Tombstone", "1"),
    },
    "published-by-month": {
        (MONTH, "doc", "3"),
        (MONTH, "own", "2"),
        (MONTH, "pilin", "1"),
        (MONTH, "rdl", "6"),
        (MONTH, "sp", "3"),
    },
    "published-this-month": set(PUBLISHED),
    "shared-names": {("pump", "pump"), ("pump", "pump2")},
    "shared-targets": {(Q1, "valve"), (Q1, "pump2")},
    "target-history": {("valve", "http://example.org/1"), ("valve", "http://example.org/2")},
    "tombstones": {("abuse", "root", "is advertising")},
    "versions": {
        ("report", "V1.0", "first", "http://example.org/report/1"),
        ("report", "V2.0", "second", "http://example.net/report/2"),
    },
    "wikidata": {
        ("pump2", "owl:sameAs", Q1, "ben"),
        ("valve", "skos:exactMatch", Q1, "ann"),
        ("pump", "skos:closeMatch", Q2, "ben"),
    },
    "without-german-name": {
        ("pdf", "Example PDF"),
        ("txt", "Plain text"),
        ("other", "Of trees"),
        ("article", "Of graphs"),
        ("pump", "pump"),
        ("pump2", "pump"),
        ("old", "old valve"),
    },
    "without-target": {
        *(("pdf", "ben"), ("txt", "ben")),
        *((name, "ann") for name in ("other", "article", "file", "old", "older", "pump")),
    },
}
"""The rows that everyone sees, without the variables of times, by the name of the example."""
PRIVATE: dict[str, set[tuple[str, ...]]] = {
    "drafts": {("draft", "ann", f"{SECRET} draft"), ("offered", "ben", f"{SECRET} offer")},
    "events-of-identifier": {("ids:Comment", "ann", f"{SECRET} remark")},
    "handles-by-address": {("report", "3", f"http://example.org/{SECRET}")},
    "offers": {("offered", "ben", "ann")},
    "owners": {("ann", "ids:Created", "1"), ("ben", "ids:Created", "1")},
    "wikidata": {("draft", "skos:exactMatch", f"{Q1}-{SECRET}", "ann")},
}
"""The rows that ANN sees besides those."""
COUNTS: dict[str, set[tuple[str, ...]]] = {"handle-values": {("URL", "4", "5"), ("EMAIL", "1", "1")}}
"""The rows that ANN sees instead."""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with idstore.open(tmp_path_factory.mktemp("rich") / "store", administrator=Party("root")) as registry:
        yield registry


@pytest.fixture(scope="module")
def ids(registry: Registry) -> dict[str, str]:
    return fill(registry)


def ask(registry: Registry, ids: dict[str, str], name: str, party: Party) -> list[tuple[str, ...]]:
    """Return the rows of an example, with short names, prefixes and without times."""
    text = example_queries()[name].text.replace(SAMPLE, ids["valve"])
    with registry.query(text, party, "json") as answer:
        result = json.load(answer.stream)
    names = {iri: short for short, iri in ids.items()}
    variables = [name for name in result["head"]["vars"] if name not in HIDDEN_VARIABLES]
    rows = [
        [row.get(name, {"value": ""})["value"] for name in variables] for row in result["results"]["bindings"]
    ]
    return [tuple(names.get(text, compact(text)) for text in row) for row in rows]


def compact(text: str) -> str:
    if text == f"{datetime.now(UTC):%Y-%m}":
        return MONTH
    for prefix, space in vocabulary.MAPPING_PREFIXES.items():
        if text.startswith(space):
            return f"{prefix}:{text.removeprefix(space)}"
    return text


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_an_example_shows_everyone_what_is_public(registry: Registry, ids: dict[str, str], name: str) -> None:
    rows = ask(registry, ids, name, EVE)
    assert sorted(rows) == sorted(PUBLIC[name])
    assert SECRET not in str(rows)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_an_example_shows_a_party_its_drafts_as_well(
    registry: Registry, ids: dict[str, str], name: str
) -> None:
    expected = COUNTS.get(name, PUBLIC[name] | PRIVATE.get(name, set()))
    assert sorted(ask(registry, ids, name, ANN)) == sorted(expected)


def test_every_example_is_tested_and_there_are_twenty() -> None:
    assert sorted(PUBLIC) == list(example_queries())
    assert len(PUBLIC) >= 20


def test_events_are_in_the_order_of_time(registry: Registry, ids: dict[str, str]) -> None:
    kinds = [row[0] for row in ask(registry, ids, "events-of-identifier", EVE)]
    assert kinds == ["ids:Mint", "ids:Naming", "ids:Targeting", "ids:Bind", "ids:Fixation", "ids:Vetting"]
    assert [row[1] for row in ask(registry, ids, "target-history", EVE)] == [
        "http://example.org/1",
        "http://example.org/2",
    ]


def test_an_example_has_a_question_and_no_parameters() -> None:
    for example in example_queries().values():
        assert example.title[-1] == "?", example.name
        assert not example.parameters, example.name
