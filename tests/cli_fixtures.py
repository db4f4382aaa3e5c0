"""Running command lines in this process, on a store of the test's own."""

import io
import shutil
import sys
from pathlib import Path

import pytest
from command_lines import RDL, Minting, Outcome, Run

import idstore
from idstore.cli import app, quick


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where the store of the test is; nothing is there yet."""
    return tmp_path / "store"


@pytest.fixture
def run(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def carry_out(*words: str | Path, by: str = "alice", code: int = 0, stdin: str | bytes = "") -> Outcome:
        monkeypatch.setenv("IDSTORE_STORE", str(store))
        monkeypatch.setenv("IDSTORE_USER", by)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode())))
        capsys.readouterr()
        given = [str(word) for word in words]
        quickly = quick.run(given)
        found = app.run(given) if quickly is None else quickly
        outcome = Outcome(found, *capsys.readouterr())
        assert found == code, f"idstore {' '.join(map(str, words))}: exit {found}\n{outcome.out}{outcome.err}"
        assert "Traceback" not in outcome.err
        return outcome

    return carry_out


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a namespace of each kind, to copy."""
    place = tmp_path_factory.mktemp("prepared") / "store"
    alice = idstore.Party("alice")
    with idstore.open(place, administrator=alice, durability="process") as registry:
        registry.add_namespace("rdl", RDL, "rdswip", alice)
        registry.add_namespace("h", "10.1000", "handle", alice)
        registry.add_namespace("own", "http://formats.example.org/", "puid", alice)
        registry.add_namespace("sp", "http://journals.example.org/", "scholars-portal", alice)
    return place


@pytest.fixture
def rdl(prepared: Path, store: Path) -> str:
    """A registry with namespaces of RDS/WIP identifiers, of handles, of PUIDs and of articles; the name of the first."""
    shutil.copytree(prepared, store)
    return "rdl"


@pytest.fixture
def mint(run: Run, rdl: str) -> Minting:
    """Mint an RDS/WIP identifier; its IRI."""

    def carry_out(*words: str, by: str = "alice") -> str:
        return run("mint", rdl, *words, by=by).line

    return carry_out
