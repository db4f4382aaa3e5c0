"""The console script ``idstore``, and ``python -m idstore``."""

import gc
import io
import os
import sys

from idstore.cli.termination import Terminated, install_sigterm_handler, interrupt_of

_GC_THRESHOLD = 50_000
"""Allocations before the first garbage collection: some megabytes, and more than a short command makes."""

_STDOUT, _STDERR = 1, 2


def main() -> int:
    """Run the command line of this process, and return its exit code."""
    install_sigterm_handler()
    _occupy_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # UTF-8 in every locale; undecodable bytes are escaped
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    # imports make many lasting objects and little garbage: its collection takes a tenth of a short command
    gc.set_threshold(_GC_THRESHOLD)
    try:
        from idstore.cli import app

        code = app.run(sys.argv[1:])
    except (KeyboardInterrupt, RuntimeError) as error:  # during an import
        interrupt = interrupt_of(error)
        if interrupt is None:
            raise
        return 143 if isinstance(interrupt, Terminated) else 130
    gc.freeze()  # keep the collector from the objects that the process ends with
    return code


def _occupy_streams() -> None:
    """Open the null device for standard streams that were closed before the process began.

    Otherwise a file of the store would get the number of a standard stream. Printing to a closed standard
    output fails, as it does when the device is full.
    """
    while (handle := os.open(os.devnull, os.O_RDONLY)) <= _STDERR:  # the lowest free number
        pass
    os.close(handle)
    if sys.stdout is None:
        sys.stdout = open(_STDOUT, "w")  # noqa: SIM115 open until the process ends


if __name__ == "__main__":
    sys.exit(main())
