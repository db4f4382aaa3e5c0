"""An open table: its header and its rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class TableRow(NamedTuple):
    """One row: its line number (from 1), its cells in the order of the header, and its error if malformed."""

    line: int
    cells: Sequence[str]
    error: str | None = None


@dataclass(slots=True)
class Table:
    """An open table.

    name      its name in messages.
    metadata  the lines before the header, without ``#``.
    header    names of the columns.
    rows      the rows, to be read once.
    divider   what divides its cells.
    """

    name: str
    metadata: Sequence[str]
    header: Sequence[str]
    rows: Iterator[TableRow] = field(repr=False)
    divider: str = "\t"
