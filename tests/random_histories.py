"""Random histories: acts of several parties on a registry on disk, refused ones included."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from unittest.mock import patch

from hypothesis import strategies as st

import idstore
from idstore import Party, Record, Registry, Request, Statement
from idstore.errors import IdstoreError
from idstore.exchange import rdf
from idstore.exchange.event_intake import ImportReport
from idstore.model import times

ROOT, ANN, BEN, GIL, OUT = (Party(name) for name in ("root", "ann", "ben", "gil", "out"))
ACTORS = (ANN, BEN, GIL, ROOT)
RDL, NAMES = "http://rdl.example.org/data#", "https://hdl.handle.net/20.500.1/"
URIS = ("http://example.org/a", "http://example.org/b")
RELATIONS = ("http://www.w3.org/2004/02/skos/core#exactMatch", "http://example.org/relation")
BEGINNING = 4_000_000_000_000
"""Start of histories: milliseconds since 1970, later than any real clock."""


@dataclass(frozen=True, slots=True)
class Act:
    """An attempted act: its party (None: the owner), its identifier and its values, by number."""

    kind: str
    by: int | None
    number: int
    value: int


def _on(act: Act, found: list[Record]) -> Record:
    return found[act.number % len(found)]


Doing = Callable[[Registry, Act, Party, Record], object]
OTHERS: dict[str, Doing] = {
    "name": lambda registry, act, by, one: registry.name(
        one.iri, f"name {act.value}", by, ("und", "en")[act.value % 2]
    ),
    "target": lambda registry, act, by, one: registry.target(one.iri, (*URIS, None)[act.value % 3], by),
    "bind": lambda registry, act, by, one: registry.bind(one.iri, _statement(act), by),
    "unbind": lambda registry, act, by, one: registry.unbind(one.iri, _statement(act), by),
    "comment": lambda registry, act, by, one: registry.comment(one.iri, f"remark {act.value}", by),
    "internal": lambda registry, act, by, one: registry.comment(
        one.iri, f"secret {act.value}", by, internal=True
    ),
    "grant": lambda registry, act, by, one: registry.grant(one.iri, _grantee(act), by, bind=act.value > 3),
    "ungrant": lambda registry, act, by, one: registry.ungrant(one.iri, _grantee(act), by),
    "fixate": lambda registry, act, by, one: registry.fixate([one.iri], by),
    "release": lambda registry, act, by, one: registry.release(one.iri, by),
    "revoke": lambda registry, act, by, one: registry.revoke(one.iri, f"reason {act.value}", ROOT),
    "deprecate": lambda registry, act, by, one: registry.deprecate(one.iri, f"reason {act.value}", by),
    "transfer": lambda registry, act, by, one: registry.transfer(one.iri, ACTORS[act.value % 4], by),
    "accept": lambda registry, act, by, one: registry.transfer(
        one.iri, Party(one.offered or "root"), Party(one.offered or "root")
    ),
}
WHOLE: dict[str, Callable[[Registry, Act, Party], object]] = {
    "mint": lambda registry, act, by: registry.mint(
        "rdl", by, Request(f"name {act.value}", request_key="k" if act.value > 4 else None)
    ),
    "register": lambda registry, act, by: registry.register(
        "names", "abc"[act.value % 3], by, Request(f"name {act.value}")
    ),
    "freeze": lambda registry, act, by: registry.freeze("names", ROOT, frozen=act.value > 3),
    "suspend": lambda registry, act, by: (
        registry.suspend(GIL, "reason", ROOT) if act.value > 3 else registry.reinstate(GIL, ROOT)
    ),
    "group": lambda registry, act, by: (registry.join if act.value > 2 else registry.leave)(
        BEN, Party("staff"), ROOT
    ),
    "remark": lambda registry, act, by: registry.comment_namespace("rdl", f"remark {act.value}", ROOT),
}
KINDS = (*WHOLE, *OTHERS, "mint", "register", "register", "fixate", "fixate", "fixate", "bind")


def acts(least: int = 0, most: int = 30) -> st.SearchStrategy[list[Act]]:
    """Return a strategy for lists of acts."""
    one = st.builds(
        Act,
        st.sampled_from(KINDS),
        st.one_of(st.none(), st.none(), st.integers(0, 3)),
        st.integers(0, 7),
        st.integers(0, 5),
    )
    return st.lists(one, min_size=least, max_size=most)


def _statement(act: Act) -> Statement:
    return Statement(URIS[act.value % 2], RELATIONS[act.value // 2 % 2], f"note {act.value}")


def _grantee(act: Act) -> Party:
    return (*ACTORS, Party("staff"))[act.value % 5]


def perform(registry: Registry, act: Act) -> bool:
    """Try an act.

    Returns False if the act was refused, or if it has no object yet.
    """
    try:
        if act.kind in WHOLE:
            WHOLE[act.kind](registry, act, ACTORS[act.by or 0])
            return True
        found = registry.list(ROOT, limit=None)
        if found:
            one = _on(act, found)
            OTHERS[act.kind](registry, act, Party(one.owner) if act.by is None else ACTORS[act.by], one)
    except IdstoreError:
        return False
    return bool(found)


@contextmanager
def clock(step: int = 1, start: int = BEGINNING) -> Iterator[None]:
    """Advance time by ``step`` milliseconds at each reading of the clock."""
    ticks = count(start, step)
    with patch.object(times, "now", lambda: next(ticks)):
        yield


@contextmanager
def begun(place: Path, added: Iterable[Party] = (ANN, BEN, GIL)) -> Iterator[Registry]:
    """Yield a registry with parties and namespaces.

    added  parties that are added beforehand; the others only act. GIL is one of them.
    """
    with idstore.open(place, administrator=ROOT) as registry:
        registry.add_party(Party("staff"), ROOT, "group")
        for party in added:
            registry.add_party(party, ROOT)
        registry.join(GIL, Party("staff"), ROOT)
        registry.add_namespace("rdl", RDL, "rdswip", ROOT)
        registry.add_namespace("names", NAMES, "handle", ROOT)
        yield registry


@contextmanager
def memory() -> Iterator[Path]:
    """Yield a temporary folder, in memory if the system has room there."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    with (
        tempfile.TemporaryDirectory(prefix="idstore-", dir=place) as made,
        patch.object(tempfile, "tempdir", made),
    ):
        yield Path(made)


def exported(registry: Registry, by: Party, path: Path, format: str = "nquads") -> Path:
    """Export the part of a registry that a party sees, and return the file."""
    with path.open("wb") as file:
        rdf.export(registry, file, by, format)
    return path


def merge(
    target: Registry, source: Registry, folder: Path, by: Party = ROOT, format: str = "nquads"
) -> ImportReport:
    """Import what the source exports for a party."""
    file = exported(source, by, folder / "merged", format)
    return rdf.import_registry(target, [file], ROOT, format, own_history=True)


def sound(registry: Registry) -> None:
    """Check that log and state agree, and that each fact is stored once."""
    assert [str(found) for found in registry.verify(ROOT)] == []
    with registry.quads(ROOT) as quads:
        listed = list(quads)
    assert len(listed) == len(set(listed))
