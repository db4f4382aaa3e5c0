"""Triples of a side: a registry's, or those of any other RDF. They may come in any order."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from idstore.model import namespace as namespaces
from idstore.model.namespace import Namespace
from idstore.reconciliation.relations import LINKS
from idstore.reconciliation.workspace import RELEASED, Workspace
from idstore.schemes import scheme
from idstore.vocabulary import DCTERMS, IDS, MAPPING_PREFIXES, ONTOLOGY, OWL, PAV, PROV, RDF, RDFS, SKOS, SPACE, SSSOM, party_name

Said = Sequence[tuple[NamedNode, NamedNode | Literal]]
"""Predicates and values, as they come."""


def _in(prefix: str, name: str) -> NamedNode:
    return NamedNode(MAPPING_PREFIXES[prefix] + name)


_ENDS: Final = (
    (RDF.subject, _in("owl", "annotatedSource")),
    (RDF.predicate, _in("owl", "annotatedProperty")),
    (RDF.object, _in("owl", "annotatedTarget")),
)
"""What names subject, relation and target of a statement: in RDF, and in OWL, by which SSSOM is written as RDF."""
_BESIDE: Final = (PROV.wasAssociatedWith, PROV.endedAtTime, SKOS.note, SSSOM.confidence, SSSOM.mapping_justification, PAV.authoredBy)
_PARTS: Final = frozenset((*_BESIDE, *(predicate for end in _ENDS for predicate in end)))
_NAMES: Final = (RDFS.label, _in("skos", "prefLabel"))
_STAGES: Final = {IDS.Created: "created", IDS.Fixated: "fixated", IDS.Tombstone: "tombstone"}
_ENDINGS: Final = (IDS.Release, IDS.Revocation)
_PARTIES: Final = SPACE + "party/"


class Triples:
    """Takes in the triples of one side.

    spaces    the namespaces that it, and the sides before it, hold: by base.
    registry  whether it turned out to be a registry's.
    partial   whether it says that it shows only a part of it.
    """

    def __init__(self, workspace: Workspace, side: int, spaces: dict[str, Namespace]) -> None:
        self._workspace = workspace
        self._side = side
        self._scattered: dict[str, list[Quad]] = {}
        self.spaces = spaces
        self.registry = False
        self.partial = False

    def take(self, quads: Iterable[Quad]) -> None:
        """Take everything in. Memory: the namespaces."""
        for subject, group in groupby(quads, key=lambda quad: quad.subject):
            every = list(group)
            said = [(quad.predicate, quad.object) for quad in every if isinstance(quad.object, NamedNode | Literal)]
            if isinstance(subject, BlankNode):
                self._piece(str(subject), said)
            elif isinstance(subject, NamedNode):
                self._subject(subject.value, said)
        for base, scattered in self._scattered.items():
            self._namespace(base, scattered)

    def _subject(self, subject: str, said: Said) -> None:
        facts = dict(said)
        about = facts.get(IDS.about)
        if about is not None:
            self.registry = True
            if facts.get(RDF.type) in _ENDINGS and not about.value.startswith(_PARTIES):
                self._workspace.add_record(self._side, about.value, RELEASED)
            return
        if (RDF.type, IDS.Namespace) in said:
            self.registry = True
            self._workspace.numbering.add_base(subject)
        if IDS.scheme in facts or IDS.name in facts or subject in self._scattered:
            self._scattered.setdefault(subject, []).extend(Quad(NamedNode(subject), *one) for one in said)
        if not facts.keys().isdisjoint(_PARTS):
            self._piece(subject, said)
        self._record(subject, said)

    def _namespace(self, base: str, quads: Iterable[Quad]) -> None:
        """How identifiers of a namespace are written; one that says too little, or that of a scheme unknown here, is only a base."""
        if base in self._workspace.numbering.bases:
            with suppress(AssertionError, ValueError, LookupError):
                space = namespaces.parse(NamedNode(base), quads)
                scheme(space.scheme_name)  # raises where its package is not installed
                self.spaces[base] = space

    def _piece(self, node: str, said: Said) -> None:
        values = dict(said)
        ends = [next((value.value for name in end if isinstance(value := values.get(name), NamedNode)), None) for end in _ENDS]
        by, *beside = (values.get(name) for name in _BESIDE)
        at, note, share, justification, author = (None if value is None else value.value for value in beside)
        party = party_name(by) if isinstance(by, NamedNode) and by.value.startswith(_PARTIES) else None
        self._workspace.add_piece(self._side, node, ends, (party, at, note, _number(share), justification, author))

    def _record(self, subject: str, said: Said) -> None:
        """A record of a registry, or triples about something in any other RDF."""
        for predicate, value in said:
            if predicate in _NAMES and isinstance(value, Literal):
                if not subject.startswith(ONTOLOGY):
                    self._fact(subject, f"name ({value.language})" if value.language else "name", value)
            elif predicate == IDS.target:
                self._fact(subject, "target", value)
            elif predicate == OWL.versionInfo:
                self._fact(subject, "version", value)
            elif predicate == DCTERMS.isReplacedBy:
                self._fact(subject, "replaced by", value)
            elif predicate == IDS.stage and isinstance(value, NamedNode):
                self.registry = True
                self._workspace.add_record(self._side, subject, _STAGES.get(value, "of no known stage"))
            elif predicate == IDS.partial:
                self.partial = True
            elif isinstance(value, NamedNode) and predicate.value in LINKS:
                self._workspace.add_plain(self._side, subject, predicate.value, value.value)

    def _fact(self, subject: str, name: str, value: NamedNode | Literal) -> None:
        self._workspace.add_fact(self._side, subject, name, value.value)


def _number(text: str | None) -> float | None:
    """A confidence; what is none is passed over."""
    with suppress(ValueError):
        share = float(text or "")
        return share if 0 <= share <= 1 else None
    return None
