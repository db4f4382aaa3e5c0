"""Giving out one identifier, and telling of it. Nothing is imported that takes long."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from idstore.cli import exits, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse

if TYPE_CHECKING:
    from idstore.cli.records import Described
    from idstore.model.party import Party
    from idstore.registry.allocation import Allocating
    from idstore.registry.requests import Request

_NO_METADATA: Final[Mapping[str, str]] = MappingProxyType({})


class Said(NamedTuple):
    """What comes with a new identifier, in the words of the command line. Nothing is imported before it is turned into a request."""

    name: str | None
    lang: str | None
    comment: str | None
    target: str | None
    request_key: str | None

    @classmethod
    def of(cls, name: str | None, lang: str | None, comment: str | None, target: str | None, request_key: str | None) -> "Said":
        """Raises a usage error."""
        if lang is not None and name is None:
            raise Misuse("--lang is the language of --name")
        return cls(name, lang, comment, target, request_key)

    def request(self, metadata: Mapping[str, str] = _NO_METADATA) -> "Request":
        """As the registry takes it."""
        from idstore.model.terms import UNDETERMINED
        from idstore.registry.requests import Request

        return Request(self.name, self.lang or UNDETERMINED, self.comment, self.target, self.request_key, metadata)

    def is_brief(self, call: Call) -> bool:
        """Whether nothing is asked of the store but to allocate; see `session.allocate`."""
        return self.target is None and self.request_key is None and not _shows(call, self.comment)


def _shows(call: Call, comment: str | None) -> bool:
    """Whether what is printed of a new identifier has its comment."""
    return call.output.json and comment is not None


def give(call: Call, said: Said, namespace: str, label: str | None = None, options: Mapping[str, str] = _NO_METADATA) -> int:
    """Allocate an identifier, with a label if one is given, where nothing else is asked of the store; the command's exit code."""
    made = session.allocate(call, lambda registry, party: given(registry, party, said.request(options), namespace, label))
    tell(call, made, [], None)
    return exits.DONE


def given(registry: "Allocating", party: "Party", request: "Request", namespace: str, label: str | None) -> "Described":
    """The new record."""
    from idstore.cli.records import Described

    record = registry.mint(namespace, party, request) if label is None else registry.register(namespace, label, party, request)
    return Described(record, registry.home(record))


def tell(call: Call, made: "Described", others: list[str], target: str | None) -> None:
    """Print a new record, after a warning of others that are bound to its target."""
    if others:
        call.output.warn(f"{target} is identified already by {', '.join(others)}")
    call.output.made(made.iri, made.json())
