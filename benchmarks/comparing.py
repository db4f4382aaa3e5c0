"""Two sides compared: tables of mappings as large as the stores that the other rows measure."""

from collections.abc import Iterable, Iterator

from benchmarks.filling import Bench
from benchmarks.measure import Row, child, judged

_SECONDS, _MEMORY = 120, 2_000
_ODD = 100
"""One binding of so many is to something else on the second side, which other identifiers claim there as well."""


def reconcile(bench: Bench) -> Iterable[Row]:
    """As many bindings on each side, beside reading both files line by line; in a process of its own, everything found looked at."""
    for size in bench.sizes:
        sides = [bench.path("side").with_suffix(".tsv") for _ in range(2)]
        for number, place in enumerate(sides):
            with place.open("w", encoding="utf-8") as file:
                file.writelines(_rows(size, shifted=number > 0))
        done = child("reconcile", *sides)
        seconds, memory = done["seconds"], done["peak"]
        reached = seconds < _SECONDS and memory < _MEMORY
        note = f"{done['findings']:.0f} findings, {done['cpu']:.0f} s of CPU, peak memory {memory:.0f} MB"
        target = f"< {_SECONDS} s and 2 GB at 1M a side"
        yield Row(
            "reconcile two tables",
            size,
            "s",
            seconds,
            done["floor"],
            "reading the files",
            seconds / done["floor"],
            target,
            judged(reached, size, 1_000_000),
            note,
        )
        for place in sides:
            place.unlink()


def _rows(size: int, *, shifted: bool) -> Iterator[str]:
    yield "subject_id\tpredicate_id\tobject_id\tconfidence\n"
    for number in range(size):
        target = number + (shifted and number % _ODD == 0)
        yield f"http://rdl.example.org/data#R{1_000_000_000 + number}\tskos:exactMatch\thttp://www.wikidata.org/entity/Q{target}\t0.9\n"
