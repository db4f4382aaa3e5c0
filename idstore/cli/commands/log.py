"""``idstore log``: the events of the registry."""

import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError
from idstore.errors import StoreBusy

if TYPE_CHECKING:
    from idstore.model.filter import Filter
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.log import LogEntry

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
    after: Annotated[
        str | None,
        typer.Option(
            metavar="CURSOR",
            help="Only what is public after this publication number (0: from the beginning); for"
            " administrators also commit:N, all events after the commit N.",
        ),
    ] = None,
    cursor_file: Annotated[
        str | None,
        typer.Option(
            "--cursor-file",
            metavar="FILE",
            help="Only events after the cursor in FILE, if it exists (else after --after, or 0); at the end"
            " write the cursor after the last one into it.",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Continue with new events, until interrupted.")
    ] = False,
) -> None:
    """Print events, oldest first.

    The columns are time, party, kind of event, subject and details, separated by tabs.
    With --after or --cursor-file: what is public, by publication numbers, which --json prints; no event is
    missed or repeated, also if it becomes public later.
    """
    from idstore.model.filter import Filter

    filter = Filter(
        party=user,
        since=arguments.timestamp(since),
        until=arguments.timestamp(until),
        id=id,
        kinds=_kinds(kinds or []),
    )
    if after is not None or cursor_file is not None:
        if follow:
            raise UsageError("--follow keeps its own place; leave out --after and --cursor-file")
        _print_after(call, filter, "0" if after is None else after, cursor_file)
    else:
        _print_news(call, filter, follow=follow)


def _print_after(call: Call, filter: "Filter", cursor: str, file: str | None) -> None:
    """Print the events after a cursor, or after that of a file, which gets the cursor after the last one.

    The file is written at the end, so that an interrupted run is repeated.
    """
    from idstore.cli.output import flush
    from idstore.cli.output_files import open_output
    from idstore.registry.log import PAGE

    with nullcontext() if file is None else open_output(file) as target:
        reached = cursor if file is None else _saved(file) or cursor
        entries, told = None, False
        while entries is None or len(entries) == PAGE:
            entries, reached = session.read(call, partial(_page, filter=filter, cursor=reached))
            _print(call, entries, headed=told)
            told = told or bool(entries)
        if target is not None:
            flush()
            target.write(f"{reached}\n".encode())


def _page(
    registry: "Registry", party: "Party", filter: "Filter", cursor: str
) -> "tuple[list[LogEntry], str]":
    """Return the events after a cursor, and the next cursor."""
    page = registry.events_since(party, cursor, filter)
    return page.entries, page.cursor


def _saved(file: str) -> str | None:
    """Return the cursor in a file, None if there is no file. Raises UsageError: it cannot be read."""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--cursor-file {file}: {error}") from None


def _print(call: Call, entries: "Sequence[LogEntry]", *, headed: bool) -> None:
    from idstore.cli.events import event_line
    from idstore.documents import event_json

    if entries and not headed:
        call.output.heading("time", "party", "event", "subject", "details")
    for entry in entries:
        record = event_json(entry.event)
        if entry.publication is not None:
            record["publication"] = entry.publication
        if entry.sequence is not None:
            record["commit"] = entry.sequence
        call.output.data(event_line(entry.event), record)


def _print_news(call: Call, filter: "Filter", *, follow: bool) -> None:
    """Print the events that the party sees, and those that come, as long as ``follow`` says."""
    from idstore.cli.output import flush
    from idstore.registry.log import PAGE, LogPosition

    position, told = LogPosition(follows=follow), False
    while True:
        entries = []
        # after the first entries a writer may hold the store for long: try again later
        with suppress(*([StoreBusy] if position.last else [])):
            entries = session.read(call, lambda registry, party: registry.news(party, filter, position))
        _print(call, entries, headed=told)
        told = told or bool(entries)
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
