"""Opening of registries: a store, its query runner and the registry on it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Literal, get_args

from pyoxigraph import NamedNode

from idstore import arguments, permissions
from idstore.errors import InvalidData, StoreUnavailable
from idstore.model.party import Party
from idstore.remedies import Remedy
from idstore.stores import files
from idstore.stores.contract import Answer, Limits, Runner, Store

if TYPE_CHECKING:
    from idstore.registry import Registry
    from idstore.registry.allocator import Allocator

Mode = Literal["write", "read", "shared"]
"""How a registry is opened: see `open`."""


@arguments.checks
def open(
    path: str | PathLike[str],
    *,
    mode: Mode = "write",
    administrator: Party | None = None,
    wait: float = 10.0,
    runner: Runner[Answer] | None = None,
) -> "Registry":
    """Open the registry in a directory. Close it after use, or open it in a ``with`` block.

    mode           ``write``: read and change; one process at a time has the store open so.
                   ``read``: read a snapshot of the newest state, and keep no process waiting. `Registry.age`
                   says how old it is, and `Registry.refresh` takes the newest one. Cost: a copy of the
                   catalogue; of the whole store, in a temporary folder, where this account may not write.
                   ``shared``: read the store itself, for a moment: other processes read too, but writers wait
                   until it is closed.
    administrator  create the registry, with this first administrator, if there is none. A directory that is
                   made is for its owner alone; one that exists says by its group and mode who uses it.
    wait           seconds to wait for another process that holds the store.
    runner         runs queries; by default each in a process of its own.

    Raises StoreUnavailable (no store, not a store, no permission), StoreBusy; InvalidData: no such mode, a
    waiting time that is none, an administrator without a name.
    """
    from idstore.registry import Registry

    if mode not in get_args(Mode):
        raise InvalidData(
            f"{mode!r} is no mode; there are {', '.join(get_args(Mode))}", field="mode", value=mode
        )
    folder = _store_folder(path)
    _check_wait(wait)
    with _released():
        if mode == "write":
            return Registry(_writer(folder, administrator, wait, runner=runner))
        return Registry(_reader(folder, wait, detached=mode == "read", runner=runner))


def open_allocator(
    path: str | PathLike[str], *, administrator: Party | None = None, wait: float = 10.0
) -> "Allocator":
    """Open the registry in a directory to allocate. Unlike `open` it imports only the modules for allocation.

    Parameters and errors: see `open`.
    """
    from idstore.registry.allocator import Allocator

    _check_wait(wait)
    with _released():
        return Allocator(_writer(_store_folder(path), administrator, wait))


def open_replica(
    path: str | PathLike[str], source: str, *, wait: float = 10.0, runner: Runner[Answer] | None = None
) -> "Registry":
    """Open a replica, to apply what its source publishes, or make an empty one in a vacant directory.

    source  the address of the server that it follows.
    Raises StoreUnavailable (another store, or a replica of another source), StoreBusy.
    """
    from idstore.registry import Registry
    from idstore.stores.store import DirectoryStore

    folder = _store_folder(path)
    mark = replica_mark(folder)
    if mark is None:
        if not is_vacant(folder):
            raise StoreUnavailable(
                f"{folder} holds something else; name an empty folder for a replica",
                remedy=Remedy.NAME_FOLDER,
                path=str(folder),
            )
        files.prepare(folder)
        mark = ReplicaMark(source)
        mark.write(folder)
    if mark.source != source:
        raise StoreUnavailable(
            f"{folder} is a replica of {mark.source}; name another folder",
            remedy=Remedy.NAME_FOLDER,
            path=str(folder),
        )
    check_current(folder)
    with _released():
        return Registry(DirectoryStore(folder, create=True, wait=wait, runner=runner or _run_query))


@dataclass(frozen=True, slots=True)
class ReplicaMark:
    """The file that marks a folder as a replica: only the replication of its source writes to that store.

    source       address of the server that it follows.
    store        IRI of the store at that address; empty until the server has been asked.
    checked      number of the last public event that was checked for being a redaction.
    is_outdated  whether a text was redacted at the source that the replica has.
    reached      number at the source of the last public event that the replica has, or is about to take.
    event        IRI of that event; empty: there is none.
    """

    source: str
    store: str = ""
    checked: int = 0
    is_outdated: bool = False
    reached: int = 0
    event: str = ""

    def write(self, folder: Path) -> None:
        """Write the file, on disk before this returns, whole or not at all. Raises StoreUnavailable."""
        draft = folder / files.REPLICA_DRAFT
        try:
            draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
            files.sync(draft)
            draft.replace(folder / files.REPLICA)
            permissions.conform(folder / files.REPLICA)
            files.sync(folder)
        except OSError as error:
            raise StoreUnavailable(
                f"{folder} cannot be marked as a replica: {error.strerror}; check the folder and the disk"
            ) from error


def replica_mark(folder: Path) -> ReplicaMark | None:
    """Return the mark of a replica; None: the folder is none.

    Raises StoreUnavailable: the file is damaged.
    """
    path = folder / files.REPLICA
    try:
        return ReplicaMark(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise StoreUnavailable(f"{path} cannot be read: {error}; make the replica again") from error


@arguments.checks
def restore(backup: str | PathLike[str], path: str | PathLike[str], *, wait: float = 10.0) -> None:
    """Create a registry from a backup, in a directory that is empty or does not exist.

    The backup stays unchanged.

    The new registry has the state of the backup: identity, log, and every label issued by then. It does not
    know the labels that the original issued afterwards: never use both.

    Raises StoreUnavailable (no backup, the directory is not empty), StoreBusy.
    """
    source = _store_folder(backup)
    _check_wait(wait)
    if not exists(source):
        raise StoreUnavailable(
            f"there is no backup at {backup}; name the folder of a backup", path=str(backup)
        )
    with closing(_reader(source, wait)) as store:
        store.backup(path)


def exists(path: str | PathLike[str]) -> bool:
    """Return whether a directory holds a store. Raises StoreUnavailable: the directory cannot be read."""
    return files.exists(files.folder(path))


def store_around(path: str | PathLike[str]) -> Path | None:
    """Return the folder of the store in which a path is, however deep; None: it is in none."""
    return files.store_around(files.folder(path))


def is_vacant(path: str | PathLike[str]) -> bool:
    """Return whether a store can be created in a directory. Raises OSError.

    The directory is missing, empty, or holds only the remains of an interrupted creation.
    """
    return files.is_vacant(Path(path))


def is_open_to_others(path: str | PathLike[str]) -> bool:
    """Return whether accounts outside the group of a directory may enter or list it. Raises OSError."""
    return permissions.is_open_to_others(Path(path))


def _store_folder(path: str | PathLike[str]) -> Path:
    """Return the folder of a store. Raises StoreUnavailable as `files.folder`, and for its name."""
    folder = files.folder(path)
    files.check_name(folder)
    return folder


def _check_wait(seconds: float) -> None:
    """Raise InvalidData: a time to wait is below 0, or no number."""
    if not seconds >= 0:
        raise InvalidData(
            f"wait is {seconds}; give a number of seconds from 0 on", field="wait", value=seconds
        )


@contextmanager
def _released() -> Iterator[None]:
    """Free what an opening holds after an error in it, also an interrupt at any line.

    A caller may keep the error and open again, and the frames of its traceback would keep locks and files.
    """
    try:
        yield
    except BaseException as error:
        clear_frames(error.__traceback__)
        raise


def _reader(
    folder: Path, wait: float, *, detached: bool = False, runner: Runner[Answer] | None = None
) -> Store:
    from idstore.stores.reader import ReadOnlyStore

    check = partial(check_current, folder)
    return ReadOnlyStore(folder, wait=wait, detached=detached, runner=runner or _run_query, check=check)


def _writer(
    folder: Path,
    administrator: Party | None,
    wait: float,
    *,
    runner: Runner[Answer] | None = None,
) -> Store:
    from idstore.stores.store import DirectoryStore

    if administrator is not None and not administrator.name:
        raise InvalidData(
            "an anonymous request administers nothing; name a party as the first administrator",
            field="administrator",
        )
    _check_no_replica(folder)
    store = DirectoryStore(folder, create=administrator is not None, wait=wait, runner=runner or _run_query)
    if (
        administrator is not None and not store.begun
    ):  # the process that created the store may have been killed
        from idstore.registry import Registry

        try:
            Registry(store).initialize(administrator)
        except BaseException:
            store.close()
            raise
    return store


def check_current(folder: Path) -> None:
    """Raise StoreUnavailable for a replica that has a text which was redacted at its source."""
    mark = _mark_of(folder)
    if mark is not None and mark.is_outdated:
        raise StoreUnavailable(
            f"a text was redacted at {mark.source}, and {folder} still has it; remove that folder, and start"
            " again"
        )


def _check_no_replica(folder: Path) -> None:
    """Raise StoreUnavailable for a replica, which nothing but its replication writes."""
    mark = _mark_of(folder)
    if mark is not None:
        raise StoreUnavailable(f"{folder} is a replica, which only reads; make the change at {mark.source}")


def _mark_of(folder: Path) -> ReplicaMark | None:
    """Return the mark of a replica, also None for a folder that cannot be read: opening it tells why."""
    try:
        is_replica = (folder / files.REPLICA).exists()
    except OSError:
        return None
    return replica_mark(folder) if is_replica else None


def _run_query(folder: str, text: str, graphs: Sequence[NamedNode], limits: Limits) -> Answer:
    """Run a query in a process of its own. The import of the query package waits for the first query."""
    from idstore.queries.process import run

    return run(folder, text, graphs, limits)
