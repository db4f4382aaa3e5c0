"""The connections that SQLite opens in a block, whoever opens them: to watch their statements."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

_collecting: list[list[sqlite3.Connection]] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _collecting and event == "sqlite3.connect/handle":
        (connection,) = arguments
        assert isinstance(connection, sqlite3.Connection)
        for opened in _collecting:
            opened.append(connection)


sys.addaudithook(_hook)  # for the rest of the process: Python cannot remove one


@contextmanager
def opened_connections() -> Iterator[list[sqlite3.Connection]]:
    """Collect the connections that are opened in the block, from any thread."""
    opened: list[sqlite3.Connection] = []
    _collecting.append(opened)
    try:
        yield opened
    finally:
        _collecting.remove(opened)


@contextmanager
def traced(connections: list[sqlite3.Connection]) -> Iterator[list[tuple[sqlite3.Connection, str]]]:
    """Collect the statements that the connections carry out in the block, with their values filled in."""
    statements: list[tuple[sqlite3.Connection, str]] = []

    def collect(connection: sqlite3.Connection, statement: str) -> None:
        statements.append((connection, statement))

    for one in connections:
        one.set_trace_callback(partial(collect, one))
    try:
        yield statements
    finally:
        for one in connections:
            one.set_trace_callback(None)


def plan(connection: sqlite3.Connection, statement: str) -> list[str]:
    """Return the steps by which SQLite would carry out a statement."""
    return [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
