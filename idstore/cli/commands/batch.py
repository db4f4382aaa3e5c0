"""``idstore export`` and ``import`` for batch files of the Handle System."""

import io
from typing import TYPE_CHECKING, Final

from idstore.cli import exits, inputs, session
from idstore.cli.call import Call
from idstore.cli.outputs import output

if TYPE_CHECKING:
    from idstore.registry.exporting import Extract

FORMAT: Final = "handle-batch"


def export(call: Call, file: str, extract: "Extract") -> None:
    """Write a batch file, and warn of what it cannot hold."""
    from idstore.exchange import handle_batch
    from idstore.stores.catalogue import Selection

    chosen = Selection(namespace=extract.namespace, stage=extract.stage, since=extract.since)
    with output(file) as target:
        for piece in session.read(call, lambda registry, party: [*handle_batch.write_batch(registry, party, chosen)], detached=True):
            if isinstance(piece, str):
                target.write(piece.encode())
            else:
                call.output.warn(piece.reason)


def import_(call: Call, file: str, namespace: str | None, dry_run: bool) -> int:
    """Carry a batch file out, or name every line that cannot be."""
    from idstore.errors import BatchRefused
    from idstore.exchange import handle_batch

    given = inputs.content(file) if file == inputs.STDIN else None  # a store that is made first has it read twice
    try:
        found = session.write(
            call,
            lambda registry, party: handle_batch.import_batch(
                registry, file if given is None else io.BytesIO(given), party, namespace, dry_run=dry_run
            ),
            dry=dry_run,
        )
    except BatchRefused as error:
        for line, reason in error.flaws:
            call.output.failure(
                error.code, f"{inputs.name(file)}, line {line}: {reason}", {"file": inputs.name(file), "line": line, "reason": reason}
            )
        return exits.INVALID
    sorts = {"created": found.created, "changed": found.changed, "deleted": found.deleted}
    said = ", ".join(f"{sort} {len(handles)}" for sort, handles in sorts.items())
    call.output.data(f"{'would have ' if dry_run else ''}{said} handles", {"dryRun": dry_run, **sorts})
    return exits.DONE
