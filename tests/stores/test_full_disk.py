"""A full disk: a small file system in memory.

Errors call it full, no change is incomplete, and the store continues once there is room.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from store_files import ALICE, create, labels, register, sound, until

import idstore
from idstore import Registry
from idstore.errors import StoreUnavailable
from idstore.exchange import rdf
from idstore.stores.ledger.sqlite import SqliteLedger
from idstore.stores.store import DirectoryStore

SIZE = 48 << 20
ROOM = 1 << 18
"""Free bytes for the act."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A separate file system. Skips the test if none can be mounted."""
    if os.geteuid():
        pytest.skip("only root can mount a file system")
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, room: int = 0) -> None:
    """Fill the disk except for ``room`` bytes."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
    with filler.open("r+b") as file:
        file.truncate(max(0, filler.stat().st_size - room))


def clear(disk: Path) -> None:
    (disk / "filler").unlink()


def refusal(act: Callable[[], object]) -> str:
    try:
        act()
    except StoreUnavailable as error:
        return str(error)
    return ""


def repeat_until_refused(act: Callable[[int], object]) -> tuple[int, str]:
    """Repeat an act until it is refused. Returns how often it succeeded, and the error's message."""
    for number in range(100_000):
        message = refusal(lambda number=number: act(number))  # type: ignore[misc]
        if message:
            return number, message
    raise AssertionError("the disk was never full")


def listed(registry: Registry) -> set[str]:
    """Return the labels of the newest identifiers. A list without a limit would need room for a snapshot."""
    return {record.label for record in registry.list(ALICE, limit=100)}


@pytest.mark.parametrize("room", [0, 1 << 14, ROOM])
def test_acts_on_a_full_disk(disk: Path, room: int) -> None:
    """Acknowledged changes are kept. Refused changes are absent, also after the next opening."""
    place = disk / "store"
    registry = create(place)
    acknowledged: set[str] = set()

    def take(attempt: int, number: int) -> None:
        acknowledged.update(register(registry, [f"n{attempt}-{number}"]))

    for attempt in range(3):
        fill(disk, room)
        many, message = repeat_until_refused(partial(take, attempt))
        assert "the disk is full" in message
        assert refusal(lambda: registry.register("names", "again", ALICE))
        clear(disk)
        again = refusal(partial(take, attempt, many))
        if again:
            assert "open the store again" in again
            registry.close()
            registry = idstore.open(place)
            acknowledged |= register(registry, [f"n{attempt}-{many}"])
        assert labels(registry) == acknowledged
    registry.close()
    assert sound(place) == acknowledged


def test_a_store_on_a_full_disk_is_read_and_closed(disk: Path) -> None:
    place = disk / "store"
    with create(place) as registry:
        register(registry, ["one"])
        fill(disk)
        assert refusal(lambda: registry.register("names", "two", ALICE))
        assert listed(registry) == {"one"}
        assert registry.counts(ALICE).total == 1
        assert registry.show("names:one", ALICE).label == "one"
    with idstore.open(place, mode="shared") as reader:
        assert listed(reader) == {"one"}
    clear(disk)
    assert sound(place) == {"one"}


