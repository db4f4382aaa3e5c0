"""Parties: users, groups and administrators."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad

from idstore import arguments, vocabulary
from idstore.errors import InvalidData
from idstore.vocabulary import IDS, RDF

OF_PARTIES: Final = frozenset(
    {IDS.PartyAddition, IDS.Joining, IDS.Leaving, IDS.Suspension, IDS.Reinstatement}
)
"""Kinds of events about a party; the registry's initialisation is about the registry, by its first one."""

_NAME = re.compile(r"[^\W_][\w.@+-]{0,127}")


@dataclass(frozen=True, slots=True, order=True)
class Party:
    """An authenticated party: the command line authenticates by login name, a server by sign-in.

    It holds no rights. Each act looks up the rights of the party, so that a withdrawn right ends at once.

    groups  names of groups that the sign-in says it is in, beside those that the registry knows.
    """

    name: str
    groups: frozenset[str] = field(default=frozenset(), compare=False)

    def __post_init__(self) -> None:
        arguments.check_fields(self)
        if not _NAME.fullmatch(self.name):
            raise InvalidData(
                f"{self.name!r} is not a party's name; use letters, digits and . _ - @ +, at most 128,"
                " and begin with a letter or digit",
                field="party",
                text=self.name,
            )

    def __str__(self) -> str:
        return self.name


class _Nobody(Party):
    """The party of a request without a sign-in: it sees what is public, and does nothing."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Accept the empty name, which no other party can have."""


NOBODY: Final = _Nobody("")
"""The acting party of an anonymous request."""


class _SignedIn(_Nobody):
    """The party of a connection's token, where its name is not known."""

    __slots__ = ()


SIGNED_IN: Final = _SignedIn("")
"""The party that a connection to a server signs in as: only for calls over that connection."""


@lru_cache(maxsize=4096)
def node(name: str) -> NamedNode:
    """Return the IRI of a party."""
    return vocabulary.party_iri(name)


def description(name: str, graph: NamedNode) -> tuple[Quad, Quad]:
    """Return the class and the name of a party, as quads of a graph."""
    return Quad(node(name), RDF.type, IDS.Party, graph), Quad(node(name), IDS.name, Literal(name), graph)


def party_of(value: object) -> str:
    """Return the name of the party that a stored IRI identifies."""
    assert isinstance(value, NamedNode)
    return vocabulary.party_name(value)


@dataclass(frozen=True, slots=True)
class PartyFacts:
    """The registry's facts about a party.

    kind        ``user``, ``group`` or ``administrator``.
    groups      groups that the party belongs to.
    suspended   reason of the suspension, None if the party is not suspended.
    added       whether the party was added explicitly; a party that only acted is a user.
    """

    name: str
    kind: str = "user"
    groups: frozenset[str] = frozenset()
    suspended: str | None = None
    added: bool = False

    @property
    def administrator(self) -> bool:
        """Whether the party is an administrator."""
        return self.kind == "administrator"

    @property
    def names(self) -> frozenset[str]:
        """Every name that stands for the party on a grant list: its own and those of its groups."""
        return self.groups | {self.name}
