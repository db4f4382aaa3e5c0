"""Minting for many descriptions at once, in their order."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from pyoxigraph import NamedNode

from idstore.errors import AlreadyRegistered, IdstoreError, InvalidData, RequestConflict
from idstore.frozen import dataclass
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.registry.allocation import Allocating
from idstore.registry.requests import Request, key_of
from idstore.schemes import Deriving

_BATCH: Final = 500
"""Identifiers that become durable together."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of one request.

    record  the identifier; None where there is an error.
    fresh   whether it was minted now, and not by the same request before.
    """

    record: Record | None
    fresh: bool = False
    error: IdstoreError | None = None


class Loading(Allocating):
    """Giving out identifiers by the hundred thousand."""

    def load(self, where: str, party: Party, requests: Iterable[Request | InvalidData]) -> Iterator[Loaded]:
        """Mint for each request in turn; what is wrong with one keeps the others from nothing.

        requests  in the order of arrival; an error among them stands for what could not be read, and is handed on in its place.

        What was given is durable. Raises UnknownNamespace, NotPermitted, StageConflict, StoreUnavailable: nothing that was not given by then
        was minted. Cost: a durable commit for every 500; memory: those.
        """
        with self.store.reading() as view:
            namespace = self._namespace(view, where)
        many = _BATCH if isinstance(namespace.scheme, Deriving) and namespace.per_minute is None else 1
        following = iter(requests)
        waiting = deque(islice(following, many))
        while waiting:
            yield from self._load_some(where, party, waiting)
            with self.store.reading():  # what is durable is applied before more is taken: else it would pile up in memory
                pass
            waiting.extend(islice(following, many - len(waiting)))

    def _load_some(self, where: str, party: Party, waiting: deque[Request | InvalidData]) -> list[Loaded]:
        """Take requests from those that wait, up to one with the same key as another: that one's answer is known after the commit."""
        done: list[Loaded] = []
        keys: set[NamedNode] = set()
        with self._acting(party) as turn:
            namespace = self._namespace(turn, where)
            while waiting:
                request = waiting[0]
                if isinstance(request, Request):
                    key = None
                    try:
                        key = key_of(namespace, party, request, None)
                        if key is not None and key.node in keys:
                            break
                        done.append(Loaded(*self._allocate_in(turn, namespace, party, request, None)))
                    except (InvalidData, RequestConflict, AlreadyRegistered) as error:
                        done.append(Loaded(None, error=error))
                    keys.update([key.node] if key is not None else [])
                else:
                    done.append(Loaded(None, error=request))
                waiting.popleft()
        return done
