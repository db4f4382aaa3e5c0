"""The server: minting and reading over HTTP, beside the same in one process, and beside an empty endpoint."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from urllib.parse import quote

from pyoxigraph import NamedNode, QuerySolutions, Store

from benchmarks.filling import ADMINISTRATOR, HANDLES, NAMESPACE, Bench, discard, handles, open_registry
from benchmarks.http_load import Load, ServerProcess, started
from benchmarks.measure import Row, in_threads, judged, percentile, seconds, skipped
from benchmarks.minting import rate_together
from idstore.model.party import NOBODY
from idstore.registry import Registry

_CLIENTS = (1, 8, 64)
_QUERYING = (1, 8)
_ROUNDS = 3
_MINT, _READ, _ARKLET, _GROWTH = 0.5, 0.7, 10, 1.25
_LARGE = 1_000_000
"""Size up to which redirects must not slow down."""
_ARKLET_RATES = {1: 63.0, 8: 169.0}
"""Identifiers per second of arklet with so many clients, on a machine like that of docs/performance.md."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """What is compared: the server, the empty one, and a registry in this process."""

    server: ServerProcess
    empty: ServerProcess
    registry: Registry
    token: str
    known: str
    local: str


@dataclass(frozen=True, slots=True)
class _Rates:
    """Medians of the rounds: requests per second, and the last load of the server."""

    served: float
    empty: float
    local: float
    last: Load

    @property
    def floor(self) -> float:
        """The rate of a server that costs nothing but an empty endpoint."""
        return 1 / (1 / self.empty + 1 / self.local)

    @property
    def note(self) -> str:
        p50, p99 = percentile(self.last.waits, 0.5), percentile(self.last.waits, 0.99)
        return (
            f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, {self.last.processor:,.0f} µs of the server's processor"
            f" each; an empty endpoint: {self.empty:,.0f}/s"
        )


def requests(bench: Bench) -> Iterable[Row]:
    """Mint and read with 1, 8 and 64 clients. Floors: as many threads in a process, and an empty endpoint."""
    if find_spec("uvicorn") is None:
        yield skipped("mint over HTTP", "the extra server is not installed", f"≥ {_MINT:.2f} of in-process")
        return
    with ExitStack() as stack:
        sides = _started(bench, stack)
        for clients in _CLIENTS:
            yield from _minting(clients, _mint_rates(sides, clients, bench))
        for clients in _CLIENTS:
            yield from _reading(clients, _read_rates(sides, clients, bench))


def redirects(bench: Bench) -> Iterable[Row]:
    """Follow random published handles without sign-in, and the growth of the cost from first to last size.

    Floors: resolution with as many threads in a process, and an empty endpoint.
    """
    if find_spec("uvicorn") is None:
        yield skipped("redirect", "the extra server is not installed", f"≥ {_READ:.2f} of in-process")
        return
    rates: dict[int, list[_Rates]] = {}
    for size in bench.sizes:
        with _redirecting(bench, size) as sides:
            rates[size] = [_redirect_rates(sides, clients, size, bench) for clients in _CLIENTS]
        for clients, found in zip(_CLIENTS, rates[size], strict=True):
            yield from _read_rows(
                f"redirect from a handle, {_counted(clients, 'client')}", size, clients, found
            )
    first, last = min(bench.sizes), max(bench.sizes)
    if first < last:
        for clients, small, large in zip(_CLIENTS, rates[first], rates[last], strict=True):
            ratio = large.last.processor / max(
                small.last.processor, 1
            )  # a quick run may take no tick of the clock
            yield Row(
                f"redirect from a handle, {_counted(clients, 'client')}, processor of the server, growth",
                last, "µs",
                large.last.processor, small.last.processor, f"at {first:,}", ratio,
                f"≤ {_GROWTH} from 100k to 1M", judged(ratio <= _GROWTH, last, _LARGE),
            )  # fmt: skip


def queries(bench: Bench) -> Iterable[Row]:
    """Ask small SPARQL queries without sign-in, each for one random identifier.

    Floor: the engine in a process.
    """
    if find_spec("uvicorn") is None:
        yield skipped("SPARQL query over HTTP", "the extra server is not installed", "")
        return
    size = min(bench.sizes)
    with _redirecting(bench, size) as sides:
        graphs = [NamedNode(name) for name in sides.registry.visible_graphs(NOBODY)]
        sides.registry.close()
        engine = Store.read_only(str(next(sides.registry.store.path.glob("generation-*/engine"))))
        for clients in _QUERYING:
            rates = _query_rates(sides, engine, graphs, clients, bench)
            yield Row(
                f"SPARQL query over HTTP, {_counted(clients, 'client')}", size, "answers/s", rates.served,
                rates.local, f"the engine, {_counted(clients, 'thread')} in a process",
                rates.served / rates.local, note=rates.note,
            )  # fmt: skip


def _query_rates(sides: _Sides, engine: Store, graphs: list[NamedNode], clients: int, bench: Bench) -> _Rates:
    number = max(clients, bench.amount(1000))
    texts = [
        f"SELECT ?p ?o {{ <https://hdl.handle.net/102.100.272/{suffix}> ?p ?o }}"
        for suffix in handles(min(bench.sizes), number)
    ]
    asked = [_request("GET", f"/sparql?query={quote(text, safe='')}") for text in texts]

    def work(thread: int) -> None:
        for text in texts[thread::clients]:
            answer = engine.query(text, default_graph=[*graphs], named_graphs=[*graphs])
            assert isinstance(answer, QuerySolutions)
            assert [*answer]

    return _rates(
        bench,
        lambda: sides.server.load(asked, clients, number),
        lambda: sides.empty.load([_request("GET", "/?id=x")], clients, number),
        lambda: number / seconds(lambda: in_threads(clients, work)),
    )


@contextmanager
def _redirecting(bench: Bench, size: int) -> Iterator[_Sides]:
    """Serve a copy of a filled store of handles, and open another copy in this process."""
    copies = [bench.copy(size, HANDLES) for _ in range(2)]
    with ExitStack() as stack:
        for copy in copies:
            stack.callback(discard, copy)
        server, empty = _servers(bench, copies[0], stack)
        yield _Sides(server, empty, stack.enter_context(open_registry(copies[1])), "", "", "")


def _redirect_rates(sides: _Sides, clients: int, size: int, bench: Bench) -> _Rates:
    number = max(clients, bench.amount(2000))
    prefix = "102.100.272"
    suffixes = handles(size, number)
    asked = [_request("GET", f"/hdl/{prefix}/{suffix}") for suffix in suffixes]

    def work(thread: int) -> None:
        for suffix in suffixes[thread::clients]:
            sides.registry.resolve(f"hdl:{prefix}/{suffix}", NOBODY)

    return _rates(
        bench,
        lambda: sides.server.load(asked, clients, number),
        lambda: sides.empty.load([_request("GET", f"/?id={prefix}/{suffixes[0]}")], clients, number),
        lambda: number / seconds(lambda: in_threads(clients, work)),
    )


def _started(bench: Bench, stack: ExitStack) -> _Sides:
    """Start the servers, and open the registry of this process."""
    store = bench.path("served")
    with open_registry(store) as registry:
        known = registry.mint(NAMESPACE, ADMINISTRATOR).iri
    server, empty = _servers(bench, store, stack)
    local = stack.enter_context(open_registry(bench.path("local")))
    return _Sides(server, empty, local, _token(store), known, local.mint(NAMESPACE, ADMINISTRATOR).iri)


def _servers(bench: Bench, store: Path, stack: ExitStack) -> tuple[ServerProcess, ServerProcess]:
    """Start a server of a store, and the empty one."""
    command = [sys.executable, "-m", "idstore", "--store", str(store), "serve", "--port", "0"]
    server = stack.enter_context(started(command, bench.path("log")))
    empty = stack.enter_context(started([sys.executable, "-m", "benchmarks.empty_server"], bench.path("log")))
    return server, empty


def _token(store: Path) -> str:
    from idstore.tokens import Tokens

    return Tokens(store).add(ADMINISTRATOR).token


def _mint_rates(sides: _Sides, clients: int, bench: Bench) -> _Rates:
    path, body = f"/api/v1/namespaces/{NAMESPACE}/identifiers", b'{"name":"thing"}'
    number = max(clients, bench.amount(800))
    return _rates(
        bench,
        lambda: sides.server.load([_request("POST", path, sides.token, body)], clients, number),
        lambda: sides.empty.load([_request("POST", "/", sides.token, body)], clients, number),
        lambda: rate_together(sides.registry, clients, number),
    )


def _read_rates(sides: _Sides, clients: int, bench: Bench) -> _Rates:
    number = max(clients, bench.amount(2000))
    query = f"?id={quote(sides.known, safe='')}"

    def work(_: int) -> None:
        for _ in range(number // clients):
            sides.registry.show(sides.local, ADMINISTRATOR)

    return _rates(
        bench,
        lambda: sides.server.load(
            [_request("GET", f"/api/v1/identifier{query}", sides.token)], clients, number
        ),
        lambda: sides.empty.load([_request("GET", f"/{query}", sides.token)], clients, number),
        lambda: number // clients * clients / seconds(lambda: in_threads(clients, work)),
    )


def _rates(
    bench: Bench, served: Callable[[], Load], empty: Callable[[], Load], local: Callable[[], float]
) -> _Rates:
    """Measure the three in turns; the first round does not count."""
    results: list[tuple[Load, Load, float]] = []
    for _ in range(1 + (1 if bench.quick else _ROUNDS)):
        results.append((served(), empty(), local()))  # noqa: PERF401 the order of the calls matters
    counted = results[1:]
    return _Rates(
        median(one.rate for one, _, _ in counted),
        median(one.rate for _, one, _ in counted),
        median(one for _, _, one in counted),
        counted[-1][0],
    )


def _request(method: str, path: str, token: str = "", body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}\r\n".encode() + body


def _minting(clients: int, rates: _Rates) -> Iterator[Row]:
    ratio = rates.served / rates.local
    name = f"mint over HTTP, {clients} client{'s'[: clients > 1]}"
    target, reached = (f"≥ {_MINT:.2f}", ratio >= _MINT) if clients == max(_CLIENTS) else ("", None)
    floor = f"{clients} thread{'s'[: clients > 1]} in a process"
    yield Row(name, None, "ids/s", rates.served, rates.local, floor, ratio, target, reached, rates.note)
    if clients in _ARKLET_RATES:
        arklet = _ARKLET_RATES[clients]
        ratio = rates.served / arklet
        target = f"≥ {_ARKLET} times"
        yield Row(
            f"{name}, beside arklet", None, "ids/s", rates.served, arklet, "arklet", ratio, target,
            ratio >= _ARKLET, "arklet was measured on another day",
        )  # fmt: skip


def _reading(clients: int, rates: _Rates) -> Iterator[Row]:
    yield from _read_rows(f"read a record over HTTP, {_counted(clients, 'client')}", None, clients, rates)


def _read_rows(name: str, size: int | None, clients: int, rates: _Rates) -> Iterator[Row]:
    threads = f"{_counted(clients, 'thread')} in a process"
    for floor, against in ((rates.local, threads), (rates.floor, f"{threads}, then an empty endpoint")):
        ratio = rates.served / floor
        yield Row(
            name, size, "answers/s", rates.served, floor, against, ratio, f"≥ {_READ:.2f}", ratio >= _READ,
            rates.note,
        )  # fmt: skip


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s'[: number > 1]}"
