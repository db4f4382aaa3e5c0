"""PILIN: suffixes and their times, written forms, the clock."""

import re
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest
from tables import VECTORS, rows

from idstore.errors import InvalidData, InvalidIdentifier, NamespaceExhausted
from idstore.schemes import pilin
from idstore.schemes.pilin import ALPHABET, END, EPOCH, SCHEME, decode, encode
from idstore.testing import SimulatedAllocation

CONTEXT = SCHEME.context("102.100.272", {})


def written(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def slowly(moment: int) -> str:
    """Encode as the policy describes it, digit by digit."""
    count, digits = moment - EPOCH, ""
    while count:
        count, digit = divmod(count, 31)
        digits += ALPHABET[digit]
    return digits.ljust(9, "0")


@pytest.mark.parametrize(
    "row", [row for row in rows(VECTORS / "pilin.tsv") if row["made"]], ids=lambda row: row["text"]
)
def test_published_suffixes_contain_their_time(row: dict[str, str]) -> None:
    handle = pilin.parse(row["text"])
    assert written(handle.made) == row["made"]
    assert encode(decode(handle.suffix)) == handle.suffix


def test_the_epoch_is_that_of_uuids() -> None:
    assert datetime(1582, 10, 15, tzinfo=UTC).timestamp() * 1000 == EPOCH


@pytest.mark.parametrize(
    "moment",
    [EPOCH, EPOCH + 1, EPOCH + 30, EPOCH + 31, EPOCH + 960, EPOCH + 961, 0, 1_180_064_992_865, END - 1],
)
def test_encoding_follows_the_policy(moment: int) -> None:
    assert encode(moment) == slowly(moment)
    assert decode(encode(moment)) == moment


def test_the_last_suffix_is_the_last_time() -> None:
    assert encode(END - 1) == "ZZZZZZZZZ"
    assert written(pilin.parse("ZZZZZZZZZ").made) == "2420-08-16T03:29:20.670Z"


@pytest.mark.parametrize("moment", [END, EPOCH - 1])
def test_times_beyond_nine_symbols_are_refused(moment: int) -> None:
    with pytest.raises(NamespaceExhausted):
        next(SCHEME.candidates(SimulatedAllocation(CONTEXT, clock=moment)))


def test_a_taken_millisecond_is_waited_out() -> None:
    allocation = SimulatedAllocation(CONTEXT, clock=1_180_064_992_865)
    candidates = SCHEME.candidates(allocation)
    for passed in range(3):
        assert decode(next(candidates)) == allocation.clock == 1_180_064_992_865 + passed


def test_milliseconds_that_pass_during_a_wait_are_used() -> None:
    allocation = SimulatedAllocation(CONTEXT, clock=1_180_064_992_865, waited=3)
    moments = [decode(label) for label in islice(SCHEME.candidates(allocation), 6)]
    assert moments == list(range(1_180_064_992_862, 1_180_064_992_868))


def test_minting_follows_a_clock_set_back_during_a_wait() -> None:
    allocation = SimulatedAllocation(CONTEXT, clock=1_180_064_992_865, waited=-60_000)
    assert decode(next(SCHEME.candidates(allocation))) == 1_180_064_992_865


def test_minting_waits_for_a_clock_set_back() -> None:
    class SetBack(SimulatedAllocation):
        def wait_until(self, moment: int) -> None:
            self.clock = moment - 100_000

    candidates = SCHEME.candidates(SetBack(CONTEXT, clock=2_000_000_000_000))
    assert [decode(label) for label in islice(candidates, 3)] == [
        2_000_000_000_000,
        1_999_999_900_001,
        1_999_999_800_002,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Y35XYS0QH",
        "y35xys0qh",
        "102.100.272/Y35XYS0QH",
        "hdl:102.100.272/Y35XYS0QH",
        "HDL:/102.100.272/y35xys0qh",
        "info:hdl/102.100.272/Y35XYS0QH",
        "info:hdl:102.100.272/Y35XYS0QH",
        "https://hdl.handle.net/102.100.272/Y35XYS0QH",
        "http://hdl.handle.net/102.100.272/Y35XYS0QH",
        "http://resolver.net.au/hdl/102.100.272/Y35XYS0QH",
        "https://hdl.handle.net/102.100.272%2F%59%335XYS0QH",
    ],
)
def test_written_forms(text: str) -> None:
    assert SCHEME.label(text, CONTEXT) == "Y35XYS0QH"
    assert pilin.parse(text).suffix == "Y35XYS0QH"


