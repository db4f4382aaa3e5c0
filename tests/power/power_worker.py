"""Processes that work on a store while their disk loses power or fails.

Started with shim.c preloaded, it reads orders, one JSON object a line, and carries each out in a child process of its own. What the child
tells (what it is about to do, what was acknowledged) is passed on line by line as it happens; ``{"end": status}`` closes an order.
"""

import ctypes
import json
import os
import random
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import idstore
import idstore.registry.opening
import idstore.schemes
from idstore import Party, Registry, Request, Statement
from idstore.errors import AlreadyRegistered, IdstoreError, StoreUnavailable
from idstore.exchange.rdf import import_registry
from idstore.stores import backups, bases, catalogue, embedded, founding, generation, journal, loading

ALICE = Party("alice")
NUMBERED, CHOSEN = "numbered", "chosen"
LABELS = 300
"""Labels that are asked for again and again."""


def tell(**said: object) -> None:
    os.write(1, (json.dumps(said) + "\n").encode())


def shim() -> ctypes.CDLL:
    """The library that was preloaded."""
    library = ctypes.CDLL(None)
    library.shim_begin.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long]
    library.shim_fail.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    library.shim_count.restype = library.shim_matching.restype = ctypes.c_long
    return library


def prepare(registry: Registry) -> None:
    """The two namespaces: one in which labels are numbered, one in which they are chosen."""
    known = {namespace.name for namespace in registry.namespaces()}
    if NUMBERED not in known:
        registry.add_namespace(NUMBERED, "http://example.org/numbered/", "puid", ALICE)
    if CHOSEN not in known:
        registry.add_namespace(CHOSEN, "20.500.1", "handle", ALICE)


class Work:
    """Acts at random, told before (what may be seen even if it was not acknowledged) and after.

    keeping  whether backups are among them. Each also brings the engine to disk.
    """

    def __init__(self, registry: Registry, chance: random.Random, folder: Path, imports: list[str], *, keeping: bool = True) -> None:
        self.registry = registry
        self.chance = chance
        self.folder = folder
        self.imports = imports
        self.keeping = keeping
        self.own: list[str] = []
        self.kept: list[str] = []

    def go_on(self) -> None:
        """One act."""
        acts: list[tuple[Callable[[], None], int]] = [
            (self.mint, 8),
            (self.register, 5),
            (self.bind, 4),
            (self.fixate, 3),
            (self.release, 2),
        ]
        acts += [(self.take_in, 1)] if self.imports else []
        acts += [(self.back_up, 1)] if self.keeping else []
        chosen, weights = zip(*acts, strict=True)
        self.chance.choices(chosen, weights)[0]()

    def mint(self) -> None:
        record = self.registry.mint(NUMBERED, ALICE, Request(name="format"))
        tell(act="mint", id=record.iri.value)
        self.own.append(record.iri.value)

    def register(self) -> None:
        try:
            record = self.registry.register(CHOSEN, f"n{self.chance.randrange(LABELS)}", ALICE)
        except AlreadyRegistered:
            return
        tell(act="register", id=record.iri.value)
        self.own.append(record.iri.value)

    def bind(self) -> None:
        if self.own:
            iri = self.chance.choice(self.own)
            self.registry.bind(iri, Statement(f"{iri}/same"), ALICE)
            tell(act="bind", id=iri)

    def fixate(self) -> None:
        if self.own:
            iri = self.own.pop(self.chance.randrange(len(self.own)))
            self.registry.fixate([iri], ALICE)
            tell(act="fixate", id=iri)

    def release(self) -> None:
        if self.own:
            iri = self.own.pop(self.chance.randrange(len(self.own)))
            tell(act="try-release", id=iri)
            self.registry.release(iri, ALICE)
            tell(act="release", id=iri)

    def take_in(self) -> None:
        path = self.imports.pop(0)
        report = import_registry(self.registry, [Path(path)], ALICE)
        tell(act="import", path=path, created=report.created)

    def back_up(self) -> None:
        target = self.folder / "backups" / f"{self.chance.getrandbits(40):010x}"
        tell(act="try-backup", path=target.name)
        self.registry.backup(target, ALICE)
        tell(act="backup", path=target.name)
        self.kept.append(target.name)

    def restore(self) -> None:
        """Make another store of a backup, beside it."""
        name = self.chance.choice(self.kept)
        target = self.folder / "backups" / f"of-{name}"
        idstore.registry.opening.restore(self.folder / "backups" / name, target)
        tell(act="restore", path=target.name, of=name)


def work(order: dict[str, Any]) -> None:
    """Open the store and go on until the power fails, or for so many acts."""
    folder = Path(order["folder"])
    chance = random.Random(order["seed"])
    if order["brief"]:
        act_briefly(folder, chance)
    with idstore.open(folder / "store", administrator=ALICE, durability=order.get("durability", "power")) as registry:
        prepare(registry)
        lessen_limits(registry, chance, order.get("prune"))
        tell(act="opened")
        imports, keeping = list(order.get("imports", ())), order.get("backups", True)
        works = [
            Work(registry, random.Random(chance.random()), folder, imports if n == 0 else [], keeping=keeping)
            for n in range(order.get("threads", 1))
        ]
        threads = [threading.Thread(target=several, args=(one, order["acts"])) for one in works[1:]]
        for thread in threads:
            thread.start()
        several(works[0], order["acts"])
        for thread in threads:
            thread.join()
    tell(act="closed")


