"""The whole content of a store as values that can be compared, also between processes."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from idstore.stores.contract import Catalogue, Snapshot, Store
from idstore.testing.stores.changes import BASE, EVERYTHING

NOTES = ("first", "second")
"""Names of the tests' notes."""


class Opener(Protocol):
    """Opens the store in a folder, and creates it if there is none."""

    def __call__(self, folder: Path, /) -> Store:
        """Open the store. Raises StoreUnavailable."""


class State(NamedTuple):
    """The content of a store.

    lists  identifiers in each order, with their listings.
    counts tallies, days, totals, and labels issued by series.
    """

    origin: str
    quads: frozenset[str]
    claims: tuple[tuple[str, str, str], ...]
    events: tuple[tuple[Any, ...], ...]
    publications: tuple[tuple[int | None, str], ...]
    lists: tuple[Any, ...]
    counts: tuple[Any, ...]
    notes: tuple[str | None, ...]

    @property
    def sequence(self) -> int:
        """Sequence number of the last event."""
        return len(self.events)


def state_of(store: Store) -> State:
    """Return the newest state of a store."""
    with store.snapshot() as snapshot:
        return pinned_state(snapshot, store.origin)


def pinned_state(snapshot: Snapshot, origin: str) -> State:
    """Return the state that a snapshot pins."""
    catalogue = snapshot.catalogue
    events = _events(catalogue)
    assert [row[0] for row in events] == list(range(1, catalogue.sequence + 1)), (
        "events have the numbers from 1, without a gap"
    )
    published = catalogue.published(0, catalogue.publication + 1)
    assert [row.publication for row in published] == list(range(1, catalogue.publication + 1)), (
        "the public feed has no gap"
    )
    return State(
        origin,
        frozenset(map(str, snapshot.quads())),
        tuple((claim.key.value, claim.holder.value, claim.digest) for claim in snapshot.claims()),
        events,
        tuple((row.publication, row.iri) for row in published),
        _lists(catalogue),
        _counts(catalogue),
        tuple(map(catalogue.note, NOTES)),
    )


def _events(catalogue: Catalogue) -> tuple[tuple[Any, ...], ...]:
    return tuple(
        (
            details.row.sequence,
            details.row.iri,
            details.row.graph,
            details.act,
            details.about,
            details.actor,
            details.at,
            details.digest,
            details.target,
        )
        for details in catalogue.details()
    )


def _lists(catalogue: Catalogue) -> tuple[Any, ...]:
    listings = sorted(catalogue.listings())
    listed = [(iri, catalogue.listed(iri)) for iri, _ in listings]
    rows = [
        (row.iri, row.namespace, row.owner, row.stage, row.audience, row.created, row.fixated)
        for _, row in listed
        if row is not None
    ]
    assert [row[0] for row in rows] == list(catalogue.sorted_identifiers())
    return (tuple(listings), tuple(rows), tuple(catalogue.identifiers(EVERYTHING, None)))


def _counts(catalogue: Catalogue) -> tuple[Any, ...]:
    series = tuple(sorted(catalogue.series(BASE).items()))
    return (tuple(catalogue.tallies(None)), tuple(catalogue.days(None)), catalogue.counts(), series)


def state_in(opener: Opener, folder: Path) -> State:
    """Return the state of the store in a folder, for use in another process."""
    store = opener(folder)
    try:
        return state_of(store)
    finally:
        store.close()
