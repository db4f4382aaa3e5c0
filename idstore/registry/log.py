"""The log: events with parties and times, of the whole registry, one party, or one identifier."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from pyoxigraph import NamedNode

from idstore.errors import InvalidData, LimitReached, NotRegistered
from idstore.model.event import Event
from idstore.model.filter import Filter
from idstore.model.listing import EventRow
from idstore.model.party import Party
from idstore.model.record import Identifier, written
from idstore.progress import never
from idstore.registry.authority import Authority, authority_of
from idstore.registry.core import read_event
from idstore.registry.lookup import Lookup
from idstore.stores.contract import View
from idstore.vocabulary import IDS, RDF

PAGE: Final = 1000
"""Events of a page at most."""
QUESTION: Final = 100
"""Events that are read in one question of a long answer: acts and other questions wait until its end."""
_COMMIT: Final = "commit:"
"""Prefix of a cursor that counts all events, not only public ones."""
_DIGITS: Final = 18
"""Most digits of a cursor's number."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An event of the log, with its numbers.

    event        the event itself.
    sequence     its number in this store; for administrators only, because gaps reveal the number of hidden
                 events.
    publication  its number in the public feed; None while it is not public.
    """

    event: Event
    sequence: int | None
    publication: int | None


@dataclass(frozen=True, slots=True)
class EventPage:
    """The events after a cursor.

    entries  the events, oldest first.
    cursor   text to save, and to give to the next call: it goes on after these events.
    """

    entries: list[LogEntry]
    cursor: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on an identifier or a namespace."""

    text: str
    by: str
    at: datetime
    internal: bool


@dataclass(slots=True)
class LogPosition:
    """The position of a reader in the log; reading advances it.

    follows      whether the reader also wants skipped events that became public since.
    last         the IRI of the last event read; its sequence number would reveal the number of hidden events.
    publication  number of the last event that was public at that time.
    shown        events read that are not public yet and would reappear in the feed. Memory: 100 bytes for
                 each.
    """

    follows: bool = True
    last: str | None = None
    publication: int | None = None
    shown: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _News:
    """The next entries of a reader, and its position after them.

    last         None: no event was read.
    publication  None: the state is older than the position.
    new, gone    events to add to and to remove from those shown.
    more         whether more events may have become public since.
    """

    entries: list[LogEntry]
    last: str | None = None
    publication: int | None = None
    new: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    more: bool = False


