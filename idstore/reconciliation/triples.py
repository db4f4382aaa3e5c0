"""Triples of a side: a registry's, or those of any other RDF. They may come in any order."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from idstore.model import namespace as namespaces
from idstore.model.namespace import Namespace
from idstore.reconciliation.relations import LINKS
from idstore.reconciliation.workspace import RELEASED, Workspace
from idstore.schemes import scheme
from idstore.vocabulary import DCTERMS, IDS, MAPPING_PREFIXES, ONTOLOGY, OWL, PAV, PROV, RDF, RDFS, SKOS, SPACE, SSSOM, party_name

Value = NamedNode | Literal
Said = Sequence[tuple[str, NamedNode, Value]]
"""What is said of something, as it comes: the role of the predicate, the predicate, the value."""


def _in(prefix: str, name: str) -> NamedNode:
    return NamedNode(MAPPING_PREFIXES[prefix] + name)


_ENDS: Final = (("subject", "annotated subject"), ("relation", "annotated relation"), ("target", "annotated target"))
"""Roles of what names subject, relation and target of a statement: in RDF, and in OWL, by which SSSOM is written as RDF."""
_BESIDE: Final = ("by", "at", "note", "confidence", "justification", "author")
_PARTS: Final = frozenset((*_BESIDE, *(role for end in _ENDS for role in end)))
_FACTS: Final = frozenset(("name", "goal", "version", "replaced by"))
_ROLES: Final[Mapping[NamedNode, str]] = {
    **{NamedNode(relation): "link" for relation in LINKS},
    RDF.type: "type",
    RDF.subject: "subject",
    RDF.predicate: "relation",
    RDF.object: "target",
    _in("owl", "annotatedSource"): "annotated subject",
    _in("owl", "annotatedProperty"): "annotated relation",
    _in("owl", "annotatedTarget"): "annotated target",
    PROV.wasAssociatedWith: "by",
    PROV.endedAtTime: "at",
    SKOS.note: "note",
    SSSOM.confidence: "confidence",
    SSSOM.mapping_justification: "justification",
    PAV.authoredBy: "author",
    RDFS.label: "name",
    _in("skos", "prefLabel"): "name",
    OWL.versionInfo: "version",
    DCTERMS.isReplacedBy: "replaced by",
    IDS.target: "goal",
    IDS.stage: "stage",
    IDS.about: "about",
    IDS.scheme: "space",
    IDS.name: "space",
    IDS.partial: "partial",
}
"""Predicates that tell something here, and what for; all others are passed over."""
_STAGES: Final = {IDS.Created: "created", IDS.Fixated: "fixated", IDS.Tombstone: "tombstone"}
_ENDINGS: Final = (IDS.Release, IDS.Revocation)
_PARTIES: Final = SPACE + "party/"
_BARE: Final = frozenset(("type", "space", "about"))
"""Roles that say nothing of a record."""


class Triples:
    """Takes in the triples of one side.

    spaces    the namespaces that it, and the sides before it, hold: by base.
    registry  whether it turned out to be a registry's.
    partial   whether it says that it shows only a part of it.
    """

    def __init__(self, workspace: Workspace, side: int, spaces: dict[str, Namespace]) -> None:
        self._workspace = workspace
        self._side = side
        self._number = workspace.numbering.number
        self._scattered: dict[str, list[Quad]] = {}
        self.spaces = spaces
        self.registry = False
        self.partial = False

    def take(self, quads: Iterable[Quad]) -> None:
        """Take everything in. Memory: the namespaces."""
        for subject, group in groupby(quads, key=attrgetter("subject")):
            every = list(group)
            said = [
                (role, quad.predicate, value)
                for quad in every
                if (role := _ROLES.get(quad.predicate)) is not None and isinstance(value := quad.object, Value)
            ]
            if isinstance(subject, NamedNode):
                self._subject(subject, said, every)
            elif isinstance(subject, BlankNode):
                self._piece(str(subject), {role: value for role, _, value in said})
        for base, scattered in self._scattered.items():
            self._namespace(base, scattered)

    def _subject(self, subject: NamedNode, said: Said, every: Sequence[Quad]) -> None:
        iri, roles = subject.value, {role: value for role, _, value in said}
        about = roles.get("about")
        if about is not None:
            self.registry = True
            if roles.get("type") in _ENDINGS and not about.value.startswith(_PARTIES):
                self._workspace.add_record(self._side, self._number(about.value), RELEASED)
            return
        if any(role == "type" and value == IDS.Namespace for role, _, value in said):
            self.registry = True
            self._workspace.numbering.add_base(iri)
        if "space" in roles or iri in self._scattered:
            self._scattered.setdefault(iri, []).extend(every)
        if not _PARTS.isdisjoint(roles):
            self._piece(iri, roles)
        if roles.keys() - _PARTS - _BARE:
            self._record(iri, said)

    def _namespace(self, base: str, quads: Iterable[Quad]) -> None:
        """How identifiers of a namespace are written; one that says too little, or that of a scheme unknown here, is only a base."""
        if base in self._workspace.numbering.bases:
            with suppress(AssertionError, ValueError, LookupError):
                space = namespaces.parse(NamedNode(base), quads)
                scheme(space.scheme_name)  # raises where its package is not installed
                self.spaces[base] = space

    def _piece(self, node: str, values: Mapping[str, object]) -> None:
        ends = [next((value.value for role in end if isinstance(value := values.get(role), NamedNode)), None) for end in _ENDS]
        by, *beside = (values.get(role) for role in _BESIDE)
        at, note, share, justification, author = (value.value if isinstance(value, Value) else None for value in beside)
        party = party_name(by) if isinstance(by, NamedNode) and by.value.startswith(_PARTIES) else None
        self._workspace.add_piece(self._side, node, ends, (party, at, note, _share(share), justification, author))

    def _record(self, subject: str, said: Said) -> None:
        """A record of a registry, or triples about something in any other RDF."""
        number, workspace, side = self._number(subject), self._workspace, self._side
        for role, predicate, value in said:
            if role in _FACTS:
                self._fact(subject, number, role, value)
            elif role == "stage" and isinstance(value, NamedNode):
                self.registry = True
                workspace.add_record(side, number, _STAGES.get(value, "of no known stage"))
            elif role == "link" and isinstance(value, NamedNode):
                workspace.add_plain(side, number, predicate.value, value.value)
            elif role == "partial":
                self.partial = True

    def _fact(self, subject: str, number: int, role: str, value: Value) -> None:
        if role != "name":
            self._workspace.add_fact(self._side, number, "target" if role == "goal" else role, value.value)
        elif isinstance(value, Literal) and not subject.startswith(ONTOLOGY):
            self._workspace.add_fact(self._side, number, f"name ({value.language})" if value.language else "name", value.value)


def _share(text: str | None) -> float | None:
    """A confidence; what is none is passed over."""
    with suppress(ValueError):
        share = float(text or "")
        return share if 0 <= share <= 1 else None
    return None
