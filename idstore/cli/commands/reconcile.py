"""``idstore reconcile``: disagreements of registries and mapping files, and the decisions of a curator."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from idstore.characters import printable_json
from idstore.cli import arguments, exits, inputs, session, stdin
from idstore.cli.call import Call
from idstore.cli.commands import imports
from idstore.cli.output_files import check_ending, open_output
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.reconciliation.report import Reconciliation

FORMATS: Final = ("table", "json", "turtle", "html")
SUMMARIES: Final = ("table", "json", "html")
"""Formats of a summary of decisions."""
SUFFIXES: Final = {".html": "html", ".htm": "html", ".ttl": "turtle", ".json": "json", ".jsonl": "json"}


def reconcile(
    call: Call,
    sides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A B...",
            help="Folders of stores, addresses of servers, exports or other RDF files, tables of mappings"
            " (SSSOM, TSV, CSV).",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="table, json (a finding a line), turtle or html. [default: by FILE's suffix, else table]",
        ),
    ] = None,
    file: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The file to write; - is standard output.")
    ] = inputs.STDIN,
    read_as: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="F",
            help="Format of the input files: sssom, tsv, csv, xlsx or an RDF format."
            " [default: by their suffixes]",
        ),
    ] = None,
    column: arguments.Column = None,
    base: arguments.Base = None,
    relation: arguments.RelationName = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 5 if there are findings other than chains and clusters."),
    ] = False,
    clusters: Annotated[
        bool,
        typer.Option(
            "--clusters", help="List also the clusters without a contradiction, which are else counted only."
        ),
    ] = False,
    lang: Annotated[
        str | None, typer.Option(metavar="L", help="Show names in this language, where there are some.")
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(
            "--accept",
            metavar="FILE",
            help="Carry out decisions: a file saved by the HTML page, or a table with a column action."
            " One file is for all stores: each takes its own lines.",
        ),
    ] = None,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary",
            help="With --accept: say what the file decides, for those who were not there, and change nothing:"
            " text, --json, or a page with -o FILE.html.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --accept: print the changes without making them.")
    ] = False,
) -> int:
    """Compare registries and mapping files, and report their disagreements.

    Compares two or more sources; a single one is checked for contradictions. Of a store, the data that you
    may see is compared. A server other than that of --store is not sent your token, and gives what is public.
    The HTML page needs no network: decide there, save the decisions, and carry them out
    with --accept, all or none. Give the same file to each store that was compared: lines about
    identifiers that it does not hold are counted, and left to the other one.
    """
    if accept is not None:
        if sides:
            raise UsageError("--accept changes the store of --store; compare sources in a separate command")
        if summary:
            chosen = _report_format(call, format, file, SUMMARIES)
            return _summarize(call, accept, _table_format(accept, read_as), chosen, file, lang or "")
        from idstore.exchange.importing import LARGEST, ImportChoices, ImportKind

        choices = ImportChoices(_table_format(accept, read_as), dry_run=dry_run)
        with stdin.files([accept], largest=LARGEST[ImportKind.BINDINGS]) as paths:
            return imports.carry_out(call, [accept], paths, choices)
    if summary:
        raise UsageError("--summary goes with --accept, which names the file of decisions")
    if not sides:
        raise UsageError("name the sources to compare: folders of stores, exports, tables of mappings")
    if dry_run:
        raise UsageError("--dry-run goes with --accept; a comparison changes nothing")
    chosen = _report_format(call, format, file, FORMATS)
    tally = _compare(call, sides, chosen, file, read_as, column, base, relation, clusters, lang or "")
    from idstore.reconciliation.kinds import HARMLESS

    return exits.BROKEN if strict and tally.keys() - HARMLESS else exits.DONE


def _report_format(call: Call, format: str | None, file: str, formats: Sequence[str]) -> str:
    """Return the format of a report, by the options or the suffix of its file. Raises UsageError."""
    from idstore.exchange.sources import ending

    suffixes = {suffix: name for suffix, name in SUFFIXES.items() if name in formats}
    if format is None and not call.output.json:
        remedy = f"choose another one, or name the format with --format {'|'.join(formats)}"
        check_ending(file, suffixes, remedy)
    chosen = format or ("json" if call.output.json else suffixes.get(ending(file), "table"))
    if chosen not in formats:
        raise UsageError(f"no format {chosen!r} to report in; there are {', '.join(formats)}")
    return chosen


def _table_format(file: str, format: str | None) -> str:
    """Return the format of a file of decisions. Raises UsageError."""
    from idstore.exchange import tables

    format = format or tables.format_of(file) or "tsv"
    if format not in tables.FORMATS:
        raise UsageError(f"no table format {format!r}; there are {', '.join(tables.FORMATS)}")
    return format


def _summarize(call: Call, file: str, read_as: str, format: str, output: str, language: str) -> int:
    """Print what a file of decisions says, and return the exit code."""
    import json

    from idstore.reconciliation import decisions

    with open_output(output) as target, stdin.files([file]) as [path]:
        summary = decisions.read(path, read_as)
        if session.exists(call):
            most = decisions.SHOWN if format == "table" else None
            session.read(call, lambda registry, party: summary.look_up(registry, party, most, language))
        match format:
            case "html":
                target.write(decisions.page(summary).encode())
            case "json":
                texts = (json.dumps(one, ensure_ascii=False) for one in decisions.json(summary))
                target.writelines(f"{printable_json(text)}\n".encode() for text in texts)
            case _:
                target.writelines(f"{line}\n".encode() for line in decisions.lines(summary))
    for row in summary.malformed:
        call.output.warn(f"{inputs.name(file)}, line {row.line}: {row.reason}")
    return exits.INVALID if summary.malformed else exits.DONE


def _compare(
    call: Call,
    sides: Sequence[str],
    format: str,
    file: str,
    read_as: str | None,
    column: list[str] | None,
    base: list[str] | None,
    relation: list[str] | None,
    clusters: bool,
    language: str,
) -> Counter[str]:
    from idstore.exchange import mappings
    from idstore.model.party import Party
    from idstore.reconciliation import report

    columns = arguments.columns(column, base, relation)
    tally: Counter[str] = Counter()

    def show_progress(task: str) -> None:
        if task and call.output.shows_progress:
            call.output.info(f"idstore: {task}")

    with (
        open_output(file) as target,
        _exports(call, sides) as exports,
        report.reconcile(
            sides,
            Party(call.user),
            format=read_as,
            columns=columns,
            wait=call.wait,
            clusters=clusters,
            language=language,
            exports=exports,
            progress=show_progress,
        ) as result,
    ):
        for name, reason in {side.name: side.behind for side in result.sides}.items():
            session.warn_if_behind(call, name, reason)
        for side in result.sides:
            if side.literals:
                call.output.info(f"idstore: {side.name}: {mappings.literals_passed_over(side.literals)}")
        _write(result, format, tally, target)
    if tally or format != "table" or file != inputs.STDIN:  # otherwise the table says it
        counts = ", ".join(f"{count} {slug}" for slug, count in tally.items())
        call.output.info(f"idstore: {counts or 'nothing to reconcile'}")
    return tally


@contextmanager
def _exports(call: Call, sides: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Return an export of each side that is the address of a server; the files last for the block."""
    from idstore import scratch

    files: dict[str, Path] = {}
    with scratch.folder() as folder:
        for number, address in enumerate(side for side in sides if "://" in side):
            files[address] = folder / f"{number}.nq"
            with files[address].open("wb") as target:
                session.export_from(call, address, target)
        yield files


def _write(result: "Reconciliation", format: str, tally: Counter[str], target: IO[bytes]) -> None:
    import json

    from pyoxigraph import RdfFormat, serialize

    from idstore.reconciliation import graph, page, report
    from idstore.vocabulary import PREFIXES

    match format:
        case "html":
            target.write(page.page(result, tally).encode())
        case "turtle":
            serialize(graph.triples(result, tally), target, format=RdfFormat.TURTLE, prefixes=PREFIXES)
        case "json":
            for finding in result.listed(tally):
                text = json.dumps(report.json(result, finding), ensure_ascii=False)
                target.write(f"{printable_json(text)}\n".encode())
        case _:
            target.writelines(f"{line}\n".encode() for line in report.lines(result, tally))
