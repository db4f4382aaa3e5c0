"""Fixtures: two registries with the parties and namespaces of `random_histories`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from random_histories import begun

from idstore import Registry


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Registry]:
    """Yield the importing registry."""
    with begun(tmp_path / "here") as registry:
        yield registry


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Registry]:
    """Yield the other registry."""
    with begun(tmp_path / "there") as registry:
        yield registry
