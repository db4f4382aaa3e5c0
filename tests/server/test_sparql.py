"""Queries over HTTP: their state, limits, formats and end, and what describes the service and the data."""

import asyncio
import json
import os
import select
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from asking import ENDLESS, FORM, QUERY, SPARQL, ask, form, post, query_processes, rows
from processes import is_busy, is_running
from pyoxigraph import NamedNode, RdfFormat, parse
from serving import Server, wait_until
from time_limits import scaled

pytest.importorskip("fastapi", reason="the extra server is not installed")

from starlette.requests import Request
from starlette.types import Message

import idstore
from idstore import Party
from idstore.model.party import NOBODY
from idstore.queries.process import ProcessAnswer
from idstore.server.allowances import Allowances, QueryAllowance
from idstore.server.form_parameters import FormParameters, read_parameters
from idstore.server.performer import Performer
from idstore.server.sign_in import Caller
from idstore.server.sparql import protocol
from idstore.server.sparql.query_responses import Querying
from idstore.server.sparql.routes import SparqlEndpoint
from idstore.server.workers import Workers

MINT = "/api/v1/namespaces/rdl/identifiers"
NAMES = "SELECT ?name { ?s rdfs:label ?name }"
GREEDY = (
    'SELECT (STRLEN(CONCAT(?x, ?x, ?x, ?x, ?x, ?x, ?x, ?x)) AS ?n) { BIND("$" AS ?y) '
    "BIND(CONCAT(?y, ?y, ?y, ?y, ?y, ?y, ?y, ?y) AS ?z) BIND(CONCAT(?z, ?z, ?z, ?z, ?z, ?z, ?z, ?z) AS ?x) }"
).replace("$", "x" * 1_000_000)
LONG = 'SELECT * { BIND("$" AS ?x) BIND(CONCAT(?x, ?x, ?x, ?x, ?x, ?x) AS ?y) }'.replace("$", "x" * 1_000_000)
SETTINGS = """
[queries]
requests = 2
seconds = 2
rows = 5
megabytes = 300

[anonymous_queries]
requests = 1
seconds = 3.0
rows = 3
megabytes = 256

[saved_queries]
folder = "saved"

[description]
title = "Identifiers of the tests"
licence = "https://creativecommons.org/publicdomain/zero/1.0/"
publisher = "The Testers"
"""
SAVED = """# What is named so?
# parameter name (text, required): the name
# parameter count (integer): how many
SELECT ?thing ?name ?count { ?thing rdfs:label ?name } ORDER BY ?thing
"""
linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def strict(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with low limits and a folder of saved queries."""
    folder = tmp_path_factory.mktemp("strict")
    shutil.copytree(prepared, folder / "store")
    (folder / "settings.toml").write_text(SETTINGS)
    (folder / "saved").mkdir()
    (folder / "saved" / "named.rq").write_text(SAVED)
    with Server(folder / "store", ("--settings", str(folder / "settings.toml"))) as server:
        yield server


@pytest.fixture(scope="module")
def carol(strict: Server) -> str:
    return strict.token(Party("carol"))


# the state


def test_a_query_sees_every_acknowledged_change(server: Server, bob: str) -> None:
    """The age of a state is none: also under load, and for changes that take something away."""
    for number in range(5):
        name = f"fresh {number}"
        made = server.ask("POST", MINT, {"name": name}, token=bob).json["id"]
        asked = f"ASK {{ <{made}> rdfs:label '{name}' }}"
        assert ask(server, asked, bob).json["boolean"] is True
        assert ask(server, asked).json["boolean"] is False
        act = "fixate" if number % 2 else "release"
        body = {"ids": [made]} if act == "fixate" else {"id": made}
        assert server.ask("POST", f"/api/v1/{act}", body, token=bob).status == 200
        for token in (bob, None):
            assert ask(server, asked, token).json["boolean"] is (act == "fixate")


def test_a_grant_and_its_end_take_effect_at_once(server: Server, alice: str) -> None:
    made = server.ask("POST", MINT, {"name": "shared"}, token=alice).json["id"]
    dave = server.token(Party("dave"))
    for act, expected in (("grant", True), ("ungrant", False)):
        reply = server.ask("POST", f"/api/v1/{act}", _grant(act, made), token=alice)
        assert reply.status == 200, reply.body
        assert ask(server, f"ASK {{ <{made}> ?p ?o }}", dave).json["boolean"] is expected


def _grant(act: str, made: str) -> dict[str, Any]:
    from idstore.operations.declared import OPERATIONS

    name = next(one.name for one in OPERATIONS[act].parameters if one.name != "id")
    return {"id": made, name: "dave"}


def test_an_absent_and_a_hidden_identifier_give_the_same_bytes(server: Server, alice: str, bob: str) -> None:
    hidden = server.ask("POST", MINT, {"name": "hidden"}, token=alice).json["id"]
    absent = "http://rdl.example.org/data#R0000000000"
    graph, nowhere = "https://w3id.org/idstore/access/alice", "https://w3id.org/idstore/access/nobody-has-it"
    for text in (
        "DESCRIBE <$>",
        "ASK { <$> ?p ?o }",
        "SELECT * { <$> ?p ?o }",
        "SELECT * { GRAPH <$> { ?s ?p ?o } }",
    ):
        for token in (None, bob):
            for one, other in ((hidden, absent), (graph, nowhere)):
                found, expected = (ask(server, text.replace("$", iri), token, "*/*") for iri in (one, other))
                assert (found.status, found.body) == (expected.status, expected.body)
                assert {**found.headers, "date": ""} == {**expected.headers, "date": ""}
            found, expected = (
                ask(server, "ASK { ?s ?p ?o }", token, **{"default-graph-uri": iri})
                for iri in (graph, nowhere)
            )
            assert found.body == expected.body


# the limits


def test_limits_are_announced_and_kept(strict: Server, carol: str) -> None:
    for token, limits, seconds in (
        (carol, "requests=2, seconds=2, rows=5, megabytes=300", 2),
        (None, "requests=1, seconds=3, rows=3, megabytes=256", 3),
    ):
        reply = ask(strict, "SELECT * { ?s ?p ?o }", token)
        assert reply.headers["idstore-limits"] == limits
        most = int(limits.partition("rows=")[2].partition(",")[0])
        assert (len(rows(reply)), reply.headers["idstore-rows"]) == (most, str(most))
        assert reply.headers["idstore-truncated"] == "true"
        assert strict.ask("GET", SPARQL, token=token).headers["idstore-limits"] == limits
        begun = time.monotonic()
        late = ask(strict, ENDLESS, token)
        assert seconds <= time.monotonic() - begun < scaled(seconds + 2)
        assert (late.status, late.json["fields"]) == (422, {"limit": "time", "seconds": seconds})
        assert "retry-after" not in late.headers


def test_queries_of_the_api_have_the_same_limits(strict: Server, carol: str) -> None:
    path = "/api/v1/query"
    for token, seconds, most in ((carol, 2, 5), (None, 3, 3)):
        for asked in ({}, {"rows": 1000}, {"rows": None}):
            sent = {"text": "SELECT * { ?s ?p ?o }", "format": "json", **asked}
            reply = strict.ask("POST", path, sent, token=token)
            told = (reply.headers["idstore-rows"], reply.headers["idstore-truncated"])
            assert told == (str(most), "true")
        late = strict.ask("POST", path, {"text": ENDLESS, "timeout": 55}, token=token)
        assert late.json["fields"] == {"limit": "time", "seconds": seconds}
        assert (late.status, "remedy" in late.json) == (422, False)
        assert f"of this server, {seconds:g} s" in late.json["detail"]
    fewer = strict.ask("POST", path, {"text": "SELECT * { ?s ?p ?o }", "rows": 1}, token=carol)
    assert fewer.headers["idstore-rows"] == "1"


def test_anonymous_queries_of_the_api_leave_processes_to_others(strict: Server, carol: str) -> None:
    body = json.dumps({"text": ENDLESS, "timeout": 55}).encode()
    head = f"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    with ExitStack() as opened:
        for _ in range(16):
            client = opened.enter_context(socket.create_connection(("127.0.0.1", strict.port)))
            client.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        for _ in range(3):
            begun = time.monotonic()
            assert ask(strict, "ASK {}", carol).json["boolean"] is True
            reply = strict.ask("POST", "/api/v1/query", {"text": "ASK {}", "format": "json"}, token=carol)
            assert reply.status == 200, reply.body
            assert time.monotonic() - begun < scaled(2)


@linux
@pytest.mark.parametrize("path", ["/api/v1/query", "/sparql"])
def test_an_answer_that_is_not_taken_holds_its_place_and_its_file(
    strict: Server, carol: str, path: str
) -> None:
    def answers() -> int:
        """Return how many large files without a name the server holds."""
        sizes = []
        for file in Path(f"/proc/{strict.process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                sizes += [file.stat().st_size] if _target(file).endswith("(deleted)") else []
        return sum(size > 2**20 for size in sizes)

    def begun(text: str) -> socket.socket:
        kind, body = ("json", json.dumps({"text": text})) if path != "/sparql" else ("sparql-query", text)
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", strict.port))
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {carol}\r\nContent-Length: {len(body)}"
        )
        client.sendall(f"{head}\r\nContent-Type: application/{kind}\r\n\r\n{body}".encode())
        return client

    with ExitStack() as clients:
        slow = [clients.enter_context(begun(LONG)) for _ in range(2)]
        assert [client.recv(12) for client in slow] == [b"HTTP/1.1 200"] * 2
        assert answers() == 2
        further = clients.enter_context(begun("ASK {}"))
        assert not select.select([further], [], [], 1)[0]
        assert ask(strict, "ASK {}").json["boolean"] is True
        slow[0].close()
        assert further.recv(12) == b"HTTP/1.1 200"
    wait_until(lambda: not answers())


@linux
def test_memory_is_limited(strict: Server, carol: str) -> None:
    reply = post(strict, GREEDY.encode(), QUERY, token=carol)
    assert (reply.status, reply.json["fields"]) == (422, {"limit": "memory", "megabytes": 300})
    assert ask(strict, "ASK {}", carol).json["boolean"] is True


def test_a_query_that_is_nested_too_deeply_is_refused(server: Server) -> None:
    nested = "SELECT * {" + "{" * 30_000 + "}" * 30_000 + "}"
    for reply in (
        post(server, nested.encode(), QUERY),
        server.ask("POST", "/api/v1/query", {"text": nested}),
    ):
        assert (reply.status, reply.json["fields"]) == (422, {"limit": "depth"})


@pytest.mark.slow
def test_too_many_queries_of_one_caller(strict: Server, carol: str) -> None:
    with ThreadPoolExecutor(24) as threads:
        sent = [threads.submit(ask, strict, ENDLESS, carol) for _ in range(24)]
        wait_until(lambda: any(one.done() for one in sent))
        first = next(one for one in sent if one.done()).result()
        assert (first.status, first.json["error"]) == (429, "too-many-queries")
        assert int(first.headers["retry-after"]) > 0
        other = ask(strict, "ASK {}")  # of another caller
        statuses = [one.result().status for one in sent]
    assert set(statuses) == {422, 429}, [one.result().body for one in sent if one.result().status == 503]
    assert statuses.count(422) == 18
    assert other.status == 200, other.body


@linux
@pytest.mark.slow
def test_endless_and_greedy_queries_of_many_parties_stop_no_other_request(server: Server, alice: str) -> None:
    def waits(number: int) -> list[float]:
        found = []
        for place in range(number):
            begun = time.monotonic()
            reply = server.ask("POST", MINT, {"name": f"beside {place}"}, token=alice)
            assert reply.status == 201
            assert (
                server.ask("GET", "/api/v1/identifier", query={"id": reply.json["id"]}, token=alice).status
                == 200
            )
            found.append(time.monotonic() - begun)
        return sorted(found)

    alone = waits(20)
    tokens = [server.token(Party(f"greedy{number}")) for number in range(6)]
    texts = [ENDLESS, GREEDY] * 6
    with ThreadPoolExecutor(16) as threads:
        sent = [
            threads.submit(post, server, text.encode(), QUERY, token=token)
            for text, token in zip(texts, tokens * 2, strict=True)
        ]
        wait_until(lambda: len([one for one in query_processes(server.process.pid) if is_busy(one)]) >= 2)
        beside = waits(20)
        assert not all(one.done() for one in sent)
        for one in query_processes(server.process.pid):
            os.kill(one, signal.SIGALRM)  # as the clock does at the time limit
        while not all(one.done() for one in sent):
            for one in query_processes(server.process.pid):
                if is_busy(one):
                    os.kill(one, signal.SIGALRM)
            time.sleep(0.1)
        assert {one.result().status for one in sent} <= {422, 429, 503}
    assert beside[10] < scaled(1), (alone, beside)


# the processes


@linux
def test_a_killed_process_is_replaced(server: Server) -> None:
    ask(server, "ASK {}")
    [*idle] = query_processes(server.process.pid)
    assert idle
    for one in idle:
        os.kill(one, signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, idle)))
    assert ask(server, "ASK {}").status == 200  # none of them was given a query
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(ask, server, ENDLESS)
        wait_until(lambda: any(map(is_busy, query_processes(server.process.pid))))
        [busy] = [one for one in query_processes(server.process.pid) if is_busy(one)]
        os.kill(busy, signal.SIGKILL)
        reply = answer.result()
    assert (reply.status, reply.json["error"]) == (503, "store-unavailable")
    assert "signal 9" in reply.json["detail"]
    assert int(reply.headers["retry-after"]) > 0
    assert ask(server, "ASK {}").status == 200


@linux
def test_a_query_ends_when_its_client_goes_away(server: Server) -> None:
    request = f"GET {SPARQL}?{form(('query', ENDLESS)).decode()} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(request.encode())
        wait_until(lambda: any(map(is_busy, query_processes(server.process.pid))))
        [busy] = [one for one in query_processes(server.process.pid) if is_busy(one)]
    wait_until(lambda: not is_running(busy), 5)


@linux
def test_processes_are_kept_and_end_with_the_server(prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "store")
    with Server(tmp_path / "store") as server:
        ask(server, "ASK {}")
        first = query_processes(server.process.pid)
        for _ in range(5):
            ask(server, "ASK {}")
        assert query_processes(server.process.pid) == first
        server.end(signal.SIGKILL)
        wait_until(lambda: not any(map(is_running, first)), 5)


@linux
def test_an_idle_process_lets_go_of_the_files(server: Server, bob: str) -> None:
    """So that nothing that was redacted, and no superseded snapshot, stays on the disk because of it."""

    def opened() -> list[str]:
        return [
            link
            for one in query_processes(server.process.pid)
            for place in Path(f"/proc/{one}/fd").iterdir()
            if "/snapshots/" in (link := _target(place))
        ]

    ask(server, NAMES, bob)
    assert opened()
    wait_until(lambda: not opened(), 15)
    assert ask(server, NAMES, bob).status == 200


def _target(place: Path) -> str:
    try:
        return str(place.readlink())
    except OSError:
        return ""


# formats and descriptions


def test_what_xml_cannot_express_is_said(server: Server) -> None:
    text = 'CONSTRUCT { <urn:a> <urn:p> ?x } { BIND("a\\u0001b" AS ?x) }'
    assert ask(server, text, accept="text/turtle").status == 200
    reply = ask(server, text, accept="application/rdf+xml")
    assert (reply.status, reply.json["fields"]) == (406, {"format": "rdfxml"})
    for predicate, status in (("urn:p", 200), ("http://example.org/1", 406)):
        text = f"CONSTRUCT {{ <urn:a> <{predicate}> 1 }} {{}}"
        reply = ask(server, text, accept="application/rdf+xml")
        assert reply.status == status
        if status == 200:
            assert ET.fromstring(reply.body) is not None


def test_a_parameter_may_name_the_format(server: Server) -> None:
    for name, kind in (("csv", "text/csv"), ("json", "application/sparql-results+json")):
        assert ask(server, "ASK {}", format=name).headers["content-type"].startswith(kind)
    assert ask(server, "ASK {}", format="of-another-server").status == 200
    body = form(("query", "ASK {}"), ("format", "xml"))
    assert "xml" in post(server, body, FORM).headers["content-type"]


def test_people_get_pages(server: Server, bob: str) -> None:
    page = server.ask("GET", SPARQL, headers={"Accept": "text/html,application/xml;q=0.9,*/*;q=0.8"})
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"<form" in page.body
    answer = ask(server, "SELECT ('<script>' AS ?x) {}", bob, "text/html")
    assert b"&lt;script&gt;" in answer.body
    assert b"<script" not in answer.body
    assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_a_page_cuts_long_cells(server: Server) -> None:
    """A table pads each row to the widest cell: one long text in a thousand rows makes 512 MB of it."""
    digits = "{0 1 2 3 4 5 6 7 8 9}"
    doublings = " ".join(f"BIND(CONCAT(?s{n}, ?s{n}) AS ?s{n + 1})" for n in range(15))
    asked = (
        f"SELECT ?long ?short {{ VALUES ?i {digits} VALUES ?j {digits} VALUES ?k {digits}"
        f" BIND('{'x' * 16}' AS ?s0) {doublings}"
        " BIND(IF(?i + ?j + ?k = 0, ?s15, 'x') AS ?long) BIND('end' AS ?short) }"
    )
    answer = ask(server, asked, None, "text/html")
    assert (answer.status, answer.headers["idstore-rows"]) == (200, "1000")
    assert f"{'x' * 299}…  end\n".encode() in answer.body
    assert len(answer.body) < 400_000
    whole = ask(server, f"{asked} ORDER BY DESC(STRLEN(?long)) LIMIT 1", None, "text/plain")
    assert b"x" * (16 << 15) in whole.body


def test_a_page_shows_a_megabyte_of_an_answer(server: Server) -> None:
    asked = f"CONSTRUCT {{ <urn:a> <urn:b> ?x }} {{ BIND('{'ü' * 600_000}' AS ?x) }}".encode()
    answer = post(server, asked, QUERY, headers={"Accept": "text/html"})
    shown = answer.body.partition(b"<h2>Answer</h2>")[2]
    assert b"Only the beginning is shown" in shown
    assert "ü…</pre>".encode() in shown
    assert len(shown) < 1.1 * (1 << 20)
    assert answer.headers["idstore-truncated"] == "true"


def test_a_form_is_read_and_a_page_made_in_threads(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop answers other requests meanwhile."""
    shutil.copytree(prepared, tmp_path / "store")
    threads: dict[str, int] = {}

    class Stream(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            threads["page"] = threading.get_ident()
            return super().read(size)

    def read(encoded: bytes, place: str) -> FormParameters:
        threads["form"] = threading.get_ident()
        return read_parameters(encoded, place)

    def query(*_: object, **__: object) -> ProcessAnswer:
        return ProcessAnswer("rows", "table", 1, truncated=False, stream=Stream(b"a line\n"))

    async def receive() -> Message:
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return] # never

    scope = {
        "type": "http",
        "method": "POST",
        "headers": [(b"accept", b"text/html"), (b"content-type", FORM.encode())],
        "query_string": b"",
        "root_path": "",
        "state": {"caller": Caller(NOBODY), "body": b"query=ASK+%7B%7D"},
    }
    monkeypatch.setattr(protocol, "read_parameters", read)
    with idstore.open(tmp_path / "store") as registry:
        registry.query = query  # type: ignore[method-assign]
        performer = Performer(registry, Workers(registry, 60))
        querying = Querying(performer, Allowances(QueryAllowance(), QueryAllowance()))
        response = asyncio.run(SparqlEndpoint(performer, querying).respond(Request(scope, receive)))
    assert b"a line" in response.body
    assert threads.keys() == {"page", "form"}
    assert threading.get_ident() not in threads.values()


def test_a_page_shows_what_is_wrong_with_a_query_and_keeps_it(server: Server) -> None:
    answer = ask(server, "SELECT ?kept WHERE {", None, "text/html")
    assert (answer.status, answer.headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert b"SELECT ?kept WHERE {</textarea>" in answer.body
    assert b'role="alert"' in answer.body
    assert ask(server, "SELECT ?kept WHERE {").json["error"] == "query-refused"


@pytest.mark.parametrize(
    ("accept", "format"),
    [
        (None, RdfFormat.TURTLE),
        ("*/*", RdfFormat.TURTLE),
        ("text/turtle", RdfFormat.TURTLE),
        ("application/rdf+xml", RdfFormat.RDF_XML),
        ("application/n-triples", RdfFormat.N_TRIPLES),
        ("application/ld+json", RdfFormat.JSON_LD),
    ],
)
def test_the_service_describes_itself(
    server: Server, alice: str, accept: str | None, format: RdfFormat
) -> None:
    server.ask("POST", MINT, {"name": "secret"}, token=alice)
    headers = {} if accept is None else {"Accept": accept}
    replies = [server.ask("GET", SPARQL, headers=headers, token=token) for token in (None, alice)]
    triples = [[*parse(reply.body, format=format)] for reply in replies]
    sd = "http://www.w3.org/ns/sparql-service-description#"
    for found in triples:
        endpoints = [one.object for one in found if one.predicate == NamedNode(f"{sd}endpoint")]
        assert endpoints == [NamedNode(f"http://127.0.0.1:{server.port}{SPARQL}")]
        names = {str(one.object) for one in found if one.predicate == NamedNode(f"{sd}name")}
        assert "<https://w3id.org/idstore/graph/registry>" in names
        assert not [name for name in names if "/access/" in name or "/closed/" in name]


def test_scripts_of_other_sites_may_read_what_everyone_may_read(server: Server, bob: str) -> None:
    preflight = server.ask("OPTIONS", SPARQL, headers={"Origin": "https://example.org"})
    assert (preflight.status, preflight.headers["access-control-allow-origin"]) == (204, "*")
    for text in ("ASK {}", "ASK {"):
        assert ask(server, text).headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-origin" not in ask(server, text, bob).headers
    assert ask(server, "ASK {}").headers["cache-control"] == "private, no-store"


# saved queries


def test_saved_queries_are_addresses(strict: Server, carol: str) -> None:
    strict.ask("POST", MINT, {"name": 'a "quoted" }name'}, token=carol)
    listed = {
        one["name"]: one
        for one in strict.ask("GET", "/queries/", headers={"Accept": "application/json"}).json
    }
    assert {"allocations", "claimed-twice", "shared-media-types", "named"} <= listed.keys()
    assert listed["named"]["title"] == "What is named so?"
    assert b"/queries/named" in strict.ask("GET", "/queries/", headers={"Accept": "text/html"}).body
    asked = {"name": 'a "quoted" }name', "count": "7"}
    for token, expected in ((carol, [(asked["name"], "7")]), (None, [])):
        found = rows(strict.ask("GET", "/queries/named", query=asked, token=token))
        assert [(row["name"], row["count"]) for row in found] == expected
    assert strict.ask("GET", "/queries/named.rq").body.decode() == SAVED
    csv = strict.ask("GET", "/queries/allocations", query={"format": "csv", "namespace": "rdl"}, token=carol)
    assert csv.headers["content-type"].startswith("text/csv")
    assert b"carol,rdl,1" in csv.body


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({}, "the parameter name is missing"),
        ({"name": ""}, "the parameter name is missing"),
        ({"name": "x", "nix": "y"}, "no parameter 'nix' here; there are: name, count"),
        ({"name": "x", "count": "many"}, "count: 'many' is not of the type integer"),
    ],
)
def test_parameters_of_saved_queries_are_checked(strict: Server, query: dict[str, str], message: str) -> None:
    reply = strict.ask("GET", "/queries/named", query=query)
    assert reply.status == 400
    assert message in reply.json["detail"]


