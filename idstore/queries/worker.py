"""The program of a query process.

It starts as a file, without start-up code of packages. Standard input is a socket to the process that waits
for answers. First comes a line, a JSON object:

path      module search path.
parent    see `idstore.queries.confinement`.
nice      how much this process stands back behind others.

Then each byte is a query. Two files come with it: one to read the query from, a JSON object, and one for the
answer.

engine    folder of the engine: a snapshot. The process keeps it open for the next query.
query     text of the query.
graphs    IRIs of the graphs that the party sees.
dataset   the default graphs and the named graphs that were selected from them; null: as the query says.
bindings  variables of the query, and their terms.
prefixes  prefixes that need no declaration.
formats   formats of the answer, the first that suits it; empty for the one for human readers.
rows      maximum number of rows or triples; null for no limit.
longest_cell  characters of a cell of a table at most; null for no limit.
seconds, memory   see `idstore.queries.confinement`.

After the answer, a JSON object in a line on the socket describes it, or the error.
"""

import errno
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from pyoxigraph import Store

_DAMAGED = "Corruption"
"""Beginning of the engine's message about a corrupt file."""
_IDLE = 5.0
"""Seconds after which an engine is closed that no query uses."""
_WORN = 512 << 20
"""Bytes of memory after which a process does not take another query."""


def main() -> None:
    """Answer queries, one after the other, until the other process closes the socket."""
    channel = socket.socket(fileno=os.dup(0), family=socket.AF_UNIX, type=socket.SOCK_STREAM)
    begin(json.loads(_line(channel)))
    engine = OpenEngine()
    channel.settimeout(_IDLE)
    while True:
        try:
            asked, files, _, _ = socket.recv_fds(channel, 1, 2)
        except TimeoutError:
            engine.close()
            continue
        if not asked:
            os._exit(0)  # no cleanup is necessary
        with os.fdopen(files[0], "rb") as given, os.fdopen(files[1], "wb") as out:
            result = answer(engine, given, out)
        channel.sendall(json.dumps(result).encode() + b"\n")


def _line(channel: socket.socket) -> bytes:
    text = b""
    while not text.endswith(b"\n"):
        part = channel.recv(1)
        if not part:
            os._exit(0)
        text += part
    return text


def begin(start: Mapping[str, Any]) -> None:
    """Confine this process."""
    sys.path[:] = start["path"]
    from idstore.queries.confinement import confine

    confine(start["parent"])
    os.nice(start["nice"])


class OpenEngine:
    """The engine of the last query, kept open for the next one."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._store: Store | None = None

    def open(self, folder: str) -> "Store":
        """Return the engine in a folder. Raises OSError, RuntimeError."""
        from pyoxigraph import Store

        key: tuple[object, ...] = (folder,)
        try:
            status = Path(folder, "CURRENT").stat()  # a folder may be replaced
            key = (folder, status.st_ino, status.st_mtime_ns)
        except OSError:
            self.close()  # opening it tells what is wrong
        if self._store is None or key != self._key:
            self.close()
            self._store, self._key = Store.read_only(folder), key
        return self._store

    def close(self) -> None:
        """Close the engine, so that its files can go."""
        self._store = None


def answer(engine: OpenEngine, given: IO[bytes], out: BinaryIO) -> Mapping[str, object]:
    """Run a query within its limits, and return the description of the answer or of the error."""
    import resource

    from idstore.errors import QueryRefused
    from idstore.queries.confinement import limit

    job = json.load(given)
    limit(job["seconds"], job["memory"])
    try:
        result = dict(write_answer(engine.open(job["engine"]), job, out))
    except QueryRefused as error:
        result = {"refused": {"message": error.message, **error.fields}}
    except MemoryError:
        result = {"exhausted": "memory"}
    except OSError as error:
        result = {"exhausted": "file"} if error.errno == errno.EFBIG else {"failed": str(error)}
    except RuntimeError as error:
        result = {"damaged": str(error)}
    limit(0, job["memory"])
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return result | {"worn": used > _WORN}


def write_answer(engine: "Store", job: Mapping[str, Any], out: BinaryIO) -> Mapping[str, object]:
    """Write the answer to a query, and return its description.

    Raises QueryRefused; OSError or RuntimeError if the engine cannot be read or the answer cannot be written.
    """
    from pyoxigraph import BlankNode, Literal, NamedNode, Triple, Variable

    from idstore.errors import QueryRefused
    from idstore.queries import bindings, guard, results
    from idstore.queries.dataset import dataset

    text, prefixes = job["query"], job["prefixes"]
    guard.check(text, prefixes)
    default, named = job["dataset"] or dataset(text, job["graphs"], prefixes)
    values: dict[Variable, NamedNode | BlankNode | Literal | Triple] = {
        Variable(name): bindings.term(value) for name, value in job["bindings"].items()
    }
    try:
        result = engine.query(
            text,
            prefixes=prefixes,
            default_graph=[*map(NamedNode, default)],
            named_graphs=[*map(NamedNode, named)],
            substitutions=values,
        )
        return results.write(result, job["formats"], job["rows"], prefixes, out, job["longest_cell"])
    except SyntaxError as error:
        raise guard.malformed(text, error) from error
    except RuntimeError as error:
        if str(error).startswith(_DAMAGED):
            raise
        raise QueryRefused(f"the query cannot be evaluated: {error}") from error


if __name__ == "__main__":
    main()
