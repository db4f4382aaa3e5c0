"""The contract between a store and the registry. Code outside `idstore.stores` imports this module alone.

A store keeps quads, a catalogue (lists, counts, the order of events) and claims (labels and request keys,
taken for ever). `Store.write` is the only way to change a store. It runs an *act*: a function of a
`Transaction`. The changes that an act enlists become durable and visible together, or not at all.

There are two ways to read. `Store.read` runs a *question*, a function of a `View`, on the newest state.
`Store.snapshot` returns a `Snapshot`: a state that the caller may hold for as long as needed without delaying
writers. A `Bulk` prepares a large change aside.

Every write has one of three outcomes:

- *done*: `write` returned. The change survives a power cut, and every later read sees it.
- *refused*: StoreUnavailable. Nothing changed.
- *unknown*: OutcomeUnknown. The store cannot determine whether the change was made. It accepts no further
  write until that is known.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, NoReturn, Protocol, Self, TypeVar

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

if TYPE_CHECKING:
    from idstore.model.change import Change, Claim
    from idstore.model.event import Event
    from idstore.model.history import History
    from idstore.model.listing import EventDetails, EventRow, Listing, Selection, Series
    from idstore.model.terms import Term
    from idstore.progress import Progress

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Catalogue(Protocol):
    """Lists, counts and the order of events, answered from indexes.

    Every row names the audience that may see it.
    """

    @property
    def sequence(self) -> int:
        """Sequence number of the last event, 0 if there is none."""

    @property
    def publication(self) -> int:
        """Last publication number in the public feed, 0 if there is none."""

    def identifiers(
        self, selection: "Selection", limit: int | None, after: tuple[int, str] | None = None
    ) -> list[str]:
        """Return IRIs of identifiers, newest first. Cost: grows with the rows returned and the audiences.

        after  time of creation and IRI of an identifier: only those that follow it. If it is listed no more,
               those of the same millisecond are among them.
        """

    def sorted_identifiers(
        self, *, namespace: str | None = None, audience: str | None = None
    ) -> Iterator[str]:
        """Yield IRIs of identifiers in ascending order. Memory: constant.

        With ``namespace``: the public ones of that namespace. With ``audience``: the private ones of that
        access list. With neither: all.
        """

    def targeting(self, sketches: Collection[str], audiences: frozenset[str] | None) -> list[str]:
        """Return IRIs of identifiers that a visible event led or bound to a target of these sketches, sorted.

        sketches   see `idstore.model.names.sketch`: the events' targets may differ, and no longer be those of
                   the identifiers.
        audiences  see `Selection`.
        Cost: grows with the visible events.
        """

    def events(
        self,
        selection: "Selection",
        *,
        about: str | None = None,
        kinds: Collection[str] = (),
        after: int = 0,
        limit: int | None = None,
    ) -> "list[EventRow]":
        """Return events after a sequence number, oldest first.

        The selection's ``owner`` is the acting party. ``kinds`` are local names; none means all kinds.
        """

    def ordered_events(self, graph: str) -> Iterator[str]:
        """Yield IRIs of the events of a log graph by time, origin and token: the same order in every store.

        Memory: constant.
        """

    def published(self, after: int, limit: int) -> "list[EventRow]":
        """Return the public feed after a publication number, without gaps."""

    def place_of(self, event: str) -> int | None:
        """Return the sequence number of an event, None if the store lacks it.

        Raises ValueError: not the IRI of an event.
        """

    def knows(self, event: str) -> bool:
        """Whether the store holds an event. Raises ValueError: the text is not the IRI of an event."""

    def mentions(self, about: str) -> bool:
        """Whether any event is about an IRI. False positives are possible, false negatives are not.

        Cost: one look-up.
        """

    def last_event(self) -> tuple[int, str] | None:
        """Return sequence number and IRI of the last event, None if there is none."""

    def tallies(self, audiences: frozenset[str] | None) -> list[tuple[str, str, str, int]]:
        """Return namespace, owner, stage and count of the identifiers that the audiences see."""

    def days(self, audiences: frozenset[str] | None) -> list[tuple[int, str, int]]:
        """Return day (since 1970), namespace and count of the identifiers that the audiences see."""

    def counts(self) -> tuple[int, int]:
        """Return the number of identifiers and the number of events."""

    def series(self, namespace: str) -> Mapping[str, tuple[int, int]]:
        """Return, for each series of a namespace, the number of labels ever issued and the highest number."""

    def allocated(
        self, actor: str, namespace: str, since: int, limit: int, store: str
    ) -> tuple[int, list[str]]:
        """Count the identifiers that a party has allocated in a namespace since a moment, up to ``limit``.

        If the count is below ``limit``, also return the party's allocation events, in any namespace, whose
        identifiers are no longer listed.
        """

    def has_acted(self, actor: str) -> bool:
        """Whether the party has caused any event."""

    def pace(self, since: int, store: str) -> list[tuple[str, int, int, int]]:
        """Return the parties that allocated since a moment.

        For each: party, identifiers, most identifiers in one minute, and that minute (milliseconds since
        1970).
        """

    def note(self, name: str) -> str | None:
        """Return the text of a note, see `Transaction.note`."""

    # for `verify`

    def details(self) -> "Iterator[EventDetails]":
        """Yield every event, in order. Memory: constant."""

    def listed(self, iri: str) -> "Listing | None":
        """Return the listing of an identifier."""

    def listings(self) -> Iterator[tuple[str, int]]:
        """Yield every listed identifier and the number of its listings. Memory: constant."""

    def miscounts(
        self, issued: "Mapping[Series, int]", highest: "Mapping[Series, int]"
    ) -> Iterator[tuple[str, str]]:
        """Yield counters that differ from the listings or the issued labels, each with the reason."""


class View(Protocol):
    """One state of the store, for reading. Valid only while the function or block that received it runs."""

    @property
    def registry_version(self) -> int:
        """Number that changes with the registry graph and with suspensions.

        Equal numbers mean equal parties and namespaces.
        """

    @property
    def catalogue(self) -> Catalogue:
        """Lists, counts and the order of events."""

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: "Term | None" = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """Yield the matching quads; None matches anything. Cost: the quads returned.

        Raises StoreUnavailable, StoreDamaged.
        """

    def nquads(
        self, subjects: Iterable[NamedNode], graph: NamedNode, through: NamedNode | None = None
    ) -> list[str]:
        """Return the quads of ``subjects`` in ``graph`` as unordered N-Quads lines, without the dot.

        With ``through``: of the nodes that point to a subject by that predicate. Safe for concurrent threads.
        Cost: for many subjects half of `quads`.
        """

    def graphs(self) -> Iterator[NamedNode]:
        """Yield every named graph, including emptied ones."""

    def claim(self, key: NamedNode) -> "Claim | None":
        """Return the claim of a label or request key, None if it was never issued."""


class Transaction(View, Protocol):
    """The state that an act sees: the newest state, earlier acts of its batch, and its own enlisted changes.

    An act has no effect besides the changes it enlists. Its inputs are finished values, since it may run
    again and in another thread.
    An act refuses by raising an error: none of its changes are made, and `Store.write` raises the same error
    when the other acts of the batch are answered.
    """

    @property
    def origin(self) -> str:
        """The store's UUID, for new events."""

    @property
    def moment(self) -> int:
        """Time of new events, milliseconds since 1970. Never before the time of an earlier event."""

    @property
    def asked(self) -> int:
        """Time of the request; the present time once a change is enlisted. Milliseconds since 1970."""

    def token(self) -> int:
        """Return the number that names a new event. Use the numbers in the order of the events."""

    def enlist(self, change: "Change") -> None:
        """Add a change to the transaction.

        Raises AlreadyRegistered: a claim is taken; LimitReached: the act makes too many changes.
        """

    def note(self, name: str, text: str) -> None:
        """Store a text under a name, replacing an earlier text.

        Notes are neither events nor part of the log.
        """

    def not_before(self, moment: int, queue: str) -> NoReturn:
        """Abandon this run, and run the act again at ``moment`` or later. Other acts run meanwhile.

        moment  milliseconds since 1970.
        queue   name of a waiting line. Acts in the same line get distinct milliseconds, in the order of their
                arrival.
        """


