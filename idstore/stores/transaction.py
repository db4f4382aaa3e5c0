"""A batch of acts on its way to the ledger, and the transaction that each act sees."""

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import NamedTuple, NoReturn, TypeVar

from pyoxigraph import NamedNode, Quad

from idstore.errors import AlreadyRegistered, LimitReached
from idstore.model import codec, times
from idstore.model.change import Change, Claim
from idstore.model.terms import Term
from idstore.stores.ledger.contract import Head, NumberedClaim, Row
from idstore.stores.overlay import Overlay, laid_over
from idstore.stores.projection.generation import Generation
from idstore.stores.views import EngineView, FindClaim

T = TypeVar("T")

_MAX_TOKEN = 2**63 - 2**56
"""Above this, SQLite could not store a token's successor.

Tokens rise only while the clock is behind the last event.
"""
MAX_CHANGES = 200_000
"""Maximum number of changes of one act: they are in memory together, about 10 kB each."""


class RunLater(BaseException):
    """Ends the run of an act that must run again later.

    Not an Exception, so that no error handler catches it.
    """

    def __init__(self, moment: int, queue: str) -> None:
        super().__init__(moment, queue)
        self.moment = moment
        self.queue = queue


class _Savepoint(NamedTuple):
    """The extent of a batch before an act."""

    rows: int
    changes: int
    claims: int
    head: Head
    registry_version: int


class Batch:
    """Acts that run one after the other; each sees the changes enlisted before it.

    rows              the enlisted changes as journal rows.
    head              head of the journal after these rows.
    registry_version  of the state including the enlisted changes; ``versions`` yields numbers that no other
                      state has.
    """

    def __init__(
        self,
        generation: Generation,
        find_claim: FindClaim,
        head: Head,
        registry_version: int,
        versions: "count[int]",
    ) -> None:
        self.generation = generation
        self.catalogue = generation.catalogue
        self.head = head
        self.registry_version = registry_version
        self.overlay = Overlay()
        self._versions = versions
        self._find_claim = find_claim
        self.rows: list[Row] = []
        self._claims: dict[NamedNode, NumberedClaim] = {}
        # keys without a claim in the ledger, which does not change meanwhile
        self._absent: set[NamedNode] = set()
        self._begun = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is enlisted."""
        return not self.rows

    def run(self, act: "Callable[[ActTransaction], T]", asked: int, origin: str) -> T:
        """Run an act. Raises RunLater and the act's own errors: then none of its changes remain.

        Raises sqlite3.Error: none of the changes of the batch remain.
        """
        savepoint = _Savepoint(
            len(self.rows), len(self.overlay.changes), len(self._claims), self.head, self.registry_version
        )
        transaction = ActTransaction(self, asked, origin)
        try:
            answer = act(transaction)
        except BaseException:
            self._check_kept()
            self._undo(savepoint, touched=transaction.touched)
            raise
        finally:
            transaction.end()
        self._check_kept()
        if transaction.touched:
            self.catalogue.release()
        return answer

    def _undo(self, savepoint: _Savepoint, *, touched: bool) -> None:
        if touched:
            self.catalogue.rollback_to()
        self.overlay.drop(savepoint.changes)
        del self.rows[savepoint.rows :]
        for key in list(self._claims)[savepoint.claims :]:
            del self._claims[key]
        self.head, self.registry_version = savepoint.head, savepoint.registry_version

    def begin(self) -> None:
        """Begin the catalogue's transaction unless begun already. Raises sqlite3.Error."""
        if not self._begun:
            self.catalogue.begin()
            self._begun = True

    def touch(self) -> None:
        """Set a savepoint in the catalogue's transaction before an act's first change.

        Raises sqlite3.Error.
        """
        self.begin()
        self._check_kept()
        self.catalogue.savepoint()

    def _check_kept(self) -> None:
        """Raise sqlite3.OperationalError if the catalogue's transaction has ended, and with it all acts.

        SQLite ends it after some errors, in a question too: no memory, a failing disk.
        """
        if self._begun and not self.catalogue.in_transaction:
            raise sqlite3.OperationalError("an earlier error ended the catalogue's transaction")

    def add(self, change: Change) -> None:
        """Add a change to the batch. Raises AlreadyRegistered: a claim is taken; sqlite3.Error."""
        number, first = self.head.number + 1, self.head.sequence + 1
        for claim in change.claims:
            taken = self.claim(claim.key)
            if taken is not None:
                raise AlreadyRegistered(f"{claim.key.value} is taken", id=claim.key.value)
        self._claims.update((claim.key, NumberedClaim(claim, number)) for claim in change.claims)
        self.overlay.add(change)
        self.catalogue.take(change, first)
        at, token = self.head.at, self.head.token
        last = change.events[-1][0]
        if last.moment >= at:
            at, token = last.moment, last.token
        self.head = Head(number, self.head.sequence + len(change.events), at, token)
        self.rows.append(Row(self.head, codec.encode(change)))
        if change.concerns_registry:
            self.registry_version = next(self._versions)

    def note(self, name: str, text: str) -> None:
        """Store a note. Raises sqlite3.Error."""
        self.catalogue.note(name, text)
        self.head = self.head._replace(number=self.head.number + 1)
        self.rows.append(Row(self.head, codec.encode_note(name, text)))

    def set_next_sequence(self, sequence: int) -> None:
        """Set the sequence number of the next event."""
        self.head = self.head._replace(sequence=sequence - 1)

    def claim(self, key: NamedNode) -> NumberedClaim | None:
        """Return the claim of a key from the batch or the ledger."""
        claim = self._claims.get(key)
        if claim is None and key not in self._absent:
            claim = self._find_claim(key)
            if claim is None:
                self._absent.add(key)
        return claim

    # commit and projection

    def claims(self) -> list[NumberedClaim]:
        """Return the enlisted claims, each with the number of its row."""
        return list(self._claims.values())

    def project(self) -> None:
        """Apply the batch to engine and catalogue. Raises OSError, RuntimeError, sqlite3.Error."""
        self.catalogue.finish(self.head.number, self.head.sequence)
        self.catalogue.commit()
        self.generation.engine.apply(self.overlay.changes, self.head.number)

    def give_up(self) -> None:
        """Roll back the batch. Raises sqlite3.Error."""
        if self._begun:
            self._begun = False
            self.catalogue.rollback()


