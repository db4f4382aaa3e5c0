"""``idstore export``."""

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Annotated, Any, cast

import typer

from idstore.cli import arguments, inputs, session
from idstore.cli.call import Call
from idstore.cli.commands.lookup import ListedStage
from idstore.cli.output_files import check_ending, open_output
from idstore.cli.progress import Progress
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.model.filter import Filter
    from idstore.model.party import Party
    from idstore.registry import Registry


def export(
    call: Call,
    namespace: Annotated[str | None, typer.Option(metavar="N", help="Only this namespace.")] = None,
    stage: Annotated[ListedStage | None, typer.Option(help="Only identifiers in this stage.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="U", help="Only this party's.")] = None,
    since: arguments.CreatedSince = None,
    until: arguments.CreatedUntil = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--after",
            metavar="SEQ",
            min=0,
            help="Changes after this sequence number, as an RDF Patch that another store can apply.",
        ),
    ] = None,
    description: Annotated[
        bool,
        typer.Option(
            "--description",
            help="A description of what --for-publication writes instead: VoID and DCAT, in Turtle.",
        ),
    ] = False,
    download: Annotated[
        list[str] | None,
        typer.Option(
            "--download",
            metavar="URL",
            help="With --description: the address of a file with the data, for others to load. Repeatable.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="T", help="With --description or sssom: the title of the data.")
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            "--license",
            metavar="IRI",
            help="With --description or sssom: the licence of the data. [default: what the namespaces state]",
        ),
    ] = None,
    digest: Annotated[
        bool,
        typer.Option(
            "--digest",
            help="A digest of the data instead: registries with equal data have equal digests.",
        ),
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help=(
                "turtle, trig, ntriples, nquads, jsonld, sssom, csv, xlsx, handle-batch, nginx-map or"
                " apache-map; rdf-patch with --after. [default: by the suffix of FILE, else turtle]"
            ),
        ),
    ] = None,
    changed_since: Annotated[
        str | None,
        typer.Option(
            "--changed-since",
            metavar="T",
            help="With handle-batch: only what changed after this date or time (UTC), that of an earlier"
            " file: 2026-11-20, 2026-11-20T11:17:35Z, today, yesterday, 30d.",
        ),
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="With csv or xlsx: one row for each identifier.")
    ] = False,
    for_publication: Annotated[
        bool,
        typer.Option(
            "--for-publication",
            help="Only what an anonymous caller sees, the same for every party: without events, comments,"
            " grant lists, and values that are not public.",
        ),
    ] = False,
    file: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The file to write; - is standard output.")
    ] = inputs.STDIN,
) -> None:
    """Write the data that you may see; equal states give equal bytes, but not with xlsx.

    A complete export by an administrator can be imported without loss; any other export is marked as partial.
    An extract (--namespace, --stage, --owner, --since, --until) also holds the namespaces and parties that
    it names, with their events, so that it can be imported.
    Tables (sssom, csv, xlsx) hold identifiers with their names and bindings, without the log.
    With --for-publication the file holds no log in any format: it is for other systems and people to read,
    and no import takes it. A redirect map (nginx-map, apache-map) holds the paths of published identifiers
    and where they lead. A warning tells what it leaves out, such as withdrawn identifiers.
    """
    from idstore.exchange import patch
    from idstore.model.filter import Filter

    partial = bool(namespace or stage or owner or since or until)
    chosen = format or _format_of(file)
    _check_options(
        of_state=not (description or digest or after is not None or chosen == patch.FORMAT),
        wide=wide,
        for_publication=for_publication,
        titled=bool(title or licence) and not description and chosen != "sssom",
        downloaded=bool(download) and not description,
        misplaced=changed_since is not None and (digest or chosen != "handle-batch"),
    )
    if description:
        if stage or owner or since or until or format or digest or after is not None:
            raise UsageError(
                "--description covers all that is published; it goes with --namespace, --title, --license,"
                " --download and --output"
            )
        check_ending(file, [".ttl"], "the description is in Turtle (.ttl)")
        _describe(call, file, namespace, title, licence, download or [])
    elif after is not None or (chosen == patch.FORMAT and not digest):
        if partial or digest or format not in (None, patch.FORMAT):
            raise UsageError(
                f"--after SEQ gives an {patch.FORMAT} of all data that you may see; leave other choices out"
            )
        if format is None:
            check_ending(
                file, [patch.SUFFIX], f"{patch.FORMAT} ends in {patch.SUFFIX}; or name it with --format"
            )
        _patch(call, file, after or 0)
    else:
        filter = Filter(
            namespace=namespace,
            stage=stage and stage.value,
            party=owner,
            since=arguments.timestamp(since),
            until=arguments.timestamp(until),
        )
        if not digest:
            choices = {
                "for_publication": for_publication,
                "changed_since": arguments.timestamp(changed_since),
            }
            _write(call, file, chosen, filter, choices, title=title, licence=licence, wide=wide)
        elif format or file != inputs.STDIN:
            raise UsageError(
                "--digest is the same for every format; it goes with the options of an extract only"
            )
        else:
            _digest(call, filter)


