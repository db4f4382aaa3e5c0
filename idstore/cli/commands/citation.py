"""``idstore cite`` and ``authority``: citation forms of an identifier, and the parties responsible for it."""

from typing import TYPE_CHECKING, Annotated

import typer

from idstore.characters import printable
from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.documents import Json
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.authority import Authority, Vetting
    from idstore.registry.citation import Citation


def cite(
    call: Call,
    id: arguments.Id,
    filename: Annotated[bool, typer.Option("--filename", help="Print a file name instead.")] = False,
    lang: Annotated[
        str | None, typer.Option(metavar="L", help="The language of the name for --filename.")
    ] = None,
) -> None:
    """Print every citation form of an identifier, and a reference: name, date, address and state.

    For a version, a message names the latest version; for a work, the version to which it resolves. With
    --filename: name and version, in letters, digits, underscores and dashes.
    """
    if filename:
        name = session.read(call, lambda registry, party: registry.file_name(id, party, lang))
        call.output.data(name, {"kind": "filename", "text": name})
        return
    if lang is not None:
        raise UsageError("--lang goes with --filename")

    def act(registry: "Registry", party: "Party") -> "Citation":
        return registry.citation(id, party)

    citation = session.read(call, act)
    for form in citation.forms:
        call.output.data(form.text, {"kind": form.kind, "text": form.text})
    _print_reference(call, citation)
    if citation.latest is not None:
        call.output.info(f"idstore: to cite the latest version of this work, use {citation.latest}")
    if citation.this_version is not None:
        call.output.info(f"idstore: to cite this version of this work, use {citation.this_version}")


def _print_reference(call: Call, citation: "Citation") -> None:
    """Print a line for a list of references; the date is that of publication, or of a draft's creation."""
    from idstore.model import times

    date = times.iso(citation.date)[: len("2026-11-27")]
    state = "" if citation.state == "published" else f" ({citation.state})"
    text = f"{citation.name or citation.forms[-1].text} ({date}). {citation.address}{state}"
    fields = {"kind": "reference", "text": text, "name": citation.name, "date": date, "state": citation.state}
    call.output.data(printable(text), fields)


def authority(call: Call, id: arguments.Id) -> None:
    """Print who is responsible for an identifier: its managers, its last change, and who vetted it."""
    from idstore.model import times

    result = session.read(call, lambda registry, party: registry.authority(id, party))
    lines = [f"{manager.manager} since {times.iso(manager.since)}" for manager in result.managers]
    fields = [
        ("manager", lines[0]),
        *(("before", line) for line in lines[1:]),
        ("created", f"{times.iso(result.created)} by {result.created_by}"),
        ("updated", f"{times.iso(result.updated)} by {result.updated_by}"),
        *(("vetted", _vetting_text(vetting)) for vetting in result.vettings),
    ]
    text = "\n".join([result.iri, *(f"  {key:<12} {printable(value)}" for key, value in fields)])
    call.output.data(text, _json(result))


def _vetting_text(vetting: "Vetting") -> str:
    from idstore.model import times

    note = f": {vetting.note}" if vetting.note else ""
    return f"{times.iso(vetting.at)} by {vetting.by}{' (changed since)' if vetting.outdated else ''}{note}"


def _json(authority: "Authority") -> "Json":
    from idstore.model import times
    from idstore.vocabulary import party_iri

    managers = [
        {
            "party": manager.manager,
            "id": party_iri(manager.manager).value,
            "since": times.iso(manager.since),
        }
        for manager in authority.managers
    ]
    return {
        "id": authority.iri,
        "manager": managers[0],
        "previousManagers": managers[1:],
        "created": {"at": times.iso(authority.created), "by": authority.created_by},
        "updated": {"at": times.iso(authority.updated), "by": authority.updated_by},
        "vetted": [
            {
                "at": times.iso(vetting.at),
                "by": vetting.by,
                "note": vetting.note,
                "changedSince": vetting.outdated,
            }
            for vetting in authority.vettings
        ],
    }
