"""Queries by untrusted users: results, limits of cost, and cleanup."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from processes import children, is_busy, is_running
from store_files import until
from time_limits import scaled

import idstore
from idstore import Party, Registry, Request, opening
from idstore.errors import InvalidData, LimitReached, QueryRefused, StoreUnavailable
from idstore.queries import process
from idstore.queries.limits import QueryLimits
from idstore.queries.pool import QueryPool
from idstore.vocabulary import PREFIXES, SPACE

ALICE, BOB, EVE = Party("alice"), Party("bob"), Party("eve")
ENDLESS = (
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p . ?q ?r ?s . ?t ?u ?v }"
)
GREEDY = (
    'SELECT (STRLEN(CONCAT(?x, ?x, ?x, ?x, ?x, ?x, ?x, ?x)) AS ?n) { BIND("$" AS ?y) '
    "BIND(CONCAT(?y, ?y, ?y, ?y, ?y, ?y, ?y, ?y) AS ?z) BIND(CONCAT(?z, ?z, ?z, ?z, ?z, ?z, ?z, ?z) AS ?x) }"
)
"""Needs 512 times the memory of a text."""
ASKER = """
import sys, idstore
from idstore import Party
with idstore.open(sys.argv[1], mode="read") as registry:
    print("ready", flush=True)
    with registry.query(sys.argv[2], Party("alice"), "csv", timeout=60) as answer:
        sys.stdout.buffer.write(answer.read())
"""
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux bounds memory, and lets a process give the network up"
)


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
    """Return the numbers of the query processes of this process."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command, status = (place / "cmdline").read_bytes(), (place / "status").read_text()
        except OSError:
            continue
        if b"queries/worker.py" in command and f"PPid:\t{os.getpid()}\n" in status:
            found.add(int(place.name))
    return found


def eventually(true: Callable[[], bool], seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while not true() and time.monotonic() < limit:
        time.sleep(0.01)
    return true()


def test_an_answer_describes_itself(registry: Registry) -> None:
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


def test_prefixes_are_predefined_and_can_be_declared(registry: Registry) -> None:
    registry.mint("rdl", ALICE, Request(name="valve"))
    declared = "".join(f"PREFIX {prefix}: <{space}> " for prefix, space in PREFIXES.items())
    for text in (
        "SELECT ?l { ?s rdfs:label ?l }",
        declared + "SELECT ?l { ?s rdfs:label ?l ; ids:stage ids:Created }",
    ):
        assert ask(registry, text).split() == ["l", "valve"]
    with pytest.raises(QueryRefused, match="the prefix nix is not declared"):
        ask(registry, "SELECT * { ?s nix:label ?l }")
    assert ask(registry, "PREFIX ids: <urn:others:> ASK { ?s ids:stage ?o }").strip() == "false"


def test_each_party_queries_only_visible_data(registry: Registry) -> None:
    mine = registry.mint("rdl", ALICE, Request(name="mine"))
    his = registry.mint("rdl", BOB, Request(name="his"))
    text = "SELECT ?l { ?s rdfs:label ?l } ORDER BY ?l"
    assert ask(registry, text).split()[1:] == ["his", "mine"]  # an administrator
    assert ask(registry, text, BOB).split()[1:] == ["his"]
    assert ask(registry, text, EVE).split()[1:] == []
    registry.grant(his.iri, EVE, BOB)
    registry.fixate([mine.iri], ALICE)
    assert ask(registry, text, EVE).split()[1:] == ["his", "mine"]
    registry.ungrant(his.iri, EVE, BOB)
    assert ask(registry, text, EVE).split()[1:] == ["mine"]
    assert his.iri not in ask(registry, f"DESCRIBE <{his.iri}>", EVE, "ntriples")
    for party in (ALICE, BOB):
        assert ask(registry, f"ASK {{ GRAPH <{SPACE}graph/mark> {{ ?s ?p ?o }} }}", party).strip() == "false"
        assert ask(registry, f"ASK {{ ?s <{SPACE}mark> ?o }}", party).strip() == "false"


@pytest.mark.parametrize("fate", ["regranted", "released", "fixated"])
def test_emptied_graphs_are_not_named(registry: Registry, fate: str) -> None:
    """The names of emptied graphs are former grant lists."""
    registry.add_party(Party("staff"), ALICE, "group")
    shared = registry.mint("rdl", BOB).iri
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


def test_the_end_of_a_membership_applies_at_once(registry: Registry) -> None:
    for name, kind in (("staff", "group"), ("bob", "user")):
        registry.add_party(Party(name), ALICE, kind)
    registry.join(BOB, Party("staff"), ALICE)
    made = registry.mint("rdl", ALICE, Request(name="shared"))
    registry.grant(made.iri, Party("staff"), ALICE)
    text = "ASK { ?s rdfs:label 'shared' }"
    assert ask(registry, text, BOB).strip() == "true"
    registry.leave(BOB, Party("staff"), ALICE)
    assert ask(registry, text, BOB).strip() == "false"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://127.0.0.1/> {} }",
        "INSERT DATA { <urn:a> <urn:b> <urn:c> }",
        "SELECT",
        "\ud800",
    ],
)
def test_harmful_queries_are_refused(registry: Registry, text: str) -> None:
    with pytest.raises(QueryRefused):
        ask(registry, text)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_an_invalid_time_limit_is_refused(registry: Registry, timeout: float) -> None:
    with pytest.raises(InvalidData):
        registry.query("ASK {}", ALICE, timeout=timeout)


