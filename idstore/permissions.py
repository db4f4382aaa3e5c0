"""Who may use the files of a store: the people who may use its folder.

Each file and folder below a store's folder gets the folder's group, and the rights that the folder gives to
its owner and to its group, independent of the umask. It gives no rights to other accounts. What root makes
gets the folder's owner. So colleagues share a store whose folder is theirs: group and mode 2770.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from idstore.errors import StoreUnavailable

_FOLDER: Final = stat.S_IRWXU | stat.S_IRWXG
_CHANGED: Final = re.compile(r"\.sqlite(-wal|-shm)?$|^lock$", re.IGNORECASE)
"""Files that are changed in place."""
_FILE: Final = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IWGRP


def conform(path: Path) -> None:
    """Give a file, folder or socket the owner, group and rights that the folder above it implies.

    Another account's file is left as it is: `check` finds one that cannot be used.
    Raises OSError: the path is missing. Cost: about 5 µs.
    """
    above, present = path.parent.stat(), path.lstat()
    is_folder = stat.S_ISDIR(present.st_mode)
    if not (is_folder or stat.S_ISREG(present.st_mode) or stat.S_ISSOCK(present.st_mode)):
        return
    is_root = os.geteuid() == 0
    if not (is_root or present.st_uid == os.geteuid()):
        return
    mode = above.st_mode & (_FOLDER if is_folder else _FILE)
    owner = above.st_uid if is_root else present.st_uid
    if (present.st_uid, present.st_gid) != (owner, above.st_gid):
        try:
            os.chown(path, owner, above.st_gid, follow_symlinks=False)
        except PermissionError:  # not a member of that group, which may only read: see `check`
            mode &= ~stat.S_IRWXG
    if is_folder and mode & stat.S_IRWXG:
        mode |= stat.S_ISGID  # what the engine makes inside gets the group
    if stat.S_IMODE(path.lstat().st_mode) != mode:
        path.chmod(mode)


def fits(file: Path, folder: Path) -> bool:
    """Return whether a file would stay as it is in a folder: for the same people. Raises OSError."""
    above, present = folder.stat(), file.lstat()
    return (present.st_gid, stat.S_IMODE(present.st_mode)) == (above.st_gid, above.st_mode & _FILE) and (
        os.geteuid() != 0 or present.st_uid == above.st_uid
    )


def conform_tree(folder: Path) -> None:
    """Conform a folder and all that is below it. Files that vanish meanwhile are passed over.

    Raises OSError, if files are missing for another reason.
    """
    conform(folder)
    for path in _unsettled(folder):
        with suppress(FileNotFoundError):
            conform(path)


def conform_files(folder: Path) -> None:
    """Conform the files in a folder, not those further below. Raises OSError. Cost: about 2 µs for each."""
    for path in _unsettled(folder, deep=False):
        if not path.is_dir():
            with suppress(FileNotFoundError):
                conform(path)


def imitate(folder: Path, copy: Path) -> None:
    """Give a folder the rights of another one and, where this account may, its group; root also its owner.

    Its owner gets all rights.
    """
    status = folder.stat()
    mode = status.st_mode & (_FOLDER | stat.S_ISGID) | stat.S_IRWXU
    owner = status.st_uid if os.geteuid() == 0 else -1
    if copy.stat().st_gid != status.st_gid or owner not in (-1, copy.stat().st_uid):
        try:
            os.chown(copy, owner, status.st_gid)
        except PermissionError:
            mode &= stat.S_IRWXU
    copy.chmod(mode)


def check_folder(folder: Path) -> None:
    """Make sure that this account may use a store's folder, and that what it makes there is for its group.

    Raises StoreUnavailable, OSError.
    """
    status = folder.stat()
    if status.st_mode & stat.S_IWGRP and not _may_share(status):
        raise StoreUnavailable(
            f"{folder} is for its owner and its group, and this account is not in that group; add the account"
            " to the group, or take the group's rights away",
            path=str(folder),
        )
    _need(folder)


def check_files(folder: Path, *, skip: str) -> None:
    """Conform the files of a store that is to be written, and make sure that this account can use them all.

    A missing right would look like a broken disk later. No other process may write the store meanwhile.

    skip  name of a folder in it whose entries are not looked at.
    Raises StoreUnavailable: another account has to give a right; OSError. Cost: about 2 µs for each file.
    """
    for path in _unsettled(folder, skip=skip):
        with suppress(FileNotFoundError):
            conform(path)
            if path.is_socket():  # whoever may use the folder can take its place
                continue
            if path.is_dir() or _CHANGED.search(path.name) or not _is_readable(path):
                _need(path)
            elif not _is_usable(path):
                _replace(path)


def _replace(file: Path) -> None:
    """Replace a colleague's file by a copy of our own: a killed process left it without the group's rights.

    Raises OSError.
    """
    from shutil import copyfile  # slow import

    copy = file.with_name(f"{file.name}.copy")
    copyfile(file, copy)
    conform(copy)
    with copy.open("rb") as handle:
        os.fsync(handle)
    copy.replace(file)


def _may_share(status: os.stat_result) -> bool:
    """Whether this account can give files to the group of a folder."""
    return os.geteuid() == 0 or status.st_gid in {os.getegid(), *os.getgroups()}


def _is_readable(path: Path) -> bool:
    return path.is_symlink() or os.access(path, os.R_OK)


def _is_usable(path: Path) -> bool:
    """Whether this account may read and change a file or folder. One that may not be changed has no links."""
    return path.is_symlink() or os.access(path, os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0))


def _need(path: Path) -> None:
    if not _is_usable(path):
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            raise StoreUnavailable(
                f"{path} is on a file system that is mounted for reading only; mount it for writing, or"
                " restore a backup elsewhere",
                path=str(path),
            )
        raise StoreUnavailable(
            f"{path} may not be read and written by this account; its owner must give the store's group the"
            " rights of the owner on every file, or use the store once",
            path=str(path),
        )


def is_open_to_others(folder: Path) -> bool:
    """Whether accounts outside the folder's group may enter or list the folder. Raises OSError."""
    return bool(folder.stat().st_mode & stat.S_IRWXO)


def _unsettled(folder: Path, *, skip: str = "", deep: bool = True) -> Iterator[Path]:
    """Yield everything below a folder that has not yet the owner, group and rights that `conform` gives.

    What has them can be used by its owner. Each folder comes before its entries, so that it can be conformed.

    skip  name of a folder whose entries are left out.
    deep  whether entries of folders are looked at.
    Raises OSError: a folder cannot be read.
    """
    above, account = folder.stat(), os.geteuid()
    owner = account or above.st_uid
    file, inner = above.st_mode & _FILE, above.st_mode & _FOLDER
    inner |= stat.S_ISGID if inner & stat.S_IRWXG else 0
    sufficient = above.st_mode & stat.S_IRWXU == stat.S_IRWXU
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            with suppress(FileNotFoundError):
                present = entry.stat(follow_symlinks=False)
                expected = (owner, above.st_gid, inner if is_folder else file)
                found = (present.st_uid, present.st_gid, stat.S_IMODE(present.st_mode))
                if not (sufficient and found == expected):
                    yield Path(entry.path)
            if is_folder and deep and entry.name != skip:
                yield from _unsettled(Path(entry.path))
