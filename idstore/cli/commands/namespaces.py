"""``idstore namespace``: the namespaces of the registry."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.model.namespace import Namespace

_ALLOW_AGAIN: Final = "name the right parties instead (idstore namespace allow)"
_SYNONYMS: Final = {"license": "licence", "aliases": "alias"}


def add(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A short name of your choice.")],
    base: Annotated[
        str,
        typer.Argument(
            metavar="BASE",
            help="The common beginning of its identifiers: http://rdl.example.org/data#, 102.100.272",
        ),
    ],
    scheme: Annotated[str, typer.Option(metavar="S", help="The scheme of its identifiers.")],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="key=value",
            help="A setting of the scheme; most cannot be changed later. Repeatable, with the same key"
            " (alias) for several values.",
        ),
    ] = None,
) -> None:
    """Add a namespace, which you own. For administrators.

    Undone by: nothing; namespace freeze ends minting.
    """
    parsed = _settings(settings or [])
    _print(
        call,
        session.write(
            call, lambda registry, party: registry.add_namespace(name, base, scheme, party, parsed)
        ),
    )


def list_(call: Call) -> None:
    """List the namespaces: name, base, scheme, owner, open or frozen."""
    namespaces = session.read(call, lambda registry, _: registry.namespaces())
    if namespaces:
        call.output.heading("name", "base", "scheme", "owner", "allocation")
    for namespace in namespaces:
        _print(call, namespace)


def show(call: Call, name: arguments.Namespace) -> None:
    """Show a namespace with its settings, its allocators, the prefixes derived from it, and its comments.

    The identifiers are those that you may see; in schemes that generate labels the number of labels that
    there are follows.
    """
    from idstore.cli.records import namespace_text
    from idstore.documents import namespace_json

    namespace, derived, remarks, fullness = session.read(
        call,
        lambda registry, party: (
            registry.namespace(name),
            registry.derived(name),
            registry.remarks(name, party),
            registry.fullness(name, party),
        ),
    )
    fields = {
        **namespace_json(namespace, remarks),
        "derived": [child.base for child in derived],
        "identifiers": fullness.identifiers,
        "space": fullness.space,
    }
    call.output.data(namespace_text(namespace, remarks, derived, fullness), fields)


def allow(
    call: Call,
    name: arguments.Namespace,
    parties: Annotated[
        list[str] | None,
        typer.Argument(metavar="[USER]...", help="Parties and groups, which replace the present ones."),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Let every party allocate, as in a new namespace.")
    ] = False,
    per_minute: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Identifiers that a party may allocate in a minute. [default: any number]"
        ),
    ] = None,
) -> None:
    """Set who may allocate in a namespace. For its owner.

    Replaces the previous choice. The owner may always allocate.

    Undone by: namespace allow with the earlier parties.
    """
    if everyone == bool(parties):
        raise UsageError("name parties and groups, or give --everyone")
    allowed = parties or []
    namespace, unseen = session.write(
        call,
        lambda registry, party: (
            registry.allow(name, allowed, party, per_minute=per_minute),
            arguments.unseen_parties(registry, allowed, party),
        ),
    )
    _print(call, namespace)
    arguments.warn_of_unseen(call, unseen, _ALLOW_AGAIN)


def set_(
    call: Call,
    name: arguments.Namespace,
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="key=value...",
            help="description, contact, policy, licence, publisher; bind=anyone, known or allocators: who may"
            " bind published identifiers, besides their owners; or a setting of the scheme that can change:"
            " alias, pass_through, template, admin, proxy, cite_as, no_issue, reserved; before the first"
            " identifier also the others, such as profile=rdlfacade. An empty value removes it.",
        ),
    ],
) -> None:
    """Change what a namespace says of itself, and settings that change no identifier. For its owner.

    The base, the name and the scheme never change. Settings that decide which labels there are change until
    the first identifier is issued. An alias is never taken away: give the present ones too.

    Undone by: namespace set with the earlier value.
    """
    changes = {_SYNONYMS.get(key, key): value for key, value in _settings(settings, "").items()}
    _print(call, session.write(call, lambda registry, party: registry.set_namespace(name, changes, party)))


def type_(
    call: Call,
    name: arguments.Namespace,
    type: Annotated[
        str,
        typer.Argument(metavar="TYPE", help="Lower-case letters and digits, such as lan; includes x-lan."),
    ],
    title: Annotated[str, typer.Option("--name", metavar="T", help="Its meaning, in a few words.")],
) -> None:
    """Add a type of PUIDs to a namespace. For administrators.

    Undone by: nothing.
    """
    _print(call, session.write(call, lambda registry, party: registry.add_type(name, type, title, party)))


def freeze(
    call: Call,
    name: arguments.Namespace,
    thaw: Annotated[bool, typer.Option("--thaw", help="Allow allocation again.")] = False,
) -> None:
    """Stop allocation in a namespace.

    For its owner. Administrators can still import identifiers issued elsewhere.

    Undone by: namespace freeze --thaw.
    """
    _print(call, session.write(call, lambda registry, party: registry.freeze(name, party, frozen=not thaw)))


def _settings(texts: Iterable[str], option: str = "--set ") -> dict[str, str]:
    settings: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} is not a setting; write {option}key=value")
        settings[key] = f"{settings[key]} {value}" if key in settings else value
    return settings


def _print(call: Call, namespace: "Namespace") -> None:
    from idstore.cli.records import namespace_line
    from idstore.documents import namespace_json

    call.output.data(namespace_line(namespace), namespace_json(namespace))
