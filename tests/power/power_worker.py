"""Processes that work on a store while their disk loses power or fails.

Started with shim.c preloaded, the script reads orders, one JSON object a line, and runs each in a child
process. The child prints a line before each act and one after its acknowledgement. ``{"end": status}`` closes
an order.
"""

import ctypes
import faulthandler
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
import idstore.opening
import idstore.schemes
from idstore import Party, Registry, Request, Statement
from idstore.errors import AlreadyRegistered, IdstoreError, StoreUnavailable
from idstore.exchange.rdf import import_registry
from idstore.forks import Connection
from idstore.stores import bulk_load, maintenance
from idstore.stores.projection import bases, catalogue
from idstore.stores.projection.oxigraph import Engine

ALICE = Party("alice")
NUMBERED, CHOSEN = "numbered", "chosen"
LABELS = 300
"""How many different labels the acts choose from, so that requests repeat."""
_LONGEST = 300
"""Seconds after which an order hangs: its process prints the stacks of its threads and fails."""


def tell(**fields: object) -> None:
    os.write(1, (json.dumps(fields) + "\n").encode())


def shim() -> ctypes.CDLL:
    """Return the preloaded library."""
    library = ctypes.CDLL(None)
    library.shim_begin.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long]
    library.shim_fail.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    library.shim_kill.argtypes = [ctypes.c_long]
    library.shim_count.restype = library.shim_matching.restype = ctypes.c_long
    return library


def prepare(registry: Registry) -> None:
    """Add the two namespaces: one with numbered labels, one with chosen labels."""
    names = {namespace.name for namespace in registry.namespaces()}
    if NUMBERED not in names:
        registry.add_namespace(NUMBERED, "http://example.org/numbered/", "puid", ALICE)
    if CHOSEN not in names:
        registry.add_namespace(CHOSEN, "20.500.1", "handle", ALICE)


class Work:
    """Random acts. Each prints a line before (it may take effect without an acknowledgement) and one after.

    keeping  whether backups are among the acts. A backup also brings the engine to disk.
    """

    def __init__(
        self,
        registry: Registry,
        chance: random.Random,
        folder: Path,
        imports: list[str],
        *,
        keeping: bool = True,
    ) -> None:
        self.registry = registry
        self.chance = chance
        self.folder = folder
        self.imports = imports
        self.keeping = keeping
        self.own: list[str] = []
        self.kept: list[str] = []

    def go_on(self) -> None:
        """Run one random act."""
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
        tell(act="mint", id=record.iri)
        self.own.append(record.iri)

    def register(self) -> None:
        try:
            record = self.registry.register(CHOSEN, f"n{self.chance.randrange(LABELS)}", ALICE)
        except AlreadyRegistered:
            return
        tell(act="register", id=record.iri)
        self.own.append(record.iri)

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
        tell(act="import", path=path, created=report.identifiers)

    def back_up(self) -> None:
        target = self.folder / "backups" / f"{self.chance.getrandbits(40):010x}"
        tell(act="try-backup", path=target.name)
        self.registry.backup(target, ALICE)
        tell(act="backup", path=target.name)
        self.kept.append(target.name)

    def restore(self) -> None:
        """Restore a backup to another store beside it."""
        name = self.chance.choice(self.kept)
        target = self.folder / "backups" / f"of-{name}"
        idstore.opening.restore(self.folder / "backups" / name, target)
        tell(act="restore", path=target.name, of=name)


def work(order: dict[str, Any]) -> None:
    """Open the store and act until the power fails, or as often as the order says."""
    folder = Path(order["folder"])
    chance = random.Random(order["seed"])
    lessen_limits(chance, order.get("prune"))
    if order["briefly"]:
        act_briefly(folder, chance)
    with idstore.open(folder / "store", administrator=ALICE) as registry:
        prepare(registry)
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
    """Open the store for one act, as a command does; repeat."""
    own: list[str] = []
    for _ in range(chance.randrange(30)):
        with idstore.open(folder / "store", administrator=ALICE) as registry:
            prepare(registry)
            work = Work(registry, chance, folder, [])
            work.own = own
            chance.choice((work.mint, work.mint, work.register, work.bind, work.fixate, work.release))()


def step(order: dict[str, Any]) -> None:
    """Run one act after a few others, and kill it at one of its calls; else print how many calls it made."""
    folder, library = Path(order["folder"]), shim()
    lessen_limits(random.Random(order["seed"]), order.get("prune"))
    registry = idstore.open(folder / "store", administrator=ALICE)
    prepare(registry)
    work = Work(registry, random.Random(order["seed"]), folder, list(order["imports"]))
    for act in (work.mint, work.mint, work.fixate, work.mint, work.register, work.back_up, work.mint):
        act()
    if order["act"] == "open":
        registry.close()
    before = library.shim_count()
    library.shim_kill(order["at"])
    if order["act"] == "open":
        registry = idstore.open(folder / "store", administrator=ALICE)
    else:
        getattr(registry if order["act"] == "close" else work, order["act"])()
    tell(act="counted", calls=library.shim_count() - before)
    registry.close()


