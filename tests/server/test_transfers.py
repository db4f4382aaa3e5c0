"""Files that are sent to a server and got from it."""

import gzip
import io
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pytest
from serving import ALICE, BOB, Server

pytest.importorskip("uvicorn", reason="the extra server is not installed")

import anyio
from starlette.requests import Request

import idstore
from idstore.errors import InvalidData, LimitReached, Overloaded, RequestTooLarge
from idstore.exchange.importing import ImportChoices
from idstore.model.filter import Filter
from idstore.model.party import NOBODY
from idstore.progress import Meter
from idstore.server.admission import CLIENT_GONE, Figures, ServerLimits
from idstore.server.allowances import Allowances
from idstore.server.api import WRITERS, application
from idstore.server.sign_in import Caller
from idstore.server.transfers import BLOCK, Download, Writers, upload
from idstore.server.workers import Workers

EXPORT, IMPORT = "/api/v1/export", "/api/v1/imports"


def exported(registry: idstore.Registry, party: idstore.Party, filter: Filter, format: str) -> bytes:
    from idstore.exchange.exporting import export

    target = io.BytesIO()
    export(registry, target, party, filter, format)
    return target.getvalue()


@pytest.mark.parametrize(
    "format", ["nquads", "turtle", "jsonld", "csv", "sssom", "handle-batch", "rdf-patch"]
)
def test_an_export_is_that_of_the_library(server: Server, alice: str, bob: str, format: str) -> None:
    with idstore.connect(server.address, token=alice) as far:
        far.register("h", f"exported-{format}", ALICE, idstore.Request(target="http://x.example.org/"))
    with idstore.open(server.store, mode="read") as near:
        for party, token in ((ALICE, alice), (BOB, bob)):
            target = io.BytesIO()
            with idstore.connect(server.address, token=token) as far:
                far.export(target, party, format=format)
            assert target.getvalue() == exported(near, party, Filter(), format)


