"""A whole registry written out, read back, checked, and what it takes on disk."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.filling import Bench
from benchmarks.measure import Row, child, judged, occupied

_EXPORT, _IMPORT, _FASTER, _SIZE = 0.5, 50_000, 10.0, 1.3
_SECONDS, _MEGABYTES = 120.0, 1500.0
"""What validating a million may take."""
LIGHT = 1_000_000
"""The largest store for rows that take very long beyond it; ``--heavy`` lifts this."""
_BESIDE = 10_000
"""The largest store that pySHACL is given."""


def export(bench: Bench) -> Iterable[Row]:
    """Deterministic Turtle, beside the engine's own dump; each in a process of its own."""
    for size in bench.sizes:
        store, file = bench.store(size), bench.path("export")
        dumped = child("dump", store, file)
        done = child("export", store, file)
        again = child("dump", store, file)
        measured = done["quads"] / done["seconds"]
        floor = (dumped["quads"] / dumped["seconds"] + again["quads"] / again["seconds"]) / 2
        ratio = measured / floor
        note = f"peak memory {done['peak']:.0f} MB, of the dump {dumped['peak']:.0f} MB"
        yield Row(
            "export to Turtle", size, "quads/s", measured, floor, "engine's dump", ratio, "≥ 0.50 of the floor", ratio >= _EXPORT, note
        )
        file.unlink()


def take_in(bench: Bench, *, heavy: bool = False) -> Iterable[Row]:
    """A whole export read into an empty registry, beside the engine's own bulk load of the file."""
    for size in _bearable(bench, heavy):
        file = bench.path("import").with_suffix(".ttl")
        quads = child("export", bench.store(size), file)["quads"]
        loaded = child("load", file, bench.path("loaded"))
        done = child("import", file, bench.path("imported"))
        measured, floor = quads / done["seconds"], quads / loaded["seconds"]
        note = f"peak memory {done['peak']:.0f} MB, of the bulk load {loaded['peak']:.0f} MB"
        ratio = measured / floor
        yield Row(
            "import",
            size,
            "quads/s",
            measured,
            floor,
            "engine's bulk load",
            ratio,
            "≥ 50,000 quads/s at 1M",
            judged(measured >= _IMPORT, size, 1_000_000),
            note,
        )
        file.unlink()


def validate(bench: Bench, *, heavy: bool = False) -> Iterable[Row]:
    """All shapes over the whole store; beside pySHACL at the smallest size, for it takes a millisecond and 10 kB for each node."""
    smallest = min(bench.sizes)
    for size in _bearable(bench, heavy):
        done = child("check", bench.store(size))
        floor = ratio = met = None
        goal = "≥ 10 times as fast"
        note = f"{done['quads']:.0f} quads, {done['findings']:.0f} findings, peak memory {done['peak']:.0f} MB"
        if size == smallest and size <= _BESIDE:
            slow = child("pyshacl", bench.store(size))
            floor = slow["seconds"]
            ratio = floor / done["seconds"]
            met = ratio >= _FASTER and slow["findings"] == done["findings"]
            note += f"; pySHACL: {slow['findings']:.0f} findings, {slow['peak']:.0f} MB"
        if size == LIGHT:
            goal, met = "≤ 120 s and 1.5 GB", done["seconds"] <= _SECONDS and done["peak"] <= _MEGABYTES
        yield Row("validate, whole store", size, "s", done["seconds"], floor, "pySHACL", ratio, goal, met, note)
        part = child("changed", bench.store(size), bench.amount(100))
        ratio = done["seconds"] / part["seconds"]
        note = f"{part['nodes']:.0f} nodes, {part['findings']:.0f} findings, peak memory {part['peak']:.0f} MB"
        yield Row("validate, 100 that changed", size, "s", part["seconds"], done["seconds"], "whole store", ratio, note=note)


def space(bench: Bench) -> Iterable[Row]:
    """Bytes on disk for each identifier, beside the engine's own for the same quads.

    What is loaded in bulk is compressed; what the engine merges of it, as soon as a few changes follow, is not, up to half a gigabyte for each
    of its indexes. So the floor is the engine after it has merged its files; the note has its size before.
    """
    for size in bench.sizes:
        store, dump, engine = bench.store(size), bench.path("dump"), bench.path("alone")
        child("dump", store, dump)
        child("refill", dump, engine)
        loaded = sum(occupied(engine).values()) / size
        child("settle", dump, engine)
        measured, floor = sum(occupied(store).values()) / size, sum(occupied(engine).values()) / size
        ratio = measured / floor
        note = (
            ", ".join(f"{name} {value / size:,.0f}" for name, value in _parts(store).items())
            + f"; engine alone, only loaded: {loaded:,.0f}"
        )
        yield Row(
            "store size",
            size,
            "bytes/id",
            measured,
            floor,
            "engine alone, its files merged",
            ratio,
            "≤ 1.3 of the floor",
            ratio <= _SIZE,
            note,
        )
        dump.unlink()


def _parts(store: Path) -> dict[str, int]:
    parts = {"snapshots": 0, "journal": 0, "catalogue": 0, "engine": 0, "rest": 0}
    for path, taken in occupied(store).items():
        words = str(path.relative_to(store))
        parts[next((name for name in parts if name in words), "rest")] += taken
    return parts


def _bearable(bench: Bench, heavy: bool) -> list[int]:
    return [size for size in bench.sizes if heavy or size <= LIGHT] or [min(bench.sizes)]
