"""The main job on real data, step by step: what ``idstore quickstart`` runs and tells.

It calls public methods of `Registry`, exchange and validation alone, as any program may.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from idstore.model.party import Party
from idstore.registry import Registry


def _nobody(done: int, total: int) -> None:
    """Show no progress."""


@dataclass(slots=True)
class Story:
    """What the steps work with.

    registry  empty, but for its administrator.
    party     the administrator.
    export    the file to export to; it must not be there.
    progress  called with how much of a long step is done, and how much there is.
    """

    registry: Registry
    party: Party
    export: Path
    progress: Callable[[int, int], None] = _nobody


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a step.

    figures  what was counted.
    lines    some of it to look at.
    broken   whether it found something that must not be.
    """

    figures: Mapping[str, int]
    lines: Sequence[str] = field(default=())
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what is done, why, and with which command one does it oneself."""

    title: str
    why: str
    command: str
    act: Callable[[Story], Told]
