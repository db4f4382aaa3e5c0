"""Opening a store: what the journal has and engine or catalogue lack, as a killed process or a power cut leaves them."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.model.change import Change
from idstore.stores import bases
from idstore.stores.applying import GROUP
from idstore.stores.founding import GENERATION, discard
from idstore.stores.generation import Generation
from idstore.stores.journal import Journal
from idstore.stores.prepared import Prepared
from idstore.stores.turns import concerns_registry

_TAIL: Final = 64
"""Changes that may be taken note of, and not applied, when a store is opened for one more."""


class Lacking(NamedTuple):
    """Changes that a generation lacks.

    known    up to which change engine and catalogue have all.
    changes  the others, each with the sequence number of its last event.
    """

    known: int
    changes: list[tuple[int, Change]]


def lacking(journal: Journal, generation: Generation) -> Lacking | None:
    """What the generation lacks, if it is little, and namespaces and parties are as they were."""
    known = _known_to_both(journal, generation)
    last = journal.last()[0]
    if last - known > _TAIL or _is_ahead(generation, last):  # the latter is for `bring_up` to refuse
        return None
    changes = []
    for sequence, change in _since(journal, known):
        if change is None or concerns_registry(change):
            return None
        changes.append((sequence, change))
    return Lacking(known, changes)


def lacks_allocations_alone(journal: Journal, generation: Generation) -> bool:
    """Whether the generation is a state that was there: what it lacks are a few allocations, and they left no trace in it."""
    found = lacking(journal, generation)
    return (
        found is not None
        and found.known == generation.catalogue.applied
        and all(change.allocates and not generation.knows(change.events[0][0].name) for _, change in found.changes)
    )


def _since(journal: Journal, reached: int) -> Iterator[tuple[int, Change | None]]:
    """The changes behind a number, in order; None, and no more, where the journal does not say what one was, or lacks those before it.

    Raises StoreDamaged: one is not what was written, or has events that those before it have.
    """
    for written in journal.after(reached):
        change = journal.change(written)
        before = written.sequence if change is None else written.sequence - len(change.events)
        if change is None or before > reached:
            yield written.sequence, None
            return
        if before < reached:
            raise journal.damaged(written.sequence)
        reached = written.sequence
        yield reached, change


def bring_up(journal: Journal, generation: Generation) -> None:
    """Bring a generation up to the journal, and remove what is left of others. Raises StoreUnavailable, StoreDamaged."""
    _replay(journal, generation)
    bases.clear(generation.folder)
    discard(folder for folder in generation.folder.parent.glob(f"{GENERATION}*") if folder != generation.folder)


def _replay(journal: Journal, generation: Generation) -> None:
    known, catalogue, path = _known(journal, generation), generation.catalogue, generation.folder.parent
    if _is_ahead(generation, journal.last()[0]):
        raise StoreUnavailable(
            f"the journal of {path} lost changes when the system failed, as it may with durability `process`; restore a backup",
            path=str(path),
        )
    reached = min(known, catalogue.applied)
    batch: list[Prepared] = []
    for sequence, change in _since(journal, reached):
        if change is None:
            raise StoreDamaged(
                f"the store at {path} is damaged: it lacks what happened after change {reached}; restore a backup",
                path=str(path),
            )
        batch.append(Prepared.of(sequence, change))
        reached = sequence
        if len(batch) == GROUP:
            _catch_up(generation, batch, known)
            batch = []
    _catch_up(generation, batch, known)


def _is_ahead(generation: Generation, last: int) -> bool:
    """Whether the generation has what the journal, which ends with ``last``, never told: the catalogue more, or the engine any where that is 0."""
    return generation.catalogue.applied > last or (last == 0 and not generation.is_empty())


def _catch_up(generation: Generation, batch: Sequence[Prepared], known: int) -> None:
    """Apply what engine, which has everything up to ``known``, and catalogue lack."""
    generation.engrave([prepared for prepared in batch if prepared.sequence > known], again=True)
    if missing := [prepared for prepared in batch if prepared.sequence > generation.catalogue.applied]:
        generation.catalogue.apply(missing)


def _known_to_both(journal: Journal, generation: Generation) -> int:
    """Up to which change engine and catalogue have all: in most cases the last of the catalogue's, so that one look is enough."""
    applied = generation.catalogue.applied
    event = journal.event(applied)
    return applied if event is not None and generation.knows(event) else min(_known(journal, generation), applied)


def _known(journal: Journal, generation: Generation) -> int:
    """Up to which change the engine has all."""
    known = next((sequence for sequence, event in journal.newest_first() if generation.knows(event)), 0)
    base = bases.newest(generation.folder)
    return max(known, base.sequence) if base is not None and generation.knows(base.event) else known
