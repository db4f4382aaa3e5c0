"""Fixtures shared by several folders of tests."""

import ctypes
import os
import platform
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("idstore", deadline=None)  # the duration of a test proves nothing
settings.load_profile("idstore")

_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30
"""Bytes of memory that the stores of a whole run may use at a time."""
if (
    "PYTEST_DEBUG_TEMPROOT" not in os.environ
    and os.access(_MEMORY, os.W_OK)
    and shutil.disk_usage(_MEMORY).free > _ROOM
):
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(
        _MEMORY
    )  # tests make thousands of stores, and each change waits for the disk

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of a thousand processes would compile the package

_STACK = 2 << 20
"""Bytes: the C library reuses stacks of this size, which it does not with the 8 MiB of most systems."""


def reuse_stacks() -> None:
    """Give threads that state no size a small stack.

    RocksDB starts 177 threads for each of the thousands of stores that tests open.
    """
    library = ctypes.CDLL(None)
    attributes = ctypes.create_string_buffer(256)  # more than a pthread_attr_t has
    library.pthread_attr_init(attributes)
    library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK))
    library.pthread_setattr_default_np(attributes)


if platform.libc_ver()[0] == "glibc":
    reuse_stacks()

pytest_plugins = [
    "ways",
    "cli_fixtures",
    "postgres",
    "serving",
    "resolving",
    "handle_server",
    "two_registries",
]
pytest.register_assert_rewrite("ledger_contract")

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a shell that starts the run in the background ignores SIGINT, and child processes would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("foreign"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real data that the environment names."""
    folder = os.environ.get("IDSTORE_REAL_DATA")
    if not folder:
        pytest.skip("IDSTORE_REAL_DATA names no folder of real data")
    return Path(folder)


@pytest.fixture
def fast_folder(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder for tests that make hundreds of stores, in memory if the system has room there."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as made:
        yield Path(made)
