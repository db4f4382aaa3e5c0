"""Short forms of IRIs, and the prefixes that were needed for them."""

import re
from collections.abc import Iterable
from typing import Final

from idstore.model.terms import stem

_WORD: Final = re.compile(r"[^a-z0-9]+")


class Curies:
    """Makes ``prefix:rest`` of IRIs, with prefixes that are made up from the IRIs as they come.

    used  prefix → what it stands for, of those that were needed. Memory: these.
    """

    def __init__(self, known: Iterable[tuple[str, str]]) -> None:
        self.used: dict[str, str] = {}
        self._prefixes: dict[str, str] = {}
        for name, space in known:
            self._name(space, name)

    def short(self, iri: str, space: str | None = None) -> str:
        """The short form of an IRI; ``space`` is what to abbreviate, unless it has to be guessed."""
        space = space or _beginning(iri)
        while iri.startswith("//", len(space)):  # which would make an address of the short form
            space += "/"
        prefix = self._prefixes.get(space) or self._name(
            space, _WORD.sub("_", (space.partition(":")[2].strip("/") or space).lower()).strip("_")
        )
        self.used[prefix] = space
        return f"{prefix}:{iri[len(space) :]}"

    def _name(self, space: str, wanted: str) -> str:
        """Give a space a prefix that no other has."""
        first = re.sub(r"^(?=[^A-Za-z])|^$", "ns", wanted.removeprefix("www_"))
        taken, name, number = set(self._prefixes.values()), first, 1
        while name in taken:
            number += 1
            name = f"{first}_{number}"
        self._prefixes[space] = name
        return name


def _beginning(iri: str) -> str:
    """What an IRI has in common with others of its kind, never all of it."""
    found = stem(iri)
    if found and len(found) < len(iri):
        return found
    scheme, _, rest = iri.partition(":")
    return f"{scheme}://" if rest.startswith("//") else f"{scheme}:"
