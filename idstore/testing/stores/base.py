"""Base of the parts of `idstore.testing.StoreTests`."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest

from idstore.stores.contract import Store
from idstore.testing.stores.states import Opener


class StoreCase:
    """Tests of one kind of store; see `idstore.testing.StoreTests` for ``opener``."""

    opener: ClassVar[Opener]

    def open(self, folder: Path) -> Store:
        """Open the store in a folder, and create it if there is none."""
        return type(self).opener(folder)

    def open_copy(self, folder: Path) -> Store:
        """Open the store that a backup created in a folder; override it if that is another kind of store."""
        return self.open(folder)

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Folder of the test's store."""
        return tmp_path / "store"

    @pytest.fixture
    def store(self, folder: Path) -> Iterator[Store]:
        """A new store, open until the test ends."""
        with closing(self.open(folder)) as store:
            yield store
