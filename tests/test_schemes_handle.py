"""Handles: characters, written forms, comparison, prefixes."""

from itertools import islice
from pathlib import Path

import pytest
from tables import rows

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.schemes import Restricting, handle
from idstore.schemes.handle import SCHEME
from idstore.schemes.pilin import decode
from idstore.testing import SimulatedAllocation

CONTEXT = SCHEME.context("12345", {})
SICI = "10.1002/(SICI)1096-8644(199601)99:1<135::AID-AJPA8>3.0.CO;2-#"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("a", "a"),
        ("12345/a", "a"),
        ("12345/12345/a", "12345/a"),
        ("hdl:12345/%3C", "%3C"),
        ("12345/%3C", "%3C"),
        ("https://hdl.handle.net/12345/%3C", "<"),
        ("https://hdl.handle.net/12345/%253C", "%3C"),
        ("info:hdl/12345/%253C", "%3C"),
        ("https://hdl.handle.net/12345/a+b", "a+b"),
        ("https://hdl.handle.net/12345/é%C3%A9<", "éé<"),
        ("https://hdl.handle.net/12345%2Fa/b/", "a/b/"),
        ("http://resolver.net.au/hdl/12345/a", "a"),
        ("HTTPS://HDL.HANDLE.NET/12345/A", "A"),
        ("67890/a", "67890/a"),
        ("fmt/18", "fmt/18"),
    ],
)
def test_written_forms(text: str, label: str) -> None:
    assert SCHEME.label(text, CONTEXT) == label


@pytest.mark.parametrize(
    "text",
    [
        "doi:{}",
        "DOI: {}",
        "info:doi/{}",
        "https://doi.org/{}",
        "http://dx.doi.org/{}",
        "hdl:{}",
        "{}",
        "info:hdl/{}",
    ],
)
def test_written_forms_of_doi_names(text: str) -> None:
    assert str(handle.parse(text.format("10.1045/april2006-paskin"))) == "10.1045/april2006-paskin"


@pytest.mark.parametrize(
    ("label", "iri"),
    [
        ("%3C", "%253C"),
        ("#", "%23"),
        ("a b?", "a%20b%3F"),
        ('"<>{}|\\^`[]', "%22%3C%3E%7B%7D%7C%5C%5E%60%5B%5D"),
        ("é中/:;@!$&'()*+,=~-._", "é中/:;@!$&'()*+,=~-._"),
        ("a/../.", "a/%2E%2E/%2E"),
        ("a..b/.c", "a..b/.c"),
        ("\u200b\u00a0\u2028\ue000", "%E2%80%8B%C2%A0%E2%80%A8%EE%80%80"),
    ],
)
def test_iris_are_encoded_as_far_as_an_iri_demands(label: str, iri: str) -> None:
    assert SCHEME.iri(label, CONTEXT) == f"https://hdl.handle.net/12345/{iri}"
    assert SCHEME.label(SCHEME.iri(label, CONTEXT), CONTEXT) == label


def test_a_label_that_looks_like_another_form_is_not_offered_bare() -> None:
    for label in ("12345/a", "hdl:67890/a", "https://example.org/"):
        assert "bare" not in [form.kind for form in SCHEME.written_forms(label, CONTEXT)]
    assert "bare" in [form.kind for form in SCHEME.written_forms("67890/a", CONTEXT)]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("10.1000", 7),
        ("10.1000/", 8),
        ("/a", 0),
        (".10/a", 0),
        ("10..1/a", 3),
        ("10.1./a", 5),
        (" 10.1/a", 0),
        ("1..2\x07/a", 2),
        ("1\x07..2/a", 1),
        ("1\x07", 1),
        ("10.1/😀\x07", 5),
        ("10.1\x07/a", 4),
        ("10.1/a\x85", 6),
        ("10.1/a\x7f", 6),
        ("10.1/a\ufdd0", 6),
        ("10.1/a\ud800", 6),
        ("10.1/aé😀", 7),
        ("https://doi.org/10.1/a%C3%A9%F0%9F%98%80", 28),
        ("https://doi.org/10.1/a%0Ab", 22),
        ("https://doi.org/10.1/%C3%A9%C3", 27),
        ("https://doi.org/10.1/a%2", 22),
        ("https://doi.org/10.1/a%C3b", 22),
        ("https://doi.org/10.1/a#b", 22),
        ("https://doi.org/20.1/a", 16),
        ("doi:20.1/a", 4),
        ("https://doi.org/", 16),
        ("info:pronom/fmt/18", 0),
        ("https://doi.org.uk/10.3403/a", 0),
    ],
)
def test_errors_state_the_position(text: str, position: int) -> None:
    with pytest.raises(InvalidIdentifier) as caught:
        handle.parse(text)
    assert caught.value.position == position


