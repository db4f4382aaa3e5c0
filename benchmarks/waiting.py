"""Response time under concurrent load: p50 and p99 of single calls, with and without the load."""

from collections.abc import Iterable

from benchmarks.filling import Bench, discard
from benchmarks.measure import Row, child

_SECONDS, _QUICK = 8.0, 0.3


def beside_pilin(bench: Bench) -> Iterable[Row]:
    """Mint RDS/WIP identifiers with one client, alone and beside eight threads that mint PILIN handles."""
    length = _QUICK if bench.quick else _SECONDS
    alone = child("waits", bench.path("waits"), length, 1, "")
    beside = child("waits", bench.path("waits"), length, 1, "pilin")
    used = beside["others"] / beside["seconds"] / 1000
    note = f"PILIN beside it: {used:.3f} of the milliseconds; {_spread(alone, beside)}"
    yield Row(
        "mint beside PILIN, p50",
        None,
        "ms",
        beside["p50"],
        alone["p50"],
        "alone",
        beside["p50"] / alone["p50"],
        note=note,
    )
    yield Row(
        "mint beside PILIN, p99",
        None,
        "ms",
        beside["p99"],
        alone["p99"],
        "alone",
        beside["p99"] / alone["p99"],
    )


def beside_reader(bench: Bench) -> Iterable[Row]:
    """Mint with 64 threads in a filled store, with and without a slow reader of a snapshot."""
    length, size = _QUICK if bench.quick else _SECONDS, min(bench.sizes)
    waits = []
    for beside in ("", "reader", "reader", ""):
        copy = bench.copy(size)
        waits.append(child("waits", copy, length, 64, beside))
        discard(copy)
    for name in ("p50", "p99"):
        floor = (waits[0][name] + waits[3][name]) / 2
        measured = (waits[1][name] + waits[2][name]) / 2
        note = _spread(waits[3], waits[2]) if name == "p50" else ""
        yield Row(
            f"64 writers beside a slow reader, {name}",
            size,
            "ms",
            measured,
            floor,
            "no reader",
            measured / floor,
            note=note,
        )


def _spread(without: dict[str, float], beside: dict[str, float]) -> str:
    return ", ".join(
        f"{name}: {waits['number'] / waits['seconds']:,.0f} ids/s, "
        f"p99.9 {waits['p999']:.1f} ms, longest {waits['longest']:.0f} ms"
        for name, waits in (("without", without), ("with", beside))
    )
