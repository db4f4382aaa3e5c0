"""The storage plan: the publisher's directory and the file system of each delivery.

Source: Scholars Portal URI and File Naming Policy, version 0.3, section 2.1.3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, InvalidData, NotPermitted, NotRegistered, RequestConflict
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.namespace import LARGEST
from idstore.model.party import Party, node
from idstore.model.storage import (
    DIRECTORY_LIMIT,
    FILE_SYSTEM_LIMIT,
    Place,
    Storage,
    apply,
    check_name,
    check_path,
    parse,
    place_of,
)
from idstore.model.terms import Term, integer
from idstore.registry.core import Part, read_event
from idstore.remedies import Remedy
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, STORAGE_GRAPH, storage_iri


@dataclass(frozen=True, slots=True)
class Placed:
    """The location of a delivery, real or predicted.

    path              the directory, with a final slash.
    file_system       path of the file system.
    place             the directory by its numbers.
    new_file_system, new_directory  whether this delivery is the first one there.
    read_only         the file system that this delivery closes, to be mounted read-only; None if none.
    again             whether the delivery was already placed.
    """

    path: str
    file_system: str
    place: Place
    new_file_system: bool = False
    new_directory: bool = False
    read_only: str | None = None
    again: bool = False


class StoragePlan(Part):
    """Acts on file systems, directories and deliveries."""

    def add_storage(
        self,
        name: str,
        path: str,
        party: Party,
        *,
        directory_limit: int = DIRECTORY_LIMIT,
        file_system_limit: int = FILE_SYSTEM_LIMIT,
        present: Mapping[str, int] = MappingProxyType({}),
    ) -> Storage:
        """Add a storage for a collection; only administrators may.

        path     the directory in which its file systems are mounted.
        limits   in bytes.
        present  directories that exist already, as ``ejournals3/wiley6``, with the bytes in each. The plan
                 goes on from the last file system, and from the last directory of each publisher.
        Raises NotPermitted, InvalidData, AlreadyRegistered.
        """
        check_name(name, "collection")
        place = check_path(terms.check_size(path, "path"))
        if not 0 < directory_limit <= file_system_limit <= LARGEST:
            raise InvalidData(
                f"a directory of {directory_limit} bytes on a file system of {file_system_limit} is not"
                f" possible; use limits from 1 to {LARGEST}, the lower one for the directory",
                directory_limit=directory_limit,
                file_system_limit=file_system_limit,
            )

        def act(transaction: Transaction) -> Storage:
            self.core.require_administrator(transaction, party, "add storage")
            if next(transaction.quads(storage_iri(name), RDF.type, None, STORAGE_GRAPH), None) is not None:
                raise AlreadyRegistered(
                    f"there is already a storage {name!r}; choose another name", name=name
                )
            arguments: list[tuple[NamedNode, Term]] = [(IDS.name, Literal(name)), (IDS.path, Literal(place))]
            arguments += [
                (IDS.directoryLimit, integer(directory_limit)),
                (IDS.fileSystemLimit, integer(file_system_limit)),
            ]
            event = self.core.event(transaction, IDS.StorageAddition, storage_iri(name), party, *arguments)
            storage = apply(None, event)
            self.core.log_event(transaction, event, PUBLIC_LOG, storage.quads(), [])
            placements = [
                self._placement(transaction, storage, directory, size, party)
                for directory, size in _placements(storage, present).items()
            ]
            return self._amend_storage(transaction, storage, *placements)

        return self.core.act(party, act)

    def allow_storage(self, name: str, parties: Sequence[str], party: Party) -> Storage:
        """Set the parties, besides administrators, that may place deliveries; only administrators may.

        Raises NotPermitted, NotRegistered, InvalidData.
        """
        arguments: list[tuple[NamedNode, Term]] = [(IDS.party, node(Party(text).name)) for text in parties]

        def act(transaction: Transaction) -> Storage:
            self.core.require_administrator(transaction, party, "allow others to place deliveries")
            storage = self._storage(transaction, name)
            return self._amend_storage(
                transaction,
                storage,
                self.core.event(transaction, IDS.StorageAllowance, storage.iri, party, *arguments),
            )

        return self.core.act(party, act)

    def storages(self) -> list[Storage]:
        """Return every storage, by name."""
        quads = self.store.read(lambda view: list(view.quads(None, None, None, STORAGE_GRAPH)))
        subjects = [
            quad.subject for quad in quads if (quad.predicate, quad.object) == (RDF.type, IDS.Storage)
        ]
        return sorted(
            (parse(iri, quads) for iri in subjects if isinstance(iri, NamedNode)),
            key=lambda storage: storage.name,
        )

    def place(
        self,
        name: str,
        publisher: str,
        size: int,
        party: Party,
        *,
        delivery: str | None = None,
        dry_run: bool = False,
    ) -> Placed:
        """Assign a delivery to a location, permanently.

        Administrators and the parties of `allow_storage` may.
        size      in bytes; together with the present content it exceeds neither limit.
        delivery  the caller's key: the same key in the same storage always gives the same directory, for
                  every party.
        dry_run   decide, but write nothing.
        Raises NotRegistered (no such storage), NotPermitted, InvalidData, RequestConflict (the key was used
        with other arguments).
        """
        check_name(publisher, "publisher")
        if dry_run:
            return self.store.read(lambda view: self._placing(view, name, publisher, size, party, delivery))[
                2
            ]

        def act(transaction: Transaction) -> Placed:
            storage, place, placed = self._placing(transaction, name, publisher, size, party, delivery)
            if placed.again:
                return placed
            placement = self._placement(transaction, storage, place, size, party, delivery)
            self._amend_storage(transaction, storage, placement)
            return placed

        return self.core.act(party, act)

    def _placement(
        self,
        transaction: Transaction,
        storage: Storage,
        place: Place,
        size: int,
        party: Party,
        delivery: str | None = None,
    ) -> Event:
        """Return the event that bytes are in a directory."""
        arguments: list[tuple[NamedNode, Term]] = [
            (IDS.within, storage.directory_iri(place)),
            (IDS.publisher, Literal(place.publisher)),
            (IDS.size, integer(size)),
        ]
        if delivery is not None:
            arguments.append((IDS.delivery, Literal(delivery)))
        return self.core.event(transaction, IDS.Placement, storage.iri, party, *arguments)

    def _placing(
        self, view: View, name: str, publisher: str, size: int, party: Party, delivery: str | None
    ) -> tuple[Storage, Place, Placed]:
        storage = self._storage(view, name)
        facts = self.core.party_facts(view, party)
        if not (facts.administrator or facts.names & storage.placers):
            raise NotPermitted(
                f"{party.name} may not place deliveries in {name}; ask an administrator for permission",
                storage=name,
                party=party.name,
                remedy=Remedy.ALLOW_STORAGE,
            )
        earlier = (
            None
            if delivery is None
            else self._delivered(view, storage, terms.check_text(delivery, "delivery key"))
        )
        if earlier is not None:
            return storage, *_placed_before(storage, earlier, publisher, size)
        place = storage.plan(publisher, size)
        systems = storage.file_systems()
        last = max(systems, default=place.file_system)
        full = systems.get(place.file_system, 0) + size >= storage.file_system_limit
        closed = last if last != place.file_system else place.file_system if full else None
        return storage, place, Placed(
            storage.directory_path(place),
            storage.file_system_path(place.file_system),
            place,
            new_file_system=place.file_system not in systems,
            new_directory=place not in dict(storage.sizes),
            read_only=None if closed is None else storage.file_system_path(closed),
        )  # fmt: skip

    def _delivered(self, view: View, storage: Storage, key: str) -> Event | None:
        """Return the event that placed the delivery with that key in a storage."""
        for quad in list(view.quads(None, IDS.delivery, Literal(key), PUBLIC_LOG)):
            assert isinstance(quad.subject, NamedNode)
            event = read_event(view, quad.subject, PUBLIC_LOG)
            if event.about == storage.iri.value:
                return event
        return None

    def _storage(self, view: View, name: str) -> Storage:
        quads = list(view.quads(None, None, None, STORAGE_GRAPH))
        iri = storage_iri(name) if name.isascii() and name.replace("-", "").isalnum() else None
        if iri is None or not any(quad.subject == iri for quad in quads):
            raise NotRegistered(
                name, f"there is no storage {name!r}; use an existing one", remedy=Remedy.LIST_STORAGES
            )
        return parse(iri, quads)

    def _amend_storage(self, transaction: Transaction, before: Storage, *events: Event) -> Storage:
        """Log events about a storage, and return it after them."""
        after = before
        for event in events:
            after = apply(after, event)
        for place, event in enumerate(events, 1):
            quads = (after.quads(), before.quads()) if place == len(events) else ([], [])
            self.core.log_event(transaction, event, PUBLIC_LOG, *quads)
        return after


def _placements(storage: Storage, present: Mapping[str, int]) -> dict[Place, int]:
    """Return the directories that exist already, with their bytes. Raises InvalidData."""
    sizes: dict[Place, int] = {}
    for text, size in present.items():
        place = storage.place_at(text)
        if place in sizes:
            raise InvalidData(f"the directory {text} is given twice", field="present", text=text)
        sizes[place] = size
    if any(size < 0 for size in sizes.values()) or sum(sizes.values()) > LARGEST:
        raise InvalidData(
            f"the present directories hold from 0 to {LARGEST} bytes together; check their sizes",
            field="present",
        )
    return dict(sorted(sizes.items()))


def _placed_before(storage: Storage, event: Event, publisher: str, size: int) -> tuple[Place, Placed]:
    """Return the location of an earlier placement of the delivery. Raises RequestConflict."""
    said = (event.text(IDS.publisher), event.text(IDS.size))
    if said != (publisher, str(size)):
        raise RequestConflict(
            f"the delivery {event.text(IDS.delivery)!r} was placed as {said[1]} bytes of {said[0]}; use a"
            " new key",
            delivery=event.text(IDS.delivery),
            publisher=said[0],
            size=said[1],
        )
    target = event.get(IDS.within)
    assert isinstance(target, NamedNode)
    place = place_of(target, storage.iri)
    return place, Placed(
        storage.directory_path(place), storage.file_system_path(place.file_system), place, again=True
    )
