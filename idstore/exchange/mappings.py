"""Mappings: tables whose rows say that one identifier stands in a relation to another.

SSSOM/TSV (https://mapping-commons.github.io/sssom/), and any table whose columns are named or mapped to the same roles. What a row says
beside the two ends and the relation (note, confidence, justification, author, names) is kept.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from operator import itemgetter
from typing import Final, Generic, NamedTuple, TypeVar

from idstore.errors import ExchangeError, IdstoreError, InvalidData
from idstore.exchange import tables
from idstore.exchange.sources import Readable
from idstore.model import terms
from idstore.registry.bindings import Statement
from idstore.registry.stating import Proposal, proposal
from idstore.vocabulary import MAPPING_PREFIXES, PREFIXES, SKOS

ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "subject": ("subject_id", "subject", "identifier", "id", "puid", "handle", "doi"),
    "relation": ("predicate_id", "predicate", "relation"),
    "target": ("object_id", "target_uri", "target", "object", "uri", "target_id"),
    "note": ("comment", "note"),
    "confidence": ("confidence",),
    "justification": ("mapping_justification", "justification"),
    "author": ("author_id", "author"),
    "author_name": ("author_label",),
    "name": ("subject_label", "name", "label"),
    "target_name": ("object_label", "target_name"),
    "kind": ("object_source", "target_scheme", "target_source"),
    "modifier": ("predicate_modifier",),
    "action": ("action",),
}
"""What a column can be for, and the names that say so by themselves, the first that is there counts."""

RELATIONS: Final[Mapping[str, str]] = {
    **{name: PREFIXES["skos"] + name for name in ("exactMatch", "closeMatch", "broadMatch", "narrowMatch", "relatedMatch")},
    "sameAs": PREFIXES["owl"] + "sameAs",
    "seeAlso": PREFIXES["rdfs"] + "seeAlso",
    "replaces": PREFIXES["dcterms"] + "replaces",
    "isPrimaryTopicOf": "http://xmlns.com/foaf/0.1/isPrimaryTopicOf",
}
"""Relations that may be written by their local name."""

_AS_WRITTEN: Final = frozenset({"note", "author", "author_name", "name", "target_name", "version"})
"""Roles of columns whose texts are as free as what they speak of."""
KEEP: Final = "keep"
"""The action of a row that leaves everything as it is."""
_NEGATED: Final = "not"
_DIVIDED: Final = frozenset({"author_id", "author_label"})
"""Columns in which SSSOM divides several by ``|``; one within a text has a backslash before it, as a backslash has."""
_DIVIDERS: Final = {"\t": "tabs", ";": "semicolons", ",": "commas"}
_ONE: Final = re.compile(r"(?:\\.|[^|\\]|\\$)+", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([|\\])")
_CURIE: Final = re.compile(r"([A-Za-z_][\w.-]*):(?!//)")
_SCHEMES: Final = frozenset({"ark", "did", "doi", "hdl", "http", "https", "info", "mailto", "tag", "urn"})
"""Words before a colon that need no declaration: the text is an IRI, or a written form of an identifier."""
_NO_TERM: Final = MAPPING_PREFIXES["sssom"] + "NoTermFound"
"""What SSSOM writes in place of an end that was looked for and not found."""


class MappingRow(NamedTuple):
    """One row that can be understood.

    subject, target  IRIs, or texts as they stand where nothing makes an IRI of them.
    kind             what the file says that the target is one of; empty if it does not say.
    authors          who found it: IRIs or names.
    action           what is to be done about it, in a file of decisions.
    negated          whether it says that this is not so.
    """

    line: int
    subject: str
    relation: str
    target: str
    note: str = ""
    confidence: Decimal | None = None
    justification: str = ""
    authors: tuple[str, ...] = ()
    name: str = ""
    target_name: str = ""
    kind: str = ""
    action: str = ""
    negated: bool = False

    @property
    def unfound(self) -> bool:
        """Whether one of the ends is that nothing was found."""
        return _NO_TERM in (self.subject, self.target)

    @property
    def denial(self) -> str | None:
        """Why it is no binding; None if it is one."""
        if self.negated:
            return "it denies the mapping (predicate_modifier Not), which is no binding"
        if self.unfound:
            return "it says that nothing was found (sssom:NoTermFound), which is no binding"
        return None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A row that says nothing that could be used, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Columns:
    """How a table is to be understood, beyond what its header says.

    roles      role → name of the column (see `ROLES`).
    bases      ``subject`` or ``target`` → what comes before texts of that column that are no IRI.
    relations  relation as written → IRI.
    relation   the relation of rows that name none.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    relation: str = SKOS.exactMatch.value


Made = TypeVar("Made")


@dataclass(slots=True)
class Reading(Generic[Made]):
    """A table that is being read.

    name    what messages call the file.
    found   role → column, as it was understood.
    rows    the rows, once.
    passed  the columns that were not, and are passed over.
    """

    name: str
    found: Mapping[str, str]
    rows: Iterator[Made | Malformed] = field(repr=False)
    passed: Sequence[str] = ()


