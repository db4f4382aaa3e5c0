"""``python -m benchmarks [ROW…]``: measure, print a table, and keep it as JSON."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import comparing, minting, moving, reading, showing
from benchmarks.filling import Bench
from benchmarks.measure import Row

SIZES = (10_000, 100_000)


def rows(*, heavy: bool) -> dict[str, Callable[[Bench], Iterable[Row]]]:
    """What can be measured, by name."""
    return {
        "mint": minting.one_client,
        "threads": minting.threads,
        "publish": minting.publishing,
        "noid": minting.noid,
        "pilin": minting.pilin_sustained,
        "encode": minting.pilin_encode,
        "command": minting.command,
        "lookup": reading.lookups,
        "list": reading.lists,
        "export": moving.export,
        "import": partial(moving.take_in, heavy=heavy),
        "validate": partial(moving.validate, heavy=heavy),
        "size": moving.space,
        "reconcile": comparing.reconcile,
    }


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure idstore, each row beside a floor of the same run.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"what to measure, all unless given: {', '.join(rows(heavy=False))}")
    parser.add_argument("--size", type=int, action="append", metavar="N", help="identifiers in a store; may be repeated (10000 and 100000)")
    parser.add_argument("--heavy", action="store_true", help="import and validate at every size, however long it takes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw there how cost grows with size (needs matplotlib, else as text)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--folder", type=Path, help="make stores there, keep them, and use them again; it decides which disk is measured")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs: the figures mean nothing")
    found = parser.parse_args(given)
    unknown = set(found.rows) - rows(heavy=False).keys()
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; there are {', '.join(rows(heavy=False))}")
    return found


def measure(names: Sequence[str], bench: Bench, *, heavy: bool = False) -> list[Row]:
    """The rows of those names, all if there are none."""
    known, made = rows(heavy=heavy), []
    for name in names or known:
        for row in known[name](bench):
            print(showing.table([row]).splitlines()[1], f"[{row.note}]" if row.note else "", file=sys.stderr, flush=True)
            made.append(row)
    return made


def main(given: Sequence[str] | None = None) -> int:
    """Run the command."""
    chosen = _arguments(given)
    before = showing.machine()
    with tempfile.TemporaryDirectory(prefix="idstore-bench-") as temporary:
        folder = (chosen.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="run-", dir=folder) as run:
            bench = Bench(folder, tuple(chosen.size or SIZES), Path(run), quick=chosen.quick)
            found = measure(chosen.rows, bench, heavy=chosen.heavy)
    print(showing.table(found, markdown=chosen.markdown))
    if chosen.json:
        chosen.json.write_text(showing.as_json(found, before) + "\n", encoding="utf-8")
    if chosen.plot:
        print(showing.plot(found, chosen.plot))
    return 0


if __name__ == "__main__":
    sys.exit(main())