class Answer(Protocol):
    """Result of a query, see `idstore.queries.process.Answer`. Close it, or use it in a ``with`` block."""

    @property
    def kind(self) -> str:
        """``rows``, ``truth`` or ``triples``."""

    @property
    def format(self) -> str:
        """Serialisation format, one of `idstore.queries.formats.FORMATS`."""

    @property
    def media_type(self) -> str:
        """Media type of the format."""

    @property
    def rows(self) -> int:
        """Number of rows or triples returned."""

    @property
    def truncated(self) -> bool:
        """Whether there are more."""

    @property
    def stream(self) -> IO[bytes]:
        """The bytes, from the beginning."""

    def read(self) -> bytes:
        """Return the bytes not read yet."""

    def close(self) -> None:
        """Release the bytes."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Runner(Protocol[T_co]):
    """Runs a query from an untrusted user in a separate process, on an engine folder that nothing changes."""

    def __call__(self, folder: str, text: str, graphs: Sequence[NamedNode], limits: "Limits") -> T_co:
        """Run the query ``text`` over ``graphs``. Raises QueryRefused, LimitReached, StoreUnavailable."""


class GraphSelection(Protocol):
    """A selection of graphs for a query."""

    def within(self, graphs: Sequence[NamedNode]) -> tuple[list[str], list[str]]:
        """Return the default graphs and the named graphs that are among ``graphs``."""


class Limits(Protocol):
    """Resource limits of a query, and how to answer it."""

    @property
    def formats(self) -> Sequence[str]:
        """Formats of the answer, the first that suits it; none for the human-readable one."""

    @property
    def rows(self) -> int | None:
        """Maximum number of rows or triples; None for all."""

    @property
    def seconds(self) -> float:
        """Seconds until the query is stopped."""

    @property
    def memory(self) -> int:
        """Memory limit in bytes."""

    @property
    def cancelled(self) -> Callable[[], bool]:
        """Called now and then; once it returns True, the query ends."""

    @property
    def dataset(self) -> "GraphSelection | None":
        """Selection of graphs; None for that of the query."""

    @property
    def bindings(self) -> Mapping[str, NamedNode | Literal]:
        """Variables of the query, and their terms."""

    @property
    def longest_cell(self) -> int | None:
        """Maximum number of characters of a cell of a table; None for all."""


Node = NamedNode | BlankNode | Literal | Triple | None
"""A value in a row of a query result; None if unbound."""


class Snapshot(View, Protocol):
    """An immutable state, valid until closed; readers and writers go on.

    Close it in the thread that reads it.
    """

    def rows(self, query: str, graphs: Sequence[NamedNode] | None = None) -> Iterator[tuple[Node, ...]]:
        """Yield the rows of a SELECT query from trusted code over the quads of ``graphs`` (None: all graphs).

        A quad in several graphs gives a row for each. Raises StoreUnavailable, StoreDamaged.
        """

    def query(self, text: str, graphs: Sequence[NamedNode], limits: Limits) -> Answer:
        """Answer a user's query over ``graphs`` in a separate process.

        Raises QueryRefused, LimitReached, StoreUnavailable.
        """

    def claims(self) -> "Iterator[Claim]":
        """Yield every claim, by key. Memory: constant."""

    def faults(self, progress: "Progress") -> Iterator[str]:
        """Yield faults of the store's files, including the live files. Cost: 80 µs for each quad."""

    def close(self) -> None:
        """Release the state."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class StoreCounters:
    """What a store has done since this process opened it.

    acts            acts that were done, also those that changed nothing.
    refusals        acts that a rule refused.
    commits         durable commits; acts that wait at the same time share one.
    failures        commits that failed: the disk was full, or did not write.
    commit_seconds  seconds that all commits took on the disk.
    slowest_commit  seconds that the slowest commit took on the disk.
    waiting         acts that wait now.
    snapshots       snapshots that were made.
    """

    acts: int = 0
    refusals: int = 0
    commits: int = 0
    failures: int = 0
    commit_seconds: float = 0.0
    slowest_commit: float = 0.0
    waiting: int = 0
    snapshots: int = 0


class Store(Protocol):
    """A store of identifiers. Thread-safe.

    After a fork, whatever reads or writes raises StoreUnavailable in the child process.
    """

    @property
    def origin(self) -> str:
        """The store's UUID."""

    @property
    def path(self) -> Path:
        """The folder of the store."""

    @property
    def behind(self) -> str:
        """Why the newest changes may be invisible, and the remedy; empty if all changes are visible."""

    @property
    def age(self) -> float:
        """Seconds since the state that is read was the newest; 0 if it always is."""

    def refresh(self, wait: float = 10.0) -> None:
        """Read the newest state from now on. Snapshots that were given stay as they are.

        wait  seconds to wait for the process that holds the store.
        Raises StoreBusy, StoreUnavailable: the state is the same as before.
        """

    def counters(self) -> StoreCounters:
        """Return what the store has done since it was opened; nothing for one that only reads."""

    def read(self, question: Callable[[View], T]) -> T:
        """Return the result of a question on the newest state. No batch takes effect while the question runs.

        The question returns finished values and waits for nothing. Raises the question's error,
        StoreUnavailable.
        """

    def write(self, act: Callable[[Transaction], T]) -> T:
        """Return the result of an act, once the enlisted changes are durable and visible.

        Raises the act's error, StoreUnavailable (refused), OutcomeUnknown.
        Cost: one durable commit, shared with all acts that wait at that moment.
        """

    def snapshot(self) -> Snapshot:
        """Pin the newest state. Raises StoreUnavailable.

        Cost: about 10 ms for each new state; callers share a state.
        """

    def bulk(self, *, fresh: bool = False, dry_run: bool = False) -> "Bulk":
        """Prepare a large change aside. Writers wait meanwhile, readers go on.

        fresh    start empty if the store holds no event but those of the registry's creation; otherwise copy
                 the present state.
        dry_run  never let the change take effect: writers wait only until the present state is copied.
        Raises StoreUnavailable.
        """

    def backup(self, folder: str | PathLike[str]) -> None:
        """Copy the newest state, as a store, into an empty or missing folder.

        Raises StoreUnavailable: then the folder holds no backup.
        """

    def close(self) -> None:
        """Close the store. Acknowledged changes are kept."""


