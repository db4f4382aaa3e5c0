"""Laws that hold for every text, label and moment."""

from datetime import UTC, datetime
from itertools import islice

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from idstore.characters import unwanted
from idstore.errors import InvalidIdentifier
from idstore.schemes import Context, Scheme, handle, installed, pilin, puid, rdswip, scholars_portal
from idstore.schemes._text import Excerpt, encode
from idstore.testing import SimulatedAllocation, obeys

ARTICLES = scholars_portal.SCHEME.context("http://journals.example.org/", {})
HANDLE_RULES = handle.SCHEME.rules(handle.SCHEME.defaults)
RDL = rdswip.SCHEME.context("http://rdl.example.org/data#", {})

characters = st.characters(exclude_categories=["Cs"])
odd = st.text(st.one_of(characters, st.sampled_from("%#?/.: <>\n\x85\u200b\ufdd0R0")))
suffixes = st.text(st.characters(exclude_categories=["Cc", "Cs"], max_codepoint=0xFFFD), min_size=1).filter(
    lambda text: obeys(text, HANDLE_RULES) and not unwanted().search(text)
)
segments = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], max_codepoint=0x2FF, exclude_characters="./@ :"),
    min_size=1,
    max_size=6,
)
prefixes = (
    st.lists(segments, min_size=1, max_size=3)
    .map(".".join)
    .filter(lambda prefix: prefix != "0" and not prefix.startswith("0.") and not unwanted().search(prefix))
)
steps = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8)
puids = st.builds(
    "{}{}/{}".format, st.sampled_from(["", "x-"]), st.sampled_from(sorted(puid.DEFAULT_TYPES)), steps
)
numbers = st.builds(lambda _: next(rdswip.SCHEME.candidates(SimulatedAllocation(RDL))), st.integers())
moments = st.integers(pilin.EPOCH, pilin.END - 1)
issns = st.from_regex(r"[0-9]{4}-[0-9]{3}[0-9X]", fullmatch=True)
metadata = st.fixed_dictionaries(
    {"issn": issns}, optional={name: st.text(characters) for name in ("volume", "issue", "page", "title")}
)


def read_back(scheme: Scheme, context: Context, label: str) -> None:
    """Check that every written form is read as the label, and that parsed forms can be parsed again."""
    forms = scheme.written_forms(label, context)
    assert forms[0].text == scheme.iri(label, context)
    for form in forms:
        assert scheme.label(form.text, context) == label
    assert obeys(label, scheme.rules(context.settings))


@given(odd)
def test_encoding_is_undone_exactly(text: str) -> None:
    assert Excerpt.decoded(f"base/{encode(text)}", 5, "handle").text == text


@given(odd)
def test_positions_in_encoded_text_are_those_of_its_characters(text: str) -> None:
    excerpt = Excerpt.decoded(encode(text), 0, "handle")
    places = [excerpt.position(index) for index in range(len(text) + 1)]
    assert places == sorted(set(places))
    assert places[-1] == len(encode(text))


@pytest.mark.parametrize("name", list(installed()))
@given(text=odd)
def test_a_text_is_parsed_to_a_stable_form_or_refused_with_a_position(name: str, text: str) -> None:
    scheme = installed()[name]
    try:
        canonical = str(scheme.parse(text))
    except InvalidIdentifier as error:
        place = error.position
    else:
        place = 0
        assert str(scheme.parse(canonical)) == canonical
    assert 0 <= place <= len(text)


@given(prefixes, suffixes)
def test_handles_are_read_back(prefix: str, suffix: str) -> None:
    context = handle.SCHEME.context(f"https://hdl.handle.net/{encode(prefix)}/", {})
    read_back(handle.SCHEME, context, suffix)
    assert handle.SCHEME.context(context.base, context.settings) == context
    assert handle.parse(handle.SCHEME.iri(suffix, context)) == handle.Handle(prefix, suffix)


@given(suffixes, suffixes)
def test_equal_keys_are_equal_handles(one: str, other: str) -> None:
    context = handle.SCHEME.context("10.1045", {})
    for left, right in ((one, other), (one, one.swapcase() if one.isascii() else one)):
        same = handle.SCHEME.key(left, context) == handle.SCHEME.key(right, context)
        assert same == (handle.Handle("10.1045", left) == handle.Handle("10.1045", right))


@given(puids)
def test_puids_are_read_back(label: str) -> None:
    read_back(puid.SCHEME, puid.SCHEME.context("info:pronom/", {}), label)
    assert str(puid.parse(label)) == label


@given(numbers)
def test_drawn_numbers_are_read_back(label: str) -> None:
    read_back(rdswip.SCHEME, RDL, label)
    assert str(rdswip.parse(label)) == label


@given(moments)
def test_suffixes_are_read_back_and_tell_the_moment(moment: int) -> None:
    suffix = pilin.encode(moment)
    read_back(pilin.SCHEME, pilin.SCHEME.context("102.100.272", {}), suffix)
    assert pilin.decode(suffix) == moment
    assert pilin.parse(suffix.lower()) == pilin.parse(suffix)
    assert (pilin.parse(suffix).made - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() == pytest.approx(
        moment / 1000
    )


@given(moments, moments)
def test_different_moments_have_different_suffixes(one: int, other: int) -> None:
    assume(one != other)
    assert pilin.encode(one) != pilin.encode(other)


@given(metadata)
def test_derived_labels_are_read_back(given_metadata: dict[str, str]) -> None:
    for label in islice(scholars_portal.SCHEME.candidates(SimulatedAllocation(ARTICLES, given_metadata)), 3):
        read_back(scholars_portal.SCHEME, ARTICLES, label)
        assert str(scholars_portal.parse(label)) == label


@given(metadata, st.sampled_from(list(scholars_portal.KINDS)))
def test_labels_below_derived_labels_are_read_back(given_metadata: dict[str, str], kind: str) -> None:
    article = next(scholars_portal.SCHEME.candidates(SimulatedAllocation(ARTICLES, given_metadata)))
    below = SimulatedAllocation(ARTICLES, {"parent": article, "kind": kind})
    read_back(scholars_portal.SCHEME, ARTICLES, next(scholars_portal.SCHEME.candidates(below)))
