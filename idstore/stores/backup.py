"""Backup: a copy of a store that is a store itself.

Ledger (claims and head), engine and catalogue are of one moment. The copy becomes a store only when it is
complete and on disk. On the same disk, files that the engine never changes are shared by hard links.
The copy of a replica is a replica too: if it were writable, it would issue labels of the source again.
"""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from idstore import permissions
from idstore.disk_errors import cause_and_remedy
from idstore.errors import IdstoreError, StoreUnavailable
from idstore.stores import files
from idstore.stores.ledger.contract import EMPTY_HEAD, Head, Ledger, NumberedClaim, Row
from idstore.stores.ledger.sqlite import SqliteLedger
from idstore.stores.lock import DirectoryLock
from idstore.stores.projection import bases
from idstore.stores.projection.catalogue import Catalogue
from idstore.stores.projection.generation import CATALOGUE, FAILURES
from idstore.stores.projection.oxigraph import ENGINE, copy_files
from idstore.stores.snapshots import Use, mark_of


def back_up(source: Path, publish: Callable[[], Use], ledger: Ledger, target: Path) -> None:
    """Copy the snapshot that ``publish`` returns, with its catalogue; see `copy_store`.

    Raises StoreUnavailable.
    """
    try:
        with publish() as snapshot:
            copy_store(source, snapshot, ledger, target)
    except IdstoreError:
        raise
    except FAILURES as error:
        why, remedy = cause_and_remedy(error, source)
        raise StoreUnavailable(
            f"no backup can be made in {target}: {why}; {remedy}", path=str(target)
        ) from error


def copy_store(source: Path, snapshot: Use, ledger: Ledger, target: Path) -> None:
    """Copy a store into the empty or missing folder ``target``.

    source    the store's folder; a folder created for the copy has the same permissions.
    snapshot  a snapshot with its catalogue.
    Raises StoreUnavailable: the folder is not empty or not writable; then there is no store in it.
    """
    _check(target)  # before locking: the lock of an existing store may be held
    mark = mark_of(snapshot.folder.name)
    made = not target.exists()
    files.prepare(target)
    if made:
        permissions.imitate(source, target)
    lock = DirectoryLock(target / files.LOCK)
    try:
        lock.acquire(shared=False, wait=0.0)
        _check(target)
        with files.Founding(target) as draft:
            _copy_ledger(ledger, _head(snapshot, ledger, mark), draft)
            files.sync(target)
            generation = files.generation_folder(target, 1)
            generation.mkdir()
            permissions.conform(generation)
            copy_files(snapshot.engine, generation / ENGINE)
            shutil.copyfile(snapshot.folder / CATALOGUE, generation / CATALOGUE)
            bases.keep(generation, lambda copy: _copy_engine(snapshot, copy, mark))
            permissions.conform_tree(generation)
            files.sync_tree(generation)
            _copy_replica_mark(source, target)
    finally:
        lock.release()


def _check(target: Path) -> None:
    """Raise StoreUnavailable if there is a store."""
    if files.exists(target):
        raise StoreUnavailable(
            f"a store exists at {target} already; name an empty folder, or one that does not exist",
            path=str(target),
        )


def _copy_replica_mark(source: Path, target: Path) -> None:
    """Make the copy of a replica a replica of the same source, and no other copy a replica.

    An interrupted copy may have left a mark in ``target``.
    """
    copy = target / files.REPLICA
    copy.unlink(missing_ok=True)
    if (source / files.REPLICA).exists():
        shutil.copyfile(source / files.REPLICA, copy)
        permissions.conform(copy)
        files.sync(copy)


def _copy_engine(snapshot: Use, copy: Path, mark: int) -> int:
    copy_files(snapshot.engine, copy)
    return mark


def _head(snapshot: Use, ledger: Ledger, mark: int) -> Head:
    """Return the head of the copy's journal.

    Its next event is later than all events here, including those of other stores.
    """
    if not mark:
        return EMPTY_HEAD
    with closing(Catalogue(snapshot.folder / CATALOGUE, read_only=True)) as catalogue:
        return Head(mark, catalogue.questions.sequence, ledger.head().at + 1, -1)


def _copy_ledger(ledger: Ledger, head: Head, draft: Path) -> None:
    """Create a ledger file with the given head and the claims up to it."""
    if isinstance(ledger, SqliteLedger):
        ledger.copy(draft, head, 1)
        return
    with (
        closing(SqliteLedger(draft, create=True, origin=ledger.origin)) as copy,
        copy.transaction() as transaction,
    ):
        claims = (NumberedClaim(claim, head.number) for claim in ledger.claims(head.number))
        transaction.switch(1, Row(head, None), claims)
        transaction.commit()
