"""Sessions of work on a failing disk, and the checks after each session."""

import errno
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from power_worker import ALICE, CHOSEN, NUMBERED
from simulated_disk import Cut, Disk

import idstore
from idstore import Registry, Stage
from idstore.errors import IdstoreError, NotRegistered

HERE = Path(__file__).parent
WRITES, SYNCS, NEW_NAMES, OTHER_NAMES, SHORT = 1, 2, 4, 8, 16
NO_SPACE = (WRITES | NEW_NAMES | SHORT, errno.ENOSPC)
IO_ERROR = (WRITES | SYNCS | NEW_NAMES | OTHER_NAMES, errno.EIO)
REMEDY = re.compile("free some space|try again|name another folder|open the store again|check the disk")
"""The remedies with which a refusal ends."""
Message = dict[str, Any]


def compiled(folder: Path) -> Path:
    """Compile the shim and return its path. Skips the test if there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler (cc) to put a simulated disk under a process")
    library = folder / "shim.so"
    source = HERE / "shim.c"
    made = subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        pytest.fail(f"shim.c cannot be compiled: {made.stderr}")
    return library


class Workers:
    """A process that runs each order in a child process."""

    def __init__(self, library: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "power_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LD_PRELOAD": str(library)},
        )

    def order(self, **order: object) -> tuple[list[Message], int]:
        """Run an order. Returns the child's messages and exit code (negative: the signal that ended it)."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        messages: list[Message] = []
        for line in self._process.stdout:
            message = json.loads(line)
            if "end" in message:
                return messages, message["end"]
            messages.append(message)
        raise AssertionError("the worker is gone")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()


class LostError(AssertionError):
    """An acknowledged change is missing, or a change is incomplete."""


