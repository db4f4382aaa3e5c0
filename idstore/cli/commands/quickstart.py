"""``idstore quickstart``: a tour of the registry on real data, with explanations."""

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from idstore.cli import exits, session
from idstore.cli.call import STORE, Call
from idstore.cli.progress import Progress
from idstore.errors import AlreadyRegistered

if TYPE_CHECKING:
    from idstore.cli.output import Output
    from idstore.quickstart import StepResult, StoryStep


@dataclass(frozen=True, slots=True)
class StoryPaths:
    """The paths of the store and of its export."""

    store: Path
    export: Path


def quickstart(call: Call) -> int:
    """Run a tour: registries of real identifiers, in a new store.

    The store is created in a new folder, or in the vacant folder of --store; its export is left beside it
    (STORE.ttl). Each step is explained, with the command that does the same. Needs the extra examples: pip
    install 'idstore[examples]'.
    """
    import idstore
    from idstore.quickstart import Story, carried
    from idstore.quickstart.steps import STEPS

    carried.require()
    party = idstore.Party(call.user)
    paths = _choose_paths(call)
    call.output.info(f"A new store is made at {paths.store}; its administrator is {party}.")
    timings: list[tuple[StoryStep, StepResult, float]] = []
    progress = Progress(call.output)
    with idstore.open(paths.store, administrator=party, wait=call.wait) as registry:
        story = Story(registry, party, paths.export, progress.show)
        for number, step in enumerate(STEPS, start=1):
            call.output.info(f"\n{number}/{len(STEPS)} {step.title}\n    {step.why}\n    $ {step.command}")
            started = time.perf_counter()
            try:
                result = step.act(story)
            finally:
                progress.erase()
            timings.append((step, result, time.perf_counter() - started))
            call.output.info(
                "".join(f"    | {line}\n" for line in result.lines)
                + f"    {_figures(result)}: {timings[-1][2]:.1f} s"
            )
    _print(call.output, paths, timings)
    return exits.BROKEN if any(result.broken for _, result, _ in timings) else exits.DONE


def _choose_paths(call: Call) -> StoryPaths:
    """Return paths for a new store and its export.

    Raises AlreadyRegistered: --store names a store, or the export would replace a file.
    """
    if call.store_option is None and not _is_free(os.environ.get(STORE)):
        folder = Path(tempfile.mkdtemp(prefix="idstore-quickstart-"))
        return StoryPaths(folder / "store", folder / "registry.ttl")
    store = session.folder(call)
    paths = StoryPaths(store, store.with_name(f"{store.name}.ttl"))
    for path, taken in ((store, session.exists(call)), (paths.export, paths.export.exists())):
        if taken:
            raise AlreadyRegistered(
                f"{path} exists already, and quickstart needs a new folder; name one with --store",
                path=str(path),
            )
    return paths


def _is_free(store: str | None) -> bool:
    """Return whether the environment names a vacant folder; an existing store there must stay unchanged."""
    return store is not None and "://" not in store and session.is_vacant(Path(store))


def _figures(result: "StepResult") -> str:
    return ", ".join(f"{number:,} {what}" for what, number in result.figures.items())


def _print(output: "Output", paths: StoryPaths, timings: "list[tuple[StoryStep, StepResult, float]]") -> None:
    """Print the summary, and the next commands."""
    output.info("")
    rows = [(step.title, _figures(result), f"{seconds:.1f} s") for step, result, seconds in timings]
    rows.append(("Altogether", str(paths.store), f"{sum(seconds for *_, seconds in timings):.1f} s"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    table = "\n".join(
        f"{title:<{widths[0]}}  {figures:<{widths[1]}}  {seconds:>{widths[2]}}"
        for title, figures, seconds in rows
    )
    steps = [
        {"title": step.title, "figures": dict(result.figures), "seconds": round(seconds, 3)}
        for step, result, seconds in timings
    ]
    output.data(table, {"store": str(paths.store), "export": str(paths.export), "steps": steps})
    commands = (
        f"export {STORE}={paths.store}",
        "idstore list --limit 5",
        "idstore show fmt/18",
        "idstore log --id fmt/18",
        "idstore verify",
    )
    output.info("\n    ".join(["\nNext commands:", *commands]))
