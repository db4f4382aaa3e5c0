"""Opening of the catalogue's file for writing, and translation of its errors."""

import sqlite3
from pathlib import Path
from typing import Final

from idstore.disk_errors import cause_and_remedy, unnumbered
from idstore.errors import StoreUnavailable
from idstore.stores.projection.catalogue_rows import SCHEMA
from idstore.stores.sqlite_files import connect, is_damage, unreadable

_PAGE: Final = 1024
"""Page size in bytes.

An act writes about 16 pages, mostly for a few bytes each; small pages halve the cost.
"""
_LOG_SIZE: Final = 1 << 24
"""Bytes to which the log's file is truncated when it is restarted."""


def open_to_write(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open the file. Raises OSError, sqlite3.Error, StoreUnavailable."""
    database = connect(path, create=create)
    try:
        if create:
            database.execute(f"PRAGMA page_size={_PAGE}")
        database.execute("PRAGMA journal_mode=WAL").fetchall()  # a copy has no log
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("PRAGMA wal_autocheckpoint=0")
        database.execute(f"PRAGMA journal_size_limit={_LOG_SIZE}").fetchall()
        if create:
            database.executescript(f"BEGIN;{SCHEMA}COMMIT;")
    except BaseException:
        database.close()
        raise
    return database


def cannot_be_opened(path: Path, error: OSError | sqlite3.Error) -> StoreUnavailable:
    """Return the error for an opening failure: StoreDamaged for damaged files, else StoreUnavailable."""
    if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
        return unreadable(path, error)
    why, remedy = cause_and_remedy(error, path)
    return StoreUnavailable(
        f"the catalogue {unnumbered(path)} cannot be opened: {why}; {remedy}",
        path=unnumbered(path),
    )
