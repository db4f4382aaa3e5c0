"""The text of a journal row: a change or a note.

A change is a JSON list, a note is a JSON object. Terms of events are in N-Triples, other quads are in
N-Quads, IRIs of claims and graphs are plain text.

>>> decode(encode_note("counter", "7"))
Note(name='counter', text='7')
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter, index
from typing import Any, Final, NamedTuple

from pyoxigraph import NamedNode, Quad, RdfFormat
from pyoxigraph import parse as parse_rdf

from idstore.errors import IdstoreError
from idstore.model.change import Change, Claim
from idstore.model.event import decode as decode_event
from idstore.model.event import encode as encode_event
from idstore.model.listing import Listing
from idstore.model.record import Stage

_MALFORMED: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    IdstoreError,
    LookupError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""Errors that decoding a malformed text raises."""

_listing_fields = attrgetter(*Listing.__match_args__)
_dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


class Note(NamedTuple):
    """A text that the journal keeps under a name."""

    name: str
    text: str


def encode(change: Change) -> str:
    """Return the text of a change, without the records that its events begin: `decode` derives them."""
    return _dumps(
        (
            [(encode_event(event), graph.value) for event, graph in change.events],
            change.begins,
            _nquads(change.add),
            _nquads(change.remove),
            [(key.value, holder.value, digest) for key, holder, digest in change.claims],
            [_listing_fields(listing) for listing in change.listings],
            [(encode_event(event), graph.value) for event, graph in change.moved],
            change.issued,
        )
    )


def encode_note(name: str, text: str) -> str:
    """Return the text of a note."""
    return _dumps({"note": name, "text": text})


def decode(body: str) -> Change | Note:
    """Read the output of `encode` or `encode_note`; a change includes the records that its events begin.

    Raises ValueError if the text is not such an output.
    """
    try:
        body.encode()  # a damaged database may hold bytes that are not UTF-8
        values = json.loads(body)
        return _note(values) if isinstance(values, dict) else _change(values)
    except _MALFORMED as error:
        raise ValueError(f"the text is neither a change nor a note: {error}") from error


def _note(values: dict[str, Any]) -> Note:
    name, text = values.pop("note"), values.pop("text")
    if values or not (isinstance(name, str) and isinstance(text, str)):
        raise ValueError("a note has the keys note and text, both with a text")
    return Note(name, text)


def _change(values: list[Any]) -> Change:
    events, begins, add, remove, claims, listings, moved, issued = values
    change = Change(
        tuple((decode_event(event), NamedNode(graph)) for event, graph in events),
        begins,
        tuple(_read_nquads(add)),
        tuple(_read_nquads(remove)),
        tuple(Claim(NamedNode(key), NamedNode(holder), digest) for key, holder, digest in claims),
        tuple(Listing(*fields) for fields in listings),
        tuple((decode_event(event), NamedNode(graph)) for event, graph in moved),
        tuple((base, series, _number(number)) for base, series, number in issued),
    )
    _check(change)
    return replace(change, begun=tuple(change.records()))


def _check(change: Change) -> None:
    """Raise one of `_MALFORMED` if a value does not fit the projection."""
    if not change.events or not isinstance(change.begins, bool):
        raise ValueError("the change has no event, or the second field (begins) is not true or false")
    for event, _ in (*change.events, *change.moved):
        _number(event.token), _number(event.moment), event.node
    for listing in change.listings:
        Stage(listing.stage), _number(listing.created), _number(listing.fixated or 0)


def _number(value: int) -> int:
    """Return the value. Raises TypeError if it is not an integer, OverflowError if it exceeds 64 bits."""
    index(value).to_bytes(8, "big", signed=True)
    return value


def _nquads(quads: Iterable[Quad]) -> str:
    return "".join([f"{quad} .\n" for quad in quads])


def _read_nquads(text: str) -> list[Quad]:
    return list(parse_rdf(text, format=RdfFormat.N_QUADS)) if text else []
