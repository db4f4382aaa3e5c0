"""Bulk minting: one identifier for each request, in order."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from idstore import arguments, wrapped
from idstore.errors import (
    AlreadyRegistered,
    AmbiguousIdentifier,
    IdstoreError,
    InvalidData,
    InvalidIdentifier,
    NotPermitted,
    RequestConflict,
)
from idstore.model.names import ENOUGH, already_leading
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.registry import iris
from idstore.registry.allocation import LABEL, Allocations, no_bulk
from idstore.registry.mappings import LineOutcome, mark_undone, refusal
from idstore.registry.requests import Request
from idstore.schemes import Deriving
from idstore.stores.contract import Transaction

_BATCH: Final = 500
"""Identifiers in one durable commit."""


_OF_ROWS: Final = (
    AlreadyRegistered,
    AmbiguousIdentifier,
    InvalidData,
    InvalidIdentifier,
    RequestConflict,
)
"""Errors of one row of a table."""
OF_REQUESTS: Final = (InvalidData, RequestConflict, AlreadyRegistered)
"""Errors of one request of `BatchMint.load`, after which it goes on."""


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


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A request in a table.

    line     its line, from 1.
    request  the request.
    label    the label to register; None: one is minted.
    """

    line: int
    request: Request
    label: str | None = None

    def __post_init__(self) -> None:
        """Raise InvalidData: a field is of another kind."""
        arguments.check_fields(self)


def _told(shared: Sequence[str], id: str) -> str:
    """Return the warning about a target that others have than the identifier itself; empty if none has it."""
    target, others = shared[:1], [other for other in shared[1:] if other != id]
    return already_leading(target[0], others) if others else ""


def _joined(*texts: str) -> str:
    return "; ".join(filter(None, texts))


class _RowsRefused(Exception):
    """Ends an act that has no effect.

    outcomes  of all rows.
    """

    def __init__(self, outcomes: list[LineOutcome]) -> None:
        super().__init__()
        self.outcomes = outcomes


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

    def mint_many(
        self, namespace_name: str, rows: Sequence[RequestRow], party: Party, *, dry_run: bool = False
    ) -> list[LineOutcome]:
        """Allocate an identifier for each row in one commit: all, or none if any row is refused.

        dry_run  only predict the outcomes.
        The verdict is ``new``, ``known`` for an equal earlier request, or ``refused``: then no row is done,
        and no identifier is shown that would have been drawn. The warning tells of other identifiers of a
        target.
        Raises as `mint`; NotPermitted if the scheme allows no bulk allocation, or the namespace fewer in a
        minute. Cost: one commit. Memory: the rows.
        """

        def act(transaction: Transaction) -> list[LineOutcome]:
            namespace = self.core.namespace(transaction, namespace_name)
            if not namespace.scheme.bulk:
                raise no_bulk(namespace.scheme.name, namespace_name)
            if namespace.per_minute is not None and len(rows) > namespace.per_minute:
                raise NotPermitted(
                    f"{namespace_name} takes {namespace.per_minute} identifiers a minute from a party, and"
                    f" the table has {len(rows)}; divide it",
                    field="rows",
                    limit=namespace.per_minute,
                )
            asked = transaction.asked
            outcomes = [self._outcome(transaction, namespace, row, party, asked) for row in rows]
            if any(outcome.verdict == "refused" for outcome in outcomes):
                raise _RowsRefused(outcomes)
            return outcomes

        shared = self._shared(rows, party)
        try:
            outcomes = self.core.act(party, act, dry_run=dry_run)
        except _RowsRefused as refused:
            chosen = {row.line for row in rows if row.label is not None}
            drawn = {one.id for one in refused.outcomes if one.verdict == "new" and one.line not in chosen}
            outcomes = [
                replace(one, id="") if one.id in drawn else one for one in mark_undone(refused.outcomes)
            ]
        return [
            replace(one, warning=_joined(one.warning, _told(shared.get(one.line, ()), one.id)))
            for one in outcomes
        ]

    def _shared(self, rows: Sequence[RequestRow], party: Party) -> dict[int, list[str]]:
        """Return, by line, the target of a row, and what has it: visible identifiers, and an earlier row."""
        found: dict[int, list[str]] = {}
        first: dict[str, int] = {}
        bound: dict[str, Sequence[str]] = {}
        facts = self.store.read(self.core.facts)
        for row in rows:
            target = row.request.target
            if target is None or LABEL in target:
                continue
            with suppress(*_OF_ROWS):  # the row itself is refused for that
                target = iris.target(target, facts, force=True).value
                key = facts.names.key(target)
                before = first.setdefault(key, row.line)
                if key not in bound:
                    bound[key] = self.bound_to(target, party, ENOUGH)
                earlier = [f"line {before}"] if before != row.line else []
                found[row.line] = [target, *earlier, *bound[key]]
        return found

    def _outcome(
        self, transaction: Transaction, namespace: Namespace, row: RequestRow, party: Party, asked: int
    ) -> LineOutcome:
        try:
            record, fresh = self._allocate_in(transaction, namespace, party, row.request, row.label, asked)
        except _OF_ROWS as error:
            return refusal(row.line, row.label or "", error)
        code = namespace.scheme
        doubts = [] if row.label is None else [wrapped.doubt(record.label)]
        doubts += [wrapped.missing("name", name) for name in row.request.every_name()]
        if fresh and isinstance(code, Deriving) and "parent" not in row.request.metadata:
            doubts += code.derive(row.request.metadata, namespace.context).doubts
        return LineOutcome(row.line, "new" if fresh else "known", record.iri, warning=_joined(*doubts))

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
        except OF_REQUESTS as error:
            return MintOutcome(None, error=error)
