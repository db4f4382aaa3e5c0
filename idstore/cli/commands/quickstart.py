"""``idstore quickstart``: the main job on real data, told as it runs."""

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from idstore.cli import exits, session
from idstore.cli.call import STORE, Call
from idstore.cli.progress import Progress
from idstore.errors import AlreadyRegistered
from idstore.frozen import dataclass

if TYPE_CHECKING:
    from idstore.cli.output import Output
    from idstore.quickstart import Step, Told


@dataclass(frozen=True, slots=True)
class Place:
    """Where the store goes, and the export."""

    store: Path
    export: Path


def quickstart(call: Call) -> int:
    """See it work: registries of real identifiers, in a store of their own.

    The store is made in a new folder, or where --store says and nothing is yet; its export is left beside it (STORE.ttl). Each step is explained, and said with the command
    that does the same. Needs the extra examples: pip install 'idstore[examples]'.
    """
    import idstore
    from idstore.quickstart import Story, carried
    from idstore.quickstart.steps import STEPS

    carried.require()
    party = idstore.Party(call.user)
    place = _place(call)
    call.output.say(f"A store of its own is made at {place.store}; its administrator is {party}.")
    told: list[tuple[Step, Told, float]] = []
    progress = Progress(call.output)
    with idstore.open(place.store, administrator=party, wait=call.wait) as registry:
        story = Story(registry, party, place.export, progress.show)
        for number, step in enumerate(STEPS, start=1):
            call.output.say(f"\n{number}/{len(STEPS)} {step.title}\n    {step.why}\n    $ {step.command}")
            began = time.perf_counter()
            try:
                found = step.act(story)
            finally:
                progress.erase()
            told.append((step, found, time.perf_counter() - began))
            call.output.say("".join(f"    | {line}\n" for line in found.lines) + f"    {_counted(found)}: {told[-1][2]:.1f} s")
    _print(call.output, place, told)
    return exits.BROKEN if any(found.broken for _, found, _ in told) else exits.DONE


def _place(call: Call) -> Place:
    """Where a store can be made. Raises AlreadyRegistered: --store names a store, or the export would replace a file."""
    if call.given_store is None and not _is_free(os.environ.get(STORE)):
        folder = Path(tempfile.mkdtemp(prefix="idstore-quickstart-"))
        return Place(folder / "store", folder / "registry.ttl")
    store = session.folder(call)
    place = Place(store, store.with_name(f"{store.name}.ttl"))
    for path, taken in ((store, session.exists(call)), (place.export, place.export.exists())):
        if taken:
            raise AlreadyRegistered(
                f"{path} is there already, and quickstart makes its own; name a new folder with --store", path=str(path)
            )
    return place


def _is_free(named: str | None) -> bool:
    """Whether the environment names a place where nothing is yet; a store that is at work is left alone."""
    return named is not None and "://" not in named and session.is_vacant(Path(named))


def _counted(told: "Told") -> str:
    return ", ".join(f"{number:,} {what}" for what, number in told.figures.items())


def _print(output: "Output", place: Place, told: "list[tuple[Step, Told, float]]") -> None:
    """The summary, and how to go on."""
    output.say("")
    rows = [(step.title, _counted(found), f"{seconds:.1f} s") for step, found, seconds in told]
    rows.append(("Altogether", str(place.store), f"{sum(seconds for *_, seconds in told):.1f} s"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    table = "\n".join(f"{title:<{widths[0]}}  {counted:<{widths[1]}}  {seconds:>{widths[2]}}" for title, counted, seconds in rows)
    steps = [{"title": step.title, "figures": dict(found.figures), "seconds": round(seconds, 3)} for step, found, seconds in told]
    output.data(table, {"store": str(place.store), "export": str(place.export), "steps": steps})
    commands = (
        f"export {STORE}={place.store}",
        "idstore list --limit 5",
        "idstore show fmt/18",
        "idstore log --id fmt/18",
        "idstore verify",
    )
    output.say("\n    ".join(["\nGo on from here:", *commands]))
