"""The end of a redaction: nothing of the former state remains in the store's folder.

The new generation holds a mark until that is done, so that the next opening does it after a kill. A snapshot
of the former state goes when its last reader releases it (`idstore.stores.publishing`); the mark then stays
until the next opening.
"""

from pathlib import Path
from typing import Final

from idstore.permissions import conform
from idstore.stores import files
from idstore.stores.ledger.contract import Ledger
from idstore.stores.snapshots import Snapshots

_MARK: Final = "redaction"
"""The file that says that the ledger, and snapshots, may hold texts that were redacted."""


def mark(generation: Path) -> None:
    """Mark a generation before it takes effect. Raises OSError."""
    (generation / _MARK).touch()
    conform(generation / _MARK)


def finish(generation: Path, ledger: Ledger) -> None:
    """Remove what remains of the former state, if the generation is marked.

    The mark stays while a snapshot of the former state is in use.
    Raises StoreUnavailable, OSError: something remains, and so does the mark.
    """
    place = generation / _MARK
    if not place.exists():
        return
    ledger.scrub()
    if Snapshots(generation.parent / files.SNAPSHOTS).sweep_former(generation):
        place.unlink()
        files.sync(generation)
