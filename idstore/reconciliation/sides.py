"""The sides of a reconciliation: stores, exports and other RDF, tables of mappings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad, parse

from idstore.errors import ExchangeError, InvalidIdentifier
from idstore.exchange import mappings, rdf, tables
from idstore.model import namespace as namespaces
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.reconciliation.workspace import STATED, Link, Workspace
from idstore.registry import opening, stating
from idstore.vocabulary import DCTERMS, IDS, ONTOLOGY, OWL, PAV, PROV, RDF, RDFS, SKOS, SSSOM, party_name

IDENTITY: Final = tuple(sorted(stating.IDENTITY))
"""Relations by which two names are said to be names of one thing, as a tuple to bind."""
EQUIVALENCE: Final = (SKOS.exactMatch.value, mappings.RELATIONS["sameAs"])
"""Relations that hold both ways and along chains."""
_LINKS: Final = frozenset(mappings.RELATIONS.values())
_PREF_LABEL: Final = NamedNode(SKOS.note.value.removesuffix("note") + "prefLabel")
_NAMES: Final = (RDFS.label, _PREF_LABEL)
_STAGES: Final = {IDS.Created: "created", IDS.Fixated: "fixated", IDS.Tombstone: "tombstone"}
GIVEN_UP: Final = "released"
"""The stage of an identifier that was given up before it was published."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the registries that are compared.

    name      as the user wrote it.
    registry  whether it says which identifiers there are; a mapping file does not.
    """

    name: str
    registry: bool


def is_table(name: str, format: str | None) -> bool:
    """Whether a file is read as a table of mappings."""
    return (format or tables.format_of(name)) in tables.FORMATS


def read(
    workspace: Workspace, names: Sequence[str], party: Party, format: str | None, columns: mappings.Columns, wait: float
) -> list[Side]:
    """Read every side, registries first, since they tell how the texts of tables are to be read.

    Raises StoreUnavailable, ExchangeError.
    """
    sides = [Side(name, registry=not is_table(name, format)) for name in names]
    spaces: dict[str, Namespace] = {}
    for number, side in enumerate(sides):
        if side.registry:
            reader = _Quads(workspace, number, spaces)
            if Path(side.name).is_dir():
                _read_store(side.name, party, wait, reader)
            else:
                reader.take(_parsed(side.name, format))
    for number, side in enumerate(sides):
        if not side.registry:
            _read_table(workspace, number, side.name, format, columns, list(spaces.values()))
    workspace.complete()
    return sides


def _read_store(name: str, party: Party, wait: float, reader: "_Quads") -> None:
    with opening.open(name, wait=wait, read_only=True, detached=True) as registry, registry.quads(party) as quads:
        reader.take(quads)


def _parsed(name: str, format: str | None) -> Iterator[Quad]:
    kind = format or rdf.SUFFIXES.get(Path(name).suffix)
    if kind is None:
        known = ", ".join((*rdf.FORMATS, *tables.FORMATS))
        raise ExchangeError(
            name, None, f"the ending {Path(name).suffix!r} tells no format; name one with --format ({known})", "nothing was compared"
        )
    try:
        yield from parse(path=name, format=rdf.rdf_format(kind))
    except SyntaxError as error:
        raise ExchangeError(name, error.lineno, f"not valid {kind}: {error.msg}", "nothing was compared") from error
    except OSError as error:
        raise ExchangeError(name, None, f"cannot be read: {error.strerror or error}", "nothing was compared") from error


class _Quads:
    """Takes in the triples of one side, subject by subject."""

    def __init__(self, workspace: Workspace, side: int, spaces: dict[str, Namespace]) -> None:
        self._workspace = workspace
        self._side = side
        self._spaces = spaces

    def take(self, quads: Iterable[Quad]) -> None:
        """Take everything in."""
        for subject, group in groupby(quads, key=lambda quad: quad.subject):
            if isinstance(subject, NamedNode):
                self._subject(subject.value, [(quad.predicate, quad.object) for quad in group])

    def _subject(self, subject: str, said: "list[tuple[NamedNode, object]]") -> None:
        facts = {predicate: value for predicate, value in said if isinstance(value, NamedNode | Literal)}
        kind = facts.get(RDF.type)
        if kind == IDS.Namespace:
            self._workspace.add_base(subject)
            self._spaces[subject] = namespaces.parse(
                NamedNode(subject),
                [Quad(NamedNode(subject), predicate, value) for predicate, value in said],  # type: ignore[arg-type]
            )
        elif RDF.subject in facts:
            self._statement(facts)
        elif kind == IDS.Release:
            self._workspace.add_record(self._side, facts[IDS.about].value, GIVEN_UP)
        elif IDS.about not in facts:
            self._record(subject, said, IDS.stage in facts)

    def _statement(self, facts: "dict[NamedNode, NamedNode | Literal]") -> None:
        def text(predicate: NamedNode) -> str | None:
            value = facts.get(predicate)
            return None if value is None else value.value

        subject, relation, target = text(RDF.subject), text(RDF.predicate), text(RDF.object)
        if subject is None or relation is None or target is None:
            return
        by, share = facts.get(PROV.wasAssociatedWith), text(SSSOM.confidence)
        self._workspace.add_link(
            self._side,
            Link(
                subject,
                relation,
                target,
                party_name(by) if isinstance(by, NamedNode) else None,
                text(PROV.endedAtTime),
                text(SKOS.note),
                None if share is None else float(share),
                text(SSSOM.mapping_justification),
                text(PAV.authoredBy),
            ),
        )

    def _record(self, subject: str, said: "list[tuple[NamedNode, object]]", registered: bool) -> None:
        """A record of a registry, or triples about something in any other RDF."""
        spoken = False
        for predicate, value in said:
            if predicate in _NAMES and isinstance(value, Literal):
                self._workspace.add_fact(self._side, subject, f"name ({value.language})" if value.language else "name", value.value)
                spoken = True
            elif predicate == IDS.target and isinstance(value, NamedNode):
                self._workspace.add_fact(self._side, subject, "target", value.value)
            elif predicate == OWL.versionInfo and isinstance(value, Literal):
                self._workspace.add_fact(self._side, subject, "version", value.value)
            elif predicate == DCTERMS.isReplacedBy and isinstance(value, NamedNode):
                self._workspace.add_fact(self._side, subject, "replaced by", value.value)
            elif not registered and predicate.value in _LINKS and isinstance(value, NamedNode):
                self._workspace.add_link(self._side, Link(subject, predicate.value, value.value))
                spoken = True
        if registered:
            stage = next((value for predicate, value in said if predicate == IDS.stage), None)
            self._workspace.add_record(self._side, subject, _STAGES.get(stage, STATED) if isinstance(stage, NamedNode) else STATED)
        elif spoken and not subject.startswith(ONTOLOGY):
            self._workspace.add_record(self._side, subject, STATED)


def _read_table(
    workspace: Workspace, number: int, name: str, format: str | None, columns: mappings.Columns, spaces: Sequence[Namespace]
) -> None:
    chosen = format or tables.format_of(name)
    assert chosen is not None
    named = _reader_of_names(spaces)
    with mappings.read(name, chosen, columns) as reading:
        subjects, targets = reading.found["subject"], reading.found["target"]
        for row in reading.rows:
            if isinstance(row, mappings.Malformed):
                workspace.refuse(number, row.line, row.reason)
                continue
            subject, target = named(row.subject), named(row.target)
            workspace.add_record(number, subject, STATED)
            if row.name:
                workspace.add_fact(number, subject, "name", row.name)
            link = Link(
                subject,
                row.relation,
                target,
                None,
                None,
                row.note,
                None if row.confidence is None else float(row.confidence),
                row.justification,
                row.author,
                row.line,
            )
            workspace.add_link(number, link, (subjects, row.kind or targets))


def _reader_of_names(spaces: Sequence[Namespace]) -> Callable[[str], str]:
    """What makes the IRI of a text that names an identifier of a registered namespace; other texts stay as they are."""

    def read(text: str) -> str:
        if "://" in text:
            return text
        found = set()
        for space in spaces:
            try:
                space.scheme.parse(text)
                found.add(space.scheme.iri(space.scheme.label(text, space.context), space.context))
            except InvalidIdentifier:
                continue
        return found.pop() if len(found) == 1 else text

    return read
