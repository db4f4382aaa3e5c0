"""Values of the catalogue: entries of lists, selections, and positions of events."""

from dataclasses import dataclass
from typing import Final, TypeAlias

from idstore.model import times
from idstore.model.record import Record, Stage
from idstore.vocabulary import event_name

STAGES: Final = ("created", "fixated", "tombstone")
"""Stages whose identifiers the catalogue lists."""

Series: TypeAlias = tuple[str, str]
"""The base of a namespace, and a series of its labels."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The catalogue's entry for an identifier after a change.

    new         whether the catalogue had no entry for the identifier before.
    audience    graph of the record if the record is private, None if it is public.
    stage       ``created``, ``fixated``, ``tombstone`` or ``released`` (no longer listed).
    created, fixated  milliseconds since 1970.
    """

    iri: str
    namespace: str
    owner: str
    stage: str
    audience: str | None
    created: int
    fixated: int | None
    new: bool


def listing_of(record: Record, *, new: bool) -> Listing:
    """Return the catalogue's entry for a record."""
    audience = None if record.public or record.stage is Stage.RELEASED else record.graph.value
    return Listing(
        record.iri,
        record.namespace,
        record.owner,
        record.stage.value,
        audience,
        times.milliseconds(record.created),
        None if record.fixated is None else times.milliseconds(record.fixated),
        new,
    )


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of identifiers or events; a field that is None does not restrict it.

    audiences     graphs whose private rows are visible; None for all (an administrator). Public rows always
                  are.
    since, until  milliseconds since 1970; ``until`` is exclusive.
    """

    audiences: frozenset[str] | None = frozenset()
    namespace: str | None = None
    owner: str | None = None
    stage: str | None = None
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True, order=True)
class EventRow:
    """Where an event is: position in this store, store of origin, graph, position in the public feed."""

    sequence: int
    origin: str
    token: int
    graph: str | None
    publication: int | None

    @property
    def iri(self) -> str:
        """The event's IRI."""
        return event_name(self.origin, self.token)


@dataclass(frozen=True, slots=True)
class EventDetails:
    """Everything that the catalogue holds of an event.

    act, actor  texts; None if the catalogue has lost them.
    about       the `hashed` IRI.
    digest      see `idstore.model.event.digest`.
    target      see `idstore.model.names.target_number`.
    """

    row: EventRow
    act: str | None
    about: int
    actor: str | None
    at: int
    digest: int
    target: int | None
