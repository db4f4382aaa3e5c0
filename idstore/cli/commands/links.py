"""``idstore links``: which targets answer."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import inputs, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry

DAY = 86_400_000
_MOST: Final = 1_000_000.0
"""Seconds or days: more than anybody means, and less than what sockets take."""


def _finite(value: float) -> float:
    """The number; said so, NaN is refused as well, which is no less than any limit. Raises a usage error."""
    if not abs(value) <= _MOST:
        raise typer.BadParameter(f"{value:g} is too much, or no number; give one up to {_MOST:g}")
    return value


Fresh = Annotated[
    float, typer.Option(metavar="DAYS", min=0, callback=_finite, help="Results that are no older than this are not asked for again.")
]
Delay = Annotated[float, typer.Option(metavar="S", min=0, callback=_finite, help="Seconds between two questions to one host.")]
Timeout = Annotated[float, typer.Option(metavar="S", min=0.1, callback=_finite, help="Seconds to wait for an answer.")]
Private = Annotated[bool, typer.Option("--private", help="Ask addresses of the local network as well.")]


def links(
    call: Call,
    results: Annotated[
        Path, typer.Option("--results", metavar="FILE", help="Where results are kept, a dated row for each answer; rows are added.")
    ],
    namespace: Annotated[str | None, typer.Option(metavar="N", help="Only this namespace's identifiers.")] = None,
    fresh: Fresh = 7.0,
    delay: Delay = 1.0,
    timeout: Timeout = 10.0,
    private: Private = False,
) -> None:
    """Ask whether the targets of identifiers answer, and report those that do not.

    Each target is asked for once, politely; stopped, it goes on where it was. The columns are outcome, identifier, target, status, where
    it moved to and details, divided by tabs; targets that answer are only counted.
    """
    from idstore.exchange import links as checking
    from idstore.model import times

    if str(results) == inputs.STDIN:
        raise Misuse("--results - names no file, and results are kept in one; a file of that name is ./-")
    known = checking.read(results)
    with session.reading(call, detached=True) as (registry, party):
        leading = [*_targets(registry, party, namespace)]
    since = times.now() - round(fresh * DAY)
    asked = {target for _, target in leading if not checking.is_fresh(known.get(target), since)}
    call.output.say(f"idstore: {len({target for _, target in leading})} targets, {len(asked)} to be asked for")
    nameless = 0
    for number, answer in enumerate(checking.write(results, checking.check_all(asked, checking.Manners(delay, timeout, private))), 1):
        nameless += answer.detail == checking.NAMELESS
        if call.output.shows_progress:
            call.output.say(f"{number} of {len(asked)}: {answer.outcome} {answer.target}")
    if nameless:
        call.output.warn(f"{nameless} targets were not asked, for {checking.NAMELESS}; look at this machine's network, and ask again")
    known = checking.read(results)
    tally: Counter[str] = Counter()
    for iri, target in leading:
        row = dict(zip(checking.HEADER, known.get(target, ()), strict=False))
        outcome = row.get("outcome", "unsure")
        tally[outcome] += 1
        if outcome != "answers" or call.output.json:
            said = (outcome, iri, target, row.get("status", ""), row.get("location", ""), row.get("detail", ""))
            call.output.data("\t".join(said).rstrip(), {"id": iri, **row})
    call.output.say(f"idstore: {', '.join(f'{many} {outcome}' for outcome, many in sorted(tally.items())) or 'no targets'}")


def _targets(registry: "Registry", party: "Party", namespace: str | None) -> Iterator[tuple[str, str]]:
    """Each identifier that leads somewhere, with its target."""
    from idstore.stores.catalogue import Selection

    for record in registry.list(party, Selection(namespace=namespace), limit=None):
        target = record.resolves_to()
        if target is not None:
            yield record.iri.value, target.value
