"""Arguments and options that several commands share."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli.termination import UsageError
from idstore.errors import UnknownNamespace

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from idstore.cli.call import Call
    from idstore.exchange.columns import Columns
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.bindings import Bindings


_MAXIMUM: Final = 1_000_000.0
"""Largest number of seconds or days, below the limit of sockets."""
Unseen = Mapping[str, AbstractSet[str]]
"""Party that the acting party does not know → the parties that it knows."""
FORMS: Final = "in any written form: full IRI, NAMESPACE:label, fmt/18, hdl:…"

Id = Annotated[str, typer.Argument(metavar="ID", help=f"An identifier, {FORMS}.")]
Ids = Annotated[
    list[str],
    typer.Argument(
        metavar="ID...", help=f"Identifiers, {FORMS}; - reads them from standard input, one a line."
    ),
]
IdOrNamespace = Annotated[
    str, typer.Argument(metavar="ID-or-NAMESPACE", help=f"A namespace, or an identifier {FORMS}.")
]
Namespace = Annotated[str, typer.Argument(metavar="NAMESPACE", help="A namespace, by its name or base.")]
Uri = Annotated[
    str,
    typer.Argument(
        metavar="URI",
        help="An absolute IRI, a prefixed name with a known prefix (wd:Q42), or a name of a namespace here"
        " (fmt/18).",
    ),
]
User = Annotated[str, typer.Argument(metavar="USER", help="A party: a user or a group.")]
ActingParty = Annotated[str, typer.Argument(metavar="USER", help="A user or an administrator, not a group.")]

Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Insist on an IRI or label that is refused otherwise: one with an unknown prefix or an invisible"
        " character, or with something around it. The log says so.",
    ),
]
Relation = Annotated[
    str,
    typer.Option(
        metavar="R",
        help="The relation: an IRI, or a prefixed name: skos:closeMatch, owl:sameAs, dcterms:isPartOf.",
    ),
]
Reason = Annotated[str, typer.Option(metavar="T", help="The reason; all who see the identifier can read it.")]
MOMENTS: Final = "this date or time (UTC): 2026-11-20, 2026-11-20T11:17:35Z, today, yesterday, 30d"
CreatedSince = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="T",
        help=f"Only identifiers created at or after {MOMENTS}. Later changes do not count.",
    ),
]
CreatedUntil = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="T",
        help="Only identifiers created before this date or time (UTC): 2026-11-20, today, 30d.",
    ),
]
By = Annotated[
    list[str] | None, typer.Option("--by", metavar="ID...", help="The identifiers that replace it.")
]
ChangeTable = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TABLE",
        help="A table (csv, tsv, xlsx) with a column identifier: each row is done, or none.",
    ),
]
TableDryRun = Annotated[
    bool, typer.Option("--dry-run", help="With --from: change nothing, and tell of each line.")
]

IdsOrTable = Annotated[list[str] | None, typer.Argument(metavar="[ID]", help=f"An identifier, {FORMS}.")]
"""The identifier, and the successors after the first one of ``--by``: ``ID --by A B``. Or a table instead."""

Column = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help='Which column holds the identifiers? Say --column subject="RDS number"; likewise target=uri,'
        " name=title.",
    ),
]
Base = Annotated[
    list[str] | None,
    typer.Option(
        "--base",
        metavar="END=IRI",
        help="Prefix for values that are not IRIs: subject=info:pronom/, target=http://….",
    ),
]
RelationName = Annotated[
    list[str] | None,
    typer.Option(
        "--relation",
        metavar="NAME=IRI",
        help="The relation that a word in a table means; IRI alone: the relation of rows without one.",
    ),
]


Metadata = Annotated[
    str | None,
    typer.Option(
        "--metadata",
        metavar="FILE",
        help="Metadata of an SSSOM table (YAML). [default: in the table, or X.sssom.yml beside X.sssom.tsv]",
    ),
]


def warn_of_target(call: "Call", uri: str | None) -> None:
    """Warn of what stands around a URI: it is left out, or may be no part of it."""
    from idstore.wrapped import doubt_of_address

    warning = doubt_of_address(uri or "")
    if warning:
        call.output.warn(warning)


def leading_to(registry: "Bindings", target: str | None, party: "Party") -> list[str]:
    """Return identifiers that have a target, or are bound to it: as many as `warn_of_others` needs."""
    from idstore.model.names import ENOUGH

    return [] if target is None else [*registry.bound_to(target, party, ENOUGH)]


def warn_of_others(call: "Call", target: str | None, others: "Sequence[str]") -> None:
    """Warn of other identifiers of a target, if there are any."""
    from idstore.model.names import already_leading

    if others:
        call.output.warn(already_leading(str(target), others))


def columns(
    column: list[str] | None,
    base: list[str] | None,
    relation: list[str] | None,
) -> "Columns":
    """Return the column mapping that the options describe. Raises UsageError."""
    from idstore.exchange.columns import Columns

    bases = _pairs(base, "--base subject=info:pronom/")
    if not bases.keys() <= {"subject", "target"}:
        raise UsageError("--base is for subject or target, as in --base subject=info:pronom/")
    for end, text in bases.items():
        _check_iri(text, f"--base {end}={text}")
    mapped = [text for text in relation or [] if "=" in text]
    bare = [text for text in relation or [] if "=" not in text]
    relations = {
        name: relation_iri(iri) for name, iri in _pairs(mapped, "--relation hasMime=dcterms:format").items()
    }
    defaults = [relation_iri(text) for text in bare]
    for text in (*relations.values(), *defaults):
        _check_iri(text, f"--relation {text}")
    columns = Columns(_pairs(column, "--column subject=puid"), bases, relations)
    return replace(columns, relation=defaults[-1]) if defaults else columns


def relation_iri(text: str) -> str:
    """Return the IRI of a relation in an option, which may be a prefixed name. Raises UsageError."""
    from idstore.errors import InvalidData
    from idstore.registry import iris

    try:
        return iris.expanded(text, {})
    except InvalidData as error:
        raise UsageError(f"--relation {text}: {error.message}") from error


def _check_iri(text: str, option: str) -> None:
    """Raise UsageError if the value of an option is not an IRI."""
    from idstore.errors import InvalidData
    from idstore.model import terms

    try:
        terms.iri(text)
    except InvalidData as error:
        raise UsageError(f"{option}: {error.message}") from error


def _pairs(texts: list[str] | None, example: str) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts or []]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise UsageError(f"{name + sign + value!r} is no NAME=VALUE; write it as in {example}")
    return {name: value for name, _, value in pairs}


def timestamp(text: str | None, *, ahead: bool = False) -> "datetime | None":
    """Return the `moment` that a text stands for, or None. Raises InvalidData."""
    return None if text is None else moment(text, ahead=ahead)


def moment(text: str, *, ahead: bool = False) -> "datetime":
    """Return the moment of a date, a time, ``today``, ``yesterday``, or ``30d`` (days ago).

    ahead  whether ``30d`` is 30 days from now.
    Raises InvalidData.
    """
    from idstore.errors import InvalidData
    from idstore.model import times

    days = re.fullmatch(r"([0-9]{1,6})d", text)
    if days is not None:
        return times.of(times.now() + int(days[1]) * times.DAY * (1 if ahead else -1))
    if text in ("today", "yesterday"):
        return times.of((times.day(times.now()) - (text == "yesterday")) * times.DAY)
    try:
        return times.parse(text)
    except InvalidData as error:
        if re.match("[0-9]{4}-", text):
            raise
        raise InvalidData(
            f"{error.message}, or today, yesterday, or 30d", field=error.field, text=text
        ) from None


def finite(value: float) -> float:
    """Return the number. Raises BadParameter: it is NaN or too large."""
    if not abs(value) <= _MAXIMUM:  # written so that NaN is refused as well
        raise typer.BadParameter(f"{value:g} is not a number, or too large; give one up to {_MAXIMUM:g}")
    return value


def confidence(text: str) -> "Decimal":
    """Return the confidence as a number. Raises InvalidData."""
    from decimal import Decimal, InvalidOperation

    from idstore.errors import InvalidData

    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidData(f"{text!r} is not a confidence; give a number from 0 to 1", text=text) from None


def successors(ids: Sequence[str], by: Sequence[str] | None) -> tuple[str, list[str]]:
    """Split ``ID --by A B`` into the identifier and its successors. Raises UsageError."""
    id, *more = ids
    if more and not by:
        raise UsageError(f"give the successors of {id} after --by")
    return id, [*(by or []), *more]


def unknown_party_warning(name: str) -> str:
    """Return the warning for a party that the registry does not know."""
    return f"party {name!r} was never added and has never acted; check the spelling"


def warn_of_unseen(call: "Call", unseen: Unseen, remedy: str) -> None:
    """Warn of parties that get a right, and that the acting party does not know: see `unseen_parties`."""
    from difflib import get_close_matches

    for name, known in unseen.items():
        nearest = next(iter(get_close_matches(name, known, 1)), "")
        meant = f" (perhaps {nearest}?)" if nearest else ""
        call.output.warn(
            f"no party {name!r} was added here, and none has acted as far as you see{meant};"
            f" if the name is misspelt, {remedy}"
        )


def unseen_parties(registry: "Registry", names: "Iterable[str]", party: "Party") -> Unseen:
    """Return the parties that were neither added nor have acted, as far as the acting party sees.

    `warn_of_unseen` looks for the nearest known name of each: with many parties that takes long, and must not
    hold up the store.
    """
    from idstore.model.filter import Filter
    from idstore.model.party import Party

    known = {one.name for one in registry.parties(party)} | {party.name}
    return {
        name: known
        for name in dict.fromkeys(Party(text).name for text in names)
        if name not in known and next(iter(registry.log(party, Filter(party=name))), None) is None
    }


def is_namespace(registry: "Registry", text: str) -> bool:
    """Return whether a text is a namespace's name or base.

    Raises UnknownNamespace: there are no namespaces.
    """
    try:
        registry.namespace(text)
    except UnknownNamespace:
        if not registry.namespaces():
            raise
        return False
    return True
