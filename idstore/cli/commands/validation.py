"""``idstore validate``, ``shapes`` and ``verify``: data against the shapes, and the store against its log."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.characters import printable
from idstore.cli import exits, inputs, session, stdin
from idstore.cli.call import Call
from idstore.cli.output_files import check_ending, open_output
from idstore.cli.progress import Progress
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.model.namespace import Namespace
    from idstore.validation import ValidationReport


def validate(
    call: Call,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="RDF files to check instead of the store; - is standard input, in Turtle.",
        ),
    ] = None,
    changed: Annotated[
        bool,
        typer.Option(
            "--changed",
            help="Check changes since the last run without violations; at first, all. For administrators.",
        ),
    ] = False,
) -> int:
    """Check the registry, or files, against the SHACL shapes.

    Prints a line for each finding. The files can also hold findings from reconcile. The exit code is 5 if
    there is a violation; warnings do not count. It is 3 if the shapes are about nothing in a file, so that
    nothing was checked.
    """
    from idstore.validation.registries import check, check_file

    if files and changed:
        raise UsageError("--changed is for the store; files are always checked completely")
    if changed:
        return _print(call, [_check_changed(call)])
    if not files:
        with Progress(call.output) as progress:
            report = session.read(
                call,
                lambda registry, party: check(registry, party, progress.step),
                detached=True,
            )
        return _print(call, [report])
    namespaces = _registered(call)
    with stdin.files(files, ".ttl") as paths:
        reports = [check_file(path, namespaces) for path in paths]
    return _print(call, reports)


def _registered(call: Call) -> "tuple[Namespace, ...]":
    """Return the namespaces of the store, if there is one."""
    return (
        tuple(session.read(call, lambda registry, _: registry.namespaces())) if session.exists(call) else ()
    )


def _check_changed(call: Call) -> "ValidationReport":
    """Check the changes since the last check, and record the check if it found no violation."""
    from idstore.validation.registries import check_changed

    with Progress(call.output) as progress:
        result = session.read(
            call,
            lambda registry, party: check_changed(registry, party, progress.step),
            detached=True,
        )
    if result.report.complete and not _has_violation([result.report]):
        session.write(
            call, lambda registry, party: registry.keep_checked(result.sequence, result.shapes, party)
        )
    scope = "everything" if result.checked is None else f"{result.checked} nodes"
    call.output.info(f"idstore: checked {scope}")
    return result.report


def _print(call: Call, reports: "Sequence[ValidationReport]") -> int:
    from idstore.validation.report import finding_json

    findings = [finding for report in reports for finding in report.results]
    for finding in findings:
        call.output.data(printable(str(finding)), finding_json(finding))
    complete = all(report.complete for report in reports)
    if not findings:
        call.output.data("conforms", {"conforms": True})
    if not complete:
        call.output.warn("there are more findings, which are not listed")
    return exits.BROKEN if _has_violation(reports) else exits.DONE


def _has_violation(reports: "Sequence[ValidationReport]") -> bool:
    """Return whether one of the listed findings is a violation."""
    return any(finding.severity == "Violation" for report in reports for finding in report.results)


def shapes(
    call: Call,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Exports with the namespaces to write shapes for, instead of the store's.",
        ),
    ] = None,
    file: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The file to write; - is standard output.")
    ] = inputs.STDIN,
) -> None:
    """Write all SHACL shapes as one Turtle file, which any SHACL processor can use on an export.

    They are the shapes of registries, schemes and findings, and for each namespace with rules of its own the
    shapes of these. Subclasses are written out: no ontology is needed.
    """
    from idstore.validation import registries, standalone

    if files:
        with stdin.files(files, ".ttl") as paths:
            namespaces = tuple(chain.from_iterable(map(registries.namespaces_of, paths)))
    else:
        namespaces = _registered(call)
    check_ending(file, [".ttl"], "shapes are written in Turtle (.ttl)")
    with open_output(file) as target:
        standalone.write(standalone.standalone(registries.shapes(namespaces)), target)


def verify(
    call: Call,
    repair_counters: Annotated[
        bool, typer.Option("--repair-counters", help="Recount, if only counters are wrong.")
    ] = False,
) -> int:
    """Compare the store with its log. For administrators.

    Replays the whole log, compares the result with the store, and reads every data file of the store. Prints
    a line for each contradiction and each unreadable part; the exit code is 5 if there is one.
    """
    with Progress(call.output) as progress:
        flaws = session.read(
            call, lambda registry, party: list(registry.verify(party, progress.step)), detached=True
        )
    for flaw in flaws:
        call.output.data(
            printable(str(flaw)), {"kind": flaw.kind, "node": flaw.node, "message": flaw.message}
        )
    if flaws and repair_counters:
        with Progress(call.output) as progress:
            session.write(call, lambda registry, party: registry.repair_counters(party, progress.step))
        call.output.info("idstore: counters repaired; run verify again to see the remaining findings")
    if not flaws:
        call.output.data("sound", {"sound": True})
    return exits.BROKEN if flaws else exits.DONE
