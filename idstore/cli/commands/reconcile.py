"""``idstore reconcile``: where registries and mapping files disagree, and what a curator has decided about it."""

from collections import Counter
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, exits, inputs, session
from idstore.cli.call import Call
from idstore.cli.commands import stating
from idstore.cli.ending import Misuse
from idstore.cli.output import one_line
from idstore.cli.outputs import output

if TYPE_CHECKING:
    from idstore.reconciliation.report import Reconciliation

FORMATS: Final = ("table", "json", "turtle", "html")
SUFFIXES: Final = {".html": "html", ".htm": "html", ".ttl": "turtle", ".json": "json", ".jsonl": "json"}


def reconcile(
    call: Call,
    sides: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B...", help="Folders of stores, exports or other RDF files, tables of mappings (SSSOM, TSV, CSV)."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(metavar="F", help="table, json (one finding a line), turtle or html. [default: by FILE's ending, else table]"),
    ] = None,
    file: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where to; - is standard output.")] = inputs.STDIN,
    read_as: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="F", help="Format of the files to read: sssom, tsv, csv or an RDF format. [default: by their endings]"
        ),
    ] = None,
    column: arguments.Column = None,
    base: arguments.Base = None,
    relation: arguments.RelationName = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 5 if anything is found but chains and clusters.")] = False,
    accept: Annotated[
        str | None,
        typer.Option(
            "--accept",
            metavar="FILE",
            help="Carry out decisions in the store: what the HTML page has saved, or a table with a column action.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --accept: only say what would be done.")] = False,
) -> int:
    """Compare registries and mapping files, and report where they disagree.

    Reads two or more sides; one by itself is searched for contradictions in it. Of stores, what you may see is compared.
    The HTML page needs no network: decide there, save the decisions, and carry them out with --accept, all of them or none.
    """
    if accept is not None:
        if sides:
            raise Misuse("--accept changes the store of --store; compare in a second command")
        return stating.state(call, accept, read_as, dry_run=dry_run)
    if not sides:
        raise Misuse("name what is to be compared: folders of stores, exports, tables of mappings")
    if dry_run:
        raise Misuse("--dry-run goes with --accept; comparing changes nothing")
    from idstore.exchange.sources import ending

    chosen = format or ("json" if call.output.json else SUFFIXES.get(ending(file), "table"))
    if chosen not in FORMATS:
        raise Misuse(f"no format {chosen!r} to report in; there are {', '.join(FORMATS)}")
    tally = _compare(call, sides, chosen, file, read_as, column, base, relation)
    from idstore.reconciliation.kinds import HARMLESS

    return exits.BROKEN if strict and tally.keys() - HARMLESS else exits.DONE


def _compare(
    call: Call,
    sides: Sequence[str],
    format: str,
    file: str,
    read_as: str | None,
    column: list[str] | None,
    base: list[str] | None,
    relation: list[str] | None,
) -> Counter[str]:
    from idstore.model.party import Party
    from idstore.reconciliation import report

    columns = arguments.columns(column, base, relation)
    tally: Counter[str] = Counter()

    def tell(doing: str) -> None:
        if doing and call.output.shows_progress:
            call.output.say(f"idstore: {doing}")

    comparing = report.reconcile(sides, Party(call.user), format=read_as, columns=columns, wait=call.wait, progress=tell)
    with output(file) as target, comparing as found:
        for name, why in {side.name: side.behind for side in found.sides}.items():
            session.tell_behind(call, name, why)
        _write(found, format, tally, target)
    if tally or format != "table" or file != inputs.STDIN:  # else the report says it
        call.output.say(f"idstore: {', '.join(f'{many} {slug}' for slug, many in tally.items()) or 'nothing to reconcile'}")
    return tally


def _write(found: "Reconciliation", format: str, tally: Counter[str], target: IO[bytes]) -> None:
    import json

    from pyoxigraph import RdfFormat, serialize

    from idstore.reconciliation import graph, page, report
    from idstore.vocabulary import PREFIXES

    match format:
        case "html":
            target.write(page.page(found, tally).encode())
        case "turtle":
            serialize(graph.triples(found, tally), target, format=RdfFormat.TURTLE, prefixes=PREFIXES)
        case "json":
            for finding in found.findings():
                tally[finding.kind.slug] += 1
                target.write((json.dumps(report.json(found, finding), ensure_ascii=False) + "\n").encode())
        case _:
            target.writelines(f"{one_line(line)}\n".encode() for line in report.lines(found, tally))
