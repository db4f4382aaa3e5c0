"""Several commands at once on one store, each in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_lines import NEVER

import idstore
from idstore import Party
from idstore.exchange.rdf import export
from idstore.vocabulary import IDS

COMMAND = (sys.executable, "-m", "idstore")
PROCESSES = 8
HOLDER = "import sys, idstore\nwith idstore.open(sys.argv[1]): print(flush=True); sys.stdin.read()"
LARGE = 1_000
"""Number of identifiers in an import that takes long enough for a concurrent reader."""


@pytest.fixture
def environment(rdl: str, store: Path) -> dict[str, str]:
    assert rdl
    return {**os.environ, "IDSTORE_STORE": str(store), "IDSTORE_USER": "alice"}


def idstore_says(environment: dict[str, str], *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        text=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == code, (
        f"idstore {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done


@pytest.mark.parametrize("rounds", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_many_processes_mint_bind_and_fixate_at_once(environment: dict[str, str], rounds: int) -> None:
    def act(number: int) -> list[str]:
        mine, made = {**environment, "IDSTORE_USER": f"p{number}"}, []
        for turn in range(rounds):
            made.append(idstore_says(mine, "mint", ("rdl", "own")[turn % 2], "--wait", "120").stdout.strip())
            idstore_says(mine, "bind", made[-1], f"http://example.org/{number}/{turn}", "--wait", "120")
            idstore_says(mine, "fixate", made[-1], "--wait", "120")
        return made

    with ThreadPoolExecutor(PROCESSES) as pool:
        made = list(pool.map(act, range(PROCESSES)))
    issued = [iri for some in made for iri in some]
    assert len(set(issued)) == len(issued) == PROCESSES * rounds
    assert idstore_says(environment, "verify").stdout == "sound\n"
    held = {
        one["id"]: one
        for one in map(
            json.loads, idstore_says(environment, "list", "--limit", "1000", "--json").stdout.splitlines()
        )
    }
    assert sorted(held) == sorted(issued)
    for number, some in enumerate(made):
        for turn, iri in enumerate(some):
            assert (held[iri]["owner"], held[iri]["stage"]) == (f"p{number}", "fixated")
            assert [binding["target"] for binding in held[iri]["bindings"]] == [
                f"http://example.org/{number}/{turn}"
            ]


@contextmanager
def held(store: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield another process that holds the store open for writing."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    "words",
    [
        ("mint", "rdl"),
        ("namespace", "add", "x", "http://x.example.org/#", "--scheme", "rdswip"),
        ("comment", NEVER, "x"),
    ],
)
def test_a_lock_timeout_names_the_process_that_holds_the_lock(
    environment: dict[str, str], store: Path, words: tuple[str, ...]
) -> None:
    with held(store) as process:
        done = idstore_says(environment, *words, "--wait", "0.2", code=6)
        assert done.stdout == "" and done.stderr.count("\n") == 1
        assert f"in use by process {process.pid}, and did not become free within 0.2 s" in done.stderr
        report = json.loads(idstore_says(environment, *words, "--wait", "0", "--json", code=6).stderr)
        assert (report["error"], report["holder"]) == ("store-busy", process.pid)


def test_a_wait_is_not_longer_than_it_may_be(environment: dict[str, str], store: Path) -> None:
    with held(store):
        begun = time.monotonic()
        idstore_says(environment, "mint", "rdl", "--wait", "1.2", code=6)
        assert 1.2 <= time.monotonic() - begun < 2.2  # a second look for a server is part of the wait


def test_a_killed_process_leaves_no_lock(environment: dict[str, str], store: Path) -> None:
    with held(store) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (
            str(process.pid) in (store / "lock").read_text()
        )  # the lock file still exists and blocks no process
        idstore_says(environment, "mint", "rdl", "--wait", "0")
        idstore_says(environment, "list", "--wait", "0")


def test_a_stopped_process_blocks_writers_and_is_named(environment: dict[str, str], store: Path) -> None:
    with held(store) as process:
        process.send_signal(signal.SIGSTOP)
        assert (
            f"process {process.pid}"
            in idstore_says(environment, "mint", "rdl", "--wait", "0.2", code=6).stderr
        )
        process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the export of another registry."""
    folder, alice = tmp_path_factory.mktemp("large"), Party("alice")
    with idstore.open(folder / "store", administrator=alice) as registry:
        registry.add_namespace("other", "20.500.9", "handle", alice)
        labels = (f"n{number}" for number in range(LARGE))
        registry.fixate([registry.register("other", label, alice).iri for label in labels], alice)
        with (folder / "export.trig").open("wb") as target:
            export(registry, target, alice, "trig")
    return folder / "export.trig"


@pytest.mark.slow
def test_readers_beside_an_import_see_all_of_it_or_nothing(environment: dict[str, str], large: Path) -> None:
    minted = idstore_says(environment, "mint", "rdl").stdout.strip()
    idstore_says(environment, "fixate", minted)
    count = f"SELECT (COUNT(?one) AS ?many) {{ ?one <{IDS.inNamespace.value}> ?space }}"

    def look() -> list[int]:
        """Return how many identifiers each kind of reader sees beside the one minted here."""
        assert minted in idstore_says(environment, "show", minted).stdout
        listed = idstore_says(environment, "list", "--limit", str(2 * LARGE)).stdout
        [found] = re.findall(r"\d+", idstore_says(environment, "query", count, "--format", "csv").stdout)
        exported = idstore_says(environment, "export", "--format", "nquads").stdout
        return [len(listed.splitlines()) - 1, int(found) - 1, exported.count("ontology#Fixation>") - 1]

    seen = look()
    with subprocess.Popen(
        [*COMMAND, "import", str(large)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as work:
        while work.poll() is None:
            seen += look()
        _, errors = work.communicate()
    assert work.returncode == 0, errors
    assert len(seen) >= 2 * 3, "no read was concurrent with the import"
    seen += look()
    assert set(seen) == {0, LARGE}
    assert seen == sorted(seen)
    assert idstore_says(environment, "verify").stdout == "sound\n"


def test_readers_between_allocations_do_not_fail(environment: dict[str, str]) -> None:
    """Each sees every act acknowledged before it began, also while the next `mint` waits."""
    lines: list[str] = []

    def allocate(_: int) -> None:
        lines.extend(
            idstore_says(environment, "mint", "own", "--wait", "60").stdout.strip() for _ in range(4)
        )

    def look(_: int) -> None:
        for _ in range(4):
            before = list(lines)
            listed = idstore_says(environment, "list", "--limit", "1000").stdout
            assert all(f"{iri}\t" in listed for iri in before)

    with ThreadPoolExecutor(4) as pool:
        for done in [
            pool.submit(work, number) for number, work in enumerate((allocate, look, allocate, look))
        ]:
            done.result()
    assert Counter(lines).most_common(1)[0][1] == 1
    assert idstore_says(environment, "verify").stdout == "sound\n"
