"""``idstore party``, ``suspend`` and ``reinstate``: users, groups and administrators."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError
from idstore.errors import UnknownParty

if TYPE_CHECKING:
    from idstore.model.party import Party, PartyFacts
    from idstore.registry import Registry

    _PartyList = tuple[PartyFacts, Sequence[PartyFacts]]
    """A party, and all parties."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a party.")]
Group = Annotated[str, typer.Argument(metavar="GROUP", help="The name of a group.")]


def add(
    call: Call,
    name: Name,
    group: Annotated[bool, typer.Option("--group", help="Add a group of parties.")] = False,
    administrator: Annotated[
        bool, typer.Option("--administrator", help="Add an administrator of the registry.")
    ] = False,
) -> None:
    """Add a user, a group or an administrator. For administrators.

    Undone by: nothing; suspend stops a party.
    """
    from idstore.model.party import Party

    if group and administrator:
        raise UsageError("a group cannot be an administrator; leave --group or --administrator out")
    kind = "group" if group else "administrator" if administrator else "user"

    def act(registry: "Registry", party: "Party") -> "_PartyList":
        registry.add_party(Party(name), party, kind)
        return _find(registry, party, name)

    _print(call, session.write(call, act))


def join(call: Call, name: Name, group: Group) -> None:
    """Make a party a member of a group. For administrators.

    The party sees all that the group may see.

    Undone by: party leave.
    """
    from idstore.model.party import Party

    def act(registry: "Registry", party: "Party") -> "_PartyList":
        registry.join(Party(name), Party(group), party)
        return _find(registry, party, name)

    _print(call, session.write(call, act))


def leave(call: Call, name: Name, group: Group) -> None:
    """End a membership. For administrators.

    The party no longer sees what only the group may see.

    Undone by: party join.
    """
    from idstore.model.party import Party

    def act(registry: "Registry", party: "Party") -> "_PartyList":
        registry.leave(Party(name), Party(group), party)
        return _find(registry, party, name)

    _print(call, session.write(call, act))


def list_(call: Call) -> None:
    """List the parties that were added: name, kind, groups."""
    from idstore.cli.records import party_json, party_line

    parties = session.read(call, lambda registry, party: registry.parties(party))
    if parties:
        call.output.heading("name", "kind", "groups", "suspended")
    for party in parties:
        call.output.data(party_line(party), party_json(party, parties))


def show(call: Call, name: Name) -> None:
    """Show a party with its groups, a group with its members."""
    from idstore.cli.records import party_json, party_text

    found, parties = session.read(call, lambda registry, party: _find(registry, party, name))
    call.output.data(party_text(found, parties), party_json(found, parties))


def suspend(
    call: Call,
    user: arguments.ActingParty,
    reason: Annotated[str, typer.Option(metavar="T", help="The reason, which the party sees.")],
) -> None:
    """Refuse every further act of a party. For administrators.

    The party can still read.

    Undone by: reinstate.
    """
    from idstore.cli.events import print_changes
    from idstore.model.party import Party

    suspended = Party(user)
    event, unknown = session.write(
        call,
        lambda registry, party: (
            registry.suspend(suspended, reason, party),
            registry.is_stranger(suspended, party),
        ),
        creates=False,
    )
    if unknown:
        call.output.warn(arguments.unknown_party_warning(user))
    print_changes(call, event)


def reinstate(call: Call, user: arguments.ActingParty) -> None:
    """Let a suspended party act again. For administrators.

    Undone by: suspend.
    """
    from idstore.cli.events import print_changes
    from idstore.model.party import Party

    print_changes(
        call,
        session.write(call, lambda registry, party: registry.reinstate(Party(user), party), creates=False),
    )


def _find(registry: "Registry", party: "Party", name: str) -> "_PartyList":
    """Return the party of a name, and all parties. Raises UnknownParty."""
    parties = registry.parties(party)
    match = next((candidate for candidate in parties if candidate.name == name), None)
    if match is None:
        raise UnknownParty(name)
    return match, parties


def _print(call: Call, found: "_PartyList") -> None:
    """With ``--json`` print the party; otherwise print nothing."""
    from idstore.cli.records import party_json

    if call.output.json:
        call.output.data("", party_json(*found))
