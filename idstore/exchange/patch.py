"""RDF Patch: what became different, as triples that appear and disappear (https://afs.github.io/rdf-delta/rdf-patch.html).

A header line names the store and the number up to which the patch goes, which is where the next one begins. Each event is a transaction.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from pyoxigraph import Quad

from idstore.errors import ExchangeError
from idstore.model.namespace import TRUE
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.vocabulary import IDS, REGISTRY_GRAPH

FORMAT: Final = "rdf-patch"
SUFFIX: Final = ".rdfp"
_ROWS: Final = {"H", "TX", "TC", "TA", "PA", "PD", "A", "D"}


def export(registry: Registry, target: IO[bytes], party: Party, after: int = 0) -> int:
    """Write what became different behind a number: a sequence number for administrators, for others one of the public feed.

    Returns the number up to which it goes. Raises OSError, StoreUnavailable. Memory: flat.
    """
    last = after
    target.write(f"H id <urn:uuid:{registry.store.origin}> .\nH after {after} .\n".encode())
    for step in registry.steps(party, after):
        last = step.number
        target.write(b"TX .\n")
        target.writelines(_row("D", quad) for quad in step.removed)
        target.writelines(_row("A", quad) for quad in step.added)
        target.write(f"TC . # {last}\n".encode())
    target.write(f"H upto {last} .\n".encode())
    return last


def _row(sign: str, quad: Quad) -> bytes:
    return f"{sign} {quad} .\n".encode()


def to_nquads(path: Path, place: Path) -> None:
    """Write the quads that a patch adds as N-Quads, to be imported: the events among them tell everything. Raises ExchangeError.

    Marked as partial, since a patch need not begin at the beginning.
    """
    with place.open("w", encoding="utf-8") as target:
        target.write(f"{Quad(REGISTRY_GRAPH, IDS.partial, TRUE, REGISTRY_GRAPH)} .\n")
        for line in _added(path):
            target.write(line)


def _added(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                sign, _, rest = line.strip().partition(" ")
                if sign and sign not in _ROWS and not sign.startswith("#"):
                    raise ExchangeError(str(path), number, f"{sign!r} is no row of an RDF Patch; there are {', '.join(sorted(_ROWS))}")
                if sign == "A":
                    yield rest + "\n"
    except (OSError, UnicodeDecodeError) as error:
        raise ExchangeError(str(path), None, f"cannot be read: {error}") from error
