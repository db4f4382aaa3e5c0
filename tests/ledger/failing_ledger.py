"""Work on a ledger whose disk fails. Started with tests/power/shim.c preloaded.

Prints the outcome of each commit. Arguments: the folder; the kind of calls that fail, their error and their
number; how the process ends (close, kill, or kill-now: before another commit); whether refused pages are
overwritten.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

from ledger_contract import append, numbers

from idstore.errors import StoreUnavailable
from idstore.stores.ledger.sqlite import SqliteLedger
from idstore.stores.ledger.sqlite_writer import SqliteWriter


def shim() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.shim_begin.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long]
    library.shim_fail.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    return library


def attempt(ledger: SqliteLedger, label: str) -> None:
    try:
        append(ledger, label)
    except StoreUnavailable as error:
        print(type(error).__name__, error.message, sep="|", flush=True)
    else:
        print("done", flush=True)


def main() -> None:
    folder, which, error, many, end, overwrites = sys.argv[1:]
    if overwrites == "no":
        SqliteWriter._overwrite = lambda self: True  # type: ignore[method-assign]
    library = shim()
    assert library.shim_begin(os.fsencode(folder), os.fsencode(f"{folder}-calls"), 0) == 0
    ledger = SqliteLedger(Path(folder, "ledger.sqlite"), create=True)
    append(ledger, "a")
    library.shim_fail(int(which), int(error), 1, int(many))
    attempt(ledger, "b")
    library.shim_fail(0, 0, 0, 0)
    print(numbers(ledger), flush=True)
    if end != "kill-now":
        attempt(ledger, "c")
    if end != "close":
        os.kill(os.getpid(), signal.SIGKILL)
    ledger.close()


if __name__ == "__main__":
    main()
