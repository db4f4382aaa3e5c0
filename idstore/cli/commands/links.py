"""``idstore links``: check of the targets of identifiers."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from idstore.cli import arguments, inputs, session
from idstore.cli.call import Call
from idstore.cli.output_files import check_outside_stores
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry

DAY = 86_400_000


Fresh = Annotated[
    float,
    typer.Option(
        metavar="DAYS",
        min=0,
        callback=arguments.finite,
        help="Do not check targets again whose results are at most this old.",
    ),
]
Delay = Annotated[
    float,
    typer.Option(
        metavar="S", min=0, callback=arguments.finite, help="Seconds between two requests to one host."
    ),
]
Timeout = Annotated[
    float,
    typer.Option(metavar="S", min=0.1, callback=arguments.finite, help="Seconds to wait for an answer."),
]
Private = Annotated[bool, typer.Option("--private", help="Check addresses of the local network as well.")]


def links(
    call: Call,
    results: Annotated[
        Path,
        typer.Option(
            "--results",
            metavar="FILE",
            help="The file of results, to which a dated row is added for each answer.",
        ),
    ],
    namespace: Annotated[
        str | None, typer.Option(metavar="N", help="Only this namespace's identifiers.")
    ] = None,
    fresh: Fresh = 7.0,
    delay: Delay = 1.0,
    timeout: Timeout = 10.0,
    private: Private = False,
) -> None:
    """Check whether the targets of identifiers answer, and print those that do not.

    Each target is requested once, with a delay for each host. An interrupted check continues where it
    stopped. The columns are outcome, identifier, target, status, new location and details, separated by tabs;
    targets that answer are counted.
    """
    from idstore.exchange import link_check
    from idstore.model import times

    if str(results) == inputs.STDIN:
        raise UsageError("--results needs a file, not standard output; write ./- for a file with the name -")
    check_outside_stores(results)
    rows = link_check.read(results)
    with session.open_reader(call, detached=True) as (registry, party):
        targets = [*_targets(registry, party, namespace)]
    since = times.of(times.now() - round(fresh * DAY))
    pending = {target for _, target in targets if not link_check.is_fresh(rows.get(target), since)}
    call.output.info(f"idstore: {len({target for _, target in targets})} targets, {len(pending)} to check")
    unresolved = 0
    for number, answer in enumerate(
        link_check.write(
            results, link_check.check_all(pending, link_check.Politeness(delay, timeout, private))
        ),
        1,
    ):
        unresolved += answer.detail == link_check.NAMELESS
        if call.output.shows_progress:
            call.output.info(f"{number} of {len(pending)}: {answer.outcome} {answer.target}")
    if unresolved:
        call.output.warn(
            f"{unresolved} targets were not checked, because {link_check.NAMELESS}; "
            "check the network of this machine, and run the command again"
        )
    rows = link_check.read(results)
    tally: Counter[str] = Counter()
    if targets:
        call.output.heading("outcome", "identifier", "target", "status", "location", "detail")
    for iri, target in targets:
        row = dict(zip(link_check.HEADER, rows.get(target, ()), strict=False))
        outcome = row.get("outcome", "unsure")
        tally[outcome] += 1
        if outcome != "answers" or call.output.json:
            columns = (
                outcome,
                iri,
                target,
                row.get("status", ""),
                row.get("location", ""),
                row.get("detail", ""),
            )
            call.output.data("\t".join(columns).rstrip(), {"id": iri, **row})
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(tally.items()))
    call.output.info(f"idstore: {counts or 'no targets'}")


def _targets(registry: "Registry", party: "Party", namespace: str | None) -> Iterator[tuple[str, str]]:
    """Yield identifiers with their targets, without identifiers that have none."""
    from idstore.model.filter import Filter
    from idstore.model.names import Names

    names = Names(registry.namespaces())
    for record in registry.list(party, Filter(namespace=namespace), limit=None):
        target = record.resolves_to(names)
        if target is not None:
            yield record.iri, target
