"""Records: what the registry holds of an identifier, and how an event changes it.

`apply` is the meaning of the log: a stored record is what folding the events about the identifier gives, nothing else.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from pyoxigraph import Literal, NamedNode, Quad

from idstore.model import times
from idstore.model.event import Event
from idstore.model.namespace import TRUE
from idstore.model.party import node
from idstore.model.terms import UNDETERMINED, Term, lines, tagged
from idstore.model.value import Value, drop, first_url, put, said
from idstore.model.value import index as index_of
from idstore.model.value import parse as parse_value
from idstore.schemes import value_types
from idstore.vocabulary import (
    CLAIMS,
    DCTERMS,
    IDS,
    ONTOLOGY,
    OWL,
    PROV,
    PUBLIC_LOG,
    RDF,
    RDFS,
    SKOS,
    access_graph,
    closed_graph,
    party_name,
)


class Stage(StrEnum):
    """Where an identifier is in its life. A released one has no record any more; its label stays taken."""

    CREATED = "created"
    FIXATED = "fixated"
    TOMBSTONE = "tombstone"
    RELEASED = "released"


_STAGES = {Stage.CREATED: IDS.Created, Stage.FIXATED: IDS.Fixated, Stage.TOMBSTONE: IDS.Tombstone}
_STAGE_OF = {iri: stage for stage, iri in _STAGES.items()}

_RESERVED = frozenset(
    {
        RDF.type,
        RDF.subject,
        RDF.predicate,
        RDF.object,
        RDFS.label,
        RDFS.subClassOf,
        SKOS.notation,
        DCTERMS.created,
        DCTERMS.isReplacedBy,
        DCTERMS.isVersionOf,
        OWL.deprecated,
        OWL.versionInfo,
    }
)


_RELATIONS = frozenset({IDS.hasPriorityOver, IDS.hasLowerPriorityThan, IDS.canContain, IDS.canBeContainedIn})
"""The ontology's own relations between identified things."""


@lru_cache(maxsize=4096)
def reserved(relation: NamedNode) -> bool:
    """Whether a relation carries the record itself, so that no binding may use it."""
    return relation in _RESERVED or (relation.value.startswith(ONTOLOGY) and relation not in _RELATIONS)


