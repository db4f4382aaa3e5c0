"""Lists in pages, which follow each other by key."""

import re
from urllib.parse import parse_qsl

import pytest
from serving import ALICE, BOB, Server

import idstore

LIST = "/api/v1/identifiers"


def test_a_list_has_a_link_to_its_next_page(server: Server, bob: str) -> None:
    with idstore.connect(server.address, token=bob) as registry:
        made = [registry.mint("rdl", BOB).iri for _ in range(5)]
    found, query, pages = list[str](), {"owner": "bob", "limit": "2", "stage": "created"}, 0
    while query and set(made) - set(found):
        reply = server.ask("GET", LIST, query=query, token=bob)
        found += [one["id"] for one in reply.json]
        server.ask("POST", "/api/v1/namespaces/rdl/identifiers", {}, token=bob)  # moves no page
        link = re.fullmatch(r'<\?(.*)>; rel="next"', reply.headers.get("link", ""))
        query, pages = dict(parse_qsl(link[1])) if link else {}, pages + 1
    assert found[:5] == made[::-1]
    assert pages == 3


def test_the_last_page_has_no_link(server: Server) -> None:
    reply = server.ask("GET", LIST, query={"owner": "nobody-has-this-name", "limit": "2"})
    assert (reply.json, "link" in reply.headers) == ([], False)


def test_a_client_reads_as_many_pages_as_it_asks_for(
    server: Server, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with idstore.connect(server.address, token=alice) as registry:
        [registry.mint("rdl", ALICE) for _ in range(3)]
        everything = registry.list(ALICE, limit=None)
        monkeypatch.setattr("idstore.remote.LONGEST_PAGE", 2)
        assert registry.list(ALICE, limit=None) == everything
        assert registry.list(ALICE, limit=3) == everything[:3]
        assert registry.list(ALICE, limit=0) == []
