"""Recovery at opening: applies ledger rows that engine or catalogue lack after a kill or a power cut.

A mark beyond the ledger's last row, or a missing row after a mark, is damage: the store is refused, and no
identifier is issued.
"""

import sqlite3
from collections.abc import Iterator
from typing import Final

from idstore.errors import StoreDamaged
from idstore.model import codec
from idstore.model.change import Change
from idstore.stores.ledger.contract import Head, Ledger, Row
from idstore.stores.projection.generation import Generation
from idstore.vocabulary import IDS

_GROUP: Final = 1000
"""Maximum number of rows applied at once."""
_REMEDY: Final = "keep its files, and restore a backup"


def check_marks(ledger: Ledger, generation: Generation) -> Head:
    """Return the ledger's head. Raises StoreDamaged: engine or catalogue have rows that the ledger lacks."""
    head = ledger.head()
    catalogue, engine = generation.catalogue.mark, generation.engine.mark
    for part, mark in (("engine", engine), ("catalogue", catalogue)):
        if mark > head.number:
            raise _damaged(generation, f"its ledger lacks changes that the {part} has")
    if catalogue == head.number and generation.catalogue.own.sequence != head.sequence:
        raise _damaged(generation, "its ledger and its catalogue count different events")
    return head


def bring_up(ledger: Ledger, generation: Generation) -> Head:
    """Bring engine and catalogue up to the ledger, each from its own mark. Returns the ledger's head.

    Raises StoreDamaged, StoreUnavailable; OSError, RuntimeError, sqlite3.Error: a failing disk.
    """
    head = check_marks(ledger, generation)
    if generation.mark < head.number:
        for group in _groups(ledger.rows(generation.mark)):
            project(generation, group)
    return head


def is_whole(ledger: Ledger, generation: Generation, after: int) -> bool:
    """Whether the engine has the events of all rows up to its mark.

    after  the number of a row up to which it was on disk.

    The engine syncs nothing by itself. After a loss of power its log can have a hole that it passes over, so
    that a later batch is there, with its mark, and an earlier one is not.
    Raises StoreDamaged, StoreUnavailable. Cost: the rows since.
    """
    mark = generation.engine.mark
    for row in ledger.rows(after):
        if row.head.number > mark:
            break
        body = None if row.body is None else _read(generation, row)
        if isinstance(body, Change) and not all(
            next(generation.engine.quads(event.node, IDS.about, None, None), None) for event, _ in body.events
        ):
            return False
    return True


def _groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    for row in rows:
        group.append(row)
        if len(group) == _GROUP:
            yield group
            group = []
    if group:
        yield group


def project(generation: Generation, rows: list[Row]) -> None:
    """Apply the rows that engine and catalogue lack.

    Raises StoreDamaged, OSError, RuntimeError, sqlite3.Error.
    """
    last = rows[-1].head
    bodies = [(row.head, _read(generation, row)) for row in rows]
    catalogue, engine = generation.catalogue, generation.engine
    try:
        mark = catalogue.mark
        if mark < last.number:
            catalogue.begin()
            for head, body in bodies:
                if head.number <= mark:
                    continue
                if isinstance(body, Change):
                    catalogue.take(body, head.sequence - len(body.events) + 1)
                else:
                    catalogue.note(body.name, body.text)
            catalogue.finish(last.number, last.sequence)
            catalogue.commit()
    except sqlite3.IntegrityError as error:
        catalogue.rollback()
        raise _damaged(generation, f"its ledger and its catalogue contradict each other: {error}") from error
    except BaseException:
        catalogue.rollback()
        raise
    if engine.mark < last.number:
        engine.apply(
            [body for head, body in bodies if head.number > engine.mark and isinstance(body, Change)],
            last.number,
        )


def _read(generation: Generation, row: Row) -> Change | codec.Note:
    if row.body is None:  # a bulk took effect here, in another generation
        raise _damaged(generation, f"it lacks the changes of row {row.head.number} of its ledger")
    try:
        return codec.decode(row.body)
    except ValueError as error:
        raise _damaged(
            generation, f"row {row.head.number} of its ledger differs from the data written"
        ) from error


def _damaged(generation: Generation, why: str) -> StoreDamaged:
    path = generation.folder.parent
    return StoreDamaged(f"the store at {path} is damaged: {why}; {_REMEDY}", path=str(path))
