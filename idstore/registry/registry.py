"""A registry: all use cases over one store.

`Registry` offers every act of a caller and holds no rule. The rules stand in its parts, one module each. All
parts share a `Core` (records, acts, events), a `Visibility` (parties, namespaces, read rights) over a store::

    stores.contract.Store ── Visibility ── Core
                                            │
    inherited: everyday acts                │   created for one call: bulk work with its own state
    ────────────────────────────────────────┼─────────────────────────────────────────────────────────────
    Namespaces                              │   Export        the visible state in a deterministic order
    └── Parties       parties, revocation   │   Feed          changes of each event as triples
    Lookup            text to identifier    │   PastStates    past states and differences
    ├── Bindings      target, bind, comment │   Verification  stored data compared with the log
    │   └── Lists     lists and counts      │   Checkpoint    last event at which the shapes held
    ├── Lifecycle     fixate, release, ...  │   StoragePlan   storage locations of deliveries
    │   └── Allocations (with Bindings)     │   BatchMint     many mints, in batches
    │       └── Replacements  old copies    │   Mappings      many bindings, all or none
    ├── HandleValues  typed values          │
    │   └── HandleRecords (with Allocations)│   imports       lists, publishers, relations; also replay and
    ├── Log           events, comments      │                 merge of logs, called by `idstore.exchange`
    ├── Resolver      resolution            │
    │   ├── Citations citable forms         │
    │   └── Versions  (with Allocations)    │
    Queries           SPARQL, patterns      │   Redaction     texts and names replaced by pseudonyms

    Allocator = Lists + Allocations + Log: what a command opens that only allocates. `Registry` extends it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from os import PathLike
from types import MappingProxyType

from pyoxigraph import Quad

from idstore import arguments
from idstore.errors import InvalidData
from idstore.model import times
from idstore.model.filter import Filter
from idstore.model.party import Party
from idstore.model.record import Identifier, Record
from idstore.model.storage import DIRECTORY_LIMIT, FILE_SYSTEM_LIMIT, Storage
from idstore.progress import Progress, unwatched
from idstore.registry.allocator import Allocator
from idstore.registry.batch_mint import BatchMint, MintOutcome, RequestRow
from idstore.registry.change_rows import ChangeRow, ChangeRows
from idstore.registry.checkpoint import Checkpoint
from idstore.registry.citation import Citations
from idstore.registry.export import Export
from idstore.registry.feed import Feed, FeedStep
from idstore.registry.findings import VerificationFinding
from idstore.registry.handle_records import HandleRecords
from idstore.registry.history import Difference, PastStates
from idstore.registry.imports.adopt import Adoption, Published, PublisherImport
from idstore.registry.imports.enroll import Listed, ListImport
from idstore.registry.imports.publication import PublicationImport
from idstore.registry.imports.relate import Related, RelationImport, Stated
from idstore.registry.mappings import LineOutcome, Mappings, Proposal, unobserved
from idstore.registry.parties import Parties
from idstore.registry.query import Queries
from idstore.registry.redaction import Redacted, Redaction
from idstore.registry.replacement import Replacements
from idstore.registry.requests import Request
from idstore.registry.storage_plan import Placed, StoragePlan
from idstore.registry.verification import Verification
from idstore.registry.versions import Versions
from idstore.stores.contract import StoreCounters


@arguments.checked
class Registry(Allocator, Parties, HandleRecords, Citations, Versions, Replacements, Queries):
    """A registry over a store: mint, bind, fixate, resolve and the rest, each for an authenticated party.

    It knows no terminal and no HTTP. Threads may share one object.
    """

    # the registry as a whole

    def administers(self, party: Party) -> bool:
        """Whether a party administers the registry."""
        return self.store.read(lambda view: self.core.party_facts(view, party).administrator)

    def only_administrators(self, party: Party, *, acting: bool = False) -> None:
        """Raise NotPermitted unless the party is an administrator; with ``acting`` also if suspended."""
        self.core.only_administrators(party, acting=acting)

    def pristine(self) -> bool:
        """Whether the log holds at most the event that initialised the registry."""
        return self.store.read(lambda view: view.catalogue.counts()[1] <= 1)

    @property
    def age(self) -> float:
        """Seconds since the state that is read was the newest.

        0 unless the registry was opened with ``mode="read"``.
        """
        return self.store.age

    def refresh(self, wait: float = 10.0) -> None:
        """Read the newest state from now on, in a registry opened with ``mode="read"``; else do nothing.

        What is being read meanwhile, such as an export, goes on with the state with which it began.

        wait  seconds to wait for the process that holds the store.
        Raises StoreBusy (that process does not answer), StoreUnavailable: the state is the same as before.
        Cost: a look at the ledger if nothing changed; otherwise that of opening.
        """
        self.store.refresh(wait)

    def counters(self, party: Party) -> StoreCounters:
        """Return what the store has done since it was opened; only administrators may.

        A server answers the same at ``/metrics``. Raises NotPermitted.
        """
        self.only_administrators(party)
        return self.store.counters()

    def backup(self, folder: str | PathLike[str], party: Party) -> None:
        """Copy the current state of the registry into an absent or empty folder, while other work continues.

        The copy is itself a store: it is readable in place, and `idstore.opening.restore` creates a store
        from it elsewhere. The copy appears once it is complete and on disk. Only administrators may.
        Raises NotPermitted, StoreUnavailable (no copy exists then).
        Cost: a moment, plus the size of the catalogue; on another disk plus the size of the engine.
        """
        self.only_administrators(party)
        self.store.backup(folder)

    # bulk acts

    def load(
        self, namespace: str, party: Party, requests: Iterable[Request | InvalidData]
    ) -> Iterator[MintOutcome]:
        """Mint for each request: see `BatchMint.load`."""
        return BatchMint(self.core).load(namespace, party, requests)

    def mint_many(
        self, namespace: str, rows: Sequence[RequestRow], party: Party, *, dry_run: bool = False
    ) -> list[LineOutcome]:
        """Allocate an identifier for each row, all or none: see `BatchMint.mint_many`."""
        return BatchMint(self.core).mint_many(namespace, rows, party, dry_run=dry_run)

    def change_many(
        self, rows: Sequence[ChangeRow], party: Party, *, dry_run: bool = False
    ) -> list[LineOutcome]:
        """Deprecate, supersede, target or grant for each row, all or none: see `ChangeRows.change_many`."""
        return ChangeRows(self.core).change_many(rows, party, dry_run=dry_run)

    def state(
        self,
        proposals: Iterable[Proposal],
        party: Party,
        *,
        decided: bool = False,
        dry_run: bool = False,
        on_outcome: Callable[[LineOutcome], object] = unobserved,
    ) -> list[LineOutcome]:
        """Bind and unbind as proposed, all or none: see `Mappings.state`."""
        return Mappings(self.core).state(
            proposals, party, decided=decided, dry_run=dry_run, on_outcome=on_outcome
        )

    def enrol(
        self,
        namespace: str | None,
        listed: Iterable[Listed],
        party: Party,
        note: str,
        *,
        keep_going: bool = False,
        dry_run: bool = False,
        force: bool = False,
        on_outcome: Callable[[LineOutcome], object] = unobserved,
    ) -> list[LineOutcome]:
        """Register the listed identifiers that the namespace lacks: see `ListImport.enrol`."""
        return ListImport(self.core).enrol(
            namespace,
            listed,
            party,
            note,
            keep_going=keep_going,
            dry_run=dry_run,
            force=force,
            on_outcome=on_outcome,
        )

    def redact_text(self, text: str, reason: str, party: Party, *, dry_run: bool = False) -> Redacted:
        """Replace a text by a pseudonym, in the log as well: see `Redaction.redact_text`."""
        return Redaction(self.core).redact_text(text, reason, party, dry_run=dry_run)

    def redact_party(self, name: str, reason: str, party: Party, *, dry_run: bool = False) -> Redacted:
        """Replace the name of a party by a pseudonym: see `Redaction.redact_party`."""
        return Redaction(self.core).redact_party(name, reason, party, dry_run=dry_run)

    def adopt(
        self,
        name: str,
        published: Iterable[Published],
        party: Party,
        note: str,
        *,
        dry_run: bool = False,
        force: bool = False,
    ) -> Adoption:
        """Bring a namespace up to date with its publisher's list: see `PublisherImport.adopt`."""
        return PublisherImport(self.core).adopt(name, published, party, note, dry_run=dry_run, force=force)

    def publish(
        self,
        name: str,
        published: Iterable[Published],
        stated: Iterable[Stated],
        party: Party,
        note: str,
        *,
        dry_run: bool = False,
        force: bool = False,
    ) -> tuple[Adoption, Related]:
        """Take in a publisher's list with its relations: see `PublicationImport.publish`."""
        return PublicationImport(self.core).publish(
            name, published, stated, party, note, dry_run=dry_run, force=force
        )

    def relate(
        self, name: str, stated: Iterable[Stated], party: Party, note: str, *, dry_run: bool = False
    ) -> Related:
        """Bind identifiers of a namespace to each other as published: see `RelationImport.relate`."""
        return RelationImport(self.core).relate(name, stated, party, note, dry_run=dry_run)

    # exports and past states

    def quads(
        self, party: Party, filter: Filter = Filter(), progress: Progress = unwatched
    ) -> AbstractContextManager[Iterator[Quad]]:
        """The quads visible to the party, in an order determined by the state alone: see `Export.quads`."""
        return Export(self.core).quads(party, filter, progress)

    def nquads(
        self, party: Party, filter: Filter = Filter(), progress: Progress = unwatched
    ) -> AbstractContextManager[Iterator[str]]:
        """The same as lines of N-Quads without the final dot: see `Export.nquads`."""
        return Export(self.core).nquads(party, filter, progress)

    def publication(
        self, filter: Filter = Filter(), progress: Progress = unwatched
    ) -> AbstractContextManager[Iterator[str]]:
        """What everyone sees, without events, as lines of N-Quads: see `Export.publication`."""
        return Export(self.core).publication(filter, progress)

    def records(
        self, party: Party, filter: Filter = Filter(), progress: Progress = unwatched
    ) -> AbstractContextManager[Iterator[Record]]:
        """The records visible to the party, ordered by IRI: see `Export.records`."""
        return Export(self.core).records(party, filter, progress)

    def steps(self, party: Party, after: int = 0, limit: int | None = None) -> Iterator[FeedStep]:
        """The changes made by each event after a number: see `Feed.steps`."""
        return Feed(self.core).steps(party, after, limit)

    def at(self, id: Identifier, moment: datetime, party: Party) -> Record:
        """The state of an identifier at a moment: see `PastStates.at`."""
        return PastStates(self.core).at(id, times.checked(moment), party)

    def all_at(self, moment: datetime, party: Party, namespace: str | None = None) -> Iterator[Record]:
        """The state of every identifier at a moment: see `PastStates.all_at`."""
        return PastStates(self.core).all_at(times.checked(moment), party, namespace)

    def differences(
        self, since: datetime, until: datetime, party: Party, namespace: str | None = None
    ) -> Iterator[Difference]:
        """The identifiers that changed between two moments: see `PastStates.differences`."""
        period = times.checked(since, "since"), times.checked(until, "until")
        return PastStates(self.core).differences(*period, party, namespace)

    # verification

    def verify(self, party: Party, progress: Progress = unwatched) -> Iterator[VerificationFinding]:
        """Every contradiction between the log and the stored data: see `Verification.verify`."""
        return Verification(self.core).verify(party, progress)

    def repair_counters(self, party: Party, progress: Progress = unwatched) -> None:
        """Recount the listed and the issued identifiers: see `Verification.repair_counters`."""
        Verification(self.core).repair_counters(party, progress)

    def keep_checked(self, sequence: int, shapes: str, party: Party) -> None:
        """Record the last event at which the shapes held: see `Checkpoint.keep_checked`.

        sequence  the sequence number of that event.
        shapes    text that stands for the shapes.
        """
        Checkpoint(self.core).keep_checked(sequence, shapes, party)

    # storage

    def add_storage(
        self,
        name: str,
        path: str,
        party: Party,
        *,
        directory_limit: int = DIRECTORY_LIMIT,
        file_system_limit: int = FILE_SYSTEM_LIMIT,
        present: Mapping[str, int] = MappingProxyType({}),
    ) -> Storage:
        """Add a storage for a collection: see `StoragePlan.add_storage`."""
        return StoragePlan(self.core).add_storage(
            name,
            path,
            party,
            directory_limit=directory_limit,
            file_system_limit=file_system_limit,
            present=present,
        )

    def allow_storage(self, name: str, parties: Sequence[str], party: Party) -> Storage:
        """Set the parties that may place deliveries: see `StoragePlan.allow_storage`."""
        return StoragePlan(self.core).allow_storage(name, parties, party)

    def storages(self) -> list[Storage]:
        """Every storage, ordered by name."""
        return StoragePlan(self.core).storages()

    def place(
        self,
        name: str,
        publisher: str,
        size: int,
        party: Party,
        *,
        delivery: str | None = None,
        dry_run: bool = False,
    ) -> Placed:
        """Assign a delivery to a location, permanently: see `StoragePlan.place`."""
        return StoragePlan(self.core).place(name, publisher, size, party, delivery=delivery, dry_run=dry_run)
