"""Filters of lists and exports of identifiers, and of the log."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from idstore import arguments
from idstore.errors import InvalidData
from idstore.model import times
from idstore.model.event import KINDS
from idstore.model.record import Identifier, Stage
from idstore.model.terms import UNDETERMINED, language
from idstore.vocabulary import ONTOLOGY

OF_LISTS: Final = ("namespace", "stage", "deprecated", "without_name", "doi", "released")
"""Restrictions that events do not have."""
NOT_EXPORTED: Final = ("id", "kinds", "deprecated", "without_name", "doi", "released")
"""Restrictions that exports do not have."""
LISTED: Final = ("created", "fixated", "tombstone")
"""Stages of the identifiers that have a record."""


_EVENTS: Final = frozenset(kind.value.removeprefix(ONTOLOGY) for kind in KINDS)
"""Local names of the kinds of events."""


def check_stage(stage: str | None) -> None:
    """Raise InvalidData unless identifiers that have a record may be in the stage. None restricts nothing."""
    if stage not in (None, *LISTED):
        raise InvalidData(
            f"{stage!r} is not a stage of listed identifiers; use one of {', '.join(LISTED)}", stage=stage
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Restricts a list or an export of identifiers, or the log.

    None, False and an empty ``kinds`` restrict nothing.

    party       the owner of the identifiers; of the log: the party that acted.
    since       from this moment on, without parts of a millisecond: the time of creation; of the log: of the
                event.
    until       before this moment.
    namespace   of lists and exports: the name or the base of the namespace.
    stage       of lists and exports: ``created``, ``fixated`` or ``tombstone``.
    deprecated  of a list only: whether only deprecated identifiers pass, superseded ones included.
    without_name  of a list only: a language; only identifiers without a name in it pass.
    doi         of a list only: a DOI, in any written form; only the articles that have it pass.
    released    of a list only: whether released identifiers are listed instead, to their last owners and to
                administrators.
    id          of the log only: the identifier or namespace that the events are about, in any written form.
    kinds       of the log only: the local names of the kinds of events, such as ``Mint`` and ``Bind``.
    """

    party: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    namespace: str | None = None
    stage: str | None = None
    id: Identifier | None = None
    kinds: Collection[str] = ()
    deprecated: bool = False
    without_name: str | None = None
    doi: str | None = None
    released: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidData: a field of another kind, no such stage, no time zone, or no such language."""
        arguments.check_fields(self)
        object.__setattr__(self, "kinds", tuple(dict.fromkeys(self.kinds)))
        check_stage(self.stage)
        if self.without_name not in (None, UNDETERMINED):
            language(str(self.without_name), "without_name")
        for name in ("since", "until"):
            if (moment := getattr(self, name)) is not None:
                object.__setattr__(self, name, times.checked(moment, name))

    def check_identifiers(self) -> None:
        """Raise InvalidData if it restricts what identifiers do not have."""
        if self.id is not None or self.kinds:
            raise InvalidData(
                "a list of identifiers is restricted by namespace, stage, owner, time and deprecation;"
                " give neither id nor kinds",
                field="kinds" if self.id is None else "id",
            )

    def check_export(self) -> None:
        """Raise InvalidData if it restricts what exports do not choose by."""
        for name in NOT_EXPORTED:
            if getattr(self, name):
                raise InvalidData(
                    f"an export is restricted by namespace, stage, owner and time; leave {name} out",
                    field=name,
                )

    def check_publication(self) -> None:
        """Raise InvalidData as `check_export`, and if it chooses drafts."""
        self.check_export()
        if self.stage == Stage.CREATED:
            raise InvalidData(
                "a publication holds no drafts; choose another stage, or none",
                field="stage",
                value=self.stage,
            )

    def check_events(self) -> None:
        """Raise InvalidData if it restricts what events do not have."""
        for name in OF_LISTS:
            if getattr(self, name):
                raise InvalidData(
                    f"the log is restricted by id, kinds, party and time; leave {name} out", field=name
                )
        for kind in self.kinds:
            if kind not in _EVENTS:
                raise InvalidData(
                    f"no kind of event {kind!r}; there are {', '.join(sorted(_EVENTS))}",
                    field="kinds",
                    value=kind,
                )

    def is_within(self, moment: datetime) -> bool:
        """Whether a moment is in its period."""
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)
