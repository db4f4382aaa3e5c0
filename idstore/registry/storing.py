"""The storage plan: into which publisher's directory, on which file system, a delivery goes.

Source: Scholars Portal URI and File Naming Policy, version 0.3, section 2.1.3.
"""

from collections.abc import Sequence

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, InvalidData, NotPermitted, NotRegistered, RequestConflict
from idstore.frozen import dataclass
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.namespace import LARGEST, number
from idstore.model.party import Party, node
from idstore.model.storage import DIRECTORY_LIMIT, FILE_SYSTEM_LIMIT, Place, Storage, apply, check_name, check_path, parse, place_of
from idstore.model.terms import Term
from idstore.registry.core import read_event
from idstore.registry.namespaces import Namespacing
from idstore.stores import Turn, View
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, STORAGE_GRAPH, storage_iri


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a delivery goes, or would go.

    path              the directory, with a slash at its end.
    new_file_system, new_directory  whether it begins with this delivery.
    read_only         the file system that is closed by it, and to be mounted read-only; None if none is.
    again             whether the delivery had been placed before.
    """

    path: str
    file_system: str
    place: Place
    new_file_system: bool = False
    new_directory: bool = False
    read_only: str | None = None
    again: bool = False


class Storing(Namespacing):
    """File systems, directories, deliveries."""

    def add_storage(
        self,
        name: str,
        path: str,
        party: Party,
        *,
        directory_limit: int = DIRECTORY_LIMIT,
        file_system_limit: int = FILE_SYSTEM_LIMIT,
    ) -> Storage:
        """Give a collection a storage; an administrator's act.

        path    in which directory its file systems are mounted.
        limits  bytes.
        Raises NotPermitted, InvalidData, AlreadyRegistered.
        """
        check_name(name, "collection")
        place = check_path(path)
        if not 0 < directory_limit <= file_system_limit <= LARGEST:
            raise InvalidData(
                f"a directory of {directory_limit} bytes on a file system of {file_system_limit}: give limits from 1 to {LARGEST}, the directory's the lower",
                directory_limit=directory_limit,
                file_system_limit=file_system_limit,
            )
        with self._acting(party) as turn:
            self._administers(turn, party, "add storage")
            if next(turn.quads(storage_iri(name), RDF.type, None, STORAGE_GRAPH), None) is not None:
                raise AlreadyRegistered(f"there is a storage {name!r} already; choose another name", name=name)
            arguments: list[tuple[NamedNode, Term]] = [(IDS.name, Literal(name)), (IDS.path, Literal(place))]
            arguments += [(IDS.directoryLimit, number(directory_limit)), (IDS.fileSystemLimit, number(file_system_limit))]
            return self._amend_storage(turn, None, self._event(turn, IDS.StorageAddition, storage_iri(name), party, *arguments))

    def allow_storage(self, name: str, parties: Sequence[str], party: Party) -> Storage:
        """Say who may place deliveries beside administrators, instead of those said before; an administrator's act.

        Raises NotPermitted, NotRegistered, InvalidData.
        """
        given: list[tuple[NamedNode, Term]] = [(IDS.party, node(Party(one).name)) for one in parties]
        with self._acting(party) as turn:
            self._administers(turn, party, "say who may place deliveries")
            known = self._storage(turn, name)
            return self._amend_storage(turn, known, self._event(turn, IDS.StorageAllowance, known.iri, party, *given))

    def storages(self) -> list[Storage]:
        """Every storage, by name."""
        with self.store.reading() as view:
            found = [quad.subject for quad in view.quads(None, RDF.type, IDS.Storage, STORAGE_GRAPH)]
            quads = list(view.quads(None, None, None, STORAGE_GRAPH))
        return sorted((parse(iri, quads) for iri in found if isinstance(iri, NamedNode)), key=lambda one: one.name)

    def place(self, name: str, publisher: str, size: int, party: Party, *, delivery: str | None = None, dry_run: bool = False) -> Placed:
        """Decide where a delivery goes, for good. Administrators may, and those whom `allow_storage` names.

        size      bytes; with what is there already they exceed neither limit.
        delivery  the caller's key: the same key in the same storage gives the same directory for ever, whoever comes with it.
        dry_run   decide, and write nothing.
        Raises NotRegistered (no such storage), NotPermitted, InvalidData, RequestConflict (the key came with other arguments).
        """
        check_name(publisher, "publisher")
        if dry_run:
            with self.store.reading() as view:
                return self._placing(view, name, publisher, size, party, delivery)[2]
        with self._acting(party) as turn:
            known, place, placed = self._placing(turn, name, publisher, size, party, delivery)
            if placed.again:
                return placed
            arguments: list[tuple[NamedNode, Term]] = [
                (IDS.within, known.directory_iri(place)),
                (IDS.publisher, Literal(publisher)),
                (IDS.size, number(size)),
            ]
            if delivery is not None:
                arguments.append((IDS.delivery, Literal(delivery)))
            self._amend_storage(turn, known, self._event(turn, IDS.Placement, known.iri, party, *arguments))
            return placed

    def _placing(
        self, view: View, name: str, publisher: str, size: int, party: Party, delivery: str | None
    ) -> tuple[Storage, Place, Placed]:
        known = self._storage(view, name)
        facts = self.facts(view, party)
        if not (facts.administrator or facts.names & known.placers):
            raise NotPermitted(
                f"{party.name} may not place deliveries in {name}; an administrator can allow it with `idstore storage allow`",
                storage=name,
                party=party.name,
            )
        earlier = None if delivery is None else self._delivered(view, known, terms.plain(delivery, "delivery key"))
        if earlier is not None:
            return known, *_placed_before(known, earlier, publisher, size)
        place = known.plan(publisher, size)
        systems = known.file_systems()
        last = max(systems, default=place.file_system)
        full = systems.get(place.file_system, 0) + size >= known.file_system_limit
        closed = last if last != place.file_system else place.file_system if full else None
        return known, place, Placed(
            known.directory_path(place),
            known.file_system_path(place.file_system),
            place,
            new_file_system=place.file_system not in systems,
            new_directory=place not in dict(known.sizes),
            read_only=None if closed is None else known.file_system_path(closed),
        )  # fmt: skip

    def _delivered(self, view: View, known: Storage, key: str) -> Event | None:
        """The event that placed a delivery of that key in a storage."""
        for quad in list(view.quads(None, IDS.delivery, Literal(key), PUBLIC_LOG)):
            assert isinstance(quad.subject, NamedNode)
            event = read_event(view, quad.subject, PUBLIC_LOG)
            if event.about == known.iri:
                return event
        return None

    def _storage(self, view: View, name: str) -> Storage:
        quads = list(view.quads(None, None, None, STORAGE_GRAPH))
        iri = storage_iri(name) if name.isascii() and name.replace("-", "").isalnum() else None
        if iri is None or not any(quad.subject == iri for quad in quads):
            raise NotRegistered(name, f"no storage {name!r} here; `idstore storage list` shows them")
        return parse(iri, quads)

    def _amend_storage(self, turn: Turn, known: Storage | None, event: Event) -> Storage:
        after = apply(known, event)
        self._log(turn, event, PUBLIC_LOG, after.quads(), known.quads() if known else [])
        return after


def _placed_before(known: Storage, event: Event, publisher: str, size: int) -> tuple[Place, Placed]:
    """Where an earlier placement of the same delivery went. Raises RequestConflict."""
    said = (event.text(IDS.publisher), event.text(IDS.size))
    if said != (publisher, str(size)):
        raise RequestConflict(
            f"the delivery {event.text(IDS.delivery)!r} was placed as {said[1]} bytes of {said[0]}; use a new key",
            delivery=event.text(IDS.delivery),
            publisher=said[0],
            size=said[1],
        )
    target = event.one(IDS.within)
    assert isinstance(target, NamedNode)
    place = place_of(target, known.iri)
    return place, Placed(known.directory_path(place), known.file_system_path(place.file_system), place, again=True)
