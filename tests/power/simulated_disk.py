"""The content of a folder after a power cut, computed from the journal that shim.c writes.

The model is the worst case that POSIX allows:

- A write is on disk after a later sync of the file (fsync or fdatasync, by any descriptor). If the sync
  fails, the write is lost, also to later syncs, unless the process repeats it. As on Linux, the process still
  sees it.
- A change of a name (create, link, rename, remove) is on disk after a later sync of its folder. A sync of a
  file does not make its name durable, even if the file is new. A sync of a folder does not make the content
  of its files and sub-folders durable. A move between folders is two changes: the sync of one folder makes
  the new name durable, the sync of the other one the removal. If the sync fails, the next sync may do it.
- Changes without a sync may be on disk or not: see `Cut`.
"""

import enum
import os
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512
PAGE = 4096
_HEAD = struct.Struct("<qqqq")
_CREATED, _EMPTIED, _FOLDER = 1, 2, 4


class Cut(enum.Enum):
    """The fate of changes without a sync.

    STRICT  all are lost.
    TORN    some writes survive, whole or single sectors or pages; of each folder some first changes of names.
    """

    STRICT = "strict"
    TORN = "torn"


class Call(enum.IntEnum):
    """The kind of an entry of the journal."""

    OPEN = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC = 4
    FAILED_SYNC = 5
    MAKE_FOLDER = 6
    UNLINK = 7
    REMOVE_FOLDER = 8
    RENAME = 9
    LINK = 10
    CLOSE = 11
    SYNC_ALL = 12
    UNSUPPORTED = 13


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the journal."""

    call: Call
    handle: int
    offset: int
    data: bytes


def entries(journal: Path) -> Iterator[Entry]:
    """Yield the entries of a journal."""
    data = journal.read_bytes()
    place = 0
    while place < len(data):
        call, handle, offset, length = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        yield Entry(Call(call), handle, offset, data[place : place + length])
        place += length


@dataclass(eq=False, slots=True)
class File:
    """A file: its content on disk, and the writes since its last sync.

    A write is bytes at an offset, or a new size (None).
    """

    disk: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.unsynced:
            _apply(self.disk, offset, data)
        self.unsynced.clear()

    def after(self, cut: Cut, chance: random.Random) -> bytes:
        left = bytearray(self.disk)
        if cut is Cut.STRICT:
            return bytes(left)
        tear = _Tear(chance, chance.choice((SECTOR, PAGE)), chance.choice((0.1, 0.5, 0.9)))
        for offset, data in self.unsynced:
            if tear.happens():
                tear.apply(left, offset, data)
        return bytes(left)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    end = offset + len(data or b"")
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if data is None:
        del content[offset:]
    else:
        content[offset:end] = data


@dataclass(frozen=True, slots=True)
class _Tear:
    """How the unsynced writes of a file are torn: each unit of the disk arrives or not."""

    chance: random.Random
    unit: int
    share: float

    def happens(self) -> bool:
        return self.chance.random() < self.share

    def apply(self, content: bytearray, offset: int, data: bytes | None) -> None:
        """Apply a write, or only some of the units that it touches.

        In the second case the file may have grown, with zeros or old bytes in it.
        """
        if data is None or self.chance.random() < 0.5:
            _apply(content, offset, data)
            return
        if len(content) < offset + len(data) and self.chance.random() < 0.5:
            missing = offset + len(data) - len(content)
            content.extend(bytes(missing) if self.chance.random() < 0.5 else self.chance.randbytes(missing))
        start = offset
        while start < offset + len(data):
            end = min((start // self.unit + 1) * self.unit, offset + len(data))
            if self.happens():
                _apply(content, start, data[start - offset : end - offset])
            start = end


Names = dict[str, "File | Folder"]


@dataclass(eq=False, slots=True)
class Folder:
    """A folder: the names that the process sees, the names on disk, and the changes between the two.

    A change sets or removes (None) names.
    """

    names: Names = field(default_factory=dict)
    disk: Names = field(default_factory=dict)
    unsynced: "list[dict[str, File | Folder | None]]" = field(default_factory=list)

    def put(self, change: "dict[str, File | Folder | None]") -> None:
        _rename(self.names, change)
        self.unsynced.append(change)

    def sync(self) -> None:
        for change in self.unsynced:
            _rename(self.disk, change)
        self.unsynced.clear()

    def after(self, cut: Cut, chance: random.Random) -> Names:
        left = dict(self.disk)
        for change in self.unsynced[: 0 if cut is Cut.STRICT else chance.randint(0, len(self.unsynced))]:
            _rename(left, change)
        return left


def _rename(names: Names, change: "dict[str, File | Folder | None]") -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class Disk:
    """The files and folders below a folder. At the beginning everything is synced."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[tuple[int, int], File] = {}
        self._top = self._read(root)
        self._handles: dict[int, File | Folder] = {}
        self.calls = 0

    def _read(self, folder: Path) -> Folder:
        names: Names = {}
        for path in folder.iterdir():
            if path.is_dir():
                names[path.name] = self._read(path)
            else:
                status = path.stat()
                file = self._known.setdefault((status.st_dev, status.st_ino), File())
                file.disk = file.disk or bytearray(path.read_bytes())
                names[path.name] = file
        return Folder(names, dict(names))

    # entries of the journal

    def play(self, journal: Path) -> None:
        """Apply a journal. Raises AssertionError for a call that the journal cannot describe."""
        for entry in entries(journal):
            self.calls += entry.call is not Call.CLOSE
            self._take[entry.call](self, entry)

    def _open(self, entry: Entry) -> None:
        path = entry.data.decode()
        node = self._find(path)
        if node is None:
            assert not entry.offset & _FOLDER, f"{path} was never created"
            node = File()
            folder, name = self._place(path)
            folder.put({name: node})
        elif entry.offset & _EMPTIED and isinstance(node, File):
            node.unsynced.append((0, None))
        self._handles[entry.handle] = node

    def _write(self, entry: Entry) -> None:
        self._file(entry).unsynced.append((entry.offset, entry.data))

    def _truncate(self, entry: Entry) -> None:
        self._file(entry).unsynced.append((entry.offset, None))

    def _sync(self, entry: Entry) -> None:
        self._handles[entry.handle].sync()

    def _fail_to_sync(self, entry: Entry) -> None:
        node = self._handles[entry.handle]
        if isinstance(node, File):
            node.unsynced.clear()

    def _make_folder(self, entry: Entry) -> None:
        folder, name = self._place(entry.data.decode())
        folder.put({name: Folder()})

    def _unlink(self, entry: Entry) -> None:
        folder, name = self._place(entry.data.decode())
        folder.put({name: None})

    def _rename(self, entry: Entry) -> None:
        old, new = entry.data.decode().split("\1")
        (source, old_name), (target, new_name) = self._place(old), self._place(new)
        moved = source.names.get(old_name)
        if moved is None:  # a stream of <stdio.h> created the file
            return
        if source is target:
            source.put({old_name: None, new_name: moved})
        else:
            target.put({new_name: moved})
            source.put({old_name: None})

    def _link(self, entry: Entry) -> None:
        old, new = entry.data.decode().split("\1")
        folder, name = self._place(new)
        node = self._find(old)
        assert isinstance(node, File), f"{old} is no file"
        folder.put({name: node})

    def _close(self, entry: Entry) -> None:
        del self._handles[entry.handle]

    def _sync_all(self, _: Entry) -> None:
        for node in list(_walk(self._top)):
            node.sync()

    def _refuse(self, entry: Entry) -> None:
        raise AssertionError(f"the journal cannot describe a call of the process: {entry.data.decode()}")

    _take: "dict[Call, Callable[[Disk, Entry], None]]" = {
        Call.OPEN: _open,
        Call.WRITE: _write,
        Call.TRUNCATE: _truncate,
        Call.SYNC: _sync,
        Call.FAILED_SYNC: _fail_to_sync,
        Call.MAKE_FOLDER: _make_folder,
        Call.UNLINK: _unlink,
        Call.REMOVE_FOLDER: _unlink,
        Call.RENAME: _rename,
        Call.LINK: _link,
        Call.CLOSE: _close,
        Call.SYNC_ALL: _sync_all,
        Call.UNSUPPORTED: _refuse,
    }

    def _file(self, entry: Entry) -> File:
        node = self._handles[entry.handle]
        assert isinstance(node, File)
        return node

    def _parts(self, path: str) -> list[str]:
        return list(Path(path).relative_to(self.root).parts)

    def _find(self, path: str) -> "File | Folder | None":
        node: File | Folder | None = self._top
        for part in self._parts(path):
            node = node.names.get(part) if isinstance(node, Folder) else None
        return node

    def _place(self, path: str) -> tuple[Folder, str]:
        *above, name = self._parts(path)
        folder = self._find(str(self.root.joinpath(*above)))
        assert isinstance(folder, Folder), f"{path} is in no folder"
        return folder, name

    # the state after a power cut

    def cut(self, target: Path, cut: Cut, chance: random.Random) -> None:
        """Write the content of the disk after a power cut to a new folder."""
        self._write_folder(self._top, target, cut, chance, {})

    def _write_folder(
        self, folder: Folder, target: Path, cut: Cut, chance: random.Random, written: dict[File, Path]
    ) -> None:
        target.mkdir()
        for name, node in folder.after(cut, chance).items():
            path = target / name
            if isinstance(node, Folder):
                self._write_folder(node, path, cut, chance, written)
            elif name.endswith("-shm"):  # shared memory of processes, which they create anew
                continue
            elif node in written:
                os.link(written[node], path)
            else:
                path.write_bytes(node.after(cut, chance))
                written[node] = path


def _walk(node: "File | Folder") -> "Iterator[File | Folder]":
    yield node
    if isinstance(node, Folder):
        for below in node.names.values():
            yield from _walk(below)
