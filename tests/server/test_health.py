"""Whether a server tells that its store works."""

import asyncio
import select
import socket
import threading
from pathlib import Path

import pytest
from serving import Server

pytest.importorskip("fastapi", reason="the extra server is not installed")

import idstore
from idstore.errors import NotPermitted, StoreUnavailable
from idstore.server import health
from idstore.server.health import Readiness

ALICE, BOB = idstore.Party("alice"), idstore.Party("bob")


def test_a_store_that_fails_is_not_ready(tmp_path: Path) -> None:
    registry = idstore.open(tmp_path / "s", administrator=ALICE)
    readiness = Readiness(registry)
    asyncio.run(readiness.check())
    registry.close()
    with pytest.raises(StoreUnavailable):
        asyncio.run(readiness.check())


def test_a_store_whose_folder_is_gone_is_not_ready(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "s", administrator=ALICE) as registry:
        (tmp_path / "s").rename(tmp_path / "t")
        with pytest.raises(StoreUnavailable):
            asyncio.run(Readiness(registry).check())
        (tmp_path / "t").rename(tmp_path / "s")
        asyncio.run(Readiness(registry).check())


def test_a_store_that_runs_no_act_is_not_ready_until_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PATIENCE", 0.05)
    begun, end = threading.Event(), threading.Event()

    def block(_: object) -> None:
        begun.set()
        end.wait(60)

    async def ask(registry: idstore.Registry) -> None:
        readiness = Readiness(registry)
        before = threading.active_count()
        blocked = asyncio.create_task(asyncio.to_thread(registry.store.write, block))
        await asyncio.to_thread(begun.wait, 60)
        for _ in range(4):
            with pytest.raises(StoreUnavailable, match="no act"):
                await readiness.check()
        assert threading.active_count() <= before + 3, "one question at a time"
        end.set()
        await blocked
        monkeypatch.setattr(health, "PATIENCE", 60)
        await readiness.check()

    with idstore.open(tmp_path / "s", administrator=ALICE) as registry:
        asyncio.run(ask(registry))


def test_figures_are_for_this_machine_and_for_administrators(server: Server, alice: str, bob: str) -> None:
    passed_on = {"X-Forwarded-For": "192.0.2.1"}
    codes = [
        server.ask("GET", "/metrics", token=token, headers=passed_on).status for token in (None, bob, alice)
    ]
    assert codes == [401, 403, 200]
    assert server.ask("GET", "/metrics").status == 200


def test_figures_tell_the_counters_of_the_store(server: Server, alice: str, bob: str) -> None:
    with idstore.connect(server.address, token=alice) as registry:
        before = registry.counters(ALICE)
        registry.mint("rdl", ALICE)
        after = registry.counters(ALICE)
        figures = server.ask("GET", "/metrics").body.decode()
    assert (after.acts - before.acts, after.commits - before.commits) == (1, 1)
    assert f"\nidstore_store_commits_total {float(after.commits)}\n" in figures
    assert "\nidstore_store_waiting 0.0\n" in figures
    with idstore.connect(server.address, token=bob) as registry, pytest.raises(NotPermitted):
        registry.counters(BOB)


def test_nothing_is_fetched_from_elsewhere(server: Server, alice: str) -> None:
    assert server.ask("GET", "/docs").status == server.ask("GET", "/redoc").status == 404
    body = server.ask("GET", "/api/v1/openapi.json").body
    assert b"://" not in body.replace(b"http://www.w3.org/", b"")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        for text in (
            f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}",
            f"SELECT * FROM <{address}> {{ ?s ?p ?o }}",
        ):
            server.ask("POST", "/api/v1/query", {"text": text}, token=alice)
        sent = {"target": address, "metadata": {"@context": address}}
        server.ask("POST", "/api/v1/namespaces/rdl/identifiers", sent, token=alice)
        assert not select.select([listening], [], [], 0)[0]
