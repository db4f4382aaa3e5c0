"""Values of handles in the Handle API's JSON: they survive it, and no other JSON is more than refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idstore.model import times

pytest.importorskip("fastapi", reason="the extra server is not installed")

from idstore.model.value import Value
from idstore.schemes.handle_values import Admin, Reference
from idstore.server.handles.answers import Refusal, refusal
from idstore.server.handles.values import drafts, value_json

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
ADMIN = st.builds(
    Admin, st.builds(Reference, st.integers(0, 2**31 - 1), st.just("0.NA/1.2:3")), st.integers(0, 4095)
)
DATA = st.one_of(
    st.tuples(st.just("DESC"), TEXT | st.binary()),
    st.tuples(st.just("HS_ADMIN"), ADMIN.map(str)),
    st.tuples(st.just("HS_VLIST"), st.just("300:1/a;200:1/b")),
)
VALUES = st.builds(
    lambda index, data, ttl, until, permissions: Value(
        index, data[0], data[1], times.of(0), ttl, until, f"{permissions:04b}"
    ),
    st.integers(1, 2**31 - 1),
    DATA,
    st.integers(0, 2**31 - 1),
    st.none() | st.integers(0, 4_000_000_000).map(lambda second: times.of(second * 1000)),
    st.integers(0, 15),
)
WORDS = st.sampled_from(
    ["index", "type", "data", "ttl", "permissions", "values", "handle", "format", "value"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=12,
)


@given(st.lists(VALUES, min_size=1, max_size=5, unique_by=lambda value: value.index))
def test_values_survive(values: list[Value]) -> None:
    body = json.dumps([value_json(value) for value in values]).encode()
    for draft, value in zip(drafts(body, None), values, strict=True):
        read = (draft.index, draft.type, draft.data, draft.until, draft.permissions)
        assert read == (value.index, value.type, value.data, value.until, value.permissions)
        assert value.until is not None or draft.ttl == value.ttl


@given(JSON.map(json.dumps).map(str.encode) | st.binary())
def test_other_bodies_are_refused_with_a_message(body: bytes) -> None:
    try:
        drafts(body, "1/a")
    except Refusal as error:
        assert json.loads(bytes(refusal(error).body))["responseCode"] in (4, 201, 202)
