"""How events change a record.

`apply` is the meaning of the log: a stored record is what folding the events about the identifier gives, nothing else.
"""

from collections.abc import Callable, Iterable, Mapping

from pyoxigraph import NamedNode

from idstore.frozen import replace
from idstore.model.binding import Binding
from idstore.model.event import Event
from idstore.model.party import party_of
from idstore.model.record import Record, Stage
from idstore.model.terms import name_of, named
from idstore.model.value import Value, drop, first_url, put, said
from idstore.model.value import index as index_of
from idstore.schemes import value_types
from idstore.vocabulary import DCTERMS, IDS, OWL, RDF, SKOS, binding_name


def apply(before: Record | None, event: Event) -> Record | None:
    """The record after an event about it; a pure function. None where a log begins in the middle."""
    if event.kind in (IDS.Mint, IDS.Registration):
        return _begin(event) if before is None else _begin_again(before, event)
    if before is None or before.stage is Stage.RELEASED:
        return before
    step = STEPS.get(event.kind)
    return step(before, event) if step else before


def _begin(event: Event) -> Record:
    given = dict(event.arguments)
    namespace, kind, version = given[IDS.inNamespace], given[IDS.type], given.get(OWL.versionInfo)
    assert isinstance(namespace, NamedNode) and isinstance(kind, NamedNode)
    published = given.get(IDS.stage) == IDS.Fixated
    below, target = given.get(IDS.below), given.get(IDS.target)
    successors = _sorted(map(named, event.all(DCTERMS.isReplacedBy))) if DCTERMS.isReplacedBy in given else ()
    begun = Record(
        event.about,
        kind,
        namespace.value,
        given[SKOS.notation].value,
        Stage.FIXATED if published else Stage.CREATED,
        party_of(given[IDS.owner]) if IDS.owner in given else event.by,
        event.at,
        fixated=event.at if published else None,
        provisional=given.get(IDS.quality) == IDS.Provisional,
        grants=_grants(event) if IDS.grantee in given or IDS.bindGrantee in given else (),
        names=tuple(sorted(name_of(value) for value in event.all(IDS.name))) if IDS.name in given else (),
        version=None if version is None else version.value,
        deprecated=bool(successors),
        successors=successors,
        below=below if isinstance(below, NamedNode) else None,
        kind=given[IDS.kind].value if IDS.kind in given else None,
        target=target if isinstance(target, NamedNode) and IDS.index not in given else None,
    )
    return _aim(begun, event) if IDS.index in given else begun  # a handle's: a value says where it leads


def _begin_again(record: Record, event: Event) -> Record:
    """Another registry created the same: the earlier creation stands, but what either published is published."""
    published = event.one(IDS.stage) == IDS.Fixated and record.stage is Stage.CREATED
    return replace(record, stage=Stage.FIXATED, fixated=event.at) if published else record


def _grants(event: Event) -> tuple[tuple[str, bool], ...]:
    """The grant list that an identifier begins with."""
    listed = {party_of(value): False for value in event.all(IDS.grantee)} | {party_of(value): True for value in event.all(IDS.bindGrantee)}
    return tuple(sorted(listed.items()))


def _name_it(record: Record, event: Event) -> Record:
    names = dict(record.names)
    names.update(name_of(value) for value in event.all(IDS.name))
    said = event.text(OWL.versionInfo)  # empty: it has none any more
    return replace(record, names=tuple(sorted(names.items())), version=record.version if said is None else said or None)


def _make_version(record: Record, event: Event) -> Record:
    work = event.one(DCTERMS.isVersionOf)
    return replace(record, version=event.text(OWL.versionInfo), work=work if isinstance(work, NamedNode) else None)


def _aim(record: Record, event: Event) -> Record:
    """Let it lead somewhere else; where the event names an index, it is a handle's URL value that says so."""
    target, index = event.one(IDS.target), event.one(IDS.index)
    if not isinstance(target, NamedNode):
        return replace(record, target=None, values=tuple(value for value in record.values if value.iri is None))
    if index is None:
        return replace(record, target=target)
    known = record.value(index_of(index))
    if known is None or known.iri is None:
        known = Value(index_of(index), value_types.URL, "")
    return _led(record, put(record.values, replace(known, data=target.value, at=event.at)))


