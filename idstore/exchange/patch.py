"""RDF Patch: what became different, as triples that appear and disappear (https://afs.github.io/rdf-delta/rdf-patch.html).

Header lines name the store and the numbers between which the patch goes; the next one begins where it ends. Each event is a transaction.
"""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Final

from pyoxigraph import Quad, RdfFormat
from pyoxigraph import parse as parse_rdf

from idstore.errors import ExchangeError
from idstore.model.namespace import TRUE
from idstore.model.party import Party
from idstore.progress import Meter, Progress, unwatched
from idstore.registry import Registry
from idstore.vocabulary import IDS, REGISTRY_GRAPH, store_name

FORMAT: Final = "rdf-patch"
SUFFIX: Final = ".rdfp"
_LONGEST: Final = 1 << 26
"""Characters of a row: memory stays bounded."""
_ROWS: Final = ("H", "TX", "TC", "A", "D")


def export(registry: Registry, target: IO[bytes], party: Party, after: int = 0, *, progress: Progress = unwatched) -> int:
    """Write what became different behind a number: a sequence number for administrators, for others one of the public feed.

    Returns the number up to which it goes. Raises InvalidData: nothing has that number yet; OSError, StoreUnavailable. Memory: flat.
    """
    last = after
    target.write(f"H id <{store_name(registry.store.origin)}> .\nH after {after} .\n".encode())
    if not after and registry.administers(party):
        target.write(b"H whole true .\n")
    for step in Meter(progress, "events").over(registry.steps(party, after)):
        last = step.number
        target.write(b"TX .\n")
        target.writelines(_row("D", quad) for quad in step.removed)
        target.writelines(_row("A", quad) for quad in step.added)
        target.write(b"TC .\n")
    target.write(f"H upto {last} .\n".encode())
    return last


def _row(sign: str, quad: Quad) -> bytes:
    return f"{sign} {quad} .\n".encode()


class Patches:
    """Patches one after the other; those of a store that go on where the one before ends leave out no more than that one."""

    def __init__(self) -> None:
        self._reached: dict[str, int] = {}  # by store: up to where nothing was left out

    def changes(self, path: Path) -> Iterator[tuple[Quad, bool]]:
        """The quads of the next patch in order, each with whether it appears; at last that it is a part only, unless nothing is left out.

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
        store, after, upto = head.get("id", ""), _number(head.get("after", ""), sys.maxsize), _number(head["upto"], 0)
        if head.get("whole") == "true" or after <= self._reached.get(store, -1):
            self._reached[store] = max(upto, self._reached.get(store, 0))
        else:
            yield Quad(REGISTRY_GRAPH, IDS.partial, TRUE, REGISTRY_GRAPH), True


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() else otherwise


def _lines(path: Path) -> Iterator[str]:
    """The rows, each proven to be one, and the last one to be there."""
    number, under_way, last = 0, False, ""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            for number, text in enumerate(iter(partial(lines.readline, _LONGEST), ""), 1):
                if len(text) == _LONGEST:
                    raise ExchangeError(str(path), number, f"the row is longer than {_LONGEST} characters")
                line = text.strip()
                sign = line.partition(" ")[0]
                if not sign or sign.startswith("#"):
                    continue
                reason = _flaw(line, sign, under_way=under_way)
                if reason is not None:
                    raise ExchangeError(str(path), number, reason)
                under_way, last = sign in ("TX", "A", "D"), line
                yield line
    except (OSError, UnicodeDecodeError) as error:
        raise ExchangeError(str(path), None, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not last.startswith("H upto "):
        raise ExchangeError(str(path), number or None, "it ends too soon: no patch of a registry, or cut off; fetch it again")


def _flaw(line: str, sign: str, *, under_way: bool) -> str | None:
    """What is wrong with a row."""
    if sign not in _ROWS:
        return f"{sign!r} is no row of a registry's RDF Patch; there are {', '.join(_ROWS)}"
    if under_way is not (sign in ("TC", "A", "D")):
        return f"{sign} {'inside' if under_way else 'outside'} a transaction"
    if sign in ("A", "D"):
        try:
            found = sum(1 for _ in parse_rdf(line[2:], format=RdfFormat.N_QUADS))
        except SyntaxError as error:
            return f"not a quad in N-Quads: {error.msg}"
        return None if found == 1 else "not one quad in N-Quads"
    return None if line.endswith(" .") else "it does not end with a full stop"