@pytest.mark.parametrize("limit", [0.3, 1.0])
def test_an_endless_query_ends_within_a_second_of_its_limit(registry: Registry, limit: float) -> None:
    registry.mint("rdl", ALICE)
    seen: set[int] = set()
    watcher = threading.Thread(target=lambda: seen.update(watched(limit + 1)))
    watcher.start()
    begun = time.monotonic()
    with pytest.raises(LimitReached, match=f"time limit of {limit:g} s") as caught:
        registry.query(ENDLESS, ALICE, timeout=limit)
    assert limit <= (took := time.monotonic() - begun) < scaled(limit + 1), took
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


def test_a_query_ends_at_its_limit_without_a_waiting_parent(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel ends the query, also if its parent is stopped or busy."""
    registry.mint("rdl", ALICE)
    monkeypatch.setattr(process, "_GRACE", 60)
    begun = time.monotonic()
    with pytest.raises(LimitReached):
        registry.query(ENDLESS, ALICE, timeout=0.5)
    assert (took := time.monotonic() - begun) < scaled(1.5), took


def test_a_query_after_one_that_was_ended_is_answered(registry: Registry, folder: Path) -> None:
    """The process of the one that was ended lives for a moment."""
    for number in range(200):
        registry.mint("rdl", ALICE, Request(name=f"valve {number}"))
    registry.close()
    with QueryPool() as pool, opening.open(folder, runner=pool) as served:
        for _ in range(20):
            with pytest.raises(LimitReached):
                served.query(ENDLESS, ALICE, timeout=20, cancelled=lambda: True)
            with served.query("ASK {}", ALICE, timeout=20) as answer:
                assert answer.kind == "truth"


def test_a_long_query_is_answered(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is longer than a pipe holds before its process reads."""
    monkeypatch.setattr(process, "_POLL_INTERVAL", 0.001)
    with registry.query("ASK {}" + " " * 5_000_000, ALICE, "csv", timeout=600) as answer:
        assert answer.read().split() == [b"true"]


@linux
def test_a_query_ends_at_its_memory_limit(registry: Registry) -> None:
    with pytest.raises(LimitReached, match="more than 400 MB") as caught:
        registry.query(GREEDY.replace("$", "x" * 1_000_000), ALICE, memory=400 << 20)
    assert caught.value.fields == {"limit": "memory", "megabytes": 400}
    assert ask(registry, "ASK {}").strip() == "true"


def test_an_answer_is_cut_at_the_row_limit(registry: Registry) -> None:
    for number in range(3):
        registry.mint("rdl", ALICE, Request(name=f"n{number}"))
    text = "SELECT ?l { ?s rdfs:label ?l } ORDER BY ?l"
    with registry.query(text, ALICE, "csv", rows=2) as answer:
        assert (answer.rows, answer.truncated, answer.read().split()) == (2, True, [b"l", b"n0", b"n1"])
    with registry.query(text, ALICE, "csv", rows=3) as answer:
        assert (answer.rows, answer.truncated) == (3, False)


def test_a_query_that_is_nested_too_deeply_is_refused(registry: Registry) -> None:
    with pytest.raises(LimitReached, match="nested too deeply"):
        registry.query("SELECT * {" + "{" * 30_000 + "}" * 30_000 + "}", ALICE)


LONG = """
import resource, sys
from idstore.errors import LimitReached
from idstore.queries.limits import QueryLimits
from idstore.queries.process import run
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    run(sys.argv[1], sys.argv[2], [], QueryLimits(["csv"], None))
except LimitReached as error:
    print(error)
"""


def test_an_answer_that_is_too_long_is_refused(registry: Registry, folder: Path) -> None:
    text = (
        'SELECT (CONCAT("'
        + "x" * 1000
        + '", STR(?n)) AS ?long) { VALUES ?n { '
        + " ".join(map(str, range(400)))
        + " } }"
    )
    with registry.query(text, ALICE, "csv", rows=None) as answer:
        assert answer.rows == 400
    done = subprocess.run(
        [sys.executable, "-c", LONG, engine_of(registry, folder), text],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "or its answer needed more" in done.stdout


def test_too_little_memory_is_told(registry: Registry) -> None:
    with pytest.raises(InvalidData, match="at least 256 MB"):
        registry.query("ASK {}", ALICE, memory=1 << 20)
    registry.query("ASK {}", ALICE, memory=256 << 20).close()


def engine_of(registry: Registry, folder: Path) -> str:
    """Return the folder of the registry's engine, after closing the registry."""
    registry.close()
    [engine] = folder.glob("generation-*/engine")
    return str(engine)


def test_an_unreadable_snapshot_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="the query failed"):
        process.run(str(tmp_path / "none"), "ASK {}", [], QueryLimits())


# no connection is opened


@pytest.fixture
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """Yield an address on this machine, and the data received there."""
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
        stop.set()
        thread.join()


def received(listener: tuple[str, list[bytes]]) -> list[bytes]:
    """Return all that came until now: connections are accepted in their order, so a last one ends them."""
    address, came = listener
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2].rstrip("/")))) as last:
        last.sendall(b"last")
        last.recv(1000)
    return came[: came.index(b"last")]


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
    try:
        registry.query(attempt.replace("$", listener[0]), ALICE).close()
    except QueryRefused:
        assert "FROM" not in attempt
        assert "DESCRIBE" not in attempt
    assert received(listener) == []


