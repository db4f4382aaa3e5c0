"""A SPARQL server of others is kept in step with what is public: a real one, killed and altered."""

import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from command_lines import Run

import idstore
from idstore import Party
from idstore.errors import StageConflict
from idstore.exchange.changes import ChangePage, newest_public, public_changes
from idstore.exchange.endpoint_projection import POSITION, EndpointProjection
from idstore.exchange.sparql_endpoint import RemoteEndpoint
from idstore.tokens import Tokens
from idstore.vocabulary import PROV

ALICE = Party("alice")
SERVER = shutil.which("oxigraph", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(SERVER is None, reason="the package oxigraph has no server here")
BASE = "http://rdl.example.org/data#"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class Endpoint:
    """A SPARQL server process over a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.port = folder, free_port()
        self.start()

    def start(self) -> None:
        assert SERVER is not None
        self._process = subprocess.Popen(
            [SERVER, "serve", "--location", str(self._folder), "--bind", f"127.0.0.1:{self.port}"],
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 20
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.02)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(20)

    @property
    def options(self) -> list[str]:
        address = f"http://127.0.0.1:{self.port}"
        return ["--to", f"{address}/query", "--updates", f"{address}/update"]

    def ask(self, query: str) -> bool:
        return b"true" in self._post("query", "query", query)

    def update(self, text: str) -> None:
        self._post("update", "update", text)

    def quads(self) -> set[str]:
        """Return all quads but the position, as lines of N-Quads."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/store", headers={"Accept": "application/n-quads"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            lines = answer.read().decode().splitlines()
        return {line for line in lines if "graph/position>" not in line}

    def _post(self, path: str, name: str, text: str) -> bytes:
        body = urllib.parse.urlencode({name: text}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", body)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return bytes(answer.read())


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    made = Endpoint(tmp_path / "endpoint")
    yield made
    made.kill()


@pytest.fixture
def publish(store: Path) -> Callable[[str], str]:
    """Return a function that publishes an identifier with a name."""

    def published(name: str) -> str:
        with idstore.open(store, administrator=ALICE) as registry:
            if not registry.namespaces():
                registry.add_namespace("rdl", BASE, "rdswip", ALICE)
            id = registry.mint("rdl", ALICE, idstore.Request(name=name)).iri
            registry.bind(id, idstore.Statement("http://www.wikidata.org/entity/Q1"), ALICE)
            registry.fixate([id], ALICE)
            registry.mint("rdl", ALICE, idstore.Request(name="a draft"))
        return id

    return published


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IDSTORE_STORE", str(tmp_path / "registry"))
    return tmp_path / "registry"


def exported(run: Run) -> set[str]:
    lines = run("export", "--format", "nquads", by="nobody.else").lines
    return {line for line in lines if "ontology#partial" not in line}


def test_it_follows_what_is_public(run: Run, endpoint: Endpoint, publish: Callable[[str], str]) -> None:
    publish("valve")
    run("project", *endpoint.options)
    assert endpoint.quads() == exported(run)
    assert not any("draft" in line for line in endpoint.quads())
    id = publish("pump")
    run("name", id, 'Pump ä \\ " \n line', "--lang", "EN-gb")
    run("unbind", id, "http://www.wikidata.org/entity/Q1")
    run("deprecate", id, "--reason", "old")
    run("project", *endpoint.options)
    assert endpoint.quads() == exported(run)
    assert run("project", *endpoint.options, "--compare").lines == []


def test_a_draft_comes_once_it_is_published(
    run: Run, endpoint: Endpoint, publish: Callable[[str], str]
) -> None:
    publish("valve")
    id = run("mint", "rdl", "--name", "later").line
    run("project", *endpoint.options)
    assert not endpoint.ask(f"ASK {{ GRAPH ?g {{ <{id}> ?p ?o }} }}")
    run("fixate", id)
    run("project", *endpoint.options)
    assert endpoint.ask(f'ASK {{ GRAPH ?g {{ <{id}> ?p "later" }} }}')
    assert endpoint.quads() == exported(run)


def test_namespaces_may_be_chosen(run: Run, endpoint: Endpoint, publish: Callable[[str], str]) -> None:
    publish("valve")
    run("namespace", "add", "pumps", "http://pumps.example.org/data#", "--scheme", "rdswip")
    run("fixate", run("mint", "pumps").line)
    run("project", *endpoint.options, "--namespace", "rdl")
    assert endpoint.quads() == {line for line in exported(run) if line.endswith(f"<{BASE}> .")}
    assert run("project", *endpoint.options, "--namespace", "rdl", "--compare").lines == []
    assert "is for" in run("project", *endpoint.options, code=8).err


def test_differences_are_found_and_repaired(
    run: Run, endpoint: Endpoint, publish: Callable[[str], str]
) -> None:
    id = publish("valve")
    run("project", *endpoint.options)
    endpoint.update(f"DELETE WHERE {{ GRAPH ?g {{ <{id}> ?p ?o }} }}")
    endpoint.update("INSERT DATA { GRAPH <https://w3id.org/idstore/graph/log> { <urn:a> <urn:b> 'forged' } }")
    endpoint.update("INSERT DATA { GRAPH <urn:other> { <urn:a> <urn:b> 'of others' } }")
    found = run("project", *endpoint.options, "--compare", code=5).lines
    assert {line.split("\t")[0] for line in found} == {BASE, "https://w3id.org/idstore/graph/log"}
    run("project", *endpoint.options, "--repair")
    assert endpoint.quads() - exported(run) == {'<urn:a> <urn:b> "of others" <urn:other> .'}
    assert exported(run) <= endpoint.quads()
    assert run("project", *endpoint.options, "--compare").lines == []


def test_a_redacted_text_leaves_the_endpoint(
    run: Run, endpoint: Endpoint, publish: Callable[[str], str]
) -> None:
    publish("John Doe")
    run("project", *endpoint.options)
    run("redact", "John Doe", "--reason", "he asked", "--yes")
    outcome = run("project", *endpoint.options, code=5)
    assert "--repair" in outcome.err
    run("project", *endpoint.options, "--repair")
    assert not any("John Doe" in line for line in endpoint.quads())
    assert endpoint.quads() == exported(run)


def test_values_that_an_engine_rewrites_are_no_differences(
    run: Run, endpoint: Endpoint, publish: Callable[[str], str]
) -> None:
    id = publish("valve")
    run("name", id, "Ventil", "--lang", "de-AT")
    run("project", *endpoint.options)
    endpoint.update(
        f"DELETE {{ GRAPH ?g {{ <{id}> ?p ?o }} }} INSERT {{ GRAPH ?g {{ <{id}> ?p ?new }} }} WHERE {{"
        f' GRAPH ?g {{ <{id}> ?p ?o }} FILTER(LANG(?o) = "de-at" || LANG(?o) = "de-AT")'
        ' BIND(STRLANG(STR(?o), "de-AT") AS ?new) }'
    )
    assert run("project", *endpoint.options, "--compare").lines == []


@pytest.mark.parametrize("later", [0, 1, 2])
def test_an_endpoint_with_changes_that_a_restored_store_lacks_is_refused(
    run: Run, endpoint: Endpoint, publish: Callable[[str], str], store: Path, tmp_path: Path, later: int
) -> None:
    publish("valve")
    run("backup", str(tmp_path / "copy"))
    publish("lost")
    run("project", *endpoint.options)
    shutil.rmtree(store)
    run("restore", str(tmp_path / "copy"))
    for number in range(later):
        publish(f"later {number}")
    before = endpoint.quads()
    for options in ([], ["--compare"]):
        assert "older backup" in run("project", *endpoint.options, *options, code=8).err
    assert endpoint.quads() == before
    run("project", *endpoint.options, "--repair")
    assert endpoint.quads() == exported(run)
    publish("after the repair")
    run("project", *endpoint.options)
    assert endpoint.quads() == exported(run)


def test_an_endpoint_of_another_store_is_refused(
    run: Run, endpoint: Endpoint, publish: Callable[[str], str], store: Path
) -> None:
    publish("valve")
    run("project", *endpoint.options)
    shutil.rmtree(store)
    publish("of another store")
    assert "the endpoint follows another store" in run("project", *endpoint.options, code=8).err


def test_an_endpoint_that_does_not_tell_its_last_event_is_refused_until_it_is_repaired(
    run: Run, endpoint: Endpoint, publish: Callable[[str], str]
) -> None:
    publish("valve")
    run("project", *endpoint.options)
    endpoint.update(f"DELETE WHERE {{ GRAPH {POSITION} {{ ?store {PROV.wasGeneratedBy} ?event }} }}")
    assert "repair the endpoint" in run("project", *endpoint.options, code=8).err
    run("project", *endpoint.options, "--repair")
    publish("pump")
    run("project", *endpoint.options)
    assert endpoint.quads() == exported(run)


def test_a_store_that_is_restored_between_two_pages_of_changes_is_refused(
    run: Run, endpoint: Endpoint, publish: Callable[[str], str], store: Path, tmp_path: Path
) -> None:
    publish("valve")
    run("backup", str(tmp_path / "copy"))
    publish("lost")
    with (
        idstore.open(store, mode="shared") as former,
        idstore.open(tmp_path / "copy", administrator=ALICE) as restored,
    ):
        for number in range(3):
            restored.fixate([restored.mint("rdl", ALICE, idstore.Request(name=str(number))).iri], ALICE)
        stores = [former]

        def changes(after: int) -> ChangePage:
            return public_changes(stores[-1], after, newest_public(former))

        def event_at(number: int) -> str:
            stores.append(restored)  # after the first page
            return restored.published(number - 1, 1)[0].event.iri

        remote = RemoteEndpoint(endpoint.options[1], endpoint.options[3])
        with pytest.raises(StageConflict, match="older backup"):
            EndpointProjection(remote, changes, event_at).bring_up()


@pytest.mark.slow
def test_kills_on_either_side_lose_and_double_nothing(
    run: Run, endpoint: Endpoint, publish: Callable[[str], str], store: Path
) -> None:
    publish("valve")
    with idstore.open(store) as registry:
        for number in range(300):
            id = registry.mint("rdl", ALICE, idstore.Request(name=f"thing {number}")).iri
            registry.fixate([id], ALICE)
            if number % 3 == 0:
                registry.name(id, f"renamed {number}", ALICE)
    command = [sys.executable, "-m", "idstore", "--user", "alice", "project", *endpoint.options]
    for delay in (0.4, 0.6, 0.8, 1.0, 1.2):
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            time.sleep(delay)  # kills come at different moments of the work
            process.kill()
    for delay in (0.5, 0.9):
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            time.sleep(delay)
            endpoint.kill()
            process.wait(60)
        endpoint.start()
    run("project", *endpoint.options)
    assert endpoint.quads() == exported(run)


def test_following_goes_on_until_interrupted(endpoint: Endpoint, publish: Callable[[str], str]) -> None:
    publish("valve")
    command = [sys.executable, "-m", "idstore", "--user", "alice", "project", *endpoint.options, "--follow"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "has the changes up to" in process.stderr.readline()
        id = publish("pump")
        assert "has the changes up to" in process.stderr.readline()
        assert endpoint.ask(f"ASK {{ GRAPH ?g {{ <{id}> ?p ?o }} }}")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


# endpoints that misbehave


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers each request with what the server was told."""

    status, body, kind, location = 200, b"", "text/html", ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Type", self.kind)
        if self.location:
            self.send_header("Location", self.location)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        ({"status": 401, "body": b"no"}, 7, "credentials"),
        ({"status": 403}, 7, "credentials"),
        ({"status": 404}, 3, "check the address"),
        ({"status": 500, "body": b"oops\nmore"}, 6, "oops more"),
        ({"status": 302, "location": "http://127.0.0.1:9/"}, 3, "answered 302"),
        ({"body": b"<html>"}, 3, "no results in JSON"),
        ({"body": b"[1]"}, 3, "no results in JSON"),
    ],
)
def test_what_an_endpoint_answers_wrongly_is_told(
    run: Run, publish: Callable[[str], str], answer: dict[str, object], code: int, message: str
) -> None:
    publish("valve")
    handler = type("Handler", (Answering,), answer)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/sparql"
        assert message in run("project", "--to", address, code=code).err
        server.shutdown()


def test_an_endpoint_that_does_not_answer_is_left(run: Run, publish: Callable[[str], str]) -> None:
    publish("valve")
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/sparql"
        assert "did not answer" in run("project", "--to", address, "--timeout", "0.5", code=9).err
    assert "cannot be asked" in run("project", "--to", address, code=6).err


@pytest.mark.parametrize(
    "address", ["ftp://example.org/", "example.org", "http://user:word@127.0.0.1/", "file:///etc/passwd"]
)
def test_other_addresses_are_refused(run: Run, publish: Callable[[str], str], address: str) -> None:
    publish("valve")
    assert "word" not in run("project", "--to", address, code=3).err.replace("password", "")


def test_credentials_go_over_encrypted_connections_alone(
    run: Run, publish: Callable[[str], str], tmp_path: Path
) -> None:
    publish("valve")
    (tmp_path / "secret").write_text("alice:hush\n")
    options = ["--credentials", str(tmp_path / "secret")]
    outcome = run("project", "--to", "http://example.org/sparql", *options, code=3)
    assert "use https" in outcome.err
    assert "hush" not in outcome.err


@pytest.mark.parametrize("option", ["--repair", "--compare"])
def test_a_token_shows_the_endpoint_no_drafts(
    run: Run,
    endpoint: Endpoint,
    publish: Callable[[str], str],
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
) -> None:
    publish("valve")
    token = Tokens(store).add(ALICE).token
    command = [sys.executable, "-m", "idstore", "--store", str(store), "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            found = re.search(r"http://127\.0\.0\.1:\d+/", server.stderr.readline())
            assert found
            monkeypatch.setenv("IDSTORE_TOKEN", token)
            for options in ([], [option]):
                run("project", *endpoint.options, *options, "--store", found[0])
        finally:
            server.terminate()
            server.stderr.close()
    assert any("valve" in line for line in endpoint.quads())
    assert not any("a draft" in line or "/access/" in line for line in endpoint.quads())
