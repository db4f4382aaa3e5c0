"""What a file tells of another registry: what of it stays out, and in what the two differ."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from idstore.errors import IdstoreError, InvalidData
from idstore.exchange.sorting import Sorted
from idstore.model.event import Event
from idstore.progress import Progress
from idstore.registry import Registry
from idstore.registry.findings import DAMAGED
from idstore.registry.merging import Divergence
from idstore.stores import Turn


@dataclass(slots=True)
class LeftOut:
    """What of another registry did not come in.

    private  how many identifiers that are not published there.
    parties  how many parties there: each registry keeps its own.
    held     identifiers that wait for what became of them here: drafts can come in once they are published here.
    """

    private: int = 0
    parties: int = 0
    held: list[str] = field(default_factory=list)


def leave_out(found: Sorted, registry: Registry, staged: Turn, progress: Progress) -> LeftOut:
    """Sort out what does not come in, of another registry and of this one as it was elsewhere. Memory: one thing's events, and the names of those that are held back."""
    homes = registry.homes(staged)
    left, compared, total = LeftOut(), 0, len(found)
    for about in found.things():
        told = found.about(about)
        with sound(told[0][1]):
            reception = registry.reception(staged, homes, [(event, hidden) for _, event, hidden in told])
        left.private += reception.verdict == "private"
        left.parties += reception.verdict == "parties"
        left.held += [about] if reception.verdict == "held" else []
        found.leave_out(id for id, event, _ in told if event.name in reception.out)
        compared += len(told)
        progress("comparing", compared, total)
    return left


def divergences(found: Sorted, registry: Registry, staged: Turn, bases: Iterable[str]) -> Iterator[Divergence]:
    """In what identifiers differ: those of the file by IRI, then those that are published here alone, of the namespaces that it tells.

    bases  these namespaces: the file has what was published there.
    To be asked for before the events are taken in.
    """
    for about in found.things():
        told = [event for _, event, _ in found.about(about)]
        if told:
            with sound(told[0]):
                difference = registry.divergence(staged, NamedNode(about), told)
            if difference is not None:
                yield difference
    for base in bases:
        for iri in staged.catalogue.sorted_identifiers(namespace=base):
            if not found.tells_of(iri):
                yield registry.here_alone(staged, NamedNode(iri))


@contextmanager
def sound(event: Event) -> Iterator[None]:
    """What an event is taken in with. Raises InvalidData where it lacks what its kind must say."""
    try:
        yield
    except IdstoreError:
        raise
    except DAMAGED as error:
        raise InvalidData(f"the event {event.iri} lacks what its kind must say, or says it in another form") from error
