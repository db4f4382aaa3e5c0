"""Storage of a collection: numbered file systems with numbered directories of publishers, all with limits.

Source: Scholars Portal URI and File Naming Policy, version 0.3, section 2.1.3.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import InvalidData
from idstore.model.event import Event
from idstore.model.namespace import TRUE
from idstore.model.party import node
from idstore.model.terms import integer
from idstore.vocabulary import IDS, RDF, STORAGE_GRAPH, party_name, storage_iri

DIRECTORY_LIMIT: Final = 200_000_000_000
FILE_SYSTEM_LIMIT: Final = 2_000_000_000_000
"""Bytes: the policy's 200 GB and 2 TB."""

_NAME: Final = re.compile("[a-z][a-z0-9-]{0,62}[a-z]|[a-z]")
_DIRECTORY: Final = re.compile("/([1-9][0-9]{0,17})/([a-z-0-9]+)/([1-9][0-9]{0,17})")
_NUMBERED: Final = re.compile("([a-z0-9-]*[a-z])([1-9][0-9]{0,17})/([a-z0-9-]*[a-z])([1-9][0-9]{0,17})")
_PATH: Final = re.compile("/([^/\x00-\x1f\x7f]+/)*")


def check_name(text: str, what: str) -> str:
    """Return the name of a collection or a publisher unchanged. Raises InvalidData."""
    if not _NAME.fullmatch(text):
        raise InvalidData(
            f"{text!r} is not the name of a {what}; use lower-case letters, digits and -,"
            " begin with a letter, and do not end with a digit, because a number follows the name",
            field=what,
            text=text,
        )
    return text


def check_path(text: str) -> str:
    """Return the absolute path of a directory, with a slash at its end. Raises InvalidData."""
    path = f"{text.rstrip('/')}/"
    if not text or not _PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
        raise InvalidData(
            f"{text!r} is not an absolute path; write one as /mnt/pillar", field="path", text=text
        )
    return path


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A directory of a publisher in a file system.

    file_system  number of the file system.
    directory    number of the directory among those of the publisher.
    """

    file_system: int
    publisher: str
    directory: int


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage of a collection, and the bytes placed in each directory.

    path     directory where the file systems are mounted, with a slash at its end.
    directory_limit, file_system_limit  bytes.
    placers  parties and groups that may place deliveries, besides administrators.
    sizes    bytes placed in each directory.
    """

    name: str
    path: str
    directory_limit: int
    file_system_limit: int
    placers: frozenset[str] = frozenset()
    sizes: tuple[tuple[Place, int], ...] = ()

    @property
    def iri(self) -> NamedNode:
        """The IRI of the storage."""
        return storage_iri(self.name)

    def file_systems(self) -> dict[int, int]:
        """Return the bytes placed in each file system, in the order of their numbers."""
        sizes: dict[int, int] = {}
        for place, size in self.sizes:
            sizes[place.file_system] = sizes.get(place.file_system, 0) + size
        return dict(sorted(sizes.items()))

    def directories(self, publisher: str) -> dict[Place, int]:
        """Return the bytes placed in each directory of a publisher, in the order of their numbers."""
        own = [(place, size) for place, size in self.sizes if place.publisher == publisher]
        return dict(sorted(own, key=_by_directory))

    def closed_file_systems(self) -> set[int]:
        """Return the file systems that are read-only: full, or followed by a later one."""
        sizes = self.file_systems()
        last = max(sizes, default=1)
        return {number for number, size in sizes.items() if number < last or size >= self.file_system_limit}

    def closed_directories(self) -> set[Place]:
        """Return the directories that are full, followed by a later one, or in a closed file system."""
        read_only = self.closed_file_systems()
        last = {place.publisher: place.directory for place, _ in sorted(self.sizes, key=_by_directory)}
        return {
            place
            for place, size in self.sizes
            if place.directory < last[place.publisher]
            or size >= self.directory_limit
            or place.file_system in read_only
        }

    def plan(self, publisher: str, size: int) -> Place:
        """Return the directory for a delivery of ``size`` bytes, within both limits.

        Raises InvalidData if the delivery fits into no directory.
        """
        limit = min(self.directory_limit, self.file_system_limit)
        if not 0 <= size <= limit:
            raise InvalidData(
                f"a delivery of {size} bytes fits into no directory of {self.name}: a directory holds"
                f" at most {limit} bytes; split the delivery",
                size=size,
                limit=limit,
            )
        sizes = self.file_systems()
        file_system = max(sizes, default=1)
        full = (
            file_system in self.closed_file_systems()
            or sizes.get(file_system, 0) + size > self.file_system_limit
        )
        file_system += full
        own = self.directories(publisher)
        last = next(reversed(own), None)
        if last is None:
            return Place(file_system, publisher, 1)
        fits = (
            last.file_system == file_system
            and last not in self.closed_directories()
            and own[last] + size <= self.directory_limit
        )
        return last if fits else Place(file_system, publisher, last.directory + 1)

    def place_at(self, text: str) -> Place:
        """Return the directory with a path such as ``ejournals3/wiley6``, or the whole path.

        Raises InvalidData.
        """
        path = text.removeprefix(self.path).rstrip("/")
        match = _NUMBERED.fullmatch(path)
        if match is None or match[1] != self.name:
            raise InvalidData(
                f"{text!r} is not a directory of {self.name}; write it as {self.name}3/wiley6",
                field="present",
                text=text,
            )
        return Place(int(match[2]), check_name(match[3], "publisher"), int(match[4]))

    def file_system_path(self, file_system: int) -> str:
        """Return the path of a file system, such as ``/mnt/pillar/ejournals2/``."""
        return f"{self.path}{self.name}{file_system}/"

    def directory_path(self, place: Place) -> str:
        """Return the path of a directory, such as ``/mnt/pillar/ejournals2/wiley5/``."""
        return f"{self.file_system_path(place.file_system)}{place.publisher}{place.directory}/"

    def file_system_iri(self, file_system: int) -> NamedNode:
        """Return the IRI of a file system."""
        return NamedNode(f"{self.iri.value}/{file_system}")

    def directory_iri(self, place: Place) -> NamedNode:
        """Return the IRI of a directory."""
        return NamedNode(f"{self.iri.value}/{place.file_system}/{place.publisher}/{place.directory}")

    def quads(self) -> list[Quad]:
        """Return the triples of the storage, as quads of the storage graph."""
        read_only, closed = self.closed_file_systems(), self.closed_directories()
        triples = [(self.iri, predicate, value) for predicate, value in self._own()]
        for file_system, size in self.file_systems().items():
            iri = self.file_system_iri(file_system)
            triples += [
                (iri, RDF.type, IDS.FileSystem),
                (iri, IDS.within, self.iri),
                *_properties(
                    iri,
                    file_system,
                    self.file_system_path(file_system),
                    size,
                    closed=file_system in read_only,
                ),
            ]
        for place, size in self.sizes:
            iri = self.directory_iri(place)
            triples += [
                (iri, RDF.type, IDS.Directory),
                (iri, IDS.within, self.file_system_iri(place.file_system)),
                (iri, IDS.publisher, Literal(place.publisher)),
                *_properties(iri, place.directory, self.directory_path(place), size, closed=place in closed),
            ]
        return [Quad(subject, predicate, value, STORAGE_GRAPH) for subject, predicate, value in triples]

    def _own(self) -> Iterator[tuple[NamedNode, NamedNode | Literal]]:
        yield RDF.type, IDS.Storage
        yield IDS.name, Literal(self.name)
        yield IDS.path, Literal(self.path)
        yield IDS.directoryLimit, integer(self.directory_limit)
        yield IDS.fileSystemLimit, integer(self.file_system_limit)
        yield from ((IDS.placer, node(name)) for name in sorted(self.placers))


