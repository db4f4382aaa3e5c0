"""What is measured in a process of its own, so that its memory can be told, and nothing else disturbs it: ``python -m benchmarks.child ACT …`` prints JSON."""

import json
import sys
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from pyoxigraph import RdfFormat, Store

import idstore
from benchmarks.filling import ADMINISTRATOR, OWNERS, begun
from benchmarks.measure import at_once, peak, seconds
from idstore.vocabulary import CLAIMS

_AGAIN = 1000
"""Quads that are enough to lie all over an engine's files."""


def _visible(engine: Store) -> int:
    return len(engine) - sum(1 for _ in engine.quads_for_pattern(None, None, None, CLAIMS))


def pilin(folder: str, length: str) -> dict[str, float]:
    """Eight threads mint PILIN identifiers for so many seconds."""
    found: list[str] = []
    with begun(Path(folder)) as registry:
        registry.mint("pilin", ADMINISTRATOR)
        end = time.perf_counter() + float(length)

        def work(place: int) -> None:
            while time.perf_counter() < end:
                found.append(registry.mint("pilin", OWNERS[place]).label)

        took = seconds(lambda: at_once(len(OWNERS), work))
    return {"seconds": took, "number": len(found), "twice": len(found) - len(set(found))}


def dump(store: str, file: str) -> dict[str, float]:
    """The engine writes all its quads."""
    with idstore.open(store, read_only=True) as registry, registry.store.snapshot() as folder:
        engine = Store.read_only(str(folder))
        took = seconds(lambda: engine.dump(file, RdfFormat.N_QUADS))
        return {"seconds": took, "quads": len(engine)}


def export(store: str, file: str) -> dict[str, float]:
    """The registry as Turtle."""
    from idstore.exchange import rdf

    with idstore.open(store, read_only=True) as registry:
        with Path(file).open("wb") as target:
            took = seconds(lambda: rdf.export(registry, target, ADMINISTRATOR))
        most = peak()
        with registry.store.snapshot() as folder:
            return {"seconds": took, "quads": _visible(Store.read_only(str(folder))), "peak": most}


def load(file: str, folder: str) -> dict[str, float]:
    """The engine reads a Turtle file."""
    return {"seconds": seconds(lambda: Store(folder).bulk_load(path=file, format=RdfFormat.TURTLE))}


def refill(file: str, folder: str) -> dict[str, float]:
    """The engine reads a dump, and brings everything to disk."""

    def act() -> None:
        engine = Store(folder)
        engine.bulk_load(path=file, format=RdfFormat.N_QUADS)
        engine.flush()

    return {"seconds": seconds(act)}


def settle(file: str, folder: str) -> dict[str, float]:
    """The engine merges its files, as it does by itself once it is written to: with some of the same quads, for one file alone it only moves."""
    with Path(file).open(encoding="utf-8") as lines:
        again = "".join(islice(lines, _AGAIN))

    def act() -> None:
        engine = Store(folder)
        engine.bulk_load(input=again, format=RdfFormat.N_QUADS)
        engine.optimize()

    return {"seconds": seconds(act)}


def take_in(file: str, folder: str) -> dict[str, float]:
    """A registry's export read into an empty registry."""
    from idstore.exchange import rdf

    with idstore.open(folder, administrator=ADMINISTRATOR) as registry:
        return {"seconds": seconds(lambda: rdf.import_registry(registry, [Path(file)], ADMINISTRATOR))}


def check(store: str) -> dict[str, float]:
    """All shapes over a registry."""
    from idstore.validation import registries

    with idstore.open(store, read_only=True) as registry:
        start = time.perf_counter()
        report = registries.check(registry, ADMINISTRATOR)
        took = time.perf_counter() - start
        with registry.store.snapshot() as folder:
            return {"seconds": took, "findings": len(report.results), "quads": _visible(Store.read_only(str(folder)))}


def changed(store: str, number: str) -> dict[str, float]:
    """The shapes over what changed, so many identifiers; the store counts as checked before."""
    from idstore.validation import registries

    with idstore.open(store) as registry:
        named = [record.iri.value for record in registry.list(OWNERS[0], idstore.Selection(owner=OWNERS[0].name), limit=int(number))]
        with registry.store.reading() as view:
            before = view.catalogue.applied
        registry.keep_checked(before, registries.mark(registries.shapes(registry.namespaces())), ADMINISTRATOR)
        for iri in named:
            registry.comment(iri, "looked at", OWNERS[0])
        start = time.perf_counter()
        found = registries.check_changed(registry, ADMINISTRATOR)
        return {"seconds": time.perf_counter() - start, "findings": len(found.report.results), "nodes": found.checked or 0}


def pyshacl(store: str) -> dict[str, float]:
    """The same shapes by pySHACL."""
    from idstore.validation import pyshacl_engine, registries

    with idstore.open(store, read_only=True) as registry:
        start = time.perf_counter()
        with registry.quads(ADMINISTRATOR) as quads:
            triples = [quad.triple for quad in quads]
        found = list(pyshacl_engine.findings(triples, registries.shapes(registry.namespaces())))
        return {"seconds": time.perf_counter() - start, "findings": len(found)}


def reconcile(*sides: str) -> dict[str, float]:
    """Everything that is found between two sides, each made ready to be printed."""
    from idstore.exchange import tables
    from idstore.reconciliation import report

    def read() -> None:
        for side in sides:
            with tables.read(side, "tsv") as table:
                deque(table.rows, maxlen=0)

    floor = seconds(read)
    start, used = time.perf_counter(), time.process_time()
    with report.reconcile(sides, ADMINISTRATOR) as found:
        made = sum(1 for finding in found.findings() if report.json(found, finding))
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - used, "floor": floor, "findings": made}


ACTS: dict[str, Callable[..., dict[str, float]]] = {
    "pilin": pilin, "dump": dump, "export": export, "load": load, "refill": refill, "settle": settle, "import": take_in, "check": check, "changed": changed, "pyshacl": pyshacl, "reconcile": reconcile,
}  # fmt: skip

if __name__ == "__main__":
    outcome = ACTS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"peak": peak()} | outcome))
