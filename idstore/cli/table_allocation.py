"""``idstore mint --from`` and ``register --from``: an identifier for each row of a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from idstore.cli import exits, inputs, output_files, session, stdin
from idstore.cli.call import Call
from idstore.cli.output import flush
from idstore.cli.table_lines import TableLines

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.mappings import LineOutcome
    from idstore.registry.requests import Request


class _NothingToWrite(Exception):
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

    output_files.check_ending(output, (".csv", ".tsv", ".xlsx"), "a table ends in .csv, .tsv or .xlsx")
    name = inputs.name(file)
    scheme = session.read(call, lambda registry, _: registry.namespace(namespace).scheme)
    with stdin.files([file]) as [path]:
        fields = request_tables.metadata_fields(scheme)
        table = request_tables.read(path, file, request, fields, labelled=labelled)
    call.output.info(f"idstore: reading {table.summary.replace(str(path), name)}")
    lines = TableLines(call, table.flaws, table.left)

    def act(registry: "Registry", party: "Party") -> "Sequence[LineOutcome]":
        rehearsed = dry_run or bool(table.flaws)
        outcomes = registry.mint_many(namespace, table.rows, party, dry_run=rehearsed)
        if not rehearsed and lines.refusals(outcomes):
            raise _NothingToWrite(outcomes)
        return outcomes

    if dry_run or table.flaws:
        return lines.report(session.write(call, act, dry_run=True), shown=labelled)
    format = request_tables.format_of(output)
    if output == inputs.STDIN:
        format = "csv" if table.format == "xlsx" else table.format
    table.check_output(format)
    outcomes: Sequence[LineOutcome] = ()
    try:
        if call.output.json and output == inputs.STDIN:
            outcomes = session.write(call, act)
            lines.print(outcomes)
        else:
            with output_files.open_output(output) as target:  # what cannot be written is refused at once
                outcomes = session.write(call, act)
                table.write(target, format, {outcome.line: outcome.id for outcome in outcomes})
        flush()
    except _NothingToWrite as refused:
        return lines.report(refused.outcomes, shown=labelled)
    except OSError:
        if outcomes:
            call.output.error(
                "undelivered",
                f"the identifiers of {len(outcomes)} rows are allocated, but the table with them could not be"
                " written; the same command, run again, gives the same identifiers",
                {"rows": len(outcomes)},
            )
        raise
    lines.warn(outcomes)
    call.output.info(f"idstore: {lines.counted(outcomes)}")
    return exits.DONE
