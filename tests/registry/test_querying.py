"""Queries by people who are not trusted: what they get, what they cost at most, and what is left of them."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pace import allowing

import idstore
from idstore import Party, Registry, Request
from idstore.errors import InvalidData, LimitReached, QueryRefused, StoreUnavailable
from idstore.queries import process
from idstore.queries.process import Job
from idstore.vocabulary import CLAIMS, PREFIXES

ALICE, BOB, EVE = Party("alice"), Party("bob"), Party("eve")
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p . ?q ?r ?s . ?t ?u ?v }"
GREEDY = 'SELECT (STRLEN(CONCAT(?x, ?x, ?x, ?x)) AS ?n) { BIND("$" AS ?y) BIND(CONCAT(?y, ?y, ?y, ?y, ?y, ?y, ?y, ?y) AS ?x) }'
ASKER = """
import sys, idstore
from idstore import Party
with idstore.open(sys.argv[1], read_only=True) as registry:
    print("ready", flush=True)
    with registry.query(sys.argv[2], Party("alice"), "csv", timeout=60) as answer:
        sys.stdout.buffer.write(answer.read())
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds memory, and lets a process give the network up")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with idstore.open(folder, administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        yield registry


def ask(registry: Registry, text: str, party: Party = ALICE, format: str | None = "csv") -> str:
    with registry.query(text, party, format) as answer:
        return answer.read().decode()


