"""Running a query in a process of its own, and what its end means."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from idstore.errors import LimitReached, QueryRefused, StoreUnavailable
from idstore.queries.formats import FORMATS
from idstore.stores.scans import unreadable

_GRACE: Final = 0.5
"""Seconds after its limit when a process that did not end by itself is ended."""
_EXHAUSTED: Final = {-signal.SIGABRT, -signal.SIGKILL}
"""How a process ends that gets no more memory: the engine gives up, or the system ends it."""
_OVERFLOWN: Final = {-signal.SIGSEGV, -signal.SIGBUS}
"""How a process ends whose stack is full."""
_WORKER: Final = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True)
class Job:
    """A query to run: see `idstore.queries.worker`."""

    engine: str = field(repr=False)  # its name tells how much happened, which a traceback with values would show
    query: str
    graphs: Sequence[str]
    prefixes: Mapping[str, str]
    format: str | None
    rows: int | None
    seconds: float
    memory: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query found.

    kind       ``rows`` (SELECT), ``truth`` (ASK) or ``triples`` (CONSTRUCT, DESCRIBE).
    format     the form it is written in, one of `idstore.queries.formats.FORMATS`.
    rows       how many rows or triples are given.
    truncated  whether there are more.
    stream     the bytes, from the beginning. They are in a file without a name, which is gone when the answer is closed.
    """

    kind: str
    format: str
    rows: int
    truncated: bool
    stream: IO[bytes]

    @property
    def media_type(self) -> str:
        """For HTTP."""
        return FORMATS[self.format].media_type

    def read(self) -> bytes:
        """All of it, or what was not read yet."""
        return self.stream.read()

    def close(self) -> None:
        """Give the bytes up."""
        self.stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def run(job: Job) -> Answer:
    """Run a query and wait for its answer. Whatever ends the wait, Ctrl-C included, ends the process.

    Raises QueryRefused, LimitReached, StoreUnavailable. Cost: 40 ms, and what the query costs.
    """
    stream = tempfile.TemporaryFile(prefix="idstore-")  # noqa: SIM115 the answer closes it
    try:
        said = _meaning(job, *_ended(job, stream))
        stream.seek(0)
        return Answer(said["kind"], said["format"], said["rows"], said["truncated"], stream)
    except BaseException:
        stream.close()
        raise


def _ended(job: Job, out: IO[bytes]) -> tuple[int, bytes]:
    """How the process ended, and what it said. Raises LimitReached."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_WORKER)],  # nothing of the user's is run at its start
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=subprocess.PIPE,
        env=os.environ | {"RUST_BACKTRACE": "0"},
    )
    with process:
        try:
            _, said = process.communicate(_asked(job), timeout=job.seconds + _GRACE)
        except subprocess.TimeoutExpired:
            raise _out_of_time(job) from None
        finally:
            process.kill()
    return process.returncode, said


def _asked(job: Job) -> bytes:
    asked = {name: getattr(job, name) for name in Job.__slots__} | {"path": sys.path, "parent": os.getpid()}
    return json.dumps(asked).encode()


def _meaning(job: Job, code: int, said: bytes) -> dict[str, Any]:
    """What the process said about its answer. Raises what it raised, or what its end means."""
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    if code == -signal.SIGALRM:
        raise _out_of_time(job)
    if code in _EXHAUSTED:
        raise _out_of_memory(job)
    if code in _OVERFLOWN:
        raise LimitReached("the query is nested too deeply; flatten it", limit="depth")
    try:
        told: dict[str, Any] = json.loads(said)
    except ValueError:
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        raise StoreUnavailable(f"the process of the query failed: {last or f'exit code {code}'}") from None
    if "refused" in told:
        raise QueryRefused(**told["refused"])
    if "exhausted" in told:
        raise _out_of_memory(job)
    if "failed" in told:
        raise StoreUnavailable(f"the query failed: {told['failed']}")
    if "damaged" in told:
        raise unreadable(RuntimeError(told["damaged"]))
    return told


def _out_of_time(job: Job) -> LimitReached:
    return LimitReached(
        f"the query was ended after {job.seconds:g} s; ask for less, or allow more with --timeout", limit="time", seconds=job.seconds
    )


def _out_of_memory(job: Job) -> LimitReached:
    megabytes = job.memory >> 20
    return LimitReached(
        f"the query was ended when it, or its answer, needed more than {megabytes} MB; ask for less, with LIMIT or narrower patterns",
        limit="memory",
        megabytes=megabytes,
    )
