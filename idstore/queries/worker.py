"""The process that a query runs in.

It is started as a file, without the packages' start-up code, and gets everything by standard input: a JSON object with

path      where modules are found.
engine    the engine's folder: a snapshot.
query     the text.
graphs    IRIs of the graphs that the party sees.
prefixes  prefixes that need no declaration.
format    how to write the answer; null for the one that people read.
rows      how many rows or triples to give at most; null for all.
seconds, memory, parent   see `idstore.queries.confinement`.

The answer goes to standard output. When that is complete, a JSON object on standard error says what it is, or why there is none.
"""

import errno
import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from pyoxigraph import Store

_DAMAGED = "Corruption"
"""How the engine's message begins when a file is not what was written."""


def main() -> None:
    """Answer one query, or say why not."""
    job = json.load(sys.stdin.buffer)
    sys.path[:] = job["path"]
    from idstore.queries.confinement import confine

    confine(job["seconds"], job["memory"], job["parent"])
    json.dump(_said(job), sys.stderr)
    sys.stderr.flush()
    os._exit(0)  # nothing is left to be put in order


def _said(job: Mapping[str, Any]) -> Mapping[str, object]:
    """What came of it."""
    from pyoxigraph import Store

    from idstore.errors import QueryRefused

    try:
        return answer(Store.read_only(job["engine"]), job, sys.stdout.buffer)
    except QueryRefused as error:
        return {"refused": {"message": error.message, **error.fields}}
    except MemoryError:
        return {"exhausted": "memory"}
    except OSError as error:
        return {"exhausted": "file"} if error.errno == errno.EFBIG else {"failed": str(error)}
    except RuntimeError as error:
        return {"damaged": str(error)}


def answer(engine: "Store", job: Mapping[str, Any], out: BinaryIO) -> Mapping[str, object]:
    """Write the answer, and say what it is. Raises QueryRefused; OSError, or RuntimeError, when the engine cannot be read or the answer not be written."""
    from pyoxigraph import NamedNode

    from idstore.errors import QueryRefused
    from idstore.queries import guard, results
    from idstore.queries.dataset import dataset

    text, prefixes = job["query"], job["prefixes"]
    guard.check(text, prefixes)
    default, named = dataset(text, job["graphs"], prefixes)
    try:
        found = engine.query(text, prefixes=prefixes, default_graph=[*map(NamedNode, default)], named_graphs=[*map(NamedNode, named)])
        return results.write(found, job["format"], job["rows"], prefixes, out)
    except SyntaxError as error:
        raise guard.malformed(text, error) from error
    except RuntimeError as error:
        if str(error).startswith(_DAMAGED):
            raise
        raise QueryRefused(f"the query cannot be evaluated: {error}") from error


if __name__ == "__main__":
    main()
