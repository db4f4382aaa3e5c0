"""A server process on a free port of this machine, and requests to it."""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import pytest

from idstore.model.party import Party
from idstore.tokens import Tokens

ALICE, BOB = Party("alice"), Party("bob")


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """A process of ``idstore serve``. Use it in a ``with`` block.

    limits  fields of `ServerLimits`, instead of the usual ones.
    files   how many files the process may open; 0: as usual.
    reads_log  whether the test reads the access log.
    """

    store: Path
    options: tuple[str, ...] = ()
    limits: dict[str, float] = field(default_factory=dict)
    files: int = 0
    reads_log: bool = True
    lines: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        port = () if "--port" in self.options else ("--port", "0")
        command = [sys.executable, "-m", "idstore", "--store", str(self.store), "serve", *port]
        if self.limits or self.files:
            script = Path(__file__).with_name("limited_server.py")
            command = [sys.executable, str(script), str(self.store), json.dumps(self.limits), str(self.files)]
        self.process = subprocess.Popen(
            [*command, *self.options], stderr=subprocess.PIPE, text=True, env={**os.environ, "TZ": "UTC"}
        )
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        found = re.search(r"(http://127\.0\.0\.1:(\d+)\S*/)", first)
        assert found, first + self.process.stderr.read()
        self.address, self.port = found[1], int(found[2])
        log = self.process.stderr if self.reads_log else ()
        self._reader = threading.Thread(target=self.lines.extend, args=[log])
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end(signal.SIGTERM)

    def end(self, number: int) -> int:
        """Send a signal, wait for the end, and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    def log_after(self, text: str) -> str:
        """Return the access log, once it contains a text."""
        wait_until(lambda: text in "".join(self.lines))
        return "".join(self.lines)

    def token(self, party: Party, **limits: Any) -> str:
        return Tokens(self.store).add(party, **limits).token

    def ask(
        self,
        method: str,
        path: str,
        sent: Any = None,
        *,
        token: str | None = None,
        basic: str | None = None,
        headers: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
    ) -> Reply:
        """Send a request and return the answer."""
        sending = dict(headers or {})
        if token is not None:
            sending["Authorization"] = f"Bearer {token}"
        if basic is not None:
            sending["Authorization"] = f"Basic {base64.b64encode(basic.encode()).decode()}"
        body = sent if isinstance(sent, bytes) or sent is None else json.dumps(sent).encode()
        if body is not None:
            sending.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path + (f"?{urlencode(query)}" if query else ""), body, sending)
            reply = connection.getresponse()
            return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        finally:
            connection.close()


def wait_until(happened: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until something has happened. Fails after so many seconds."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def server(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a store with a namespace of each kind; the tests share it."""
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    store = tmp_path_factory.mktemp("s") / "store"
    shutil.copytree(prepared, store)
    with Server(store) as serving:
        yield serving


@pytest.fixture(scope="session")
def alice(server: Server) -> str:
    """Return a token of alice, the administrator."""
    return server.token(ALICE)


@pytest.fixture(scope="session")
def bob(server: Server) -> str:
    return server.token(BOB)
