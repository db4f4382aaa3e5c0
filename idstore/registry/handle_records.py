"""Whole records of handles, as Handle System clients write them: created, replaced, deleted in one act."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from sys import maxsize
from typing import Final

from pyoxigraph import Literal

from idstore.errors import AlreadyRegistered, InvalidData, NotRegistered
from idstore.model.event import Event
from idstore.model.listing import Selection
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Identifier, Record, Stage
from idstore.model.value import Value
from idstore.registry.allocation import Allocations, LabelSearch, taken
from idstore.registry.core import check_living
from idstore.registry.handle_values import Draft, HandleValues
from idstore.registry.lookup import label_node, visible_holder
from idstore.registry.requests import Request
from idstore.schemes import Valued, value_types
from idstore.schemes.handle_values import AT_ONCE, ON_FIXATE
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import IDS

MOST_VALUES: Final = 200
"""Most values that one act sets: while it runs, other acts wait."""
_PAGE: Final = 1000
"""Most handles that are read at once; longer lists are read from a snapshot."""
_DELETED: Final = "deleted by its owner"
"""The public reason of a handle's tombstone."""


@dataclass(frozen=True, slots=True)
class HandleRange:
    """A part of the handles of a namespace that a party sees.

    total  the number of all of them, without tombstones.
    iris   those of the part: published ones first, each kind from the newest to the oldest.
    """

    total: int
    iris: tuple[str, ...]