def workers() -> set[int]:
    """Numbers of the processes of queries that this process started."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command, status = (place / "cmdline").read_bytes(), (place / "status").read_text()
        except OSError:
            continue
        if b"queries/worker.py" in command and f"PPid:\t{os.getpid()}\n" in status:
            found.add(int(place.name))
    return found


def is_running(number: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False


def eventually(true: Callable[[], bool], seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while not true() and time.monotonic() < limit:
        time.sleep(0.01)
    return true()


def test_an_answer_says_what_it_is(registry: Registry) -> None:
    registry.mint("rdl", ALICE, Request(name="valve"))
    with registry.query("SELECT ?l { ?s rdfs:label ?l }", ALICE) as answer:
        assert (answer.kind, answer.format, answer.rows, answer.truncated) == ("rows", "table", 1, False)
        assert answer.media_type == "text/plain; charset=utf-8"
        assert answer.read() == b"l\n-----\nvalve\n"
    assert answer.stream.closed
    with registry.query("ASK { ?s rdfs:label 'valve' }", EVE, "json") as answer:
        assert (answer.kind, answer.media_type) == ("truth", "application/sparql-results+json")
        assert json.loads(answer.read())["boolean"] is False
    with registry.query("CONSTRUCT WHERE { ?s rdfs:label ?l }", ALICE) as answer:
        assert (answer.kind, answer.format, answer.rows) == ("triples", "turtle", 1)


def test_prefixes_are_known_and_can_be_declared(registry: Registry) -> None:
    registry.mint("rdl", ALICE, Request(name="valve"))
    declared = "".join(f"PREFIX {prefix}: <{space}> " for prefix, space in PREFIXES.items())
    for text in ("SELECT ?l { ?s rdfs:label ?l }", declared + "SELECT ?l { ?s rdfs:label ?l ; ids:stage ids:Created }"):
        assert ask(registry, text).split() == ["l", "valve"]
    with pytest.raises(QueryRefused, match="a prefix is not declared"):
        ask(registry, "SELECT * { ?s nix:label ?l }")
    assert ask(registry, "PREFIX ids: <urn:others:> ASK { ?s ids:stage ?o }").strip() == "false"


def test_each_party_asks_what_it_sees(registry: Registry) -> None:
    mine = registry.mint("rdl", ALICE, Request(name="mine"))
    his = registry.mint("rdl", BOB, Request(name="his"))
    text = "SELECT ?l { ?s rdfs:label ?l } ORDER BY ?l"
    assert ask(registry, text).split()[1:] == ["his", "mine"]  # an administrator
    assert ask(registry, text, BOB).split()[1:] == ["his"]
    assert ask(registry, text, EVE).split()[1:] == []
    registry.grant(his.iri.value, EVE, BOB)
    registry.fixate([mine.iri.value], ALICE)
    assert ask(registry, text, EVE).split()[1:] == ["his", "mine"]
    registry.ungrant(his.iri.value, EVE, BOB)
    assert ask(registry, text, EVE).split()[1:] == ["mine"]
    assert his.iri.value not in ask(registry, f"DESCRIBE <{his.iri.value}>", EVE, "ntriples")
    for party in (ALICE, BOB):
        assert ask(registry, f"ASK {{ GRAPH <{CLAIMS.value}> {{ ?s ?p ?o }} }}", party).strip() == "false"
        assert ask(registry, "ASK { ?s ids:claimedBy ?o }", party).strip() == "false"


@pytest.mark.parametrize("fate", ["regranted", "released", "fixated"])
def test_graphs_that_were_emptied_are_not_named(registry: Registry, fate: str) -> None:
    """Their names are former grant lists."""
    registry.add_party(Party("staff"), ALICE, "group")
    shared = registry.mint("rdl", BOB).iri.value
    registry.grant(shared, Party("staff"), BOB)
    registry.grant(shared, Party("dave"), BOB)
    if fate == "fixated":
        for listed in ("staff", "dave"):
            registry.ungrant(shared, Party(listed), BOB)
        registry.fixate([shared], BOB)
    elif fate == "released":
        registry.release(shared, BOB)
    else:
        registry.grant(shared, Party("carol"), BOB)
    registry.add_party(EVE, ALICE)
    registry.join(EVE, Party("staff"), ALICE)
    lists = {"https://w3id.org/idstore/access/bob,carol,dave,staff"} if fate == "regranted" else set()
    for party in (ALICE, BOB, EVE):
        for names in (
            registry.visible_graphs(party),
            [graph.identifier for graph in registry.as_graph(party).graphs()],
            ask(registry, "SELECT ?g { GRAPH ?g {} }", party).split(),
            ask(registry, "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }", party).split(),
        ):
            assert {str(name).strip('<">') for name in names if "access" in name} == lists


def test_a_membership_that_ends_is_lost_at_once(registry: Registry) -> None:
    for name, kind in (("staff", "group"), ("bob", "user")):
        registry.add_party(Party(name), ALICE, kind)
    registry.join(BOB, Party("staff"), ALICE)
    made = registry.mint("rdl", ALICE, Request(name="shared"))
    registry.grant(made.iri.value, Party("staff"), ALICE)
    text = "ASK { ?s rdfs:label 'shared' }"
    assert ask(registry, text, BOB).strip() == "true"
    registry.leave(BOB, Party("staff"), ALICE)
    assert ask(registry, text, BOB).strip() == "false"


@pytest.mark.parametrize(
    "text", ["SELECT * { SERVICE <http://127.0.0.1/> {} }", "INSERT DATA { <urn:a> <urn:b> <urn:c> }", "SELECT", "\ud800"]
)
def test_what_could_do_harm_is_refused(registry: Registry, text: str) -> None:
    with pytest.raises(QueryRefused):
        ask(registry, text)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_time_limit_must_be_one(registry: Registry, timeout: float) -> None:
    with pytest.raises(InvalidData):
        registry.query("ASK {}", ALICE, timeout=timeout)


@pytest.mark.parametrize("limit", [0.3, 1.0])
def test_an_endless_query_is_gone_a_second_after_its_limit(registry: Registry, limit: float) -> None:
    registry.mint("rdl", ALICE)
    seen: set[int] = set()
    watcher = threading.Thread(target=lambda: seen.update(watched(limit + 1)))
    watcher.start()
    begun = time.monotonic()
    with pytest.raises(LimitReached, match=f"ended after {limit:g} s") as caught:
        registry.query(ENDLESS, ALICE, timeout=limit)
    assert limit <= (took := time.monotonic() - begun) < allowing(limit + 1), took
    assert caught.value.fields == {"limit": "time", "seconds": limit}
    watcher.join()
    if Path("/proc/self").exists():
        assert seen
        assert not any(map(is_running, seen))


def watched(seconds: float) -> set[int]:
    found: set[int] = set()
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        found |= workers()
        time.sleep(0.02)
    return found


def test_a_query_ends_without_anybody_who_waits_for_it(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel ends it: a parent that is stopped, or busy, need do nothing."""
    registry.mint("rdl", ALICE)
    monkeypatch.setattr(process, "_GRACE", 60)
    begun = time.monotonic()
    with pytest.raises(LimitReached):
        registry.query(ENDLESS, ALICE, timeout=0.5)
    assert (took := time.monotonic() - begun) < allowing(1.5), took


@linux
def test_the_memory_limit(registry: Registry) -> None:
    with pytest.raises(LimitReached, match="more than 400 MB") as caught:
        registry.query(GREEDY.replace("$", "x" * 20_000_000), ALICE, memory=400 << 20)
    assert caught.value.fields == {"limit": "memory", "megabytes": 400}
    assert ask(registry, "ASK {}").strip() == "true"


