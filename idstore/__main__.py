"""The console script ``idstore``, and ``python -m idstore``."""

import gc
import io
import sys

_GARBAGE = 50_000
"""How many objects may be made before the first look for garbage among them: some megabytes, and more than a short command makes."""


def main() -> int:
    """Carry out the command line of this process; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # data is UTF-8 whatever the locale; what is no text at all is shown escaped
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    gc.set_threshold(_GARBAGE)  # imports make much that stays, and little garbage: looking for it takes a tenth of a short command
    try:
        from idstore.cli.app import run
    except KeyboardInterrupt:
        return 130
    code = run(sys.argv[1:])
    gc.freeze()  # nor is what the process ends with worth another look
    return code


if __name__ == "__main__":
    sys.exit(main())
