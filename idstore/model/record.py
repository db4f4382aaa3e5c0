"""Records: what the registry holds of an identifier, and how an event changes it.

`apply` is the meaning of the log: a stored record is what folding the events about the identifier gives, nothing else.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from pyoxigraph import Literal, NamedNode, Quad

from idstore.model import times
from idstore.model.event import Event
from idstore.model.namespace import TRUE
from idstore.model.party import node
from idstore.model.terms import UNDETERMINED, Term, tagged
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
        OWL.deprecated,
        OWL.versionInfo,
    }
)


def reserved(relation: NamedNode) -> bool:
    """Whether a relation carries the record itself, so that no binding may use it."""
    return relation in _RESERVED or relation.value.startswith(ONTOLOGY)


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
    target        what it leads to, when its owner said so.
    reason        why it is deprecated or a tombstone.
    successors    what replaces it.
    offered       who may take it over by accepting.
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
    target: NamedNode | None = None
    deprecated: bool = False
    reason: str | None = None
    successors: tuple[NamedNode, ...] = ()
    offered: str | None = None
    bindings: tuple[Binding, ...] = ()

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
    def graph(self) -> NamedNode:
        """Where the record is kept."""
        return NamedNode(self.namespace) if self.public else self.private_graph

    @property
    def log(self) -> NamedNode:
        """Where events about it are kept, but internal ones."""
        return PUBLIC_LOG if self.public else self.private_graph

    def home(self, event: Event) -> NamedNode:
        """Where this event about it is kept."""
        return self.private_graph if event.internal else self.log

    def resolves_to(self) -> NamedNode | None:
        """The target; while it is unset, the owner's oldest live binding stands in."""
        if self.target is not None:
            return self.target
        own = [binding for binding in self.bindings if binding.by == self.owner]
        return min(own, key=lambda binding: (binding.at, binding.node.value)).target if own else None

    def quads(self) -> list[Quad]:
        """Its triples, bindings included; none for a released identifier."""
        if self.stage is Stage.RELEASED:
            return []
        iri, graph, private = self.iri, self.graph, self.private_graph
        made = [
            Quad(iri, RDF.type, self.type, graph),
            Quad(iri, IDS.inNamespace, NamedNode(self.namespace), graph),
            Quad(iri, SKOS.notation, Literal(self.label), graph),
            Quad(iri, IDS.stage, _STAGES[self.stage], graph),
            Quad(iri, IDS.owner, node(self.owner), graph),
            Quad(iri, DCTERMS.created, times.literal(self.created), graph),
        ]
        made += [Quad(iri, predicate, value, graph) for predicate, value in self._optional()]
        made += [Quad(iri, IDS.bindGrantee if binds else IDS.grantee, node(name), private) for name, binds in self.grants]
        if self.offered:
            made.append(Quad(iri, IDS.offeredTo, node(self.offered), private))
        for binding in self.bindings:
            made += binding.quads(iri, graph)
        return made

    def _optional(self) -> Iterable[tuple[NamedNode, Term]]:
        if self.fixated is not None:
            yield IDS.fixated, times.literal(self.fixated)
        if self.provisional:
            yield IDS.quality, IDS.Provisional
        for lang, text in self.names:
            yield RDFS.label, tagged(text, lang)
        if self.version is not None:
            yield OWL.versionInfo, Literal(self.version)
        if self.target is not None:
            yield IDS.target, self.target
        if self.deprecated:
            yield OWL.deprecated, TRUE
        if self.reason is not None:
            yield IDS.reason, Literal(self.reason)
        for successor in self.successors:
            yield DCTERMS.isReplacedBy, successor


def parse(iri: NamedNode, quads: Iterable[Quad], bindings: Iterable[tuple[NamedNode, list[Quad]]] = ()) -> Record:
    """Read a record from the quads on its IRI and those of its binding statements. Raises KeyError if something is missing."""
    values: dict[NamedNode, list[Term]] = {}
    for quad in quads:
        assert isinstance(quad.object, NamedNode | Literal)
        values.setdefault(quad.predicate, []).append(quad.object)

    def one(predicate: NamedNode) -> Term | None:
        return values[predicate][0] if predicate in values else None

    fixated, target, reason, offered = one(IDS.fixated), one(IDS.target), one(IDS.reason), one(IDS.offeredTo)
    version = one(OWL.versionInfo)
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
        target=_iri(target) if target else None,
        deprecated=OWL.deprecated in values,
        reason=reason.value if reason else None,
        successors=tuple(sorted((_iri(value) for value in values.get(DCTERMS.isReplacedBy, ())), key=lambda value: value.value)),
        offered=_party(offered) if offered else None,
        bindings=tuple(sorted((parse_binding(name, found) for name, found in bindings), key=lambda found: (found.at, found.node.value))),
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
        return _begin(event) if before is None else _begin_again(before, event)
    if before is None or before.stage is Stage.RELEASED:
        return before
    step = _STEPS.get(event.kind)
    return step(before, event) if step else before


def _begin(event: Event) -> Record:
    said = dict(event.arguments)
    namespace, kind, target, version = said[IDS.inNamespace], said[IDS.type], said.get(IDS.target), said.get(OWL.versionInfo)
    assert isinstance(namespace, NamedNode) and isinstance(kind, NamedNode)
    published = said.get(IDS.stage) == IDS.Fixated
    return Record(
        event.about,
        kind,
        namespace.value,
        said[SKOS.notation].value,
        Stage.FIXATED if published else Stage.CREATED,
        event.by,
        event.at,
        fixated=event.at if published else None,
        provisional=said.get(IDS.quality) == IDS.Provisional,
        names=tuple(sorted(_name(value) for value in event.all(IDS.name))) if IDS.name in said else (),
        version=None if version is None else version.value,
        target=target if isinstance(target, NamedNode) else None,
    )


def _begin_again(record: Record, event: Event) -> Record:
    """Another registry created the same: the earlier creation stands, but what either published is published."""
    published = event.one(IDS.stage) == IDS.Fixated and record.stage is Stage.CREATED
    return replace(record, stage=Stage.FIXATED, fixated=event.at) if published else record


def _name_it(record: Record, event: Event) -> Record:
    names = dict(record.names)
    names.update(_name(value) for value in event.all(IDS.name))
    said = event.text(OWL.versionInfo)  # empty: it has none any more
    return replace(record, names=tuple(sorted(names.items())), version=record.version if said is None else said or None)


def _aim(record: Record, event: Event) -> Record:
    target = event.one(IDS.target)
    return replace(record, target=target if isinstance(target, NamedNode) else None)


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


_STEPS: Mapping[NamedNode, Callable[[Record, Event], Record]] = {
    IDS.Naming: _name_it,
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
}


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


def claim_quad(claimed: NamedNode, holder: NamedNode) -> Quad:
    """The triple that keeps a label taken for ever."""
    return Quad(claimed, IDS.claimedBy, holder, CLAIMS)
