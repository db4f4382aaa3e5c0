"""Execution of a query in a process of its own, and translation of the ways in which the process ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from pyoxigraph import NamedNode

from idstore.disk_errors import unnumbered
from idstore.errors import LimitReached, QueryRefused, StoreUnavailable, engine_error
from idstore.queries.bindings import document
from idstore.queries.formats import FORMATS
from idstore.queries.limits import check
from idstore.remedies import Remedy
from idstore.stores.contract import Limits
from idstore.vocabulary import MAPPING_PREFIXES

_GRACE: Final = 0.5
"""Seconds after the time limit when a process that still runs is killed."""
_POLL_INTERVAL: Final = 0.1
"""Seconds between two looks whether the query is cancelled."""
_EXHAUSTED: Final = {-signal.SIGABRT}
"""Exit code of a process that ran out of memory: the engine aborts."""
_OVERFLOWN: Final = {-signal.SIGSEGV, -signal.SIGBUS}
"""Exit codes of a process after a stack overflow."""
_WORKER: Final = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True)
class ProcessAnswer:
    """The answer to a query.

    kind       ``rows`` (SELECT), ``truth`` (ASK) or ``triples`` (CONSTRUCT, DESCRIBE).
    format     format of the bytes, one of `idstore.queries.formats.FORMATS`.
    rows       number of rows or triples in the answer.
    truncated  whether the query has more results.
    stream     the bytes, from the beginning, in a file without a name that disappears when the answer is
               closed.
    """

    kind: str
    format: str
    rows: int
    truncated: bool
    stream: IO[bytes]

    @property
    def media_type(self) -> str:
        """The media type of the format."""
        return FORMATS[self.format].media_type

    def read(self) -> bytes:
        """Return the bytes that were not read yet."""
        return self.stream.read()

    def close(self) -> None:
        """Close and delete the file."""
        self.stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def run(folder: str, text: str, graphs: Sequence[NamedNode], limits: Limits) -> ProcessAnswer:
    """Run a query in a process of its own, and wait for the answer.

    Parameters and errors: see `QueryProcess.run`.
    Cost: 40 ms plus the cost of the query.
    """
    check(text)
    with closing(QueryProcess()) as process:
        return process.run(folder, text, graphs, limits)


class QueryProcess:
    """A process that answers queries, one after the other. Close it.

    It ends with the thread that starts it.

    nice      how much it stands back behind other processes.
    detached  whether Ctrl-C at the terminal does not reach it.
    program   arguments of Python.
    Cost: 40 ms.
    """

    def __init__(
        self, *, nice: int = 0, detached: bool = False, program: Sequence[str] = ("-S", str(_WORKER))
    ) -> None:
        self.is_worn = False
        self._messages = tempfile.TemporaryFile(prefix="idstore-")  # noqa: SIM115 `close` closes it
        self._channel, other = socket.socketpair()
        start = {"path": sys.path, "parent": os.getpid(), "nice": nice}
        try:
            with other:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", *program],  # without start-up code of the user
                    stdin=other.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=self._messages,
                    env=_environment(),
                    start_new_session=detached,
                )
            self._channel.sendall(json.dumps(start).encode() + b"\n")
        except BaseException:
            self._channel.close()
            self._messages.close()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def run(self, folder: str, text: str, graphs: Sequence[NamedNode], limits: Limits) -> ProcessAnswer:
        """Run a query, and wait for the answer.

        folder  folder of an engine that does not change.
        text    the query. The prefixes in `idstore.vocabulary.MAPPING_PREFIXES` need no declaration.
        graphs  graphs of the default graph, and the named graphs.

        An exception during the wait, such as Ctrl-C, kills the process.
        Raises QueryRefused, LimitReached, StoreUnavailable.
        """
        stream = tempfile.TemporaryFile(prefix="idstore-")  # noqa: SIM115 the answer closes it
        try:
            result = self._result(_job(folder, text, graphs, limits), stream, limits)
            stream.seek(0)
            return ProcessAnswer(
                result["kind"], result["format"], result["rows"], result["truncated"], stream
            )
        except BaseException:
            stream.close()
            raise

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        self._channel.close()
        self._messages.close()

    def _result(self, job: bytes, out: IO[bytes], limits: Limits) -> dict[str, Any]:
        """Return the process's description of the answer that it wrote. Raises the error in it."""
        try:
            with tempfile.TemporaryFile(prefix="idstore-") as given:  # the socket holds only the beginning
                given.write(job)
                given.seek(0)
                with suppress(BrokenPipeError):  # it has ended, and its exit code says why
                    socket.send_fds(self._channel, [b"q"], [given.fileno(), out.fileno()])
                reply = self._reply(limits)
            code = 0 if reply else self._process.wait()
        except BaseException:
            self._process.kill()
            self.is_worn = True  # it may live for a moment
            raise
        if not reply:
            self._messages.seek(0)
            raise _ended(limits, code, self._messages.read())
        result: dict[str, Any] = json.loads(reply)
        self.is_worn = result["worn"]
        return _checked(result, limits)

    def _reply(self, limits: Limits) -> bytes:
        """Return the line that the process sends, empty if it has ended. Raises LimitReached."""
        end = time.monotonic() + limits.seconds + _GRACE
        line = b""
        while not line.endswith(b"\n"):
            rest = max(0.0, end - time.monotonic())
            self._channel.settimeout(min(rest, _POLL_INTERVAL) or _POLL_INTERVAL)
            try:
                part = self._channel.recv(1 << 16)
            except TimeoutError:
                if limits.cancelled():
                    raise LimitReached("the query was cancelled", limit="cancelled") from None
                if time.monotonic() >= end:
                    raise _out_of_time(limits) from None
                continue
            except ConnectionResetError:
                part = b""
            if not part:
                return b""
            line += part
        return line


