"""Saved queries: files with the ending ``.rq``, whose comments state their subjects and parameters.

The first comment is the title. A parameter is a variable, and a comment names its type and what it is for:

    # Who allocated how many identifiers?
    # parameter party (text): the name of a party
    # parameter entry (iri, required): an entry of another registry

Its value is a term that the variable has in every solution: it never becomes a part of the query's text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyoxigraph import Literal, NamedNode, Store, Variable

from idstore.errors import InvalidData, QueryRefused
from idstore.model import terms
from idstore.queries import guard
from idstore.queries.bindings import Value
from idstore.vocabulary import MAPPING_PREFIXES, XSD

OWN: Final = Path(__file__).parent
"""Folder of the queries that come with the package."""
_ENDING: Final = ".rq"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_PARAMETER: Final = re.compile(
    r"#\s*parameter\s+\??(?P<name>\w+)\s*\((?P<type>\w+)(?P<required>,\s*required)?\)\s*:\s*(?P<purpose>.*)"
)
_COMMENT: Final = re.compile(r"#\s*(.*)")
_LARGEST: Final = 1 << 20
"""Bytes of a file."""


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter: a variable, and the type of its terms, one of `TYPES`."""

    name: str
    type: str
    purpose: str
    required: bool = False

    def term(self, text: str) -> Value:
        """Return the term for a text. Raises InvalidData: it is not of the type."""
        pattern, make = TYPES[self.type]
        if not re.fullmatch(pattern, text, re.DOTALL | re.ASCII):
            raise InvalidData(f"{self.name}: {text!r} is not of the type {self.type}", field=self.name)
        return make(text)


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query with a name, and its parameters by their names."""

    name: str
    title: str
    text: str
    parameters: Mapping[str, QueryParameter]

    def bindings(self, given: Mapping[str, str]) -> dict[str, Value]:
        """Return the terms for texts by the names of parameters; an empty text counts as none.

        Raises InvalidData: an unknown parameter, a missing one, or a text that is not of its type.
        """
        for name in given:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise InvalidData(f"no parameter {name!r} here; there are: {known}", field=name)
        texts = {name: text for name, text in given.items() if text}
        for one in self.parameters.values():
            if one.required and one.name not in texts:
                raise InvalidData(f"the parameter {one.name} is missing: {one.purpose}", field=one.name)
        return {name: self.parameters[name].term(text) for name, text in texts.items()}


def _iri(text: str) -> NamedNode:
    return terms.iri(text, "IRI")


def _typed(kind: NamedNode) -> Callable[[str], Literal]:
    return lambda text: Literal(text, datatype=kind)


TYPES: Final[Mapping[str, tuple[str, Callable[[str], Value]]]] = {
    "iri": (".+", _iri),
    "text": (".*", Literal),
    "integer": (r"[+-]?\d+", _typed(XSD.integer)),
    "decimal": (r"[+-]?(\d+\.?\d*|\.\d+)", _typed(XSD.decimal)),
    "boolean": ("true|false", _typed(XSD.boolean)),
    "date": (r"\d{4}-\d\d-\d\d", _typed(XSD.date)),
    "dateTime": (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?", _typed(XSD.dateTime)),
}
"""Type of a parameter → what its texts look like, and the function that makes the term."""


def saved_queries(folder: Path | None = None) -> Mapping[str, SavedQuery]:
    """Return the queries of the package and those in a folder, by name; a folder's come before the package's.

    Raises InvalidData, with file and reason: a folder or a file that cannot be read, or a query that cannot.
    """
    try:
        files = [path for one in (OWN, folder) if one for path in one.iterdir() if path.suffix == _ENDING]
    except OSError as error:
        raise InvalidData(
            f"{folder}: {error.strerror}; name a folder that this account can read", file=str(folder)
        ) from error
    found = {path.stem: saved_query(path) for path in files}
    return {name: found[name] for name in sorted(found)}


def saved_query(path: Path) -> SavedQuery:
    """Return the query in a file. Raises InvalidData."""
    if not _NAME.fullmatch(path.stem):
        raise InvalidData(
            f"{path}: its name is part of an address; use letters, digits, dots, - and _", file=str(path)
        )
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidData(f"{path} cannot be read: {error}", file=str(path)) from error
    if len(content) > _LARGEST:
        raise InvalidData(
            f"{path} has more than {_LARGEST} bytes; shorten the query", file=str(path), limit=_LARGEST
        )
    comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    titles = [found[1] for line in comments if (found := _COMMENT.match(line.strip()))]
    query = SavedQuery(path.stem, titles[0] if titles else path.stem, text, _parameters(path, comments))
    _check(path, query)
    return query


def _parameters(path: Path, comments: list[str]) -> dict[str, QueryParameter]:
    found = {}
    for line in comments:
        match = _PARAMETER.match(line.strip())
        if match is None:
            continue
        if match["type"] not in TYPES:
            raise InvalidData(
                f"{path}: no type {match['type']!r} of a parameter; there are {', '.join(TYPES)}",
                file=str(path),
            )
        required = match["required"] is not None
        found[match["name"]] = QueryParameter(match["name"], match["type"], match["purpose"], required)
    return found


def _check(path: Path, query: SavedQuery) -> None:
    """Raise InvalidData for a query that cannot be run, or whose parameters are not its variables."""
    try:
        guard.check(query.text, MAPPING_PREFIXES)
        Store().query(query.text, prefixes=dict(MAPPING_PREFIXES))
        for name in query.parameters:
            _check_parameter(path, query, name)
    except SyntaxError as error:
        raise InvalidData(
            f"{path}: {guard.malformed(query.text, error).message}; correct it", file=str(path)
        ) from error
    except QueryRefused as error:
        raise InvalidData(f"{path}: {error.message}", file=str(path)) from error


def _check_parameter(path: Path, query: SavedQuery, name: str) -> None:
    try:
        Store().query(
            query.text, prefixes=dict(MAPPING_PREFIXES), substitutions={Variable(name): NamedNode("urn:x")}
        )
    except RuntimeError as error:
        raise InvalidData(
            f"{path}: the parameter {name} must be a variable of the SELECT clause, or of the template or the"
            " resources of another query; name it there",
            file=str(path),
        ) from error
