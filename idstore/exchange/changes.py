"""The change feed of what is public: a page of changes after a publication number."""

from dataclasses import dataclass
from typing import Final

from idstore import arguments
from idstore.errors import InvalidData
from idstore.model.event import Event
from idstore.model.party import NOBODY
from idstore.registry import Registry
from idstore.registry.feed import FeedStep
from idstore.vocabulary import store_name

LONGEST: Final = 1000
"""Changes of a page at most."""


@dataclass(frozen=True, slots=True)
class PublicChange:
    """The triples that one public event removed and added.

    number   its publication number; the numbers have no gaps.
    event    what happened, when, and by whom.
    removed  triples with their graph, each a line of N-Quads.
    added    the same.
    """

    number: int
    event: Event
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A part of the change feed.

    store    IRI of the store that the numbers are of.
    last     the number after which the next page begins.
    newest   number of the newest public event.
    changes  in the order of their numbers.
    """

    store: str
    last: int
    newest: int
    changes: list[PublicChange]


@arguments.checks
def public_changes(registry: Registry, after: int = 0, limit: int = LONGEST) -> ChangePage:
    """Return the changes of what is public after a number, the same for every party.

    after  the number of the last change that is known; 0: from the beginning.
    limit  how many changes at most; a page has no more than 1000.
    Raises InvalidData: no event has that number yet, or the limit is below 1. Cost: the logs of
    the subjects, once.
    """
    if limit < 1:
        raise InvalidData(f"limit: {limit} is less than 1; ask for 1 change or more", limit=limit)
    newest = newest_public(registry)
    changes = [*map(_change, registry.steps(NOBODY, after, min(limit, LONGEST)))]
    last = changes[-1].number if changes else after
    return ChangePage(store_name(registry.store.origin), last, max(newest, last), changes)


def newest_public(registry: Registry) -> int:
    """Return the number of the newest public event, 0 if there is none."""
    return registry.store.read(lambda view: view.catalogue.publication)


def _change(step: FeedStep) -> PublicChange:
    removed, added = ([f"{quad} ." for quad in quads] for quads in (step.removed, step.added))
    return PublicChange(step.number, step.event, tuple(removed), tuple(added))