def test_a_parameter_is_a_term_and_never_text_of_the_query(strict: Server, carol: str) -> None:
    for text in ('" } UNION { ?thing ?p ?name', "' || true", "\\", "}\n#", "?name", "<urn:x>"):
        assert rows(strict.ask("GET", "/queries/named", query={"name": text}, token=carol)) == []
    for address in ("/queries/nix", "/queries/named/x", "/queries/..%2Fnamed"):
        assert strict.ask("GET", address).status == 404


# the description of the data


def test_the_data_are_described(strict: Server, carol: str) -> None:
    strict.ask("POST", MINT, {"name": "not public"}, token=carol)
    replies = [strict.ask("GET", "/.well-known/void", token=token) for token in (None, carol)]
    texts = [reply.body.decode() for reply in replies]
    assert texts[0] == texts[1]
    found = {(str(one.predicate), str(one.object)) for one in parse(texts[0], format=RdfFormat.TURTLE)}
    terms = "http://purl.org/dc/terms/"
    assert (f"<{terms}title>", '"Identifiers of the tests"') in found
    assert (f"<{terms}license>", "<https://creativecommons.org/publicdomain/zero/1.0/>") in found
    assert (f"<{terms}publisher>", '"The Testers"') in found
    endpoint = f"<http://127.0.0.1:{strict.port}{SPARQL}>"
    assert ("<http://rdfs.org/ns/void#sparqlEndpoint>", endpoint) in found
    assert "RdsWipIdentifier" not in texts[0]
    jsonld = strict.ask("GET", "/.well-known/void", headers={"Accept": "application/ld+json"})
    assert isinstance(json.loads(jsonld.body), list)


def test_each_address_in_the_description_answers(strict: Server) -> None:
    text = strict.ask("GET", "/.well-known/void").body
    dumps = [
        one.object.value
        for one in parse(text, format=RdfFormat.TURTLE)
        if one.predicate == NamedNode("http://rdfs.org/ns/void#dataDump")
        and isinstance(one.object, NamedNode)
    ]
    spaces = strict.ask("GET", "/api/v1/namespaces").json
    assert len(dumps) == 5 * (1 + len(spaces))
    for dump in dumps:
        assert "forPublication=true" in dump
        assert strict.ask("GET", dump.removeprefix(f"http://127.0.0.1:{strict.port}")).status == 200
