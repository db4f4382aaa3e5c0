"""The text of journal rows: written rows are read back, and other texts raise one type of error."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad

from idstore.model.change import Change, Claim
from idstore.model.codec import Note, decode, encode, encode_note
from idstore.model.event import Event
from idstore.model.listing import Listing
from idstore.vocabulary import IDS, PUBLIC_LOG, RDFS, SKOS

ORIGIN = "01234567-89ab-4cde-8f01-23456789abcd"
THING = NamedNode("http://n.example.org/a")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**63), 2**63 - 1)
TOKENS = st.integers(0, 2**63 - 1)
NODES = TEXTS.map(lambda text: NamedNode(f"http://n.example.org/{text.encode().hex()}"))
TERMS = (
    NODES
    | TEXTS.map(Literal)
    | TEXTS.map(lambda text: Literal(text, language="pt-br"))
    | NUMBERS.map(Literal)
)
QUADS = st.builds(Quad, NODES, NODES, TERMS, NODES)
EVENTS = st.builds(
    Event,
    st.just(ORIGIN),
    TOKENS,
    st.just(IDS.Comment),
    NODES.map(lambda node: node.value),
    TEXTS,
    NUMBERS,
    st.lists(st.tuples(NODES, TERMS), max_size=3).map(tuple),
)
LOGGED = st.tuples(EVENTS, NODES)


def several(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=3).map(tuple)


CHANGES = st.builds(
    Change,
    st.lists(LOGGED, min_size=1, max_size=3).map(tuple),
    st.just(value=False),
    several(QUADS),
    several(QUADS),
    several(st.builds(Claim, NODES, NODES, TEXTS)),
    several(
        st.builds(
            Listing,
            TEXTS,
            TEXTS,
            TEXTS,
            st.sampled_from(["created", "fixated", "tombstone", "released"]),
            st.none() | TEXTS,
            NUMBERS,
            st.none() | NUMBERS,
            st.booleans(),
        )
    ),
    several(LOGGED),
    several(st.tuples(TEXTS, TEXTS, NUMBERS)),
)


@given(CHANGES)
def test_a_change_is_read_as_it_was_written(change: Change) -> None:
    text = encode(change)
    assert decode(text) == change
    assert encode(change) == text
    assert "\n" not in text and "\0" not in text


@given(TEXTS, TEXTS)
def test_a_note_is_read_as_it_was_written(name: str, text: str) -> None:
    assert decode(encode_note(name, text)) == Note(name, text)


def mint() -> Change:
    """A change whose event begins a record."""
    arguments = (
        (IDS.inNamespace, NamedNode("http://n.example.org/")),
        (IDS.type, IDS.Handle),
        (SKOS.notation, Literal("a")),
        (RDFS.label, Literal("ball")),
    )
    event = Event(ORIGIN, 5, IDS.Mint, THING.value, "alice", 1_700_000_000_000, arguments)
    return Change(
        ((event, PUBLIC_LOG),),
        begins=True,
        claims=(Claim(THING, THING),),
        issued=(("http://n.example.org/", "", 1),),
    )


def test_the_records_that_events_begin_come_with_the_change() -> None:
    change = decode(encode(mint()))
    assert isinstance(change, Change)
    assert [record.iri for record in change.begun] == [THING.value]
    assert list(change.records()) == list(mint().records())
    assert not decode(encode(replace(mint(), begins=False))).begun  # type: ignore[union-attr]


def changed(place: tuple[int, ...], value: object) -> str:
    """Return the text of a change with another value at ``place``."""
    values = inner = json.loads(encode(mint()))
    *path, last = place
    for step in path:
        inner = inner[step]
    inner[last] = value
    return json.dumps(values)


MALFORMED = {
    "empty": "",
    "no JSON": encode(mint())[:-1],
    "a number": "7",
    "too short": "[]",
    "no event": '[[],false,"","",[],[],[],[]]',
    "bytes that are no text": "\udce1",
    "half a character": encode(mint()).replace("ball", "\\ud83d"),
    "deeply nested": "[" * 100_000,
    "another act": changed((0, 0, 0, 2), "Mimt"),
    "no IRI": changed((0, 0, 0, 3), "no IRI"),
    "no graph": changed((0, 0, 1), "no IRI"),
    "no origin": changed((0, 0, 0, 0), "a b"),
    "no moment": changed((0, 0, 0, 5), 1.5),
    "too large a token": changed((0, 0, 0, 1), 2**64),
    "neither yes nor no": changed((1,), 1),
    "no quads": changed((2,), "<a> <b> ."),
    "no claims": changed((4,), [["http://n.example.org/a"]]),
    "a claim of old": changed((4,), [["http://n.example.org/a", "http://n.example.org/a"]]),
    "no stage": changed((5,), [["a", "b", "c", "gone", None, 1, None, True]]),
    "no time of creation": changed((5,), [["a", "b", "c", "created", None, "1", None, True]]),
    "no number of a label": changed((7,), [["http://n.example.org/", "", "1"]]),
    "a note without text": '{"note":"a"}',
    "a note with more": '{"note":"a","text":"b","more":"c"}',
    "a note that is a number": '{"note":"a","text":7}',
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_a_text_that_encode_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the text is neither a change nor a note"):
        decode(text)
