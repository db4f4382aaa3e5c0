"""How an import is reported: what came in, what stays out, and what differs here and there."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from idstore.cli.output import one_line

if TYPE_CHECKING:
    from idstore.cli.output import Output
    from idstore.exchange.rdf import ImportReport
    from idstore.model.record import Record
    from idstore.registry.merging import Divergence

_SHOWN: Final = 10
"""Identifiers that a report lists of each sort, without --json."""
_SORTS: Final = {"there": "news there", "here": "news here", "both": "changed on both sides"}
_FACES: Final = ("common", "here", "there", "merged")


def show(output: "Output", found: "ImportReport", *, dry_run: bool) -> None:
    """Print what an import did, or would do."""
    left = found.left
    lines = [f"{tense(dry_run)} {found.created} identifiers, {found.events} events; {found.known} events were known"]
    if left.private or left.parties:
        lines.append(f"left out: {left.private} identifiers that are not published there, {left.parties} parties")
    lines += listed("held back, for what became of it here", left.held)
    for side, sort in _SORTS.items():
        lines += listed(sort, [_text(one) for one in found.differences if one.side == side])
    output.data(
        "\n".join(lines),
        {
            "dryRun": dry_run,
            "created": found.created,
            "events": found.events,
            "known": found.known,
            "private": left.private,
            "parties": left.parties,
            "held": left.held,
            **({"differences": [_json(one) for one in found.differences]} if dry_run else {}),
        },
    )


def listed(sort: str, shown: Sequence[str]) -> list[str]:
    """A line for each, the first ones of many."""
    more = [f"{sort}\tand {len(shown) - _SHOWN} more; --json lists all"] if len(shown) > _SHOWN else []
    return [f"{sort}\t{one}" for one in shown[:_SHOWN]] + more


def tense(dry_run: bool) -> str:
    """What was done, or would be."""
    return "would register" if dry_run else "registered"


def _text(found: "Divergence") -> str:
    if found.common is None and found.side != "both":
        return f"{found.iri} (new)"
    return "\n".join([found.iri, *(f"    {_line(found, name, values)}" for name, values in _fields(found))])


def _line(found: "Divergence", name: str, values: Sequence[str | None]) -> str:
    common, here, there, merged = (one_line(value or "(none)") for value in values)
    if found.side == "both":
        return f"{name}: was {common}, here {here}, there {there}; merged {merged}"
    return f"{name}: {common} → {there if found.side == 'there' else here}"


def _json(found: "Divergence") -> dict[str, object]:
    fields = [{"field": name, **dict(zip(_FACES, values, strict=True))} for name, values in _fields(found)]
    return {"id": found.iri, "side": found.side, "fields": fields}


def _fields(found: "Divergence") -> Iterator[tuple[str, list[str | None]]]:
    """What a record says of which the four are not alike."""
    from idstore.cli.records import facts_of

    def facts(record: "Record | None") -> dict[str, str]:
        return {} if record is None else facts_of(record)

    faces = [facts(record) for record in (found.common, found.here, found.there, found.merged)]
    for name in dict.fromkeys(name for face in faces for name in face):
        values = [face.get(name) for face in faces]
        if len({*values}) > 1:
            yield name, values