def messages_of(script: str, *arguments: object) -> list[Message]:
    """Run a script beside this file, and return the messages of its processes. Fails if one of them fails."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert [message["trace"] for message in messages if message["act"] == "failed"] == []
    return messages


@dataclass(slots=True)
class Promises:
    """All acknowledged changes, over all sessions."""

    stages: dict[str, str] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)
    doomed: set[str] = field(default_factory=set)
    released: set[str] = field(default_factory=set)
    imports: dict[str, int] = field(default_factory=dict)
    backups: dict[str, set[str]] = field(default_factory=dict)
    _begun: dict[str, set[str]] = field(default_factory=dict)

    def take(self, messages: list[Message]) -> None:
        """Take in messages. Raises LostError if a label was issued twice."""
        for message in messages:
            match message:
                case {"act": "mint" | "register", "id": iri}:
                    if iri in self.stages:
                        raise LostError(f"{iri} was issued twice")
                    self.stages[iri] = "created"
                case {"act": "fixate", "id": iri}:
                    self.stages[iri] = "fixated"
                case {"act": "bind", "id": iri}:
                    self.bound.add(iri)
                case {"act": "try-release", "id": iri}:
                    self.doomed.add(iri)
                case {"act": "release", "id": iri}:
                    self.released.add(iri)
                case {"act": "import", "path": path, "created": created}:
                    self.imports.setdefault(path, created)
                case {"act": "try-backup", "path": name}:
                    self._begun[name] = set(self.stages)
                case {"act": "backup", "path": name}:
                    self.backups[name] = self._begun[name]
                case {"act": "restore", "path": name, "of": backup}:
                    self.backups[name] = self.backups[backup]

    def check(self, registry: Registry) -> None:
        """Raise LostError unless all acknowledged changes are there, complete."""
        findings = [str(finding) for finding in registry.verify(ALICE)]
        if findings:
            raise LostError("; ".join(findings[:5]))
        for iri, stage in self.stages.items():
            self._check_one(registry, iri, stage)

    def _check_one(self, registry: Registry, iri: str, stage: str) -> None:
        try:
            record = registry.show(iri, ALICE)
        except NotRegistered:
            if iri not in self.doomed:
                raise LostError(f"{iri} is gone") from None
            return
        if iri in self.released:
            raise LostError(f"{iri} was released, and is back")
        if stage == "fixated" and record.stage is not Stage.FIXATED:
            raise LostError(f"{iri} is {record.stage}, and was fixated")
        if iri in self.bound and not any(binding.target == f"{iri}/same" for binding in record.bindings):
            raise LostError(f"the binding of {iri} is gone")


def check_store(folder: Path, promises: Promises, imports: dict[str, tuple[str, int]]) -> None:
    """Open the store after a failure and check it. Raises LostError, or the errors of a broken store.

    imports  file → its namespace, and how many identifiers it creates there.
    """
    if not (folder / "store").is_dir() and promises.stages:
        raise LostError("the store is gone")
    with idstore.open(folder / "store", administrator=ALICE) as registry:
        promises.check(registry)
        counts = count_by_base(registry)
        for path, (base, whole) in imports.items():
            count = counts.get(base, 0)
            if count not in ((whole,) if path in promises.imports else (0, whole)):
                raise LostError(f"{count} of {whole} identifiers of {path} are there")
        give_out_more(registry, promises)


def count_by_base(registry: Registry) -> dict[str, int]:
    counted: dict[str, int] = {}
    for base, _, _, count in registry.counts(ALICE).tallies:
        counted[base] = counted.get(base, 0) + count
    return counted


def give_out_more(registry: Registry, promises: Promises) -> None:
    """Mint and register more identifiers. Raises LostError if a label is issued again."""
    for namespace in registry.namespaces():
        if namespace.name == NUMBERED:
            iri = registry.mint(NUMBERED, ALICE).iri
            if iri in promises.stages:
                raise LostError(f"{iri} is issued a second time")
        if namespace.name == CHOSEN:
            taken = next((iri for iri in promises.stages if "20.500.1" in iri), None)
            if taken is not None:
                with pytest.raises(IdstoreError):
                    registry.register(CHOSEN, taken.rpartition("/")[2], ALICE)


def foreign_files(folder: Path, many: int, size: int) -> dict[str, tuple[str, int]]:
    """Export ``many`` other registries, each with published identifiers in its own namespace.

    Returns file → base and number of identifiers.
    """
    from idstore.exchange.rdf import export

    made = {}
    for number in range(many):
        with idstore.open(folder / f"other{number}", administrator=ALICE) as registry:
            home = registry.add_namespace(f"other{number}", f"20.500.{number + 2}", "handle", ALICE)
            made_there = [registry.register(home.name, f"f{label}", ALICE).iri for label in range(size)]
            registry.fixate(made_there, ALICE)
            path = folder / f"other{number}.trig"
            with path.open("wb") as target:
                export(registry, target, ALICE, "trig")
        made[str(path)] = (home.base, size)
    return made


@dataclass(slots=True)
class Outcome:
    """Counts of a series of power cuts."""

    cuts: int = 0
    acknowledged: int = 0
    calls: int = 0
    backups: int = 0


class PowerCuts:
    """Sessions on one disk. A power cut at a random call ends each; the next one continues on that disk."""

    def __init__(
        self, folder: Path, workers: Workers, seed: int, files: dict[str, tuple[str, int]], **order: object
    ) -> None:
        self.folder = folder
        self._workers = workers
        self._chance = random.Random(seed)
        self._files = files
        self._order = order
        self._number = 0
        self.outcome = Outcome()
        self.begin()

    def begin(self) -> None:
        """Begin with a new, empty disk."""
        self._number += 1
        self.promises = Promises()
        self.disk = self.folder / f"disk{self._number}"
        self.disk.mkdir(parents=True)

    def cut(self, *, within: int) -> None:
        """Work, lose power at one of the first ``within`` calls, and check. Raises LostError."""
        chance = self._chance
        disk = Disk(self.disk)
        self._number += 1
        left, journal = self.folder / f"disk{self._number}", self.folder / "journal"
        messages, status = self._workers.order(
            do="work",
            folder=str(self.disk),
            journal=str(journal),
            kill_at=int(within ** chance.random()) if chance.random() < 0.3 else chance.randint(1, within),
            seed=chance.random(),
            threads=chance.choice((1, 1, 4)),
            briefly=chance.random() < 0.3,
            acts=10_000,
            imports=[path for path in self._files if path not in self.promises.imports],
            **self._order,
        )
        failed = [message for message in messages if message["act"] == "failed"]
        assert status == -9, f"not killed but ended ({status}): {failed or messages[-1:]}"
        disk.play(journal)
        mode = chance.choice((Cut.STRICT, Cut.TORN, None))
        if mode is None:
            shutil.copytree(self.disk, left)
        else:
            disk.cut(left, mode, chance)
            _start_anew(left)
        shutil.rmtree(self.disk)
        self.disk = left
        self.outcome.cuts += 1
        self.outcome.calls += disk.calls
        self.outcome.acknowledged += sum(
            message["act"] in ("mint", "register", "bind", "fixate", "release", "import")
            for message in messages
        )
        self.promises.take(messages)
        self._check(f"cut {self.outcome.cuts} ({mode})")

    def _check(self, what: str) -> None:
        """Check a copy. The next session begins with the disk itself, so that a cut may hit recovery too."""
        copy = self.folder / "checked"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.disk, copy)
        try:
            check_store(copy, self.promises, self._files)
            self.outcome.backups += check_backups(copy, self.promises)
        except (AssertionError, IdstoreError, OSError) as error:
            raise LostError(f"{what}: {error}") from error
        self.promises.backups.clear()
        shutil.rmtree(self.disk / "backups", ignore_errors=True)


def _start_anew(disk: Path) -> None:
    """Let the stores of a disk see that the system was started anew: here it goes on running."""
    for lock in disk.rglob("lock"):
        lock.write_bytes(b"")


class KilledSteps:
    """Single acts, each on a new disk and killed at one of its calls.

    Two states are checked: the one that the process saw, and the one on disk.
    """

    def __init__(self, folder: Path, workers: Workers, files: dict[str, tuple[str, int]]) -> None:
        self._folder = folder
        self._workers = workers
        self._files = files
        self._number = 0

    def kill(self, act: str, at: int, prune: int | None = None) -> int:
        """Kill the act at call ``at``, counted from 1; 0 kills nothing.

        Returns how many calls the act made, 0 if it was killed. Raises LostError.
        """
        self._number += 1
        disk, journal, left = (self._folder / f"{name}{self._number}" for name in ("disk", "journal", "left"))
        disk.mkdir()
        before = Disk(disk)
        messages, status = self._workers.order(
            do="step",
            folder=str(disk),
            journal=str(journal),
            seed=7,
            act=act,
            at=at,
            prune=prune,
            imports=list(self._files),
        )
        assert status in (0, -9), f"{act}, call {at}: {messages[-1]}"
        before.play(journal)
        before.cut(left, Cut.STRICT, random.Random(0))
        for place in (disk, left):
            promises = Promises()
            promises.take(messages)
            try:
                check_store(place, promises, self._files)
                check_backups(place, promises)
            except (AssertionError, IdstoreError, OSError) as error:
                raise LostError(f"{act}, call {at}, {place.name}: {error}") from error
        shutil.rmtree(disk)
        shutil.rmtree(left)
        return next((message["calls"] for message in messages if message["act"] == "counted"), 0)


@dataclass(frozen=True, slots=True)
class Fault:
    """Calls that fail.

    which  kinds of calls.
    error  the errno that they give.
    first  number of the first one that fails, from 1.
    many   how many fail.
    close  whether the store is closed while they fail.
    act    the act whose calls count; empty: all calls from the opening of the store on.
    """

    which: int
    error: int
    first: int
    many: int
    close: bool
    act: str = ""


class FailingDisk:
    """Sessions during which calls fail, each on a new disk."""

    def __init__(self, folder: Path, workers: Workers, files: dict[str, tuple[str, int]]) -> None:
        self._folder = folder
        self._workers = workers
        self._files = files
        self._number = 0
        self.refused = self.reopened = 0

    def suffer(self, fault: Fault) -> int:
        """Work with a fault and check the store. Returns how many calls could fail. Raises LostError."""
        self._number += 1
        disk, journal, left = (self._folder / f"{name}{self._number}" for name in ("disk", "journal", "left"))
        disk.mkdir()
        before = Disk(disk)
        messages, status = self._workers.order(
            do="fail",
            folder=str(disk),
            journal=str(journal),
            seed=7,
            acts=20,
            imports=list(self._files),
            which=fault.which,
            errno=fault.error,
            first=fault.first,
            many=fault.many,
            close=fault.close,
            act=fault.act,
        )
        assert status == 0, f"{fault}: {messages[-1]['message']}\n{messages[-1].get('trace')}"
        before.play(journal)
        before.cut(left, Cut.STRICT, random.Random(0))
        promises = Promises()
        for place in (disk, left):
            promises = Promises()
            promises.take(messages)
            try:
                check_store(place, promises, self._files)
                check_backups(place, promises)
            except (AssertionError, IdstoreError, OSError) as error:
                raise LostError(f"{fault}, {place.name}: {error}") from error
        refusals = [message["message"] for message in messages if message["act"] == "refused"]
        unclear = [message for message in refusals if not REMEDY.search(message)]
        assert not unclear, unclear
        self.refused += len(refusals)
        self.reopened += sum(message["act"] == "reopens" for message in messages)
        shutil.rmtree(disk)
        shutil.rmtree(left)
        calls: int = next(message["calls"] for message in messages if message["act"] == "counted")
        return calls


def check_backups(place: Path, promises: Promises) -> int:
    """Open every acknowledged backup, and verify each eighth against the changes acknowledged before it.

    Returns the number of backups. Raises LostError.
    """
    for number, (name, promised) in enumerate(promises.backups.items()):
        whole = number % 8 == 0
        with idstore.open(place / "backups" / name, mode="write" if whole else "shared") as registry:
            findings = [str(finding) for finding in registry.verify(ALICE)] if whole else []
            if findings:
                raise LostError(f"backup {name}: {findings[:5]}")
            for iri in promised - promises.doomed if whole else ():
                registry.show(iri, ALICE)
    return len(promises.backups)


def rounds(cuts: PowerCuts, many: int, *, within: int) -> Iterator[int]:
    """Make ``many`` cuts; now and then on a new disk, so that a cut may hit the creation of the store too."""
    for number in range(many):
        early = number % 8
        if early == 0:
            cuts.begin()
        cuts.cut(within=150 if early < 2 else within)
        yield number