class ActTransaction(EngineView):
    """See `idstore.stores.contract.Transaction`.

    touched  whether anything was enlisted.
    """

    def __init__(self, batch: Batch, asked: int, origin: str) -> None:
        self._batch = batch
        super().__init__(
            batch.generation.engine,
            batch.catalogue.own,
            batch.claim,
            batch.head.number,
            batch.registry_version,
        )
        self.origin = origin
        self.touched = False
        self._asked = asked
        self._changes = 0
        head = batch.head
        self.moment = max(times.now(), head.at)
        self._token = head.token if self.moment == head.at else -1

    @property
    def asked(self) -> int:
        """Time of the request; the present time once a change is enlisted."""
        return times.now() if self.touched else self._asked

    def token(self) -> int:
        """Return the number of a new event: random, but rising within a millisecond.

        If no higher number is left, the moment advances by a millisecond.
        """
        if self._token > _MAX_TOKEN:
            self.moment, self._token = self.moment + 1, -1
        self._token = secrets.randbits(62) if self._token < 0 else self._token + _step()
        return self._token

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """Yield the matching quads."""
        return laid_over(
            self._batch.overlay.matching(subject, predicate, value, graph),
            super().quads(subject, predicate, value, graph),
        )

    def nquads(
        self, subjects: Iterable[NamedNode], graph: NamedNode, through: NamedNode | None = None
    ) -> list[str]:
        """Return quads of subjects, or of the nodes that point to them, as N-Quads lines."""
        nodes: dict[NamedNode, None] = dict.fromkeys(subjects)
        if through is not None:
            pointing = (quad.subject for node in nodes for quad in self.quads(None, through, node, graph))
            nodes = dict.fromkeys(subject for subject in pointing if isinstance(subject, NamedNode))
        return [str(quad) for node in nodes for quad in self.quads(node, None, None, graph)]

    def graphs(self) -> Iterator[NamedNode]:
        """Yield every named graph."""
        return iter({*super().graphs(), *self._batch.overlay.graphs()})

    def claim(self, key: NamedNode) -> Claim | None:
        """Return the claim of a label or request key."""
        numbered = self._batch.claim(key)
        return None if numbered is None else numbered.claim

    def enlist(self, change: Change) -> None:
        """Add a change to the transaction."""
        self._begin()
        self._batch.add(change)
        self.registry_version = self._batch.registry_version

    def note(self, name: str, text: str) -> None:
        """Store a text under a name."""
        self._begin()
        self._batch.note(name, text)

    def not_before(self, moment: int, queue: str) -> NoReturn:
        """Run the act again at ``moment`` or later."""
        raise RunLater(moment, queue)

    def _begin(self) -> None:
        self._check_process()
        self._changes += 1
        if self._changes > MAX_CHANGES:
            raise LimitReached(
                f"one act makes more than {MAX_CHANGES} changes; divide it into several acts", limit="changes"
            )
        if not self.touched:
            self._batch.touch()
            self.touched = True


def _step() -> int:
    """Return a random increment for a token.

    Its size varies so much that one step looks like several: two tokens do not reveal whether others acted in
    between.
    """
    return 1 + secrets.randbits(40 + secrets.randbits(4))
