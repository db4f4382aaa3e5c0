"""PUIDs: types, authority, numbering."""

import gzip
import re
from itertools import islice
from pathlib import Path

import pytest
from tables import rows

from idstore.errors import InvalidData, InvalidIdentifier, NotPermitted
from idstore.schemes import puid
from idstore.schemes.puid import DEFAULT_TYPES, SCHEME
from idstore.testing import SimulatedAllocation

PRONOM = SCHEME.context("info:pronom/", {})
OWN = SCHEME.context("http://formats.example.org/puid/", {})


def minted(allocation: SimulatedAllocation, count: int = 2) -> list[str]:
    return list(islice(SCHEME.candidates(allocation), count))


@pytest.mark.parametrize(
    "text",
    [
        "fmt/18",
        "info:pronom/fmt/18",
        "INFO:PRONOM/fmt/18",
        "http://www.nationalarchives.gov.uk/PRONOM/fmt/18",
        "https://www.nationalarchives.gov.uk/pronom/fmt/18",
        "HTTP://NationalArchives.gov.uk/Pronom/fmt/18",
        "http://www.nationalarchives.gov.uk/PRONOM/fmt/18.xml",
        "https://pronom.nationalarchives.gov.uk/fmt/18/",
        "https://pronom.nationalarchives.gov.uk/fmt/18?format=json#sig",
    ],
)
def test_written_forms(text: str) -> None:
    assert SCHEME.label(text, PRONOM) == "fmt/18"
    assert puid.parse(text) == puid.Puid("fmt", "18")


def test_pronoms_forms_are_not_those_of_another_base() -> None:
    assert SCHEME.label("http://formats.example.org/puid/fmt/18", OWN) == "fmt/18"
    with pytest.raises(InvalidIdentifier, match="belongs to PRONOM") as caught:
        SCHEME.label("info:pronom/fmt/18", OWN)
    assert caught.value.position == 0


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("fmt", 3),
        ("fmt/", 4),
        ("Fmt/18", 0),
        ("fMt/18", 1),
        ("fmt/18X", 6),
        ("fmt/18\n", 6),
        ("fmt//18", 4),
        ("x-", 2),
        ("x-/1", 2),
        ("x-x-fmt/1", 3),
        ("lan/1", 0),
        ("x-lan/1", 2),
        ("info:pronom/fmt", 15),
        ("info:pronom/lan/1", 12),
        ("http://www.nationalarchives.gov.uk/PRONOM/fmt/978.pdf", 49),
    ],
)
def test_errors_state_the_position(text: str, position: int) -> None:
    with pytest.raises(InvalidIdentifier) as caught:
        puid.parse(text)
    assert caught.value.position == position


def test_provisional_types() -> None:
    assert SCHEME.provisional("x-fmt/263", PRONOM)
    assert not SCHEME.provisional("fmt/18", PRONOM)


@pytest.mark.parametrize(
    ("base", "settings", "authority"),
    [
        ("info:pronom/", {}, "external"),
        ("info:pronom/", {"authority": "own"}, "own"),
        ("http://formats.example.org/puid#", {}, "own"),
        ("http://formats.example.org/puid#", {"authority": "external"}, "external"),
    ],
)
def test_authority(base: str, settings: dict[str, str], authority: str) -> None:
    assert SCHEME.context(base, settings).settings == {
        "types": "|".join(DEFAULT_TYPES),
        "authority": authority,
        "reserved": "",
    }


def test_types_are_a_setting() -> None:
    context = SCHEME.context("http://formats.example.org/puid/", {"types": "fmt|lan|fmt"})
    assert context.settings["types"] == "fmt|lan"
    assert SCHEME.label("x-lan/1", context) == "x-lan/1"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("types", ""),
        ("types", "fmt|"),
        ("types", "x-fmt"),
        ("types", "Fmt"),
        ("authority", "tna"),
        ("reserved", "fmt/1-9"),
        ("reserved", "x-fmt/9-1"),
        ("reserved", "x-fmt/1"),
        ("reserved", "x-lan/1-9"),
        ("type", "fmt"),
    ],
)
def test_settings_that_are_refused_are_named(setting: str, value: str) -> None:
    with pytest.raises(InvalidData) as caught:
        SCHEME.context("info:pronom/", {setting: value})
    assert caught.value.fields["setting"] == setting