class HandleRecords(Allocations, HandleValues):
    """Acts on whole records of handles."""

    def put_handle(
        self,
        namespace: str,
        label: str,
        values: Sequence[Draft],
        party: Party,
        *,
        overwrite: bool = True,
        only: bool = False,
        mint: bool = False,
    ) -> tuple[Record, bool]:
        """Create a handle with its values, or replace them.

        Return the record, and whether it is new; with ``only``, whether each of the values is.

        label      in any written form of the namespace; with ``mint`` the beginning of a new label.
        values     each with its index.
        overwrite  whether an existing record, with ``only`` existing values, may be replaced.
        only       set these values of an existing handle, and keep the others.
        mint       complete the label by one that the namespace makes.

        All or nothing, in one commit. A new handle of a namespace with the setting ``publish=at-once`` is
        published at the same time. Values that are there already stay as they are, with their time.
        Raises as `register` and `set_value`; AlreadyRegistered also for a tombstone, and without
        ``overwrite``, for a value with its ``index``. With ``only``: NotRegistered.
        """
        indexes = [draft.index for draft in values]
        if None in indexes or len({*indexes}) < len(indexes):
            raise InvalidData("each value of a handle needs an index of its own; give it one", field="values")
        check_number_of_values(len(values))

        def act(transaction: Transaction) -> tuple[Record, bool]:
            home = self.core.namespace(transaction, namespace)
            _check_valued(home)
            if mint:
                record = self._create_minted(transaction, home, label, party)
                return self._begun(transaction, home, record, values, party), True
            name = self.core.facts(transaction).index.label(home, label)
            holder = visible_holder(
                transaction, home, label_node(home, name), self.core.sight(transaction, party)
            )
            if holder is None:
                if only:
                    raise NotRegistered(label)
                record, _ = self._allocate_in(transaction, home, party, Request(), label)
                return self._begun(transaction, home, record, values, party), True
            seen = self.core.seen_record(transaction, holder, party)
            if seen.stage is Stage.TOMBSTONE or not (overwrite or only):
                raise taken(home, name)
            record = self.core.own_record(transaction, holder, party, "set values of")
            present = [value for value in record.values if value.index in indexes]
            if present and not overwrite:
                raise _value_taken(record, present[0])
            gone = [] if only else [value for value in record.values if value not in present]
            events = [self._unsetting(transaction, record, value, party) for value in gone]
            events += self._settings(transaction, record, values, party)
            return self.core.record_events(transaction, record, *events), only and not present

        return self.core.act(party, act)

    def delete_handle(self, id: Identifier, party: Party) -> Event:
        """Delete a handle; only its owner may. Its name is never issued again.

        A created handle is released. A published one becomes a tombstone.
        Raises NotRegistered, NotPermitted, StageConflict (a tombstone), InvalidData (its scheme has no
        values).
        """

        def act(transaction: Transaction) -> Event:
            record = self.core.own_record(
                transaction, self._identify(transaction, id, party), party, "delete"
            )
            self._valued_scheme(transaction, record)
            check_living(record)
            if record.stage is Stage.CREATED:
                event = self.core.event(transaction, IDS.Release, record.node, party)
            else:
                event = self.core.event(
                    transaction, IDS.Revocation, record.node, party, (IDS.reason, Literal(_DELETED))
                )
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act)

    def handles(
        self, namespace: str, party: Party, *, start: int = 0, limit: int | None = None
    ) -> HandleRange:
        """Return a part of the handles of a namespace that the party sees, without tombstones.

        start  how many handles come before the part.
        limit  how many it has at most.
        Cost: grows with ``start`` and the handles returned.
        Raises UnknownNamespace, InvalidData (its scheme has no values).
        """

        def question(view: View) -> HandleRange:
            home = self.core.namespace(view, namespace)
            _check_valued(home)
            audiences = self.core.audiences(view, party)
            total = sum(
                count
                for base, _, stage, count in view.catalogue.tallies(audiences)
                if base == home.base and stage != Stage.TOMBSTONE.value
            )
            end = None if limit is None else min(start + limit, maxsize)

            def found() -> Iterator[str]:
                for stage in (Stage.FIXATED, Stage.CREATED):
                    selection = Selection(audiences, namespace=home.base, stage=stage.value)
                    yield from view.catalogue.identifiers(selection, end)

            return HandleRange(total, tuple(islice(found(), start, end)) if limit != 0 else ())

        if limit is not None and start + limit <= _PAGE:
            return self.store.read(question)
        with self.store.snapshot() as snapshot:  # a long read must not block writers
            return question(snapshot)

    def _create_minted(
        self, transaction: Transaction, home: Namespace, beginning: str, party: Party
    ) -> Record:
        """Return the record of a new handle: its label has that beginning, the namespace makes the end."""
        if not beginning:
            return self._allocate_in(transaction, home, party, Request(), None)[0]
        search = LabelSearch(transaction, home, {}, transaction.asked)
        labels = (f"{beginning}{end}" for end in home.scheme.candidates(search))
        label, _ = self._first_free(transaction, home, labels)
        iri = home.scheme.iri(label, home.context)
        return self._allocate_in(transaction, home, party, Request(), iri)[0]

    def _begun(
        self,
        transaction: Transaction,
        home: Namespace,
        record: Record,
        values: Sequence[Draft],
        party: Party,
    ) -> Record:
        """Set the values of a new record, and publish it if its namespace says so."""
        events = self._settings(transaction, record, values, party)
        if home.context.settings.get("publish", ON_FIXATE) == AT_ONCE:
            events.append(self.core.event(transaction, IDS.Fixation, record.node, party))
        return self.core.record_events(transaction, record, *events)

    def _settings(
        self, transaction: Transaction, record: Record, values: Sequence[Draft], party: Party
    ) -> list[Event]:
        """Return the events that set the values which differ from the present ones. Raises InvalidData."""
        events = []
        for draft in values:
            try:
                value = self._value_of(transaction, record, draft)
                if value.public and value.is_type(value_types.ALIAS):
                    self._check_alias_cycle(transaction, record, value, self.core.sight(transaction, party))
            except InvalidData as error:
                raise InvalidData(
                    f"value {draft.index}: {error.message}", remedy=error.remedy, **error.fields
                ) from error
            existing = record.value(value.index)
            if existing is not None and replace(existing, at=value.at) == value:
                continue
            if existing is not None and existing.public and not value.public:
                events.append(self._unsetting(transaction, record, existing, party))
            events.append(
                self.core.event(transaction, IDS.ValueSetting, record.node, party, *value.arguments())
            )
        return events


def check_number_of_values(number: int) -> None:
    """Raise InvalidData for more values than one act sets."""
    if number > MOST_VALUES:
        raise InvalidData(
            f"{number} values are too many at once; set at most {MOST_VALUES}, and the others later",
            limit=MOST_VALUES,
        )


def _check_valued(home: Namespace) -> None:
    """Raise InvalidData unless the identifiers of a namespace have values."""
    if not isinstance(home.scheme, Valued):
        raise InvalidData(
            f"the identifiers of {home.name} are not handles: its scheme is {home.scheme.name}; name a"
            " namespace of handles",
            namespace=home.name,
            scheme=home.scheme.name,
        )


def _value_taken(record: Record, value: Value) -> AlreadyRegistered:
    return AlreadyRegistered(
        f"{record.iri} already has a value {value.index}, of type {value.type}; use another index, or"
        " let it be overwritten",
        id=record.iri,
        index=value.index,
    )
