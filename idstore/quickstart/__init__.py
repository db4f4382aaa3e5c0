"""A demonstration on real data in several steps, which ``idstore quickstart`` runs and explains.

It uses only public methods of `Registry`, exchange and validation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from idstore.model.party import Party
from idstore.registry import Registry


def _ignore(done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(slots=True)
class Story:
    """The environment of the steps.

    registry  a registry that is empty except for its administrator.
    party     the administrator.
    export    path of the export, which must not exist.
    progress  called with the finished and the total amount of a long step.
    """

    registry: Registry
    party: Party
    export: Path
    progress: Callable[[int, int], None] = _ignore


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step.

    figures  counts by name.
    lines    examples from the result.
    broken   whether the step found an error in the data.
    """

    figures: Mapping[str, int]
    lines: Sequence[str] = field(default=())
    broken: bool = False


@dataclass(frozen=True, slots=True)
class StoryStep:
    """A step: its title, its reason, the command line that does the same, and its function."""

    title: str
    why: str
    command: str
    act: Callable[[Story], StepResult]
