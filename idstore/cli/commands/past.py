"""``idstore history`` and ``diff``: how things stood, and what became different."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.cli.output import one_line

if TYPE_CHECKING:
    from idstore.cli.records import Described
    from idstore.registry.past import Difference

Moment = Annotated[str, typer.Argument(metavar="T", help="A date or time (UTC): 2026-11-20 or 2026-11-20T11:17:35Z.")]


def history(
    call: Call,
    id: Annotated[
        str | None, typer.Argument(metavar="ID", help=f"An identifier, {arguments.WRITTEN}; without it, all identifiers.")
    ] = None,
    at: Annotated[str | None, typer.Option(metavar="T", help="The moment (UTC); what happened in it is included. [default: now]")] = None,
    namespace: Annotated[str | None, typer.Option(metavar="N", help="Only this namespace's identifiers.")] = None,
) -> None:
    """Show how an identifier stood at a moment in the past, or list all that there were.

    Read from the log, as far as you may see it. Of all identifiers the columns are those of list, oldest first.
    """
    from idstore.cli.records import Described, described
    from idstore.model import times

    moment = times.now() if at is None else times.parse(at)
    if id is not None:
        if namespace is not None:
            raise Misuse("give an identifier or --namespace")
        [found] = session.read(call, lambda registry, party: described(registry, party, [registry.at(id, moment, party)], remarks=False))
        call.output.data(found.text(), _past_json(found))
        return
    with session.reading(call, detached=True) as (registry, party):
        spaces = {space.base: space for space in registry.namespaces()}
        for record in registry.all_at(moment, party, namespace):
            one = Described(record, spaces[record.namespace])
            call.output.data(one.line(), _past_json(one) if call.output.json else {})


def _past_json(found: "Described") -> dict[str, object]:
    """Without comments, which are read in the log."""
    return {key: value for key, value in found.json().items() if key != "comments"}


def diff(
    call: Call,
    since: Moment,
    until: Annotated[str | None, typer.Argument(metavar="T2", help="The later one. [default: now]")] = None,
    namespace: Annotated[str | None, typer.Option(metavar="N", help="Only this namespace's identifiers.")] = None,
) -> None:
    """Say what of the identifiers became different between two moments.

    A line for each identifier: + it is new, - it was released, ~ it changed; below it what changed.
    """
    from idstore.errors import InvalidData
    from idstore.model import times

    first, last = times.parse(since), times.now() if until is None else times.parse(until)
    if last < first:
        fault = (
            f"{since} is yet to come; give a moment in the past"
            if until is None
            else f"{until} is before {since}; give the earlier one first"
        )
        raise InvalidData(fault, since=since, until=until or times.iso(last))
    with session.reading(call, detached=True) as (registry, party):
        for found in registry.differences(first, last, party, namespace):
            changes = list(_changes(found))
            sign = "+" if found.before is None else "-" if found.after is None else "~"
            told = (one_line(f"{name}: {old or '(none)'} → {new or '(none)'}") for name, old, new in changes)
            lines = [f"{sign} {found.iri}", *(f"    {line}" for line in told)]
            call.output.data(
                "\n".join(lines),
                {
                    "id": found.iri,
                    "change": {"+": "added", "-": "released", "~": "changed"}[sign],
                    "fields": [{"field": name, "before": old, "after": new} for name, old, new in changes],
                },
            )


def _changes(found: "Difference") -> Iterator[tuple[str, str | None, str | None]]:
    """Field, what it was and what it is, where that differs."""
    from idstore.cli.records import facts_of

    before, after = ({} if record is None else facts_of(record) for record in (found.before, found.after))
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)
