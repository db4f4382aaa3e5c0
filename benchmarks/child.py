"""Measurements in a separate process, for an exact memory figure and no interference.

``python -m benchmarks.child ACT …`` prints JSON.
"""

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

from pyoxigraph import RdfFormat, Store

import idstore
from benchmarks.filling import ADMINISTRATOR, NAMESPACE, OWNERS, open_registry, request
from benchmarks.measure import in_threads, peak, percentile, seconds
from idstore.registry import Registry

_AGAIN = 1000
"""Number of quads that spread over all of an engine's files."""
_PAUSE = 0.01
"""Seconds of a slow reader for each quad."""


def pilin(folder: str, length: str) -> dict[str, float]:
    """Mint PILIN identifiers in eight threads for ``length`` seconds."""
    with open_registry(Path(folder)) as registry:
        registry.mint("pilin", ADMINISTRATOR)
        labels: list[str] = []
        end = time.perf_counter() + float(length)

        def work(place: int) -> None:
            _mint_pilin(registry, place, labels, lambda: time.perf_counter() >= end)

        took = seconds(lambda: in_threads(len(OWNERS), work))
    return {"seconds": took, "number": len(labels), "twice": len(labels) - len(set(labels))}


def _mint_pilin(registry: Registry, place: int, labels: list[str], ends: Callable[[], bool]) -> None:
    while not ends():
        labels.append(registry.mint("pilin", OWNERS[place]).label)


def waits(folder: str, length: str, threads: str, beside: str) -> dict[str, float]:
    """Return percentiles of the wait for a mint, in milliseconds, in so many threads beside another load."""
    latencies: list[float] = []
    with open_registry(Path(folder)) as registry:
        for place in range(100):
            registry.mint(NAMESPACE, OWNERS[place % len(OWNERS)], request(place))
        with {"": _nothing, "pilin": _pilin_beside, "reader": _reader_beside}[beside](registry) as others:
            start = time.perf_counter()
            end = start + float(length)

            def work(thread: int) -> None:
                for place in count():
                    begun = time.perf_counter()
                    if begun >= end:
                        return
                    registry.mint(NAMESPACE, OWNERS[thread % len(OWNERS)], request(place))
                    latencies.append(1000 * (time.perf_counter() - begun))

            in_threads(int(threads), work)
            took = time.perf_counter() - start
            done = others()
    shares = {
        name: percentile(latencies, share) for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))
    }
    return {"seconds": took, "number": len(latencies), "others": done, "longest": max(latencies), **shares}


@contextmanager
def _nothing(_: Registry) -> Iterator[Callable[[], int]]:
    yield lambda: 0


@contextmanager
def _pilin_beside(registry: Registry) -> Iterator[Callable[[], int]]:
    labels: list[str] = []
    stop = threading.Event()
    workers = threading.Thread(
        target=in_threads, args=(len(OWNERS), lambda place: _mint_pilin(registry, place, labels, stop.is_set))
    )
    workers.start()
    try:
        yield lambda: len(labels)
    finally:
        stop.set()
        workers.join()


@contextmanager
def _reader_beside(registry: Registry) -> Iterator[Callable[[], int]]:
    stop, read = threading.Event(), [0]

    def work() -> None:
        with registry.store.snapshot() as snapshot:
            for _ in snapshot.quads():
                read[0] += 1
                if stop.wait(_PAUSE):
                    return

    reader = threading.Thread(target=work)
    reader.start()
    try:
        yield lambda: read[0]
    finally:
        stop.set()
        reader.join()


def engine_folder(store: str) -> str:
    """Return the folder of a store's engine."""
    (folder,) = Path(store).glob("generation-*/engine")
    return str(folder)


def dump(store: str, file: str) -> dict[str, float]:
    """Write all quads by the engine's own dump."""
    engine = Store.read_only(engine_folder(store))
    took = seconds(lambda: engine.dump(file, RdfFormat.N_QUADS))
    return {"seconds": took, "quads": len(engine)}


def export(store: str, file: str) -> dict[str, float]:
    """Export the registry as Turtle."""
    from idstore.exchange import rdf

    with idstore.open(store, mode="shared") as registry, Path(file).open("wb") as target:
        took = seconds(lambda: rdf.export(registry, target, ADMINISTRATOR))
        most = peak()
    return {"seconds": took, "quads": len(Store.read_only(engine_folder(store))), "peak": most}