def _by_directory(placed: tuple[Place, int]) -> int:
    return placed[0].directory


_Triple = tuple[NamedNode, NamedNode, NamedNode | Literal]


def _properties(iri: NamedNode, which: int, path: str, size: int, *, closed: bool) -> list[_Triple]:
    triples: list[_Triple] = [
        (iri, IDS.number, integer(which)),
        (iri, IDS.path, Literal(path)),
        (iri, IDS.size, integer(size)),
    ]
    return [*triples, (iri, IDS.closed, TRUE)] if closed else triples


def place_of(iri: NamedNode, storage: NamedNode) -> Place:
    """Return the directory that an IRI names.

    Raises ValueError if the IRI is not a directory of the storage.
    """
    match = _DIRECTORY.fullmatch(iri.value.removeprefix(storage.value))
    if match is None or not iri.value.startswith(storage.value):
        raise ValueError(f"{iri.value} is not a directory of {storage.value}")
    return Place(int(match[1]), check_name(match[2], "publisher"), int(match[3]))


def apply(before: Storage | None, event: Event) -> Storage:
    """Return the storage after an event about it. A pure function; the order of placements does not matter.

    Raises ValueError.
    """
    if before is None:
        name, path = (
            check_name(event.text(IDS.name) or "", "collection"),
            check_path(event.text(IDS.path) or ""),
        )
        directory_limit, file_system_limit = (
            _whole(event, limit) for limit in (IDS.directoryLimit, IDS.fileSystemLimit)
        )
        return Storage(name, path, directory_limit, file_system_limit)
    if event.kind == IDS.StorageAllowance:
        return replace(before, placers=frozenset(party_name(_node(value)) for value in event.all(IDS.party)))
    if event.kind != IDS.Placement:
        return before
    place = place_of(_node(event.get(IDS.within)), before.iri)
    sizes = dict(before.sizes)
    sizes[place] = sizes.get(place, 0) + _whole(event, IDS.size)
    return replace(before, sizes=tuple(sorted(sizes.items())))


def _whole(event: Event, predicate: NamedNode) -> int:
    """Return a whole number from an event. Raises ValueError if it is missing or negative."""
    value = int(event.text(predicate) or "")
    if value < 0:
        raise ValueError(f"{predicate.value} is {value}; it must not be negative")
    return value


def fold(events: Iterable[Event]) -> Storage:
    """Return the storage that results from the events about it. Raises ValueError."""
    storage: Storage | None = None
    for event in sorted(events, key=lambda event: event.order):
        storage = apply(storage, event)
    if storage is None:
        raise ValueError("a storage needs at least one event")
    return storage


def parse(iri: NamedNode, quads: Iterable[Quad]) -> Storage:
    """Read a storage from the quads of the storage graph.

    Raises KeyError or ValueError if a property is missing or malformed.
    """
    by_subject: dict[NamedNode, dict[NamedNode, list[NamedNode | Literal]]] = {}
    for quad in quads:
        assert isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode | Literal)
        by_subject.setdefault(quad.subject, {}).setdefault(quad.predicate, []).append(quad.object)
    own = by_subject[iri]
    sizes = {
        place_of(subject, iri): int(values[IDS.size][0].value)
        for subject, values in by_subject.items()
        if IDS.Directory in values[RDF.type] and subject.value.startswith(f"{iri.value}/")
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
