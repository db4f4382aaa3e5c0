"""Addresses of redirects: IRIs as URIs, and texts of requests that change no host."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="the extra server is not installed")

from idstore.server.resolution.handle_proxy import ProxyQuery
from idstore.web_addresses import location

TARGETS = [
    "http://a.example",
    "http://a.example:8080",
    "https://user@a.example/",
    "http://a.example/x",
    "http://a.example/x?q=1",
    "http://a.example/x#f",
    "http://a.example?q",
    "http://[2001:db8::1]",
    "http://bücher.example",
]
HOSTILE = [
    "@evil.example", ".evil.example", ":80@evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example",  # noqa: E501
    "\r\nLocation: http://evil.example", "\t//evil.example", "%0d%0aSet-Cookie: a=b", "\u2028@evil.example",
    "\uff20evil.example", "\u3002evil.example", "?#@evil.example", "", " ", "%", "%zz", "\x00", "\U0001f4a9",
]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("http://www.example.org/straße?ü=ß#é", "http://www.example.org/stra%C3%9Fe?%C3%BC=%C3%9F#%C3%A9"),
        ("http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/"),  # RFC 6761 and IANA's test domains
        ("http://ex.org/a%20b", "http://ex.org/a%20b"),
        ("http://ex.org/a%zz", "http://ex.org/a%25zz"),
        ("http://ex.org/#a#b", "http://ex.org/#a%23b"),
        ("HTTP://EX.org/", "HTTP://EX.org/"),
        ("mailto:a@b.example", None),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("http:///nowhere", None),
        ("urn:isbn:0451450523", None),
    ],
)
def test_a_target_becomes_a_uri(target: str, address: str | None) -> None:
    assert location(target) == address


@given(st.sampled_from(TARGETS), st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(codec="utf-8"))))
def test_what_is_appended_changes_no_host(target: str, appended: str) -> None:
    plain, address = location(target), location(target, appended)
    assert plain is not None and address is not None
    assert urlsplit(address).netloc == urlsplit(plain).netloc
    assert address.isascii() and address.isprintable() and not {*' "\\'} & {*address}


def test_texts_are_appended_as_they_stand() -> None:
    assert location("http://a.example/x", "?page=2") == "http://a.example/x?page=2"
    assert location("http://a.example/x?q", "&page=2#3") == "http://a.example/x?q&page=2#3"
    assert location("http://a.example/x", "/é") == "http://a.example/x/%C3%A9"


def test_a_query_has_two_separators_and_keeps_plus_signs() -> None:
    query = ProxyQuery.parse("urlappend=%3Fa+b%26c&type=URL;type=EMAIL;locatt=id:1&locatt=country:gb")
    assert query == ProxyQuery(("URL", "EMAIL"), append="?a+b&c", locatt=("id:1", "country:gb"))
