"""What an import changes about power: parties, permissions, ownership and publication.

An administrator who imports a file carries out what its events say. So each import, and its dry run, names
the new events of these kinds.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pyoxigraph import NamedNode

from idstore.model.event import Event
from idstore.model.party import OF_PARTIES
from idstore.vocabulary import IDS

Power: TypeAlias = Literal["parties", "permissions", "ownership", "publication"]


@dataclass(frozen=True, slots=True)
class EventSelection:
    """The events of an import that concern one kind of power.

    kinds       all events of these kinds.
    properties  and all events with an argument for one of these properties.
    values      and all events with one of these IRIs as an argument.
    """

    power: Power
    kinds: Collection[NamedNode]
    properties: Collection[NamedNode] = ()
    values: Collection[NamedNode] = ()


LISTED: Final = 10
"""Events of each kind of power that a report names."""
SELECTIONS: Final = (
    EventSelection("parties", (IDS.Initialization, *OF_PARTIES)),
    EventSelection(
        "permissions",
        (
            IDS.Grant,
            IDS.Ungrant,
            IDS.NamespaceAllowance,
            IDS.NamespaceFreeze,
            IDS.NamespaceChange,
            IDS.StorageAllowance,
        ),
        (IDS.grantee, IDS.bindGrantee),
    ),
    EventSelection("ownership", (IDS.NamespaceAddition, IDS.Transfer), (IDS.owner,)),
    EventSelection("publication", (IDS.Fixation, IDS.Release, IDS.Revocation), values=(IDS.Fixated,)),
)


@dataclass(frozen=True, slots=True)
class Effect:
    """New events of an import that concern one kind of power.

    power  what they concern.
    count  their number.
    first  the first `LISTED` of them, in order.
    """

    power: Power
    count: int
    first: tuple[Event, ...]
