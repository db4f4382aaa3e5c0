"""The columns of a table, and their roles: by name, or as the caller says."""

import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from idstore.errors import ExchangeError, InvalidData
from idstore.exchange.modifier_columns import MODIFIER, resembles_modifier
from idstore.exchange.table_rows import Table
from idstore.model import terms
from idstore.remedies import Remedy
from idstore.vocabulary import SKOS

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
    "subject_kind": ("subject_source",),
    "modifier": (MODIFIER,),
    "subject_type": ("subject_type",),
    "target_type": ("object_type",),
    "action": ("action",),
}
"""Roles of columns, with the column names that imply them; the first name present counts.

The first name is SSSOM's, where SSSOM has such a slot.
"""

TYPES: Final = {"subject": "subject_type", "target": "target_type"}
"""Roles of the ends, with the roles of their types."""
_EXPORTED: Final = frozenset({"identifier", "namespace", "label", "stage", "owner", "created", "target"})
"""Columns of an export of identifiers as a table."""
_SEPARATORS: Final = {"\t": "tabs", ";": "semicolons", ",": "commas"}
_NAMES: Final = re.compile(r"name(?:@(.+)|_((?!id)[a-z]{2}))")


@dataclass(frozen=True, slots=True)
class Columns:
    """Settings for the interpretation of a table, beyond its header.

    roles      role → name of the column (see `ROLES`).
    bases      ``subject`` or ``target`` → prefix for texts in that column that are no IRI.
    relations  relation as written → IRI.
    relation   the relation of rows without one.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    relation: str = SKOS.exactMatch.value


def columns_by_role(table: Table, columns: Columns, roles: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return role → column of a table that can have these roles.

    Raises InvalidData, ExchangeError: no such role or column, or one that may deny what the others state.
    """
    for role, name in columns.roles.items():
        if role not in roles and _language(role, roles) is None:
            raise InvalidData(f"a column cannot be {role!r}; there are {', '.join(roles)}", role=role)
        if name not in table.header:
            raise ExchangeError(
                table.name, 1, f"there is no column {name!r}; there are {', '.join(table.header)}"
            )
    taken = {*columns.roles.values(), *_unread(table, columns, roles)}
    by_role = {_normal(role, roles): name for role, name in columns.roles.items()}
    for role, names in roles.items():
        if role not in by_role:
            match = next((name for name in names if name in table.header and name not in taken), None)
            if match is not None:
                by_role[role] = match
                taken.add(match)
    for name in table.header:
        language = _language(name, roles)
        if language is not None and name not in taken:
            by_role.setdefault(f"name@{language}", name)
            taken.add(name)
    if "target" in by_role:
        check_denying(table, [name for name in table.header if name not in taken])
    return by_role


def _unread(table: Table, columns: Columns, roles: Container[str]) -> Sequence[str]:
    """Return the columns of an export of identifiers that say something else than in other tables.

    Raises ExchangeError: the caller does not say which column holds the targets of bindings.
    """
    if not {*table.header} >= _EXPORTED:
        return ()
    if "target" in roles and "target" not in columns.roles:
        raise ExchangeError(
            table.name,
            1,
            "it is an export of identifiers as a table, whose target is where an identifier leads, and no"
            " binding; import an export as Turtle. Which column holds what the identifiers are bound to? Say"
            ' target="exactMatch"',
            remedy=Remedy.NAME_COLUMN,
        )
    return ("label",)


def check_denying(table: Table, unread: Iterable[str]) -> None:
    """Raise ExchangeError if a column that is not read may deny the relations of its rows."""
    denying = next(filter(resembles_modifier, unread), None)
    if denying is not None:
        raise ExchangeError(
            table.name,
            1,
            f"the column {denying!r} may deny mappings, and is not read; import the table as mappings with"
            f" a column {MODIFIER}, or name it otherwise if it denies none",
        )


def language_of_names(column: str) -> str | None:
    """Return the language of a column of names in one language: ``name@pt-BR``, or ``name_de``.

    With an underscore, only a language of two letters counts, and ``name_id`` is an identifier's.
    Returns None for another column. Raises InvalidData: no such language.
    """
    match = _NAMES.fullmatch(column)
    return None if match is None else terms.language(match[1] or match[2])


def _language(text: str, roles: Container[str]) -> str | None:
    """Return the language of a column of names, None if the table has no languages. Raises InvalidData."""
    return language_of_names(text) if "lang" in roles else None


def _normal(role: str, roles: Container[str]) -> str:
    """Return a role with its language in lower case. Raises InvalidData: no such language."""
    language = _language(role, roles)
    return role if language is None else f"name@{language}"


def check_needed(
    table: Table, needed: Sequence[str], by_role: Mapping[str, str], known: Collection[str]
) -> None:
    """Raise ExchangeError: a needed column is missing. Without one, all rows must have a type of that end."""
    for role in needed:
        if role not in by_role and TYPES.get(role) not in known:
            free = next((name for name in table.header if name not in by_role.values()), table.header[0])
            words, remedy = _remedy(role, table.header, free)
            raise ExchangeError(table.name, 1, f"no column is known to be the {role}{words}", remedy=remedy)


def _remedy(role: str, header: Sequence[str], free: str) -> tuple[str, Remedy]:
    """Return what to do without a column of a role, in words; ``free`` is a column without a role."""
    if words := divided(header):
        return words, Remedy.NAME_FORMAT
    wanted = "identifiers" if role == "subject" else f"{role}s"
    return f'. Which column holds the {wanted}? Say {role}="{free}"', Remedy.NAME_COLUMN


def divided(header: Sequence[str]) -> str:
    """Return what to say of a header that another sign seems to divide; empty if none does."""
    separator = next((sign for sign in _SEPARATORS if sign in header[0]), None) if len(header) == 1 else None
    if separator is None:
        return ""
    return (
        f"; the header looks divided by {_SEPARATORS[separator]}: csv is divided by commas, tsv and sssom by"
        " tabs; name the format of the table, or convert it"
    )
