"""Arguments and options that several commands take, each declared once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli.ending import Misuse
from idstore.errors import UnknownNamespace

if TYPE_CHECKING:
    from decimal import Decimal

    from idstore.exchange.mappings import Columns
    from idstore.registry import Registry


WRITTEN: Final = "in any written form: full IRI, NAMESPACE:label, fmt/18, hdl:…"

Id = Annotated[str, typer.Argument(metavar="ID", help=f"An identifier, {WRITTEN}.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help=f"Identifiers, {WRITTEN}; - reads them from standard input, one a line.")]
IdOrNamespace = Annotated[str, typer.Argument(metavar="ID-or-NAMESPACE", help=f"A namespace, or an identifier {WRITTEN}.")]
Namespace = Annotated[str, typer.Argument(metavar="NAMESPACE", help="A namespace, by its name or base.")]
Uri = Annotated[str, typer.Argument(metavar="URI", help="An absolute IRI.")]
User = Annotated[str, typer.Argument(metavar="USER", help="A party: user or group.")]
Person = Annotated[str, typer.Argument(metavar="USER", help="A party that acts: no group.")]

Relation = Annotated[
    str, typer.Option(metavar="R", help="The relation: an IRI, or one in short such as skos:closeMatch, owl:sameAs, dcterms:isPartOf.")
]
Reason = Annotated[str, typer.Option(metavar="T", help="Why; everyone who sees the identifier can read it.")]
Since = Annotated[str | None, typer.Option(metavar="T", help="From this date or time (UTC) on: 2026-11-20 or 2026-11-20T11:17:35Z.")]
Until = Annotated[str | None, typer.Option(metavar="T", help="Before this date or time (UTC).")]
By = Annotated[list[str] | None, typer.Option("--by", metavar="ID...", help="What replaces it; may be several.")]
IdAndMore = Annotated[list[str], typer.Argument(metavar="ID", help=f"An identifier, {WRITTEN}.")]
"""The identifier, and behind ``--by A`` whatever else replaces it: ``ID --by A B``."""

Column = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="ROLE=NAME", help="Which column of a table is what: subject=puid, target=uri, name=title."),
]
Base = Annotated[
    list[str] | None,
    typer.Option("--base", metavar="END=IRI", help="What comes before texts that are no IRI: subject=info:pronom/, target=http://…."),
]
RelationName = Annotated[
    list[str] | None,
    typer.Option("--relation", metavar="NAME=IRI", help="What relation a word in a table means; IRI alone: the relation of rows without."),
]


def columns(column: list[str] | None, base: list[str] | None, relation: list[str] | None) -> "Columns":
    """How tables are to be understood. Raises a usage error."""
    from idstore.exchange.mappings import Columns

    bases = _pairs(base, "--base subject=info:pronom/")
    if not bases.keys() <= {"subject", "target"}:
        raise Misuse("--base is for subject or target, as in --base subject=info:pronom/")
    for end, text in bases.items():
        _check_iri(text, f"--base {end}={text}")
    named = [text for text in relation or [] if "=" in text]
    alone = [text for text in relation or [] if "=" not in text]
    relations = {name: relation_iri(iri) for name, iri in _pairs(named, "--relation hasMime=dcterms:format").items()}
    otherwise = [relation_iri(text) for text in alone]
    for text in (*relations.values(), *otherwise):
        _check_iri(text, f"--relation {text}")
    chosen = Columns(_pairs(column, "--column subject=puid"), bases, relations)
    return replace(chosen, relation=otherwise[-1]) if otherwise else chosen


def _check_iri(text: str, option: str) -> None:
    """Raise Misuse where what an option names is no IRI."""
    from idstore.errors import InvalidData
    from idstore.model import terms

    try:
        terms.iri(text)
    except InvalidData as error:
        raise Misuse(f"{option}: {error.message}") from error


def _pairs(texts: list[str] | None, example: str) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts or []]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise Misuse(f"{name + sign + value!r} is no NAME=VALUE; write it as in {example}")
    return {name: value for name, _, value in pairs}


def moment(text: str | None) -> int | None:
    """Milliseconds since 1970. Raises InvalidData."""
    from idstore.model import times

    return None if text is None else times.parse(text)


def relation_iri(text: str) -> str:
    """The IRI of a relation, or of a justification, that may be written in short."""
    from idstore.vocabulary import MAPPING_PREFIXES

    prefix, colon, name = text.partition(":")
    return MAPPING_PREFIXES[prefix] + name if colon and prefix in MAPPING_PREFIXES else text


def confidence(text: str) -> "Decimal":
    """A number. Raises InvalidData."""
    from decimal import Decimal, InvalidOperation

    from idstore.errors import InvalidData

    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidData(f"{text!r} is no confidence; give a number from 0 to 1", text=text) from None


def successors(ids: Sequence[str], by: Sequence[str] | None) -> tuple[str, list[str]]:
    """The identifier of a command line ``ID --by A B``, and its successors. Raises a usage error."""
    first, *more = ids
    if more and not by:
        raise Misuse(f"what replaces {first} stands behind --by")
    return first, [*(by or []), *more]


def unknown(name: str) -> str:
    """The warning of a party of which nothing is known."""
    return f"no party {name!r} was added here, nor has one acted yet; look for a misspelling"


def is_namespace(registry: "Registry", text: str) -> bool:
    """Whether an argument ``ID-or-NAMESPACE`` is a namespace's name or base. Raises UnknownNamespace where there are none."""
    try:
        registry.namespace(text)
    except UnknownNamespace:
        if not registry.namespaces():
            raise
        return False
    return True
