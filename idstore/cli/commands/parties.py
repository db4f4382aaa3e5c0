"""``idstore party``, ``suspend`` and ``reinstate``: who acts."""

from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.options import Call
from idstore.errors import UnknownParty

if TYPE_CHECKING:
    from idstore.model.party import Party, PartyFacts
    from idstore.registry import Registry

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a party.")]
Group = Annotated[str, typer.Argument(metavar="GROUP", help="The name of a group.")]


def add(
    call: Call,
    name: Name,
    group: Annotated[bool, typer.Option("--group", help="A group of parties.")] = False,
    administrator: Annotated[bool, typer.Option("--administrator", help="One who administers the registry.")] = False,
) -> None:
    """Make a user, group or administrator known. Administrators may."""
    from idstore.model.party import Party

    if group and administrator:
        raise arguments.Misuse("a group does not administer; leave --group or --administrator out")
    kind = "group" if group else "administrator" if administrator else "user"
    _print(call, session.write(call, lambda registry, party: registry.add_party(Party(name), party, kind)))


def join(call: Call, name: Name, group: Group) -> None:
    """Make a party a member of a group. Administrators may.

    It sees what the group may see.
    """
    from idstore.model.party import Party

    def act(registry: "Registry", party: "Party") -> "PartyFacts":
        registry.join(Party(name), Party(group), party)
        return _known(registry, party, name)

    _print(call, session.write(call, act))


def leave(call: Call, name: Name, group: Group) -> None:
    """End a membership. Administrators may.

    What the group alone may see is out of its sight at once.
    """
    from idstore.model.party import Party

    def act(registry: "Registry", party: "Party") -> "PartyFacts":
        registry.leave(Party(name), Party(group), party)
        return _known(registry, party, name)

    _print(call, session.write(call, act))


def list_(call: Call) -> None:
    """List the parties that were added: name, kind, groups."""
    from idstore.cli.records import party_json, party_line

    for known in session.read(call, lambda registry, party: registry.parties(party)):
        call.output.data(party_line(known), party_json(known))


def show(call: Call, name: Name) -> None:
    """Show a party with its groups, a group with its members."""
    from idstore.cli.records import party_json, party_text

    known, everyone = session.read(call, lambda registry, party: (_known(registry, party, name), registry.parties(party)))
    members = [one.name for one in everyone if name in one.groups]
    call.output.data(party_text(known, members), party_json(known, members))


def suspend(call: Call, user: arguments.User, reason: Annotated[str, typer.Option(metavar="T", help="Why; the party is told.")]) -> None:
    """Refuse every further act of a party. Administrators may.

    It reads what it could read.
    """
    from idstore.cli.events import done
    from idstore.model.party import Party

    done(call, session.write(call, lambda registry, party: registry.suspend(Party(user), reason, party)))


def reinstate(call: Call, user: arguments.User) -> None:
    """Let a suspended party act again. Administrators may."""
    from idstore.cli.events import done
    from idstore.model.party import Party

    done(call, session.write(call, lambda registry, party: registry.reinstate(Party(user), party)))


def _known(registry: "Registry", party: "Party", name: str) -> "PartyFacts":
    known = next((one for one in registry.parties(party) if one.name == name), None)
    if known is None:
        raise UnknownParty(name)
    return known


def _print(call: Call, known: "PartyFacts") -> None:
    """Say nothing, but with ``--json`` how the party stands now."""
    from idstore.cli.records import party_json

    if call.output.json:
        call.output.data("", party_json(known))
