"""What is refused: malformed queries, updates, and SERVICE, which would have the engine send requests to others.

The engine's own parser decides, the one that the query is run with: two parsers can be played off against each other (a carriage return
ends a comment for one and not for the other). It does not tell what it read, but a keyword must stand in the text as it is, since the
engine reads no escapes in keywords. So the text is parsed with other letters in its place: names, strings and comments may hold any
letters, and only the keyword is missed.
"""

import re
from collections.abc import Mapping
from typing import Final

from pyoxigraph import Store

from idstore.errors import QueryRefused

_GAP: Final = r"\s|\#[^\r\n]*[\r\n]"
_SILENT: Final = re.compile(rf"service((?:{_GAP})*)silent", re.IGNORECASE)
_PLACE: Final = re.compile(r"error at (\d+):(\d+): expected (?:one of )?(.*)", re.DOTALL)
_PROLOGUE: Final = rf"(?:{_GAP}|BASE\s*<[^>]*>|PREFIX\s*[^\s:]*\s*:\s*<[^>]*>|VERSION\s*[\"'][^\"']*[\"'])*"
_UPDATE: Final = re.compile(_PROLOGUE + r"(INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|COPY|MOVE|ADD|WITH)\b", re.IGNORECASE)
_REASONS: Final = {
    "Prefix not found": "a prefix is not declared",
    "The SELECT contains a variable that is unbound": "a variable is selected that is neither grouped by nor aggregated",
    "The SELECT overrides an existing variable": "a variable is given a value twice",
    "IRI parsing failed": "not a full IRI",
    "language tag parsing failed": "not a language tag",
}


def check(text: str, prefixes: Mapping[str, str]) -> None:
    """Raises QueryRefused for a query that names a SERVICE. Nothing is run; what is malformed otherwise may pass."""
    error = lacking(text, "service", prefixes)
    if error is None:
        return
    if error_in(_replaced(_SILENT.sub(r"graph\1", text), "service", "graph"), prefixes) is None:
        raise QueryRefused("a query sees this registry alone: SERVICE, which asks others, is refused", refused="SERVICE") from error
    raise malformed(text, error) from error


def lacking(text: str, word: str, prefixes: Mapping[str, str]) -> SyntaxError | None:
    """What is wrong with a text without the keyword ``word``; None if nothing is, so that the keyword is not in it. No SERVICE is in it."""
    if word not in text.casefold():
        return None
    return error_in(_replaced(text, word, f"{word[:-1]}x"), prefixes)


def error_in(text: str, prefixes: Mapping[str, str]) -> SyntaxError | None:
    """What the engine's parser finds wrong with a text in which no SERVICE is."""
    try:
        Store().query(text, prefixes=dict(prefixes))
    except SyntaxError as error:
        return error
    except RuntimeError:  # it was parsed
        return None
    return None


def _replaced(text: str, word: str, other: str) -> str:
    return re.sub(word, other, text, flags=re.IGNORECASE)


def malformed(text: str, error: SyntaxError) -> QueryRefused:
    """The refusal of a text that the engine cannot parse, with the place."""
    update = _UPDATE.match(text)
    if update:
        word = update[1].upper()
        return QueryRefused(f"{word} changes data, and a query only reads; the other commands of idstore change it", refused=word)
    place = _PLACE.match(str(error))
    if place is None:
        return QueryRefused(f"the query cannot be read: {error}")
    line, column = int(place[1]), int(place[2])
    reason = next((f": {said}" for known, said in _REASONS.items() if known in place[3]), "")
    return QueryRefused(f"the query cannot be read near line {line}, column {column}{reason}", line=line, column=column)
