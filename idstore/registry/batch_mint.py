"""Bulk minting: one identifier for each request, in order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from idstore.errors import AlreadyRegistered, IdstoreError, InvalidData, RequestConflict
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.registry.allocation import Allocations
from idstore.registry.requests import Request
from idstore.schemes import Deriving
from idstore.stores.contract import Transaction

_BATCH: Final = 500
"""Identifiers in one durable commit."""


@dataclass(frozen=True, slots=True)
class MintOutcome:
    """The result of one request.

    record  the identifier; None if the request failed.
    fresh   whether this call minted it; False if an earlier equal request did.
    error   the reason of the failure, or None.
    """

    record: Record | None
    fresh: bool = False
    error: IdstoreError | None = None


class BatchMint(Allocations):
    """Minting of identifiers by the hundred thousand."""

    def load(
        self, namespace_name: str, party: Party, requests: Iterable[Request | InvalidData]
    ) -> Iterator[MintOutcome]:
        """Mint an identifier for each request, in order. A faulty request does not affect the others.

        requests  in order of arrival; an error among them stands for an unreadable request and is returned in
                  its place.

        Each result that was yielded is durable.
        Raises UnknownNamespace, NotPermitted, StageConflict, StoreUnavailable: only yielded results were
        minted then.
        Cost: a durable commit for every 500 requests. Memory: those 500.
        """
        namespace = self.store.read(lambda view: self.core.namespace(view, namespace_name))
        size = _BATCH if isinstance(namespace.scheme, Deriving) and namespace.per_minute is None else 1
        remaining = iter(requests)
        while batch := tuple(islice(remaining, size)):
            yield from self._load_batch(namespace_name, party, batch)

    def _load_batch(
        self, namespace_name: str, party: Party, batch: Sequence[Request | InvalidData]
    ) -> list[MintOutcome]:
        """Mint an identifier for each request, all in one act."""

        def act(transaction: Transaction) -> list[MintOutcome]:
            asked = transaction.asked
            return [self._mint_one(transaction, namespace_name, party, request, asked) for request in batch]

        return self.core.act(party, act)

    def _mint_one(
        self,
        transaction: Transaction,
        namespace_name: str,
        party: Party,
        request: Request | InvalidData,
        asked: int,
    ) -> MintOutcome:
        if not isinstance(request, Request):
            return MintOutcome(None, error=request)
        try:
            return MintOutcome(
                *self._allocate_in(
                    transaction, self.core.namespace(transaction, namespace_name), party, request, None, asked
                )
            )
        except (InvalidData, RequestConflict, AlreadyRegistered) as error:
            return MintOutcome(None, error=error)
