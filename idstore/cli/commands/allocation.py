"""``idstore mint``, ``register`` and ``derive``: new identifiers."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated
from unicodedata import normalize

import typer

from idstore.cli import arguments, exits, inputs, session
from idstore.cli.article_minting import ArticleMinter, collect_ignored_keys, warn_ignored_keys, with_location
from idstore.cli.call import Call
from idstore.cli.output import StdoutError
from idstore.cli.termination import UsageError
from idstore.errors import IdstoreError, InvalidData

if TYPE_CHECKING:
    from idstore.documents import Json
    from idstore.exchange.metadata import ArticleEntry
    from idstore.model.party import Party
    from idstore.model.record import Record
    from idstore.registry import Registry
    from idstore.registry.allocator import Allocator
    from idstore.registry.requests import Request
    from idstore.registry.resolution import Derivation

    _Allocation = tuple[str, Json, list[str]]
    """The IRI of a new record, the record (with ``--json``), and the other identifiers of its target."""


class FileKind(StrEnum):
    """Parts of an article that get identifiers of their own."""

    PDF = "pdf"
    XML = "xml"
    FILE = "file"
    EVENT = "event"


Name = Annotated[str | None, typer.Option(metavar="T", help="The name of the thing.")]
Lang = Annotated[str | None, typer.Option(metavar="L", help="The language of the name: en, pt-br.")]
Comment = Annotated[
    str | None,
    typer.Option(metavar="T", help="A comment for those who may see it (grant list); public once published."),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="URI", help="The IRI of what it identifies, to which it resolves; or a prefixed name: wd:Q42."
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="K",
        help="A key of your own: in this namespace the same key always returns the same identifier.",
    ),
]


Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Refuse an article with a field that has no known form, instead of a warning."
    ),
]


Table = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TABLE",
        help="A table (csv, tsv, xlsx), an identifier for each row; - is standard input, csv or tsv.",
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="With --from: where the table goes, with its identifiers."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="With --from: change nothing, and tell of each line.")
]


def build_request(
    call: Call,
    name: str | None,
    lang: str | None,
    comment: str | None,
    target: str | None,
    request_key: str | None,
    *,
    force: bool,
) -> "Request":
    """Return the request that the options of a command describe. Raises UsageError."""
    from idstore.model.terms import UNDETERMINED
    from idstore.registry.requests import Request

    if lang is not None and name is None:
        raise UsageError("--lang is the language of --name")
    arguments.warn_of_target(call, target)
    return Request(name, lang or UNDETERMINED, comment, target, request_key, force=force)


def mint(
    call: Call,
    namespace: arguments.Namespace,
    name: Name = None,
    lang: Lang = None,
    comment: Comment = None,
    target: Target = None,
    force: arguments.Force = False,
    request_key: Key = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--metadata", metavar="FILE", help="Metadata of articles, as for derive; one identifier for each."
        ),
    ] = None,
    strict: Strict = False,
    parent: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The article that it is a part of; with --kind."),
    ] = None,
    kind: Annotated[FileKind | None, typer.Option(help="The kind of part.")] = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="T", help="The type of a PUID: x-fmt, fmt.")
    ] = None,
    count: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Number of identifiers, in schemes that allocate several at once."
        ),
    ] = 1,
    table: Table = None,
    output: Output = inputs.STDIN,
    dry_run: DryRun = False,
) -> int:
    """Allocate a new identifier, and print its IRI.

    It is on disk when it is printed. Only those who may see it (its grant list) and administrators see it
    until it is published for ever (fixate). With
    --metadata there is one identifier for each article, in order. An article with the DOI of an earlier one,
    or the same key in the field key, gets the existing identifier unchanged: name, comment and target do not
    apply to it, and a warning says so. If one of several articles is invalid, an error names it, its line of
    output is empty, and the exit code is 3; the others are minted. With --from there is one identifier for
    each row of a table, all or none, and the table is printed with a column identifier. Columns are name,
    name@de, comment, target, exactMatch and other relations, key, and the fields of an article. A second run
    of the same table changes nothing.

    Undone by: release, until it is fixated; its label is never issued again.
    """
    _check_table(
        table, output, dry_run=dry_run, others=(file, parent, request_key, count if count > 1 else None)
    )
    if strict and (file or table) is None:
        raise UsageError("--strict goes with --metadata")
    if (parent is None) != (kind is None):
        raise UsageError("--parent and --kind go together")
    request = build_request(call, name, lang, comment, target, request_key, force=force)
    options = {key: str(value) for key, value in (("kind", kind), ("type", type_)) if value is not None}
    if table is not None:
        from idstore.cli.table_allocation import allocate_table

        request = replace(request, strict=strict, metadata=options)
        return allocate_table(call, namespace, table, request, output, labelled=False, dry_run=dry_run)
    if file is not None:
        if count > 1:
            raise UsageError(
                "--count does not go with --metadata, which gives one identifier for each article"
            )
        if type_ is not None:
            raise UsageError(
                "--type does not go with --metadata: an identifier derived from metadata has no chosen type"
            )
        return _mint_all(call, namespace, replace(request, strict=strict), file, options, parent)

    allocations: list[_Allocation] = []

    def act(registry: "Allocator", party: "Party") -> None:
        parent_field = {} if parent is None else {"parent": registry.identify(parent, party)}
        full_request = replace(request, metadata={**options, **parent_field})
        if count > 1:
            allocations.extend(_allocate_several(call, registry, party, full_request, namespace, count))
        else:
            allocations.append(_allocate(call, registry, party, full_request, namespace, None))

    try:
        session.allocate(call, act)
    finally:  # minted identifiers are durable, also when a later one fails
        _print_all(call, allocations, target)
        if target is not None and len(allocations) > 1:
            call.output.warn(f"{target} is the target of all {len(allocations)} new identifiers")
    return exits.DONE


def _print_all(call: Call, allocations: "Iterable[_Allocation]", target: str | None) -> None:
    """Print new identifiers, and continue after one that cannot be printed.

    Raises StdoutError, BrokenPipeError.
    """
    failure: OSError | None = None
    for iri, document, others in allocations:
        try:
            print_allocated(call, iri, document, others, target)
        except (StdoutError, BrokenPipeError) as error:
            failure = error
    if failure is not None:
        raise failure


def print_allocated(call: Call, iri: str, document: "Json", others: list[str], target: str | None) -> None:
    """Print a new identifier, after a warning on other identifiers of its target.

    document  its record, for ``--json``.
    """
    arguments.warn_of_others(call, target, others)
    call.output.new_identifier(iri, document)


def _mint_all(
    call: Call, namespace: str, request: "Request", file: str, options: dict[str, str], parent: str | None
) -> int:
    """Mint an identifier for each article of a file, print each when durable, and return the exit code."""
    from idstore.exchange import metadata

    ignored: dict[str, None] = {}
    entries = collect_ignored_keys(metadata.entries(file), ignored)
    first = list(islice(entries, 2))
    single = len(first) == 1
    if request.request_key is not None and not single:
        raise UsageError(
            f"--request-key is for one identifier, and {file} describes several; give each a field key"
        )
    minter = ArticleMinter(call, request, options, single=single)

    def act(registry: "Registry", party: "Party") -> None:
        minter.run(registry, party, namespace, chain(first, entries), parent)

    try:
        session.write(call, act)
    finally:  # minted identifiers are durable, also when a later one fails
        minter.print_summary()
        warn_ignored_keys(call, [*ignored])
    return exits.INVALID if minter.refused else exits.DONE


def _check_table(table: str | None, output: str, *, dry_run: bool, others: Sequence[object]) -> None:
    """Raise UsageError: options for tables are given without one, or a table with ``others``."""
    if table is None and (output != inputs.STDIN or dry_run):
        raise UsageError("-o and --dry-run go with --from")
    if table is not None and any(other is not None for other in others):
        raise UsageError("--from goes with none of --metadata, --parent, --count and --request-key")


def register(
    call: Call,
    namespace: arguments.Namespace,
    label: Annotated[
        str | None,
        typer.Argument(
            metavar="LABEL",
            help="The label, or the whole identifier in a form of its scheme: full IRI, fmt/18, hdl:…",
        ),
    ] = None,
    name: Name = None,
    lang: Lang = None,
    comment: Comment = None,
    target: Target = None,
    force: arguments.Force = False,
    request_key: Key = None,
    table: Table = None,
    output: Output = inputs.STDIN,
    dry_run: DryRun = False,
) -> int:
    """Register a label of your choice, and print its IRI.

    Only in schemes with chosen labels. With --from the labels are the column label of a table; the rest is as
    for mint.

    Undone by: release, until it is fixated; its label is never issued again.
    """
    if (label is None) == (table is None):
        raise UsageError("give a label, or a table of labels with --from")
    _check_table(table, output, dry_run=dry_run, others=(request_key,))
    request = build_request(call, name, lang, comment, target, request_key, force=force)
    if table is not None:
        from idstore.cli.table_allocation import allocate_table

        return allocate_table(call, namespace, table, request, output, labelled=True, dry_run=dry_run)
    iri, document, others = session.allocate(
        call, lambda registry, party: _allocate(call, registry, party, request, namespace, label)
    )
    print_allocated(call, iri, document, others, target)
    return exits.DONE


def derive(
    call: Call,
    namespace: arguments.Namespace,
    file: Annotated[
        str,
        typer.Option(
            "--metadata",
            metavar="FILE",
            help="Articles: JSON, CSL-JSON, Crossref's JSON, JATS, BibTeX or RIS; - is standard input.",
        ),
    ],
    strict: Strict = False,
) -> int:
    """Print the identifiers that are derived from the metadata of articles.

    Collisions are not resolved; with --json a field says whether the label is taken, or derived for an
    earlier article. Nothing is written. A JSON object has the keys issn, volume, issue, page (as printed),
    title, subtitle, doi; an absent key means that the source has no value. Other keys are ignored, with a
    warning; a misspelling of an absent key (vol, pages, titel) is an error. For an invalid article an error
    is printed, its line of output is empty, and the exit code is 3.
    """
    from idstore.exchange import metadata

    failed, ignored = False, dict[str, None]()
    with session.open_reader(call, detached=True) as (registry, _):
        entries = collect_ignored_keys(metadata.entries(file), ignored)
        for entry, result in _derivations(registry, namespace, entries, strict=strict):
            if isinstance(result, InvalidData):
                failed = True
                call.output.error(result.code, result.message, result.details())
                print()
                continue
            for doubt in (*entry.doubts, *result.doubts):
                call.output.warn(f"{result.iri}: {doubt}")
            call.output.data(
                result.iri,
                {
                    "id": result.iri,
                    "label": result.label,
                    "namespace": namespace,
                    "collides": result.collides,
                    "extensions": [*result.extensions],
                },
            )
    warn_ignored_keys(call, [*ignored])
    return exits.INVALID if failed else exits.DONE


def _derivations(
    registry: "Registry", namespace: str, entries: "Iterable[ArticleEntry]", *, strict: bool
) -> "Iterator[tuple[ArticleEntry, Derivation | InvalidData]]":
    registry.check_deriving(namespace)
    derived: set[str] = set()
    for entry in entries:
        try:
            derivation = registry.derive(namespace, entry.fields(strict=strict), strict=strict)
        except InvalidData as error:
            yield entry, with_location(entry, error)
        else:
            yield entry, replace(derivation, collides=derivation.collides or derivation.iri in derived)
            derived.add(derivation.iri)


def _allocate(
    call: Call, registry: "Allocator", party: "Party", request: "Request", namespace: str, label: str | None
) -> "_Allocation":
    """Allocate an identifier, and return what is printed of it."""
    from idstore import wrapped
    from idstore.cli.records import new_record_json

    bound = arguments.leading_to(registry, request.target, party)
    record = (
        registry.mint(namespace, party, request)
        if label is None
        else registry.register(namespace, label, party, request)
    )
    # a request key may return an existing record, which may have comments
    remarks = (request.comment, request.request_key) != (None, None)
    document = new_record_json(call.output, registry, party, record, remarks=remarks)
    if label is not None and (doubt := wrapped.doubt(record.label)):
        call.output.warn(doubt)
    if label is not None and not record.label.isascii():
        _warn_of_other_form(call, registry, party, record)
    return record.iri, document, [iri for iri in bound if iri != record.iri]


def _warn_of_other_form(call: Call, registry: "Allocator", party: "Party", record: "Record") -> None:
    """Warn of an identifier whose label differs only in how Unicode composes its letters."""
    for other in {normalize(form, record.label) for form in ("NFC", "NFD")} - {record.label}:
        with suppress(IdstoreError):  # none is registered, or the registry cannot be read: the record exists
            namespace = registry.home(record)
            twin = registry.identify(namespace.scheme.iri(other, namespace.context), party)
            call.output.warn(
                f"{twin} looks the same: its letters are composed differently (Unicode NFC, NFD)"
            )


def _allocate_several(
    call: Call, registry: "Allocator", party: "Party", request: "Request", namespace: str, count: int
) -> "Iterator[_Allocation]":
    """Allocate identifiers, and yield them one by one, the first with the earlier ones of its target."""
    from idstore.cli.records import new_record_json

    bound = arguments.leading_to(registry, request.target, party)
    for record in registry.mint_several(namespace, count, party, request):
        remarks = request.comment is not None
        yield record.iri, new_record_json(call.output, registry, party, record, remarks=remarks), bound
        bound = []
