"""RDF Patch: added and removed quads of a registry (https://afs.github.io/rdf-delta/rdf-patch.html).

Header lines name the store, and the sequence numbers before and at the end of the patch; the next patch
begins where this one ends. Each event is a transaction.
"""

import io
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from pyoxigraph import Quad, RdfFormat
from pyoxigraph import parse as parse_rdf

from idstore.errors import ExchangeError
from idstore.exchange import limits
from idstore.model.namespace import TRUE
from idstore.model.party import Party
from idstore.progress import Meter, Progress, unwatched
from idstore.registry import Registry
from idstore.vocabulary import IDS, REGISTRY_GRAPH, store_name

FORMAT: Final = "rdf-patch"
SUFFIX: Final = ".rdfp"
_END: Final = 64
"""Bytes in which the last row of a patch has room."""
_ABOUT: Final = re.compile(rf"A <([^>]*)> {IDS.about} ")
"""Row that adds an event; each transaction has one."""
_ROWS: Final = ("H", "TX", "TC", "A", "D")


def export(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    after: int = 0,
    *,
    limit: int | None = None,
    progress: Progress = unwatched,
) -> int:
    """Write the changes after a number.

    after  for administrators a sequence number, for others a number of the public feed.
    limit  how many events at most; None: all.

    Returns the last number of the patch. Raises InvalidData (the number is not reached yet), OSError,
    StoreUnavailable.
    Memory: flat.
    """
    last = after
    target.write(f"H id <{store_name(registry.store.origin)}> .\nH after {after} .\n".encode())
    if not after and registry.administers(party):
        target.write(b"H whole true .\n")
    for step in Meter(progress, "events").over(registry.steps(party, after, limit)):
        last = step.number
        target.write(b"TX .\n")
        target.writelines(_row("D", quad) for quad in step.removed)
        target.writelines(_row("A", quad) for quad in step.added)
        target.write(b"TC .\n")
    target.write(f"H upto {last} .\n".encode())
    return last


def _row(sign: str, quad: Quad) -> bytes:
    return f"{sign} {quad} .\n".encode()


class Tail(io.RawIOBase):
    """Passes on what is written to ``target``, and knows the number with which a patch ends."""

    def __init__(self, target: IO[bytes]) -> None:
        super().__init__()
        self._target, self._end = target, b""

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write all bytes. Raises OSError."""
        self._end = (self._end + bytes(data))[-_END:]
        return self._target.write(data)

    @property
    def last(self) -> int:
        """The last number of the patch, once it is complete."""
        return int(self._end.rpartition(b"H upto ")[2].split()[0])


def extent(path: Path) -> tuple[int, str]:
    """Return how many complete transactions a patch has, and the IRI of the event of the last one.

    Raises OSError. Memory: flat.
    """
    count, event, begun = 0, "", ""
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if match := _ABOUT.match(line):
                begun = match[1]
            elif line.startswith("TC"):
                count, event = count + 1, begun
    return count, event


class Patches:
    """A sequence of patches.

    It is complete if each patch of a store begins at or before the end of the one before.
    """

    def __init__(self) -> None:
        self._reached: dict[str, int] = {}  # by store: the number up to which the patches are complete

    def changes(self, path: Path) -> Iterator[tuple[Quad, bool]]:
        """Yield the quads of the next patch in order, each with whether it is added.

        Unless the patches are complete, the last quad marks the registry as partial.
        Raises ExchangeError: malformed, or cut off. Memory: flat.
        """
        head: dict[str, str] = {}
        for line in _lines(path):
            if line.startswith("H "):
                name, _, value = line[2:].removesuffix(" .").partition(" ")
                head[name] = value
            elif line.startswith(("A ", "D ")):
                [quad] = parse_rdf(line[2:], format=RdfFormat.N_QUADS)
                yield quad, line.startswith("A ")
        store, after, upto = (
            head.get("id", ""),
            _number(head.get("after", ""), sys.maxsize),
            _number(head["upto"], 0),
        )
        if head.get("whole") == "true" or after <= self._reached.get(store, -1):
            self._reached[store] = max(upto, self._reached.get(store, 0))
        else:
            yield Quad(REGISTRY_GRAPH, IDS.partial, TRUE, REGISTRY_GRAPH), True


def _number(text: str, default: int) -> int:
    return int(text) if text.isdecimal() else default


def _lines(path: Path) -> Iterator[str]:
    """Yield the rows. Raises ExchangeError: a row is malformed, or the last row is missing."""
    number, in_transaction, last = 0, False, ""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            for number, text in enumerate(iter(partial(lines.readline, limits.PATCH_ROW), ""), 1):
                if len(text) == limits.PATCH_ROW:
                    raise ExchangeError(
                        str(path), number, f"the row is longer than {limits.PATCH_ROW} characters"
                    )
                line = text.strip()
                sign = line.partition(" ")[0]
                if not sign or sign.startswith("#"):
                    continue
                reason = _flaw(line, sign, in_transaction=in_transaction)
                if reason is not None:
                    raise ExchangeError(str(path), number, reason)
                in_transaction, last = sign in ("TX", "A", "D"), line
                yield line
    except (OSError, UnicodeDecodeError) as error:
        raise ExchangeError(
            str(path), None, f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    if not last.startswith("H upto "):
        raise ExchangeError(
            str(path), number or None, "it ends too soon: no patch of a registry, or cut off; fetch it again"
        )


def _flaw(line: str, sign: str, *, in_transaction: bool) -> str | None:
    """Return the reason why a row is malformed; None if it is not."""
    if sign not in _ROWS:
        return f"{sign!r} is no row of a registry's RDF Patch; there are {', '.join(_ROWS)}"
    if in_transaction is not (sign in ("TC", "A", "D")):
        return f"{sign} {'inside' if in_transaction else 'outside'} a transaction"
    if sign in ("A", "D"):
        try:
            count = sum(1 for _ in parse_rdf(line[2:], format=RdfFormat.N_QUADS))
        except SyntaxError as error:
            return f"not a quad in N-Quads: {error.msg}"
        except MemoryError:
            return f"a term has more than {limits.RDF_TERM} bytes, which no registry stores; shorten it"
        return None if count == 1 else "not one quad in N-Quads"
    return None if line.endswith(" .") else "it does not end with a full stop"
