"""Giving out identifiers."""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from pyoxigraph import Quad, Store

from benchmarks.filling import ADMINISTRATOR, NAMESPACE, OWNERS, Bench, begun, request
from benchmarks.measure import Row, alternate, appends, at_once, child, judged, seconds, skipped
from idstore import Party, Statement
from idstore.model.change import Change
from idstore.registry import Registry
from idstore.schemes import pilin
from idstore.stores.embedded import EmbeddedStore

ACTS = 5
"""What is done to an identifier that is minted, bound three times and fixated."""
_CLIENT_FLOOR, _THREADS_FLOOR, _THREADS_CLIENT, _NOID, _USED, _ENCODED, _COMMAND_MS = 0.6, 0.6, 1.5, 2.0, 0.99, 500_000, 90.0


class _Rates:
    """Identifiers per second: as acknowledged, which is what a client waits for, and until the engine has them, for which they queue up."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._applied: list[float] = []

    def acknowledged(self, act: Callable[[], object], number: int) -> float:
        """Identifiers per second of an act that mints ``number`` of them."""
        start = time.perf_counter()
        act()
        took = time.perf_counter() - start
        with self.registry.store.reading():  # waits until the engine has everything
            self._applied.append(number / (time.perf_counter() - start))
        return number / took

    @property
    def applied(self) -> float:
        """The median until the engine has them, the first round left out."""
        return statistics.median(self._applied[1:])

    def mint(self, party: Party, serial: int) -> str:
        """Its IRI."""
        return self.registry.mint(NAMESPACE, party, request(serial)).iri.value

    def publish(self, party: Party, serial: int) -> None:
        """Mint an identifier, bind it three times, and fixate it: `ACTS` acts."""
        iri = self.mint(party, serial)
        for number in range(ACTS - 2):
            self.registry.bind(iri, Statement(f"{iri}/same/{number}"), party)
        self.registry.fixate([iri], party)

    def alone(self, number: int, act: Callable[[Party, int], object] | None = None) -> float:
        """The same with one client, who mints unless it is to do something else for each."""
        do = act or self.mint
        return self.acknowledged(lambda: [do(ADMINISTRATOR, serial) for serial in range(number)], number)

    def together(self, number: int, act: Callable[[Party, int], object] | None = None) -> float:
        """The same with eight threads, each of which does so ``number`` times."""
        do = act or self.mint

        def work(place: int) -> None:
            for serial in range(number):
                do(OWNERS[place], serial)

        return self.acknowledged(lambda: at_once(len(OWNERS), work), len(OWNERS) * number)


def _both(
    name: str, acknowledged: tuple[float, float], applied: tuple[float, float], against: str, goal: str, least: float, note: str = ""
) -> Iterable[Row]:
    """A row for what is acknowledged and one until the engine has it; of each the measured rate and the floor."""
    for what, (measured, floor) in ((name, acknowledged), (f"{name}, in the engine", applied)):
        ratio = measured / floor
        yield Row(what, None, "ids/s", measured, floor, against, ratio, goal, ratio >= least, note)


def one_client(bench: Bench) -> Iterable[Row]:
    """Durable minting, one client in this process, beside appends of 1 kB with fdatasync on the same disk."""
    number = bench.amount(2000)
    with begun(bench.path("mint")) as power, begun(bench.path("mint"), durability="process") as process:
        file, durable, loose = bench.path("appends"), _Rates(power), _Rates(process)
        floor, measured, unsynced = alternate(
            [lambda _: appends(file, number), lambda _: durable.alone(number), lambda _: loose.alone(number)], bench.rounds
        )
    note = f"with durability process {unsynced:,.0f}/s, in the engine {loose.applied:,.0f}/s"
    against, goal = "append 1 kB + fdatasync", "≥ 0.60 of the floor"
    yield from _both("mint, one client", (measured, floor), (durable.applied, floor), against, goal, _CLIENT_FLOOR, note)


def publishing(bench: Bench) -> Iterable[Row]:
    """Identifiers that are minted, bound and fixated, one act after the other, by one client and by eight threads, beside appends with fdatasync."""
    number = bench.amount(100)
    with begun(bench.path("mint")) as registry:
        file, one, eight = bench.path("appends"), _Rates(registry), _Rates(registry)
        floor, _, _ = alternate(
            [
                lambda _: appends(file, ACTS * number),
                lambda _: one.alone(number, one.publish),
                lambda _: eight.together(bench.amount(25), eight.publish),
            ],
            bench.rounds,
        )
    for name, rates in (("one client", one), ("eight threads", eight)):
        measured, against = ACTS * rates.applied, "append 1 kB + fdatasync"
        yield Row(f"mint, bind thrice, fixate, in the engine; {name}", None, "acts/s", measured, floor, against, measured / floor)


def threads(bench: Bench) -> Iterable[Row]:
    """Durable minting with eight threads, beside the engine's unsynced ``extend`` of the same quads, and beside one client."""
    number = bench.amount(300)
    with _Recording(bench.path("mint"), create=True) as store:
        registry = Registry(store)
        registry.initialize(ADMINISTRATOR)
        registry.add_namespace(NAMESPACE, "http://rdl.example.org/data#", "rdswip", ADMINISTRATOR)
        engine, eight, one = Store(str(bench.path("engine"))), _Rates(registry), _Rates(registry)

        def together(_: int) -> float:
            store.changes.clear()
            return eight.together(number)

        def extended(_: int) -> float:
            quads = [change.quads() for change in store.changes]
            return len(quads) / seconds(lambda: _extend(engine, quads))

        measured, floor, client = alternate([together, extended, lambda _: one.alone(len(OWNERS) * number)], bench.rounds)
    name = "mint, eight threads"
    against, goal = "unsynced extend of the same quads", "≥ 0.60 of the floor"
    yield from _both(name, (measured, floor), (eight.applied, floor), against, goal, _THREADS_FLOOR)
    yield from _both(name, (measured, client), (eight.applied, one.applied), "one client", "≥ 1.5 of one client", _THREADS_CLIENT)