@contextmanager
def read(file: Readable, format: str, columns: Columns = Columns()) -> Iterator[Reading[MappingRow]]:
    """Open a table of mappings. Raises ExchangeError: no such column, no column for an end, a prefix map that cannot be read."""
    with understood(file, format, columns, ROLES, ("subject", "target")) as cells:
        yield Reading(cells.name, cells.found, cells.rows(cells.mapping_if_any), cells.passed)


@contextmanager
def understood(
    file: Readable, format: str, columns: Columns, roles: Mapping[str, tuple[str, ...]], needed: Sequence[str]
) -> Iterator["Cells"]:
    """Open a table whose columns have these roles. Raises as `read`."""
    with tables.read(file, format) as table:
        found = _roles(table, columns, roles, needed)
        prefixes = {**MAPPING_PREFIXES, **(_prefixes(table) if format == "sssom" else {})}
        yield Cells(table, found, columns, prefixes, declared=format == "sssom")


def _roles(table: tables.Table, columns: Columns, roles: Mapping[str, tuple[str, ...]], needed: Sequence[str]) -> dict[str, str]:
    for role, name in columns.roles.items():
        if role not in roles:
            raise InvalidData(f"a column cannot be {role!r}; there are {', '.join(roles)}", role=role)
        if name not in table.header:
            raise ExchangeError(table.name, 1, f"there is no column {name!r}; there are {', '.join(table.header)}")
    taken = set(columns.roles.values())
    found = dict(columns.roles)
    for role, names in roles.items():
        if role not in found:
            there = next((name for name in names if name in table.header and name not in taken), None)
            if there is not None:
                found[role] = there
                taken.add(there)
    for role in needed:
        if role not in found:
            raise ExchangeError(table.name, 1, f"no column is known to be the {role}; {_remedy(role, table.header)}")
    return found


def _remedy(role: str, header: Sequence[str]) -> str:
    other = next((sign for sign in _DIVIDERS if sign in header[0]), None) if len(header) == 1 else None
    if other is None:
        return f"name it, as in --column {role}={header[0]}"
    return f"the header looks divided by {_DIVIDERS[other]}: csv is divided by commas, tsv and sssom by tabs; say which with --format or --input, or divide it so"


def _prefixes(table: tables.Table) -> dict[str, str]:
    """The ``curie_map`` of an SSSOM file's header."""
    import yaml

    try:
        said = yaml.load("\n".join(table.comments), yaml.BaseLoader) or {}  # noqa: S506 it makes texts only: "no" is a prefix as good as any
    except RecursionError as error:
        raise ExchangeError(table.name, None, "the comment lines before the header are nested too deeply") from error
    except yaml.YAMLError as error:
        raise ExchangeError(table.name, None, f"the comment lines before the header are not YAML: {_first(str(error))}") from error
    known = (said.get("curie_map") if isinstance(said, dict) else None) or {}
    if not isinstance(known, dict) or not all(isinstance(value, str) for value in known.values()):
        raise ExchangeError(table.name, None, "curie_map in the comment lines is no table of prefixes and IRIs")
    return {str(prefix): base for prefix, base in known.items()}


def _first(text: str) -> str:
    return text.splitlines()[0] if text else "empty"