def act_briefly(folder: Path, chance: random.Random) -> None:
    """As commands do: open the store for one act, over and over."""
    own: list[str] = []
    for _ in range(chance.randrange(30)):
        with idstore.open(folder / "store", administrator=ALICE, brief=True) as registry:
            prepare(registry)
            work = Work(registry, chance, folder, [])
            work.own = own
            chance.choice((work.mint, work.mint, work.register, work.bind, work.fixate, work.release))()


def several(work: Work, acts: int) -> None:
    for _ in range(acts):
        work.go_on()


def lessen_limits(registry: Registry, chance: random.Random, prune: int | None = None) -> None:
    """What otherwise happens once in many thousand changes happens all the time; the journal forgets after ``prune`` changes, or at random."""
    embedded._PRUNE = prune or chance.choice((7, 40, 20_000))
    embedded._LEAVE = chance.choice((0, 10, 100))
    vars(loading).update(_LARGE=chance.choice((0, 1 << 32)))  # the tables of every import are merged, or of none
    store: Any = registry.store
    for database in (store._journal._db, store._generation.catalogue._db):
        database.execute(f"PRAGMA wal_autocheckpoint={chance.choice((2, 30, 1000))}")


def fail(order: dict[str, Any]) -> None:
    """Acts while the disk refuses some calls; afterwards it is well again, and the open store either goes on or says what to do.

    The calls that fail are those of the one act that the order names, or of everything from the opening on.
    """
    folder, chance, library = Path(order["folder"]), random.Random(order["seed"]), shim()

    def begin() -> None:
        library.shim_fail(order["which"], order["errno"], order["first"], order["many"])

    if not order["act"]:
        begin()
    registry = opened(folder)
    if registry is not None:
        lessen_limits(registry, chance)
        work = Work(registry, chance, folder, list(order["imports"]))
        if order["act"]:
            for step in (work.mint, work.mint, work.fixate, work.mint, work.back_up):
                step()
            with registry.store.reading():  # all is applied: the first calls are those of the act
                pass
            begin()
            attempt(getattr(work, order["act"]))
        else:
            acts(work, order["acts"])
        if order["close"]:
            attempt(registry.close)
            registry = None
    tell(act="counted", calls=library.shim_matching())
    library.shim_fail(0, 0, 0, 0)
    if registry is None or not attempt(Work(registry, chance, folder, []).mint):
        if registry is not None:
            tell(act="reopens")
            registry.close()
        registry = opened(folder)
        assert registry is not None, "it does not open when the disk is well again"
        Work(registry, chance, folder, []).mint()
    registry.close()


def acts(work: Work, many: int) -> None:
    for _ in range(many):
        attempt(work.go_on)


def opened(folder: Path) -> Registry | None:
    found: list[Registry] = []

    def open() -> None:
        found.append(idstore.open(folder / "store", administrator=ALICE))
        prepare(found[0])

    if attempt(open):
        return found[0]
    for registry in found:
        attempt(registry.close)
    return None


def attempt(act: Callable[[], None]) -> bool:
    """Whether it could be done. Nothing but StoreUnavailable may come of a failing disk."""
    try:
        act()
    except StoreUnavailable as error:
        tell(act="refused", message=str(error))
        return False
    except IdstoreError as error:  # acts at random may contradict what was refused before
        tell(act="contradiction", message=repr(error))
    return True


def sabotage(name: str) -> None:
    """Leave something out that durability rests on."""
    if name == "names":
        for module in (backups, bases, catalogue, founding, generation):
            vars(module).update(sync_folder=lambda _: None, sync_tree=lambda _: None)
    elif name == "engine":
        vars(bases).update(keep=lambda *_: None)
    elif name == "journal":
        append = journal.Journal.append

        def lazily(self: journal.Journal, changes: list[journal.Written]) -> None:
            self._db.execute("PRAGMA synchronous=NORMAL")
            append(self, changes)

        journal.Journal.append = lazily  # type: ignore[method-assign]


def child(order: dict[str, Any]) -> int:
    try:
        sabotage(order.get("sabotage", ""))
        started = shim().shim_begin(order["folder"].encode(), order["journal"].encode(), order.get("kill_at", 0))
        assert started == 0
        {"work": work, "fail": fail}[order["do"]](order)
    except BaseException as error:  # noqa: BLE001 the harness is told, whatever it is
        import traceback

        tell(act="failed", message=repr(error), trace=traceback.format_exc()[-3000:])
        return 1
    return 0


def main() -> None:
    idstore.schemes.installed()
    sqlite3.connect(":memory:").close()
    for line in sys.stdin:
        order = json.loads(line)
        process = os.fork()
        if process == 0:
            os._exit(child(order))
        _, status = os.waitpid(process, 0)
        tell(end=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
