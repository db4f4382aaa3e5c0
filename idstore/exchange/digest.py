"""One line that stands for all of a registry, or for what a party sees of it: the SHA-256 of the RDFC-1.0 canonical form.

There are no blank nodes in a registry, so that the canonical form is its N-Quads in canonical spelling, sorted by code point, each once
(https://www.w3.org/TR/rdf-canon/, section 4.4; https://www.w3.org/TR/rdf12-n-quads/#canonical-quads).
"""

import hashlib
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

from pyoxigraph import Quad

from idstore.model.party import Party
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.registry.exporting import Extract
from idstore.stores.sqlite import sorting_in


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest, in hexadecimal, and of how many statements it is."""

    sha256: str
    statements: int

    def __str__(self) -> str:
        return f"sha256:{self.sha256}"


def digest(registry: Registry, party: Party, extract: Extract = Extract(), *, progress: Progress = unwatched) -> Digest:
    """The digest of what `idstore.exchange.rdf.export` writes for that party: equal where the same is said, whatever the format.

    Raises UnknownNamespace. Memory: flat; they are sorted on disk.
    """
    made, many = hashlib.sha256(), 0
    with registry.quads(party, extract, progress) as quads:
        for line in canonical(quads):
            made.update(line)
            many += 1
    return Digest(made.hexdigest(), many)


def canonical(quads: Iterable[Quad]) -> Iterator[bytes]:
    """The lines of the canonical form of quads without blank nodes. Raises StoreUnavailable: no room to sort them. Memory: flat."""
    with sorting_in("the digest", tempfile.gettempdir()), closing(sqlite3.connect("")) as order:  # in a file without a name
        order.execute("CREATE TABLE line (text BLOB)")
        order.executemany("INSERT INTO line VALUES (?)", ((f"{quad} .\n".encode(),) for quad in quads))
        for (line,) in order.execute("SELECT DISTINCT text FROM line ORDER BY text"):
            yield line