def test_the_row_limit(registry: Registry) -> None:
    for number in range(3):
        registry.mint("rdl", ALICE, Request(name=f"n{number}"))
    text = "SELECT ?l { ?s rdfs:label ?l } ORDER BY ?l"
    with registry.query(text, ALICE, "csv", rows=2) as answer:
        assert (answer.rows, answer.truncated, answer.read().split()) == (2, True, [b"l", b"n0", b"n1"])
    with registry.query(text, ALICE, "csv", rows=3) as answer:
        assert (answer.rows, answer.truncated) == (3, False)


def test_a_query_that_is_nested_too_deeply(registry: Registry) -> None:
    with pytest.raises(LimitReached, match="nested too deeply"):
        registry.query("SELECT * {" + "{" * 30_000 + "}" * 30_000 + "}", ALICE)


LONG = """
import resource, sys
from idstore.errors import LimitReached
from idstore.queries.process import Job, run
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    run(Job(sys.argv[1], sys.argv[2], [], {}, "csv", None, 30, 2 << 30))
except LimitReached as error:
    print(error)
"""


def test_an_answer_that_is_too_long(registry: Registry) -> None:
    text = 'SELECT (CONCAT("' + "x" * 1000 + '", STR(?n)) AS ?long) { VALUES ?n { ' + " ".join(map(str, range(400))) + " } }"
    with registry.query(text, ALICE, "csv", rows=None) as answer:
        assert answer.rows == 400
    done = subprocess.run([sys.executable, "-c", LONG, engine_of(registry), text], capture_output=True, text=True, check=True)
    assert "or its answer, needed more" in done.stdout


def test_too_little_memory_is_told(registry: Registry) -> None:
    with pytest.raises(InvalidData, match="256 MB at least"):
        registry.query("ASK {}", ALICE, memory=1 << 20)
    registry.query("ASK {}", ALICE, memory=256 << 20).close()


def engine_of(registry: Registry) -> str:
    """A snapshot that is kept until the registry is closed."""
    held = ExitStack()
    engine = str(held.enter_context(registry.store.snapshot()))
    held.pop_all()
    return engine


def test_a_snapshot_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="the query failed"):
        process.run(Job(str(tmp_path / "none"), "ASK {}", [], {}, None, None, 30, 2 << 30))


# no connection is opened


@pytest.fixture
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """An address on this machine, and what came in there."""
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        stop = threading.Event()

        def listen() -> None:
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                with connection:
                    came.append(connection.recv(1000))
                    connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        thread = threading.Thread(target=listen)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/", came
        time.sleep(0.2)
        stop.set()
        thread.join()


ATTEMPTS = (
    "SELECT * { SERVICE <$> { ?s ?p ?o } }",
    "ASK { SERVICE SILENT <$> { ?s ?p ?o } }",
    "SELECT * { ?s ?p ?o FILTER EXISTS { { SELECT * { SERVICE <$> { ?s ?p ?o } } } } }",
    "SELECT * { VALUES ?where { <$> } SERVICE ?where { ?s ?p ?o } }",
    "SELECT * { # \r SERVICE <$> { ?s ?p ?o } \n }",
    "SELECT * FROM <$> { ?s ?p ?o }",
    "SELECT * FROM NAMED <$> { GRAPH <$> { ?s ?p ?o } }",
    "DESCRIBE <$>",
    "LOAD <$>",
    "LOAD SILENT <$> INTO GRAPH <urn:g>",
    "SELECT * { ?s ?p ?o } ; LOAD <$>",
)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_no_connection_is_opened(registry: Registry, listener: tuple[str, list[bytes]], attempt: str) -> None:
    address, came = listener
    try:
        registry.query(attempt.replace("$", address), ALICE).close()
    except QueryRefused:
        assert "FROM" not in attempt
        assert "DESCRIBE" not in attempt
    time.sleep(0.2)
    assert came == []


UNGUARDED = """
import sys
from idstore.queries import guard, worker
guard.check = lambda text, prefixes: None
worker.main()
"""


@linux
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_what_slips_through_the_parser_reaches_nobody(registry: Registry, listener: tuple[str, list[bytes]], host: str) -> None:
    """The kernel refuses the process every socket: shown with the guard taken away."""
    address, came = listener
    text = f"SELECT * {{ SERVICE <{address.replace('127.0.0.1', host)}> {{ ?s ?p ?o }} }}"
    job: dict[str, object] = {
        "path": sys.path,
        "engine": engine_of(registry),
        "query": text,
        "graphs": [],
        "prefixes": {},
        "format": None,
        "rows": None,
    }
    job |= {"seconds": 20, "memory": 2 << 30, "parent": os.getpid()}
    done = subprocess.run([sys.executable, "-c", UNGUARDED], input=json.dumps(job), capture_output=True, text=True, check=False)
    assert "Permission denied" in json.loads(done.stderr)["failed"]
    time.sleep(0.2)
    assert came == []


