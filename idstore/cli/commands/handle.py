"""``idstore handle``: typed values of handles."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call

if TYPE_CHECKING:
    from idstore.model.value import Value

Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="T", help="Only values of this type; behind a dot also its subtypes (URL.). Repeatable."),
]
Indexes = Annotated[list[int] | None, typer.Option("--index", metavar="N", help="Only the value of this index. Repeatable.")]
_ADMIN: Final = "200:add_value,modify_value:0.NA/12345"


def values(call: Call, id: arguments.Id, type_: Types = None, index: Indexes = None) -> None:
    """Print the values of a handle that you may read.

    The columns are index, type, time to live, permissions, time of the last change and data, divided by tabs.
    """
    from idstore.cli.records import value_json, value_line

    found = session.read(call, lambda registry, party: registry.values(id, party, type_ or (), index or ()))
    for one in found:
        call.output.data(value_line(one), value_json(one) if call.output.json else {})


def set_(
    call: Call,
    id: arguments.Id,
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="URL, EMAIL, DESC, HS_ADMIN, HS_ALIAS, 10320/loc or a word of your own.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"The text. Of HS_ADMIN INDEX:PERMISSIONS:HANDLE, as {_ADMIN}.")],
    index: Annotated[int | None, typer.Option(metavar="N", help="Its index. [default: the lowest that is free]")] = None,
    ttl: Annotated[
        str | None, typer.Option(metavar="S", help="Seconds that it may be kept, or the moment until when. [default: 86400]")
    ] = None,
    permissions: Annotated[
        str | None, typer.Option(metavar="P", help="admin_read, admin_write, public_read, public_write as four digits. [default: 1110]")
    ] = None,
    hexadecimal: Annotated[bool, typer.Option("--hex", help="DATA are bytes in hexadecimal.")] = False,
) -> None:
    """Set a value of a handle, in place of the one of its index. Its owner may.

    A value without public_read is seen by the owner and administrators only. The first URL that everyone may read is where the handle leads.
    """
    from idstore.cli.events import done
    from idstore.registry.valuing import Draft
    from idstore.schemes import value_types

    seconds, until = _lasting(ttl)
    said = _bytes(data) if hexadecimal else data
    draft = Draft(type_, said, index, seconds, until, permissions or value_types.PERMISSIONS)
    done(call, *session.write(call, lambda registry, party: registry.set_value(id, draft, party)))


def unset(
    call: Call,
    id: arguments.Id,
    indexes: Annotated[list[int], typer.Argument(metavar="INDEX...", help="The indexes of the values.")],
) -> None:
    """Take values of a handle away. Its owner may."""
    from idstore.cli.events import done

    done(call, *session.write(call, lambda registry, party: registry.unset_values(id, indexes, party)))


def admin(
    call: Call,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="INDEX:PERMISSIONS:HANDLE, with names, all, json=DIGITS or batch=DIGITS; or bytes in hexadecimal with --hex.",
        ),
    ],
    hexadecimal: Annotated[bool, typer.Option("--hex", help="DATA are bytes in hexadecimal.")] = False,
) -> None:
    """Print the ways in which an administrator of handles (HS_ADMIN) is written.

    Twelve digits stand for twelve permissions: in JSON the last is add_handle, in a batch file the first.
    """
    from idstore.schemes.handle_values import Admin

    found = Admin.decoded(_bytes(data)) if hexadecimal else Admin.parse(data)
    forms = {
        "text": str(found),
        "json": found.json,
        "batch": f"{found.who.index}:{found.batch}:{found.who.handle}",
        "bytes": found.encoded().hex().upper(),
    }
    call.output.data("\n".join(f"{name}\t{form}" for name, form in forms.items()), forms)


def matched(call: Call, found: "tuple[Value, ...]") -> None:
    """Print the data of values, or with ``--json`` the values."""
    from idstore.cli.output import one_line
    from idstore.cli.records import value_json

    for one in found:
        call.output.data(one_line(one.text), value_json(one))


def _lasting(ttl: str | None) -> tuple[int, int | None]:
    from idstore.schemes import value_types

    if ttl is None or ttl.removeprefix("-").isdigit():
        return value_types.TTL if ttl is None else value_types.ttl_of(ttl), None
    return value_types.TTL, arguments.moment(ttl)


def _bytes(text: str) -> bytes:
    from idstore.errors import InvalidData

    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise InvalidData(f"{text!r} are no bytes in hexadecimal; write two digits 0 to F for each, as in 07F3", text=text) from error
