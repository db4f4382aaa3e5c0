"""Serve a store with other limits than the usual ones.

Arguments: the store, the limits as JSON, and how many files the process may open (0: as usual).
"""

import json
import os
import resource
import sys
from pathlib import Path

from idstore.server import run
from idstore.server.admission import ServerLimits


def write(lines: str) -> None:
    os.write(2, lines.encode())


def main() -> None:
    store, limits, files = sys.argv[1:]
    if int(files):
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), int(files)))
    run.serve(
        Path(store),
        "127.0.0.1",
        0,
        limits=ServerLimits(**json.loads(limits)),
        log=write,
        ready=lambda address: print(f"serving at {address}", file=sys.stderr, flush=True),
    )


if __name__ == "__main__":
    main()