class Cells:
    """The rows of a table by what its columns are for.

    name      what messages call the table.
    found     role → column, as it was understood.
    declared  whether prefixes must be declared.
    passed    the columns that were not understood.
    """

    def __init__(
        self, table: tables.Table, found: Mapping[str, str], columns: Columns, prefixes: Mapping[str, str], *, declared: bool = False
    ) -> None:
        self.name, self.found, self.declared = table.name, found, declared
        self.passed = [name for name in table.header if name and name not in found.values()]
        self._rows = table.rows
        self._places = {role: table.header.index(name) for role, name in found.items()}
        self._in_order = itemgetter(*(self._places.get(role, -1) for role in ROLES))
        self._columns = columns
        self._relations = {**RELATIONS, **columns.relations}
        self._prefixes = prefixes
        self._relation_of = lru_cache(maxsize=256)(self._relation)

    def rows(self, make: Callable[[tables.Row], Made | None]) -> Iterator[Made | Malformed]:
        """What is made of each row, if anything is; where that raises InvalidData, why."""
        for row in self._rows:
            if row.wrong is not None:
                yield Malformed(row.line, row.wrong)
                continue
            try:
                made = make(row)
            except IdstoreError as error:
                yield Malformed(row.line, error.message)
            else:
                if made is not None:
                    yield made

    def cell(self, row: tables.Row, role: str) -> str:
        """What stands in the column of a role, empty where there is none."""
        place = self._places.get(role)
        return "" if place is None else _said(role, row.cells[place])

    def mapping_if_any(self, row: tables.Row) -> MappingRow | None:
        """The mapping that a row says; None where it names an identifier, and neither relation nor target. Raises InvalidData."""
        says = "relation" not in self.found or any(self.cell(row, role) for role in ("relation", "target", "action"))
        return self.mapping(row) if says or not self.cell(row, "subject") else None

    def mapping(self, row: tables.Row) -> MappingRow:
        """The mapping that a row says. Raises InvalidData."""
        cells = map(_said, ROLES, self._in_order((*row.cells, "")))  # the last one stands for columns that are not there
        subject, relation, target, note, confidence, justification, author, author_name, name, target_name, kind, modifier, action = cells
        return MappingRow(
            row.line,
            self._end("subject", subject),
            self._relation_of(relation),
            self._end("target", target),
            note,
            _share(confidence) if confidence else None,
            self._expanded(justification) if justification else "",
            tuple(self._authors("author", author) or self._authors("author_name", author_name)),
            name,
            target_name,
            kind,
            action,
            modifier.lower() == _NEGATED,
        )

    def end(self, row: tables.Row, role: str) -> str:
        """The IRI, or the text, in the column of a role. Raises InvalidData: it is empty."""
        return self._end(role, self.cell(row, role))

    def _end(self, role: str, text: str) -> str:
        if not text:
            raise InvalidData(f"the {role} is empty")
        base = self._columns.bases.get(role)
        ours = role == "subject"  # in any written form, NAMESPACE:label included: whether it is there is for the registry to say
        expanded = self._curie(text) if ours or base is not None else self._expanded(text)
        if expanded != text or "://" in text:
            return expanded
        return text if base is None or text.startswith(base) else base + text

    def _relation(self, text: str) -> str:
        if not text:
            return self._columns.relation
        known = self._relations.get(text)
        made = self._expanded(text) if known is None else known
        try:
            return terms.iri(made, "IRI of a relation").value
        except InvalidData as error:
            raise InvalidData(
                f"{text!r} is no relation: write an IRI, a prefixed name such as skos:closeMatch, or say --relation {text}=IRI"
            ) from error

    def _expanded(self, text: str) -> str:
        """What a prefixed name stands for; other texts as they are. Raises InvalidData: the prefix had to be declared."""
        name = _CURIE.match(text) if self.declared else None
        if name is not None and name[1] not in self._prefixes and name[1].lower() not in _SCHEMES:
            raise InvalidData(f"the prefix of {text!r} is not declared; say what {name[1]} stands for in curie_map, or write the whole IRI")
        return self._curie(text)

    def _curie(self, text: str) -> str:
        prefix, colon, rest = text.partition(":")
        base = self._prefixes.get(prefix) if colon and not rest.startswith("//") else None
        return text if base is None else base + rest

    def _authors(self, role: str, text: str) -> list[str]:
        """Who stands in a cell: several in the columns in which SSSOM divides them by ``|``. Raises InvalidData."""
        if self.found.get(role) not in _DIVIDED:
            return [self._expanded(text)] if text else []
        several = [_ESCAPED.sub(r"\1", one[0]) for one in _ONE.finditer(text)]
        if len(several) > 1:
            several = [one.strip(" ") for one in several]
        return [self._expanded(one.strip(" ")) for one in several] if role == "author" else several


def _said(role: str, cell: str) -> str:
    """The text of a cell: spaces are part of it (RFC 4180, 2.4) but round what only one of a few words, a number or an IRI can be."""
    if role in _AS_WRITTEN:
        return cell if cell.strip() else ""
    return cell.strip(" ")


@lru_cache(maxsize=1024)
def _share(text: str) -> Decimal:
    try:
        share = Decimal(text)
    except InvalidOperation:
        share = Decimal(-1)
    if not terms.is_share(share):
        small = share.is_finite() and 0 < share < 1
        raise InvalidData(f"the confidence {text!r} is {'too small to be kept; write 0' if small else 'no number from 0 to 1'}")
    return share


def told(reading: Reading[Made]) -> str:
    """How the columns of a table were understood, and which ones were not, for people: ``a.tsv: subject ← subject_id; passed over: x``."""
    passed = f"; passed over: {', '.join(reading.passed)}" if reading.passed else ""
    return f"{reading.name}: {', '.join(f'{role} ← {name}' for role, name in reading.found.items())}{passed}"


def proposals(rows: Iterable[MappingRow | Malformed], broken: list[Malformed]) -> Iterator[Proposal]:
    """What the rows ask for: bindings, or what their ``action`` says; rows that ask for nothing (``keep``) are passed over.

    broken  takes the rows that cannot be understood.
    """
    for row in rows:
        if isinstance(row, Malformed):
            broken.append(row)
        elif (denial := row.denial) is not None:
            broken.append(Malformed(row.line, denial))
        elif row.action != KEEP:
            try:
                yield proposal(row.line, row.action, row.subject, statement(row))
            except InvalidData as error:
                broken.append(Malformed(row.line, error.message))


def statement(row: MappingRow) -> Statement:
    """The binding that a mapping asks for. Raises InvalidData: it denies one, or has several authors."""
    if row.denial is not None:
        raise InvalidData(row.denial)
    authors = ", ".join(row.authors)
    if len(row.authors) > 1 and ":" in authors:
        raise InvalidData(f"author_id names several authors ({authors}), and a binding has one; leave one there")
    return Statement(row.target, row.relation, row.note or None, row.confidence, row.justification or None, authors or None)
