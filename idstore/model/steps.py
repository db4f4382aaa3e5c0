"""State transitions of a record.

`apply` defines the meaning of the log: a stored record equals the fold of `apply` over its events.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from pyoxigraph import NamedNode

from idstore.model.binding import Binding
from idstore.model.event import Event
from idstore.model.party import party_of
from idstore.model.record import Record, Stage
from idstore.model.terms import name_of
from idstore.model.value import Value, drop, first_url, from_event, put
from idstore.model.value import index as index_of
from idstore.schemes import value_types
from idstore.vocabulary import DCTERMS, IDS, OWL, RDF, SKOS, binding_name


def apply(before: Record | None, event: Event) -> Record | None:
    """Return the record after an event about it. A pure function. None if the log lacks the first event."""
    if event.kind in (IDS.Mint, IDS.Registration):
        return _begin(event) if before is None else _begin_again(before, event)
    if before is None or before.stage is Stage.RELEASED:
        return before
    step = STEPS.get(event.kind)
    return step(before, event) if step else before


def apply_all(record: Record, events: Iterable[Event]) -> Record:
    """Return the record after several events about it, in their order. A pure function."""
    for event in events:
        after = apply(record, event)
        assert after is not None
        record = after
    return record


def _begin(event: Event) -> Record:
    arguments = dict(event.arguments)
    namespace, kind, version = arguments[IDS.inNamespace], arguments[IDS.type], arguments.get(OWL.versionInfo)
    assert isinstance(namespace, NamedNode) and isinstance(kind, NamedNode)
    published = arguments.get(IDS.stage) == IDS.Fixated
    below, target = arguments.get(IDS.below), arguments.get(IDS.target)
    successors = (
        tuple(sorted(value.value for value in event.all(DCTERMS.isReplacedBy)))
        if DCTERMS.isReplacedBy in arguments
        else ()
    )
    record = Record(
        event.about,
        kind.value,
        namespace.value,
        arguments[SKOS.notation].value,
        Stage.FIXATED if published else Stage.CREATED,
        party_of(arguments[IDS.owner]) if IDS.owner in arguments else event.by,
        event.at,
        fixated=event.at if published else None,
        provisional=arguments.get(IDS.quality) == IDS.Provisional,
        grants=_grants(event) if IDS.grantee in arguments or IDS.bindGrantee in arguments else (),
        names=tuple(sorted(name_of(value) for value in event.all(IDS.name))) if IDS.name in arguments else (),
        version=None if version is None else version.value,
        deprecated=bool(successors),
        successors=successors,
        below=below.value if isinstance(below, NamedNode) else None,
        kind=arguments[IDS.kind].value if IDS.kind in arguments else None,
        target=target.value if isinstance(target, NamedNode) and IDS.index not in arguments else None,
    )
    # the target of a handle is one of its values
    return _set_target(record, event) if IDS.index in arguments else record


def _begin_again(record: Record, event: Event) -> Record:
    """Return the record after a second creation, by another registry.

    A fixation by either registry counts.
    """
    published = event.get(IDS.stage) == IDS.Fixated and record.stage is Stage.CREATED
    return replace(record, stage=Stage.FIXATED, fixated=event.at) if published else record


def _grants(event: Event) -> tuple[tuple[str, bool], ...]:
    """Return the initial grant list of an identifier."""
    listed = {party_of(value): False for value in event.all(IDS.grantee)} | {
        party_of(value): True for value in event.all(IDS.bindGrantee)
    }
    return tuple(sorted(listed.items()))


def _add_names(record: Record, event: Event) -> Record:
    names = dict(record.names)
    names.update(name_of(value) for value in event.all(IDS.name))
    version = event.text(OWL.versionInfo)  # empty: remove the version
    return replace(
        record,
        names=tuple(sorted((lang, name) for lang, name in names.items() if name)),  # empty: remove the name
        version=record.version if version is None else version or None,
    )


def _set_version(record: Record, event: Event) -> Record:
    return replace(record, version=event.text(OWL.versionInfo), work=event.text(DCTERMS.isVersionOf))


def _set_target(record: Record, event: Event) -> Record:
    """Return the record with another target; with an index, the URL value of a handle holds the target."""
    target, index = event.get(IDS.target), event.get(IDS.index)
    if not isinstance(target, NamedNode):
        return replace(
            record, target=None, values=tuple(value for value in record.values if value.iri is None)
        )
    if index is None:
        return replace(record, target=target.value)
    existing = record.value(index_of(index))
    if existing is None or existing.iri is None:
        existing = Value(index_of(index), value_types.URL, "")
    return _with_values(record, put(record.values, replace(existing, data=target.value, at=event.at)))


def _with_values(record: Record, after: tuple[Value, ...]) -> Record:
    """Return the record with other values, and the target that follows from them."""
    url = first_url(after)
    if url is None and first_url(record.values) is None:
        return replace(record, values=after)
    return replace(record, values=after, target=None if url is None else url.iri)


def _set_value(record: Record, event: Event) -> Record:
    value = from_event(event)
    if not value.public and _published(record, value.index):
        return record
    return _with_values(record, put(record.values, value))


def _unset_value(record: Record, event: Event) -> Record:
    index = index_of(event.get(IDS.index))
    if _published(record, index) == event.confined:  # a value of the other kind
        return record
    return _with_values(record, drop(record.values, index))


def _published(record: Record, index: int) -> bool:
    """Return whether the value with an index is public.

    Private events change no public value, and public events unset no private one, so that registries with the
    same public events show the public the same. In one registry this makes no difference: a public value is
    unset before a private one replaces it. In a merge the other registry knows nothing of private values.
    """
    existing = record.value(index)
    return existing is not None and existing.public


_ARGUMENTS = {RDF.predicate, RDF.object, DCTERMS.isPartOf, IDS.forced}


def _bind(record: Record, event: Event) -> Record:
    relation, target = event.get(RDF.predicate), event.get(RDF.object)
    assert isinstance(relation, NamedNode) and isinstance(target, NamedNode)
    notes = tuple((name, value) for name, value in event.arguments if name not in _ARGUMENTS)
    name = NamedNode(binding_name(event.origin, event.token))
    binding = Binding(name, relation.value, target.value, event.by, event.at, notes)
    # the target first: its comparison is much faster than that of keys
    if not binding.adds_to(existing for existing in record.bindings if existing.target == target.value):
        return record
    return replace(record, bindings=(*record.bindings, binding))


def _unbind(record: Record, event: Event) -> Record:
    relation, target, party = event.text(RDF.predicate), event.text(RDF.object), event.get(IDS.party)
    by = event.by if party is None else party_of(party)
    key = (relation, target, by)
    return replace(record, bindings=tuple(binding for binding in record.bindings if binding.key != key))


def _grant(record: Record, event: Event) -> Record:
    grants = dict(record.grants) | {_party_argument(event): event.get(IDS.right) == IDS.MayBind}
    return replace(record, grants=tuple(sorted(grants.items())))


def _ungrant(record: Record, event: Event) -> Record:
    grantee = _party_argument(event)
    kept = tuple(grant for grant in record.grants if grant[0] != grantee)
    return replace(record, grants=kept, offered=None if record.offered == grantee else record.offered)


def _fixate(record: Record, event: Event) -> Record:
    return replace(record, stage=Stage.FIXATED, fixated=event.at) if record.stage is Stage.CREATED else record


def _release(record: Record, event: Event) -> Record:  # noqa: ARG001 every step has the same form
    return replace(record, stage=Stage.RELEASED) if record.stage is Stage.CREATED else record


def _revoke(record: Record, event: Event) -> Record:
    if record.stage is Stage.CREATED:
        return replace(record, stage=Stage.RELEASED)
    return replace(
        record, stage=Stage.TOMBSTONE, reason=event.text(IDS.reason), successors=_successors(record, event)
    )


def _deprecate(record: Record, event: Event) -> Record:
    return replace(
        record, deprecated=True, reason=event.text(IDS.reason), successors=_successors(record, event)
    )


def _supersede(record: Record, event: Event) -> Record:
    return replace(record, deprecated=True, successors=_successors(record, event))


def _undeprecate(record: Record, event: Event) -> Record:
    """Return the record without its deprecation, or without some of its successors if the event names any."""
    taken_back = {value.value for value in event.all(DCTERMS.isReplacedBy)}
    successors = tuple(iri for iri in record.successors if taken_back and iri not in taken_back)
    reason = record.reason if taken_back else None
    deprecated = bool(successors) or reason is not None
    return replace(record, deprecated=deprecated, reason=reason, successors=successors)


def _successors(record: Record, event: Event) -> tuple[str, ...]:
    return tuple(sorted({*record.successors, *(value.value for value in event.all(DCTERMS.isReplacedBy))}))


def _move(record: Record, event: Event) -> Record:
    """Return the record of a file or event of a replaced article, now below the old copy.

    The replacement of the article itself changes nothing: its new target is another event.
    """
    below = event.get(IDS.below)
    return replace(record, below=below.value) if isinstance(below, NamedNode) else record


def _transfer(record: Record, event: Event) -> Record:
    receiver = _party_argument(event)
    if receiver == record.owner:
        return replace(record, offered=None)
    if event.by == receiver == record.offered:
        grants = tuple(grant for grant in record.grants if grant[0] != receiver)
        return replace(record, owner=receiver, offered=None, grants=grants)
    return replace(record, offered=receiver)


STEPS: Mapping[NamedNode, Callable[[Record, Event], Record]] = {
    IDS.Naming: _add_names,
    IDS.Versioning: _set_version,
    IDS.Targeting: _set_target,
    IDS.Bind: _bind,
    IDS.Unbind: _unbind,
    IDS.Grant: _grant,
    IDS.Ungrant: _ungrant,
    IDS.Fixation: _fixate,
    IDS.Release: _release,
    IDS.Revocation: _revoke,
    IDS.Deprecation: _deprecate,
    IDS.Supersession: _supersede,
    IDS.Undeprecation: _undeprecate,
    IDS.Replacement: _move,
    IDS.Transfer: _transfer,
    IDS.ValueSetting: _set_value,
    IDS.ValueUnsetting: _unset_value,
}
"""The transition of each kind of event. Events of other kinds do not change the record."""


def _party_argument(event: Event) -> str:
    return party_of(event.get(IDS.party))