UNGUARDED = """
import sys
sys.path[:] = $
from idstore.queries import guard, worker
guard.check = lambda text, prefixes: None
worker.main()
"""


@linux
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_query_that_passes_the_guard_opens_no_connection(
    registry: Registry, folder: Path, listener: tuple[str, list[bytes]], host: str
) -> None:
    """The kernel refuses every socket to the process; the test disables the guard to show it."""
    text = f"SELECT * {{ SERVICE <{listener[0].replace('127.0.0.1', host)}> {{ ?s ?p ?o }} }}"
    unguarded = process.QueryProcess(program=["-S", "-c", UNGUARDED.replace("$", repr(sys.path))])
    with closing(unguarded), pytest.raises(StoreUnavailable, match="Permission denied"):
        unguarded.run(engine_of(registry, folder), text, [], QueryLimits())
    assert received(listener) == []


def test_the_listener_notices_a_connection(listener: tuple[str, list[bytes]]) -> None:
    """This proves that the check can fail."""
    import pyoxigraph

    with pytest.raises(OSError, match="500"):
        list(pyoxigraph.Store().query(f"SELECT * {{ SERVICE <{listener[0]}> {{ ?s ?p ?o }} }}"))  # type: ignore[arg-type]
    assert received(listener) != []


# concurrent acts


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_writers_continue_while_a_query_runs(registry: Registry, folder: Path) -> None:
    registry.mint("rdl", ALICE)
    registry.close()
    ended: list[LimitReached] = []
    with idstore.open(folder, mode="read") as reader:

        def wait() -> None:
            with pytest.raises(LimitReached) as caught:
                reader.query(ENDLESS, ALICE, timeout=600)
            ended.append(caught.value)

        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: any(map(is_busy, workers())), "the query begins")
        [endless] = workers()
        with idstore.open(folder, wait=0) as writer:
            writer.mint("rdl", ALICE, Request(name="later"))
            assert ask(writer, "ASK { ?s rdfs:label 'later' }").strip() == "true"
        assert thread.is_alive()
        os.kill(endless, signal.SIGALRM)  # as its clock does at the time limit
        thread.join()
    assert ended


