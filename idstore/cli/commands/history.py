"""``idstore history`` and ``diff``: past states, and changes between two times."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.characters import printable
from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.cli.records import RecordView
    from idstore.registry.history import Difference

Timestamp = Annotated[
    str,
    typer.Argument(metavar="T", help="A date or time (UTC): 2026-11-20, 2026-11-20T11:17:35Z, today, 30d."),
]


def history(
    call: Call,
    id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help=f"An identifier, {arguments.FORMS}; without it, all identifiers."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="T", help="The time (UTC), inclusive. [default: now]"),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(metavar="N", help="Only this namespace's identifiers.")
    ] = None,
) -> None:
    """Show the state of an identifier at a time in the past, or list all identifiers of that time.

    Read from the part of the log that you may see. The list has the columns of idstore list, oldest first.
    """
    from idstore.cli.records import COLUMNS, RecordView, record_views
    from idstore.model import times

    time = times.current() if at is None else arguments.moment(at)
    if id is not None:
        if namespace is not None:
            raise UsageError("give an identifier or --namespace")
        [view] = session.read(
            call,
            lambda registry, party: record_views(
                registry, party, [registry.at(id, time, party)], remarks=False
            ),
        )
        call.output.data(view.text(), _json(view))
        return
    with session.open_reader(call, detached=True) as (registry, party):
        namespaces = {space.base: space for space in registry.namespaces()}
        call.output.heading(*COLUMNS)
        for record in registry.all_at(time, party, namespace):
            view = RecordView(record, namespaces[record.namespace])
            call.output.data(view.line(), _json(view) if call.output.json else {})


def _json(view: "RecordView") -> dict[str, object]:
    """Return the record without its comments, which are in the log."""
    return {key: value for key, value in view.json().items() if key != "comments"}


def diff(
    call: Call,
    since: Timestamp,
    until: Annotated[str | None, typer.Argument(metavar="T2", help="The later time. [default: now]")] = None,
    namespace: Annotated[
        str | None, typer.Option(metavar="N", help="Only this namespace's identifiers.")
    ] = None,
) -> None:
    """Print the changes of identifiers between two times.

    Prints a line for each identifier, with + if it was added, - if it was released and ~ if it changed, and
    below it the changed fields.
    """
    from idstore.errors import InvalidData
    from idstore.model import times

    first, last = arguments.moment(since), times.current() if until is None else arguments.moment(until)
    if last < first:
        message = (
            f"{since} is in the future; give a time in the past"
            if until is None
            else f"{until} is before {since}; give the earlier one first"
        )
        raise InvalidData(message, since=since, until=until or times.iso(last))
    with session.open_reader(call, detached=True) as (registry, party):
        for difference in registry.differences(first, last, party, namespace):
            changes = list(_changes(difference))
            sign = "+" if difference.before is None else "-" if difference.after is None else "~"
            texts = (
                printable(f"{name}: {old or '(none)'} → {new or '(none)'}") for name, old, new in changes
            )
            lines = [f"{sign} {difference.iri}", *(f"    {text}" for text in texts)]
            call.output.data(
                "\n".join(lines),
                {
                    "id": difference.iri,
                    "change": {"+": "added", "-": "released", "~": "changed"}[sign],
                    "fields": [{"field": name, "before": old, "after": new} for name, old, new in changes],
                },
            )


def _changes(difference: "Difference") -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the changed fields, each with its old and its new value."""
    from idstore.documents import record_fields

    records = (difference.before, difference.after)
    before, after = ({} if record is None else record_fields(record) for record in records)
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)
