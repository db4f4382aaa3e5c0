"""Reader of a side in RDF: a registry, or any other RDF. The triples may come in any order."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from idstore.errors import InvalidData
from idstore.exchange import mapping_rows, sssom
from idstore.model import namespace as namespaces
from idstore.model.closed_vocabularies import correction
from idstore.model.namespace import Namespace
from idstore.reconciliation.relations import LINKS, TARGET
from idstore.reconciliation.workspace import DENIED, NO_LINK, RELEASED, Workspace
from idstore.schemes import scheme
from idstore.vocabulary import (
    DCTERMS,
    IDS,
    MAPPING_PREFIXES,
    ONTOLOGY,
    OWL,
    PAV,
    PROV,
    RDF,
    RDFS,
    SKOS,
    SPACE,
    SSSOM,
    party_name,
)

Value = NamedNode | Literal
Facts = Sequence[tuple[str, NamedNode, Value]]
"""Facts about a subject, in input order: the role of the predicate, the predicate, the value."""


def _in(prefix: str, name: str) -> NamedNode:
    return NamedNode(MAPPING_PREFIXES[prefix] + name)


_ENDS: Final = (
    ("subject", "annotated subject"),
    ("relation", "annotated relation"),
    ("target", "annotated target"),
)
"""Roles of subject, relation and target of a statement: in RDF, and in OWL, which SSSOM uses in RDF."""
_METADATA: Final = ("by", "at", "note", "confidence", "justification", "author")
_STATUS: Final = ("modifier", "subject type", "target type")
"""Roles that decide whether a statement links its ends."""
_PARTS: Final = frozenset((*_METADATA, *_STATUS, *(role for end in _ENDS for role in end)))
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
    PROV.wasAttributedTo: "by",
    PROV.generatedAtTime: "at",
    SKOS.note: "note",
    SSSOM.confidence: "confidence",
    SSSOM.mapping_justification: "justification",
    PAV.authoredBy: "author",
    _in("sssom", "predicate_modifier"): "modifier",
    _in("sssom", "subject_type"): "subject type",
    _in("sssom", "object_type"): "target type",
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
"""Predicates that are read, with their roles; all others are ignored."""
_STAGES: Final = {IDS.Created: "created", IDS.Fixated: "fixated", IDS.Tombstone: "tombstone"}
_ENDINGS: Final = (IDS.Release, IDS.Revocation)
_PARTIES: Final = SPACE + "party/"
_BARE: Final = frozenset(("type", "space", "about"))
"""Roles that are no facts about a record."""


class RdfReader:
    """A reader of the triples of one side.

    spaces    the namespaces of this side and of the sides before it, by base.
    registry  whether the triples are those of a registry.
    partial   whether the registry marks itself as partial.
    """

    def __init__(self, workspace: Workspace, side: int, spaces: dict[str, Namespace]) -> None:
        self._workspace = workspace
        self._side = side
        self._number = workspace.terms.number
        self._scattered: dict[str, list[Quad]] = {}
        self.spaces = spaces
        self.registry = False
        self.partial = False

    def take(self, quads: Iterable[Quad]) -> None:
        """Read all quads into the workspace. Memory: the namespaces."""
        for subject, group in groupby(quads, key=attrgetter("subject")):
            subject_quads = list(group)
            self._refuse_misspelt(subject_quads)
            facts = [
                (role, quad.predicate, value)
                for quad in subject_quads
                if (role := _ROLES.get(quad.predicate)) is not None
                and isinstance(value := quad.object, Value)
            ]
            if isinstance(subject, NamedNode):
                self._subject(subject, facts, subject_quads)
            elif isinstance(subject, BlankNode):
                self._piece(str(subject), {role: value for role, _, value in facts})
        for base, scattered in self._scattered.items():
            self._namespace(base, scattered)

    def _refuse_misspelt(self, quads: Sequence[Quad]) -> None:
        """Note relations that their vocabularies do not define: they would be passed over."""
        for quad in quads:
            if quad.predicate not in _ROLES and isinstance(quad.object, NamedNode):
                meant = correction(quad.predicate.value)
                if meant is not None:
                    reason = f"the vocabulary of {quad.predicate.value} has no such term"
                    reason = f"{quad.subject}: {reason}; {meant} is probably meant"
                    self._workspace.refuse(self._side, None, reason)

    def _subject(self, subject: NamedNode, facts: Facts, quads: Sequence[Quad]) -> None:
        iri, roles = subject.value, {role: value for role, _, value in facts}
        about = roles.get("about")
        if about is not None:
            self.registry = True
            if roles.get("type") in _ENDINGS and not about.value.startswith(_PARTIES):
                self._workspace.add_record(self._side, self._number(about.value), RELEASED)
            return
        if any(role == "type" and value == IDS.Namespace for role, _, value in facts):
            self.registry = True
            self._workspace.terms.add_base(iri)
        if ("space" in roles and not iri.startswith(_PARTIES)) or iri in self._scattered:
            self._scattered.setdefault(iri, []).extend(quads)
        if not _PARTS.isdisjoint(roles):
            self._piece(iri, roles)
        if roles.keys() - _PARTS - _BARE:
            self._record(iri, facts)

    def _namespace(self, base: str, quads: Iterable[Quad]) -> None:
        """Read a namespace with its scheme.

        An incomplete namespace, or one of an unknown scheme, counts only as a base.
        """
        if base in self._workspace.terms.bases:
            with suppress(AssertionError, ValueError, LookupError):
                space = namespaces.parse(NamedNode(base), quads)
                scheme(space.scheme_name)  # raises where its package is not installed
                self.spaces[base] = space

    def _piece(self, node: str, values: Mapping[str, object]) -> None:
        ends = [
            next((value.value for role in end if isinstance(value := values.get(role), NamedNode)), None)
            for end in _ENDS
        ]
        by, *metadata = (values.get(role) for role in _METADATA)
        at, note, share, justification, author = (
            value.value if isinstance(value, Value) else None for value in metadata
        )
        party = party_name(by) if isinstance(by, NamedNode) and by.value.startswith(_PARTIES) else None
        try:
            status = _status(values, ends)
        except InvalidData as error:
            self._workspace.refuse(self._side, None, f"{node}: {error.message}")
            status = NO_LINK
        self._workspace.add_piece(
            self._side, node, ends, (party, at, note, _share(share), justification, author), status
        )

    def _record(self, subject: str, facts: Facts) -> None:
        """Read a record of a registry, or the triples about a subject in any other RDF."""
        number, workspace, side = self._number(subject), self._workspace, self._side
        for role, predicate, value in facts:
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
        if role == "goal":
            ends = number, self._workspace.terms.word(TARGET), self._number(value.value)
            self._workspace.add_target(self._side, ends, value.value)
        elif role != "name":
            self._workspace.add_fact(self._side, number, role, value.value)
        elif isinstance(value, Literal) and not subject.startswith(ONTOLOGY):
            self._workspace.add_fact(
                self._side, number, f"name ({value.language})" if value.language else "name", value.value
            )


def _status(values: Mapping[str, object], ends: Sequence[str | None]) -> str | None:
    """Return the status of a statement: see `Workspace.add_piece`. Raises InvalidData: no such modifier."""
    modifier, *types = (value.value if isinstance(value, Value) else "" for value in map(values.get, _STATUS))
    if sssom.negates(modifier):
        return DENIED
    return NO_LINK if mapping_rows.NO_TERM in ends or not sssom.LITERAL.isdisjoint(types) else None


def _share(text: str | None) -> float | None:
    """Read a confidence; return None for any other text."""
    with suppress(ValueError):
        share = float(text or "")
        return share if 0 <= share <= 1 else None
    return None
