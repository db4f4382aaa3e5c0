"""Storage of a collection: numbered file systems, in them numbered directories of publishers, each up to a limit.

Source: Scholars Portal URI and File Naming Policy, version 0.3, section 2.1.3.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import InvalidData
from idstore.frozen import dataclass, replace
from idstore.model.event import Event
from idstore.model.namespace import TRUE, number
from idstore.model.party import node
from idstore.vocabulary import IDS, RDF, STORAGE_GRAPH, party_name, storage_iri

DIRECTORY_LIMIT: Final = 200_000_000_000
FILE_SYSTEM_LIMIT: Final = 2_000_000_000_000
"""Bytes: the policy's 200 GB and 2 TB."""

_NAME: Final = re.compile("[a-z][a-z0-9-]{0,62}[a-z]|[a-z]")
_DIRECTORY: Final = re.compile("/([1-9][0-9]{0,17})/([a-z-0-9]+)/([1-9][0-9]{0,17})")
_PATH: Final = re.compile("/([^/\x00-\x1f\x7f]+/)*")


def check_name(text: str, what: str) -> str:
    """The name of a collection or a publisher. Raises InvalidData."""
    if not _NAME.fullmatch(text):
        raise InvalidData(
            f"{text!r} is not the name of a {what}; use a letter, then letters, digits and -, all lower case, and no digit at the end, for a number follows",
            text=text,
        )
    return text


def check_path(text: str) -> str:
    """An absolute path of a directory, with a slash at its end. Raises InvalidData."""
    path = f"{text.rstrip('/')}/"
    if not _PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
        raise InvalidData(f"{text!r} is not an absolute path; write one as /mnt/pillar", text=text)
    return path


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A publisher's directory in a file system: the numbers of both."""

    file_system: int
    publisher: str
    directory: int


@dataclass(frozen=True, slots=True)
class Storage:
    """What was placed where.

    path     in which directory the file systems are mounted, with a slash at the end.
    directory_limit, file_system_limit  bytes.
    placers  parties and groups that may place deliveries, beside administrators.
    sizes    bytes placed, by place.
    """

    name: str
    path: str
    directory_limit: int
    file_system_limit: int
    placers: frozenset[str] = frozenset()
    sizes: tuple[tuple[Place, int], ...] = ()

    @property
    def iri(self) -> NamedNode:
        """Its name."""
        return storage_iri(self.name)

    def file_systems(self) -> dict[int, int]:
        """Bytes placed, by file system, in order."""
        found: dict[int, int] = {}
        for place, size in self.sizes:
            found[place.file_system] = found.get(place.file_system, 0) + size
        return dict(sorted(found.items()))

    def directories(self, publisher: str) -> dict[Place, int]:
        """Bytes placed in the directories of a publisher, in the order of their numbers."""
        own = [(place, size) for place, size in self.sizes if place.publisher == publisher]
        return dict(sorted(own, key=lambda pair: pair[0].directory))

    def closed_file_system(self, file_system: int) -> bool:
        """Whether it is read-only: full, or followed by another."""
        sizes = self.file_systems()
        return sizes.get(file_system, 0) >= self.file_system_limit or any(other > file_system for other in sizes)

    def closed(self, place: Place) -> bool:
        """Whether nothing more goes there: full, followed by another directory of the publisher, or in a closed file system."""
        own = self.directories(place.publisher)
        later = any(other.directory > place.directory for other in own)
        return later or own.get(place, 0) >= self.directory_limit or self.closed_file_system(place.file_system)

    def plan(self, publisher: str, size: int) -> Place:
        """Where a delivery of so many bytes goes: neither limit is ever exceeded. Raises InvalidData if it fits nowhere."""
        limit = min(self.directory_limit, self.file_system_limit)
        if not 0 <= size <= limit:
            raise InvalidData(
                f"a delivery of {size} bytes fits into no directory of {self.name}, which hold {limit}; split it", size=size, limit=limit
            )
        sizes = self.file_systems()
        file_system = max(sizes, default=1)
        full = self.closed_file_system(file_system) or sizes.get(file_system, 0) + size > self.file_system_limit
        file_system += full
        own = self.directories(publisher)
        last = next(reversed(own), None)
        if last is None:
            return Place(file_system, publisher, 1)
        fits = last.file_system == file_system and not self.closed(last) and own[last] + size <= self.directory_limit
        return last if fits else Place(file_system, publisher, last.directory + 1)

    def file_system_path(self, file_system: int) -> str:
        """``/mnt/pillar/ejournals2/``."""
        return f"{self.path}{self.name}{file_system}/"

    def directory_path(self, place: Place) -> str:
        """``/mnt/pillar/ejournals2/wiley5/``."""
        return f"{self.file_system_path(place.file_system)}{place.publisher}{place.directory}/"

    def file_system_iri(self, file_system: int) -> NamedNode:
        """Name of a file system."""
        return NamedNode(f"{self.iri.value}/{file_system}")

    def directory_iri(self, place: Place) -> NamedNode:
        """Name of a directory."""
        return NamedNode(f"{self.iri.value}/{place.file_system}/{place.publisher}/{place.directory}")

    def quads(self) -> list[Quad]:
        """Its triples, in the graph of storage."""
        made = [(self.iri, predicate, value) for predicate, value in self._own()]
        for file_system, size in self.file_systems().items():
            iri = self.file_system_iri(file_system)
            made += [
                (iri, RDF.type, IDS.FileSystem),
                (iri, IDS.within, self.iri),
                *_counted(iri, file_system, self.file_system_path(file_system), size, closed=self.closed_file_system(file_system)),
            ]
        for place, size in self.sizes:
            iri = self.directory_iri(place)
            made += [
                (iri, RDF.type, IDS.Directory),
                (iri, IDS.within, self.file_system_iri(place.file_system)),
                (iri, IDS.publisher, Literal(place.publisher)),
                *_counted(iri, place.directory, self.directory_path(place), size, closed=self.closed(place)),
            ]
        return [Quad(subject, predicate, value, STORAGE_GRAPH) for subject, predicate, value in made]

    def _own(self) -> Iterator[tuple[NamedNode, NamedNode | Literal]]:
        yield RDF.type, IDS.Storage
        yield IDS.name, Literal(self.name)
        yield IDS.path, Literal(self.path)
        yield IDS.directoryLimit, number(self.directory_limit)
        yield IDS.fileSystemLimit, number(self.file_system_limit)
        yield from ((IDS.placer, node(name)) for name in sorted(self.placers))


