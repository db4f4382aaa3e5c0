"""The page on security names existing tests."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE))))
def test_every_named_file_exists(file: str) -> None:
    assert (ROOT / file).is_file()


def test_every_named_test_exists() -> None:
    there = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        there.update(re.findall(r"def (test_\w+)", file.read_text(encoding="utf-8")))
    assert set(re.findall(r"`(test_\w+)`", PAGE)) - there == set()
