"""Comparison of an export with this registry: events that stay out, and identifiers that differ."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from pyoxigraph import NamedNode

from idstore.documents import record_fields
from idstore.errors import IdstoreError, InvalidData
from idstore.exchange.sorted_import import SortedImport
from idstore.model.event import Event
from idstore.progress import Progress
from idstore.registry.findings import DAMAGED
from idstore.registry.imports.merge import Divergence, Merge
from idstore.stores.contract import Transaction

_SHOWN: Final = 200
"""Characters of an IRI that a message shows."""


@dataclass(slots=True)
class LeftOut:
    """Content of another registry that an import does not take.

    private  number of identifiers that are not published there.
    parties  number of parties: each registry keeps its own.
    held     identifiers that are drafts here: their events can come in once they are published here.
    """

    private: int = 0
    parties: int = 0
    held: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field of a record in four versions of it, as text.

    field   name of the field.
    common, here, there, merged  its text in the state known to both, here, there, and after the merge.
    """

    field: str
    common: str | None
    here: str | None
    there: str | None
    merged: str | None


@dataclass(frozen=True, slots=True)
class ChangedFields:
    """The fields that differ between the versions of an identifier.

    side    which registry has events that the other lacks: ``here``, ``there``, ``both``.
    new     whether there is no version that is known to both.
    fields  the fields that differ.
    """

    iri: str
    side: str
    new: bool
    fields: Sequence[ChangedField]


def changed_fields(divergence: Divergence) -> ChangedFields:
    """Return the fields that differ between the versions of a record, as text."""
    records = (divergence.common, divergence.here, divergence.there, divergence.merged)
    versions = [{} if record is None else record_fields(record) for record in records]
    fields = []
    for name in dict.fromkeys(name for version in versions for name in version):
        values = [version.get(name) for version in versions]
        if len({*values}) > 1:
            fields.append(ChangedField(name, *values))
    return ChangedFields(divergence.iri, divergence.side, divergence.common is None, fields)


def leave_out(events: SortedImport, merge: Merge, transaction: Transaction, progress: Progress) -> LeftOut:
    """Mark the events that this registry does not take, and return their summary.

    Memory: the events of one identifier, and the IRIs that are held back.
    """
    homes = merge.core.homes(transaction)
    left, compared, total = LeftOut(), 0, len(events)
    for about in events.things():
        rows = events.about(about)
        with valid(rows[0][1]):
            reception = merge.reception(transaction, homes, [(event, hidden) for _, event, hidden in rows])
        left.private += reception.verdict == "private"
        left.parties += reception.verdict == "parties"
        left.held += [about] if reception.verdict == "held" else []
        events.leave_out(id for id, event, _ in rows if event.iri in reception.out)
        compared += len(rows)
        progress("comparing", compared, total)
    return left


def divergences(
    events: SortedImport, merge: Merge, transaction: Transaction, bases: Iterable[str]
) -> Iterator[Divergence]:
    """Yield the differences between the files and this registry.

    Identifiers of the files come first, by IRI, then those that are published here alone.
    bases  namespaces that the file covers: only in these can an identifier be published here alone.
    Call it before the events are taken in.
    """
    for about in events.things():
        coming = [event for _, event, _ in events.about(about)]
        if coming:
            with valid(coming[0]):
                difference = merge.divergence(transaction, NamedNode(about), coming)
            if difference is not None:
                yield difference
    for base in bases:
        for iri in transaction.catalogue.sorted_identifiers(namespace=base):
            if not events.mentions(iri):
                yield merge.here_alone(transaction, NamedNode(iri))


@contextmanager
def valid(event: Event) -> Iterator[None]:
    """Translate what the processing of an event raises.

    Raises InvalidData if the event lacks what its kind requires. If a text is too long, the message names the
    identifier.
    """
    try:
        yield
    except InvalidData as error:
        if "limit" not in error.fields:
            raise
        about = event.about
        place = about if len(about) <= _SHOWN else f"{about[:_SHOWN]}…"
        raise InvalidData(f"of {place}: {error.message}", remedy=error.remedy, **error.fields) from error
    except IdstoreError:
        raise
    except DAMAGED as error:
        raise InvalidData(
            f"the event {event.iri} lacks a value that its kind requires, or has a malformed one"
        ) from error