def _job(folder: str, text: str, graphs: Sequence[NamedNode], limits: Limits) -> bytes:
    return json.dumps(
        {
            "engine": folder,
            "query": text,
            "graphs": [graph.value for graph in graphs],
            "dataset": limits.dataset and limits.dataset.within(graphs),
            "bindings": {name: document(value) for name, value in limits.bindings.items()},
            "prefixes": MAPPING_PREFIXES,
            "formats": limits.formats,
            "rows": limits.rows,
            "longest_cell": limits.longest_cell,
            "seconds": limits.seconds,
            "memory": limits.memory,
        }
    ).encode()


def _ended(limits: Limits, code: int, messages: bytes) -> BaseException:
    """Return the error for the exit code of a process that ended without an answer."""
    if code == -signal.SIGINT:
        return KeyboardInterrupt()
    if code == -signal.SIGALRM:
        return _out_of_time(limits)
    if code in _EXHAUSTED:
        return _out_of_memory(limits)
    if code in _OVERFLOWN:
        return LimitReached("the query is nested too deeply; flatten it", limit="depth")
    last = messages.decode(errors="replace").strip().rpartition("\n")[2]
    reason = last or (f"signal {-code}" if code < 0 else f"exit code {code}")
    return StoreUnavailable(f"the query process failed: {reason}; ask again")


def _checked(result: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return a description of an answer. Raises the error that is described instead."""
    if "refused" in result:
        raise QueryRefused(**result["refused"])
    if "exhausted" in result:
        raise _out_of_memory(limits)
    if "failed" in result:
        raise StoreUnavailable(f"the query failed: {unnumbered(result['failed'])}")
    if "damaged" in result:
        raise engine_error(RuntimeError(result["damaged"]))
    return result


def _out_of_time(limits: Limits) -> LimitReached:
    return LimitReached(
        f"the query reached its time limit of {limits.seconds:g} s; ask for less, or raise the limit",
        limit="time",
        seconds=limits.seconds,
        remedy=Remedy.RAISE_LIMIT,
    )


def _out_of_memory(limits: Limits) -> LimitReached:
    megabytes = limits.memory >> 20
    return LimitReached(
        f"the query or its answer needed more than {megabytes} MB;"
        " ask for less, with LIMIT or narrower patterns",
        limit="memory",
        megabytes=megabytes,
    )


def _environment() -> dict[str, str]:
    """Return the variables of a query process: no token, for it runs what others wrote."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("IDSTORE_")}
    return kept | {"RUST_BACKTRACE": "0"}
