"""Opening a registry in a directory."""

from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from idstore.errors import StoreUnavailable
from idstore.model.party import Party
from idstore.registry.allocation import Allocating
from idstore.stores.embedded import EmbeddedStore

if TYPE_CHECKING:
    from idstore.registry import Registry
    from idstore.stores.ahead import Ahead


def open(
    path: str | PathLike[str],
    *,
    administrator: Party | None = None,
    wait: float = 10.0,
    durability: str = "power",
    read_only: bool = False,
    detached: bool = False,
    brief: bool = False,
) -> "Registry":
    """Open the registry in a directory; close it when done, or use it in a ``with`` block.

    administrator  make a registry there, with this first administrator, if there is none.
    wait           seconds to wait for another process that holds it.
    durability     ``power``: what is acknowledged survives a power cut; ``process``: it survives the end of the process.
    read_only      nothing can be changed, others may read at the same time; while another process holds it, its newest state is read. What `brief`
                   left is applied first; whoever may not write there reads the state before it, and ``store.behind`` says so.
    detached       with ``read_only``: read the state of this moment and keep no writer waiting, however long it takes.
    brief          for one quick allocation: much faster to open; whoever opens the registry next has the rest of the work.

    Raises StoreUnavailable (nothing there, not a store, no permission), StoreBusy.
    """
    folder = Path(path)
    if read_only:
        from idstore.registry import Registry
        from idstore.stores.reader import open_reader

        return Registry(open_reader(folder, wait, detached=detached))
    store = EmbeddedStore(folder, create=administrator is not None, durable=durability != "process", wait=wait, brief=brief)
    return _begun(store, administrator)


def allocating(ahead: "Ahead", administrator: Party) -> Allocating:
    """Open what there is of a registry for one quick allocation: as ``open(…, brief=True)``, and nothing else of it is imported."""
    store = EmbeddedStore(ahead.path, create=True, brief=True, lock=ahead.lock, engine=ahead.engine)
    return Allocating(store) if store.begun else _begun(store, administrator)


def _begun(store: EmbeddedStore, administrator: Party | None) -> "Registry":
    """The registry in a store, which begins with its first administrator."""
    from idstore.registry import Registry

    registry = Registry(store)
    if administrator is not None and not store.begun:  # also when whoever made the store was stopped before this
        try:
            registry.initialize(administrator)
        except BaseException:
            registry.close()
            raise
    return registry


def restore(backup: str | PathLike[str], path: str | PathLike[str], *, wait: float = 10.0) -> None:
    """Make a registry of a backup, in a directory that is empty or not there; the backup stays as it is.

    It is the same registry, as of the backup: its identity, its log, and every label that it had issued by then. What the original issued
    afterwards the restored one does not know: never use both.
    Raises StoreUnavailable (no backup there, the directory is not empty), StoreBusy.
    """
    from idstore.stores.founding import exists
    from idstore.stores.reader import open_reader

    if not exists(Path(backup)):
        raise StoreUnavailable(f"there is no backup at {backup}; name the folder that `idstore backup` made", path=str(backup))
    with closing(open_reader(Path(backup), wait)) as kept:
        kept.backup(Path(path))
