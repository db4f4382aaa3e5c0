"""A party that signs in elsewhere has one name, however it is typed."""

import sys
import unicodedata

import pytest

pytest.importorskip("starlette", reason="the extra server is not installed")

from idstore.server.sign_in.names import canonical


@pytest.mark.parametrize(
    "typed",
    [
        "müller",
        "MÜLLER",
        "mu\u0308ller",
        "MU\u0308LLER",
        "ｍüller",
        "m\N{MATHEMATICAL BOLD SMALL U}\u0308ller",
    ],
)
def test_each_way_of_typing_gives_one_name(typed: str) -> None:
    assert canonical(typed) == "müller"


@pytest.mark.parametrize(
    "typed",
    [
        *("", " alice", "alice ", "al ice", "*", "alice)(uid=*", "alice,dc=x", "al\0ice", "al\u200bice"),
        *("alice\n", "cn=alice", "al\\2aice", "a" * 129, "\ufdfa" * 20, "alice:bob", "alice/bob", "\ud800"),
        "-alice",
    ],
)
def test_what_can_be_no_name_is_none(typed: str) -> None:
    assert canonical(typed) is None


def test_a_canonical_name_stays_as_it_is() -> None:
    for code in range(sys.maxunicode + 1):
        name = canonical(f"a{chr(code)}")
        if name is not None:
            assert canonical(name) == name, hex(code)
            assert unicodedata.normalize("NFC", name) == name
