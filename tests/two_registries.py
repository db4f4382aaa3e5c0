"""Fixtures: two registries, as those of `random_acts`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from random_acts import begun

from idstore import Registry


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Registry]:
    """The one that takes in."""
    with begun(tmp_path / "here") as registry:
        yield registry


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Registry]:
    """The other one."""
    with begun(tmp_path / "there") as registry:
        yield registry
