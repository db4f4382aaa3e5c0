"""``idstore party``, ``suspend`` and ``reinstate``: who acts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.errors import UnknownParty

if TYPE_CHECKING:
    from idstore.model.party import Party, PartyFacts
    from idstore.registry import Registry

    _Standing = tuple[PartyFacts, Sequence[PartyFacts]]

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
        raise Misuse("a group does not administer; leave --group or --administrator out")
    kind = "group" if group else "administrator" if administrator else "user"

    def act(registry: "Registry", party: "Party") -> "_Standing":
        registry.add_party(Party(name), party, kind)
        return _standing(registry, party, name)

    _print(call, session.write(call, act))


def join(call: Call, name: Name, group: Group) -> None:
    """Make a party a member of a group. Administrators may.

    It sees what the group may see.
    """
    from idstore.model.party import Party

    def act(registry: "Registry", party: "Party") -> "_Standing":
        registry.join(Party(name), Party(group), party)
        return _standing(registry, party, name)

    _print(call, session.write(call, act))


def leave(call: Call, name: Name, group: Group) -> None:
    """End a membership. Administrators may.

    What the group alone may see is out of its sight at once.
    """
    from idstore.model.party import Party

    def act(registry: "Registry", party: "Party") -> "_Standing":
        registry.leave(Party(name), Party(group), party)
        return _standing(registry, party, name)

    _print(call, session.write(call, act))


def list_(call: Call) -> None:
    """List the parties that were added: name, kind, groups."""
    from idstore.cli.records import party_json, party_line

    everyone = session.read(call, lambda registry, party: registry.parties(party))
    for known in everyone:
        call.output.data(party_line(known), party_json(known, everyone))


def show(call: Call, name: Name) -> None:
    """Show a party with its groups, a group with its members."""
    from idstore.cli.records import party_json, party_text

    known, everyone = session.read(call, lambda registry, party: _standing(registry, party, name))
    call.output.data(party_text(known, everyone), party_json(known, everyone))


def suspend(call: Call, user: arguments.Person, reason: Annotated[str, typer.Option(metavar="T", help="Why; the party is told.")]) -> None:
    """Refuse every further act of a party. Administrators may.

    It reads what it could read.
    """
    from idstore.cli.events import done
    from idstore.model.party import Party

    culprit = Party(user)
    made, stranger = session.write(
        call,
        lambda registry, party: (registry.suspend(culprit, reason, party), registry.is_stranger(culprit, party)),
        begins=False,
    )
    if stranger:
        call.output.warn(arguments.unknown(user))
    done(call, made)


def reinstate(call: Call, user: arguments.Person) -> None:
    """Let a suspended party act again. Administrators may."""
    from idstore.cli.events import done
    from idstore.model.party import Party

    done(call, session.write(call, lambda registry, party: registry.reinstate(Party(user), party), begins=False))


def _standing(registry: "Registry", party: "Party", name: str) -> "_Standing":
    """A party, and all of them."""
    everyone = registry.parties(party)
    known = next((one for one in everyone if one.name == name), None)
    if known is None:
        raise UnknownParty(name)
    return known, everyone


def _print(call: Call, standing: "_Standing") -> None:
    """Say nothing, but with ``--json`` how the party stands now."""
    from idstore.cli.records import party_json

    if call.output.json:
        call.output.data("", party_json(*standing))
