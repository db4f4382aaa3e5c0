"""Many bindings or identifiers from a table: of ``idstore import --format sssom|tsv|csv``, and of ``idstore reconcile --accept``."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from idstore.cli import exits, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.cli.output import one_line
from idstore.cli.progress import Progress

if TYPE_CHECKING:
    from idstore.exchange.mappings import Columns, Malformed
    from idstore.registry.stating import Outcome

T = TypeVar("T")


def state(call: Call, file: str, format: str | None, columns: "Columns | None" = None, *, dry_run: bool) -> int:
    """Carry out what a table asks for, all of it or nothing, and print what becomes of each line; the exit code."""
    from idstore.exchange import mappings

    chosen = _table_format(file, format)
    broken: list[Malformed] = []
    with mappings.read(file, chosen, columns or mappings.Columns()) as reading:
        call.output.say(f"idstore: reading {mappings.told(reading)}")
        proposed = list(mappings.proposals(reading.rows, broken))
    rehearse = dry_run or bool(broken)
    with Progress(call.output) as progress:
        outcomes = session.write(
            call, lambda registry, party: registry.state(_told(proposed, progress), party, dry_run=rehearse), dry=rehearse
        )
    for one in outcomes:
        if one.verdict == "absent":
            call.output.warn(f"{reading.name}, line {one.line}: there is nothing to take back: {one.reason}")
    return _report(call, outcomes, broken, dry_run=dry_run)


def enrol(call: Call, file: str, format: str, namespace: str, columns: "Columns", *, dry_run: bool) -> int:
    """Take in the identifiers that a table lists, all of them or none, and print what becomes of each line; the exit code."""
    from idstore.exchange import identifiers, mappings

    broken: list[Malformed] = []
    with identifiers.read(file, format, columns) as reading:
        call.output.say(f"idstore: reading {mappings.told(reading)}")
        listed = list(identifiers.sound(reading.rows, broken))
        name = reading.name
    rehearse = dry_run or bool(broken)
    with Progress(call.output) as progress:
        outcomes = session.write(
            call, lambda registry, party: registry.enrol(namespace, _told(listed, progress), party, name, dry_run=rehearse), dry=rehearse
        )
    return _report(call, outcomes, broken, dry_run=dry_run)


def _told(lines: "Sequence[T]", progress: Progress) -> "Iterator[T]":
    """The lines, while somebody who watches is shown how many of them are done."""
    for done, line in enumerate(lines):
        progress.show(done, len(lines))
        yield line


def _table_format(file: str, format: str | None) -> str:
    """The format of a table: as said, by its name, else tsv. Raises a usage error."""
    from idstore.exchange import tables

    chosen = format or tables.format_of(file) or "tsv"
    if chosen not in tables.FORMATS:
        raise Misuse(f"no format {chosen!r} of a table; there are {', '.join(tables.FORMATS)}")
    return chosen


def _report(call: Call, outcomes: "Iterable[Outcome]", broken: "Iterable[Malformed]", *, dry_run: bool) -> int:
    found = [(one.line, str(one.verdict), one.id, one.reason) for one in outcomes]
    found += [(one.line, "malformed", "", one.reason) for one in broken]
    tally = Counter(verdict for _, verdict, _, _ in found)
    stopped = tally["refused"] + tally["malformed"]
    for line, verdict, id, reason in sorted(found):
        if dry_run or stopped or call.output.json or verdict == "contradictory":
            call.output.data(
                "\t".join(map(one_line, filter(None, (f"line {line}", verdict, id, reason)))),
                {"line": line, "verdict": verdict, "id": id, "reason": reason},
            )
    outcome = "nothing was changed" if stopped else "nothing is changed yet" if dry_run else "done"
    call.output.say(f"idstore: {', '.join(f'{many} {verdict}' for verdict, many in sorted(tally.items())) or 'no lines'}; {outcome}")
    return exits.INVALID if stopped else exits.DONE
