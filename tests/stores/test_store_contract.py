"""The store in a directory keeps the contract of stores, over each kind of ledger."""

from pathlib import Path

import pytest
from store_openers import POSTGRES, open_directory, open_over_postgres

from idstore.stores.contract import Store
from idstore.testing import StoreTests


class TestDirectoryStore(StoreTests):
    opener = staticmethod(open_directory)


class TestStoreOverPostgres(StoreTests):
    opener = staticmethod(open_over_postgres)

    @pytest.fixture(autouse=True)
    def server(self, postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(POSTGRES, postgres_server)

    def open_copy(self, folder: Path) -> Store:
        return open_directory(folder)  # a backup has its ledger in a file
