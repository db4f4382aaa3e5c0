"""The console script ``idstore``, and ``python -m idstore``."""

import gc
import io
import sys


def main() -> int:
    """Carry out the command line of this process; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # data is UTF-8 whatever the locale; what is no text at all is shown escaped
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    gc.disable()  # imports make no garbage worth looking for: 3 ms of each start
    try:
        from idstore.cli.app import run
    except KeyboardInterrupt:
        return 130
    finally:
        gc.enable()
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
