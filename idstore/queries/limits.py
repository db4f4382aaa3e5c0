"""Limits of a query, and what else belongs to it beside its text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyoxigraph import NamedNode

from idstore.errors import InvalidData, QueryRefused
from idstore.progress import never
from idstore.queries import formats
from idstore.queries.bindings import Value
from idstore.stores.contract import GraphSelection

SECONDS: Final = 30.0
"""Default time limit, in seconds of wall-clock time."""
LONGEST: Final = 1e6
"""Upper bound of a time limit in seconds: the timers of operating systems have a finite range."""
ROWS: Final = 100_000
"""Default maximum number of rows or triples in an answer."""
MEMORY: Final = 2 << 30
"""Default memory limit, in bytes."""
LEAST_MEMORY: Final = 256 << 20
"""Lowest memory limit in bytes: with less the engine cannot be opened."""


@dataclass(frozen=True, slots=True)
class SelectedGraphs:
    """A selection of graphs that takes the place of ``FROM`` and ``FROM NAMED`` in a query.

    Graphs that the party does not see, or that do not exist, are passed over.
    """

    default: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    def within(self, graphs: Sequence[NamedNode]) -> tuple[list[str], list[str]]:
        """Return the default graphs and the named graphs that are among ``graphs``."""
        visible = {graph.value for graph in graphs}
        default, named = (
            [graph for graph in dict.fromkeys(selected) if graph in visible]
            for selected in (self.default, self.named)
        )
        return default, named


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of a query, and how to answer it: see `idstore.stores.contract.Limits`.

    formats  of `idstore.queries.formats.FORMATS`: the first that suits the answer; none for human readers.
    rows     maximum number of rows or triples in the answer; None for no limit.
    seconds  time limit.
    memory   memory limit in bytes, at least `LEAST_MEMORY`.
    cancelled  is called ten times a second; once it returns True, the query ends.
    dataset  a selection of graphs; None: as the query says.
    bindings variables, and terms that they have in every solution.
    longest_cell  characters of a cell of a table at most, ``…`` ends a longer one; None for no limit.

    Raises QueryRefused (unknown format), InvalidData.
    """

    formats: Sequence[str] = ()
    rows: int | None = ROWS
    seconds: float = SECONDS
    memory: int = MEMORY
    cancelled: Callable[[], bool] = never
    dataset: GraphSelection | None = None
    bindings: Mapping[str, Value] = field(default_factory=dict)
    longest_cell: int | None = None

    def __post_init__(self) -> None:
        formats.check(self.formats)
        if self.memory < LEAST_MEMORY:
            raise InvalidData(
                f"a query needs at least {LEAST_MEMORY >> 20} MB; {self.memory} bytes are not enough",
                memory=self.memory,
            )
        if not 0 < self.seconds < LONGEST:
            raise InvalidData(
                f"{self.seconds:g} is not a time limit; give seconds, more than 0 and less than {LONGEST:g}",
                timeout=self.seconds,
            )


def check(text: str) -> None:
    """Raise QueryRefused for a query that UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise QueryRefused(
            f"the query is not a valid text: lone surrogate at position {error.start}", position=error.start
        ) from error
