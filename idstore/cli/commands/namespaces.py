"""``idstore namespace``: the namespaces of the registry."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse

if TYPE_CHECKING:
    from idstore.model.namespace import Namespace


def add(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A short name of your choice.")],
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="What every identifier begins with: http://rdl.example.org/data#, 102.100.272")
    ],
    scheme: Annotated[str, typer.Option(metavar="S", help="The scheme of its identifiers.")],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="key=value", help="A setting of the scheme; may be given again, the same one (alias) for several values."
        ),
    ] = None,
) -> None:
    """Add a namespace; you own it. Administrators may."""
    given = _settings(settings or [])
    _print(call, session.write(call, lambda registry, party: registry.add_namespace(name, base, scheme, party, given)))


def list_(call: Call) -> None:
    """List the namespaces: name, base, scheme, owner, open or frozen."""
    for known in session.read(call, lambda registry, _: registry.namespaces()):
        _print(call, known)


def show(call: Call, name: arguments.Namespace) -> None:
    """Show a namespace with its settings, who may allocate, and comments."""
    from idstore.cli.records import namespace_json, namespace_text

    known, remarks = session.read(call, lambda registry, party: (registry.namespace(name), registry.remarks(name, party)))
    call.output.data(namespace_text(known, remarks), namespace_json(known, remarks))


def allow(
    call: Call,
    name: arguments.Namespace,
    parties: Annotated[
        list[str] | None, typer.Argument(metavar="[USER]...", help="Parties and groups, instead of those named before.")
    ] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="Let every party allocate, as in a new namespace.")] = False,
    per_minute: Annotated[
        int | None, typer.Option(metavar="N", help="Identifiers that one party may allocate in a minute. [default: any number]")
    ] = None,
) -> None:
    """Say who may allocate in a namespace. Its owner may.

    It takes the place of what was said before. The owner may allocate always.
    """
    if everyone == bool(parties):
        raise Misuse("name parties and groups, or give --everyone")
    _print(call, session.write(call, lambda registry, party: registry.allow(name, parties or [], party, per_minute=per_minute)))


def type_(
    call: Call,
    name: arguments.Namespace,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="Lower-case letters and digits, such as lan; x-lan comes with it.")],
    title: Annotated[str, typer.Option("--name", metavar="T", help="What it means, in a few words.")],
) -> None:
    """Let PUIDs of a namespace have one type more. Administrators may."""
    _print(call, session.write(call, lambda registry, party: registry.add_type(name, type, title, party)))


def freeze(
    call: Call,
    name: arguments.Namespace,
    thaw: Annotated[bool, typer.Option("--thaw", help="Allow allocation again.")] = False,
) -> None:
    """Allocate nothing more in a namespace. Its owner may. Administrators can still import what was issued elsewhere."""
    _print(call, session.write(call, lambda registry, party: registry.freeze(name, party, frozen=not thaw)))


def _settings(given: Iterable[str]) -> dict[str, str]:
    made: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise Misuse(f"{text!r} is no setting; write --set key=value")
        made[key] = f"{made[key]} {value}" if key in made else value
    return made


def _print(call: Call, known: "Namespace") -> None:
    from idstore.cli.records import namespace_json, namespace_line

    call.output.data(namespace_line(known), namespace_json(known))
