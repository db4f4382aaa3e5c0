"""Filters of lists of identifiers and of the log."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from idstore.errors import InvalidData
from idstore.model import times
from idstore.model.event import KINDS
from idstore.model.record import Identifier
from idstore.vocabulary import ONTOLOGY

LISTED: Final = ("created", "fixated", "tombstone")
"""Stages of the identifiers that have a record."""


_EVENTS: Final = frozenset(kind.value.removeprefix(ONTOLOGY) for kind in KINDS)
"""Local names of the kinds of events."""


def check_number(number: object, name: str) -> None:
    """Raise InvalidData unless an argument is a number from 0 on, or None."""
    if number is not None and (not isinstance(number, int) or number < 0):
        raise InvalidData(f"{name} is {number!r}; give a whole number from 0 on", field=name, value=number)


def check_stage(stage: str | None) -> None:
    """Raise InvalidData unless identifiers that have a record may be in the stage. None restricts nothing."""
    if stage not in (None, *LISTED):
        raise InvalidData(
            f"{stage!r} is not a stage of listed identifiers; use one of {', '.join(LISTED)}", stage=stage
        )


@dataclass(frozen=True, slots=True)
class Filter:
    """Restricts a list of identifiers, or the log. None, False and an empty ``kinds`` restrict nothing.

    party       the owner of the identifiers; of the log: the party that acted.
    since       from this moment on, milliseconds since 1970: the time of creation; of the log: of the event.
    until       before this moment.
    namespace   of a list only: the name or the base of the namespace.
    stage       of a list only: ``created``, ``fixated`` or ``tombstone``.
    deprecated  of a list only: whether only deprecated identifiers pass, superseded ones included.
    id          of the log only: the identifier or namespace that the events are about, in any written form.
    kinds       of the log only: the local names of the kinds of events, such as ``Mint`` and ``Bind``.
    """

    party: str | None = None
    since: int | None = None
    until: int | None = None
    namespace: str | None = None
    stage: str | None = None
    id: Identifier | None = None
    kinds: Collection[str] = ()
    deprecated: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidData unless its moments are numbers of milliseconds."""
        for moment in (self.since, self.until):
            if moment is not None:
                times.checked(moment)

    def check_identifiers(self) -> None:
        """Raise InvalidData if it restricts what identifiers do not have."""
        if self.id is not None or self.kinds:
            raise InvalidData(
                "a list of identifiers is restricted by namespace, stage, owner, time and deprecation;"
                " give neither id nor kinds",
                field="kinds" if self.id is None else "id",
            )
        check_stage(self.stage)

    def check_events(self) -> None:
        """Raise InvalidData if it restricts what events do not have."""
        if self.namespace is not None or self.stage is not None or self.deprecated:
            raise InvalidData(
                "the log is restricted by id, kinds, party and time;"
                " give neither namespace nor stage nor deprecated",
                field="namespace" if self.namespace else "stage" if self.stage else "deprecated",
            )
        for kind in self.kinds:
            if kind not in _EVENTS:
                raise InvalidData(
                    f"no kind of event {kind!r}; there are {', '.join(sorted(_EVENTS))}",
                    field="kinds",
                    value=kind,
                )

    def is_within(self, moment: int) -> bool:
        """Whether a moment is in its period."""
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)
