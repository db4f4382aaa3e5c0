"""Stores of earlier formats, brought to the present one.

The journal says which format its directory has. `STEPS` has, for each earlier format, what makes the next one of it; the first opening for
writing takes all the steps that are needed, in one transaction of the journal: a cut in between leaves the store as it was.

A step is called with the journal's connection, inside the transaction, and with the store's folder. It may change the journal by SQL. What
engine or catalogue need is made in the next generation, beside the present one and on disk; setting ``generation`` in the journal's table
``meta`` then puts it in effect together with the new format. (Whatever is not the present generation is removed at the next opening.)

To change the format: raise `idstore.stores.journal.FORMAT`, add the step from the one before, keep a store of the earlier format as test data.
"""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from idstore.errors import StoreUnavailable
from idstore.stores.sqlite import transaction

Step = Callable[[sqlite3.Connection, Path], None]
STEPS: Final[dict[int, Step]] = {}
"""By the format that they begin with. There are none: format 1 is the first."""


def migrate(journal: sqlite3.Connection, path: Path, wanted: int, steps: Mapping[int, Step] = STEPS) -> None:
    """Bring the store whose journal is the file ``path`` to the format ``wanted``; nothing happens if it has it.

    Raises StoreUnavailable: a later format, or one that this version cannot read any more. Raises what the steps raise: nothing was changed.
    """
    (present,) = journal.execute("PRAGMA user_version").fetchone()
    _may_read(path, present, wanted, steps)
    if present == wanted:
        return
    with transaction(journal):
        for number in range(present, wanted):
            steps[number](journal, path.parent)
        journal.execute(f"PRAGMA user_version={wanted}")


def check(journal: sqlite3.Connection, path: Path, wanted: int) -> None:
    """Raise StoreUnavailable unless the store has the format ``wanted``."""
    (present,) = journal.execute("PRAGMA user_version").fetchone()
    _may_read(path, present, wanted, STEPS)
    if present != wanted:
        raise StoreUnavailable(
            f"{path} has format {present}, and this idstore reads format {wanted}: open it once for writing, which brings it up to date",
            format=present,
        )


def _may_read(path: Path, present: int, wanted: int, steps: Mapping[int, Step]) -> None:
    if present == 0:
        raise StoreUnavailable(f"{path} is not an idstore journal; look for it in a backup", format=present)
    if present > wanted:
        raise StoreUnavailable(
            f"{path} has format {present}, and this idstore reads format {wanted}: install a newer idstore; nothing was changed",
            format=present,
        )
    if any(number not in steps for number in range(present, wanted)):
        raise StoreUnavailable(
            f"{path} has format {present}, which this idstore cannot read any more: open it with an earlier version first", format=present
        )
