"""``idstore redact``."""

from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import inputs, session
from idstore.cli.call import Call
from idstore.cli.output import limited_lines
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.redaction import Redacted


def redact(
    call: Call,
    reason: Annotated[str, typer.Option(metavar="T", help="The reason; the log shows it to everyone.")],
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="The text to replace; - reads it from standard input."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--party", metavar="U", help="Replace the name of this party.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the events that would change. [default]")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Redact, instead of listing the events.")] = False,
) -> None:
    """Replace a text, or the name of a party, by a pseudonym, in the log as well. For administrators.

    TEXT is replaced wherever it occurs in comments, notes, names, reasons, values of handles and addresses
    (targets of identifiers and bindings), as written or percent-encoded. Identifiers, labels, names of
    namespaces and settings stay. With --party everything of the party stays with its pseudonym, and its
    tokens are revoked. No file of the store keeps the former text; exports, backups and copies that were
    given away do. It cannot be undone.

    Undone by: nothing: the text is gone.
    """
    from idstore.tokens import redact_party

    if (text is None) == (name is None) or (dry_run and yes):
        raise UsageError("write TEXT or --party U, and --dry-run or --yes")
    if text == inputs.STDIN:
        text = inputs.content(text).decode(errors="replace").removesuffix("\n")

    def act(registry: "Registry", party: "Party") -> "Redacted":
        if name is not None:
            return redact_party(registry, name, reason, party, dry_run=not yes)
        return registry.redact_text(text or "", reason, party, dry_run=not yes)

    result = session.write(call, act, dry_run=not yes, creates=False)
    count = len(result.events)
    head = (
        f"replaced in {count} events by {result.pseudonym}"
        if yes
        else f"would be replaced in {count} events; --yes does it"
    )
    events = [] if yes else [f"{iri} {kind}" for iri, kind in result.events]
    lines = [head, *limited_lines("event", events), *limited_lines("stays in its own IRI", result.kept)]
    call.output.data(
        "\n".join(lines),
        {
            "dryRun": not yes,
            "pseudonym": result.pseudonym,
            "events": [{"id": iri, "kind": kind} for iri, kind in result.events],
            "kept": [*result.kept],
        },
    )
