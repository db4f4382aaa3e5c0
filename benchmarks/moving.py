"""Export, import, validation and disk space of a whole registry."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.filling import Bench, discard
from benchmarks.measure import Row, child, judged, occupied

_EXPORT, _IMPORT, _FASTER, _SIZE = 0.5, 50_000, 10.0, 1.3
_SECONDS, _MEGABYTES = 120.0, 1500.0
"""Limits for the validation of a million identifiers."""
LIGHT = 1_000_000
"""The largest store for slow rows, unless ``--heavy`` is given."""
_BESIDE = 10_000
"""The largest store for pySHACL."""


def export(bench: Bench) -> Iterable[Row]:
    """Export deterministic Turtle. Floor: the engine's own dump. Each runs in a separate process."""
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
            "export to Turtle",
            size,
            "quads/s",
            measured,
            floor,
            "engine's dump",
            ratio,
            "≥ 0.50 of the floor",
            ratio >= _EXPORT,
            note,
        )
        file.unlink()


def take_in(bench: Bench, *, heavy: bool = False) -> Iterable[Row]:
    """Import a whole export into an empty registry. Floor: the engine's own bulk load of the file."""
    for size in _sizes(bench, heavy):
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
    """Validate the whole store against all shapes.

    Floor at the smallest size: pySHACL, which takes a millisecond and 10 kB for each node.
    """
    smallest = min(bench.sizes)
    for size in _sizes(bench, heavy):
        done = child("check", bench.store(size))
        floor = ratio = met = None
        goal = "≥ 10 times as fast"
        note = (
            f"{done['quads']:.0f} quads, {done['findings']:.0f} findings, peak memory {done['peak']:.0f} MB"
        )
        if size == smallest and size <= _BESIDE:
            slow = child("pyshacl", bench.store(size))
            floor = slow["seconds"]
            ratio = floor / done["seconds"]
            met = ratio >= _FASTER and slow["findings"] == done["findings"]
            note += f"; pySHACL: {slow['findings']:.0f} findings, {slow['peak']:.0f} MB"
        if size == LIGHT:
            goal, met = "≤ 120 s and 1.5 GB", done["seconds"] <= _SECONDS and done["peak"] <= _MEGABYTES
        yield Row(
            "validate, whole store", size, "s", done["seconds"], floor, "pySHACL", ratio, goal, met, note
        )
        copy = bench.copy(size)
        part = child("changed", copy, bench.amount(100))
        discard(copy)
        ratio = done["seconds"] / part["seconds"]
        note = (
            f"{part['nodes']:.0f} nodes, {part['findings']:.0f} findings, peak memory {part['peak']:.0f} MB"
        )
        yield Row(
            "validate, 100 that changed",
            size,
            "s",
            part["seconds"],
            done["seconds"],
            "whole store",
            ratio,
            note=note,
        )


def space(bench: Bench) -> Iterable[Row]:
    """Measure the bytes on disk per identifier. Floor: the engine alone with the same quads.

    The engine compresses bulk-loaded data. Merged data, after a few later changes, is not compressed, up to
    half a gigabyte for each index. So the floor is the engine after merging its files; the note has its size
    before.
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
    """Return the bytes of each part of a store. Files shared by engine and base count for the engine."""
    parts = {"ledger": 0, "catalogue": 0, "base": 0, "engine": 0, "rest": 0}
    for path, taken in occupied(store).items():
        name = str(path.relative_to(store))
        parts[next((part for part in parts if part in name), "rest")] += taken
    return parts


def _sizes(bench: Bench, heavy: bool) -> list[int]:
    return [size for size in bench.sizes if heavy or size <= LIGHT] or [min(bench.sizes)]