@dataclass(frozen=True, slots=True)
class Binding:
    """A statement that the identifier is associated with another URI.

    node      name of the statement, made from the event that bound.
    by, at    who says so, since when.
    notes     what was said with it: note, confidence, justification, author.
    """

    node: NamedNode
    relation: NamedNode
    target: NamedNode
    by: str
    at: int
    notes: tuple[tuple[NamedNode, Term], ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """Binding again with the same key changes nothing."""
        return (self.relation.value, self.target.value, self.by)

    @property
    def note(self) -> str | None:
        """The remark."""
        return self.said(SKOS.note)

    def said(self, predicate: NamedNode) -> str | None:
        """What was said with it: note, confidence, justification or author; None if that was not."""
        return next((value.value for name, value in self.notes if name == predicate), None)

    def quads(self, subject: NamedNode, graph: NamedNode) -> list[Quad]:
        """The plain triple and the statement beside it."""
        made = [
            Quad(subject, self.relation, self.target, graph),
            Quad(self.node, RDF.type, IDS.Binding, graph),
            Quad(self.node, RDF.subject, subject, graph),
            Quad(self.node, RDF.predicate, self.relation, graph),
            Quad(self.node, RDF.object, self.target, graph),
            Quad(self.node, PROV.wasAssociatedWith, node(self.by), graph),
            Quad(self.node, PROV.endedAtTime, times.literal(self.at), graph),
        ]
        return made + [Quad(self.node, name, value, graph) for name, value in self.notes]


@dataclass(frozen=True, slots=True)
class Record:
    """What the registry holds of an identifier.

    type          its class.
    created, fixated  milliseconds since 1970.
    grants        who is on the grant list beside the owner, and whether each may bind.
    names         by language (``und``: none).
    version       which version of the thing it identifies, where names alone do not tell.
    work          the identifier of what it is a version of.
    target        what it leads to, when its owner said so.
    reason        why it is deprecated or a tombstone.
    successors    what replaces it.
    offered       who may take it over by accepting.
    values        typed values by index, of handles; where one of them is a URL that everyone may read, the first such is the target.
    below, kind   the article that it is a file or an event of, and which of these.
    """

    iri: NamedNode
    type: NamedNode
    namespace: str
    label: str
    stage: Stage
    owner: str
    created: int
    fixated: int | None = None
    provisional: bool = False
    grants: tuple[tuple[str, bool], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    version: str | None = None
    work: NamedNode | None = None
    target: NamedNode | None = None
    deprecated: bool = False
    reason: str | None = None
    successors: tuple[NamedNode, ...] = ()
    offered: str | None = None
    bindings: tuple[Binding, ...] = ()
    values: tuple[Value, ...] = ()
    below: NamedNode | None = None
    kind: str | None = None

    @property
    def audience(self) -> frozenset[str]:
        """The grant list: the owner, those granted, and who was offered the identifier."""
        return frozenset({self.owner, *(name for name, _ in self.grants), *([self.offered] if self.offered else [])})

    @property
    def public(self) -> bool:
        """Whether everyone sees it."""
        return self.stage in (Stage.FIXATED, Stage.TOMBSTONE)

    @property
    def private_graph(self) -> NamedNode:
        """Where what only the grant list sees is kept; for a released identifier the closed log."""
        return closed_graph(self.owner) if self.stage is Stage.RELEASED else access_graph(self.audience)

    @property
    def owner_graph(self) -> NamedNode:
        """Where what only the owner (and administrators) may read is kept."""
        return closed_graph(self.owner) if self.stage is Stage.RELEASED else access_graph(frozenset({self.owner}))

    @property
    def graph(self) -> NamedNode:
        """Where the record is kept."""
        return NamedNode(self.namespace) if self.public else self.private_graph

    @property
    def log(self) -> NamedNode:
        """Where events about it are kept, but internal ones."""
        return PUBLIC_LOG if self.public else self.private_graph

    def home(self, event: Event) -> NamedNode:
        """Where this event about it is kept."""
        if event.confined:
            return self.owner_graph
        return self.private_graph if event.internal else self.log

    def value(self, index: int) -> Value | None:
        """The value of that index."""
        return next((value for value in self.values if value.index == index), None)

    def resolves_to(self) -> NamedNode | None:
        """The target; while it is unset, the owner's oldest live binding stands in.

        One to another identifier of the namespace does not: it says how two things are related, and leads to neither.
        """
        if self.target is not None:
            return self.target
        own = [one for one in self.bindings if one.by == self.owner and not one.target.value.startswith(self.namespace)]
        return min(own, key=lambda binding: (binding.at, binding.node.value)).target if own else None

    def quads(self) -> list[Quad]:
        """Its triples, bindings included; none for a released identifier."""
        if self.stage is Stage.RELEASED:
            return []
        iri, graph = self.iri, self.graph
        return [Quad(iri, predicate, value, graph) for predicate, value in self._said()] + self._further(graph)

    def lines(self) -> str:
        """Its `quads` as N-Quads."""
        if self.stage is Stage.RELEASED:
            return ""
        graph = self.graph
        return lines(self.iri, self._said(), graph) + "".join([f"{quad} .\n" for quad in self._further(graph)])

    def _said(self) -> list[tuple[NamedNode, Term]]:
        """What its graph says of its IRI, but bindings."""
        return [
            (RDF.type, self.type),
            (IDS.inNamespace, NamedNode(self.namespace)),
            (SKOS.notation, Literal(self.label)),
            (IDS.stage, _STAGES[self.stage]),
            (IDS.owner, node(self.owner)),
            (DCTERMS.created, times.literal(self.created)),
            *self._optional(),
        ]

    def _further(self, graph: NamedNode) -> list[Quad]:
        """The rest: grants, which are private, and bindings."""
        iri, private = self.iri, self.private_graph if self.grants or self.offered else graph
        made = [Quad(iri, IDS.bindGrantee if binds else IDS.grantee, node(name), private) for name, binds in self.grants]
        if self.offered:
            made.append(Quad(iri, IDS.offeredTo, node(self.offered), private))
        for binding in self.bindings:
            made += binding.quads(iri, graph)
        for value in self.values:
            made += value.quads(iri, graph if value.public else self.owner_graph)
        return made

    def _optional(self) -> Iterable[tuple[NamedNode, Term]]:
        if self.fixated is not None:
            yield IDS.fixated, times.literal(self.fixated)
        if self.provisional:
            yield IDS.quality, IDS.Provisional
        yield from ((RDFS.label, tagged(text, lang)) for lang, text in self.names)
        if self.version is not None:
            yield OWL.versionInfo, Literal(self.version)
        if self.work is not None:
            yield DCTERMS.isVersionOf, self.work
        if self.target is not None:
            yield IDS.target, self.target
        if self.deprecated:
            yield OWL.deprecated, TRUE
        if self.reason is not None:
            yield IDS.reason, Literal(self.reason)
        for successor in self.successors:
            yield DCTERMS.isReplacedBy, successor
        if self.below is not None and self.kind is not None:
            yield from ((IDS.below, self.below), (IDS.kind, Literal(self.kind)))


def parse(
    iri: NamedNode,
    quads: Iterable[Quad],
    bindings: Iterable[tuple[NamedNode, list[Quad]]] = (),
    typed: Iterable[list[Quad]] = (),
) -> Record:
    """Read a record from the quads on its IRI, those of its binding statements and of its typed values. Raises KeyError if something is missing."""
    values: dict[NamedNode, list[Term]] = {}
    for quad in quads:
        assert isinstance(quad.object, NamedNode | Literal)
        values.setdefault(quad.predicate, []).append(quad.object)

    def one(predicate: NamedNode) -> Term | None:
        return values[predicate][0] if predicate in values else None

    fixated, target, reason, offered = one(IDS.fixated), one(IDS.target), one(IDS.reason), one(IDS.offeredTo)
    version, work, below, kind = one(OWL.versionInfo), one(DCTERMS.isVersionOf), one(IDS.below), one(IDS.kind)
    grants = [(_party(value), False) for value in values.get(IDS.grantee, ())]
    grants += [(_party(value), True) for value in values.get(IDS.bindGrantee, ())]
    return Record(
        iri=iri,
        type=_iri(values[RDF.type][0]),
        namespace=values[IDS.inNamespace][0].value,
        label=values[SKOS.notation][0].value,
        stage=_STAGE_OF[_iri(values[IDS.stage][0])],
        owner=_party(values[IDS.owner][0]),
        created=times.parse(values[DCTERMS.created][0].value),
        fixated=times.parse(fixated.value) if fixated else None,
        provisional=IDS.Provisional in values.get(IDS.quality, ()),
        grants=tuple(sorted(grants)),
        names=tuple(sorted(_name(value) for value in values.get(RDFS.label, ()))),
        version=version.value if version else None,
        work=_iri(work) if work else None,
        target=_iri(target) if target else None,
        deprecated=OWL.deprecated in values,
        reason=reason.value if reason else None,
        successors=tuple(sorted((_iri(value) for value in values.get(DCTERMS.isReplacedBy, ())), key=lambda value: value.value)),
        offered=_party(offered) if offered else None,
        bindings=tuple(sorted((parse_binding(name, found) for name, found in bindings), key=lambda found: (found.at, found.node.value))),
        values=tuple(sorted(map(parse_value, typed), key=lambda value: value.index)),
        below=_iri(below) if below else None,
        kind=kind.value if kind else None,
    )


_STATEMENT = {RDF.type, RDF.subject, RDF.predicate, RDF.object, PROV.wasAssociatedWith, PROV.endedAtTime}


def parse_binding(name: NamedNode, quads: Iterable[Quad]) -> Binding:
    """Read a binding statement. Raises KeyError if something is missing."""
    values = {quad.predicate: quad.object for quad in quads}
    relation, target = values[RDF.predicate], values[RDF.object]
    assert isinstance(relation, NamedNode) and isinstance(target, NamedNode)
    notes = sorted(((key, value) for key, value in values.items() if key not in _STATEMENT), key=lambda pair: pair[0].value)
    return Binding(
        name,
        relation,
        target,
        _party(values[PROV.wasAssociatedWith]),
        times.parse(_text(values[PROV.endedAtTime])),
        tuple((key, value) for key, value in notes if isinstance(value, NamedNode | Literal)),
    )


def apply(before: Record | None, event: Event) -> Record | None:
    """The record after an event about it; a pure function. None where a log begins in the middle."""
    if event.kind in (IDS.Mint, IDS.Registration):
        return _begin(event) if before is None else before
    if before is None or before.stage is Stage.RELEASED:
        return before
    step = STEPS.get(event.kind)
    return step(before, event) if step else before


def _begin(event: Event) -> Record:
    given = dict(event.arguments)
    namespace, kind, version = given[IDS.inNamespace], given[IDS.type], given.get(OWL.versionInfo)
    assert isinstance(namespace, NamedNode) and isinstance(kind, NamedNode)
    published = given.get(IDS.stage) == IDS.Fixated
    below = given.get(IDS.below)
    successors = tuple(sorted((_iri(value) for value in event.all(DCTERMS.isReplacedBy)), key=lambda value: value.value))
    begun = Record(
        event.about,
        kind,
        namespace.value,
        given[SKOS.notation].value,
        Stage.FIXATED if published else Stage.CREATED,
        _party(given[IDS.owner]) if IDS.owner in given else event.by,
        event.at,
        fixated=event.at if published else None,
        provisional=given.get(IDS.quality) == IDS.Provisional,
        grants=_grants(event),
        names=tuple(sorted(_name(value) for value in event.all(IDS.name))) if IDS.name in given else (),
        version=None if version is None else version.value,
        deprecated=bool(successors),
        successors=successors,
        below=below if isinstance(below, NamedNode) else None,
        kind=given[IDS.kind].value if IDS.kind in given else None,
    )
    return _aim(begun, event) if IDS.target in given else begun


def _grants(event: Event) -> tuple[tuple[str, bool], ...]:
    """The grant list that an identifier begins with."""
    listed = {_party(value): False for value in event.all(IDS.grantee)} | {_party(value): True for value in event.all(IDS.bindGrantee)}
    return tuple(sorted(listed.items()))


def _name_it(record: Record, event: Event) -> Record:
    names = dict(record.names)
    names.update(_name(value) for value in event.all(IDS.name))
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
    made = Binding(NamedNode(f"urn:uuid:{event.origin}#b{event.token:016x}"), relation, target, event.by, event.at, notes)
    if any(known.key == made.key for known in record.bindings):
        return record
    return replace(record, bindings=(*record.bindings, made))


def _unbind(record: Record, event: Event) -> Record:
    relation, target, party = event.text(RDF.predicate), event.text(RDF.object), event.one(IDS.party)
    by = event.by if party is None else _party(party)
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
    known = {*record.successors, *(_iri(value) for value in event.all(DCTERMS.isReplacedBy))}
    return tuple(sorted(known, key=lambda value: value.value))


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


def _iri(value: Term) -> NamedNode:
    assert isinstance(value, NamedNode)
    return value


def _party(value: object) -> str:
    assert isinstance(value, NamedNode)
    return party_name(value)


def _named_party(event: Event) -> str:
    return _party(event.one(IDS.party))


def _text(value: object) -> str:
    assert isinstance(value, Literal)
    return value.value


def _name(value: Term) -> tuple[str, str]:
    assert isinstance(value, Literal)
    return (value.language or UNDETERMINED, value.value)


def claim_line(claimed: NamedNode, holder: NamedNode) -> str:
    """`claim_quad` as N-Quads."""
    return lines(claimed, ((IDS.claimedBy, holder),), CLAIMS)


def claim_quad(claimed: NamedNode, holder: NamedNode) -> Quad:
    """The triple that keeps a label taken for ever."""
    return Quad(claimed, IDS.claimedBy, holder, CLAIMS)
