"""A server with two prefixes.

Handles of one are published at once, those of the other when they are fixated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from serving import ALICE, BOB, Reply, Server

import idstore
from idstore.model.party import Party

USER = Party("USER01")
LIVE, DRAFTS = "21.T1", "12345"


@dataclass(frozen=True)
class HandleServer:
    """Requests to a server, as one of the parties that have a token."""

    server: Server
    tokens: dict[str, str]

    def ask(
        self,
        method: str,
        handle: str,
        body: Any = None,
        by: str | None = None,
        query: list[tuple[str, object]] = [],  # noqa: B006 it is only read
        **how: Any,
    ) -> Reply:
        """Send a request about a handle."""
        path = f"/api/handles/{handle}" + (f"?{urlencode(query)}" if query else "")
        token = None if by is None else self.tokens[by]
        return self.server.ask(method, path, body, token=token, **how)

    def put(self, handle: str, *values: dict[str, Any], by: str = "bob", **query: object) -> Reply:
        """Create a handle, or set its values."""
        return self.ask("PUT", handle, {"values": [*values]}, by, [*query.items()])


def value(index: object, type: str, data: object, **more: object) -> dict[str, Any]:
    return {"index": index, "type": type, "data": data, **more}


URL = value(1, "URL", "http://example.org/1")


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandleServer]:
    """Serve a store; the tests share it."""
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    store = tmp_path_factory.mktemp("s") / "store"
    make(store)
    with Server(store) as server:
        yield HandleServer(
            server, {one.name: server.token(one) for one in (ALICE, BOB, USER, Party("carol"))}
        )


def make(store: Path) -> None:
    with idstore.open(store, administrator=ALICE) as registry:
        registry.add_namespace("live", LIVE, "handle", ALICE, {"publish": "at-once"})
        registry.add_namespace("drafts", DRAFTS, "handle", ALICE)
        registry.add_namespace("example", "4263537", "handle", ALICE, {"publish": "at-once"})
        registry.add_namespace("clock", "102.100.272", "pilin", ALICE, {"publish": "at-once"})
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        for party in (BOB, USER):
            registry.add_party(party, ALICE)