def load(file: str, folder: str) -> dict[str, float]:
    """Load a Turtle file by the engine's bulk load."""
    return {"seconds": seconds(lambda: Store(folder).bulk_load(path=file, format=RdfFormat.TURTLE))}


def refill(file: str, folder: str) -> dict[str, float]:
    """Load a dump by the engine's bulk load, and flush it to disk."""

    def act() -> None:
        engine = Store(folder)
        engine.bulk_load(path=file, format=RdfFormat.N_QUADS)
        engine.flush()

    return {"seconds": seconds(act)}


def settle(file: str, folder: str) -> dict[str, float]:
    """Let the engine merge its files, as it does after later writes.

    Some of the same quads are loaded again first, because the engine only moves a single file.
    """
    with Path(file).open(encoding="utf-8") as lines:
        again = "".join(islice(lines, _AGAIN))

    def act() -> None:
        engine = Store(folder)
        engine.bulk_load(input=again, format=RdfFormat.N_QUADS)
        engine.optimize()

    return {"seconds": seconds(act)}


def take_in(file: str, folder: str) -> dict[str, float]:
    """Import a registry's export into an empty registry."""
    from idstore.exchange import rdf

    with idstore.open(folder, administrator=ADMINISTRATOR) as registry:
        return {"seconds": seconds(lambda: rdf.import_registry(registry, [Path(file)], ADMINISTRATOR))}


def check(store: str) -> dict[str, float]:
    """Validate a registry against all shapes."""
    from idstore.validation import registries

    with idstore.open(store, mode="shared") as registry:
        start = time.perf_counter()
        report = registries.check(registry, ADMINISTRATOR)
        took = time.perf_counter() - start
    return {
        "seconds": took,
        "findings": len(report.results),
        "quads": len(Store.read_only(engine_folder(store))),
    }


def changed(store: str, number: str) -> dict[str, float]:
    """Validate only changed records, after ``number`` changes in a store that is marked as validated."""
    from idstore.validation import registries

    with idstore.open(store) as registry:
        iris = [
            record.iri
            for record in registry.list(OWNERS[0], idstore.Filter(party=OWNERS[0].name), limit=int(number))
        ]
        before = registry.store.read(lambda view: view.catalogue.sequence)
        registry.keep_checked(
            before, registries.mark(registries.shapes(registry.namespaces())), ADMINISTRATOR
        )
        for iri in iris:
            registry.comment(iri, "looked at", OWNERS[0])
        start = time.perf_counter()
        result = registries.check_changed(registry, ADMINISTRATOR)
        return {
            "seconds": time.perf_counter() - start,
            "findings": len(result.report.results),
            "nodes": result.checked or 0,
        }


def pyshacl(store: str) -> dict[str, float]:
    """Validate against the same shapes with pySHACL."""
    from idstore.validation import pyshacl_engine, registries

    with idstore.open(store, mode="shared") as registry:
        start = time.perf_counter()
        with registry.quads(ADMINISTRATOR) as quads:
            triples = [quad.triple for quad in quads]
        findings = list(pyshacl_engine.findings(triples, registries.shapes(registry.namespaces())))
        return {"seconds": time.perf_counter() - start, "findings": len(findings)}


def reconcile(*sides: str) -> dict[str, float]:
    """Compare two sides, and format every finding for output."""
    from idstore.exchange import tables
    from idstore.reconciliation import report

    def read() -> None:
        for side in sides:
            with tables.read(side, "tsv") as table:
                deque(table.rows, maxlen=0)

    floor = seconds(read)
    start, used = time.perf_counter(), time.process_time()
    with report.reconcile(sides, ADMINISTRATOR) as result:
        findings = sum(1 for finding in result.findings() if report.json(result, finding))
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - used,
        "floor": floor,
        "findings": findings,
    }


ACTS: dict[str, Callable[..., dict[str, float]]] = {
    "pilin": pilin, "waits": waits, "dump": dump, "export": export, "load": load, "refill": refill,
    "settle": settle, "import": take_in, "check": check, "changed": changed, "pyshacl": pyshacl,
    "reconcile": reconcile,
}  # fmt: skip

if __name__ == "__main__":
    outcome = ACTS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"peak": peak()} | outcome))
