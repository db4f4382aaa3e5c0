"""Files that a command writes, and ``-`` for standard output."""

import gzip
import io
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, Protocol, cast

from idstore.cli import inputs
from idstore.cli.output import copy_to_stdout
from idstore.cli.termination import UsageError
from idstore.exchange.sources import PACKED, ending

_IN_MEMORY: Final = 1 << 24
"""Bytes that are held in memory before they go to a temporary file."""
_LEVEL: Final = 6
"""Compression level, the default of the gzip command."""
_BUFFER: Final = 1 << 16
_ENDING: Final = re.compile(r"\.[a-z][a-z0-9]{0,9}")
_PLAIN: Final = frozenset(
    (".txt", ".text", ".out", ".tmp", ".bak", ".backup", ".new", ".old", ".part", ".draft", ".dat")
)
"""Endings that stand for no format."""
_PREFIX: Final = ".idstore-"
"""Prefix of temporary files. Their names do not contain the target's, which may have the maximum length."""


class _Writable(Protocol):
    def write(self, data: Any, /) -> int | None: ...


@contextmanager
def open_output(file: str) -> Iterator[IO[bytes]]:
    """Open a file, or ``-`` for standard output, to write.

    A file appears complete or not at all. Standard output is spooled, so that a slow reader does not hold up
    the store. A file whose name ends in ``.gz`` is compressed. A replaced file keeps its mode; until then
    only its owner can read the temporary file.

    Raises UsageError, before the block runs: no file can be written there, or it is in a store's folder.
    Raises OSError, with the file's name: the disk is full.
    """
    path = None if file == inputs.STDIN else _target(file)
    if file.lower().endswith(".xlsx.gz"):
        raise UsageError(f"a workbook is packed already; name {file} without .gz")
    if path is not None:
        check_outside_stores(file)
    if path is not None and not _is_device(path):
        with _replacement(file, path) as target:
            yield target
        return
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        with _buffered(spool) as target:
            yield target
        spool.seek(0)
        if path is None:
            copy_to_stdout(cast("IO[bytes]", spool))
        else:
            with path.open("wb", buffering=0) as device, _buffered(device, file) as target:
                shutil.copyfileobj(spool, target)


def check_ending(file: str, written: Collection[str], remedy: str) -> None:
    """Raise UsageError if the ending of a file to write stands for a format that is not written.

    written  endings that stand for what is written.
    remedy   what to do instead.
    """
    suffix = ending(file)
    if file != inputs.STDIN and suffix not in (*written, *_PLAIN) and _ENDING.fullmatch(suffix):
        raise UsageError(f"{suffix} at the end of {file} stands for another format; {remedy}")


def _target(file: str) -> Path:
    """Return the path to write. Raises UsageError."""
    if not file:
        raise UsageError("the name of the file to write is empty; give one, or - for standard output")
    if _is_device(Path(file)):
        return Path(file)  # /dev/stdout may lead to something that has no path
    try:
        path = Path(file).resolve()
        with suppress(FileNotFoundError):
            path.stat()  # from Python 3.13 on, `resolve` does not refuse links that form a loop
        reason = "" if path.parent.is_dir() else f"there is no folder {path.parent}"
        if path.is_dir():
            reason = "it is a folder"
    except (
        OSError,
        RuntimeError,
    ) as error:  # the name is too long, a folder is not readable, or links form a loop
        reason = getattr(error, "strerror", None) or str(error)
    if reason:
        raise UsageError(f"{file} cannot be written: {reason}")
    return path


def check_outside_stores(name: str | Path) -> None:
    """Raise UsageError if a file or folder to write is inside the folder of a store."""
    from idstore import opening

    store = opening.store_around(name)
    if store is not None:
        raise UsageError(
            f"{name} cannot be written: it is in the folder of the store {store}; name a place outside it"
        )


def _is_device(path: Path) -> bool:
    """Return whether a path is a pipe, a terminal or another device, to which a rename does not apply."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:
        return False


def _new_mode() -> int:
    """Return the mode of a new file, by the user's umask."""
    umask = os.umask(0o077)  # the umask cannot be read without being set
    os.umask(umask)
    return 0o666 & ~umask


@contextmanager
def _replacement(file: str, path: Path) -> Iterator[IO[bytes]]:
    """Write a temporary file beside the target, and rename it to the target at the end.

    Raises UsageError: no file can be created in the folder. Raises OSError.
    """
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else _new_mode()
    try:
        handle, name = tempfile.mkstemp(prefix=_PREFIX, dir=path.parent)  # readable for its owner alone
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: no file can be made in {path.parent} ({error.strerror})"
        ) from error
    try:
        with os.fdopen(handle, "wb", buffering=0) as temporary:
            with _buffered(temporary, file) as target, _compressed(file, target) as compressed:
                yield compressed
            os.fchmod(temporary.fileno(), mode)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def _compressed(file: str, target: IO[bytes]) -> Iterator[IO[bytes]]:
    """Compress what is written if the file's name asks for it; equal content gives equal bytes."""
    if not file.lower().endswith(PACKED):
        yield target
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, compresslevel=_LEVEL, mtime=0) as compressed:
        yield cast("IO[bytes]", compressed)


def write_temporary(chunks: Iterable[bytes], path: Path) -> None:
    """Write chunks to a temporary file. Raises OSError, with the remedy: the disk is full."""
    with path.open("wb", buffering=0) as file, _buffered(file) as target:
        target.writelines(chunks)


class _NamedWriter(io.RawIOBase):
    """A writer whose errors name the file; those of the system do not.

    name  the file's name in errors; None for a temporary file.
    """

    def __init__(self, file: _Writable, name: str | None) -> None:
        super().__init__()
        self._file = file
        self._name = name
        self.discards = False

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int | None:
        """Write some or all bytes, and return their number. Raises OSError."""
        if self.discards:
            return len(data)
        try:
            return self._file.write(data)
        except OSError as error:
            if self._name is None:
                name = f"temporary files in {tempfile.gettempdir()}"
                remedy = "; free some space, or name another folder in TMPDIR"
            else:
                name, remedy = self._name, ""
            raise OSError(error.errno, f"{error.strerror}{remedy}", name) from error


@contextmanager
def _buffered(file: _Writable, name: str | None = None) -> Iterator[IO[bytes]]:
    """Buffer writes to a file, and flush them if the block succeeds.

    Raises OSError, as `_NamedWriter` does.
    """
    raw = _NamedWriter(file, name)
    target = io.BufferedWriter(raw, _BUFFER)
    try:
        yield target
        target.flush()
    finally:
        raw.discards = True  # after a failure the rest of the buffer must not reach the file
        target.close()
