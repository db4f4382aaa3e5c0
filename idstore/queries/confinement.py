"""What a query's process may use: time, memory, and no network."""

import ctypes
import os
import resource
import signal
import struct
from contextlib import suppress
from typing import Final

_SET_DEATH_SIGNAL: Final = 1
_SET_FILTER: Final = 22, 2
_SET_NO_NEW_PRIVILEGES: Final = 38
_LOAD, _IF_EQUAL, _IF_FROM, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _DENY = 0x7FFF0000, 0x0005000D
_SOCKET: Final = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""Of each machine its name in the kernel's filters, and the number of the system call ``socket``."""
_IO_URING_SETUP: Final = 425
_OTHER_CALLS: Final = 0x40000000
"""From here on x86 numbers the calls of another convention, which nothing here uses."""


def confine(seconds: float, memory: int, parent: int) -> None:
    """Have the kernel end this process when its time is up or its parent is gone, bound its memory, and refuse it the network.

    seconds   of wall-clock time from now.
    memory    bytes; an allocation beyond fails, and so does an answer that is longer. Memory is bounded on Linux alone, like the network.
    parent    number of the process that waits for the answer.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # python's own handler would wait for the engine to return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM, signal.SIGINT})
    signal.setitimer(signal.ITIMER_REAL, seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
        with suppress(OSError, ValueError):  # less is allowed already
            resource.setrlimit(kind, (memory, memory))
    if os.uname().sysname == "Linux":
        system = ctypes.CDLL(None)
        system.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        _close_network(system, os.uname().machine)


def _close_network(system: ctypes.CDLL, machine: str) -> None:
    """Refuse sockets to this process and all its threads: a request that slipped through the parser reaches nobody."""
    if machine not in _SOCKET:
        return
    name, socket = _SOCKET[machine]
    steps = (
        (_LOAD, 0, 0, 4),  # which machine's call
        (_IF_EQUAL, 0, 4, name),
        (_LOAD, 0, 0, 0),  # which call
        (_IF_EQUAL, 3, 0, socket),
        (_IF_EQUAL, 2, 0, _IO_URING_SETUP),
        (_IF_FROM, 1, 0, _OTHER_CALLS),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _DENY),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HL", len(steps), ctypes.addressof(code)))
    system.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    system.prctl(*_SET_FILTER, program, 0, 0)