class Log(Lookup):
    """The log and the authority metadata."""

    def log(self, party: Party, filter: Filter = Filter(), *, after: int = 0) -> Iterator[LogEntry]:
        """Yield the events that the party may see, oldest first, page by page.

        after  only events after this sequence number: for administrators only, unless it is 0.
        Raises NotRegistered for an ``id`` without a visible event, InvalidData, NotPermitted.
        """
        filter.check_events()
        if after:
            self.core.only_administrators(party)
        about = self.store.read(lambda view: self._about(view, filter.id, party))

        def question(view: View) -> tuple[list[LogEntry], int]:
            """Return a page, and the sequence number of its last event."""
            selection = self.core.selection(view, party, filter)
            rows = view.catalogue.events(
                selection, about=about, kinds=filter.kinds, after=after, limit=QUESTION
            )
            numbered = self.core.sight(view, party).everything
            return [entry(view, row, numbered=numbered) for row in rows], rows[-1].sequence if rows else after

        while True:
            page, after = self.store.read(question)
            yield from page
            if len(page) < QUESTION:
                return

    def published(self, after: int = 0, limit: int = PAGE) -> Sequence[LogEntry]:
        """Return a page of the public feed after a publication number; the feed has no gaps.

        after  the publication number of the last entry that is known; 0: from the beginning.
        limit  how many entries at most.
        """
        entries = list[LogEntry]()
        more = True
        while more and len(entries) < limit:
            size = min(limit - len(entries), QUESTION)
            found = self.store.read(partial(_published, after, size))
            entries += found
            more = len(found) == size
            after += len(found)
        return entries

    def events_since(
        self,
        party: Party,
        cursor: str = "0",
        filter: Filter = Filter(),
        *,
        limit: int = PAGE,
        cancelled: Callable[[], bool] = never,
    ) -> EventPage:
        """Return the events after a cursor, and the cursor after them. Fewer than ``limit``: it was the last.

        A cursor is a text, and means the same in every process. None is missed, and none comes twice, also
        where older events become public later.

        cursor  a number: what is public after that publication number, for everyone; 0 from the beginning.
                ``commit:`` and a number: all events after that sequence number, for administrators.
        limit   how many events at most; an answer of a server has no more than 1000, and only if it has fewer
                than that it was the last.
        cancelled  is called before each question to the store; once it returns True, the reading ends.
        Raises InvalidData (no cursor, or no event has that number yet), NotRegistered for an ``id`` without
        a visible event, NotPermitted, LimitReached (it was cancelled).
        """
        filter.check_events()
        commits, number = _read_cursor(cursor)
        page = self._commits_after if commits else self._publications_after
        entries: list[LogEntry] = []
        more = True
        while more and len(entries) < limit:
            check_wanted(cancelled)
            found, number, more = self.store.read(partial(page, party, filter, number, limit - len(entries)))
            entries += found
        return EventPage(entries, f"{_COMMIT if commits else ''}{number}")

    def _commits_after(
        self, party: Party, filter: Filter, number: int, limit: int, view: View
    ) -> tuple[list[LogEntry], int, bool]:
        """Return events after a sequence number, the number of the last, and whether more may follow."""
        self.core.require_administrator(view, party, "read events by their commit numbers")
        last = view.catalogue.sequence
        check_reached(number, last)
        about, selection = self._about(view, filter.id, party), self.core.selection(view, party, filter)
        size = min(limit, PAGE)
        rows = view.catalogue.events(selection, about=about, kinds=filter.kinds, after=number, limit=size)
        more = len(rows) == size
        entries = [entry(view, row, numbered=True) for row in rows]
        return entries, rows[-1].sequence if more else last, more

    def _publications_after(
        self, party: Party, filter: Filter, number: int, limit: int, view: View
    ) -> tuple[list[LogEntry], int, bool]:
        """Return public events after a publication number: see `_commits_after`."""
        last = view.catalogue.publication
        check_reached(number, last)
        about = self._about(view, filter.id, party)
        size = min(limit, PAGE)
        rows = view.catalogue.published(number, size)
        entries = [entry(view, row) for row in rows]
        more = len(rows) == size
        concerned = [one for one in entries if _concerns(one.event, filter, about)]
        return concerned, (rows[-1].publication or number) if more else last, more

    def _about(self, view: View, id: Identifier | None, party: Party) -> str | None:
        """Return the subject that a filter's ``id`` selects; None for no restriction."""
        return None if id is None else self._subject(view, id, party)

    def _subject(self, view: View, id: Identifier, party: Party) -> str:
        """Return the IRI of a namespace or an identifier, also of a released one with visible events."""
        text = written(id)
        facts = self.core.facts(view)
        namespace = facts.by_name.get(text) or facts.by_base.get(text)
        if namespace is not None:
            return namespace.base
        try:
            return self._identify(view, text, party).value
        except NotRegistered:
            sight = self.core.sight(view, party)
            for namespace, label in self._readings(view, text):
                iri = NamedNode(namespace.scheme.iri(label, namespace.context))
                if any(self.core.visible_quads(view, sight, None, IDS.about, iri)):
                    return iri.value
            raise

    def remarks(self, id: Identifier, party: Party) -> list[Remark]:
        """Return the visible comments on an identifier or a namespace, oldest first. Raises as `show`."""

        def question(view: View) -> list[Remark]:
            facts, text = self.core.facts(view), written(id)
            namespace = facts.by_name.get(text) or facts.by_base.get(text)
            about = namespace.iri if namespace is not None else self._identify(view, text, party)
            history = self.core.history(view, about, self.core.sight(view, party), RDF.value)
            return [
                Remark(remark.value, event.by, event.at, event.internal)
                for event, _ in history
                for remark in event.all(RDF.value)
            ]

        return self.store.read(question)

    def news(
        self,
        party: Party,
        filter: Filter = Filter(),
        position: LogPosition | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> list[LogEntry]:
        """Return the next events that the party may see, oldest first, at most a page.

        Then older ones made public since.
        No event is repeated, and no public event is missed. The list is empty if there is nothing new, also
        in a state older than the position.

        cancelled  is called before each question to the store; once it returns True, the reading ends.
        Raises NotRegistered for an ``id`` without a visible event, LimitReached (it was cancelled).
        """
        filter.check_events()
        cursor = position or LogPosition(follows=False)
        while True:
            check_wanted(cancelled)
            news = self.store.read(lambda view: self._news(view, party, filter, cursor))
            if news.publication is not None:
                cursor.publication = news.publication
                cursor.last = news.last or cursor.last
                cursor.shown |= news.new
                cursor.shown -= news.gone
            if news.entries or not news.more:
                return news.entries

    def _news(self, view: View, party: Party, filter: Filter, position: LogPosition) -> _News:
        about = self._about(view, filter.id, party)
        selection = self.core.selection(view, party, filter)
        after = 0 if position.last is None else view.catalogue.place_of(position.last)
        if after is None:
            return _News([])
        rows = view.catalogue.events(selection, about=about, kinds=filter.kinds, after=after, limit=PAGE)
        last = rows[-1].iri if rows else None
        entries = [entry(view, row) for row in rows]
        publication = view.catalogue.publication if position.publication is None else position.publication
        if not position.follows:
            return _News(entries, last, publication)
        new = {row.token for row in rows if (row.publication or publication + 1) > publication}
        room = PAGE - len(rows)
        late = view.catalogue.published(publication, room) if room else []
        gone = {row.token for row in late if row.token in position.shown or row.token in new}
        others = (entry(view, row) for row in late if row.token not in gone)
        entries += [other for other in others if _concerns(other.event, filter, about)]
        publication = (late[-1].publication or publication) if late else publication
        return _News(entries, last, publication, frozenset(new), frozenset(gone), more=len(late) == room)

    def authority(self, id: Identifier, party: Party) -> Authority:
        """Return the authority metadata of an identifier. Raises as `show`."""

        def question(view: View) -> Authority:
            iri = self._identify(view, id, party)
            return authority_of(
                iri, [event for event, _ in self.core.history(view, iri, self.core.sight(view, party))]
            )

        return self.store.read(question)


def feed_position(entry: LogEntry) -> str:
    """Return the position of an entry in the public feed, for ``after``."""
    return str(entry.publication)


def entry(view: View, row: EventRow, *, numbered: bool = False) -> LogEntry:
    """Return the log entry of a row; its sequence number only with ``numbered``."""
    assert row.graph is not None
    return LogEntry(
        read_event(view, NamedNode(row.iri), NamedNode(row.graph)),
        row.sequence if numbered else None,
        row.publication,
    )


def _published(after: int, limit: int, view: View) -> list[LogEntry]:
    return [entry(view, row) for row in view.catalogue.published(after, limit)]


def check_wanted(cancelled: Callable[[], bool]) -> None:
    """Raise LimitReached if reading was cancelled."""
    if cancelled():
        raise LimitReached("reading the log was cancelled", limit="cancelled")


def _read_cursor(text: str) -> tuple[bool, int]:
    """Return whether a cursor counts commits, and its number. Raises InvalidData."""
    number = text.removeprefix(_COMMIT)
    if not (number.isascii() and number.isdecimal() and len(number) <= _DIGITS):
        raise InvalidData(
            f"{text!r} is no cursor; give the one that was returned, or 0", field="cursor", value=text
        )
    return number != text, int(number)


def check_reached(number: int, last: int) -> None:
    """Raise InvalidData for a future number: a follower would miss the events with the numbers before it."""
    if number > last:
        raise InvalidData(
            f"no event has the number {number} yet, the last is {last}; check that this is the registry that"
            " you follow",
            after=number,
            last=last,
        )


def _concerns(event: Event, filter: Filter, about: str | None) -> bool:
    return (
        about in (None, event.about)
        and filter.party in (None, event.by)
        and (not filter.kinds or event.act in filter.kinds)
        and filter.is_within(event.at)
    )
