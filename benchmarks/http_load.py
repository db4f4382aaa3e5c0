"""A server process, and clients that send it one request after the other over connections that stay open."""

import os
import re
import selectors
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

_BLOCK = 1 << 16
_LENGTH = b"content-length:"


@dataclass(frozen=True, slots=True)
class Load:
    """The result of a load.

    rate       answers per second.
    waits      milliseconds for each answer.
    processor  microseconds of processor time of the server for each answer.
    """

    rate: float
    waits: list[float]
    processor: float


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A server that listens on a port of this machine."""

    process: int
    port: int

    def load(self, requests: Sequence[bytes], clients: int, number: int) -> Load:
        """Return the result of ``number`` requests, these in turn, over so many connections.

        Raises AssertionError: an answer is neither 2xx nor a redirect.
        """
        before, start = self._processor(), time.perf_counter()
        waits = _send(self.port, requests, clients, max(number, clients))
        seconds = time.perf_counter() - start
        used = self._processor() - before
        return Load(len(waits) / seconds, waits, 1e6 * used / len(waits))

    def _processor(self) -> float:
        """Return the processor time of the server so far, in seconds."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def started(command: Sequence[str], log: Path) -> Iterator[ServerProcess]:
    """Start a server, which tells its address on standard error; stop it at the end of the block."""
    with log.open("wb") as file, subprocess.Popen(command, stderr=file) as process:
        try:
            yield ServerProcess(process.pid, _port(process, log))
        finally:
            process.terminate()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    while process.poll() is None:
        match = re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text())
        if match:
            return int(match[1])
        time.sleep(0.05)
    raise RuntimeError(f"the server ended: {log.read_text()}")


def _send(port: int, requests: Sequence[bytes], clients: int, number: int) -> list[float]:
    """Send ``number`` requests, these in turn. Returns the milliseconds until each answer.

    One thread serves all connections, so that the load takes little of the processor.
    """
    waits: list[float] = []
    following = cycle(requests)
    with selectors.DefaultSelector() as selector:
        for _ in range(clients):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            state = [time.perf_counter(), b""]
            selector.register(connection, selectors.EVENT_READ, (connection, state))
            connection.sendall(next(following))
        sent = clients
        while len(waits) < number:
            for key, _ in selector.select():
                connection, state = key.data
                state[1] += connection.recv(_BLOCK)
                if not _is_whole(state[1]):
                    continue
                now = time.perf_counter()
                waits.append(1000 * (now - state[0]))
                state[:] = now, b""
                if sent < number:
                    connection.sendall(next(following))
                    sent += 1
        for key in [*selector.get_map().values()]:
            key.data[0].close()
    return waits


def _is_whole(answer: bytes) -> bool:
    """Return whether an answer has arrived as a whole."""
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    assert head.startswith((b"HTTP/1.1 2", b"HTTP/1.1 3")), answer
    length = head.lower().partition(_LENGTH)[2].partition(b"\r\n")[0]
    return len(body) >= int(length)
