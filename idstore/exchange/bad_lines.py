"""Lines of a table that cannot be read or are refused, and how many of them end an import."""

from dataclasses import dataclass

from idstore.errors import ExchangeError
from idstore.exchange import limits
from idstore.registry.mappings import LineOutcome, refused


@dataclass(frozen=True, slots=True)
class Malformed:
    """The line of a row that cannot be read, and the reason."""

    line: int
    reason: str


class BadLines(list[Malformed]):
    """The malformed lines of the table ``name``, and the number of those that the registry refuses.

    Both together are at most `idstore.exchange.limits.BAD_LINES`.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._count, self._last = 0, 0
        self._first: Malformed | None = None

    def append(self, line: Malformed, /) -> None:
        """Add a malformed line. Raises ExchangeError: there are too many bad lines."""
        super().append(line)
        self._add(line)

    def check(self, outcome: LineOutcome) -> None:
        """Count the outcome of a line if it is a refusal.

        Raises ExchangeError: there are too many bad lines.
        """
        if refused((outcome,)):
            self._add(Malformed(outcome.line, outcome.reason))

    def _add(self, line: Malformed) -> None:
        first = self._first
        self._first = first = line if first is None or line.line < first.line else first
        self._count, self._last = self._count + 1, max(self._last, line.line)
        if self._count > limits.BAD_LINES:
            raise ExchangeError(
                self._name,
                first.line,
                f"{first.reason}; more than {limits.BAD_LINES} lines are malformed or refused, the last one"
                f" read is line {self._last}: check the format, the columns and the namespaces",
            )
