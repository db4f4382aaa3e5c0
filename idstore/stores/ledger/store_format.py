"""The format of a store: the layout of its folder.

``PRAGMA user_version`` of its ledger holds the format number. Formats 1 and 2 are those of development
versions, and are refused. From format 3 on (idstore 0.1.0), the first opening for writing migrates an earlier
format, in one ledger transaction. `STEPS` holds, for each earlier format, the step to the next one. A step
gets the ledger's connection, inside the transaction, and the store's folder. It changes the ledger by SQL. A
step that changes engine or catalogue writes a new generation on disk, beside the present one. It sets
``generation`` in the table ``meta``, so that the new generation becomes the present one together with the new
format.

To change the format: raise `FORMAT`, add the step from the previous format, keep a store of that format as
test data.
"""

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from idstore.errors import StoreUnavailable
from idstore.stores.sqlite_files import transaction

FORMAT = 3
"""The present format."""
_LOG: Final = logging.getLogger(__name__)
_FIRST: Final = 3
"""The first released format."""
_JOURNAL: Final = "journal.sqlite"
"""Format 1 had this file in place of the ledger."""
_LEDGER: Final = "ledger.sqlite"

Step = Callable[[sqlite3.Connection, Path], None]
STEPS: Final[dict[int, Step]] = {}
"""Steps by their initial format."""


def check_first_format(folder: Path) -> None:
    """Raise StoreUnavailable for a store of format 1."""
    if (folder / _JOURNAL).is_file() and not (folder / _LEDGER).is_file():
        raise _unreleased(folder, 1)


def _unreleased(folder: Path, number: int) -> StoreUnavailable:
    return StoreUnavailable(
        f"{folder} was made by a development version of idstore before 0.1.0, which this version"
        " cannot read; export it with that version as CSV and import the tables into a new store;"
        " nothing was changed",
        path=str(folder),
        format=number,
    )


def migrate(ledger: sqlite3.Connection, path: Path) -> None:
    """Migrate the store with the ledger ``path`` to the present format.

    Raises StoreUnavailable: the format is newer, or no longer readable; and the errors of a step. In all
    cases nothing was changed.
    """
    present = _readable_format(ledger, path)
    if present == FORMAT:
        return
    with transaction(ledger):
        for number in range(present, FORMAT):
            STEPS[number](ledger, path.parent)
        ledger.execute(f"PRAGMA user_version={FORMAT}")
    _LOG.warning("%s: migrated from format %d to %d", path.parent, present, FORMAT)


def check(ledger: sqlite3.Connection, path: Path) -> None:
    """Raise StoreUnavailable unless the store has the present format."""
    present = _readable_format(ledger, path)
    if present != FORMAT:
        raise StoreUnavailable(
            f"{path} has format {present}, and this idstore reads format {FORMAT}:"
            " open the store once for writing, which migrates it",
            format=present,
        )


def _readable_format(ledger: sqlite3.Connection, path: Path) -> int:
    (present,) = ledger.execute("PRAGMA user_version").fetchone()
    assert isinstance(present, int)
    if present == 0:
        raise StoreUnavailable(
            f"{path} is not the ledger of a store; look for it in a backup", format=present
        )
    if present < _FIRST:
        raise _unreleased(path.parent, present)
    if present > FORMAT:
        raise StoreUnavailable(
            f"{path} has format {present}, and this idstore reads format {FORMAT}:"
            " install a newer idstore; nothing was changed",
            format=present,
        )
    if any(number not in STEPS for number in range(present, FORMAT)):
        raise StoreUnavailable(
            f"{path} has format {present}, which this idstore can no longer read:"
            " open it with an earlier version first",
            format=present,
        )
    return present
