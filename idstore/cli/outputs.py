"""What a command writes: files, and ``-`` for standard output."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from idstore.cli import arguments, inputs

_IN_MEMORY: Final = 1 << 24
"""Bytes that are held in memory before they go to a temporary file."""


@contextmanager
def output(file: str) -> Iterator[IO[bytes]]:
    """Where to write: a file appears whole or not at all, and whoever reads standard output slowly keeps nobody from the store.

    Raises Misuse, before anything is done: no file can be there.
    """
    place = Path(file).resolve()
    if file != inputs.STDIN and (place.is_dir() or not place.parent.is_dir()):
        raise arguments.Misuse(f"{file} cannot be written: {'it is a folder' if place.is_dir() else f'there is no folder {place.parent}'}")
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        yield spool
        spool.seek(0)
        if file == inputs.STDIN:
            shutil.copyfileobj(spool, sys.stdout.buffer)
        else:
            _put(spool, place)


def _put(content: IO[bytes], place: Path) -> None:
    if place.exists() and not place.is_file():  # a pipe, a device
        with place.open("wb") as target:
            shutil.copyfileobj(content, target)
        return
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with draft.open("wb") as target:
            shutil.copyfileobj(content, target)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
