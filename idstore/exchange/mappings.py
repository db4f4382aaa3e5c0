"""Mappings: tables whose rows relate one identifier to another.

The formats are SSSOM/TSV (https://mapping-commons.github.io/sssom/), and any table whose columns have the
same roles, by name or by assignment. Note, confidence, justification, author and names of a row are kept.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from operator import itemgetter
from tempfile import SpooledTemporaryFile
from typing import Final, Generic, TypeVar

from idstore import spreadsheets
from idstore.errors import ExchangeError, IdstoreError, InvalidData
from idstore.exchange import sssom, table_rows, tables
from idstore.exchange.bad_lines import Malformed
from idstore.exchange.columns import ROLES, TYPES, Columns, check_needed, columns_by_role
from idstore.exchange.mapping_rows import MappingRow
from idstore.exchange.sources import Readable
from idstore.model import orcid, terms
from idstore.model.uri_schemes import begins_uri
from idstore.remedies import Remedy
from idstore.vocabulary import MAPPING_PREFIXES, PREFIXES

RELATIONS: Final[Mapping[str, str]] = {
    **{
        name: PREFIXES["skos"] + name
        for name in ("exactMatch", "closeMatch", "broadMatch", "narrowMatch", "relatedMatch")
    },
    "sameAs": PREFIXES["owl"] + "sameAs",
    "seeAlso": PREFIXES["rdfs"] + "seeAlso",
    "replaces": PREFIXES["dcterms"] + "replaces",
    "isPrimaryTopicOf": "http://xmlns.com/foaf/0.1/isPrimaryTopicOf",
}
"""Relations that may be written by their local name."""

_AS_WRITTEN: Final = frozenset({"note", "author", "author_name", "name", "target_name", "version"})
"""Roles of columns with free text: their spaces are data."""
_IN_MEMORY: Final = 1 << 20
"""Bytes of rows read ahead in memory; more go to a temporary file."""
_DIVIDED: Final = frozenset({"author_id", "author_label"})
"""Columns in which SSSOM separates several values by ``|``; a backslash escapes ``|`` and itself."""
_ITEM: Final = re.compile(r"(?:\\.|[^|\\]|\\$)+", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([|\\])")
_CURIE: Final = re.compile(r"([A-Za-z_][\w.-]*):(?!//)")
Row = TypeVar("Row")


@dataclass(slots=True)
class Reading(Generic[Row]):
    """An open table whose columns have roles.

    rows  the rows, to be read once.
    """

    cells: "Cells"
    rows: Iterator[Row | Malformed] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self.cells.name

    @property
    def columns(self) -> Mapping[str, str]:
        """Role → column."""
        return self.cells.columns

    @property
    def literals(self) -> int:
        """The number of rows so far that map a text without identifier, and are passed over."""
        return self.cells.literals


@contextmanager
def read(
    file: Readable,
    format: str,
    columns: Columns = Columns(),
    metadata: str | None = None,
    *,
    force: bool = False,
) -> Iterator[Reading[MappingRow]]:
    """Open a table of mappings. Rows that map a text without identifier are passed over.

    metadata  the file of SSSOM's metadata; by default they are in the table, or in a file beside it.
    force     take cells that are refused otherwise: see `Cells`.
    Raises ExchangeError: no such column, no column for an end, malformed metadata.
    """
    with interpreted(file, format, columns, ROLES, ("subject", "target"), metadata, force=force) as cells:
        yield Reading(cells, cells.rows(cells.mapping_if_any))


@contextmanager
def interpreted(
    file: Readable,
    format: str,
    columns: Columns,
    roles: Mapping[str, tuple[str, ...]],
    needed: Sequence[str],
    metadata: str | None = None,
    *,
    force: bool = False,
) -> Iterator["Cells"]:
    """Open a table whose columns can have these roles. The ``needed`` roles must be present.

    Raises as `read`.
    """
    beside = metadata or sssom.beside(file)
    if beside is not None and format == "tsv":
        format = "sssom"
    with (
        tables.read(file, format) as table,
        SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8") as held,
    ):
        if table.metadata and metadata is not None:
            reason = f"it has metadata of its own, besides those in {metadata}; leave one of them out"
            raise ExchangeError(table.name, 1, reason)
        outside = None if table.metadata else beside
        stated = sssom.parse(table.metadata, table.name) if outside is None else sssom.read(outside)
        by_role = columns_by_role(table, columns, roles)
        shared = {
            role: stated.shared[names[0]]
            for role, names in roles.items()
            if names[0] in stated.shared and by_role.get(role, names[0]) == names[0]
        }
        doubtful = {table.header.index(by_role[role]) for role in shared if role in by_role}
        if doubtful:  # a value of the whole set counts only if no row has one of its own
            table.rows, empty = tables.read_ahead(table.rows, doubtful, held)
            for role in [role for role in shared if role in by_role]:
                del (by_role if table.header.index(by_role[role]) in empty else shared)[role]
        check_needed(table, needed, by_role, {*by_role, *shared})
        prefixes = {**MAPPING_PREFIXES, **stated.prefixes}
        declared = format == "sssom" or bool(table.metadata) or outside is not None
        yield Cells(
            table,
            by_role,
            columns,
            prefixes,
            shared,
            stated.people,
            declared=declared,
            metadata=outside,
            force=force,
        )


class Cells:
    """The rows of a table, with access to cells by role.

    name      the name of the table in messages.
    columns   role → column.
    languages role of names in one language, as ``name@de`` → that language.
    declared  whether prefixes must be declared.
    passed    columns without a role.
    metadata  the file of SSSOM's metadata, if the table is not that file.
    force     whether IRIs with unknown prefixes are taken as they are, and cells in quotes too.
    literals  the number of rows so far that map a text without identifier.
    """

    def __init__(
        self,
        table: table_rows.Table,
        columns: Mapping[str, str],
        settings: Columns,
        prefixes: Mapping[str, str],
        shared: Mapping[str, str],
        people: Iterable[str],
        *,
        declared: bool,
        metadata: str | None,
        force: bool,
    ) -> None:
        self.name, self.columns, self.declared, self.metadata = table.name, columns, declared, metadata
        self.force = force
        self.literals = 0
        self.passed = [name for name in table.header if name and name not in columns.values()]
        self._rows = table.rows
        self._shared = shared
        self.languages = {role: role[5:] for role in columns if role.startswith("name@")}
        self._positions = {role: table.header.index(name) for role, name in columns.items()}
        self._people = [table.header.index(name) for name in sssom.PEOPLE if name in self.passed]
        self._people_of_all = iter(people)
        self._typed = [end for end, role in TYPES.items() if role in columns or role in shared]
        # behind the cells of a row: an empty one for absent columns, then the shared values
        behind = {role: len(table.header) + 1 + number for number, role in enumerate(shared)}
        self._behind = ("", *shared.values())
        self._in_order = itemgetter(
            *(self._positions.get(role, behind.get(role, len(table.header))) for role in ROLES)
        )
        self._settings = settings
        self._relations = {**RELATIONS, **settings.relations}
        self._prefixes = prefixes
        self._relation_of = lru_cache(maxsize=256)(self._relation)

    def rows(self, parse: Callable[[table_rows.TableRow], Row | None]) -> Iterator[Row | Malformed]:
        """Yield the results of ``parse`` other than None; `Malformed` where it raises an IdstoreError."""
        for row in self._rows:
            if row.error is not None:
                yield Malformed(row.line, row.error)
                continue
            try:
                if not self.force:
                    self._check_marks(row)
                result = parse(row)
            except IdstoreError as error:
                yield Malformed(row.line, error.message)
            else:
                if result is not None:
                    yield result

    def _check_marks(self, row: table_rows.TableRow) -> None:
        """Raise InvalidData: a cell with a role is in quotes as a whole."""
        for role, position in self._positions.items():
            cell = row.cells[position]
            reason = spreadsheets.mark(role, cell)
            if reason is not None:
                raise InvalidData(reason, field=role, value=cell, remedy=Remedy.INSIST)

    def cell(self, row: table_rows.TableRow, role: str) -> str:
        """Return the cell in the column of a role, or the value that all rows share; else an empty text."""
        position = self._positions.get(role)
        return self._shared.get(role, "") if position is None else _stripped(role, row.cells[position])

    def literal_ends(self, row: table_rows.TableRow) -> list[str]:
        """Return the ends of a mapping that are texts without identifier: ``subject``, ``target``.

        A row that has any counts in `literals`.
        """
        ends = [end for end in self._typed if self._curie(self.cell(row, TYPES[end])) in sssom.LITERAL]
        self.literals += bool(ends)
        return ends

    def mapping_if_any(self, row: table_rows.TableRow) -> MappingRow | None:
        """Return the mapping of a row; None if it has only an identifier, or maps a text without one.

        Raises InvalidData.
        """
        if self._typed and self.literal_ends(row):
            return None
        has_mapping = "relation" not in self.columns or any(
            self.cell(row, role) for role in ("relation", "target", "action")
        )
        return self.mapping(row) if has_mapping or not self.cell(row, "subject") else None

    def mapping(self, row: table_rows.TableRow) -> MappingRow:
        """Return the mapping of a row. Raises InvalidData."""
        cells = map(_stripped, ROLES, self._in_order((*row.cells, *self._behind)))
        (
            subject, relation, target, note, confidence, justification, author, author_name,
            name, target_name, kind, subject_kind, modifier, _, _, action,
        ) = cells  # fmt: skip
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
            subject_kind,
            action,
            sssom.negates(self._expanded(modifier)),
            self.force,
            self._doubt(row),
        )

    def _doubt(self, row: table_rows.TableRow) -> str:
        """Return what is wrong with people of a row, and with the first row those of the whole table."""
        cells = [*self._people_of_all, *(row.cells[place] for place in self._people)]
        reasons = []
        for person in filter(None, map(str.strip, "|".join(cells).split("|"))):
            try:
                orcid.normal(self._expanded(person))
            except InvalidData as error:
                reasons.append(error.message.partition(";")[0])
        return "; ".join(reasons)

    def end(self, row: table_rows.TableRow, role: str) -> str:
        """Return the IRI, or the text, in the column of a role. Raises InvalidData: it is empty."""
        return self._end(role, self.cell(row, role))

    def _end(self, role: str, text: str) -> str:
        if not text:
            raise InvalidData(f"the {role} is empty", field=role)
        base = self._settings.bases.get(role)
        any_form = role == "subject"  # the registry reads every written form, NAMESPACE:label included
        expanded = self._curie(text) if any_form or base is not None else self._expanded(text)
        if expanded != text or "://" in text:
            return expanded
        return text if base is None or text.startswith(base) else base + text

    def _relation(self, text: str) -> str:
        if not text:
            return self._settings.relation
        terms.check_size(text, "relation")
        mapped = self._relations.get(text)
        relation = self._expanded(text) if mapped is None else mapped
        try:
            return terms.iri(relation, "IRI of a relation").value
        except InvalidData as error:
            raise InvalidData(
                f"{text!r} is no relation: write an IRI, or a prefixed name such as skos:closeMatch,"
                f" or map {text} to the IRI of a relation",
                remedy=Remedy.MAP_RELATION,
                field="relation",
                value=text,
            ) from error

    def _expanded(self, text: str) -> str:
        """Expand a prefixed name; return other texts as they are.

        Raises InvalidData: the prefix is not declared.
        """
        name = _CURIE.match(text) if self.declared else None
        if name is not None and name[1] not in self._prefixes and not begins_uri(text):
            raise InvalidData(
                f"the prefix of {text!r} is not declared;"
                f" declare {name[1]} in curie_map, or write the whole IRI",
                field="curie_map",
                value=text,
            )
        return self._curie(text)

    def _curie(self, text: str) -> str:
        prefix, colon, rest = text.partition(":")
        base = self._prefixes.get(prefix) if colon and not rest.startswith("//") else None
        return text if base is None else base + rest

    def _authors(self, role: str, text: str) -> list[str]:
        """Return the authors in a cell: several in columns that SSSOM separates by ``|``.

        Raises InvalidData.
        """
        if self.columns.get(role) not in _DIVIDED:
            return [self._expanded(text)] if text else []
        authors = [_ESCAPED.sub(r"\1", item[0]) for item in _ITEM.finditer(text)]
        if len(authors) > 1:
            authors = [author.strip(" ") for author in authors]
        return [self._expanded(author.strip(" ")) for author in authors] if role == "author" else authors


def _stripped(role: str, cell: str) -> str:
    """Return the text of a cell, without spaces around keywords, numbers and IRIs.

    In free text, spaces are data (RFC 4180, 2.4).
    """
    if not cell:
        return ""
    if role.partition("@")[0] in _AS_WRITTEN:
        return cell if cell.strip() else ""
    return cell.strip()


@lru_cache(maxsize=1024)
def _share(text: str) -> Decimal:
    try:
        share = Decimal(text)
    except InvalidOperation:
        share = Decimal(-1)
    if not terms.is_share(share):
        small = share.is_finite() and 0 < share < 1
        reason = "too small to be kept; write 0" if small else "no number from 0 to 1"
        raise InvalidData(f"the confidence {text!r} is {reason}", field="confidence", value=text)
    return share


def column_summary(reading: Reading[Row]) -> str:
    """Return roles and ignored columns in words: ``a.tsv: subject ← subject_id; passed over: x``."""
    cells = reading.cells
    passed = f"; passed over: {', '.join(cells.passed)}" if cells.passed else ""
    metadata = f"; metadata: {cells.metadata}" if cells.metadata else ""
    return (
        f"{cells.name}: {', '.join(f'{role} ← {name}' for role, name in cells.columns.items())}"
        f"{passed}{metadata}"
    )


def literals_passed_over(count: int) -> str:
    """Return the number of rows that map a text without identifier, in words."""
    return f"{count} mapping{'s' * (count != 1)} of a text without identifier (rdfs literal) passed over"
