"""What a command writes: files, and ``-`` for standard output."""

import gzip
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Protocol, cast

from idstore.cli import inputs
from idstore.cli.ending import Misuse
from idstore.cli.output import deliver
from idstore.exchange.sources import PACKED

_IN_MEMORY: Final = 1 << 24
"""Bytes that are held in memory before they go to a temporary file."""
_LEVEL: Final = 6
"""How hard to compress: a compromise, as that of the gzip command."""
_BUFFER: Final = 1 << 16
_DRAFT: Final = ".idstore-"
"""What the names of drafts begin with. A draft has a name of its own, since its file's may be as long as names can be."""


class _Target(Protocol):
    def write(self, data: Any, /) -> int | None: ...


@contextmanager
def output(file: str) -> Iterator[IO[bytes]]:
    """Where to write: a file appears whole or not at all, and whoever reads standard output slowly keeps nobody from the store.

    A file whose name ends in ``.gz`` is compressed. A file that is replaced keeps its mode, and until then nobody else may read what is written.
    Raises Misuse, before anything is done: no file can be there. Raises OSError, with the file's name, when the disk is full.
    """
    place = None if file == inputs.STDIN else _place(file)
    if place is not None and not _is_device(place):
        with _draft(file, place) as target:
            yield target
        return
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        with _told(spool) as target:
            yield target
        spool.seek(0)
        if place is None:
            deliver(cast("IO[bytes]", spool))
        else:
            with place.open("wb", buffering=0) as device, _told(device, file) as target:
                shutil.copyfileobj(spool, target)


def _place(file: str) -> Path:
    """Where the file is to be. Raises Misuse."""
    if not file:
        raise Misuse("the name of the file to write is empty; give one, or - for standard output")
    if _is_device(Path(file)):
        return Path(file)  # what /dev/stdout leads to may be no path
    try:
        place = Path(file).resolve()
        wrong = "it is a folder" if place.is_dir() else None if place.parent.is_dir() else f"there is no folder {place.parent}"
    except (OSError, RuntimeError) as error:  # too long a name, a folder closed to us, links in a circle
        wrong = getattr(error, "strerror", None) or str(error)
    if wrong:
        raise Misuse(f"{file} cannot be written: {wrong}")
    return place


def _is_device(place: Path) -> bool:
    """Whether something is there that takes what is written and keeps no file: a pipe, a terminal."""
    try:
        return place.exists() and not place.is_file() and not place.is_dir()
    except OSError:
        return False


@contextmanager
def _draft(file: str, place: Path) -> Iterator[IO[bytes]]:
    """A file beside the one to be written, in whose place it comes at the end. Raises Misuse, OSError."""
    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o666 & ~_umask()
    try:
        handle, name = tempfile.mkstemp(prefix=_DRAFT, dir=place.parent)  # for nobody else to read
    except OSError as error:
        raise Misuse(f"{file} cannot be written: no file can be made in {place.parent} ({error.strerror})") from error
    try:
        with os.fdopen(handle, "wb", buffering=0) as draft:
            with _told(draft, file) as target, _packed(file, target) as packed:
                yield packed
            os.fchmod(draft.fileno(), mode)
        Path(name).replace(place)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def _packed(file: str, target: IO[bytes]) -> Iterator[IO[bytes]]:
    """What is written, compressed where the file's name says so; the same bytes give the same file."""
    if not file.lower().endswith(PACKED):
        yield target
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, compresslevel=_LEVEL, mtime=0) as packed:
        yield cast("IO[bytes]", packed)


def _umask() -> int:
    known = os.umask(0o077)  # it cannot be asked for without being set
    os.umask(known)
    return known


def keep(chunks: Iterable[bytes], place: Path) -> None:
    """Put what comes into a temporary file. Raises OSError, with what helps, when there is no room."""
    with place.open("wb", buffering=0) as file, _told(file) as target:
        target.writelines(chunks)


class _Told(io.RawIOBase):
    """A file to write, whose failures name it, as the system's own do not.

    place  what it is called; None for temporary files.
    """

    def __init__(self, file: _Target, place: str | None) -> None:
        super().__init__()
        self._file = file
        self._place = place
        self.given_up = False

    def writable(self) -> bool:
        """It is for nothing else."""
        return True

    def write(self, data: Any) -> int | None:
        """Write some bytes, perhaps not all; how many. Raises OSError."""
        if self.given_up:
            return len(data)
        try:
            return self._file.write(data)
        except OSError as error:
            if self._place is None:
                where, more = f"temporary files in {tempfile.gettempdir()}", "; free some space, or name another folder in TMPDIR"
            else:
                where, more = self._place, ""
            raise OSError(error.errno, f"{error.strerror}{more}", where) from error


@contextmanager
def _told(file: _Target, place: str | None = None) -> Iterator[IO[bytes]]:
    """The file, buffered: it has all that was written when the block ends well. Raises OSError, as `_Told` says."""
    raw = _Told(file, place)
    target = io.BufferedWriter(raw, _BUFFER)
    try:
        yield target
        target.flush()
    finally:
        raw.given_up = True  # what is left of a failure is not for the file
        target.close()
