"""Typed values of handles: setting, unsetting and reading them.

A value that everyone may read is visible to every party that sees the handle. Other values are visible to the
handle's owner and to administrators, in every stage. HS_ADMIN values are stored and shown; rights follow from
the registry alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from pyoxigraph import Literal

from idstore import arguments
from idstore.errors import (
    AlreadyRegistered,
    AmbiguousIdentifier,
    IdstoreError,
    InvalidData,
    InvalidIdentifier,
    NotRegistered,
    UnknownValue,
)
from idstore.model import terms, times
from idstore.model.event import Event
from idstore.model.party import Party
from idstore.model.record import Identifier, Record
from idstore.model.steps import apply_all
from idstore.model.value import Value, check_data, free_index, matching
from idstore.registry import iris
from idstore.registry.core import check_living
from idstore.registry.lookup import Lookup
from idstore.registry.visibility import Sight
from idstore.remedies import Remedy
from idstore.schemes import Valued, value_types
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import IDS


class When(Enum):
    """Precondition for setting a value: whether its index is in use."""

    EITHER = "either"
    ABSENT = "absent"
    PRESENT = "present"


@dataclass(frozen=True, slots=True)
class Draft:
    """A value to set.

    type         such as ``URL`` or ``EMAIL``.
    data         text in the form of the type, or bytes.
    index        None: the lowest free index, where values are set one by one.
    ttl          how long a client may cache the value, in seconds.
    until        instead of ``ttl``: the end of that time.
    permissions  four digits: whether administrators may read and write it, and all others.
    """

    type: str
    data: str | bytes
    index: int | None = None
    ttl: int = value_types.TTL
    until: datetime | None = None
    permissions: str = value_types.PERMISSIONS

    def __post_init__(self) -> None:
        """Raise InvalidData: a field is of another kind."""
        arguments.check_fields(self)

    @property
    def leads(self) -> bool:
        """Whether a handle can lead to the value: a URL that everyone may read."""
        value = Value(1, self.type, self.data, permissions=self.permissions)
        return value.iri is not None


@dataclass(frozen=True, slots=True)
class ValuesSet:
    """The result of setting several values of a handle.

    handle   its IRI.
    number   how many values are set: those before the first one that is refused.
    refusal  why that one is refused; None if none is.
    """

    handle: str
    number: int
    refusal: IdstoreError | None


class HandleValues(Lookup):
    """Acts on the values of handles."""

    def values(
        self, id: Identifier, party: Party, types: Sequence[str] = (), indexes: Sequence[int] = ()
    ) -> tuple[Value, ...]:
        """Return the values of a handle that the party may read, by index.

        Filtered by types and indexes, if given.
        Raises as `show`; also InvalidData: its scheme has no values.
        """

        def question(view: View) -> Record:
            record = self._named(view, id, self.core.sight(view, party))
            self._valued_scheme(view, record)
            return record

        return matching(self.store.read(question).values, types, indexes)

    def set_value(self, id: Identifier, draft: Draft, party: Party, when: When = When.EITHER) -> list[Event]:
        """Set a value of a handle, replacing the value of the same index; only the owner may.

        when  whether its index must be free (ABSENT) or in use (PRESENT).

        If a public value is replaced by a private one, it is unset first, so that its removal is public.
        Raises NotRegistered (``when`` is PRESENT and there is no such value), AlreadyRegistered (``when`` is
        ABSENT and there is one), NotPermitted, StageConflict, InvalidData.
        """

        def act(transaction: Transaction) -> list[Event]:
            record = self.core.own_record(
                transaction, self._identify(transaction, id, party), party, "set values of"
            )
            check_living(record)
            events = self._setting(transaction, record, draft, party, when)
            self.core.record_events(transaction, record, *events)
            return events

        return self.core.act(party, act)

    def set_values(
        self, id: Identifier, drafts: Sequence[Draft], party: Party, when: When = When.EITHER
    ) -> ValuesSet:
        """Set values of a handle as `set_value` does, in one commit, up to the first one that is refused.

        Raises NotRegistered, NotPermitted, StageConflict, InvalidData (its scheme has no values): none is
        set. Cost: reads and writes the record once.
        """

        def act(transaction: Transaction) -> ValuesSet:
            record = self.core.own_record(
                transaction, self._identify(transaction, id, party), party, "set values of"
            )
            check_living(record)
            self._valued_scheme(transaction, record)
            after, events = record, list[Event]()
            for number, draft in enumerate(drafts):
                try:
                    setting = self._setting(transaction, after, draft, party, when)
                    grown = apply_all(after, setting)
                    self.core.check_growth(transaction, record, grown, party)
                except IdstoreError as error:
                    result = ValuesSet(record.iri, number, error)
                    break
                after = grown
                events += setting
            else:
                result = ValuesSet(record.iri, len(drafts), None)
            self.core.record_events(transaction, record, *events)
            return result

        return self.core.act(party, act)

    def unset_values(self, id: Identifier, indexes: Sequence[int], party: Party) -> list[Event]:
        """Remove values of a handle, all or none; only the owner may.

        Raises NotRegistered, UnknownValue, NotPermitted, InvalidData.
        """

        def act(transaction: Transaction) -> list[Event]:
            record = self.core.own_record(
                transaction, self._identify(transaction, id, party), party, "unset values of"
            )
            self._valued_scheme(transaction, record)
            present = {value.index: value for value in record.values}
            events = []
            for index in dict.fromkeys(indexes):
                existing = present.get(index)
                _check_present(record, index, existing, When.PRESENT)
                assert existing is not None
                events.append(self._unsetting(transaction, record, existing, party))
            self.core.record_events(transaction, record, *events)
            return events

        return self.core.act(party, act)

    def _setting(
        self, transaction: Transaction, record: Record, draft: Draft, party: Party, when: When
    ) -> list[Event]:
        """Return the events that set a value.

        Raises InvalidData, AlreadyRegistered, UnknownValue.
        """
        value = self._value_of(transaction, record, draft)
        existing = record.value(value.index)
        _check_present(record, value.index, existing, when)
        if value.public and value.is_type(value_types.ALIAS):
            self._check_alias_cycle(transaction, record, value, self.core.sight(transaction, party))
        events = []
        if existing is not None and existing.public and not value.public:
            events.append(self._unsetting(transaction, record, existing, party))
        events.append(self.core.event(transaction, IDS.ValueSetting, record.node, party, *value.arguments()))
        return events

    def _unsetting(self, transaction: Transaction, record: Record, existing: Value, party: Party) -> Event:
        arguments = (
            (IDS.index, terms.integer(existing.index)),
            (IDS.permissions, Literal(existing.permissions)),
        )
        return self.core.event(transaction, IDS.ValueUnsetting, record.node, party, *arguments)

    def _value_of(self, transaction: Transaction, record: Record, draft: Draft) -> Value:
        """Return the value, checked. Raises InvalidData."""
        check_data(draft.data)
        data = self._valued_scheme(transaction, record).typed(draft.type, draft.data)
        if isinstance(data, str) and value_types.is_type("URL.", draft.type):
            terms.iri(data, "URL")
            facts = self.core.facts(transaction)
            whole = iris.expanded(iris.check_target(data, facts.names, record.iri), facts.by_name)
            if whole != data:
                raise InvalidData(
                    f"the URL {data!r} is a prefixed name; write {whole}", field="data", text=data
                )
        index = free_index(record.values) if draft.index is None else value_types.index_of(str(draft.index))
        ttl, until = (
            value_types.ttl_of(str(draft.ttl)),
            None if draft.until is None else times.checked(draft.until, "until"),
        )
        return Value(
            index,
            draft.type,
            data,
            times.of(transaction.moment),
            ttl,
            until,
            value_types.permissions_of(draft.permissions),
        )

    def _check_alias_cycle(
        self, transaction: Transaction, record: Record, alias: Value, sight: Sight
    ) -> None:
        """Raise InvalidData if a new alias closes a cycle, as far as the party sees."""
        path = [record.iri]
        next_alias: Value | None = alias
        while next_alias is not None:
            try:
                other = self._named(transaction, f"hdl:{next_alias.text}", sight)
            except (
                NotRegistered,
                AmbiguousIdentifier,
                InvalidIdentifier,
            ):  # of another registry, or hidden
                return
            path.append(other.iri)
            if other.iri == record.iri:
                raise InvalidData(
                    f"a handle cannot be an alias of itself ({' → '.join(path)})", id=record.iri
                )
            if other.iri in path[:-1]:
                return
            next_alias = alias_of(other)

    def _valued_scheme(self, view: View, record: Record) -> Valued:
        """Return the scheme of a record. Raises InvalidData if its identifiers have no values."""
        namespace = self.core.namespace(view, record.namespace)
        scheme = namespace.scheme
        if not isinstance(scheme, Valued):
            reason = (
                f"{record.iri} is not a handle and has no values (its scheme is {scheme.name});"
                " set a target or a binding"
            )
            raise InvalidData(reason, remedy=Remedy.SET_TARGET, id=record.iri, scheme=scheme.name)
        return scheme


def alias_of(record: Record) -> Value | None:
    """Return the value that names the handle which replaces a record."""
    return next((value for value in record.values if value.public and value.is_type(value_types.ALIAS)), None)


def _check_present(record: Record, index: int, existing: Value | None, when: When) -> None:
    if existing is None and when is When.PRESENT:
        raise UnknownValue(record.iri, index)
    if existing is not None and when is When.ABSENT:
        raise AlreadyRegistered(
            f"{record.iri} already has a value {index}, of type {existing.type}",
            id=record.iri,
            index=index,
        )
