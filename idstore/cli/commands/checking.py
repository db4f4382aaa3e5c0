"""``idstore validate`` and ``verify``: whether data keep the rules, and whether the store is sound."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import exits, session, stdin
from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.cli.output import one_line
from idstore.cli.progress import Progress

if TYPE_CHECKING:
    from idstore.validation import Report


def validate(
    call: Call,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="RDF files to check instead of the store; - is Turtle on standard input."),
    ] = None,
    changed: Annotated[
        bool,
        typer.Option("--changed", help="Only what changed since this option last found nothing broken; at first, all. Administrators may."),
    ] = False,
) -> int:
    """Check the registry, or files, against the SHACL shapes.

    A line for each finding. A file of what reconcile found is checked against the shapes of such findings. Exit code 5 if a rule is broken; warnings alone break none.
    """
    from idstore.validation import validate_file
    from idstore.validation.registries import check, shapes_for

    if files and changed:
        raise Misuse("--changed is for the store; files are always checked whole")
    if changed:
        return _print(call, [_check_changed(call)])
    if not files:
        with Progress(call.output) as progress:
            found = session.read(call, lambda registry, party: check(registry, party, progress.step), detached=True)
        return _print(call, [found])
    known = session.read(call, lambda registry, _: registry.namespaces()) if session.exists(call) else []
    with stdin.files(files, ".ttl") as paths:
        reports = [validate_file(path, shapes_for(path, known)) for path in paths]
    return _print(call, reports)


def _check_changed(call: Call) -> "Report":
    """Check what changed, and take note if nothing was found."""
    from idstore.validation.registries import check_changed

    with Progress(call.output) as progress:
        found = session.read(call, lambda registry, party: check_changed(registry, party, progress.step), detached=True)
    if found.report.complete and not _broken([found.report]):
        session.write(call, lambda registry, party: registry.keep_checked(found.sequence, found.shapes, party))
    call.output.say(f"idstore: checked {'everything' if found.checked is None else f'{found.checked} nodes'}")
    return found.report


def _print(call: Call, reports: "Sequence[Report]") -> int:
    found = [finding for report in reports for finding in report.results]
    for one in found:
        made = {
            "severity": one.severity,
            "focus": str(one.focus),
            "path": one.path,
            "value": None if one.value is None else str(one.value),
            "shape": one.shape,
            "message": one.message,
        }
        call.output.data(one_line(str(one)), made)
    complete = all(report.complete for report in reports)
    if not found:
        call.output.data("conforms", {"conforms": True})
    if not complete:
        call.output.warn("there are more findings, which are not listed")
    return exits.BROKEN if _broken(reports) else exits.DONE


def _broken(reports: "Sequence[Report]") -> bool:
    """Whether a rule is broken; what is not listed may be."""
    return any(one.severity == "Violation" for report in reports for one in report.results)


def verify(
    call: Call,
    repair_counters: Annotated[
        bool, typer.Option("--repair-counters", help="Count anew, if counters alone are wrong; nothing else.")
    ] = False,
) -> int:
    """Compare the store with its log. Administrators may.

    The whole log is folded into the state that it implies, and every file of the store's data is read. A line for each contradiction, and
    for what cannot be read; exit code 5 if there is one.
    """
    with Progress(call.output) as progress:
        found = session.read(call, lambda registry, party: list(registry.verify(party, progress.step)), detached=True)
    for one in found:
        call.output.data(one_line(str(one)), {"kind": one.kind, "node": one.node, "message": one.message})
    if found and repair_counters:
        session.write(call, lambda registry, party: registry.repair_counters(party))
        call.output.say("idstore: counted anew; run verify again to see what is left")
    if not found:
        call.output.data("sound", {"sound": True})
    return exits.BROKEN if found else exits.DONE
