"""Reconciliation: two tables of mappings of the sizes of the other rows' stores."""

from collections.abc import Iterable, Iterator

from benchmarks.filling import Bench
from benchmarks.measure import Row, child, judged

_SECONDS, _MEMORY = 120, 2_000
_ODD = 100
"""One binding in so many has another target on the second side, which another identifier claims there too."""


def reconcile(bench: Bench) -> Iterable[Row]:
    """Compare ``size`` bindings a side in a separate process, read all findings. Floor: reading the files."""
    for size in bench.sizes:
        sides = [bench.path("side").with_suffix(".tsv") for _ in range(2)]
        for number, path in enumerate(sides):
            with path.open("w", encoding="utf-8") as file:
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
        for path in sides:
            path.unlink()


def _rows(size: int, *, shifted: bool) -> Iterator[str]:
    yield "subject_id\tpredicate_id\tobject_id\tconfidence\n"
    for number in range(size):
        target = number + (shifted and number % _ODD == 0)
        subject, item = f"R{1_000_000_000 + number}", f"http://www.wikidata.org/entity/Q{target}"
        yield f"http://rdl.example.org/data#{subject}\tskos:exactMatch\t{item}\t0.9\n"
