"""Parties: who acts."""

import re
from functools import lru_cache

from pyoxigraph import NamedNode

from idstore import vocabulary
from idstore.errors import InvalidData
from idstore.frozen import dataclass

_NAME = re.compile(r"[^\W_][\w.@+-]{0,127}")


@dataclass(frozen=True, slots=True, order=True)
class Party:
    """A party that somebody authenticated: the command line by the login name, a server by a sign-in.

    It is a name and no more; what the party may do is looked up at each act, so that lost rights are lost at once.
    """

    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidData(
                f"{self.name!r} is not a party's name; use letters, digits and . _ - @ +, at most 128, a letter or digit first",
                text=self.name,
            )

    def __str__(self) -> str:
        return self.name


@lru_cache(maxsize=4096)
def node(name: str) -> NamedNode:
    """The IRI of a party."""
    return vocabulary.party_iri(name)


def party_of(value: object) -> str:
    """The party that a stored term stands for."""
    assert isinstance(value, NamedNode)
    return vocabulary.party_name(value)


@dataclass(frozen=True, slots=True)
class PartyFacts:
    """What the registry knows of a party.

    kind        ``user``, ``group`` or ``administrator``.
    groups      the groups it belongs to.
    suspended   the reason, while it is suspended.
    added       whether it was made known; a party that only acts is a user without public facts.
    """

    name: str
    kind: str = "user"
    groups: frozenset[str] = frozenset()
    suspended: str | None = None
    added: bool = False

    @property
    def administrator(self) -> bool:
        """Whether it administers the registry."""
        return self.kind == "administrator"

    @property
    def names(self) -> frozenset[str]:
        """Every name under which it can stand on a grant list."""
        return self.groups | {self.name}