def test_characters_beyond_the_bmp_are_a_setting() -> None:
    with pytest.raises(InvalidIdentifier, match="UCS-2"):
        SCHEME.label("😀", CONTEXT)
    assert SCHEME.label("😀", SCHEME.context("12345", {"bmp_only": "false"})) == "😀"


def test_nothing_is_normalised() -> None:
    composed, combining = SCHEME.label("\u00e9", CONTEXT), SCHEME.label("e\u0301", CONTEXT)
    assert SCHEME.key(composed, CONTEXT) != SCHEME.key(combining, CONTEXT)


def test_case_is_folded_in_the_key_alone() -> None:
    assert SCHEME.label("april-ÉE", CONTEXT) == "april-ÉE"
    assert SCHEME.key("april-ÉE", CONTEXT) == "april-ÉE"


@pytest.mark.parametrize(
    ("base", "case_sensitive"), [("12345", "false"), ("10.1045", "true"), ("10.1045", "false")]
)
def test_only_ascii_letters_are_folded(base: str, case_sensitive: str) -> None:
    context = SCHEME.context(base, {"case_sensitive": case_sensitive})
    assert SCHEME.key("april-éE", context) == SCHEME.key("APRIL-ée", context)
    assert SCHEME.key("É", context) != SCHEME.key("é", context)


def test_handles_compare_as_the_standard_says() -> None:
    assert handle.parse("10.ABC/x") == handle.parse("doi:10.abc/X")
    assert handle.parse("loc.mss/x") == handle.parse("LOC.MSS/x")
    assert handle.parse("loc.mss/x") != handle.parse("loc.mss/X")
    assert handle.parse("0.NA/10.abc") == handle.parse("0.na/10.ABC")
    assert handle.parse("20.1000/5555") != handle.parse("20.1000/5555/")
    assert len({handle.parse("10.1/a"), handle.parse("10.1/A")}) == 1
    assert handle.parse("1/a") < handle.parse("1/b")
    assert handle.parse("1/a") != "1/a"


def test_another_prefix_is_an_error() -> None:
    with pytest.raises(InvalidIdentifier, match="67890, not 12345") as caught:
        SCHEME.label("hdl:67890/a", CONTEXT)
    assert caught.value.position == 0


@pytest.mark.parametrize(
    ("base", "stored"),
    [
        ("10.1045", "10.1045"),
        ("doi:10.1045", "10.1045"),
        ("https://doi.org/10.1045/", "10.1045"),
        ("info:hdl/21.T11148", "21.T11148"),
        ("loc.müller", "loc.müller"),
        ("a%b?", "a%25b%3F"),
    ],
)
def test_bases_are_prefixes_in_any_form(base: str, stored: str) -> None:
    context = SCHEME.context(base, {})
    assert context.base == f"https://hdl.handle.net/{stored}/"
    assert SCHEME.context(context.base, context.settings) == context


@pytest.mark.parametrize(
    "base",
    [
        "",
        "0.NA",
        "0",
        "0.TYPE",
        "10..1",
        "10.1/a",
        "a@b",
        "http://example.org/",
        "doi:20.1",
        "hdl:",
        "10.1\n",
        "https://doi.org/10.1?",
    ],
)
def test_bases_that_are_refused(base: str) -> None:
    with pytest.raises(InvalidData):
        SCHEME.context(base, {})