def several(work: Work, acts: int) -> None:
    for _ in range(acts):
        work.go_on()


def lessen_limits(chance: random.Random, prune: int | None = None) -> None:
    """Lower limits, so that rare work of the store happens all the time.

    prune  rows after which the ledger is pruned; None: a random number.
    """
    vars(maintenance).update(
        _PRUNE=prune or chance.choice((7, 40, 20_000)),
        _LEAVE=chance.choice((0, 10, 100)),
        _LOGGED=chance.choice((3, 30, 2000)),
        _PORTION=5,
    )
    # either every import merges its tables, or none
    vars(bulk_load).update(_LARGE=chance.choice((0, 1 << 32)))
    vars(catalogue).update(_LOG_ROWS=chance.choice((2, 30, 500)))
    pages = chance.choice((2, 30, 1000))
    execute = Connection.execute

    def executed(self: Connection, statement: str, *arguments: Any) -> sqlite3.Cursor:
        done = execute(self, statement, *arguments)
        if statement == "PRAGMA synchronous=FULL":  # the ledger's
            execute(self, f"PRAGMA wal_autocheckpoint={pages}")
        return done

    Connection.execute = executed  # type: ignore[method-assign,assignment]


def fail(order: dict[str, Any]) -> None:
    """Act while the disk refuses some calls. Then the disk works: the open store goes on or names a remedy.

    The calls of the act that the order names fail, or all calls from the opening on.
    """
    folder, chance, library = Path(order["folder"]), random.Random(order["seed"]), shim()

    def begin() -> None:
        library.shim_fail(order["which"], order["errno"], order["first"], order["many"])

    lessen_limits(chance)
    if not order["act"]:
        begin()
    registry = opened(folder)
    if registry is not None:
        work = Work(registry, chance, folder, list(order["imports"]))
        if order["act"]:
            for step in (work.mint, work.mint, work.fixate, work.mint, work.back_up):
                step()
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
        assert registry is not None, "the store does not open although the disk works again"
        Work(registry, chance, folder, []).mint()
    registry.close()


def acts(work: Work, many: int) -> None:
    for _ in range(many):
        attempt(work.go_on)


def opened(folder: Path) -> Registry | None:
    registries: list[Registry] = []

    def open() -> None:
        registries.append(idstore.open(folder / "store", administrator=ALICE))
        prepare(registries[0])

    if attempt(open):
        return registries[0]
    for registry in registries:
        attempt(registry.close)
    return None


def attempt(act: Callable[[], None]) -> bool:
    """Return whether the act succeeded. A failing disk may cause no error but StoreUnavailable."""
    try:
        act()
    except StoreUnavailable as error:
        tell(act="refused", message=str(error))
        return False
    except IdstoreError as error:  # random acts may depend on a refused one
        tell(act="contradiction", message=repr(error))
    return True


def sabotage(name: str) -> None:
    """Disable one kind of sync that durability needs: of names, the engine, the catalogue, or the ledger."""
    if name == "names":
        # engine and databases sync their files by themselves
        os.fsync = lambda _: None  # type: ignore[assignment]
    elif name == "engine":
        Engine.flush = lambda _: None  # type: ignore[method-assign,assignment]
        vars(maintenance).update(_checkpoint=lambda generation, _: generation.engine.mark)
        vars(bases).update(keep=lambda generation, copy: copy(generation / "none"))
    elif name == "catalogue":
        catalogue.Catalogue.sync = lambda _: None  # type: ignore[method-assign,assignment]
    elif name == "ledger":
        execute = Connection.execute

        def lazily(self: Connection, statement: str, *arguments: Any) -> sqlite3.Cursor:
            return execute(self, statement.replace("synchronous=FULL", "synchronous=NORMAL"), *arguments)

        Connection.execute = lazily  # type: ignore[method-assign,assignment]


def child(order: dict[str, Any]) -> int:
    faulthandler.dump_traceback_later(_LONGEST, exit=True)
    try:
        sabotage(order.get("sabotage", ""))
        started = shim().shim_begin(
            order["folder"].encode(), order["journal"].encode(), order.get("kill_at", 0)
        )
        assert started == 0
        {"work": work, "fail": fail, "step": step}[order["do"]](order)
    except BaseException as error:  # noqa: BLE001 the harness gets every error
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
