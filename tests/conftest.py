"""Fixtures that several folders of tests share."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("idstore", deadline=None)  # how long a test takes proves nothing
settings.load_profile("idstore")

pytest_plugins = ["cli_fixtures", "two_registries"]

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # begun in the background by a shell: programs that tests interrupt would ignore it as well
    signal.signal(signal.SIGINT, signal.default_int_handler)


UNTIL = "IDSTORE_TESTS_UNTIL"
"""The environment variable that says until when tests may begin, in seconds since 1970; unset: at any time."""


def pytest_runtest_setup() -> None:
    until = os.environ.get(UNTIL)
    if until is not None and time.time() > float(until):
        pytest.skip(f"there was no time left for it ({UNTIL})")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data that the environment names."""
    folder = os.environ.get("IDSTORE_REAL_DATA")
    if not folder:
        pytest.skip("IDSTORE_REAL_DATA names no folder of real data")
    return Path(folder)


@pytest.fixture
def fast_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for tests that make hundreds of stores: in memory, if the system has room for files there."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as made:
        yield Path(made)
