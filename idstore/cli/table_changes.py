"""``--from TABLE`` of ``deprecate``, ``target``, ``name`` and their like: a change for each row."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from idstore.cli import arguments, exits, inputs, session, stdin
from idstore.cli.call import Call
from idstore.cli.table_lines import TableLines

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.mappings import LineOutcome


def change_table(
    call: Call,
    act: str,
    file: str,
    defaults: Mapping[str, str | None],
    *,
    dry_run: bool,
    force: bool = False,
) -> int:
    """Carry out an act for each row, all or none, and return the exit code.

    defaults  values of columns that rows leave empty.
    force     whether cells are taken that are refused otherwise.
    """
    from idstore.exchange import change_tables

    given = {column: text for column, text in defaults.items() if text is not None}
    with stdin.files([file]) as [path]:
        table = change_tables.read(path, file, act, given, force=force)
    call.output.info(f"idstore: reading {table.summary.replace(str(path), inputs.name(file))}")
    lines, rehearsed = TableLines(call, table.flaws, table.empty), dry_run or bool(table.flaws)

    def change(registry: "Registry", party: "Party") -> "tuple[Sequence[LineOutcome], arguments.Unseen]":
        grantees = sorted({row.grantee for row in table.rows} - {""})
        unseen = arguments.unseen_parties(registry, grantees, party)
        return registry.change_many(table.rows, party, dry_run=rehearsed), unseen

    outcomes, unseen = session.write(call, change, dry_run=rehearsed, creates=False)
    arguments.warn_of_unseen(call, unseen, "take the grant back (idstore ungrant)")
    if rehearsed or lines.refusals(outcomes):
        return lines.report(outcomes)
    lines.warn(outcomes)
    if call.output.json:
        lines.print(outcomes)
    call.output.info(f"idstore: {lines.counted(outcomes)}; done")
    return exits.DONE