@pytest.mark.parametrize(
    ("base", "parent", "stored"),
    [
        ("12345.1", "12345", "12345"),
        ("12345.1", "https://hdl.handle.net/12345/", "12345"),
        ("loc.MSS.a", "LOC.mss", "LOC.mss"),
    ],
)
def test_a_derived_prefix_extends_its_parent_by_one_segment(base: str, parent: str, stored: str) -> None:
    assert SCHEME.context(base, {"parent": parent}).settings["parent"] == stored


@pytest.mark.parametrize(
    ("base", "parent"), [("12345.1.2", "12345"), ("12345", "12345"), ("12346.1", "12345"), ("12345", "1/2")]
)
def test_other_prefixes_are_not_derived(base: str, parent: str) -> None:
    with pytest.raises(InvalidData):
        SCHEME.context(base, {"parent": parent})


@pytest.mark.parametrize(
    "settings", [{"suffix": "serial"}, {"case_sensitive": "no"}, {"bmp_only": "1"}, {"case": "x"}]
)
def test_settings_that_are_refused_are_named(settings: dict[str, str]) -> None:
    with pytest.raises(InvalidData) as caught:
        SCHEME.context("12345", settings)
    assert caught.value.fields["setting"] in settings


def test_minting_by_clock_or_by_chance() -> None:
    clock = 1_800_000_000_000
    by_clock = list(islice(SCHEME.candidates(SimulatedAllocation(CONTEXT, clock=clock)), 2))
    assert [decode(label) for label in by_clock] == [clock, clock + 1]
    by_chance = next(SCHEME.candidates(SimulatedAllocation(SCHEME.context("12345", {"suffix": "uuid"}))))
    assert [len(part) for part in by_chance.split("-")] == [8, 4, 4, 4, 12]


@pytest.mark.realdata
def test_real_handles_keep_every_character(real_data: Path) -> None:
    known = rows(real_data / "handles.tsv")
    assert len(known) == 10_465
    invisible = [row["pid"] for row in known if "\u200b" in row["pid"]]
    assert len(invisible) == 4  # no new handle may be like these
    for pid in invisible:
        with pytest.raises(InvalidIdentifier, match=r"U\+200B is an invisible character"):
            handle.parse(pid)
        prefix, _, suffix = pid.partition("/")
        if prefix.isascii():
            assert SCHEME.label(pid, SCHEME.context(prefix, {})) == suffix
    for row in known:
        if row["pid"] in invisible:
            continue
        name = handle.parse(row["pid"])
        assert str(name) in {row["pid"], row["pid"].removeprefix("DOI:").lstrip(" ")}
        context = SCHEME.context(name.prefix, {})
        forms = SCHEME.written_forms(name.suffix, context)
        assert [SCHEME.label(form.text, context) for form in forms] == [name.suffix] * len(forms)
        assert all(handle.parse(form.text) == name for form in forms if form.kind != "bare")
        if row["case_variants"] and row["kind"] == "doi":
            assert all(handle.parse(variant) == name for variant in row["case_variants"].split("|"))


UNWANTED = [
    *("\x00", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066", "\u200e", "\u061c"),
    *("\u200b", "\u200d", "\ufeff", "\u2060", "\u00ad", "\ufdd0", "\uffff", "\u0378", "\ud800", "\u0530"),
]


@pytest.mark.parametrize("character", UNWANTED)
def test_a_new_handle_has_no_unwanted_character(character: str) -> None:
    scheme = handle.SCHEME
    context = scheme.context("12345", {})
    assert isinstance(scheme, Restricting)
    with pytest.raises(InvalidIdentifier) as caught:
        scheme.check_new(f"a{character}b", context)
    assert caught.value.position == 1
    with pytest.raises(InvalidIdentifier):
        handle.parse(f"12345/a{character}b")
    if character not in "\x00\ud800":
        assert scheme.label(f"12345/a{character}b", context) == f"a{character}b"


@pytest.mark.parametrize("label", ["é", "中", "\u0301", "a b", "\u3000", "\ue000"])
def test_a_new_handle_may_have_other_characters(label: str) -> None:
    scheme = handle.SCHEME
    assert isinstance(scheme, Restricting)
    scheme.check_new(label, scheme.context("12345", {}))
