"""Integrity checks of journal rows, common to all ledgers: a flipped bit or a missing row is damage."""

import zlib
from collections.abc import Callable, Iterable, Iterator

from idstore.errors import StoreDamaged
from idstore.stores.ledger.contract import Head, Row


def checksum(head: Head, body: object) -> int:
    """Return the checksum of a row. ``body`` is a text or None; a damaged database may hold any value."""
    text = " ".join(map(str, head)) if body is None else f"{' '.join(map(str, head))}\n{body}"
    return zlib.crc32(text.encode(errors="surrogateescape"))


def checked(place: str, head: Head, body: str | None, stored_checksum: int) -> Row:
    """Return a row read from the database at ``place``. Raises StoreDamaged: its checksum is wrong."""
    if checksum(head, body) != stored_checksum:
        raise damaged(place, f"row {head.number} differs from the data written")
    return Row(head, body)


def in_order(place: str, rows: Iterable[Row], after: int, last: int) -> Iterator[Row]:
    """Yield the rows after ``after`` up to ``last``. Raises StoreDamaged: one is missing."""
    if after > last:
        raise damaged(place, f"it ends with row {last}, although row {after} had taken effect")
    expected = after + 1
    for row in rows:
        if row.head.number != expected:
            break
        yield row
        expected += 1
    if expected <= last:
        raise damaged(place, f"row {expected} is missing")


def faults(
    place: str, rows: Iterable[tuple[Head, str | None, int]], claims_after: Callable[[int], int]
) -> Iterator[str]:
    """Yield the faults in all rows of a journal.

    rows          head, body and stored checksum of each row, by number.
    claims_after  returns the number of claims of rows after a number.
    """
    last: int | None = None
    for head, body, stored_checksum in rows:
        if last is not None and head.number != last + 1:
            yield damaged(place, f"row {last + 1} is missing").message
        if checksum(head, body) != stored_checksum:
            yield damaged(place, f"row {head.number} differs from the data written").message
        last = head.number
    ahead = claims_after(last or 0)
    if ahead:
        yield damaged(place, f"the rows of {ahead} claims are missing").message


def damaged(place: str, reason: str) -> StoreDamaged:
    """Return the error for a damaged ledger."""
    return StoreDamaged(
        f"the store is damaged: {place}: {reason}; keep its files, and restore a backup", path=place
    )
