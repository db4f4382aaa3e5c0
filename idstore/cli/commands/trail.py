"""``idstore log``: who did what when."""

import time
from contextlib import suppress
from difflib import get_close_matches
from typing import Annotated, Final

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.errors import StoreBusy

PAUSE: Final = 1.0
"""Seconds between two looks at a trail that is followed."""


def log(
    call: Call,
    id: Annotated[str | None, typer.Option(metavar="ID", help="Only what happened to this identifier or namespace.")] = None,
    user: Annotated[str | None, typer.Option(metavar="U", help="Only what this party did. (Who acts: --user before the command.)")] = None,
    since: arguments.Since = None,
    until: arguments.Until = None,
    kinds: Annotated[
        list[str] | None, typer.Option("--kind", metavar="K", help="Only this kind of event (Mint, Bind, …); may be given again.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on printing what happens, until interrupted.")] = False,
) -> None:
    """Print who did what when, oldest first.

    The columns are time, party, kind of event, what it is about and details, divided by tabs.
    """
    from idstore.cli.events import event_json, event_line
    from idstore.cli.output import flush
    from idstore.registry.following import PAGE, Interest, Place

    wanted = _kinds(kinds or [])
    interest = Interest(id, user, arguments.moment(since), arguments.moment(until))
    place = Place(follows=follow)
    while True:
        found = []
        with suppress(*([StoreBusy] if place.last else [])):  # a writer holds it for long: look again later
            found = session.read(call, lambda registry, party: registry.news(party, interest, place))
        for entry in found:
            if not wanted or entry.event.act in wanted:
                made = event_json(entry.event)
                call.output.data(event_line(entry.event), made if entry.publication is None else made | {"publication": entry.publication})
        if len(found) < PAGE:
            if not follow:
                return
            flush()
            time.sleep(PAUSE)


def _kinds(texts: list[str]) -> set[str]:
    """The kinds of events, however they are capitalised. Raises a usage error."""
    from idstore.model.event import KINDS
    from idstore.vocabulary import ONTOLOGY

    known = {kind.value.removeprefix(ONTOLOGY).lower(): kind.value.removeprefix(ONTOLOGY) for kind in KINDS}
    for text in texts:
        if text.lower() not in known:
            close = get_close_matches(text.lower(), known, n=1)
            hint = f"did you mean {known[close[0]]}?" if close else f"there are {', '.join(sorted(known.values()))}"
            raise Misuse(f"no kind of event {text!r}; {hint}")
    return {known[text.lower()] for text in texts}
