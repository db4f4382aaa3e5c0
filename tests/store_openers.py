"""Functions that open each kind of store, importable by child processes."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Final

from idstore.stores.contract import Store
from idstore.stores.ledger.contract import Ledger
from idstore.stores.store import DirectoryStore

POSTGRES: Final = "IDSTORE_TESTS_POSTGRES"
"""Environment variable with the connection string of the PostgreSQL server, inherited by child processes."""
_WAIT: Final = 60.0
"""Seconds to wait for another process."""


def open_directory(folder: Path) -> Store:
    """Open or create the store in a directory."""
    return DirectoryStore(folder, create=True, wait=_WAIT)


def open_over_postgres(folder: Path) -> Store:
    """Open or create the store in a directory whose ledger is in PostgreSQL."""
    return DirectoryStore(folder, create=True, wait=_WAIT, ledger=_postgres_ledger)


def _postgres_ledger(path: Path) -> Ledger:
    """Return the ledger of the store in a folder: a separate schema."""
    from postgres_ledger import PostgresLedger  # it needs psycopg

    return PostgresLedger(os.environ[POSTGRES], f"store_{sha256(str(path).encode()).hexdigest()[:16]}")
