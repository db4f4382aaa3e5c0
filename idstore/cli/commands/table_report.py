"""Report on an imported table, line by line, for ``idstore import`` and ``reconcile --accept``."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from idstore.characters import printable
from idstore.cli import exits
from idstore.cli.output import Output
from idstore.cli.remedies import with_command

if TYPE_CHECKING:
    from idstore.exchange.importing import TableReport

_FAILED: Final = frozenset({"refused", "malformed"})
_GRAVITY: Final = ("contradictory", "new", "absent", "known")
"""The other outcomes of lists, the gravest first."""
_WORDS: Final = {"foreign": "of another store"}
"""Outcomes that people read in other words."""
_NUMBERS: Final = 10
"""Most line numbers in a message."""


def print_table(
    output: Output, report: "TableReport", name: str, *, told: bool, keep_going: bool, dry_run: bool
) -> int:
    """Print the outcome of each line, and return the exit code.

    A line of RDF can say several things of one identifier. Those with the same outcome are printed once.
    A quiet output gets all that is new, and what is wrong, but not what was known.

    told  whether the columns were told before.
    """
    from idstore.exchange import mappings

    if not told:
        output.info(f"idstore: reading {report.reading}")
    for outcome in report.outcomes:
        if outcome.verdict == "absent":
            output.warn(f"{name}, line {outcome.line}: there is no binding to remove: {outcome.reason}")
        if outcome.warning:
            output.warn(f"line {outcome.line}: {outcome.warning}")
    rows = [
        (outcome.line, str(outcome.verdict), outcome.id, with_command(outcome.reason, outcome.remedy))
        for outcome in report.outcomes
    ]
    rows += [(row.line, "malformed", "", row.reason) for row in report.malformed]
    rows = sorted(dict.fromkeys(rows))
    failed = sum(verdict in _FAILED for _, verdict, _, _ in rows)
    notable = _FAILED | {"contradictory"} | ({"new"} if output.quiet else set())
    complete = dry_run or (output.json and not output.quiet) or (failed and not keep_going)
    for line, verdict, id, reason in rows:
        if complete or verdict in notable:
            output.data(
                "\t".join(
                    map(printable, filter(None, (f"line {line}", _WORDS.get(verdict, verdict), id, reason)))
                ),
                {"line": line, "verdict": verdict, "id": id, "reason": reason},
            )
    status = _status(failed, keep_going=keep_going, dry_run=dry_run)
    tally = _of_identifiers(rows) if report.listed else Counter(verdict for _, verdict, _, _ in rows)
    begun = {id for _, verdict, id, _ in rows if verdict == "new"}
    both = begun & {id for _, verdict, id, _ in rows if verdict == "contradictory"}
    more = {"contradictory": f" ({len(both)} of them new)"} if report.listed and both else {}
    words = sorted(
        (_WORDS.get(verdict, verdict), count, more.get(verdict, "")) for verdict, count in tally.items()
    )
    counts = ", ".join(f"{count} {word}{note}" for word, count, note in words)
    foreign = [line for line, verdict, _, _ in rows if verdict == "foreign"]
    if foreign and not complete:
        output.info(f"idstore: {_left(foreign)}")
    if report.literals:
        output.info(f"idstore: {mappings.literals_passed_over(report.literals)}")
    output.info(f"idstore: {counts or 'no lines'}; {status}")
    return exits.INVALID if failed else exits.DONE


def _left(lines: Sequence[int]) -> str:
    """Return the numbers of lines that are left to another store, in words."""
    numbers = ", ".join(map(str, lines[:_NUMBERS])) + ", …" * (len(lines) > _NUMBERS)
    what = f"line {numbers} is" if len(lines) == 1 else f"lines {numbers} are"
    return f"{what} left to another store: not registered here, or not yours to see"


def _of_identifiers(rows: Iterable[tuple[int, str, str, str]]) -> Counter[str]:
    """Count the wrong lines, and the identifiers of the others, each by the gravest outcome of its lines."""
    gravest: dict[str, str] = {}
    wrong = Counter[str]()
    for _, verdict, id, _ in rows:
        if verdict in _FAILED:
            wrong[verdict] += 1
        else:
            gravest[id] = min(verdict, gravest.get(id, verdict), key=_GRAVITY.index)
    return wrong + Counter(gravest.values())


def _status(failed: int, *, keep_going: bool, dry_run: bool) -> str:
    if failed and not keep_going:
        return "nothing was changed"
    if dry_run:
        return "nothing is changed yet"
    lines = "line that is wrong" if failed == 1 else f"{failed} lines that are wrong"
    return f"done without the {lines}" if failed else "done"