def test_an_anonymous_export_holds_what_is_public(server: Server, alice: str) -> None:
    with idstore.connect(server.address, token=alice) as far:
        hidden, shown = (far.register("h", f"export-{name}", ALICE) for name in ("draft", "final"))
        far.fixate([shown.iri], ALICE)
    reply = server.ask("GET", EXPORT, query={"format": "csv", "namespace": "h"})
    assert (reply.status, reply.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert reply.headers["cache-control"] == "private, no-store"
    assert shown.iri in reply.body.decode()
    assert hidden.iri not in reply.body.decode()


@pytest.mark.parametrize(
    "query",
    [
        {"format": "docx"},
        {"stage": "wrong"},
        {"since": "yesterday"},
        {"after": "3"},
        {"format": "rdf-patch", "after": "1000000"},
        {"format": "rdf-patch", "namespace": "h"},
        {"format": "csv", "title": "x"},
    ],
)
def test_a_choice_that_makes_no_sense_is_a_problem(server: Server, query: dict[str, str]) -> None:
    reply = server.ask("GET", EXPORT, query=query)
    assert (reply.status, reply.json["error"]) == (422, "invalid-data")


def test_an_unknown_namespace_is_a_problem(server: Server) -> None:
    assert server.ask("GET", EXPORT, query={"namespace": "nowhere"}).status == 404


def test_descriptions_and_digests(server: Server, alice: str) -> None:
    from idstore.exchange.digest import digest

    with (
        idstore.connect(server.address, token=alice) as far,
        idstore.open(server.store, mode="read") as near,
    ):
        assert far.digest(ALICE) == digest(near, ALICE)
    assert b"void:" in server.ask("GET", "/api/v1/describe", query={"title": "Valves"}).body
    assert server.ask("GET", "/api/v1/describe", query={"licence": "no iri"}).status == 422


def test_a_reader_that_stalls_holds_up_no_writer() -> None:
    async def stall() -> list[int]:
        threads = anyio.CapacityLimiter(1)
        downloads = [Download() for _ in range(3)]
        for download in downloads:  # each is written to its end, although nobody has read the one before
            await download.begin(lambda target: target.writelines([bytes(BLOCK)] * 50), [threads], 5)
        return [sum([len(block) async for block in download.blocks()]) for download in downloads]

    assert anyio.run(stall) == [50 * BLOCK] * 3


def test_writers_wait_for_each_other_and_are_told() -> None:
    async def wait() -> None:
        threads = anyio.CapacityLimiter(1)
        first = Download()
        await first.begin(partial(written, b"x", ended), [threads], 5)
        try:
            with pytest.raises(Overloaded):
                await Download().begin(partial(written, b"x", ended), [threads], 0.01)
        finally:
            ended.set()
        assert [block async for block in first.blocks()] == [b"x"]

    def written(content: bytes, ended: threading.Event, target: IO[bytes]) -> None:
        target.write(content)
        target.flush()
        ended.wait(5)

    ended = threading.Event()
    anyio.run(wait)


@pytest.mark.parametrize("late", [True, False])
def test_a_failure_is_an_error_or_cuts_the_file_off(late: bool) -> None:
    def failing(target: IO[bytes]) -> None:
        target.write(bytes(BLOCK + 1 if late else 1))
        raise InvalidData("wrong")

    async def read() -> bool:
        """Return whether the answer had begun."""
        download = Download()
        try:
            await download.begin(failing, [anyio.CapacityLimiter(1)], 5)
        except InvalidData:
            return False
        with pytest.raises(InvalidData):
            assert [block async for block in download.blocks()] == []
        return True

    assert anyio.run(read) == late


def test_nothing_is_written_for_a_reader_that_is_gone() -> None:
    def endless(target: IO[bytes]) -> None:
        while True:
            target.write(bytes(BLOCK))

    async def leave() -> None:
        threads, download = anyio.CapacityLimiter(1), Download()
        await download.begin(endless, [threads], 5)
        blocks = download.blocks()
        await anext(blocks)
        await blocks.aclose()
        last = Download()
        await last.begin(lambda _: None, [threads], 5)  # the writer has ended
        last.abandon()

    anyio.run(leave)


def request_from(address: str, *, stays: bool) -> Request:
    """Return an anonymous request from an address, whose client stays or has left."""

    async def receive() -> dict[str, object]:
        if stays:
            await anyio.sleep_forever()
        return {"type": "http.disconnect"}

    scope = {
        "type": "http",
        "method": "GET",
        "headers": [],
        "client": (address, 1),
        "state": {"caller": Caller(NOBODY)},
    }
    return Request(scope, receive)


def test_downloads_of_one_caller_leave_a_place_for_others() -> None:
    def written(target: IO[bytes]) -> None:
        target.write(b"x")
        target.flush()
        assert ended.wait(20)

    async def begin(writers: Writers, address: str) -> Download:
        download = Download()
        assert await writers.begin(request_from(address, stays=True), download, written)
        return download

    async def begin_several() -> None:
        writers = Writers(3, 2, 0.05)
        begun = [await begin(writers, "192.0.2.1") for _ in range(2)]
        with pytest.raises(Overloaded):
            await begin(writers, "192.0.2.1")
        begun.append(await begin(writers, "192.0.2.2"))
        with pytest.raises(Overloaded):
            await begin(writers, "192.0.2.3")
        ended.set()
        for download in begun:
            assert [block async for block in download.blocks()] == [b"x"]
        last = await begin(writers, "192.0.2.1")
        assert [block async for block in last.blocks()] == [b"x"]

    ended = threading.Event()
    anyio.run(begin_several)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("describe", b""),
        ("export", b"format=xlsx"),
        ("export", b"format=csv&wide=true"),
        ("export", b"format=handle-batch"),
        ("digest", b""),
    ],
)
def test_a_download_ends_with_its_client_before_its_first_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, query: bytes
) -> None:
    class Endless(Meter):
        def over(self, items: Iterable[Any]) -> Iterator[Any]:
            while True:  # a store without an end
                yield from islice(items, 0)
                time.sleep(0.001)
                self._progress("identifiers", 0, 0)

    async def ask() -> list[Any]:
        statuses = []

        async def send(message: Mapping[str, Any]) -> None:
            statuses.append(message.get("status"))

        state = {"caller": Caller(NOBODY), "body": b""}
        for _ in range(WRITERS + 1):
            scope = {
                "type": "http",
                "method": "GET",
                "path": f"/api/v1/{path}",
                "root_path": "",
                "query_string": query,
                "headers": [],
                "client": ("192.0.2.1", 1),
                "state": dict(state),
            }
            with anyio.fail_after(10):
                await app(scope, request_from("192.0.2.1", stays=False).receive, send)
        for thread in threading.enumerate():
            if thread.name == "download":
                await anyio.to_thread.run_sync(thread.join, 10)
                assert not thread.is_alive()
        return [status for status in statuses if status]

    monkeypatch.setattr("idstore.registry.export.Meter", Endless)
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        app = application(registry, Workers(registry, 60), Figures(), ServerLimits(sending=5), Allowances())
        assert anyio.run(ask) == [CLIENT_GONE] * (WRITERS + 1)


