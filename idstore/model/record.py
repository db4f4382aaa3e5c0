"""Records: what the registry holds of an identifier. How events change it is said in `idstore.model.steps`."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from pyoxigraph import Literal, NamedNode, Quad

from idstore.frozen import dataclass
from idstore.model import times
from idstore.model.binding import Binding, parse_binding
from idstore.model.event import Event
from idstore.model.namespace import TRUE
from idstore.model.party import node, party_of
from idstore.model.terms import Term, lines, name_of, named, tagged
from idstore.model.value import Value
from idstore.model.value import parse as parse_value
from idstore.vocabulary import (
    CLAIMS,
    DCTERMS,
    IDS,
    ONTOLOGY,
    OWL,
    PUBLIC_LOG,
    RDF,
    RDFS,
    SKOS,
    access_graph,
    closed_graph,
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
        return _audience(self.owner, self.grants, self.offered)

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
        return [Quad(subject, predicate, value, graph) for subject, said, graph in self._told() for predicate, value in said]

    def lines(self) -> str:
        """Its `quads` as N-Quads."""
        return "".join([lines(subject, said, graph) for subject, said, graph in self._told()])

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

    def _told(self) -> Iterator[tuple[NamedNode, Sequence[tuple[NamedNode, Term]], NamedNode]]:
        """What is said of it, of its bindings and of its values, and where: grants are private."""
        if self.stage is Stage.RELEASED:
            return
        iri, graph = self.iri, self.graph
        yield iri, self._said(), graph
        if self.grants or self.offered:
            yield iri, self._shared(), self.private_graph
        for binding in self.bindings:
            yield iri, ((binding.relation, binding.target),), graph
            yield binding.node, binding.told(iri), graph
        for value in self.values:
            yield value.node(iri), value.told(iri), graph if value.public else self.owner_graph

    def _shared(self) -> list[tuple[NamedNode, Term]]:
        """With whom it is shared."""
        made: list[tuple[NamedNode, Term]] = [(IDS.bindGrantee if binds else IDS.grantee, node(name)) for name, binds in self.grants]
        return [*made, (IDS.offeredTo, node(self.offered))] if self.offered else made

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
    grants = [(party_of(value), False) for value in values.get(IDS.grantee, ())]
    grants += [(party_of(value), True) for value in values.get(IDS.bindGrantee, ())]
    return Record(
        iri=iri,
        type=named(values[RDF.type][0]),
        namespace=values[IDS.inNamespace][0].value,
        label=values[SKOS.notation][0].value,
        stage=_STAGE_OF[named(values[IDS.stage][0])],
        owner=party_of(values[IDS.owner][0]),
        created=times.parse(values[DCTERMS.created][0].value),
        fixated=times.parse(fixated.value) if fixated else None,
        provisional=IDS.Provisional in values.get(IDS.quality, ()),
        grants=tuple(sorted(grants)),
        names=tuple(sorted(name_of(value) for value in values.get(RDFS.label, ()))),
        version=version.value if version else None,
        work=named(work) if work else None,
        target=named(target) if target else None,
        deprecated=OWL.deprecated in values,
        reason=reason.value if reason else None,
        successors=tuple(sorted((named(value) for value in values.get(DCTERMS.isReplacedBy, ())), key=lambda value: value.value)),
        offered=party_of(offered) if offered else None,
        bindings=tuple(sorted((parse_binding(name, found) for name, found in bindings), key=lambda found: (found.at, found.node.value))),
        values=tuple(sorted(map(parse_value, typed), key=lambda value: value.index)),
        below=named(below) if below else None,
        kind=kind.value if kind else None,
    )


@lru_cache(maxsize=4096)
def _audience(owner: str, grants: tuple[tuple[str, bool], ...], offered: str | None) -> frozenset[str]:
    return frozenset({owner, *(name for name, _ in grants), *([offered] if offered else [])})


def claim_line(claimed: NamedNode, holder: NamedNode) -> str:
    """`claim_quad` as N-Quads."""
    return lines(claimed, ((IDS.claimedBy, holder),), CLAIMS)


def claim_quad(claimed: NamedNode, holder: NamedNode) -> Quad:
    """The triple that keeps a label taken for ever."""
    return Quad(claimed, IDS.claimedBy, holder, CLAIMS)