def test_the_listener_hears(listener: tuple[str, list[bytes]]) -> None:
    """A check that cannot fail proves nothing."""
    import pyoxigraph

    address, came = listener
    with pytest.raises(OSError, match="500"):
        list(pyoxigraph.Store().query(f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}"))  # type: ignore[arg-type]
    assert eventually(lambda: came != [], allowing(2))


# beside others


def test_writers_go_on_while_a_query_runs(registry: Registry, folder: Path) -> None:
    registry.mint("rdl", ALICE)
    registry.close()
    with ExitStack() as held:
        with idstore.open(folder, read_only=True) as reader:
            run = held.enter_context(reader.query_prepared(ENDLESS, ALICE, timeout=8))
        ended: list[BaseException] = []

        def wait() -> None:
            try:
                run()
            except LimitReached as error:
                ended.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        with idstore.open(folder, wait=0) as writer:
            writer.mint("rdl", ALICE, Request(name="later"))
            assert ask(writer, "ASK { ?s rdfs:label 'later' }").strip() == "true"
        assert thread.is_alive()
        thread.join()
        assert ended


def test_a_query_sees_the_state_it_was_asked_in(registry: Registry) -> None:
    registry.mint("rdl", ALICE, Request(name="before"))
    with registry.query_prepared("SELECT ?l { ?s rdfs:label ?l }", ALICE, "csv") as run:
        registry.mint("rdl", ALICE, Request(name="after"))
        with run() as answer:
            assert answer.read().split() == [b"l", b"before"]


def test_queries_of_several_processes_share_a_snapshot(registry: Registry, folder: Path) -> None:
    registry.mint("rdl", ALICE, Request(name="valve"))
    registry.close()
    text = "SELECT ?l { ?s rdfs:label ?l }"
    running = [subprocess.Popen([sys.executable, "-c", ASKER, str(folder), text], stdout=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate()[0].split() for process in running] == [[b"ready", b"l", b"valve"]] * 3
    assert len([path for path in (folder / "snapshots").iterdir() if path.name != "requests"]) == 1


def test_queries_of_many_threads(registry: Registry) -> None:
    made = [registry.mint("rdl", ALICE, Request(name=f"n{number}")) for number in range(4)]
    found: list[str] = []

    def work(label: str) -> None:
        found.append(ask(registry, f"SELECT ?l {{ ?s skos:notation '{label}' ; rdfs:label ?l }}").split()[1])

    running = [threading.Thread(target=work, args=(record.label,)) for record in made]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert sorted(found) == ["n0", "n1", "n2", "n3"]


# the end of the process that asked


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_query_ends_with_who_asked(registry: Registry, folder: Path, end: signal.Signals) -> None:
    if end is not signal.SIGINT and sys.platform != "linux":
        pytest.skip("elsewhere it ends at its time limit")
    registry.mint("rdl", ALICE)
    registry.close()
    with subprocess.Popen([sys.executable, "-c", ASKER, str(folder), ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asker:
        assert asker.stdout is not None
        asker.stdout.readline()
        assert eventually(lambda: bool(children(asker.pid)), 10)
        [worker] = children(asker.pid)
        time.sleep(0.3)
        assert is_running(worker)
        begun = time.monotonic()
        asker.send_signal(end)
        asker.communicate()
        assert (took := time.monotonic() - begun) < allowing(1), took
        assert eventually(lambda: not is_running(worker), allowing(1))
    assert asker.returncode in (-end, 1)


def children(number: int) -> list[int]:
    return [int(found) for found in Path(f"/proc/{number}/task/{number}/children").read_text().split()]


def test_nothing_of_the_working_folder_is_run(registry: Registry, folder: Path, tmp_path: Path) -> None:
    registry.mint("rdl", ALICE, Request(name="valve"))
    registry.close()
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("json", "ctypes", "resource", "sitecustomize", "pyoxigraph"):
        (trap / f"{name}.py").write_text("import os; os.write(2, b'trapped'); os._exit(1)")
    code = "import sys; sys.path.remove('') if '' in sys.path else None\n" + ASKER
    text = "SELECT ?l { ?s rdfs:label ?l }"
    done = subprocess.run([sys.executable, "-P", "-c", code, str(folder), text], cwd=trap, capture_output=True, check=True)
    assert done.stdout.split() == [b"ready", b"l", b"valve"]