_Triple = tuple[NamedNode, NamedNode, NamedNode | Literal]


def _counted(iri: NamedNode, which: int, path: str, size: int, *, closed: bool) -> list[_Triple]:
    made: list[_Triple] = [(iri, IDS.number, number(which)), (iri, IDS.path, Literal(path)), (iri, IDS.size, number(size))]
    return [*made, (iri, IDS.closed, TRUE)] if closed else made


def place_of(iri: NamedNode, storage: NamedNode) -> Place:
    """The place that a directory's name says. Raises ValueError if it is none of that storage."""
    form = _DIRECTORY.fullmatch(iri.value.removeprefix(storage.value))
    if form is None or not iri.value.startswith(storage.value):
        raise ValueError(f"{iri.value} is no directory of {storage.value}")
    return Place(int(form[1]), check_name(form[2], "publisher"), int(form[3]))


def apply(before: Storage | None, event: Event) -> Storage:
    """The storage after an event about it; a pure function, the same in whatever order placements are told. Raises ValueError."""
    if before is None:
        name, path = check_name(event.text(IDS.name) or "", "collection"), check_path(event.text(IDS.path) or "")
        directory_limit, file_system_limit = (_whole(event, limit) for limit in (IDS.directoryLimit, IDS.fileSystemLimit))
        return Storage(name, path, directory_limit, file_system_limit)
    if event.kind == IDS.StorageAllowance:
        return replace(before, placers=frozenset(party_name(_node(value)) for value in event.all(IDS.party)))
    if event.kind != IDS.Placement:
        return before
    place = place_of(_node(event.one(IDS.within)), before.iri)
    sizes = dict(before.sizes)
    sizes[place] = sizes.get(place, 0) + _whole(event, IDS.size)
    return replace(before, sizes=tuple(sorted(sizes.items())))


def _whole(event: Event, predicate: NamedNode) -> int:
    """A number that the event says. Raises ValueError if it says none, or one below 0."""
    value = int(event.text(predicate) or "")
    if value < 0:
        raise ValueError(f"{predicate.value} is {value}")
    return value


def fold(events: Iterable[Event]) -> Storage:
    """The storage that a log about it gives. Raises ValueError."""
    storage: Storage | None = None
    for event in sorted(events, key=lambda one: one.order):
        storage = apply(storage, event)
    if storage is None:
        raise ValueError("no event")
    return storage


def parse(iri: NamedNode, quads: Iterable[Quad]) -> Storage:
    """Read a storage from the quads of the graph of storage. Raises KeyError or ValueError if something is missing."""
    by_subject: dict[NamedNode, dict[NamedNode, list[NamedNode | Literal]]] = {}
    for quad in quads:
        assert isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode | Literal)
        by_subject.setdefault(quad.subject, {}).setdefault(quad.predicate, []).append(quad.object)
    own = by_subject[iri]
    sizes = {
        place_of(subject, iri): int(said[IDS.size][0].value)
        for subject, said in by_subject.items()
        if IDS.Directory in said[RDF.type] and subject.value.startswith(f"{iri.value}/")
    }
    return Storage(
        own[IDS.name][0].value,
        own[IDS.path][0].value,
        int(own[IDS.directoryLimit][0].value),
        int(own[IDS.fileSystemLimit][0].value),
        frozenset(party_name(_node(value)) for value in own.get(IDS.placer, ())),
        tuple(sorted(sizes.items())),
    )


def _node(value: object) -> NamedNode:
    assert isinstance(value, NamedNode)
    return value