class Elsewhere:
    """A function that opens the ledger of a store in another folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ledger.sqlite"

    def __call__(self, _: Path) -> SqliteLedger:
        return SqliteLedger(self._path, create=not self._path.exists())


@pytest.mark.parametrize("room", [0, 1 << 12, 1 << 14, 1 << 16])
def test_a_durable_act_succeeds_although_its_projection_cannot_be_written(
    disk: Path, tmp_path: Path, room: int
) -> None:
    """The ledger is on another disk. An act in the ledger is done.

    The store neither reads nor writes until the projection has that act.
    """
    place, elsewhere = disk / "store", Elsewhere(tmp_path)
    store = DirectoryStore(place, create=True, ledger=elsewhere)
    registry = Registry(store)
    registry.initialize(ALICE)
    registry.add_namespace("names", "20.500.1", "handle", ALICE)
    fill(disk, room)
    acknowledged: set[str] = set()
    many, message = repeat_until_refused(
        lambda number: acknowledged.update(register(registry, [f"n{number}"]))
    )
    assert many > 0, "the first act that is missing from the projection alone is done"
    assert "the disk is full" in message
    for question in (
        listed,
        lambda registry: registry.counts(ALICE),
        lambda registry: registry.store.snapshot(),
    ):
        assert "the disk is full" in refusal(partial(question, registry))
    clear(disk)
    again = refusal(lambda: acknowledged.update(register(registry, ["later"])))
    if again:
        assert "open the store again" in again
        registry.close()
        registry = Registry(DirectoryStore(place, ledger=elsewhere))
        acknowledged |= register(registry, ["later"])
    assert labels(registry) == acknowledged
    assert [str(finding) for finding in registry.verify(ALICE)] == []
    registry.close()


def export(place: Path, many: int) -> Path:
    """Write a file with ``many`` identifiers to import."""
    path = place / "all.nq"
    with create(place / "source") as source:
        iris = [
            source.register("names", f"n{number}", ALICE, idstore.Request(name="x" * 500)).iri
            for number in range(many)
        ]
        source.fixate(iris, ALICE)
        with path.open("wb") as file:
            rdf.export(source, file, ALICE, "nquads")
    return path


LARGE: dict[str, Callable[[Registry, Path, Path], object]] = {
    "import": lambda registry, _, file: rdf.import_registry(registry, [file], ALICE, "nquads"),
    "bulk": lambda registry, _, __: bulk(registry),
    "backup": lambda registry, disk, _: registry.backup(disk / "backup", ALICE),
    "snapshot": lambda registry, _, __: registry.store.snapshot().close(),
}


def bulk(registry: Registry) -> None:
    with registry.store.bulk() as change:
        register(Registry(change), (f"b{number}" for number in range(50)))


@pytest.mark.parametrize(
    "room", [1 << 16, *(pytest.param(room, marks=pytest.mark.slow) for room in (0, 1 << 20))]
)
@pytest.mark.parametrize("what", LARGE)
def test_large_work_on_a_full_disk(disk: Path, tmp_path: Path, what: str, room: int) -> None:
    """The work is refused, leaves no trace, and succeeds once there is room."""
    place, file = disk / "store", export(tmp_path, 300)
    registry = create(place)
    register(registry, ["one"])
    fill(disk, room)
    message = refusal(lambda: LARGE[what](registry, disk, file))
    assert not message or "full" in message or "No space left" in message
    if message:
        assert listed(registry) == {"one"}
    clear(disk)
    if message:
        shutil.rmtree(disk / "backup", ignore_errors=True)
        until(
            lambda: not refusal(lambda: LARGE[what](registry, disk, file)),
            "it succeeds once there is room",
        )
    assert register(registry, ["two"])
    registry.close()
    assert sound(place) >= {"one", "two"}
    assert len(list(place.glob("generation-*"))) == 1
    if what == "backup":
        assert sound(disk / "backup") == {"one"}


def test_a_new_store_on_a_full_disk(disk: Path) -> None:
    fill(disk, 1 << 14)
    message = refusal(lambda: idstore.open(disk / "store", administrator=ALICE))
    assert "the disk is full" in message
    clear(disk)
    with create(disk / "store") as registry:
        register(registry, ["one"])
    assert sound(disk / "store") == {"one"}


def test_opening_on_a_full_disk(disk: Path) -> None:
    place = disk / "store"
    with create(place) as registry:
        register(registry, ["one"])
    fill(disk)
    message = refusal(lambda: idstore.open(place).close())
    assert not message or "full" in message
    clear(disk)
    assert sound(place) == {"one"}


@pytest.mark.parametrize("words", [("mint", "numbers"), ("comment", "names:one", "x" * 30_000)])
def test_the_command_line_says_that_the_disk_is_full(disk: Path, words: tuple[str, ...]) -> None:
    place = disk / "store"
    with create(place) as registry:
        register(registry, ["one"])
    fill(disk)
    environment = {**os.environ, "IDSTORE_USER": "alice", "IDSTORE_STORE": str(place)}
    command = [sys.executable, "-m", "idstore", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 6, done.stderr
    assert done.stdout == ""
    assert "full" in done.stderr and done.stderr.count("\n") == 1
    clear(disk)
    assert sound(place) == {"one"}
