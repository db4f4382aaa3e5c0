"""Requests that make an act long: the acts of others go on, and a refusal says what is too much."""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from serving import ALICE, BOB, Reply, Server

MINT = "/api/v1/namespaces/h/identifiers"
IMPORT = "/api/v1/imports"
NAMES = {f"en-x-{number}": "valve" for number in range(501)}
BINDINGS = [{"target": f"http://example.org/{number}"} for number in range(2501)]
IDS = [f"h:{number}" for number in range(501)]


@pytest.fixture(scope="module")
def busy(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    store = tmp_path_factory.mktemp("s") / "store"
    shutil.copytree(prepared, store)
    with Server(store) as server:
        yield server


def minted(server: Server, token: str) -> str:
    reply = server.ask("POST", MINT, {"fixate": True}, token=token)
    assert reply.status == 201, reply.body
    return str(reply.json["id"])


def bindings(ids: list[str], number: int) -> bytes:
    """Return a table that binds identifiers in turn to so many addresses."""
    rows = [f"{ids[row % len(ids)]},skos:exactMatch,http://example.org/{row}" for row in range(number)]
    return "\n".join(["subject_id,predicate_id,object_id", *rows, ""]).encode()


def handles(number: int) -> bytes:
    """Return a batch file that creates so many handles, each with a value."""
    return "\n".join(
        f"CREATE 10.1000/{label}\n1 URL 86400 1110 UTF8 http://example.org/{label}\n"
        for label in range(number)
    ).encode()


def imported(server: Server, file: bytes, token: str, *, format: str = "csv", dry: bool = False) -> Reply:
    query = {"format": format, **({"dryRun": "true"} if dry else {})}
    return server.ask("POST", IMPORT, file, token=token, query=query)


@pytest.mark.parametrize(
    ("path", "sent", "what"),
    [
        ("namespaces/h/identifiers", {"names": NAMES}, "names"),
        ("namespaces/h/identifiers", {"bindings": BINDINGS[:501]}, "bindings"),
        ("namespaces/h/requests", {"bindings": BINDINGS[:501]}, "bindings"),
        ("namespaces/h/batches", {"count": 1, "names": NAMES}, "names"),
        ("namespaces/h/registrations", {"label": "a", "bindings": BINDINGS[:501]}, "bindings"),
        ("add-version", {"work": "h:a", "number": "2", "names": NAMES}, "names"),
        ("deprecate", {"id": "h:a", "reason": "old", "successors": IDS}, "successors"),
        ("undeprecate", {"id": "h:a", "successors": IDS}, "successors"),
        ("supersede", {"id": "h:a", "successors": IDS}, "successors"),
        ("unset-values", {"id": "h:a", "indexes": [*range(501)]}, "indexes"),
        ("allow", {"name": "h", "parties": IDS}, "parties"),
    ],
)
def test_a_long_list_is_refused(server: Server, bob: str, path: str, sent: dict[str, Any], what: str) -> None:
    reply = server.ask("POST", f"/api/v1/{path}", sent, token=bob)
    assert (reply.status, reply.json["error"]) == (413, "request-too-large"), reply.body
    assert f"at most 500 {what}, unless an administrator sends it" in reply.json["detail"]
    assert "divide them" in reply.json["detail"]


@pytest.mark.parametrize(
    ("path", "rows", "what"),
    [
        ("namespaces/h/tables", [{"line": 2, "request": {"bindings": BINDINGS}}], "bindings"),
        ("namespaces/h/tables", [{"line": line, "request": {"names": NAMES}} for line in range(5)], "names"),
        (
            "change-many",
            [{"line": line, "act": "name", "id": "h:a", "names": NAMES} for line in range(5)],
            "names",
        ),
        (
            "change-many",
            [{"line": line, "act": "supersede", "id": "h:a", "successors": IDS} for line in range(5)],
            "successors",
        ),
    ],
)
def test_long_lists_in_rows_are_refused(
    server: Server, bob: str, path: str, rows: list[dict[str, Any]], what: str
) -> None:
    reply = server.ask("POST", f"/api/v1/{path}", {"rows": rows}, token=bob)
    assert (reply.status, reply.json["error"]) == (413, "request-too-large"), reply.body
    assert f"at most 2500 {what} in its rows, unless an administrator" in reply.json["detail"]


def test_an_administrator_sends_long_lists(server: Server, alice: str) -> None:
    reply = server.ask("POST", MINT, {"names": NAMES, "bindings": BINDINGS[:501]}, token=alice)
    assert (reply.status, len(reply.json["bindings"])) == (201, 501), reply.body


def test_a_file_of_500_lines_is_imported_by_any_party(server: Server, alice: str, bob: str) -> None:
    ids = [minted(server, alice) for _ in range(100)]
    reply = imported(server, bindings(ids, 500), bob)
    assert (reply.status, len(reply.json["table"]["outcomes"])) == (200, 500), reply.body


def test_a_long_import_by_others_than_administrators_ends(prepared: Path, tmp_path: Path) -> None:
    """One identifier with many bindings takes long, because each of them is read for the next one."""
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", limits={"importing": 0.05}) as server:
        alice, bob = server.token(ALICE), server.token(BOB)
        id = minted(server, alice)
        for file, format in ((bindings([id], 500), "csv"), (handles(250), "handle-batch")):
            reply = imported(server, file, bob, format=format)
            assert (reply.status, reply.json["error"]) == (413, "request-too-large"), reply.body
            assert "this import took more than 0.05 seconds of the processor" in reply.json["detail"]
            assert "divide the file" in reply.json["detail"]
        record = server.ask("GET", "/api/v1/identifier", query={"id": id}).json
        assert record["bindings"] == []
        assert server.ask("GET", "/api/v1/identifier", query={"id": "h:0"}, token=bob).status == 404
        assert imported(server, bindings([id], 100), alice).status == 200


@pytest.mark.parametrize("format", ["csv", "handle-batch"])
def test_acts_go_on_beside_a_dry_run(busy: Server, format: str) -> None:
    alice, bob = busy.token(ALICE), busy.token(BOB)
    ids = [minted(busy, alice) for _ in range(10)]
    file = bindings(ids, 1000) if format == "csv" else handles(800)
    slowest = 0.0
    with ThreadPoolExecutor() as others:
        begun = time.monotonic()
        dry = others.submit(imported, busy, file, alice, format=format, dry=True)
        while not dry.done():
            asked = time.monotonic()
            minted(busy, bob)
            slowest = max(slowest, time.monotonic() - asked)
        whole = time.monotonic() - begun
    assert dry.result().status == 200, dry.result().body
    assert slowest < whole / 2
