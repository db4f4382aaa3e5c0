"""``idstore cite`` and ``authority``: what to write when one cites an identifier, and who answers for it."""

from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.cli.output import one_line

if TYPE_CHECKING:
    from idstore.cli.records import Json
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.authority import Authority, Vetting
    from idstore.registry.citing import Citation


def cite(
    call: Call,
    id: arguments.Id,
    filename: Annotated[bool, typer.Option("--filename", help="Print a name for a file of what it identifies instead.")] = False,
    lang: Annotated[str | None, typer.Option(metavar="L", help="The language of the name that --filename is made from.")] = None,
) -> None:
    """Print every form in which to cite an identifier.

    Of a version it is said how to cite the latest one, of a work how to cite the version that it leads to. With --filename: the name and the
    version, in letters, digits, underscores and dashes.
    """
    if filename:
        made = session.read(call, lambda registry, party: registry.file_name(id, party, lang))
        call.output.data(made, {"kind": "filename", "text": made})
        return
    if lang is not None:
        raise Misuse("--lang goes with --filename")

    def act(registry: "Registry", party: "Party") -> "Citation":
        return registry.citation(id, party)

    found = session.read(call, act)
    for form in found.forms:
        call.output.data(form.text, {"kind": form.kind, "text": form.text})
    if found.latest is not None:
        call.output.say(f"idstore: to cite the latest version of this work, use {found.latest}")
    if found.this_version is not None:
        call.output.say(f"idstore: to cite this version of this work, use {found.this_version}")


def authority(call: Call, id: arguments.Id) -> None:
    """Print who answers for an identifier: its manager now and before, when it was last changed, and who vetted it."""
    from idstore.model import times

    found = session.read(call, lambda registry, party: registry.authority(id, party))
    lines = [f"{one.manager} since {times.iso(one.since)}" for one in found.managers]
    facts = [
        ("manager", lines[0]),
        *(("before", line) for line in lines[1:]),
        ("created", f"{times.iso(found.created)} by {found.created_by}"),
        ("updated", f"{times.iso(found.updated)} by {found.updated_by}"),
        *(("vetted", _vetted(one)) for one in found.vettings),
    ]
    text = "\n".join([found.iri, *(f"  {key:<12} {one_line(value)}" for key, value in facts)])
    call.output.data(text, _json(found))


def _vetted(one: "Vetting") -> str:
    from idstore.model import times

    note = f": {one.note}" if one.note else ""
    return f"{times.iso(one.at)} by {one.by}{' (changed since)' if one.outdated else ''}{note}"


def _json(found: "Authority") -> "Json":
    from idstore.model import times
    from idstore.vocabulary import party_iri

    managers = [{"party": one.manager, "id": party_iri(one.manager).value, "since": times.iso(one.since)} for one in found.managers]
    return {
        "id": found.iri,
        "manager": managers[0],
        "previousManagers": managers[1:],
        "created": {"at": times.iso(found.created), "by": found.created_by},
        "updated": {"at": times.iso(found.updated), "by": found.updated_by},
        "vetted": [{"at": times.iso(one.at), "by": one.by, "note": one.note, "changedSince": one.outdated} for one in found.vettings],
    }
