"""Compact forms of IRIs (CURIEs), and the prefix map that they need."""

import re
from collections.abc import Iterable
from typing import Final

from idstore.model.terms import stem

_WORD: Final = re.compile(r"[^a-z0-9]+")


class Curies:
    """A converter of IRIs to ``prefix:rest``; it derives new prefixes from the IRIs.

    declared  preferred prefixes, with their IRIs.
    used      prefix → IRI, for each prefix in use. Memory: these.
    """

    def __init__(self, declared: Iterable[tuple[str, str]]) -> None:
        self.used: dict[str, str] = {}
        self._prefixes: dict[str, str] = {}
        for name, space in declared:
            self._name(space, name)

    def short(self, iri: str, space: str | None = None) -> str:
        """Return the compact form of an IRI.

        space  the part to abbreviate, by default the IRI's namespace.
        """
        space = space or _namespace(iri)
        while iri.startswith("//", len(space)):  # else the compact form looks like a URL
            space += "/"
        prefix = self._prefixes.get(space)
        if not prefix:
            words = _WORD.sub("_", (space.partition(":")[2].strip("/") or space).lower())
            prefix = self._name(space, words.strip("_"))
        self.used[prefix] = space
        return f"{prefix}:{iri[len(space) :]}"

    def _name(self, space: str, preferred: str) -> str:
        """Assign an unused prefix to a namespace."""
        first = re.sub(r"^(?=[^A-Za-z])|^$", "ns", preferred.removeprefix("www_"))
        taken, name, number = set(self._prefixes.values()), first, 1
        while name in taken:
            number += 1
            name = f"{first}_{number}"
        self._prefixes[space] = name
        return name


def _namespace(iri: str) -> str:
    """Return the part of an IRI that it shares with others of its kind, never the whole IRI."""
    shared = stem(iri)
    if shared and len(shared) < len(iri):
        return shared
    scheme, _, rest = iri.partition(":")
    return f"{scheme}://" if rest.startswith("//") else f"{scheme}:"
