"""``python -m benchmarks [ROW…]``: measure rows, print a table, and write it as JSON."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import comparing, minting, moving, reading, serving, showing, waiting
from benchmarks.filling import Bench
from benchmarks.measure import Row

SIZES = (10_000, 100_000)


def rows(*, heavy: bool) -> dict[str, Callable[[Bench], Iterable[Row]]]:
    """Return the functions that measure, by row name."""
    return {
        "mint": minting.clients,
        "grow": minting.growing,
        "publish": minting.publishing,
        "pilin": minting.pilin_sustained,
        "encode": minting.pilin_encode,
        "beside": waiting.beside_pilin,
        "reader": waiting.beside_reader,
        "command": minting.command,
        "lookup": reading.lookups,
        "list": reading.lists,
        "export": moving.export,
        "import": partial(moving.take_in, heavy=heavy),
        "validate": partial(moving.validate, heavy=heavy),
        "size": moving.space,
        "reconcile": comparing.reconcile,
        "serve": serving.requests,
        "redirect": serving.redirects,
        "sparql": serving.queries,
    }


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Measure idstore, and a floor for each row in the same run."
    )
    parser.add_argument(
        "rows",
        nargs="*",
        metavar="ROW",
        help=f"rows to measure; default: all of {', '.join(rows(heavy=False))}",
    )
    parser.add_argument(
        "--size",
        type=int,
        action="append",
        metavar="N",
        help="identifiers in a store; repeatable (default: 10000 and 100000)",
    )
    parser.add_argument(
        "--heavy", action="store_true", help="import and validate at every size, without a limit"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows into this file")
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="PNG",
        help="plot cost against size into this file (needs matplotlib; otherwise text)",
    )
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument(
        "--folder",
        type=Path,
        help="folder for the stores, on the disk to measure; stores are kept and reused",
    )
    parser.add_argument(
        "--quick", action="store_true", help="only test that every row runs; the figures are meaningless"
    )
    options = parser.parse_args(arguments)
    unknown = set(options.rows) - rows(heavy=False).keys()
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; there are {', '.join(rows(heavy=False))}")
    return options


def measure(names: Sequence[str], bench: Bench, *, heavy: bool = False) -> list[Row]:
    """Return the rows with these names; all rows for no names."""
    measures, measured = rows(heavy=heavy), []
    for name in names or measures:
        for row in measures[name](bench):
            print(
                showing.table([row]).splitlines()[1],
                f"[{row.note}]" if row.note else "",
                file=sys.stderr,
                flush=True,
            )
            measured.append(row)
    return measured


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    options = _arguments(arguments)
    before = showing.machine()
    with tempfile.TemporaryDirectory(prefix="idstore-bench-") as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="run-", dir=folder) as run:
            bench = Bench(folder, tuple(options.size or SIZES), Path(run), quick=options.quick)
            results = measure(options.rows, bench, heavy=options.heavy)
    print(showing.table(results, markdown=options.markdown))
    if options.json:
        options.json.write_text(showing.as_json(results, before) + "\n", encoding="utf-8")
    if options.plot:
        print(showing.plot(results, options.plot))
    return 0


if __name__ == "__main__":
    sys.exit(main())
