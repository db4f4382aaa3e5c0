"""Digest of a registry, or of the part that a party sees: the SHA-256 of the RDFC-1.0 canonical form.

The mark `ids:partial` does not count: it tells who exported, not what there is, and no change sets it.
A registry has no blank nodes. Its canonical form therefore is its N-Quads in canonical spelling, sorted by
code point, each once (https://www.w3.org/TR/rdf-canon/, section 4.4;
https://www.w3.org/TR/rdf12-n-quads/#canonical-quads).
"""

import hashlib
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

from pyoxigraph import Quad

from idstore import arguments
from idstore.model.filter import Filter
from idstore.model.party import Party
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.scratch import sorting_in
from idstore.vocabulary import IDS


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest of statements.

    sha256      the digest in hexadecimal.
    statements  the number of statements that it covers.
    """

    sha256: str
    statements: int

    def __str__(self) -> str:
        return f"sha256:{self.sha256}"


@arguments.checks
def digest(
    registry: Registry, party: Party, filter: Filter = Filter(), *, progress: Progress = unwatched
) -> Digest:
    """Return the digest of the statements that `idstore.exchange.rdf.export` writes for that party.

    The mark of a partial export does not count. The digest does not depend on a format: equal statements give
    equal digests.
    Raises UnknownNamespace. Memory: flat; the statements are sorted on disk.
    """
    sha256, statements = hashlib.sha256(), 0
    with registry.quads(party, filter, progress) as quads:
        for line in canonical(quad for quad in quads if quad.predicate != IDS.partial):
            sha256.update(line)
            statements += 1
    return Digest(sha256.hexdigest(), statements)


def canonical(quads: Iterable[Quad]) -> Iterator[bytes]:
    """Yield the lines of the canonical form of quads without blank nodes. Memory: flat.

    Raises StoreUnavailable: there is no room on disk to sort them.
    """
    with (
        sorting_in("the digest", tempfile.gettempdir()),
        closing(sqlite3.connect("")) as db,
    ):  # an unnamed temporary file
        db.execute("CREATE TABLE line (text BLOB)")
        db.executemany("INSERT INTO line VALUES (?)", ((f"{quad} .\n".encode(),) for quad in quads))
        for (line,) in db.execute("SELECT DISTINCT text FROM line ORDER BY text"):
            yield line
