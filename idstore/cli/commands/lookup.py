"""``idstore show``, ``list`` and ``resolve``: looking identifiers up."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.commands.handle import Indexes, Types, matched
from idstore.cli.output import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idstore.cli.records import Described
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.resolving import Resolution

LIMIT: Final = 100


class Stage(StrEnum):
    """Stages that a listed identifier can be in."""

    CREATED = "created"
    FIXATED = "fixated"
    TOMBSTONE = "tombstone"


def show(call: Call, id: arguments.Id) -> None:
    """Show all that you may see of an identifier."""
    from idstore.cli.records import described

    [found] = session.read(call, lambda registry, party: described(registry, party, [registry.show(id, party)], remarks=True))
    call.output.data(found.text(), found.json())


def list_(
    call: Call,
    namespace: Annotated[str | None, typer.Option(metavar="N", help="Only those in this namespace.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="U", help="Only this party's.")] = None,
    stage: Annotated[Stage | None, typer.Option(help="Only those in this stage.")] = None,
    since: arguments.Since = None,
    until: arguments.Until = None,
    bound_to: Annotated[str | None, typer.Option(metavar="URI", help="Only those bound to this URI, or leading to it.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=0, max=10**12, help="At most so many; 0: all.")] = LIMIT,
) -> None:
    """List the identifiers that you may see, newest first.

    The columns are IRI, stage, owner, time of creation and name, divided by tabs.
    """
    from idstore.cli.records import described
    from idstore.stores.catalogue import Selection

    chosen = Selection(
        namespace=namespace,
        owner=owner,
        stage=stage and stage.value,
        since=arguments.moment(since),
        until=arguments.moment(until),
    )
    most = limit + 1 if limit else None

    def act(registry: "Registry", party: "Party") -> "list[Described]":
        found = registry.list(party, chosen, limit=most) if bound_to is None else registry.list_bound(bound_to, party, chosen, limit=most)
        return described(registry, party, found, remarks=call.output.json)

    found = session.read(call, act)
    for one in found[: limit or None]:
        call.output.data(one.line(), one.json() if call.output.json else {})
    if limit and len(found) > limit:
        call.output.warn(f"only the newest {limit} are listed; --limit N lists more, --limit 0 all")


def resolve(
    call: Call,
    id: arguments.Id,
    check: Annotated[bool, typer.Option("--check", help="Ask whether the target answers, and say so on standard error.")] = False,
    private: Annotated[bool, typer.Option("--private", help="With --check: ask addresses of the local network as well.")] = False,
    type_: Types = None,
    index: Indexes = None,
    ignore_aliases: Annotated[bool, typer.Option("--ignore-aliases", help="Stay with the handle itself.")] = False,
    locatt: Annotated[
        str | None, typer.Option(metavar="A:V", help="Of several locations (10320/loc) one with this attribute, as id:1.")
    ] = None,
    country: Annotated[str | None, typer.Option(metavar="C", help="Of several locations one for this country, as gb.")] = None,
    address: Annotated[str | None, typer.Option(metavar="IP", help="Of several locations one for this address.")] = None,
) -> None:
    """Print where an identifier leads.

    Its target; while that is unset, what its owner bound it to first. Of a tombstone the reason, the date and what replaces it. Of a handle
    that is an alias, where that leads; with --type or --index the data of these values.
    What is superseded and has no target leads to its only successor's, or else to what replaces it in the end, an IRI a line; a
    warning tells what is superseded by what on the way.
    """
    from idstore.registry.resolving import Asked
    from idstore.schemes import locations

    place = locations.Asked(locatt, country, address)
    wanted = Asked(tuple(type_ or ()), tuple(index or ()), not ignore_aliases, place)
    found = session.read(call, lambda registry, party: registry.resolve(id, party, wanted))
    asked = found.asked
    if asked.deprecated and asked.stage.value != Stage.TOMBSTONE:  # of a tombstone the answer tells all
        said = [asked.reason or "", *_succession(found)]
        call.output.warn(f"{asked.iri.value} is deprecated: {'; '.join(filter(None, said))}")
    if found.values:
        matched(call, found.values)
        return
    made = _resolution(found)
    if check and found.target is not None:
        made["check"] = _checked(call, found.target, private=private)
    call.output.data(_epitaph(found) if found.buried else found.target or "\n".join(found.current), made)


def _checked(call: Call, target: str, *, private: bool) -> dict[str, str]:
    """What the target answered."""
    from idstore.exchange import links

    answer = links.check(target, links.Manners(private=private))
    said = {name: text for name, text in zip(links.HEADER, answer.row(), strict=True) if text and name != "target"}
    if not call.output.json:
        call.output.say(f"idstore: {' '.join(said.values())}")
    return said


def _succession(found: "Resolution") -> "Iterator[str]":
    """What is superseded by what, from the identifier on."""
    for one in found.succession:
        before = "" if one.iri == found.asked.iri.value else f"{one.iri} is "
        yield f"{before}superseded by {', '.join('itself' if iri == one.iri else iri for iri in one.by)}"


def _epitaph(found: "Resolution") -> str:
    from idstore.model import times

    since = "" if found.ended is None else f" since {times.iso(found.ended)}"
    lines = [f"{found.answer.iri.value} is a tombstone{since}: {one_line(found.answer.reason or '')}"]
    return "\n".join(lines + [f"replaced by {one.value}" for one in found.answer.successors])


def _resolution(found: "Resolution") -> dict[str, object]:
    from idstore.model import times

    made: dict[str, object] = {
        "id": found.asked.iri.value,
        "target": found.target,
        "path": [*found.path],
        "tombstone": found.buried,
        "supersededBy": [one.value for one in (found.answer if found.buried else found.asked).successors],
        "succession": [{"id": one.iri, "supersededBy": [*one.by]} for one in found.succession],
        "current": [*found.current],
    }
    if found.buried:
        made |= {"reason": found.answer.reason, "date": None if found.ended is None else times.iso(found.ended)}
    return made
