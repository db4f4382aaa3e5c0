"""Helpers for tests of stores on disk: files, other processes and threads, and checks of a store."""

import fcntl
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import idstore
from idstore import Party, Registry, Statement

T = TypeVar("T")

ALICE = Party("alice")
PATIENCE = 60
"""Seconds that a test waits for a required event before it fails."""


def create(place: Path) -> Registry:
    """Create a registry with two namespaces.

    Labels are chosen in ``names`` and numbered in ``numbers``.
    """
    registry = idstore.open(place, administrator=ALICE)
    registry.add_namespace("names", "20.500.1", "handle", ALICE)
    registry.add_namespace("numbers", "http://n.example.org/", "puid", ALICE)
    return registry


def register(registry: Registry, labels: Iterable[str]) -> set[str]:
    """Register labels and return the acknowledged ones."""
    return {registry.register("names", label, ALICE).label for label in labels}


def labels(registry: Registry) -> set[str]:
    """Return the labels of all identifiers."""
    return {record.label for record in registry.list(ALICE, limit=None)}


def sound(place: Path) -> set[str]:
    """Return the labels of the store in a folder. Fails if `verify` finds a fault."""
    with idstore.open(place) as registry:
        assert [str(finding) for finding in registry.verify(ALICE)] == []
        listed = labels(registry)
        assert registry.counts(ALICE).total == len(listed)
        return listed


def sound_copy(place: Path) -> set[str]:
    """Return the result of `sound` for a copy of a store whose files a process may still have open."""
    copied = place.with_name(f"copy-of-{place.name}")
    copy(place, copied)
    try:
        return sound(copied)
    finally:
        shutil.rmtree(copied)


# files


def ledger(place: Path) -> Path:
    """Return the ledger of a store."""
    return place / "ledger.sqlite"


def generation(place: Path) -> Path:
    """Return the only generation of a store."""
    [found] = place.glob("generation-*")
    return found


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder of an idle store.

    The engine may still remove obsolete files during the copy.
    """
    while source.is_dir():
        try:
            shutil.copytree(source, target)
        except shutil.Error:
            shutil.rmtree(target)
        else:
            return
    shutil.copyfile(source, target)


def flip(file: Path, *places: int) -> None:
    """Flip one bit in each byte at these places."""
    data = bytearray(file.read_bytes())
    for place in places:
        data[place] ^= 0x10
    file.write_bytes(data)


def open_files(folder: Path) -> list[str]:
    """Return the files below a folder that this process has open."""
    found = []
    for number in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(number.readlink())
    return sorted(str(file.relative_to(folder)) for file in found if file.is_relative_to(folder))


def locked(folder: Path) -> list[str]:
    """Return the locked lock files of stores and snapshots below a folder."""
    found = []
    for path in (*folder.rglob("lock"), *folder.rglob("in-use")):
        with suppress(FileNotFoundError), path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(str(path.relative_to(folder)))
    return sorted(found)


# processes


def run(code: str, *arguments: object, status: int = 0) -> str:
    """Run a Python program in a process and return its output. Fails if it ends with another status."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5 * PATIENCE, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def allocate_repeatedly(place: Path, number: int, queue: "multiprocessing.SimpleQueue[list[str]]") -> None:
    """Open a store three times, allocate, bind, publish and read, and put every received IRI into the queue.

    Runs in a child process.
    """
    given: list[str] = []
    for turn in range(3):
        with idstore.open(place, wait=120) as registry:
            given += [registry.mint("numbers", ALICE).iri for _ in range(30)]
            registry.bind(given[-1], Statement(f"http://example.org/{number}/{turn}", given[-1]), ALICE)
            registry.fixate(given[-1:], ALICE)
            assert {record.iri for record in registry.list(ALICE, limit=None)} >= set(given)
    queue.put(given)


@contextmanager
def running(code: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Yield a process that runs a Python program, with pipes, and kill it when the block ends."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: "subprocess.Popen[str]") -> str:
    """Return the next line that a process prints, empty after its end."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def rest(process: "subprocess.Popen[str]") -> str:
    """Return what a process printed after the last `line`, until its end.

    `communicate` would read past the lines that are in a buffer already.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    text = process.stdout.read()
    process.wait()
    return text


def forked(act: Callable[[], Any]) -> Any:
    """Return the result of an act in a fork of this process, passed as JSON. Fails if the act raises."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            encoded = json.dumps(act())
        except BaseException as error:  # noqa: BLE001 the parent is told
            encoded = json.dumps({"raised": f"{type(error).__name__}: {error}"})
        with os.fdopen(theirs, "w") as pipe:
            pipe.write(encoded)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        encoded = pipe.read()
    os.waitpid(child, 0)
    answer = json.loads(encoded)
    assert not (isinstance(answer, dict) and "raised" in answer), answer["raised"]
    return answer


@contextmanager
def living_fork(act: Callable[[], object] = lambda: None) -> Iterator[int]:
    """Yield the number of a fork of this process that lives as long as the block, and then runs an act."""
    ours, theirs = os.pipe()
    there, begun = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(theirs)
        os.write(begun, b"x")
        os.read(ours, 1)  # until the parent has finished
        act()
        os._exit(0)
    try:
        os.read(there, 1)
        yield child
    finally:
        os.close(theirs)
        os.waitpid(child, 0)
        for pipe in (ours, there, begun):
            os.close(pipe)


# threads


class Thread(Generic[T]):
    """A function that runs in a thread of its own."""

    def __init__(self, act: Callable[[], T]) -> None:
        self._act = act
        self._outcome: list[T] = []
        self._error: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome.append(self._act())
        except BaseException as error:  # noqa: BLE001 the thread that asks is told
            self._error.append(error)

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def result(self) -> T:
        """Return the result of the function, or raise its error. Fails if it does not end."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the thread did not end"
        if self._error:
            raise self._error[0]
        return self._outcome[0]


def until(condition: Callable[[], object], what: str) -> None:
    """Return when a condition holds. Fails if it never holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.001)


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of a folder with their contents, as far as they do not vanish meanwhile."""
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            try:
                content = path.read_bytes() if path.is_file() else None
            except FileNotFoundError:
                continue
            if content is not None:
                yield path, content
