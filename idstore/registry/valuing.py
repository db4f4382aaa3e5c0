"""Typed values of handles: setting and unsetting them, and reading those that one may read.

A value whose permissions let everyone read is seen by whoever sees the handle. Any other is seen by the handle's owner and by
administrators, in every stage. What HS_ADMIN values say is kept and shown; who may do what is decided by the registry's own rights.
"""

from collections.abc import Sequence
from enum import Enum

from pyoxigraph import Literal

from idstore.errors import AlreadyRegistered, AmbiguousIdentifier, InvalidData, InvalidIdentifier, NotRegistered
from idstore.frozen import dataclass
from idstore.model import terms, times
from idstore.model.event import Event
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.model.value import Value, free_index, integer, matching
from idstore.registry import targets
from idstore.registry.bindings import Binding
from idstore.registry.core import Sight, living
from idstore.schemes import Valued, value_types
from idstore.stores import Turn, View
from idstore.vocabulary import IDS


class When(Enum):
    """What has to be there for a value to be set."""

    EITHER = "either"
    ABSENT = "absent"
    PRESENT = "present"


@dataclass(frozen=True, slots=True)
class Draft:
    """A value as somebody wants it.

    index  None: the lowest that is free.
    data   text as the type wants it (`idstore.schemes.handle_values.stored`), or bytes.
    ttl    seconds; ``until`` instead: milliseconds since 1970.
    """

    type: str
    data: str | bytes
    index: int | None = None
    ttl: int = value_types.TTL
    until: int | None = None
    permissions: str = value_types.PERMISSIONS


class Valuing(Binding):
    """The values of handles."""

    def values(self, text: str, party: Party, types: Sequence[str] = (), indexes: Sequence[int] = ()) -> tuple[Value, ...]:
        """The values of a handle that the party may read, by index; only those of these types or indexes, where any are given.

        Raises as `show`, and InvalidData: its scheme knows no values.
        """
        with self.store.reading() as view:
            record = self._named(view, text, self.sight(view, party))
            self._carrying(view, record)
        return matching(record.values, types, indexes)

    def set_value(self, text: str, draft: Draft, party: Party, when: When = When.EITHER) -> list[Event]:
        """Set a value of a handle, in place of the one of its index; only the owner may.

        Where one that everyone could read gives way to one that not everyone may, it is unset first, so that everyone learns that it went.
        Raises NotRegistered (also: there is no such value, and ``when`` asks for one), AlreadyRegistered (there is), NotPermitted,
        StageConflict, InvalidData.
        """
        with self._acting(party) as turn:
            record = self._own(turn, self._identify(turn, text, party), party, "set values of")
            living(record)
            value = self._drafted(turn, record, draft)
            known = record.value(value.index)
            _fits(record, value.index, known, when)
            if value.public and value.is_type(value_types.ALIAS):
                self._no_alias_of_itself(turn, record, value, self.sight(turn, party))
            made = []
            if known is not None and known.public and not value.public:
                made.append(self._unsetting(turn, record, known, party))
                record = self._record_event(turn, record, made[-1])
            made.append(self._event(turn, IDS.ValueSetting, record.iri, party, *value.arguments()))
            self._record_event(turn, record, made[-1])
            return made

    def unset_values(self, text: str, indexes: Sequence[int], party: Party) -> list[Event]:
        """Take values of a handle away, all of them or none; only the owner may. Raises NotRegistered (no such value included), NotPermitted, InvalidData."""
        with self._acting(party) as turn:
            record = self._own(turn, self._identify(turn, text, party), party, "unset values of")
            self._carrying(turn, record)
            made = []
            for index in dict.fromkeys(indexes):
                known = record.value(index)
                _fits(record, index, known, When.PRESENT)
                assert known is not None
                made.append(self._unsetting(turn, record, known, party))
                record = self._record_event(turn, record, made[-1])
            return made

    def _unsetting(self, turn: Turn, record: Record, known: Value, party: Party) -> Event:
        said = ((IDS.index, integer(known.index)), (IDS.permissions, Literal(known.permissions)))
        return self._event(turn, IDS.ValueUnsetting, record.iri, party, *said)

    def _drafted(self, turn: Turn, record: Record, draft: Draft) -> Value:
        """The value, checked. Raises InvalidData."""
        data = self._carrying(turn, record).typed(draft.type, draft.data)
        if isinstance(data, str) and value_types.is_type("URL.", draft.type):
            terms.iri(data, "URL")
            targets.check(data, self._facts(turn).by_name)
        index = free_index(record.values) if draft.index is None else value_types.index_of(str(draft.index))
        ttl, until = value_types.ttl_of(str(draft.ttl)), None if draft.until is None else times.writable(draft.until)
        return Value(index, draft.type, data, turn.moment, ttl, until, value_types.permissions_of(draft.permissions))

    def _no_alias_of_itself(self, turn: Turn, record: Record, alias: Value, sight: Sight) -> None:
        """Raise InvalidData if a handle is an alias of the one that is to be its alias already, at any distance, as far as may be seen."""
        way = [record.iri.value]
        following: Value | None = alias
        while following is not None:
            try:
                other = self._named(turn, f"hdl:{following.text}", sight)
            except (NotRegistered, AmbiguousIdentifier, InvalidIdentifier):  # another registry's, or not to be seen
                return
            way.append(other.iri.value)
            if other.iri == record.iri:
                raise InvalidData(f"a handle cannot be an alias of itself ({' → '.join(way)})", id=record.iri.value)
            if other.iri.value in way[:-1]:
                return
            following = alias_of(other)

    def _carrying(self, view: View, record: Record) -> Valued:
        """The scheme of a record. Raises InvalidData if its identifiers carry no values."""
        namespace = self._namespace(view, record.namespace)
        scheme = namespace.scheme
        if not isinstance(scheme, Valued):
            reason = f"{record.iri.value} is no handle, and carries no values (its scheme is {scheme.name}); use `idstore target` or `idstore bind`"
            raise InvalidData(reason, id=record.iri.value, scheme=scheme.name)
        return scheme


def alias_of(record: Record) -> Value | None:
    """The value that names the handle which stands in for a record."""
    return next((value for value in record.values if value.public and value.is_type(value_types.ALIAS)), None)


def _fits(record: Record, index: int, known: Value | None, when: When) -> None:
    if known is None and when is When.PRESENT:
        raise NotRegistered(record.iri.value, f"{record.iri.value} has no value {index}; `idstore handle values` lists those it has")
    if known is not None and when is When.ABSENT:
        raise AlreadyRegistered(f"{record.iri.value} has a value {index} already, of type {known.type}", id=record.iri.value, index=index)