class _Recording(EmbeddedStore):
    """A store that keeps its changes, for the floor to write the same quads."""

    def __init__(self, path: Path, *, create: bool) -> None:
        super().__init__(path, create=create)
        self.changes: list[Change] = []

    def _enlist(self, changes: list[Change]) -> None:
        super()._enlist(changes)
        self.changes += changes


def _extend(engine: Store, quads: list[list[Quad]]) -> None:
    for each in quads:
        engine.extend(each)


def noid(bench: Bench) -> Iterable[Row]:
    """Noid's Perl library, one opening for each identifier, beside one client."""
    name, goal = "mint, beside Noid's library", "≥ 2 of Noid"
    if shutil.which("perl") is None or subprocess.run(["perl", "-MNoid", "-e", "1"], check=False, capture_output=True).returncode:
        yield skipped(name, "Noid's Perl library is not installed here", goal)
        return
    folder, number = bench.path("noid"), bench.amount(300)
    folder.mkdir()
    subprocess.run(["perl", "-MNoid", "-e", _NOID_NEW, str(folder)], check=True, capture_output=True)
    with begun(bench.path("mint")) as registry:
        rates = _Rates(registry)

        def theirs(_: int) -> float:
            command = ["perl", "-MNoid", "-MTime::HiRes=time", "-e", _NOID_MINT, str(folder), str(number)]
            return number / float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])

        measured, floor = alternate([lambda _: rates.alone(number), theirs], bench.rounds)
    yield from _both(name, (measured, floor), (rates.applied, floor), "Noid, library", goal, _NOID)


_NOID_NEW = 'Noid::dbcreate($ARGV[0], "bench", "t5.reeeeeeek", "long", "12345", "example.org", "bench") or die Noid::errmsg();'
_NOID_MINT = (
    'my $t = time; for (1..$ARGV[1]) { my $n = Noid::dbopen("$ARGV[0]/NOID/noid.bdb", 0) or die; '
    'Noid::mint($n, "bench", 0) or die Noid::errmsg($n); Noid::dbclose($n); } print time - $t;'
)


def pilin_sustained(bench: Bench) -> Iterable[Row]:
    """PILIN identifiers, of which each millisecond gives one, durable, eight threads of a process of their own: the share of milliseconds used."""
    done = child("pilin", bench.path("pilin"), 0.3 if bench.quick else 10.0)
    number, twice, took = done["number"], done["twice"], done["seconds"]
    ratio = (number - twice) / (took * 1000)
    goal, note = "≥ 0.99 of the milliseconds", f"{number:.0f} identifiers in {took:.2f} s, {twice:.0f} twice"
    yield Row("PILIN, sustained", None, "ids/s", number / took, 1000, "one a millisecond", ratio, goal, ratio >= _USED, note)


def pilin_encode(bench: Bench) -> Iterable[Row]:
    """PILIN suffixes written, without a store."""
    moments = range(1_790_000_000_000, 1_790_000_000_000 + bench.amount(200_000))
    (measured,) = alternate([lambda _: len(moments) / seconds(lambda: [pilin.encode(moment) for moment in moments])], bench.rounds)
    against = "the target itself"
    ratio = measured / _ENCODED
    yield Row("PILIN, generating alone", None, "ids/s", measured, _ENCODED, against, ratio, "≥ 500,000/s", measured >= _ENCODED)


def command(bench: Bench) -> Iterable[Row]:
    """``idstore mint`` as a command on stores of each size, beside a bare Python that imports pyoxigraph."""
    bare = [sys.executable, "-c", "import pyoxigraph"]
    script = Path(sys.executable).with_name("idstore")
    begin = [str(script)] if script.exists() else [sys.executable, "-m", "idstore"]
    for size in bench.sizes:
        mint = [*begin, "--store", str(bench.store(size)), "--user", OWNERS[0].name, "mint", NAMESPACE]
        floor, measured = alternate([lambda _: _started(bare), lambda _: _started(mint)], bench.amount(20))  # noqa: B023 runs at once
        more = measured - floor
        reached = judged(more <= _COMMAND_MS, size, 1_000_000)
        yield Row(
            "mint, as a command",
            size,
            "ms",
            measured,
            floor,
            "python -c 'import pyoxigraph'",
            more,
            "≤ 90 ms more at 1M",
            reached,
            "ratio: ms more",
        )


def _started(arguments: list[str]) -> float:
    """Milliseconds of a command that finds its modules compiled, as those that are installed are."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return 1000 * seconds(lambda: subprocess.run(arguments, check=True, capture_output=True, env=environment))
