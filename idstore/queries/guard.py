"""Refusal of malformed queries, updates, and SERVICE, which would send requests to other servers.

The parser of the engine that runs the query decides, because two parsers can disagree (a carriage return ends
a comment for one and not for the other). The parser does not report what it read, but a keyword must occur
literally, because the engine reads no escapes in keywords. So this module parses the text with other letters
in place of the keyword: names, strings and comments may hold any letters, and only a use of the keyword
becomes an error.
"""

import re
from collections.abc import Mapping
from typing import Final

from pyoxigraph import Store

from idstore.characters import ascii_lower, ascii_upper
from idstore.errors import QueryRefused
from idstore.vocabulary import MAPPING_PREFIXES

_GAP: Final = r"\s|\#[^\r\n]*[\r\n]"
_SILENT: Final = re.compile(rf"service((?:{_GAP})*)silent", re.IGNORECASE | re.ASCII)
_PLACE: Final = re.compile(r"error at (\d+):(\d+): expected (?:one of )?(.*)", re.DOTALL)
_PROLOGUE: Final = rf"(?:{_GAP}|BASE\s*<[^>]*>|PREFIX\s*[^\s:]*\s*:\s*<[^>]*>|VERSION\s*[\"'][^\"']*[\"'])*"
_UPDATE: Final = re.compile(
    _PROLOGUE + r"(INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|COPY|MOVE|ADD|WITH)\b", re.IGNORECASE | re.ASCII
)
_PREFIX: Final = re.compile(r"(?<![\w<:/#.-])([A-Za-z][\w.-]*):(?!/)")
_DECLARED: Final = re.compile(r"\bPREFIX\s+([\w.-]+):", re.IGNORECASE)
_REASONS: Final = {
    "Prefix not found": "a prefix is not declared",
    "The SELECT contains a variable that is unbound": "a variable is neither grouped nor aggregated",
    "The SELECT overrides an existing variable": "a variable gets a value twice",
    "IRI parsing failed": "not a full IRI",
    "language tag parsing failed": "not a language tag",
}


def check(text: str, prefixes: Mapping[str, str]) -> None:
    """Raise QueryRefused for a query with SERVICE, without running it. Other malformed queries may pass."""
    error = lacking(text, "service", prefixes)
    if error is None:
        return
    if error_in(_replaced(_SILENT.sub(r"graph\1", text), "service", "graph"), prefixes) is None:
        raise QueryRefused(
            "a query sees this registry alone: SERVICE, which asks others, is refused", refused="SERVICE"
        ) from error
    raise malformed(text, error) from error


def lacking(text: str, word: str, prefixes: Mapping[str, str]) -> SyntaxError | None:
    """Return the error in a text in which the keyword ``word`` is replaced; None if the text does not use it.

    Unless ``word`` is ``service``, the text must not use SERVICE.
    """
    if word not in ascii_lower(text):
        return None
    return error_in(_replaced(text, word, f"{word[:-1]}x"), prefixes)


def error_in(text: str, prefixes: Mapping[str, str]) -> SyntaxError | None:
    """Return the engine's syntax error for a text that does not use SERVICE, or None."""
    try:
        Store().query(text, prefixes=dict(prefixes))
    except SyntaxError as error:
        return error
    except RuntimeError:  # the text is well-formed
        return None
    return None


def _replaced(text: str, word: str, other: str) -> str:
    return re.sub(word, other, text, flags=re.IGNORECASE | re.ASCII)


def malformed(text: str, error: SyntaxError) -> QueryRefused:
    """Return the error for a text that the engine cannot parse, with the position."""
    update = _UPDATE.match(text)
    if update:
        word = ascii_upper(update[1])
        return QueryRefused(
            f"{word} changes data, and a query only reads; use the registry's operations for changes",
            refused=word,
        )
    place = _PLACE.match(str(error))
    if place is None:
        return QueryRefused(f"the query cannot be read: {error}")
    line, column = int(place[1]), int(place[2])
    reason = next((f": {reason}" for message, reason in _REASONS.items() if message in place[3]), "")
    prefix = _undeclared(text, line, column) if "Prefix not found" in place[3] else None
    if prefix is not None:
        reason = f": the prefix {prefix} is not declared; begin with PREFIX {prefix}: and an IRI in <>"
    return QueryRefused(
        f"the query cannot be read near line {line}, column {column}{reason}", line=line, column=column
    )


def _undeclared(text: str, line: int, column: int) -> str | None:
    """Return the prefix of the last name before a place in a query; None if it is declared, or no name is."""
    before = "".join(text.splitlines(keepends=True)[: line - 1]) + text.splitlines()[line - 1][:column]
    names = _PREFIX.findall(before)
    declared = {*MAPPING_PREFIXES, *_DECLARED.findall(text)}
    return names[-1] if names and names[-1] not in declared else None