@pytest.mark.parametrize("base", ["info:pronom", "formats/", "", "http://a b/"])
def test_bases_that_are_refused(base: str) -> None:
    with pytest.raises(InvalidData, match=r"formats\.example\.org"):
        SCHEME.context(base, {})


def test_puids_of_another_authority_are_minted_in_a_reserved_range_alone() -> None:
    for kind in ("fmt", "x-fmt"):
        with pytest.raises(NotPermitted, match="come by import; to assign provisional ones") as caught:
            minted(SimulatedAllocation(PRONOM, {"type": kind}))
        assert caught.value.fields["field"] == "type"
    some = SCHEME.context("info:pronom/", {"reserved": "x-fmt/500-501  x-fmt/900-999"})
    assert some.settings["reserved"] == "x-fmt/500-501 x-fmt/900-999"
    for highest, first in ((455, "x-fmt/500"), (500, "x-fmt/501"), (901, "x-fmt/902"), (5000, "x-fmt/500")):
        assert minted(SimulatedAllocation(some, {"type": "x-fmt"}, marks={"x-fmt": highest}))[0] == first
    with pytest.raises(InvalidData, match="authority=own assigns every PUID"):
        SCHEME.context("info:pronom/", {"authority": "own", "reserved": "x-fmt/1-2"})


def test_own_puids_count_by_type_from_the_highest_ever_issued() -> None:
    assert minted(SimulatedAllocation(OWN)) == ["fmt/1", "fmt/2"]
    assert minted(SimulatedAllocation(OWN, {"type": "sfw"}, marks={"sfw": 7, "fmt": 9})) == ["sfw/8", "sfw/9"]
    assert minted(SimulatedAllocation(OWN, {"type": "x-chr"})) == ["x-chr/1", "x-chr/2"]


@pytest.mark.parametrize("kind", ["lan", "x-", "x-x-fmt", "FMT"])
def test_unknown_types_are_not_minted(kind: str) -> None:
    with pytest.raises(InvalidData, match="chr, cmp, fmt, hdw, sfw"):
        minted(SimulatedAllocation(OWN, {"type": kind}))


@pytest.mark.parametrize(
    ("label", "series"),
    [
        ("fmt/18", ("fmt", 18)),
        ("x-fmt/0018", ("x-fmt", 18)),
        ("fmt/a1", ("fmt", 0)),
        ("fmt/" + "9" * 18, ("fmt", 10**18 - 1)),
        ("fmt/" + "9" * 5000, ("fmt", 0)),
    ],
)
def test_series(label: str, series: tuple[str, int]) -> None:
    assert SCHEME.series(label, PRONOM) == series


@pytest.mark.realdata
def test_every_puid_of_pronom(real_data: Path) -> None:
    with gzip.open(real_data / "DROID_SignatureFile_V122.xml.gz", "rt", encoding="utf-8") as signatures:
        known = re.findall(r' PUID="([^"]*)"', signatures.read())
    assert len(known) == 2544
    assert {row["puid"] for row in rows(real_data / "puids.tsv")} <= set(known)
    assert [str(puid.parse(text)) for text in known] == known
    assert [SCHEME.label(f"info:pronom/{text}", PRONOM) for text in known] == known
    highest: dict[str, int] = {}
    for text in known:
        series, number = SCHEME.series(text, PRONOM)
        highest[series] = max(number, highest.get(series, 0))
    assert highest == {"fmt": 2091, "x-fmt": 455}
