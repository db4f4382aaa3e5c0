"""``idstore mint --from`` and ``register --from``: an identifier for each row of a table."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from idstore.characters import printable
from idstore.cli import exits, inputs, output_files, session, stdin
from idstore.cli.call import Call

if TYPE_CHECKING:
    from idstore.exchange.request_tables import RequestTable
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.mappings import LineOutcome
    from idstore.registry.requests import Request


class _Refused(Exception):
    """Keeps the output from being written.

    outcomes  those of all rows.
    """

    def __init__(self, outcomes: "Sequence[LineOutcome]") -> None:
        super().__init__()
        self.outcomes = outcomes


def allocate_table(
    call: Call, namespace: str, file: str, request: "Request", output: str, *, labelled: bool, dry_run: bool
) -> int:
    """Allocate an identifier for each row, all or none; write the table, and return the exit code.

    request   what holds for rows that do not say otherwise.
    output    the file to write, ``-`` for standard output.
    labelled  whether the table has the labels.
    """
    from idstore.exchange import request_tables

    name = inputs.name(file)
    with stdin.files([file]) as [path]:
        table = request_tables.read(path, file, request, labelled=labelled)
    call.output.info(f"idstore: reading {table.summary.replace(str(path), name)}")

    def act(registry: "Registry", party: "Party") -> "Sequence[LineOutcome]":
        rehearsed = dry_run or bool(table.flaws)
        outcomes = registry.mint_many(namespace, table.rows, party, dry_run=rehearsed)
        if not rehearsed and _refusals(outcomes):
            raise _Refused(outcomes)
        return outcomes

    if dry_run or table.flaws:
        return _report(call, table, session.write(call, act, dry_run=True), shown=labelled)
    format = request_tables.format_of(output)
    if output == inputs.STDIN:
        format = "csv" if table.format == "xlsx" else table.format
    try:
        if call.output.json and output == inputs.STDIN:
            outcomes = session.write(call, act)
            _print_lines(call, table, outcomes, shown=True)
        else:
            with output_files.open_output(output) as target:  # what cannot be written is refused at once
                outcomes = session.write(call, act)
                table.write(target, format, {outcome.line: outcome.id for outcome in outcomes})
    except _Refused as refused:
        return _report(call, table, refused.outcomes, shown=labelled)
    call.output.info(f"idstore: {_counted(table, outcomes)}")
    return exits.DONE


def _refusals(outcomes: "Sequence[LineOutcome]") -> int:
    return sum(outcome.verdict == "refused" for outcome in outcomes)


def _counted(table: "RequestTable", outcomes: "Sequence[LineOutcome]") -> str:
    """Return how many rows have which outcome, in words."""
    counts = Counter(str(outcome.verdict) for outcome in outcomes)
    counts["left alone"] = len(table.cells) - len(table.rows)
    counts["malformed"] = len(table.flaws)
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()) if count) or "no rows"


def _print_lines(
    call: Call, table: "RequestTable", outcomes: "Sequence[LineOutcome]", *, shown: bool
) -> None:
    """Print the outcome of each line.

    shown  whether the identifiers of new rows are known: before they are allocated, only those with labels.
    """
    rows = [
        (one.line, str(one.verdict), one.id if shown or one.verdict != "new" else "", one.reason)
        for one in outcomes
    ]
    rows += [(line, "malformed", "", reason) for line, reason in table.flaws]
    for line, verdict, id, reason in sorted(rows):
        call.output.data(
            "\t".join(map(printable, filter(None, (f"line {line}", verdict, id, reason)))),
            {"line": line, "verdict": verdict, "id": id, "reason": reason},
        )


def _report(call: Call, table: "RequestTable", outcomes: "Sequence[LineOutcome]", *, shown: bool) -> int:
    """Print the outcome of each line of a table that changes nothing, and return the exit code."""
    _print_lines(call, table, outcomes, shown=shown)
    failed = bool(table.flaws) or bool(_refusals(outcomes))
    status = "nothing was changed" if failed else "nothing is changed yet"
    call.output.info(f"idstore: {_counted(table, outcomes)}; {status}")
    return exits.INVALID if failed else exits.DONE