def test_the_policy_on_citations_is_followed() -> None:
    forms = {form.text for form in SCHEME.written_forms("Y35XYS0QH", CONTEXT)}
    assert {"hdl:102.100.272/Y35XYS0QH", "http://resolver.net.au/hdl/102.100.272/Y35XYS0QH"} <= forms


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("Y35XYS0Q", 8),
        ("Y35XYS0QHH", 9),
        ("Y35XYS0QO", 8),
        ("YE5", 1),
        ("Y35XYS0QH\n", 9),
        ("102.100.272/Y35", 15),
        ("102.100.272/Y3U", 14),
        ("https://hdl.handle.net/102.100.272%2F%59%33E", 43),
        ("102.100.271/Y35XYS0QH", 0),
        ("hdl:102.100.271/Y35XYS0QH", 0),
        ("hdl:102.100.272", 15),
        ("ftp://hdl.handle.net/102.100.272/Y35XYS0QH", 0),
    ],
)
def test_errors_state_the_position(text: str, position: int) -> None:
    with pytest.raises(InvalidIdentifier) as caught:
        SCHEME.label(text, CONTEXT)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "base",
    [
        "102.100.272",
        "102.100.272/",
        "hdl:102.100.272",
        "http://hdl.handle.net/102.100.272/",
        "http://resolver.net.au/hdl/102.100.272",
    ],
)
def test_bases_are_prefixes_in_any_form(base: str) -> None:
    assert SCHEME.context(base, {}).base == CONTEXT.base == "https://hdl.handle.net/102.100.272/"


def test_a_derived_prefix_names_its_parent() -> None:
    assert SCHEME.context("102.100.272", {"parent": "hdl:102.100"}).settings["parent"] == "102.100"
    with pytest.raises(InvalidData, match=r"102\.200\.SEGMENT"):
        SCHEME.context("102.100.272", {"parent": "102.200"})


def test_handles_compare_by_prefix_and_suffix() -> None:
    one, other = pilin.parse("hdl:102.100.archer/Y35XYS0QH"), pilin.parse("102.100.ARCHER/y35xys0qh")
    assert one == other
    assert hash(one) == hash(other)
    assert one != pilin.parse("Y35XYS0QH")
    assert one != "102.100.archer/Y35XYS0QH"
    assert pilin.parse("0N8J991QH") < one


def test_minting_needs_only_the_clock() -> None:
    drawn = list(islice(SCHEME.candidates(SimulatedAllocation(CONTEXT)), 3))
    assert len(set(drawn)) == 3


@pytest.mark.realdata
def test_every_published_suffix(real_data: Path) -> None:
    refused = []
    for row in rows(real_data / "pilin_vectors.tsv"):
        try:
            handle = pilin.parse(row["suffix"])
        except InvalidIdentifier as error:
            refused.append((row["suffix"], error.position))
        else:
            assert written(handle.made) == row["decoded_utc"]
            assert decode(handle.suffix) - EPOCH == int(row["ms_since_1582-10-15"])
    assert refused == [("BS47MFQH", 8), ("BH93VNQH", 8)]


@pytest.mark.parametrize("proxy", ["http://resolver.net.au/hdl/", "https://pid.example.org/x/"])
def test_an_address_of_any_resolver_is_decoded(proxy: str) -> None:
    context = SCHEME.context("102.100.272", {"proxy": proxy, "alias": "10378.3"})
    for whole in ("102.100.272/%5935XYS0QH", "102%2E100.272/y35xys0qh", "10378.3%2FY35XYS0QH"):
        assert (
            SCHEME.label(proxy + whole, context)
            == SCHEME.label("https://hdl.handle.net/" + whole, context)
            == "Y35XYS0QH"
        )
    for whole, mark in (("102.100.272/Y35XYS0QH?a", "?"), ("102.100.272/Y35XYS0QH#a", "#")):
        with pytest.raises(InvalidIdentifier, match=re.escape(f"'{mark}' ends an address")) as caught:
            SCHEME.label(proxy + whole, context)
        assert caught.value.position == len(proxy) + whole.index(mark)
    with pytest.raises(InvalidIdentifier, match="'%' is not one of the symbols") as caught:
        SCHEME.label(proxy + "102%2E100.272/%253511111", context)
    assert caught.value.position == len(proxy) + len("102%2E100.272/")
