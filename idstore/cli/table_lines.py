"""The lines of a table that a command carries out, all or none: what becomes of each."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from idstore.characters import printable
from idstore.cli import exits
from idstore.cli.call import Call
from idstore.cli.remedies import with_command

if TYPE_CHECKING:
    from idstore.registry.mappings import LineOutcome


class TableLines:
    """The output on the lines of one table.

    flaws  lines that cannot be read, with their reasons.
    left   how many rows are left alone.
    """

    def __init__(self, call: Call, flaws: Sequence[tuple[int, str]], left: int) -> None:
        self._call, self._flaws, self._left = call, flaws, left

    @staticmethod
    def refusals(outcomes: "Sequence[LineOutcome]") -> int:
        """Return how many rows are refused."""
        return sum(outcome.verdict == "refused" for outcome in outcomes)

    def counted(self, outcomes: "Sequence[LineOutcome]") -> str:
        """Return how many rows have which outcome, in words."""
        counts = Counter(str(outcome.verdict) for outcome in outcomes)
        counts["left alone"], counts["malformed"] = self._left, len(self._flaws)
        return (
            ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()) if count) or "no rows"
        )

    def warn(self, outcomes: "Sequence[LineOutcome]") -> None:
        """Print the warnings about rows."""
        for one in outcomes:
            if one.warning:
                self._call.output.warn(f"line {one.line}: {one.warning}")

    def print(self, outcomes: "Sequence[LineOutcome]", *, shown: bool = True) -> None:
        """Print the outcome of each line.

        shown  whether the identifiers of new rows are known: labels are drawn as they are allocated.
        """
        rows = [
            (
                one.line,
                str(one.verdict),
                one.id if shown or one.verdict != "new" else "",
                with_command(one.reason, one.remedy),
            )
            for one in outcomes
        ]
        rows += [(line, "malformed", "", reason) for line, reason in self._flaws]
        for line, verdict, id, reason in sorted(rows):
            self._call.output.data(
                "\t".join(map(printable, filter(None, (f"line {line}", verdict, id, reason)))),
                {"line": line, "verdict": verdict, "id": id, "reason": reason},
            )

    def report(self, outcomes: "Sequence[LineOutcome]", *, shown: bool = True) -> int:
        """Print the outcome of each line of a table that changes nothing, and return the exit code."""
        self.warn(outcomes)
        self.print(outcomes, shown=shown)
        failed = bool(self._flaws) or bool(self.refusals(outcomes))
        status = "nothing was changed" if failed else "nothing is changed yet"
        self._call.output.info(f"idstore: {self.counted(outcomes)}; {status}")
        return exits.INVALID if failed else exits.DONE
