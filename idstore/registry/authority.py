"""Authority metadata: the present and past managers of an identifier, its last change, and its vettings.

It is derived from the log. It is therefore as public as the identifier, and kept as long.
Source: PILIN, Authority Metadata Policy.
"""

from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import NamedNode

from idstore.model.event import Event
from idstore.model.record import Record
from idstore.model.steps import STEPS, apply
from idstore.vocabulary import IDS, SKOS


@dataclass(frozen=True, slots=True)
class Tenure:
    """A manager of an identifier.

    manager  name of the party.
    since    start of the term.
    """

    manager: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Vetting:
    """A confirmation of an identifier and its description.

    outdated  whether either changed since.
    """

    by: str
    at: datetime
    note: str | None
    outdated: bool


@dataclass(frozen=True, slots=True)
class Authority:
    """The authority metadata of an identifier, from the events that the requesting party may see.

    created    when it was allocated.
    created_by  the party that allocated it.
    updated    last change of the identifier or its description.
    updated_by  the party that changed it last.
    managers   the present manager first.
    vettings   the latest first.
    """

    iri: str
    created: datetime
    created_by: str
    updated: datetime
    updated_by: str
    managers: tuple[Tenure, ...]
    vettings: tuple[Vetting, ...]


def authority_of(iri: NamedNode, events: list[Event]) -> Authority:
    """Return the authority metadata that follows from the events about an identifier, given in order."""
    record: Record | None = None
    tenures: list[Tenure] = []
    for event in events:
        record = apply(record, event)
        assert record is not None
        if not tenures or record.owner != tenures[-1].manager:
            tenures.append(Tenure(record.owner, event.at))
    last = [event for event in events if event.kind in STEPS][-1:] or events[:1]
    updated = last[0]
    vettings = [
        Vetting(event.by, event.at, event.text(SKOS.note), event.order < updated.order)
        for event in events
        if event.kind == IDS.Vetting
    ]
    first = events[0]
    return Authority(
        iri.value,
        first.at,
        first.by,
        updated.at,
        updated.by,
        tuple(reversed(tenures)),
        tuple(reversed(vettings)),
    )
