"""Records: the state of an identifier. `idstore.model.steps` defines how events change it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import NotRequired, TypeAlias, TypedDict

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import InvalidData
from idstore.model import times
from idstore.model.binding import Binding, BindingDocument, parse_binding
from idstore.model.event import Event
from idstore.model.names import Names
from idstore.model.namespace import TRUE
from idstore.model.party import node, party_of
from idstore.model.terms import Term, iri_of, lines, name_of, tagged
from idstore.model.value import Value, ValueDocument
from idstore.model.value import parse as parse_value
from idstore.vocabulary import (
    DCTERMS,
    IDS,
    OWL,
    OWN_SPACES,
    PUBLIC_LOG,
    RDF,
    RDFS,
    SKOS,
    access_graph,
    closed_graph,
)


class Stage(StrEnum):
    """The stage in the life of an identifier. A released identifier has no record; its label stays taken."""

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


EQUIVALENCES = frozenset({SKOS.exactMatch.value, OWL.sameAs.value})
"""Relations that say that a target is the identified thing itself."""
RELATIONS = frozenset({IDS.hasPriorityOver, IDS.hasLowerPriorityThan, IDS.canContain, IDS.canBeContainedIn})
"""Relations of the ontology between identified things, which bindings may use."""


@lru_cache(maxsize=4096)
def reserved(relation: NamedNode) -> bool:
    """Whether a relation belongs to the record itself, so that no binding may use it."""
    return relation in _RESERVED or (relation.value.startswith(OWN_SPACES) and relation not in RELATIONS)


class RemarkDocument(TypedDict):
    """A comment.

    by  name of the party that made it.
    """

    text: str
    by: str
    at: str
    internal: bool


class RecordDocument(TypedDict):
    """An identifier.

    id            its IRI.
    label         the identifier within its namespace.
    namespace     name of the namespace.
    stage         ``created``: seen by its grant list alone; ``fixated``: published for ever; ``tombstone``:
                  revoked.
    provisional   whether its scheme calls it not persistent.
    owner         name of the party that owns it.
    offeredTo     the party that becomes the owner by accepting a transfer.
    grants        parties and groups that see it before it is published, the owner included.
    mayBind       those of the grant list that may bind it.
    names         language (``und`` for none) → name.
    version       the version of the identified thing.
    versionOf     the identifier of the work that it is a version of.
    target        the URI that it leads to.
    created       moment of creation.
    fixated       moment of publication; None before.
    deprecated    whether it should no longer be used for new things. It stays valid, and resolves.
    reason        why it is deprecated or a tombstone.
    below         the article that it is a file or an event of.
    kind          the kind of that file or event.
    supersededBy  identifiers that replace it.
    bindings      statements that associate it with other URIs.
    comments      what the party may see of the comments.
    values        typed values of a handle.
    type          IRI of its class; in answers of a server only.
    base          base IRI of the namespace; in answers of a server only.
    """

    id: str
    label: str
    namespace: str
    scheme: NotRequired[str]
    stage: str
    provisional: bool
    owner: str
    offeredTo: str | None
    grants: list[str]
    mayBind: list[str]
    names: dict[str, str]
    version: str | None
    versionOf: str | None
    target: str | None
    created: str
    fixated: str | None
    deprecated: bool
    reason: str | None
    below: str | None
    kind: str | None
    supersededBy: list[str]
    bindings: list[BindingDocument]
    comments: NotRequired[list[RemarkDocument]]
    values: NotRequired[list[ValueDocument]]
    type: NotRequired[str]
    base: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Record:
    """The state of an identifier.

    iri         the identifier.
    type        IRI of its class.
    namespace   base of its namespace.
    created     when it was allocated.
    fixated     when it was published, None before.
    grants      parties on the grant list besides the owner, each with whether it may bind.
    names       pairs of language (``und`` for none) and text.
    version     the version of the identified thing, if names alone do not tell it.
    work        the identifier of the thing that this one is a version of.
    target      the resource that the owner set as the target.
    deprecated  whether the identifier should no longer be used for new things: its owner deprecated or
                superseded it, its publisher did, or it is the old copy of a replaced one. It stays valid, and
                resolves. A revocation keeps the field as it was.
    reason      why the identifier is deprecated or a tombstone. A supersession gives none.
    successors  identifiers that replace it.
    offered     the party that becomes the owner by accepting a transfer.
    values      typed values of a handle, by index. The first URL value that everyone may read is the target.
    below       the article that the identifier is a file or an event of.
    kind        the kind of that file or event.
    """

    iri: str
    type: str
    namespace: str
    label: str
    stage: Stage
    owner: str
    created: datetime
    fixated: datetime | None = None
    provisional: bool = False
    grants: tuple[tuple[str, bool], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    version: str | None = None
    work: str | None = None
    target: str | None = None
    deprecated: bool = False
    reason: str | None = None
    successors: tuple[str, ...] = ()
    offered: str | None = None
    bindings: tuple[Binding, ...] = ()
    values: tuple[Value, ...] = ()
    below: str | None = None
    kind: str | None = None

    @property
    def node(self) -> NamedNode:
        """The identifier as a node."""
        return NamedNode(self.iri)

    @property
    def audience(self) -> frozenset[str]:
        """The grant list: the owner, the grantees, and the party that a transfer was offered to."""
        return _audience(self.owner, self.grants, self.offered)

    @property
    def public(self) -> bool:
        """Whether everyone sees the identifier."""
        return self.stage in (Stage.FIXATED, Stage.TOMBSTONE)

    @property
    def private_graph(self) -> NamedNode:
        """The graph that the grant list and administrators see; for a released identifier the closed log."""
        return closed_graph(self.owner) if self.stage is Stage.RELEASED else access_graph(self.audience)

    @property
    def owner_graph(self) -> NamedNode:
        """The graph that only the owner and administrators may read."""
        return (
            closed_graph(self.owner)
            if self.stage is Stage.RELEASED
            else access_graph(frozenset({self.owner}))
        )

    @property
    def graph(self) -> NamedNode:
        """The graph that holds the record."""
        return NamedNode(self.namespace) if self.public else self.private_graph

    @property
    def log(self) -> NamedNode:
        """The graph that holds events about the identifier, except internal and confined ones."""
        return PUBLIC_LOG if self.public else self.private_graph

    def home(self, event: Event) -> NamedNode:
        """Return the graph that holds an event about the identifier."""
        if event.confined:
            return self.owner_graph
        return self.private_graph if event.internal else self.log

    def value(self, index: int) -> Value | None:
        """Return the value with the index, or None."""
        return next((value for value in self.values if value.index == index), None)

    def resolves_to(self, names: Names) -> str | None:
        """Return the target; without one, that of the owner's oldest live binding by an equivalence, or None.

        A mere relation never stands in for a target. A binding to another identifier of the namespace, in
        any written form, does not count either: it relates things and locates none.
        """
        if self.target is not None:
            return self.target
        own = [
            binding
            for binding in self.bindings
            if binding.by == self.owner
            and binding.relation in EQUIVALENCES
            and names.kind(binding.target) != self.namespace
        ]
        return min(own, key=lambda binding: (binding.at, binding.node.value)).target if own else None

    def as_dict(self) -> RecordDocument:
        """Return the record as JSON has it: texts, lists and objects; ``namespace`` is the base."""
        document: RecordDocument = {
            "id": self.iri,
            "label": self.label,
            "namespace": self.namespace,
            "stage": self.stage.value,
            "provisional": self.provisional,
            "owner": self.owner,
            "offeredTo": self.offered,
            "grants": sorted({self.owner, *(name for name, _ in self.grants)}),
            "mayBind": [name for name, binds in self.grants if binds],
            "names": dict(self.names),
            "version": self.version,
            "versionOf": self.work,
            "target": self.target,
            "created": times.iso(self.created),
            "fixated": None if self.fixated is None else times.iso(self.fixated),
            "deprecated": self.deprecated,
            "reason": self.reason,
            "below": self.below,
            "kind": self.kind,
            "supersededBy": [*self.successors],
            "bindings": [binding.as_dict() for binding in self.bindings],
        }
        if self.values:
            document["values"] = [value.as_dict() for value in self.values]
        return document

    def quads(self) -> list[Quad]:
        """Return the triples of record, bindings and values as quads; none for a released identifier."""
        return [
            Quad(subject, predicate, value, graph)
            for subject, pairs, graph in self._statements()
            for predicate, value in pairs
        ]

    def lines(self) -> str:
        """Return the `quads` as N-Quads."""
        return "".join([lines(subject, pairs, graph) for subject, pairs, graph in self._statements()])

    def _properties(self) -> list[tuple[NamedNode, Term]]:
        """Return predicates and objects of the identifier in its graph, without bindings and grants."""
        return [
            (RDF.type, NamedNode(self.type)),
            (IDS.inNamespace, NamedNode(self.namespace)),
            (SKOS.notation, Literal(self.label)),
            (IDS.stage, _STAGES[self.stage]),
            (IDS.owner, node(self.owner)),
            (DCTERMS.created, times.literal(self.created)),
            *self._optional(),
        ]

    def _statements(self) -> Iterator[tuple[NamedNode, Sequence[tuple[NamedNode, Term]], NamedNode]]:
        """Yield subjects with predicates and objects, and the graph of each.

        Grants stay in the private graph.
        """
        if self.stage is Stage.RELEASED:
            return
        iri, graph = self.node, self.graph
        yield iri, self._properties(), graph
        if self.grants or self.offered:
            yield iri, self._grant_list(), self.private_graph
        for binding in self.bindings:
            yield iri, ((NamedNode(binding.relation), NamedNode(binding.target)),), graph
            yield binding.node, binding.statement(iri), graph
        for value in self.values:
            yield value.node(iri), value.properties(iri), graph if value.public else self.owner_graph

    def _grant_list(self) -> list[tuple[NamedNode, Term]]:
        """Return grantees and the party that a transfer was offered to, as predicates and objects."""
        pairs: list[tuple[NamedNode, Term]] = [
            (IDS.bindGrantee if binds else IDS.grantee, node(name)) for name, binds in self.grants
        ]
        return [*pairs, (IDS.offeredTo, node(self.offered))] if self.offered else pairs

    def _optional(self) -> Iterable[tuple[NamedNode, Term]]:
        if self.fixated is not None:
            yield IDS.fixated, times.literal(self.fixated)
        if self.provisional:
            yield IDS.quality, IDS.Provisional
        yield from ((RDFS.label, tagged(text, lang)) for lang, text in self.names)
        if self.version is not None:
            yield OWL.versionInfo, Literal(self.version)
        if self.work is not None:
            yield DCTERMS.isVersionOf, NamedNode(self.work)
        if self.target is not None:
            yield IDS.target, NamedNode(self.target)
        if self.deprecated:
            yield OWL.deprecated, TRUE
        if self.reason is not None:
            yield IDS.reason, Literal(self.reason)
        for successor in self.successors:
            yield DCTERMS.isReplacedBy, NamedNode(successor)
        yield from self._place()

    def _place(self) -> Iterable[tuple[NamedNode, Term]]:
        """Yield what the identifier is below, and its kind there, if its label tells."""
        if self.below is not None:
            yield IDS.below, NamedNode(self.below)
        if self.kind is not None:
            yield IDS.kind, Literal(self.kind)


Identifier: TypeAlias = str | NamedNode | Record
"""An identifier as an argument: a text in any written form, an IRI, or a record."""


def written(id: Identifier) -> str:
    """Return the text of an identifier. Raises InvalidData: the argument is none."""
    match id:
        case str():
            return id
        case NamedNode():
            return id.value
        case Record():
            return id.iri
    raise InvalidData(f"{id!r} is no identifier; give a text, an IRI or a record", field="id", value=repr(id))


def parse(
    iri: NamedNode,
    quads: Iterable[Quad],
    bindings: Iterable[tuple[NamedNode, list[Quad]]] = (),
    typed: Iterable[list[Quad]] = (),
) -> Record:
    """Read a record from its quads. Raises KeyError if a property is missing.

    quads     the quads of the identifier itself.
    bindings  nodes of binding statements, each with its quads.
    typed     the quads of each typed value.
    """
    values: dict[NamedNode, list[Term]] = {}
    for quad in quads:
        assert isinstance(quad.object, NamedNode | Literal)
        values.setdefault(quad.predicate, []).append(quad.object)

    def first(predicate: NamedNode) -> Term | None:
        return values[predicate][0] if predicate in values else None

    fixated, target, reason, offered = (
        first(IDS.fixated),
        first(IDS.target),
        first(IDS.reason),
        first(IDS.offeredTo),
    )
    version, work, below, kind = (
        first(OWL.versionInfo),
        first(DCTERMS.isVersionOf),
        first(IDS.below),
        first(IDS.kind),
    )
    grants = [(party_of(value), False) for value in values.get(IDS.grantee, ())]
    grants += [(party_of(value), True) for value in values.get(IDS.bindGrantee, ())]
    return Record(
        iri=iri.value,
        type=values[RDF.type][0].value,
        namespace=values[IDS.inNamespace][0].value,
        label=values[SKOS.notation][0].value,
        stage=_STAGE_OF[iri_of(values[IDS.stage][0])],
        owner=party_of(values[IDS.owner][0]),
        created=times.parse(values[DCTERMS.created][0].value),
        fixated=times.parse(fixated.value) if fixated else None,
        provisional=IDS.Provisional in values.get(IDS.quality, ()),
        grants=tuple(sorted(grants)),
        names=tuple(sorted(name_of(value) for value in values.get(RDFS.label, ()))),
        version=version.value if version else None,
        work=work.value if work else None,
        target=target.value if target else None,
        deprecated=OWL.deprecated in values,
        reason=reason.value if reason else None,
        successors=tuple(sorted(value.value for value in values.get(DCTERMS.isReplacedBy, ()))),
        offered=party_of(offered) if offered else None,
        bindings=tuple(
            sorted(
                (parse_binding(name, statement) for name, statement in bindings),
                key=lambda binding: (binding.at, binding.node.value),
            )
        ),
        values=tuple(sorted(map(parse_value, typed), key=lambda value: value.index)),
        below=below.value if below else None,
        kind=kind.value if kind else None,
    )


@lru_cache(maxsize=4096)
def _audience(owner: str, grants: tuple[tuple[str, bool], ...], offered: str | None) -> frozenset[str]:
    return frozenset({owner, *(name for name, _ in grants), *([offered] if offered else [])})
