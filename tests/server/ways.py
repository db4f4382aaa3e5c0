"""The ways to a store: its folder, the socket of a server that holds it, and HTTPS.

Tests of the command line with the fixture `run` run on the folder and, as slow tests, over HTTPS. The marker
``local`` gives the reason of those that need the folder; ``near_and_far`` marks those that every run of the
tests does in all ways.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from idstore import opening
from idstore.errors import InvalidData
from idstore.model.party import Party
from idstore.tokens import Tokens

FOLDER, SOCKET, HTTPS = "folder", "socket", "https"
CLI: Final = Path(__file__).parents[1] / "cli"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test of the command line over HTTPS, too; by the socket, the same operations are called."""
    if {"run", "way"} <= {*metafunc.fixturenames} and CLI in metafunc.definition.path.parents:
        test = metafunc.definition
        near_and_far = test.get_closest_marker("near_and_far") is not None
        ways = [
            pytest.param(way, marks=_marks(test, way), id=way)
            for way in ((SOCKET, HTTPS) if near_and_far else (HTTPS,))
        ]
        metafunc.parametrize("way", [pytest.param(FOLDER, id=pytest.HIDDEN_PARAM), *ways], indirect=True)


def _marks(test: pytest.Item, way: str) -> list[pytest.MarkDecorator]:
    marks = [] if test.get_closest_marker("near_and_far") else [pytest.mark.slow]
    local = test.get_closest_marker("local")
    if local is not None and local.kwargs.get("way", way) == way:
        marks.append(pytest.mark.skip(reason=f"needs the folder: {local.args[0]}"))
    return marks


@pytest.fixture
def way(request: pytest.FixtureRequest) -> str:
    """Return the way in which the test reaches its store."""
    return getattr(request, "param", FOLDER)


class Nursery:
    """The process that starts servers: see `nursery`."""

    def __init__(self, certificate: Path) -> None:
        self.certificate = certificate
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("nursery.py"), certificate],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def order(self, *words: str) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*words, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().split()

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Yield a process that starts servers; it answers HTTPS as localhost, by a certificate of its own."""
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    )
    try:
        subprocess.run(
            [*command.split(), "-addext", "subjectAltName=DNS:localhost", "-keyout", file, "-out", file],
            check=True,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    made = Nursery(file)
    yield made
    made.close()


@dataclass
class Access:
    """What the environment of commands says, so that they reach a store in a way."""

    store: Path
    way: str
    nursery: Nursery | None = None
    address: str = ""
    _process: str = ""
    _tokens: dict[str, str] = field(default_factory=dict)

    def environment(self, by: str, words: Sequence[object]) -> dict[str, str]:
        """Return variables for a party's command; the first after the store was made starts its server."""
        if self.nursery is None or not self._serves() or self.way == SOCKET:
            return {"IDSTORE_STORE": str(self.store)}
        return {
            "IDSTORE_STORE": self.address,
            "IDSTORE_TOKEN": self._token(_acting(words) or by),
            "SSL_CERT_FILE": str(self.nursery.certificate),
        }

    def _token(self, name: str) -> str:
        if name not in self._tokens:
            try:
                self._tokens[name] = Tokens(self.store).add(Party(name)).token
            except InvalidData:  # of a party with that name there is no token
                return "ids_none"
        return self._tokens[name]

    def _serves(self) -> bool:
        assert self.nursery is not None
        if not self._process and self.store.is_dir() and opening.exists(self.store):
            answer = self.nursery.order("serve", str(self.store))
            self._process, self.address = answer
        return bool(self._process)

    def close(self) -> None:
        if self._process:
            assert self.nursery is not None
            assert self.nursery.order("stop", self._process) == ["0"]
            self._process = ""


def _acting(words: Sequence[object]) -> str | None:
    """Return the party that options before the command name: ``log --user`` is another option."""
    for option, value in pairwise(words):
        if option == "--user":
            return str(value)
        if not str(option).startswith("--"):
            return None
    return None


@pytest.fixture
def access(store: Path, way: str, request: pytest.FixtureRequest) -> Iterator[Access]:
    """Yield the access to the test's store."""
    nursery = None if way == FOLDER else request.getfixturevalue("nursery")
    made = Access(store, way, nursery)
    yield made
    made.close()