def test_a_query_sees_the_state_at_its_start(registry: Registry) -> None:
    registry.mint("rdl", ALICE, Request(name="before"))
    with registry.visible(ALICE) as (snapshot, graphs):
        registry.mint("rdl", ALICE, Request(name="after"))
        with snapshot.query("SELECT ?l { ?s rdfs:label ?l }", graphs, QueryLimits(["csv"])) as answer:
            assert answer.read().split() == [b"l", b"before"]


def test_queries_of_several_processes_share_a_snapshot(registry: Registry, folder: Path) -> None:
    registry.mint("rdl", ALICE, Request(name="valve"))
    registry.close()
    text = "SELECT ?l { ?s rdfs:label ?l }"
    running = [
        subprocess.Popen([sys.executable, "-c", ASKER, str(folder), text], stdout=subprocess.PIPE)
        for _ in range(3)
    ]
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


# end of the parent process


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    "end",
    [signal.SIGKILL, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGINT, signal.SIGTERM))],
)
def test_a_query_ends_with_its_parent(registry: Registry, folder: Path, end: signal.Signals) -> None:
    if end is not signal.SIGINT and sys.platform != "linux":
        pytest.skip("elsewhere it ends at its time limit")
    registry.mint("rdl", ALICE)
    registry.close()
    with subprocess.Popen(
        [sys.executable, "-c", ASKER, str(folder), ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as asker:
        assert asker.stdout is not None
        asker.stdout.readline()
        until(lambda: any(map(is_busy, children(asker.pid))), "the query begins")
        [worker] = children(asker.pid)
        begun = time.monotonic()
        asker.send_signal(end)
        asker.communicate()
        assert (took := time.monotonic() - begun) < scaled(1), took
        assert eventually(lambda: not is_running(worker), scaled(1))
    assert asker.returncode in (-end, 1)


def test_no_file_of_the_working_folder_is_executed(registry: Registry, folder: Path, tmp_path: Path) -> None:
    registry.mint("rdl", ALICE, Request(name="valve"))
    registry.close()
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("json", "ctypes", "resource", "sitecustomize", "pyoxigraph"):
        (trap / f"{name}.py").write_text("import os; os.write(2, b'trapped'); os._exit(1)")
    code = "import sys; sys.path.remove('') if '' in sys.path else None\n" + ASKER
    text = "SELECT ?l { ?s rdfs:label ?l }"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(folder), text], cwd=trap, capture_output=True, check=True
    )
    assert done.stdout.split() == [b"ready", b"l", b"valve"]