def _check_options(
    *, of_state: bool, wide: bool, for_publication: bool, titled: bool, downloaded: bool, misplaced: bool
) -> None:
    """Raise UsageError for options that do not go together.

    of_state  whether data of the present state are written, in one of their formats.
    titled    whether a title or a licence is given for what has none.
    downloaded  whether addresses of files are given for what has none.
    misplaced  whether a moment of changes is given for a format without.
    """
    if wide and not of_state:
        raise UsageError("--wide goes with --format csv or xlsx")
    if for_publication and not of_state:
        raise UsageError("--for-publication goes with the format of a state and the options of an extract")
    if titled:
        raise UsageError("--title and --license go with --description or --format sssom")
    if downloaded:
        raise UsageError("--download goes with --description")
    if misplaced:
        raise UsageError("--changed-since goes with --format handle-batch")


def _format_of(file: str) -> str:
    """Return the format for the suffix of the file to write, else turtle.

    Raises UsageError: the suffix is that of a format that is not written.
    """
    from idstore.exchange import patch, rdf, tables, workbooks
    from idstore.exchange.sources import ending

    suffix = ending(file)
    suffixes = {**rdf.SUFFIXES, patch.SUFFIX: patch.FORMAT, workbooks.SUFFIX: workbooks.FORMAT}
    table = tables.format_of(file)
    if table is None:
        check_ending(
            file, suffixes, "choose another one (JSON-LD is .jsonld), or name the format with --format"
        )
    return suffixes.get(suffix) or table or "turtle"


def _describe(
    call: Call,
    file: str,
    namespace: str | None,
    title: str | None,
    licence: str | None,
    downloads: list[str],
) -> None:
    from idstore.exchange.description import describe

    with open_output(file) as target, Progress(call.output) as progress:
        session.read(
            call,
            lambda registry, _: describe(
                registry,
                target,
                namespace=namespace,
                title=title,
                licence=licence,
                downloads=downloads,
                progress=progress.step,
            ),
            detached=True,
        )


def _patch(call: Call, file: str, after: int) -> None:
    from idstore.exchange import exporting, patch
    from idstore.model.filter import Filter

    with open_output(file) as target, Progress(call.output) as progress:
        tail = patch.Tail(target)
        session.read(
            call,
            lambda registry, party: exporting.export(
                registry,
                cast("IO[bytes]", tail),
                party,
                Filter(),
                patch.FORMAT,
                after=after,
                progress=progress.step,
            ),
            detached=True,
        )
    call.output.info(f"idstore: exported up to {tail.last}; continue with --after {tail.last}")


def _digest(call: Call, filter: "Filter") -> None:
    from idstore.exchange.digest import digest

    with Progress(call.output) as progress:
        result = session.read(
            call,
            lambda registry, party: digest(registry, party, filter, progress=progress.step),
            detached=True,
        )
    call.output.data(
        str(result), {"digest": str(result), "canonicalization": "RDFC-1.0", "statements": result.statements}
    )


def _write(
    call: Call,
    file: str,
    format: str,
    filter: "Filter",
    choices: Mapping[str, Any],
    **more: Any,
) -> None:
    """Write data in a format.

    choices  what decides which data; `omissions` depends on it, too.
    more     what else the format has.
    """
    from idstore.exchange import exporting

    if format not in exporting.FORMATS:
        raise UsageError(f"no format {format!r} to export to; there are {', '.join(exporting.FORMATS)}")
    omissions: list[str] = []

    def act(registry: "Registry", party: "Party") -> None:
        exporting.export(
            registry,
            target,
            party,
            filter,
            format,
            **choices,
            **more,
            progress=progress.step,
        )
        if format in exporting.SELECTIVE:
            omissions.extend(exporting.omissions(registry, party, filter, format, **choices))

    with open_output(file) as target, Progress(call.output) as progress:
        session.read(call, act, detached=True)
    for reason in omissions:
        call.output.warn(reason)
