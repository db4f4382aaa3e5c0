"""The command as a separate process."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from command_lines import RDL

COMMAND = (sys.executable, "-m", "idstore")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "IDSTORE_STORE": str(tmp_path / "store"),
        "IDSTORE_USER": "alice",
        "PYTHONIOENCODING": "ascii",
    }


def idstore(environment: dict[str, str], *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], input=stdin, capture_output=True, encoding="utf-8", env=environment, check=False
    )


def test_a_session(environment: dict[str, str]) -> None:
    added = idstore(environment, "namespace", "add", "rdl", RDL, "--scheme", "rdswip")
    assert (added.returncode, added.stderr.count("\n")) == (0, 1)
    minted = idstore(environment, "mint", "rdl", "--name", "Ventil für Öl")
    assert (minted.returncode, minted.stderr) == (0, "")
    assert "Ventil für Öl" in idstore(environment, "list").stdout  # UTF-8 in every locale
    fixated = idstore(environment, "fixate", "-", stdin=minted.stdout)
    assert (fixated.returncode, fixated.stdout, fixated.stderr) == (0, "", "")
    refused = idstore(environment, "release", minted.stdout.strip(), "--json")
    assert (refused.returncode, refused.stdout) == (8, "") and '"error": "wrong-stage"' in refused.stderr


def test_an_output_pipe_closed_early_is_no_failure(environment: dict[str, str]) -> None:
    idstore(environment, "namespace", "add", "rdl", RDL, "--scheme", "rdswip")
    done = subprocess.run(
        f"{' '.join(COMMAND)} log | head -n 1",
        shell=True,
        capture_output=True,
        env=environment,
        text=True,
        check=False,
    )
    assert done.stdout.count("\n") == 1 and done.stderr == ""


def test_concurrent_first_writers_create_one_store(environment: dict[str, str]) -> None:
    def add(number: int) -> int:
        return idstore(
            environment,
            "namespace",
            "add",
            f"n{number}",
            f"http://{number}.example.org/#",
            "--scheme",
            "rdswip",
        ).returncode

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(add, range(4))) == [0] * 4
    assert idstore(environment, "namespace", "list").stdout.count("\n") == 4
    assert idstore(environment, "verify").stdout == "sound\n"


def test_following_shows_acts_of_others_until_interrupted(environment: dict[str, str]) -> None:
    idstore(environment, "namespace", "add", "rdl", RDL, "--scheme", "rdswip")
    with subprocess.Popen(
        [*COMMAND, "log", "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "Initialization" in process.stdout.readline()
        process.stdout.readline()
        minted = idstore(environment, "mint", "rdl").stdout.strip()  # no process blocks a writer
        assert minted in process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == "idstore: interrupted\n"


def test_help_imports_no_engine(environment: dict[str, str]) -> None:
    """Slow imports happen only in the commands that need them."""
    code = (
        "import sys; from idstore.cli.app import run; run(['mint', "
        "'--help']); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0
    assert {"pyoxigraph", "rdflib", "pyshacl", "sqlite3"}.isdisjoint(done.stderr.split())
