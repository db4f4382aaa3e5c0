"""``idstore handle``: typed values of handles."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call

if TYPE_CHECKING:
    from datetime import datetime

    from idstore.model.event import Event
    from idstore.model.party import Party
    from idstore.model.value import Value
    from idstore.registry import Registry

Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="T",
        help="Only values of this type; with a final dot also its subtypes (URL.). Repeatable.",
    ),
]
Indexes = Annotated[
    list[int] | None, typer.Option("--index", metavar="N", help="Only the value with this index. Repeatable.")
]
_ADMIN: Final = "200:add_value,modify_value:0.NA/12345"


def values(call: Call, id: arguments.Id, type_: Types = None, index: Indexes = None) -> None:
    """Print the values of a handle that you may read.

    The columns are index, type, time to live, permissions, time of the last change and data, separated by
    tabs.
    """
    from idstore.cli.records import value_line

    selected = session.read(
        call, lambda registry, party: registry.values(id, party, type_ or (), index or ())
    )
    if selected:
        call.output.heading("index", "type", "time to live", "permissions", "changed", "data")
    for value in selected:
        call.output.data(value_line(value), value.as_dict() if call.output.json else {})


def set_(
    call: Call,
    id: arguments.Id,
    type_: Annotated[
        str,
        typer.Argument(
            metavar="TYPE", help="URL, EMAIL, DESC, HS_ADMIN, HS_ALIAS, 10320/loc or a type of your own."
        ),
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help=f"The text; for HS_ADMIN INDEX:PERMISSIONS:HANDLE, such as {_ADMIN}."
        ),
    ],
    index: Annotated[
        int | None, typer.Option(metavar="N", help="The index. [default: the lowest free one]")
    ] = None,
    ttl: Annotated[
        str | None,
        typer.Option(metavar="S", help="Time to live in seconds, or the time of expiry. [default: 86400]"),
    ] = None,
    permissions: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="admin_read, admin_write, public_read, public_write as four digits, 0 or 1. [default: 1110]",
        ),
    ] = None,
    hexadecimal: Annotated[bool, typer.Option("--hex", help="DATA is bytes in hexadecimal.")] = False,
) -> None:
    """Set a value of a handle, and replace the one with the same index. For its owner.

    Only the owner and administrators see a value without public_read. The handle resolves to the first URL
    with public_read.

    Undone by: handle set with the earlier value, which the log has, or handle unset.
    """
    from idstore.cli.events import print_changes
    from idstore.registry.handle_values import Draft
    from idstore.schemes import value_types

    seconds, until = _time_to_live(ttl)
    content = _bytes(data) if hexadecimal else data
    draft = Draft(type_, content, index, seconds, until, permissions or value_types.PERMISSIONS)

    def act(registry: "Registry", party: "Party") -> "tuple[list[Event], list[str]]":
        events = registry.set_value(id, draft, party)
        others = arguments.leading_to(registry, data if draft.leads else None, party)
        return events, [iri for iri in others if iri != events[-1].about]

    events, others = session.write(call, act)
    arguments.warn_of_others(call, data, others)
    print_changes(call, *events)


def unset(
    call: Call,
    id: arguments.Id,
    indexes: Annotated[list[int], typer.Argument(metavar="INDEX...", help="The indexes of the values.")],
) -> None:
    """Remove values of a handle. For its owner.

    Undone by: handle set with the earlier value, which the log has.
    """
    from idstore.cli.events import print_changes

    print_changes(
        call, *session.write(call, lambda registry, party: registry.unset_values(id, indexes, party))
    )


def admin(
    call: Call,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="INDEX:PERMISSIONS:HANDLE, with names, all, json=DIGITS or batch=DIGITS; with --hex bytes.",
        ),
    ],
    hexadecimal: Annotated[bool, typer.Option("--hex", help="DATA is bytes in hexadecimal.")] = False,
) -> None:
    """Print the written forms of a handle administrator (HS_ADMIN).

    Twelve digits stand for twelve permissions: in JSON the last is add_handle, in a batch file the first.
    """
    from idstore.schemes.handle_values import Admin

    parsed = Admin.decoded(_bytes(data)) if hexadecimal else Admin.parse(data)
    forms = {
        "text": str(parsed),
        "json": parsed.json,
        "batch": f"{parsed.who.index}:{parsed.batch}:{parsed.who.handle}",
        "bytes": parsed.encoded().hex().upper(),
    }
    call.output.data("\n".join(f"{name}\t{form}" for name, form in forms.items()), forms)


def print_values(call: Call, selected: "tuple[Value, ...]") -> None:
    """Print the data of values; with ``--json`` the values."""
    from idstore.characters import printable

    for value in selected:
        call.output.data(printable(value.text), value.as_dict())


def _time_to_live(ttl: str | None) -> "tuple[int, datetime | None]":
    """Return seconds to live, and the time of expiry or None."""
    from idstore.schemes import value_types

    if ttl is None or ttl.removeprefix("-").isdigit():
        return value_types.TTL if ttl is None else value_types.ttl_of(ttl), None
    return value_types.TTL, arguments.timestamp(ttl, ahead=True)


def _bytes(text: str) -> bytes:
    from idstore.errors import InvalidData

    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise InvalidData(
            f"{text!r} is not hexadecimal; write two digits 0 to F for each byte, as in 07F3", text=text
        ) from error