def _led(record: Record, after: tuple[Value, ...]) -> Record:
    """The record with other values, and the target that follows from them."""
    url = first_url(after)
    if url is None and first_url(record.values) is None:
        return replace(record, values=after)
    return replace(record, values=after, target=None if url is None else url.iri)


def _set_value(record: Record, event: Event) -> Record:
    return _led(record, put(record.values, said(event)))


def _unset_value(record: Record, event: Event) -> Record:
    return _led(record, drop(record.values, index_of(event.one(IDS.index))))


_ARGUMENTS = {RDF.predicate, RDF.object, DCTERMS.isPartOf}


def _bind(record: Record, event: Event) -> Record:
    relation, target = event.one(RDF.predicate), event.one(RDF.object)
    assert isinstance(relation, NamedNode) and isinstance(target, NamedNode)
    notes = tuple((name, value) for name, value in event.arguments if name not in _ARGUMENTS)
    made = Binding(NamedNode(binding_name(event.origin, event.token)), relation, target, event.by, event.at, notes)
    if any(known.key == made.key for known in record.bindings):
        return record
    return replace(record, bindings=(*record.bindings, made))


def _unbind(record: Record, event: Event) -> Record:
    relation, target, party = event.text(RDF.predicate), event.text(RDF.object), event.one(IDS.party)
    by = event.by if party is None else party_of(party)
    return replace(record, bindings=tuple(known for known in record.bindings if known.key != (relation, target, by)))


def _grant(record: Record, event: Event) -> Record:
    grants = dict(record.grants) | {_named_party(event): event.one(IDS.right) == IDS.MayBind}
    return replace(record, grants=tuple(sorted(grants.items())))


def _ungrant(record: Record, event: Event) -> Record:
    gone = _named_party(event)
    kept = tuple(grant for grant in record.grants if grant[0] != gone)
    return replace(record, grants=kept, offered=None if record.offered == gone else record.offered)


def _fixate(record: Record, event: Event) -> Record:
    return replace(record, stage=Stage.FIXATED, fixated=event.at) if record.stage is Stage.CREATED else record


def _release(record: Record, event: Event) -> Record:  # noqa: ARG001 every step has the same form
    return replace(record, stage=Stage.RELEASED) if record.stage is Stage.CREATED else record


def _revoke(record: Record, event: Event) -> Record:
    if record.stage is Stage.CREATED:
        return replace(record, stage=Stage.RELEASED)
    return replace(record, stage=Stage.TOMBSTONE, reason=event.text(IDS.reason), successors=_successors(record, event))


def _deprecate(record: Record, event: Event) -> Record:
    return replace(record, deprecated=True, reason=event.text(IDS.reason), successors=_successors(record, event))


def _supersede(record: Record, event: Event) -> Record:
    return replace(record, deprecated=True, successors=_successors(record, event))


def _successors(record: Record, event: Event) -> tuple[NamedNode, ...]:
    known = {*record.successors, *(named(value) for value in event.all(DCTERMS.isReplacedBy))}
    return _sorted(known)


def _sorted(nodes: Iterable[NamedNode]) -> tuple[NamedNode, ...]:
    return tuple(sorted(nodes, key=lambda node: node.value))


def _transfer(record: Record, event: Event) -> Record:
    receiver = _named_party(event)
    if event.by == receiver == record.offered:
        grants = tuple(grant for grant in record.grants if grant[0] != receiver)
        return replace(record, owner=receiver, offered=None, grants=grants)
    return replace(record, offered=receiver)


STEPS: Mapping[NamedNode, Callable[[Record, Event], Record]] = {
    IDS.Naming: _name_it,
    IDS.Versioning: _make_version,
    IDS.Targeting: _aim,
    IDS.Bind: _bind,
    IDS.Unbind: _unbind,
    IDS.Grant: _grant,
    IDS.Ungrant: _ungrant,
    IDS.Fixation: _fixate,
    IDS.Release: _release,
    IDS.Revocation: _revoke,
    IDS.Deprecation: _deprecate,
    IDS.Supersession: _supersede,
    IDS.Transfer: _transfer,
    IDS.ValueSetting: _set_value,
    IDS.ValueUnsetting: _unset_value,
}
"""How each kind of event changes a record; other kinds are remarks, and change nothing."""


def _named_party(event: Event) -> str:
    return party_of(event.one(IDS.party))
