"""The console script ``idstore``, and ``python -m idstore``."""

import gc
import io
import os
import sys

from idstore.cli.ending import Terminated, heed_termination, interrupt_in

_GARBAGE = 50_000
"""How many objects may be made before the first look for garbage among them: some megabytes, and more than a short command makes."""

_STDOUT, _STDERR = 1, 2


def main() -> int:
    """Carry out the command line of this process; its exit code."""
    heed_termination()
    _occupy_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # data is UTF-8 whatever the locale; what is no text at all is shown escaped
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    gc.set_threshold(_GARBAGE)  # imports make much that stays, and little garbage: looking for it takes a tenth of a short command
    try:
        from idstore.cli import quick

        code = quick.run(sys.argv[1:])
        if code is not None:  # everything is closed and printed: taking the interpreter to pieces takes a tenth of such a command
            os._exit(code)
        from idstore.cli import app

        code = app.run(sys.argv[1:])
    except (KeyboardInterrupt, RuntimeError) as error:  # while something was imported
        interrupt = interrupt_in(error)
        if interrupt is None:
            raise
        return 143 if isinstance(interrupt, Terminated) else 130
    gc.freeze()  # nor is what the process ends with worth another look
    return code


def _occupy_streams() -> None:
    """Take the numbers of the standard streams that were closed before we began, so that no file of the store gets one of them.

    What is printed to a closed standard output then fails, as it does where that is full: nobody has got it.
    """
    while (handle := os.open(os.devnull, os.O_RDONLY)) <= _STDERR:  # the lowest that is free
        pass
    os.close(handle)
    if sys.stdout is None:
        sys.stdout = open(_STDOUT, "w")  # noqa: SIM115 it stays to the end


if __name__ == "__main__":
    sys.exit(main())
