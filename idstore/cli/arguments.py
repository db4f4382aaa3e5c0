"""Arguments and options that several commands take, each declared once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.errors import UnknownNamespace

if TYPE_CHECKING:
    from idstore.registry import Registry


class Misuse(typer.BadParameter):
    """A command line whose parts do not go together."""

    def format_message(self) -> str:
        """The message alone."""
        return str(self.message)


WRITTEN: Final = "in any written form: full IRI, NAMESPACE:label, fmt/18, hdl:…"

Id = Annotated[str, typer.Argument(metavar="ID", help=f"An identifier, {WRITTEN}.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help=f"Identifiers, {WRITTEN}; - reads them from standard input, one a line.")]
IdOrNamespace = Annotated[str, typer.Argument(metavar="ID-or-NAMESPACE", help=f"A namespace, or an identifier {WRITTEN}.")]
Namespace = Annotated[str, typer.Argument(metavar="NAMESPACE", help="A namespace, by its name or base.")]
Uri = Annotated[str, typer.Argument(metavar="URI", help="An absolute IRI.")]
User = Annotated[str, typer.Argument(metavar="USER", help="A party: user or group.")]

Relation = Annotated[
    str, typer.Option(metavar="R", help="The relation: an IRI, or one in short such as skos:closeMatch, owl:sameAs, dcterms:isPartOf.")
]
Reason = Annotated[str, typer.Option(metavar="T", help="Why; everyone who sees the identifier can read it.")]
Since = Annotated[str | None, typer.Option(metavar="T", help="From this date or time (UTC) on: 2026-11-20 or 2026-11-20T11:17:35Z.")]
Until = Annotated[str | None, typer.Option(metavar="T", help="Before this date or time (UTC).")]
By = Annotated[list[str] | None, typer.Option("--by", metavar="ID...", help="What replaces it; may be several.")]
IdAndMore = Annotated[list[str], typer.Argument(metavar="ID", help=f"An identifier, {WRITTEN}.")]
"""The identifier, and behind ``--by A`` whatever else replaces it: ``ID --by A B``."""


def moment(text: str | None) -> int | None:
    """Milliseconds since 1970. Raises InvalidData."""
    from idstore.model import times

    return None if text is None else times.parse(text)


def relation(text: str) -> str:
    """The IRI of a relation that may be written in short."""
    from idstore.vocabulary import PREFIXES

    prefix, colon, name = text.partition(":")
    return PREFIXES[prefix] + name if colon and prefix in PREFIXES else text


def successors(ids: Sequence[str], by: Sequence[str] | None) -> tuple[str, list[str]]:
    """The identifier of a command line ``ID --by A B``, and its successors. Raises a usage error."""
    first, *more = ids
    if more and not by:
        raise Misuse(f"what replaces {first} stands behind --by")
    return first, [*(by or []), *more]


def is_namespace(registry: "Registry", text: str) -> bool:
    """Whether an argument ``ID-or-NAMESPACE`` is a namespace's name or base."""
    try:
        registry.namespace(text)
    except UnknownNamespace:
        return False
    return True
