"""``idstore log``: the events of the registry."""

import time
from contextlib import suppress
from difflib import get_close_matches
from typing import Annotated, Final

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError
from idstore.errors import StoreBusy

PAUSE: Final = 1.0
"""Seconds between two reads of a log that is followed."""


def log(
    call: Call,
    id: Annotated[
        str | None, typer.Option(metavar="ID", help="Only events of this identifier or namespace.")
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="U", help="Only events of this party. (The acting party: --user before the command.)"
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="T", help=f"Only events at or after {arguments.MOMENTS}.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="T", help="Only events before this date or time (UTC): 2026-11-20, today, 30d."),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="K", help="Only this kind of event (Mint, Bind, …). Repeatable."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Continue with new events, until interrupted.")
    ] = False,
) -> None:
    """Print events, oldest first.

    The columns are time, party, kind of event, subject and details, separated by tabs.
    """
    from idstore.cli.events import event_line
    from idstore.cli.output import flush
    from idstore.documents import event_json
    from idstore.model.filter import Filter
    from idstore.registry.log import PAGE, LogPosition

    filter = Filter(
        party=user,
        since=arguments.timestamp(since),
        until=arguments.timestamp(until),
        id=id,
        kinds=_kinds(kinds or []),
    )
    position = LogPosition(follows=follow)
    while True:
        entries = []
        # after the first entries a writer may hold the store for long: try again later
        with suppress(*([StoreBusy] if position.last else [])):
            entries = session.read(call, lambda registry, party: registry.news(party, filter, position))
        for entry in entries:
            record = event_json(entry.event)
            if entry.publication is not None:
                record["publication"] = entry.publication
            call.output.data(event_line(entry.event), record)
        if len(entries) < PAGE:
            if not follow:
                return
            flush()
            time.sleep(PAUSE)


def _kinds(texts: list[str]) -> set[str]:
    """Return the kinds of events for texts in any case. Raises UsageError."""
    from idstore.model.event import KINDS
    from idstore.vocabulary import ONTOLOGY

    names = [kind.value.removeprefix(ONTOLOGY) for kind in KINDS]
    kinds = {name.lower(): name for name in names}
    for text in texts:
        if text.lower() not in kinds:
            close = get_close_matches(text.lower(), kinds, n=1)
            hint = f"did you mean {kinds[close[0]]}?" if close else f"there are {', '.join(sorted(names))}"
            raise UsageError(f"no kind of event {text!r}; {hint}")
    return {kinds[text.lower()] for text in texts}
