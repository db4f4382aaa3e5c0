"""Limits of a query process: time, memory, and no network."""

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
"""For each machine: its architecture number in seccomp filters, and the number of the system call
``socket``."""
_IO_URING_SETUP: Final = 425
_OTHER_CALLS: Final = 0x40000000
"""Lowest number of a system call in the x32 convention of x86-64, which the query process does not use."""
_BOUNDED: Final = (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE)


def confine(parent: int) -> None:
    """End this process with the thread that started it, and block its network.

    parent  ID of the process that waits for answers. Only Linux enforces this.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's handler would wait until the engine returns
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM, signal.SIGINT})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.uname().sysname == "Linux":
        system = ctypes.CDLL(None)
        system.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        _close_network(system, os.uname().machine)


def limit(seconds: float, memory: int) -> None:
    """Have the kernel limit time and memory of this process for one query.

    seconds   wall-clock time from now; 0: none.
    memory    bytes; a larger allocation or answer fails. Only Linux enforces limits on memory.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)
    for kind in _BOUNDED:
        with suppress(OSError, ValueError):  # the present limit is lower
            resource.setrlimit(kind, (memory, resource.getrlimit(kind)[1]))


def _close_network(system: ctypes.CDLL, machine: str) -> None:
    """Refuse sockets to all threads of this process, in case a SERVICE request passes the parser."""
    if machine not in _SOCKET:
        return
    name, socket = _SOCKET[machine]
    steps = (
        (_LOAD, 0, 0, 4),  # architecture of the call
        (_IF_EQUAL, 0, 4, name),
        (_LOAD, 0, 0, 0),  # number of the call
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
