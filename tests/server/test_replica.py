"""Replicas: a store that follows another registry, and serves what it publishes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from command_lines import Run
from serving import ALICE, Server, wait_until

pytest.importorskip("uvicorn", reason="the extra server is not installed")

import idstore
from idstore import opening
from idstore.errors import StoreUnavailable
from idstore.exchange import patch, rdf
from idstore.exchange.changes import newest_public
from idstore.exchange.digest import digest
from idstore.model.filter import Filter
from idstore.model.party import NOBODY
from idstore.replication import Replication
from idstore.stores import files

MINT = "/api/v1/namespaces/rdl/identifiers"


class Replica(Server):
    """A process of ``idstore replica``; see `Server`."""

    def __init__(self, store: Path, source: str) -> None:
        super().__init__(store)
        self.source = source

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "idstore", "--store", str(self.store), "replica", "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--from", self.source],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TZ": "UTC"},
        )
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        found = re.search(r"(http://127\.0\.0\.1:(\d+)\S*/)", first)
        assert found, first + self.process.stderr.read()
        self.address, self.port = found[1], int(found[2])
        self._reader = threading.Thread(target=self.lines.extend, args=[self.process.stderr])
        self._reader.start()
        return self


@pytest.fixture
def source(prepared: Path, tmp_path: Path) -> Iterator[Server]:
    shutil.copytree(prepared, tmp_path / "source")
    with Server(tmp_path / "source") as server:
        yield server


def publish(server: Server, name: str) -> str:
    token = server.token(ALICE)
    id = str(server.ask("POST", MINT, {"name": name}, token=token).json["id"])
    assert server.ask("POST", "/api/v1/fixate", {"ids": [id]}, token=token).status == 200
    return id


def public(server: Server) -> str:
    """Return the digest of what is public."""
    lines = server.ask("GET", "/api/v1/digest").body.decode().splitlines()
    return next(str(found["sha256"]) for found in map(json.loads, filter(None, lines)) if "sha256" in found)


def of_folder(folder: Path) -> str:
    with idstore.open(folder, mode="shared") as registry:
        return digest(registry, NOBODY).sha256


def test_a_replica_has_what_its_source_publishes(source: Server, run: Run, tmp_path: Path) -> None:
    id = publish(source, "valve")
    source.ask("POST", MINT, {"name": "a draft"}, token=source.token(ALICE))
    with Replica(tmp_path / "replica", source.address) as replica:
        assert public(replica) == public(source)
        later = publish(source, "pump")
        source.ask("POST", "/api/v1/name", {"id": id, "name": "gate valve"}, token=source.token(ALICE))
        wait_until(lambda: public(replica) == public(source))
        shown = replica.ask("GET", "/resolve", query={"id": later}, headers={"Accept": "application/json"})
        assert shown.json["names"] == {"und": "pump"}
        asked = replica.ask("GET", "/sparql", query={"query": 'ASK { ?s ?p "gate valve" }', "format": "json"})
        assert asked.json["boolean"] is True
        figures = replica.ask("GET", "/metrics").body.decode()
        assert "idstore_replica_behind 0.0" in figures
        assert "idstore_replica_silence_seconds" in figures
    assert replica.process.returncode == 0
    assert of_folder(tmp_path / "replica") == public(source)
    assert run("verify", "--store", str(tmp_path / "replica")).line == "sound"


def test_a_replica_only_reads(source: Server, run: Run, tmp_path: Path) -> None:
    folder, id = tmp_path / "replica", publish(source, "valve")
    run("replica", "--from", source.address, "--once", "--store", str(folder))
    before = of_folder(folder)
    table, batch = tmp_path / "bindings.tsv", tmp_path / "handles.txt"
    table.write_text(f"subject_id\tpredicate_id\tobject_id\n{id}\tskos:exactMatch\thttp://example.org/1\n")
    batch.write_text("CREATE 10.1000/new\n1 URL 86400 1110 UTF8 http://example.org/1\n")
    renamed = {"rows": [{"line": 1, "id": id, "act": "name", "names": {"en": "another"}}]}
    for words, code in (
        (["mint", "rdl"], 6),
        (["namespace", "add", "x", "http://x.example.org/data#", "--scheme", "rdswip"], 6),
        (["redact", "x", "--reason", "r", "--yes"], 6),
        (["import", "-", "--format", "nquads"], 6),
    ):
        assert "only reads" in run(*words, "--store", str(folder), code=code).err
    assert "only reads" in run("serve", "--port", "0", "--store", str(folder), code=6).err
    with Replica(folder, source.address) as replica:
        assert "only reads" in run("mint", "rdl", "--store", str(folder), code=7).err
        for file in ((table,), (batch, "--format", "handle-batch")):
            assert "only reads" in run("import", *map(str, file), "--store", str(folder), code=7).err
        token = replica.token(ALICE)
        for path, body in ((MINT, {}), ("/api/v1/change-many", renamed)):
            refused = replica.ask("POST", path, body, token=token)
            assert (refused.status, refused.json["error"]) == (403, "replica"), refused.body
        assert replica.ask("GET", "/readyz").status == 200
    assert of_folder(folder) == before


def test_a_copy_of_a_replica_is_a_replica(source: Server, run: Run, tmp_path: Path) -> None:
    folder, copy, again = tmp_path / "replica", tmp_path / "copy", tmp_path / "again"
    run("replica", "--from", source.address, "--once", "--store", str(folder))
    run("backup", str(copy), "--store", str(folder))
    run("restore", str(copy), "--store", str(again))
    publish(source, "valve")
    for place in (copy, again):
        assert source.address in run("mint", "rdl", "--store", str(place), code=6).err
        run("replica", "--from", source.address, "--once", "--store", str(place))
        assert of_folder(place) == public(source)


def test_a_backup_into_the_folder_of_an_interrupted_copy_of_a_replica_is_writable(
    source: Server, run: Run, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    opening.ReplicaMark(source.address).write(copy)
    run("backup", str(copy), "--store", str(source.store))
    run("mint", "rdl", "--store", str(copy))


@pytest.mark.slow
def test_a_source_that_is_away_is_told_and_waited_for(source: Server, tmp_path: Path) -> None:
    with Replica(tmp_path / "replica", source.address) as replica:
        port = source.port
        assert source.end(signal.SIGTERM) == 0
        wait_until(lambda: "cannot follow" in "".join(replica.lines))
        assert replica.ask("GET", "/api/v1/namespaces").status == 200
        with Server(source.store, ("--port", str(port))) as again:
            assert again.port == port
            publish(again, "after the pause")
            wait_until(lambda: public(replica) == public(again))


def test_a_replica_whose_source_does_not_answer_ends_at_once(source: Server, tmp_path: Path) -> None:
    with Replica(tmp_path / "replica", source.address) as replica:
        source.process.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: silence(replica) > 1.2)  # it asked again after a second
            begun = time.monotonic()
            assert replica.end(signal.SIGTERM) == 0
            assert time.monotonic() - begun < 5
        finally:
            source.process.send_signal(signal.SIGCONT)
    assert "cannot follow" not in "".join(replica.lines)


def silence(replica: Server) -> float:
    """Return for how many seconds the source of a replica has not answered."""
    figures = replica.ask("GET", "/metrics").body.decode()
    found = re.search(r"^idstore_replica_silence_seconds (\S+)$", figures, re.MULTILINE)
    assert found
    return float(found[1])


@pytest.mark.slow
@pytest.mark.parametrize("content", ["", '{"source": "x", "reached": "x"}'])
def test_a_replica_goes_on_after_a_failure_that_was_not_expected(
    source: Server, tmp_path: Path, content: str
) -> None:
    mark = tmp_path / "replica" / files.REPLICA
    with Replica(tmp_path / "replica", source.address) as replica:
        sound = mark.read_text()
        mark.write_text(content)
        wait_until(lambda: "cannot follow" in "".join(replica.lines))
        mark.write_text(sound)
        publish(source, "after the failure")
        wait_until(lambda: public(replica) == public(source))


def refusal(run: Run, folder: Path, source: str) -> str:
    return run("replica", "--from", source, "--once", "--store", str(folder), code=6).err


@pytest.mark.slow
def test_another_store_at_the_address_is_refused(source: Server, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "replica"
    run("replica", "--from", source.address, "--once", "--store", str(folder))
    assert "is a replica of" in refusal(run, folder, "http://127.0.0.1:9/")
    other = tmp_path / "other"
    with idstore.open(other, administrator=ALICE) as registry:
        for number in range(30):
            registry.add_namespace(f"n{number}", f"http://n{number}.example.org/data#", "rdswip", ALICE)
    port = source.port
    source.end(signal.SIGTERM)
    with Server(other, ("--port", str(port))) as server:
        assert "is now another store" in refusal(run, folder, server.address)


@pytest.mark.slow
@pytest.mark.parametrize("later", [0, 1, 3])
def test_a_source_from_an_older_backup_is_refused(
    source: Server, run: Run, tmp_path: Path, later: int
) -> None:
    run("backup", str(tmp_path / "copy"), "--store", str(source.store))
    publish(source, "lost")
    folder = tmp_path / "replica"
    run("replica", "--from", source.address, "--once", "--store", str(folder))
    port = source.port
    source.end(signal.SIGTERM)
    shutil.rmtree(source.store)
    run("restore", str(tmp_path / "copy"), "--store", str(source.store))
    with Server(source.store, ("--port", str(port))) as server:
        for number in range(later):
            publish(server, f"later {number}")
        before = of_folder(folder)
        assert "older backup" in refusal(run, folder, server.address)
        assert of_folder(folder) == before
        shutil.rmtree(folder)
        run("replica", "--from", server.address, "--once", "--store", str(folder))
        assert of_folder(folder) == public(server)


def test_a_patch_from_a_restored_source_is_refused(
    source: Server, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("backup", str(tmp_path / "copy"), "--store", str(source.store))
    publish(source, "lost")
    folder = tmp_path / "replica"
    run("replica", "--from", source.address, "--once", "--store", str(folder))
    publish(source, "lost, too")
    with (
        Server(tmp_path / "copy") as restored,
        idstore.connect(restored.address) as later,
        opening.open_replica(folder, source.address) as registry,
        Replication(registry, folder, source.address) as replication,
    ):
        for number in range(3):
            publish(restored, f"later {number}")
        connection = replication._remote

        def export(*arguments: Any, **named: Any) -> None:
            monkeypatch.setattr(replication, "_remote", later)
            later.export(*arguments, **named)

        monkeypatch.setattr(connection, "export", export)
        before = digest(registry, NOBODY)
        with pytest.raises(StoreUnavailable, match="older backup"):
            replication.bring_up()
        assert digest(registry, NOBODY) == before
        connection.close()


def test_a_replica_that_numbers_events_in_another_order_goes_on(
    source: Server, run: Run, tmp_path: Path
) -> None:
    folder, id = tmp_path / "replica", publish(source, "valve")
    token = source.token(ALICE)
    for number in range(2):
        draft = source.ask("POST", MINT, {"name": "draft"}, token=token).json["id"]
        for act, sent in (
            ("fixate", {"ids": [draft]}),
            ("name", {"id": id, "name": f"valve {number}"}),
        ):
            assert source.ask("POST", f"/api/v1/{act}", sent, token=token).status == 200
        run("replica", "--from", source.address, "--once", "--store", str(folder))
        assert of_folder(folder) == public(source)


def test_a_replica_goes_on_after_a_kill_before_a_patch_was_applied(
    source: Server, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "replica"
    for name in ("valve", "pump"):
        publish(source, name)
        with (
            opening.open_replica(folder, source.address) as registry,
            Replication(registry, folder, source.address) as replication,
            monkeypatch.context() as patched,
        ):
            patched.setattr(rdf, "replicate", killed)
            with pytest.raises(KeyboardInterrupt):
                replication.bring_up()
        publish(source, "more")
        run("replica", "--from", source.address, "--once", "--store", str(folder))
        assert of_folder(folder) == public(source)


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_after_a_redaction_a_replica_is_served_no_more(source: Server, run: Run, tmp_path: Path) -> None:
    publish(source, "John Doe")
    folder = tmp_path / "replica"
    with Replica(folder, source.address) as replica:
        run("redact", "John Doe", "--reason", "he asked", "--yes", "--store", str(source.store))
        wait_until(lambda: replica.process.poll() is not None)
        replica.end(signal.SIGTERM)
    assert "a text was redacted" in "".join(replica.lines)
    assert "a text was redacted" in refusal(run, folder, source.address)
    assert "a text was redacted" in run("export", "--format", "nquads", "--store", str(folder), code=6).err
    shutil.rmtree(folder)
    run("replica", "--from", source.address, "--once", "--store", str(folder))
    assert "John Doe" not in run("export", "--format", "nquads", "--store", str(folder)).out


def test_a_kill_between_a_redaction_and_its_check_changes_nothing(
    source: Server, run: Run, tmp_path: Path
) -> None:
    publish(source, "John Doe")
    folder, changes = tmp_path / "replica", tmp_path / "changes.rdfp"
    run("replica", "--from", source.address, "--once", "--store", str(folder))
    with idstore.open(folder, mode="shared") as registry:
        position = newest_public(registry)
    run("redact", "John Doe", "--reason", "he asked", "--yes", "--store", str(source.store))
    with idstore.connect(source.address) as remote, changes.open("wb") as target:
        remote.export(target, NOBODY, Filter(), patch.FORMAT, after=position)
    with opening.open_replica(folder, source.address) as registry:
        rdf.replicate(registry, changes)
    assert "was redacted" in refusal(run, folder, source.address)


def test_other_folders_and_addresses_are_refused(source: Server, run: Run, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    assert "something else" in refusal(run, tmp_path / "full", source.address)
    assert "something else" in refusal(run, source.store, source.address)
    run("replica", "--from", "ftp://example.org/", "--store", str(tmp_path / "r"), code=2)
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_kills_of_a_replica_lose_and_double_nothing(source: Server, run: Run, tmp_path: Path) -> None:
    folder, stop = tmp_path / "replica", threading.Event()

    def go_on() -> None:
        number = 0
        while not stop.is_set():
            publish(source, f"thing {number}")
            number += 1

    writing = threading.Thread(target=go_on)
    writing.start()
    try:
        for pause in (0.05, 0.2, 0.4, 0.7, 1.1, 1.6):
            with Replica(folder, source.address) as replica:
                time.sleep(pause)  # kills come at different moments of the work
                replica.end(signal.SIGKILL)
    finally:
        stop.set()
        writing.join()
    run("replica", "--from", source.address, "--once", "--store", str(folder))
    assert of_folder(folder) == public(source)
    assert run("verify", "--store", str(folder)).line == "sound"


@pytest.mark.slow
def test_ten_replicas_follow_one_writer(source: Server, tmp_path: Path) -> None:
    replicas: list[Any] = []
    try:
        for number in range(10):
            replicas.append(Replica(tmp_path / f"r{number}", source.address).__enter__())
            publish(source, f"thing {number}")
        wait_until(lambda: {public(one) for one in replicas} == {public(source)}, 60)
    finally:
        for one in replicas:
            one.end(signal.SIGTERM)
    assert {one.process.returncode for one in replicas} == {0}
