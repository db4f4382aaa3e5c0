"""``idstore mint``, ``register`` and ``derive``: new identifiers."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, exits, giving, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.cli.giving import Said
from idstore.cli.loading import Loading, noting, tell_passed
from idstore.cli.output import Undelivered
from idstore.errors import InvalidData

if TYPE_CHECKING:
    from idstore.cli.records import Described
    from idstore.exchange.metadata import Entry
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.requests import Request
    from idstore.registry.resolving import Derivation

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
Key = Annotated[
    str | None, typer.Option(metavar="K", help="A key of yours: in this namespace it gives you the same identifier again, for ever.")
]


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
        typer.Option("--metadata", metavar="FILE", help="What it is derived from, as for derive; one for each article."),
    ] = None,
    parent: Annotated[str | None, typer.Option(metavar="ID", help="The article that the new identifier is below; with --kind.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="What it is of the article.")] = None,
    type_: Annotated[str | None, typer.Option("--type", metavar="T", help="The type of a PUID: x-fmt, fmt.")] = None,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="Allocate so many, in schemes that give out several at once.")] = 1,
) -> int:
    """Allocate an identifier that nobody holds, and print its IRI.

    It is on disk when it is printed. Only its grant list sees it until it is fixated.
    With --metadata there is one for each article, in order. The same DOI, or the same key of yours in the field key, gives the same
    identifier again, as it is: name, comment and target are not applied to it, and a warning says so. Of several articles a bad one is reported, gives an empty line, and exit code 3 at the end; the others are minted.
    """
    if (parent is None) != (kind is None):
        raise Misuse("--parent and --kind go together")
    said = Said.of(name, lang, comment, target, request_key)
    options = {key: str(value) for key, value in (("kind", kind), ("type", type_)) if value is not None}
    if file is not None:
        if count > 1:
            raise Misuse("--count does not go with --metadata, which gives one identifier for each article")
        if type_ is not None:
            raise Misuse("--type does not go with --metadata, for what is derived from metadata has no type of your choice")
        return _mint_all(call, namespace, said, file, options, parent)

    if count == 1 and parent is None and said.is_brief(call):
        return giving.give(call, said, namespace, options=options)

    made: list[_Made] = []

    def act(registry: "Registry", party: "Party") -> None:
        below = {} if parent is None else {"parent": registry.identify(parent, party)}
        request = said.request({**options, **below})
        if count > 1:
            made.extend(_allocate_several(registry, party, request, namespace, count))
        else:
            made.append(_allocate(call, registry, party, request, namespace, None))

    try:
        session.write(call, act)
    finally:  # what was minted is there, whatever came after it
        _tell_all(call, made, target)
    return exits.DONE


def _tell_all(call: Call, made: "Iterable[_Made]", target: str | None) -> None:
    """Print new identifiers, and go on behind one that cannot be printed. Raises Undelivered, BrokenPipeError."""
    failure: Undelivered | None = None
    for one, others in made:
        try:
            giving.tell(call, one, others, target)
        except Undelivered as error:
            failure = error
    if failure is not None:
        raise failure


def _mint_all(call: Call, namespace: str, said: Said, file: str, options: dict[str, str], parent: str | None) -> int:
    """Mint for each article of a file; print each when it is durable."""
    from idstore.exchange import metadata

    passed: dict[str, None] = {}
    found = noting(metadata.entries(file), passed)
    first = list(islice(found, 2))
    single = len(first) == 1
    if said.request_key is not None and not single:
        raise Misuse(f"--request-key stands for one identifier, and {file} describes several; give each a field key")
    loading = Loading(call, said.request(), options, single=single)

    def act(registry: "Registry", party: "Party") -> None:
        loading.run(registry, party, namespace, chain(first, found), parent)

    try:
        if single and parent is None and said.comment is None and said.is_brief(call) and not call.output.json:
            session.allocate(call, lambda registry, party: loading.one(registry, party, namespace, first[0]))
        else:
            session.write(call, act)
    finally:  # what was minted is there, whatever came after it
        loading.sum_up()
        tell_passed(call, [*passed])
    return exits.INVALID if loading.refused else exits.DONE


def register(
    call: Call,
    namespace: arguments.Namespace,
    label: Annotated[
        str, typer.Argument(metavar="LABEL", help="The label, or the whole identifier as its scheme writes it: full IRI, fmt/18, hdl:…")
    ],
    name: Name = None,
    lang: Lang = None,
    comment: Comment = None,
    target: Target = None,
    request_key: Key = None,
) -> int:
    """Take a label of your choice, and print its IRI.

    Only in schemes that let people name things.
    """
    said = Said.of(name, lang, comment, target, request_key)
    if said.is_brief(call):
        return giving.give(call, said, namespace, label)
    made, others = session.write(call, lambda registry, party: _allocate(call, registry, party, said.request(), namespace, label))
    giving.tell(call, made, others, target)
    return exits.DONE


def derive(
    call: Call,
    namespace: arguments.Namespace,
    file: Annotated[
        str,
        typer.Option("--metadata", metavar="FILE", help="Articles: JSON, CSL-JSON, Crossref's JSON, JATS or BibTeX; - is standard input."),
    ],
) -> int:
    """Print the identifiers that articles' metadata give.

    Before collisions are looked at; --json tells whether the label is taken, or given by an earlier article. Nothing is written.
    A JSON object has the keys issn, volume, issue, page (as printed), title, subtitle, doi; an absent key means that the source has none.
    Other keys are passed over, with a warning; but those that seem to be meant for an absent one of these (vol, pages, titel) are refused.
    A bad article is reported, gives an empty line, and exit code 3 at the end.
    """
    from idstore.exchange import metadata

    bad, passed = False, dict[str, None]()
    with session.reading(call, detached=True) as (registry, _):
        for made in _derivations(registry, namespace, noting(metadata.entries(file), passed)):
            if isinstance(made, InvalidData):
                bad = True
                call.output.failure(made.code, made.message, made.fields)
                print()
                continue
            for doubt in made.doubts:
                call.output.warn(f"{made.iri}: {doubt}")
            call.output.data(
                made.iri,
                {"id": made.iri, "label": made.label, "namespace": namespace, "collides": made.collides, "extensions": [*made.extensions]},
            )
    tell_passed(call, [*passed])
    return exits.INVALID if bad else exits.DONE


def _derivations(registry: "Registry", namespace: str, entries: "Iterable[Entry]") -> "Iterator[Derivation | InvalidData]":
    from idstore.cli.loading import placed

    registry.check_deriving(namespace)
    derived: set[str] = set()
    for entry in entries:
        try:
            made = registry.derive(namespace, entry.fields(), derived)
        except InvalidData as error:
            yield placed(entry, error)
        else:
            derived.add(made.iri)
            yield made


def _allocate(
    call: Call, registry: "Registry", party: "Party", request: "Request", namespace: str, label: str | None
) -> "tuple[Described, list[str]]":
    """The new record, and what is bound already to its target."""
    from idstore.cli.records import described

    bound = [] if request.target is None else registry.bound_to(request.target, party)
    made = giving.given(registry, party, request, namespace, label)
    if call.output.json:  # the same request may have made it before, and somebody commented on it since
        [made] = described(registry, party, [made.record], remarks=True)
    return made, [iri for iri in bound if iri != made.iri]


def _allocate_several(registry: "Registry", party: "Party", request: "Request", namespace: str, count: int) -> "Iterator[_Made]":
    """New records, one after the other."""
    from idstore.cli.records import described

    for record in registry.mint_several(namespace, count, party, request):
        [made] = described(registry, party, [record], remarks=request.comment is not None)
        yield made, []
