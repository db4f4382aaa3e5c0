"""The socket in the folder of a store that a server holds: other commands reach the server by it."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

SOCKET: Final = "server.socket"


_LONGEST: Final = 103
"""Bytes of a path that each system takes as the address of a socket."""


@contextmanager
def socket_address(folder: Path) -> Iterator[str]:
    """Yield the address of the socket in a folder: its path, or on Linux a short name for a long one."""
    path, opened = str(folder / SOCKET), None
    if len(os.fsencode(path)) > _LONGEST and Path("/proc/self/fd").is_dir():
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        path = f"/proc/self/fd/{opened}/{SOCKET}"
    try:
        yield path
    finally:
        if opened is not None:
            os.close(opened)


def is_served(folder: Path) -> bool:
    """Return whether a server holds the store in a folder."""
    path = folder / SOCKET
    with suppress(OSError):  # the server was killed, or the folder cannot be read or is another user's
        path.stat()
        with socket_address(folder) as name, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(name)
            return True
    return False
