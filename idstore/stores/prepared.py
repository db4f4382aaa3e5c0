"""A change as engine and catalogue take it."""

from collections.abc import Sequence
from typing import NamedTuple

from idstore.model.change import Change, Entry
from idstore.model.event import digest
from idstore.model.terms import hashed


class Prepared(NamedTuple):
    """A change and what follows from it.

    sequence  of its last event.
    lines     what it adds, as N-Quads in UTF-8.
    gone      what it removes, a line for each quad as in ``lines``.
    listed    identifiers whose listing changes.
    marks     of each event: `hashed` IRI of what it is about, and its digest.
    """

    sequence: int
    change: Change
    lines: bytes
    gone: list[bytes]
    listed: list[Entry]
    marks: list[tuple[int, int]]

    @classmethod
    def of(cls, sequence: int, change: Change) -> "Prepared":
        """Prepare a change; ``sequence`` is that of its last event."""
        return cls(
            sequence,
            change,
            change.lines().encode(),
            [f"{quad} .".encode() for quad in change.remove],
            change.listed(),
            [(hashed(event.about.value), digest(event)) for event, _ in change.events],
        )


def net(batch: Sequence[Prepared], *, again: bool) -> tuple[list[bytes], list[bytes]]:
    """What a batch removes and what it adds, as lines of N-Quads: what it adds and removes later it does neither.

    again  some of the batch may be there already: whatever is not to stay is removed.
    """
    first: dict[bytes, bool] = {}
    last: dict[bytes, bool] = {}
    for prepared in batch:
        for line in prepared.gone:
            first.setdefault(line, False)
            last[line] = False
        for line in prepared.lines.split(b"\n")[:-1]:
            first.setdefault(line, True)
            last[line] = True
    gone = [line for line, stays in last.items() if not stays and (again or not first[line])]
    return gone, [line + b"\n" for line, stays in last.items() if stays]
