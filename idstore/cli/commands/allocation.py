"""``idstore mint``, ``register`` and ``derive``: new identifiers."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, exits, session
from idstore.cli.options import Call
from idstore.errors import InvalidData
from idstore.schemes import Deriving

if TYPE_CHECKING:
    from idstore.cli.records import Described
    from idstore.exchange.metadata import Entry
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.allocation import Allocating, Request
    from idstore.registry.resolving import Derivation

    Said = tuple[Entry | None, dict[str, str]]
    _Made = tuple[Described, list[str]]


class Kind(StrEnum):
    """What can be minted below an article."""

    PDF = "pdf"
    XML = "xml"
    FILE = "file"
    EVENT = "event"


Name = Annotated[str | None, typer.Option(metavar="T", help="What people call the thing.")]
Lang = Annotated[str | None, typer.Option(metavar="L", help="The language of the name: en, pt-br.")]
Comment = Annotated[str | None, typer.Option(metavar="T", help="A comment for the grant list; public after fixation.")]
Target = Annotated[str | None, typer.Option(metavar="URI", help="What it identifies, and leads to.")]
Key = Annotated[str | None, typer.Option(metavar="K", help="A key of yours: the same key gives the same identifier again, for ever.")]


def mint(
    call: Call,
    namespace: arguments.Namespace,
    name: Name = None,
    lang: Lang = None,
    comment: Comment = None,
    target: Target = None,
    request_key: Key = None,
    file: Annotated[
        str | None,
        typer.Option("--metadata", metavar="FILE", help="What it is derived from: JSON, as for derive; one for each object."),
    ] = None,
    parent: Annotated[str | None, typer.Option(metavar="ID", help="The article that the new identifier is below; with --kind.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="What it is of the article.")] = None,
    type_: Annotated[str | None, typer.Option("--type", metavar="T", help="The type of a PUID: x-fmt, fmt.")] = None,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="Allocate so many, in schemes that give out several at once.")] = 1,
) -> None:
    """Allocate an identifier that nobody holds, and print its IRI.

    It is on disk when it is printed. Only its grant list sees it until it is fixated.
    """
    if (parent is None) != (kind is None):
        raise arguments.Misuse("--parent and --kind go together")
    said = _said(file, kind, type_)
    if request_key is not None and len(said) > 1:
        raise arguments.Misuse(f"--request-key stands for one identifier, and {file} describes {len(said)}")
    base = request_of(name, lang, comment, target, request_key)
    made: list[tuple[Described, list[str]]] = []

    def act(registry: "Registry", party: "Party") -> None:
        below = {} if parent is None else {"parent": registry.identify(parent, party)}
        if len(said) > 1 and not below:
            _derive_all(registry, namespace, said)
        for entry, values in said:
            request = replace(base, metadata={**values, **below})
            with _at(entry):
                if count == 1:
                    made.append(_allocate(call, registry, party, request, namespace, None))
                else:
                    made.extend(_allocate_several(registry, party, request, namespace, count))

    def act_briefly(registry: "Allocating", party: "Party") -> None:
        [(entry, values)] = said
        with _at(entry):
            made.append((_given(registry, party, replace(base, metadata=values), namespace, None), []))

    try:
        if len(said) == count == 1 and parent is None and _is_brief(call, base):
            session.allocate(call, act_briefly)
        else:
            session.write(call, act)
    finally:  # what was minted is there, whatever came after it
        for record, others in made:
            _print(call, record, target, others)


def register(
    call: Call,
    namespace: arguments.Namespace,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The label, or the whole identifier in any written form.")],
    name: Name = None,
    lang: Lang = None,
    comment: Comment = None,
    target: Target = None,
    request_key: Key = None,
) -> None:
    """Take a label of your choice, and print its IRI.

    Only in schemes that let people name things.
    """
    request = request_of(name, lang, comment, target, request_key)
    others: list[str] = []
    if _is_brief(call, request):
        made = session.allocate(call, lambda registry, party: _given(registry, party, request, namespace, label))
    else:
        made, others = session.write(call, lambda registry, party: _allocate(call, registry, party, request, namespace, label))
    _print(call, made, target, others)


def derive(
    call: Call,
    namespace: arguments.Namespace,
    file: Annotated[
        str, typer.Option("--metadata", metavar="FILE", help="JSON objects, one a line, or a single one; - is standard input.")
    ],
) -> int:
    """Print the identifiers that articles' metadata give.

    Before collisions are looked at; --json tells whether the label is taken, or given by an earlier line. Nothing is written.
    Keys: issn, volume, issue, page (as printed), title, doi; an absent key means that the source has none. A bad line is
    reported, gives an empty line, and exit code 3 at the end.
    """
    from idstore.exchange import metadata

    entries = list(metadata.entries(file))
    found = session.read(call, lambda registry, _: list(_derivations(registry, namespace, entries)))
    for made in found:
        if isinstance(made, InvalidData):
            call.output.failure(made.code, made.message, made.fields)
            print()
        else:
            call.output.data(
                made.iri,
                {"id": made.iri, "label": made.label, "namespace": namespace, "collides": made.collides, "extensions": [*made.extensions]},
            )
    return exits.INVALID if any(isinstance(made, InvalidData) for made in found) else exits.DONE


def _derivations(registry: "Registry", namespace: str, entries: "Iterable[Entry]") -> "Iterator[Derivation | InvalidData]":
    registry.namespace(namespace)
    derived: set[str] = set()
    for entry in entries:
        try:
            said = entry.fields()
            with _at(entry):
                made = registry.derive(namespace, said, derived)
        except InvalidData as error:
            yield error
        else:
            derived.add(made.iri)
            yield made


def _derive_all(registry: "Registry", namespace: str, said: "Iterable[Said]") -> None:
    """Find what is wrong with any of several articles before the first is minted. Raises InvalidData."""
    if isinstance(registry.namespace(namespace).scheme, Deriving):
        for entry, values in said:
            with _at(entry):
                registry.derive(namespace, values)


def _said(file: str | None, kind: Kind | None, type_: str | None) -> "list[Said]":
    """What the command line says for the scheme, once for each identifier to mint. Raises InvalidData."""
    options = {key: str(value) for key, value in (("kind", kind), ("type", type_)) if value is not None}
    if file is None:
        return [(None, options)]
    from idstore.exchange import metadata

    return [(entry, {**entry.fields(), **options}) for entry in metadata.entries(file)]


@contextmanager
def _at(entry: "Entry | None") -> Iterator[None]:
    """Have an error in what an object says tell where it stands."""
    try:
        yield
    except InvalidData as error:
        if entry is None:
            raise
        place = {"file": entry.file, "line": entry.line}
        raise InvalidData(f"{entry.file}, line {entry.line}: {error.message}", **{**error.fields, **place}) from error


def request_of(name: str | None, lang: str | None, comment: str | None, target: str | None, key: str | None) -> "Request":
    """What comes with a new identifier. Raises a usage error."""
    from idstore.model.terms import UNDETERMINED
    from idstore.registry.allocation import Request

    if lang is not None and name is None:
        raise arguments.Misuse("--lang is the language of --name")
    return Request(name, lang or UNDETERMINED, comment, target, key)


def _is_brief(call: Call, request: "Request") -> bool:
    """Whether nothing is asked of the store but to allocate; see `session.allocate`."""
    return request.target is None and request.request_key is None and not _shows_comment(call, request)


def _shows_comment(call: Call, request: "Request") -> bool:
    return call.output.json and request.comment is not None


def _allocate(
    call: Call, registry: "Registry", party: "Party", request: "Request", namespace: str, label: str | None
) -> "tuple[Described, list[str]]":
    """The new record, and what is bound already to its target."""
    from idstore.cli.records import described

    bound = [] if request.target is None else registry.bound_to(request.target, party)
    made = _given(registry, party, request, namespace, label)
    if _shows_comment(call, request):
        [made] = described(registry, party, [made.record], remarks=True)
    return made, [iri for iri in bound if iri != made.iri]


def _given(registry: "Allocating", party: "Party", request: "Request", namespace: str, label: str | None) -> "Described":
    """The new record."""
    from idstore.cli.records import Described

    record = registry.mint(namespace, party, request) if label is None else registry.register(namespace, label, party, request)
    return Described(record, registry.home(record))


def _allocate_several(registry: "Registry", party: "Party", request: "Request", namespace: str, count: int) -> "Iterator[_Made]":
    """New records, one after the other."""
    from idstore.cli.records import described

    for record in registry.mint_several(namespace, count, party, request):
        [made] = described(registry, party, [record], remarks=request.comment is not None)
        yield made, []


def _print(call: Call, made: "Described", target: str | None, others: list[str]) -> None:
    if others:
        call.output.warn(f"{target} is identified already by {', '.join(others)}")
    call.output.data(made.iri, made.json())