class HeldStore(Store, Protocol):
    """A store that this process holds, for reading and writing."""

    @property
    def is_free(self) -> bool:
        """Whether a question that comes at this moment waits for no batch and no other question."""


class Bulk(Transaction, Protocol):
    """A large change in preparation: both a transaction and a store that a registry can work on.

    If its block ends without an error and something was enlisted, loaded or recounted, the whole change takes
    effect. Otherwise it leaves no trace. `write` runs an act on it; an act that raises leaves no changes
    behind.
    """

    @property
    def path(self) -> Path:
        """The folder of the store."""

    @property
    def sequence(self) -> int:
        """Sequence number of the last event."""

    @property
    def behind(self) -> str:
        """Empty."""

    @property
    def age(self) -> float:
        """0: every question sees what was enlisted so far."""

    def refresh(self, wait: float = 10.0) -> None:
        """Do nothing: the state is the newest."""

    def counters(self) -> StoreCounters:
        """Return zeros: the change is counted when it takes effect."""

    def not_before(self, moment: int, queue: str) -> NoReturn:
        """Raise StoreUnavailable: a large change does not wait for the clock."""

    def read(self, question: Callable[[View], T]) -> T:
        """Return the result of a question, including everything enlisted so far."""

    def write(self, act: Callable[[Transaction], T]) -> T:
        """Run an act as part of the change."""

    def snapshot(self) -> Snapshot:
        """Raise StoreUnavailable: the change has not taken effect."""

    def bulk(self, *, fresh: bool = False, dry_run: bool = False) -> "Bulk":
        """Raise StoreUnavailable: this is a large change already."""

    def backup(self, folder: str | PathLike[str]) -> None:
        """Raise StoreUnavailable: the change has not taken effect."""

    def close(self) -> None:
        """Do nothing: the enclosing block ends the change."""

    def set_next_sequence(self, sequence: int) -> None:
        """Set the sequence number of the next enlisted event, above all others.

        `load` uses the numbers in between.
        """

    def load(self, histories: "Iterable[History]") -> None:
        """Load identifiers unknown to the store. Their events have sequence numbers that no other event has.

        Memory: constant.
        Cost: a fraction of enlisting the events.
        """

    def recount(self, issued: "Mapping[Series, int]", highest: "Mapping[Series, int]") -> None:
        """Recount the listings, and adopt the numbers of labels issued by namespace and series."""

    def redact(
        self,
        replace: Callable[[Quad], Quad],
        events: "Iterable[Event]",
        claims: "Sequence[Claim]" = (),
        renamed: tuple[str, str] | None = None,
    ) -> None:
        """Replace quads, the log included, so that no file of the store keeps the former ones.

        Nothing is enlisted afterwards. Files that are open in other processes go when these end, at the
        latest at the next opening; what a kill leaves of the former state goes at the next opening too.

        replace  returns the quad to keep in the place of a given one.
        events   the events that change, as they are afterwards.
        claims   the claims that get other digests.
        renamed  the former and the new name of a party.
        Cost: every quad is read and written.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
