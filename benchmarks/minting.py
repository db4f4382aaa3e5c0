"""Minting: identifiers per second, and the duration of a command."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.filling import ADMINISTRATOR, NAMESPACE, OWNERS, Bench, discard, open_registry, request
from benchmarks.measure import Row, alternate, appends, child, in_threads, judged, seconds, skipped
from idstore import Party, Statement
from idstore.registry import Registry
from idstore.schemes import pilin

Act = Callable[[Registry, Party, int], object]

APPEND = "append 1 kB + fdatasync"
_ACTS = 5
"""Acts of `publish`: one mint, three bindings, one fixation."""
_CLIENT, _THREADS, _NOID, _USED, _ENCODED, _COMMAND_MS = 0.28, 1.0, 2.0, 0.90, 500_000, 250.0


def mint(registry: Registry, party: Party, number: int) -> str:
    """Mint an identifier. Returns its IRI."""
    return registry.mint(NAMESPACE, party, request(number)).iri


def publish(registry: Registry, party: Party, number: int) -> None:
    """Mint an identifier, bind it three times, and fixate it, in `_ACTS` acts."""
    iri = mint(registry, party, number)
    for place in range(_ACTS - 2):
        registry.bind(iri, Statement(f"{iri}/same/{place}"), party)
    registry.fixate([iri], party)


def rate_alone(registry: Registry, number: int, act: Act = mint) -> float:
    """Return the acts per second of one client that acts ``number`` times."""
    return number / seconds(lambda: [act(registry, ADMINISTRATOR, place) for place in range(number)])


def rate_together(registry: Registry, threads: int, number: int, act: Act = mint) -> float:
    """Return the acts per second of so many threads that act ``number`` times in total."""
    each = max(1, number // threads)

    def work(thread: int) -> None:
        for place in range(each):
            act(registry, OWNERS[thread % len(OWNERS)], place)

    return threads * each / seconds(lambda: in_threads(threads, work))


def clients(bench: Bench) -> Iterable[Row]:
    """Mint with one client, and with 8 and 64 threads.

    Floors of one client: appends of 1 kB with fdatasync on the same disk, and Noid.
    Floor of threads: one client.
    """
    number, file = bench.amount(1600), bench.path("appends")
    noid = _noid(bench)
    with open_registry(bench.path("mint")) as registry:
        acts = [
            lambda _: appends(file, number),
            lambda _: rate_alone(registry, number),
            lambda _: rate_together(registry, 8, number),
            lambda _: rate_together(registry, 64, number),
            *([] if noid is None else [noid]),
        ]
        floor, one, *others = alternate(acts, bench.rounds)
    yield _rate("mint, one client", one, floor, APPEND, _CLIENT, "of the floor")
    for threads, measured in zip((8, 64), others, strict=False):
        yield _rate(f"mint, {threads} threads", measured, one, "one client", _THREADS, "of one client")
    if noid is None:
        reason = "Noid's Perl library is not installed here"
        yield skipped("mint, beside Noid's library", reason, f"≥ {_NOID:g} of Noid")
    else:
        yield _rate("mint, beside Noid's library", one, others[-1], "Noid, library", _NOID, "of Noid")


def _rate(
    name: str, measured: float, floor: float, against: str, least: float, of: str, size: int | None = None
) -> Row:
    ratio = measured / floor
    return Row(name, size, "ids/s", measured, floor, against, ratio, f"≥ {least:.2f} {of}", ratio >= least)


def _noid(bench: Bench) -> Callable[[int], float] | None:
    """Return a measurement of Noid's Perl library, in identifiers per second; None if it is not installed.

    Noid opens its database for each identifier.
    """
    if (
        shutil.which("perl") is None
        or subprocess.run(["perl", "-MNoid", "-e", "1"], check=False, capture_output=True).returncode
    ):
        return None
    folder, number = bench.path("noid"), bench.amount(300)
    folder.mkdir()
    subprocess.run(["perl", "-MNoid", "-e", _NOID_NEW, str(folder)], check=True, capture_output=True)
    command = ["perl", "-MNoid", "-MTime::HiRes=time", "-e", _NOID_MINT, str(folder), str(number)]

    def measure(_: int) -> float:
        return number / float(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
        )

    return measure


_NOID_NEW = (
    'Noid::dbcreate($ARGV[0], "bench", "t5.reeeeeeek", "long", "12345", "example.org", "bench") '
    "or die Noid::errmsg();"
)
_NOID_MINT = (
    'my $t = time; for (1..$ARGV[1]) { my $n = Noid::dbopen("$ARGV[0]/NOID/noid.bdb", 0) or die; '
    'Noid::mint($n, "bench", 0) or die Noid::errmsg($n); Noid::dbclose($n); } print time - $t;'
)


def growing(bench: Bench) -> Iterable[Row]:
    """Mint with one client in filled stores."""
    number, file = bench.amount(1600), bench.path("appends")
    for size in bench.sizes:
        copy = bench.copy(size)
        with open_registry(copy) as registry:
            acts = [lambda _: appends(file, number), lambda _: rate_alone(registry, number)]
            floor, measured = alternate(acts, bench.rounds)
        yield _rate("mint, one client, filled store", measured, floor, APPEND, _CLIENT, "of the floor", size)
        discard(copy)


def publishing(bench: Bench) -> Iterable[Row]:
    """Mint, bind and fixate identifiers, act by act, with one client and with eight threads."""
    number, file = bench.amount(200), bench.path("appends")
    with open_registry(bench.path("mint")) as registry:
        acts = [
            lambda _: appends(file, _ACTS * number),
            lambda _: _ACTS * rate_alone(registry, number, publish),
            lambda _: _ACTS * rate_together(registry, len(OWNERS), number, publish),
        ]
        floor, one, eight = alternate(acts, bench.rounds)
    for name, measured in (("one client", one), ("8 threads", eight)):
        yield Row(
            f"mint, bind thrice, fixate; {name}", None, "acts/s", measured, floor, APPEND, measured / floor
        )


def pilin_sustained(bench: Bench) -> Iterable[Row]:
    """Measure the share of milliseconds that eight threads use, in a separate process.

    Each millisecond gives one PILIN identifier.
    """
    done = child("pilin", bench.path("pilin"), 0.3 if bench.quick else 10.0)
    number, twice, took = done["number"], done["twice"], done["seconds"]
    ratio = (number - twice) / (took * 1000)
    goal, note = (
        f"≥ {_USED:.2f} of the milliseconds",
        f"{number:.0f} identifiers in {took:.2f} s, {twice:.0f} twice",
    )
    yield Row(
        "PILIN, 8 threads",
        None,
        "ids/s",
        number / took,
        1000,
        "one a millisecond",
        ratio,
        goal,
        ratio >= _USED,
        note,
    )


def pilin_encode(bench: Bench) -> Iterable[Row]:
    """Encode PILIN suffixes, without a store."""
    moments = range(1_790_000_000_000, 1_790_000_000_000 + bench.amount(200_000))
    (measured,) = alternate(
        [lambda _: len(moments) / seconds(lambda: [pilin.encode(moment) for moment in moments])], bench.rounds
    )
    ratio = measured / _ENCODED
    yield Row(
        "PILIN, encoding alone",
        None,
        "ids/s",
        measured,
        _ENCODED,
        "the target itself",
        ratio,
        "≥ 500,000/s",
        ratio >= 1,
    )


def command(bench: Bench) -> Iterable[Row]:
    """Run ``idstore mint`` as a command on stores of each size. Floor: Python importing pyoxigraph."""
    bare = [sys.executable, "-c", "import pyoxigraph"]
    script = Path(sys.executable).with_name("idstore")
    begin = [str(script)] if script.exists() else [sys.executable, "-m", "idstore"]
    against, goal = "python -c 'import pyoxigraph'", f"≤ {_COMMAND_MS:.0f} ms more at 1M"
    for size in bench.sizes:
        copy = bench.copy(size)
        line = [*begin, "--store", str(copy), "--user", OWNERS[0].name, "mint", NAMESPACE]
        acts = [lambda _: _started(bare), lambda _: _started(line)]  # noqa: B023 runs immediately
        floor, measured = alternate(acts, bench.amount(20))
        more = measured - floor
        reached = judged(more <= _COMMAND_MS, size, 1_000_000)
        yield Row(
            "mint, as a command", size, "ms", measured, floor, against, more, goal, reached, "ratio: ms more"
        )
        discard(copy)


def _started(arguments: list[str]) -> float:
    """Return the milliseconds of a command that, like an installed one, finds compiled modules."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return 1000 * seconds(lambda: subprocess.run(arguments, check=True, capture_output=True, env=environment))
