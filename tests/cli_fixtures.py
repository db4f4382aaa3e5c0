"""Fixtures that run command lines in this process on a store of the test."""

import io
import shutil
import sys
from pathlib import Path

import pytest
from command_lines import RDL, Minting, Outcome, Run
from ways import Access

import idstore
from idstore.cli import app


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return the path of the test's store, which does not exist yet."""
    return tmp_path / "store"


@pytest.fixture
def run(access: Access, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def carry_out(*words: str | Path, by: str = "alice", code: int = 0, stdin: str | bytes = "") -> Outcome:
        given = io.BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode())
        with monkeypatch.context() as patch:  # a command may run during another
            for name, value in {"IDSTORE_USER": by, **access.environment(by, words)}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(given))
            capsys.readouterr()
            found = app.run([str(word) for word in words])
        outcome = Outcome(found, *capsys.readouterr())
        assert found == code, f"idstore {' '.join(map(str, words))}: exit {found}\n{outcome.out}{outcome.err}"
        assert "Traceback" not in outcome.err
        return outcome

    return carry_out


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a namespace of each kind, as a template."""
    place = tmp_path_factory.mktemp("prepared") / "store"
    alice = idstore.Party("alice")
    with idstore.open(place, administrator=alice) as registry:
        registry.add_namespace("rdl", RDL, "rdswip", alice)
        registry.add_namespace("h", "10.1000", "handle", alice)
        registry.add_namespace("own", "http://formats.example.org/", "puid", alice)
        registry.add_namespace("sp", "http://journals.example.org/", "scholars-portal", alice)
    return place


@pytest.fixture
def rdl(prepared: Path, store: Path) -> str:
    """Create a registry with RDS/WIP, handle, PUID and article namespaces.

    Returns the name of the RDS/WIP namespace.
    """
    shutil.copytree(prepared, store)
    return "rdl"


@pytest.fixture
def mint(run: Run, rdl: str) -> Minting:
    """Return a function that mints an RDS/WIP identifier and returns its IRI."""

    def carry_out(*words: str, by: str = "alice") -> str:
        return run("mint", rdl, *words, by=by).line

    return carry_out
