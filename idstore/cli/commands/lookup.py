"""Lookup of identifiers: ``idstore show``, ``list`` and ``resolve``."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.characters import printable
from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.commands.handle import Indexes, Types, print_values
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idstore.cli.records import RecordView
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.resolution import Resolution

LIMIT: Final = 100
_DOI: Final = "10."
"""Beginning of the prefixes of DOIs."""


class ListedStage(StrEnum):
    """Stages of the identifiers that are listed."""

    CREATED = "created"
    FIXATED = "fixated"
    TOMBSTONE = "tombstone"


def show(call: Call, id: arguments.Id) -> None:
    """Show an identifier with everything that you may see of it.

    Of an article also its files, its events and its old copies. A DOI that is no handle here shows the
    article that has it.
    """
    from dataclasses import replace

    from idstore.cli.records import record_views
    from idstore.model.filter import Filter

    def act(registry: "Registry", party: "Party") -> "tuple[RecordView, list[str]]":
        record = registry.show(id, party)
        articles = registry.list(party, Filter(doi=id)) if _DOI in id else []
        [view] = record_views(registry, party, [record], remarks=True)
        view = replace(view, parts=registry.parts(record, party))
        return view, [article.iri for article in articles if article.iri != record.iri]

    view, articles = session.read(call, act)
    for article in articles:
        call.output.warn(f"{article} is the article with this DOI")
    call.output.data(view.text(), view.json())


def list_(
    call: Call,
    namespace: Annotated[str | None, typer.Option(metavar="N", help="Only those in this namespace.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="U", help="Only this party's.")] = None,
    stage: Annotated[ListedStage | None, typer.Option(help="Only those in this stage.")] = None,
    deprecated: Annotated[
        bool, typer.Option("--deprecated", help="Only deprecated ones, superseded ones included.")
    ] = False,
    since: arguments.CreatedSince = None,
    until: arguments.CreatedUntil = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="T", help="As --until: older than 30d, or a date.")
    ] = None,
    bound_to: Annotated[
        str | None,
        typer.Option(
            metavar="URI", help="Only those bound to this URI, or with this target, in any written form."
        ),
    ] = None,
    without_name: Annotated[
        str | None,
        typer.Option(
            metavar="L", help="Only those without a name in this language; und: without a language."
        ),
    ] = None,
    doi: Annotated[
        str | None, typer.Option(metavar="DOI", help="Only the articles with this DOI, in any form.")
    ] = None,
    released: Annotated[
        bool,
        typer.Option(
            "--released", help="The released ones instead; their last owners and administrators see them."
        ),
    ] = False,
    lang: Annotated[
        str | None, typer.Option(metavar="L", help="Show names in this language, where there are some.")
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, max=10**12, help="The maximum number; 0: all.")
    ] = LIMIT,
) -> None:
    """List the identifiers that you may see, newest first.

    The columns are IRI, stage, owner, time of creation and name, separated by tabs.
    """
    from idstore.cli.records import COLUMNS, record_views
    from idstore.model.filter import Filter

    if until is not None and older_than is not None:
        raise UsageError("give --until or --older-than; they mean the same")
    filter = Filter(
        namespace=namespace,
        party=owner,
        stage=stage and stage.value,
        since=arguments.timestamp(since),
        until=arguments.timestamp(until if older_than is None else older_than),
        deprecated=deprecated,
        without_name=without_name and without_name.lower(),
        doi=doi,
        released=released,
    )
    if released and bound_to is not None:
        raise UsageError("released identifiers have no bindings; leave --bound-to or --released out")
    maximum = limit + 1 if limit else None

    def act(registry: "Registry", party: "Party") -> "list[RecordView]":
        records = (
            registry.list(party, filter, limit=maximum)
            if bound_to is None
            else registry.list_bound(bound_to, party, filter, limit=maximum)
        )
        return record_views(registry, party, records, remarks=call.output.json)

    views = session.read(call, act)
    if views:
        call.output.heading(*COLUMNS)
    for view in views[: limit or None]:
        call.output.data(view.line(lang), view.json() if call.output.json else {})
    if not views:
        call.output.info("idstore: nothing to list")
    if limit and len(views) > limit:
        call.output.warn(f"only the newest {limit} are listed; --limit N lists more, --limit 0 all")


def resolve(
    call: Call,
    id: arguments.Id,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Check whether the target answers, and print the result on standard error."
        ),
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="With --check: check addresses of the local network as well.")
    ] = False,
    type_: Types = None,
    index: Indexes = None,
    ignore_aliases: Annotated[
        bool, typer.Option("--ignore-aliases", help="Do not follow aliases of the handle.")
    ] = False,
    locatt: Annotated[
        str | None,
        typer.Option(
            metavar="A:V", help="Of several locations (10320/loc) one with this attribute, such as id:1."
        ),
    ] = None,
    country: Annotated[
        str | None, typer.Option(metavar="C", help="Of several locations one for this country, such as gb.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="IP", help="Of several locations one for this address.")
    ] = None,
) -> None:
    """Print the target of an identifier.

    For a superseded identifier without a target, prints the target of its only successor, or else the IRIs of
    the latest successors, one a line; a warning lists the successions. For any other identifier without a
    target, prints the target of its owner's first binding by skos:exactMatch or owl:sameAs. For a withdrawn
    identifier (tombstone), prints reason, date and successors. For a handle that is an alias, prints the
    target of the other handle; with --type or --index, the data of these values. For an article that was
    replaced and has no target since, prints the IRIs of both copies.
    """
    from idstore.registry.resolution import ResolutionOptions
    from idstore.schemes import locations

    location = locations.Client(() if locatt is None else (locatt,), country, address)
    question = ResolutionOptions(tuple(type_ or ()), tuple(index or ()), not ignore_aliases, location)
    resolution = session.read(call, lambda registry, party: registry.resolve(id, party, question))
    record = resolution.asked
    if (
        record.deprecated and record.stage.value != ListedStage.TOMBSTONE
    ):  # a tombstone's answer has the same facts
        details = [record.reason or "", *_successions(resolution)]
        call.output.warn(f"{record.iri} is deprecated: {'; '.join(filter(None, details))}")
    answer = resolution.answer
    if answer.iri != record.iri and answer.deprecated and answer.stage.value != ListedStage.TOMBSTONE:
        call.output.warn(f"{answer.iri} is deprecated too{f': {answer.reason}' if answer.reason else ''}")
    if resolution.copies:
        article = resolution.copies[0]
        call.output.warn(
            f"{article.iri} was replaced, and its new copy has no target yet: these are both copies;"
            f" ask its owner {article.owner} to set one (idstore target)"
        )
    if resolution.values:
        print_values(call, resolution.values)
        return
    fields = _resolution_json(resolution)
    if check and resolution.target is not None:
        fields["check"] = _check_target(call, resolution.target, private=private)
    answers = [copy.iri for copy in resolution.copies] or resolution.current
    target = resolution.target or "\n".join(answers)
    call.output.data(_tombstone_text(resolution) if resolution.buried else target, fields)


def _check_target(call: Call, target: str, *, private: bool) -> dict[str, str]:
    """Check a target, print the result, and return it."""
    from idstore.exchange import link_check

    answer = link_check.check(target, link_check.Politeness(private=private))
    result = {
        name: text
        for name, text in zip(link_check.HEADER, answer.row(), strict=True)
        if text and name != "target"
    }
    if not call.output.json:
        call.output.info(f"idstore: {' '.join(result.values())}")
    return result


def _successions(resolution: "Resolution") -> "Iterator[str]":
    """Yield the successions as texts, from the resolved identifier on."""
    for step in resolution.succession:
        subject = "" if step.iri == resolution.asked.iri else f"{step.iri} is "
        yield f"{subject}superseded by {', '.join('itself' if iri == step.iri else iri for iri in step.by)}"


def _tombstone_text(resolution: "Resolution") -> str:
    from idstore.model import times

    since = "" if resolution.ended is None else f" since {times.iso(resolution.ended)}"
    withdrawn = f"{resolution.answer.iri} is withdrawn, with its reason (tombstone){since}"
    lines = [f"{withdrawn}: {printable(resolution.answer.reason or '')}"]
    return "\n".join(lines + [f"replaced by {successor}" for successor in resolution.answer.successors])


def _resolution_json(resolution: "Resolution") -> dict[str, object]:
    from idstore.model import times

    answer = resolution.answer if resolution.buried else resolution.asked
    fields: dict[str, object] = {
        "id": resolution.asked.iri,
        "target": resolution.target,
        "path": [*resolution.path],
        "tombstone": resolution.buried,
        "supersededBy": list(answer.successors),
        "succession": [{"id": step.iri, "supersededBy": [*step.by]} for step in resolution.succession],
        "current": [*resolution.current],
    }
    if resolution.copies:
        fields["copies"] = [
            {"id": copy.iri, "target": copy.target and copy.target} for copy in resolution.copies
        ]
    if resolution.buried:
        fields |= {
            "reason": resolution.answer.reason,
            "date": None if resolution.ended is None else times.iso(resolution.ended),
        }
    return fields
