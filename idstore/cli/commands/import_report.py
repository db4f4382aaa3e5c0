"""Report on an import: imported data, data left out, and differences between the two registries."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from idstore.characters import printable
from idstore.cli import exits
from idstore.cli.commands import publication_report, table_report
from idstore.cli.events import event_line
from idstore.cli.output import Output, limited_lines
from idstore.documents import event_json

if TYPE_CHECKING:
    from idstore.errors import BatchRefused
    from idstore.exchange.comparison import ChangedField, ChangedFields
    from idstore.exchange.effects import Effect
    from idstore.exchange.event_intake import ImportReport
    from idstore.exchange.handle_batch_import import BatchReport
    from idstore.exchange.importing import Imported

_SIDES: Final = {"there": "new in the other registry", "here": "new here", "both": "changed on both sides"}
_VERSIONS: Final = ("common", "here", "there", "merged")


def print_import(
    output: Output, imported: "Imported", name: str, *, told: bool, keep_going: bool = False, dry_run: bool
) -> int:
    """Print what the import of the file ``name`` did, or would do, and return the exit code.

    told  whether the columns of the table were told before.
    """
    if imported.merged is not None:
        _print_merge(output, imported.merged, imported.changed, dry_run=dry_run)
    if imported.adopted is not None:
        source = "file" if imported.related is None else "records"
        publication_report.print_adoption(output, imported.adopted, source, dry_run=dry_run)
    if imported.related is not None:
        publication_report.print_relations(output, imported.related, dry_run=dry_run)
    if imported.batch is not None:
        _print_batch(output, imported.batch, name, dry_run=dry_run)
    if imported.table is not None:
        return table_report.print_table(
            output, imported.table, name, told=told, keep_going=keep_going, dry_run=dry_run
        )
    return exits.DONE


def print_refusal(output: Output, error: "BatchRefused", name: str) -> int:
    """Print every line of a batch file that is refused, and return the exit code."""
    for line, reason in error.flaws:
        output.error(
            error.code, f"{name}, line {line}: {reason}", {"file": name, "line": line, "reason": reason}
        )
    return exits.INVALID


def _print_batch(output: Output, report: "BatchReport", name: str, *, dry_run: bool) -> None:
    for flaw in report.shared:
        output.warn(f"{name}, line {flaw.line}: {flaw.reason}")
    changes = {"created": report.created, "changed": report.changed, "deleted": report.deleted}
    if output.quiet and not any(changes.values()):
        return
    summary = ", ".join(f"{kind} {len(handles)}" for kind, handles in changes.items())
    output.data(f"{'would have ' if dry_run else ''}{summary} handles", {"dryRun": dry_run, **changes})


def _print_merge(
    output: Output, report: "ImportReport", changed: "Sequence[ChangedFields]", *, dry_run: bool
) -> None:
    left = report.left
    if output.quiet and not (report.identifiers or report.events or left.held):
        return
    lines = [
        (
            f"{verb(dry_run)} {report.identifiers} identifiers, {report.events} events; "
            f"{report.known} events were known"
        )
    ]
    if left.private or left.parties:
        lines.append(
            f"left out: {left.private} identifiers that are not published there, {left.parties} parties"
        )
    lines += [line for effect in report.effects for line in _effect_lines(effect)]
    lines += limited_lines("held back, for what became of it here", left.held)
    for side, kind in _SIDES.items():
        texts = [_text(difference) for difference in changed if difference.side == side]
        lines += limited_lines(kind, texts)
    output.data(
        "\n".join(lines),
        {
            "dryRun": dry_run,
            "created": report.identifiers,
            "events": report.events,
            "known": report.known,
            "private": left.private,
            "parties": left.parties,
            "held": left.held,
            "effects": {
                effect.power: {
                    "count": effect.count,
                    "events": [event_json(event) for event in effect.first],
                }
                for effect in report.effects
            },
            **({"differences": [*map(_json, changed)]} if dry_run else {}),
        },
    )
    if report.shared:
        from idstore.model.names import already_leading

        for shared in report.shared:
            output.warn(f"{shared.iri}: {already_leading(shared.target, shared.others)}")
    for imported, existing in report.namesakes:
        output.warn(
            f"{imported.name} stands for {existing.base} here; "
            f"name the imported namespace by its base, {imported.base}"
        )


def _effect_lines(effect: "Effect") -> list[str]:
    """Return lines about the first events that change parties, permissions, ownership or publication."""
    lines = [f"{effect.power}\t{event_line(event)}" for event in effect.first]
    hidden = effect.count - len(lines)
    return [*lines, f"{effect.power}\tand {hidden} more"] if hidden else lines


def verb(dry_run: bool) -> str:
    """Return the verb of an import or of a dry run."""
    return "would register" if dry_run else "registered"


def _text(divergence: "ChangedFields") -> str:
    if divergence.new and divergence.side != "both":
        return f"{divergence.iri} (new)"
    lines = (f"    {_line(divergence.side, field)}" for field in divergence.fields)
    return "\n".join([divergence.iri, *lines])


def _line(side: str, field: "ChangedField") -> str:
    common, here, there, merged = (printable(getattr(field, version) or "(none)") for version in _VERSIONS)
    if side == "both":
        return f"{field.field}: was {common}, here {here}, there {there}; merged {merged}"
    return f"{field.field}: {common} → {there if side == 'there' else here}"


def _json(divergence: "ChangedFields") -> dict[str, object]:
    fields = [
        {"field": one.field, **{version: getattr(one, version) for version in _VERSIONS}}
        for one in divergence.fields
    ]
    return {"id": divergence.iri, "side": divergence.side, "fields": fields}