def test_a_server_without_room_for_files_says_so(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(prepared, tmp_path / "s")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    with Server(tmp_path / "s") as server:
        assert server.ask("GET", EXPORT).status == 200
        shutil.rmtree(scratch)
        token = server.token(ALICE)
        for reply in (
            server.ask("GET", EXPORT),
            server.ask("POST", IMPORT, b"12345/x\n", query={"format": "list", "namespace": "h"}, token=token),
        ):
            assert (reply.status, reply.json["error"]) == (503, "store-unavailable")
            assert "there is no room for the" in reply.json["detail"]


def test_an_import_is_that_of_the_library(server: Server, alice: str, tmp_path: Path) -> None:
    file = tmp_path / "export.nq"
    with idstore.open(tmp_path / "store", administrator=ALICE) as other:
        other.add_namespace("far", "http://far.example.org/data#", "rdswip", ALICE)
        iri = other.mint("far", ALICE, idstore.Request(name="valve")).iri
        other.fixate([iri], ALICE)
        file.write_bytes(exported(other, ALICE, Filter(), "nquads"))
    with idstore.connect(server.address, token=alice) as far:
        rehearsed = far.import_file(file, ALICE, "export.nq", ImportChoices(dry_run=True))
        assert [one.iri for one in rehearsed.changed if one.side == "there"] == [iri]
        done = far.import_file(file, ALICE, "export.nq")
        again = far.import_file(file, ALICE, "export.nq")
        assert done.merged and again.merged
        assert (done.merged.identifiers, again.merged.identifiers, again.merged.events) == (1, 0, 0)
        assert far.show(iri, ALICE).names == (("und", "valve"),)


def test_parties_import_bindings_and_administrators_identifiers(server: Server, alice: str, bob: str) -> None:
    with idstore.connect(server.address, token=bob) as far:
        own = far.register("h", "imported", BOB).iri
    table = f"subject,object\n{own},http://x.example.org/\n".encode()
    columns = {"format": "csv", "roles": "target=object"}
    reply = server.ask("POST", IMPORT, table, query=columns, token=bob)
    assert [one["verdict"] for one in reply.json["table"]["outcomes"]] == ["new"]
    for token, status in ((None, 401), (bob, 403), (alice, 200)):
        listed = {"format": "list", "namespace": "h"}
        assert server.ask("POST", IMPORT, b"12345/listed\n", query=listed, token=token).status == status


@pytest.mark.parametrize(
    ("query", "content", "error"),
    [
        ({"format": "docx"}, b"", "invalid-data"),
        ({"format": "handle-batch", "force": "true"}, b"", "invalid-data"),
        ({"format": "tsv", "roles": "subject"}, b"", "invalid-data"),
        ({"format": "tsv", "metadata": "/etc/passwd"}, b"a\tb\n", "invalid-data"),
        ({"name": "folder/a.nq"}, b"<", "invalid-file"),
        ({"format": "handle-batch"}, b"DELETE 99999/none\n", "batch-refused"),
    ],
)
def test_what_cannot_be_imported_is_a_problem(
    server: Server, alice: str, query: dict[str, str], content: bytes, error: str
) -> None:
    reply = server.ask("POST", IMPORT, content, query=query, token=alice)
    assert (reply.status, reply.json["error"]) == (422, error), reply.body
    assert query.get("name", "") in reply.json["detail"]
    assert "idstore-scratch" not in reply.body.decode()


def test_a_token_for_a_namespace_imports_into_it_alone(server: Server) -> None:
    token = server.token(ALICE, namespaces=["h"], acts=["import_file"])
    for query, status in (({"namespace": "h"}, 200), ({"namespace": "rdl"}, 403), ({}, 403)):
        reply = server.ask(
            "POST", IMPORT, b"12345/of-a-token\n", query=query | {"format": "list"}, token=token
        )
        assert reply.status == status


def test_files_of_others_are_small_and_plain(server: Server, bob: str, tmp_path: Path) -> None:
    file = tmp_path / "large.csv"
    with file.open("wb") as large:
        large.truncate(17 << 20)
    with idstore.connect(server.address, token=bob) as far, pytest.raises(RequestTooLarge):
        far.import_file(file, BOB, "large.csv")
    reply = server.ask("POST", IMPORT, gzip.compress(b"x"), query={"format": "csv"}, token=bob)
    assert (reply.status, reply.json["error"]) == (422, "invalid-data")


def test_a_file_with_a_content_encoding_is_refused(server: Server, alice: str) -> None:
    reply = server.ask(
        "POST",
        IMPORT,
        gzip.compress(b"12345/encoded\n"),
        query={"format": "list", "namespace": "h"},
        headers={"Content-Encoding": "gzip"},
        token=alice,
    )
    assert (reply.status, reply.json["field"]) == (415, "Content-Encoding")


def test_a_sender_that_stalls_is_ended() -> None:
    async def receive() -> dict[str, object]:
        await anyio.sleep(5)
        return {}

    async def send() -> None:
        request = Request({"type": "http", "method": "POST", "headers": []}, receive)
        async with upload(request, "x.csv", limit=10, seconds=0.01, packed=True):
            pass

    with pytest.raises(LimitReached):
        anyio.run(send)
