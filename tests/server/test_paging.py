"""Lists in pages, which follow each other by key."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from serving import ALICE, BOB, Server

import idstore
from idstore.model.party import NOBODY
from idstore.operations.operation import LONGEST_PAGE
from idstore.registry.log import LogPosition

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


MOST = str(2**53 - 1)


@pytest.fixture(scope="module")
def crowded(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a store with more public events than a page has."""
    store = tmp_path_factory.mktemp("crowded") / "store"
    shutil.copytree(prepared, store)
    rows = [
        idstore.RequestRow(line, idstore.Request(fixate=True)) for line in range(1, LONGEST_PAGE // 2 + 10)
    ]
    with idstore.open(store) as registry:
        registry.mint_many("h", rows, ALICE)
    with Server(store) as server:
        yield server


def test_an_answer_of_the_log_has_no_more_events_than_a_page(crowded: Server) -> None:
    feed = crowded.ask("GET", "/api/v1/published", query={"limit": MOST})
    numbers = [one["publication"] for one in feed.json]
    assert numbers == [*range(1, LONGEST_PAGE + 1)]
    link = re.fullmatch(r'<\?(.*)>; rel="next"', feed.headers["link"])
    assert link
    assert dict(parse_qsl(link[1]))["after"] == str(LONGEST_PAGE)
    since = crowded.ask("GET", "/api/v1/events-since", query={"limit": MOST}).json
    assert (len(since["entries"]), since["cursor"]) == (LONGEST_PAGE, str(LONGEST_PAGE))
    with idstore.open(crowded.store, mode="read") as near:
        last = near.published(LONGEST_PAGE)[-1].event.iri
    news = {"follows": True, "publication": 0, "last": last}
    page = crowded.ask("POST", "/api/v1/news", news).json
    assert (len(page["entries"]), page["publication"]) == (LONGEST_PAGE, LONGEST_PAGE)


def test_a_client_reads_as_many_events_as_it_asks_for(crowded: Server) -> None:
    with (
        idstore.connect(crowded.address) as far,
        idstore.open(crowded.store, mode="read") as near,
    ):
        for limit in (0, 1, LONGEST_PAGE, LONGEST_PAGE + 1, 10**9):
            assert far.published(2, limit) == near.published(2, limit)
            assert far.events_since(NOBODY, "2", limit=limit) == near.events_since(NOBODY, "2", limit=limit)
        position, followed = (
            LogPosition(last=near.published()[0].event.iri, publication=0),
            list[int | None](),
        )
        while page := far.news(NOBODY, position=position):
            followed += [entry.publication for entry in page]
        assert sorted(filter(None, followed)) == [*range(1, len(near.published(0, 10**9)) + 1)]
        with pytest.raises(idstore.InvalidData, match="limit"):
            far.events_since(NOBODY, limit=-1)
        with pytest.raises(idstore.LimitReached, match="cancelled"):
            far.events_since(NOBODY, cancelled=lambda: True)
