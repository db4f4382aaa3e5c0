"""``idstore init`` and ``idstore stats``: the registry as a whole."""

from collections import Counter
from enum import StrEnum
from typing import Annotated

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError


def init(
    call: Call,
    administrator: Annotated[
        str | None, typer.Option(metavar="NAME", help="The first administrator. [default: the acting party]")
    ] = None,
) -> None:
    """Create a store, with its first administrator.

    A folder that is made is for your account alone. To share a store with colleagues, first make the folder,
    give it their group and mode 2770.
    """
    from idstore.model.party import Party

    party = Party(administrator or call.user)
    path = session.initialize(call, party)
    call.output.data(str(path), {"store": str(path), "administrator": party.name})


class Grouping(StrEnum):
    """What identifiers are counted by."""

    MONTH = "month"
    PARTY = "party"
    NAMESPACE = "namespace"


def stats(
    call: Call,
    days: Annotated[
        bool, typer.Option("--days", help="Count by day of creation and namespace instead.")
    ] = False,
    by: Annotated[Grouping | None, typer.Option("--by", help="Count by one of these alone instead.")] = None,
    pace: Annotated[
        bool, typer.Option("--pace", help="Show the allocation rate of each party instead.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help=f"With --pace: allocations at or after {arguments.MOMENTS}. [default: a day ago]",
        ),
    ] = None,
) -> None:
    """Count the identifiers that you may see.

    By namespace, stage and owner, with the total in the last line. With --pace by party: the total, the
    largest number in a minute, and that minute. The columns are separated by tabs. With --json prints one
    object; with --pace one for each party, with --by one for each group. A month is that of creation.
    """
    if sum((pace, days, by is not None)) > 1:
        raise UsageError("give one of --by, --days and --pace")
    if since is not None and not pace:
        raise UsageError("--since is for --pace; `idstore list --since` lists what is new")
    if pace:
        _print_pace(call, since)
    elif by is not None:
        _print_groups(call, by)
    else:
        _print_counts(call, days=days)


def _print_groups(call: Call, by: Grouping) -> None:
    """Print how many identifiers there are in each month, of each owner, or in each namespace."""
    from idstore.model import times

    counts, names = session.read(
        call,
        lambda registry, party: (
            registry.counts(party),
            {namespace.base: namespace.name for namespace in registry.namespaces()},
        ),
    )
    groups = Counter[str]()
    if by is Grouping.MONTH:
        for day, _, count in counts.days:
            groups[times.day_text(day)[: len("2026-11")]] += count
    else:
        for base, owner, _, count in counts.tallies:
            groups[owner if by is Grouping.PARTY else names[base]] += count
    call.output.heading(str(by.value), "count")
    for group, count in sorted(groups.items()):
        call.output.data(f"{group}\t{count}", {str(by.value): group, "count": count})


def _print_pace(call: Call, since: str | None) -> None:
    from idstore.model import times

    start = times.of(times.now() - times.DAY) if since is None else arguments.moment(since)
    paces = session.read(call, lambda registry, party: registry.pace(party, start))
    if paces:
        call.output.heading("party", "total", "most in a minute", "minute")
    for pace in paces:
        minute = times.iso(pace.minute)
        fields = {"party": pace.party, "total": pace.total, "most": pace.most, "minute": minute}
        call.output.data("\t".join(map(str, fields.values())), fields)


def _print_counts(call: Call, *, days: bool) -> None:
    from idstore.model import times

    counts, names = session.read(
        call,
        lambda registry, party: (
            registry.counts(party),
            {namespace.base: namespace.name for namespace in registry.namespaces()},
        ),
    )
    tallies = sorted((names[base], stage, owner, count) for base, owner, stage, count in counts.tallies)
    by_owner = [
        {"namespace": name, "stage": stage, "owner": owner, "count": count}
        for name, stage, owner, count in tallies
    ]
    by_day = [
        {"day": times.day_text(day), "namespace": names[base], "count": count}
        for day, base, count in counts.days
    ]
    call.output.heading(*(("day", "namespace") if days else ("namespace", "stage", "owner")), "count")
    lines = ["\t".join(map(str, row.values())) for row in (by_day if days else by_owner)]
    call.output.data(
        "\n".join([*lines, f"total\t{counts.total}"]),
        {"total": counts.total, "counts": by_owner, "days": by_day},
    )
