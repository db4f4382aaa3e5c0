"""The bulk loader and single changes follow one set of rules."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from catalogue_lives import ACTS, CHANGES, PARTIES, Lives, Step, rows, take_all
from hypothesis import given, settings
from pyoxigraph import NamedNode

from idstore.model.event import Event
from idstore.model.history import History, LoggedEvent
from idstore.model.listing import Selection
from idstore.stores.projection import catalogue_load
from idstore.stores.projection.catalogue import Catalogue
from idstore.stores.projection.catalogue_load import CatalogueLoading


def load(catalogue: Catalogue, histories: Sequence[History], sequence: int) -> None:
    loading = CatalogueLoading(catalogue)
    for history in histories:
        loading.take(history)
    loading.finish(1, sequence)


@contextmanager
def portions(size: int) -> Iterator[None]:
    """Let the loader keep few rows in memory and make small transactions."""
    with patch.object(catalogue_load, "_ROWS", size), patch.object(catalogue_load, "_STEP", size):
        yield


@settings(max_examples=100)
@given(CHANGES)
def test_histories_give_the_same_rows_as_single_changes(changes: list[list[Step]]) -> None:
    with TemporaryDirectory() as folder:
        lives, single, loaded = Lives(), Path(folder, "single"), Path(folder, "loaded")
        with closing(Catalogue(single, create=True)) as catalogue:
            take_all(catalogue, list(lives.all(changes)))
            if not catalogue.mark:
                return
        histories = lives.histories()
        Random(len(changes)).shuffle(histories)
        with closing(Catalogue(loaded, create=True)) as catalogue, portions(3):
            load(catalogue, histories, lives.sequence)
        assert rows(loaded) == rows(single)


def life(seed: int, count: int) -> tuple[Lives, list[list[Step]]]:
    random = Random(seed)
    kinds = ("mint", "publish", *ACTS)
    return Lives(), [
        [Step(random.choice(kinds), random.randrange(99), random.randrange(6))] for _ in range(count)
    ]


def definitions(catalogue: Catalogue) -> list[tuple[str, str | None]]:
    """Return the tables and indexes of the file, with the statements that make them."""
    with closing(sqlite3.connect(catalogue.path)) as database:
        return database.execute("SELECT name, sql FROM sqlite_master ORDER BY 1").fetchall()


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_load_into_a_catalogue_goes_on_where_that_ends(tmp_path: Path, share: float) -> None:
    """The load rebuilds the indexes if it is large in comparison with the catalogue, else it keeps them."""
    lives, steps = life(1, 400)
    there, later = Lives(), int(400 * share)
    with closing(Catalogue(tmp_path / "c", create=True)) as catalogue:
        take_all(catalogue, list(there.all(steps[:later])))
        published = catalogue.questions.publication
        list(lives.all(steps[later:]))
        moved = [_moved(history, there.sequence, len(there.lives)) for history in lives.histories()]
        before = definitions(catalogue)
        load(catalogue, moved, there.sequence + lives.sequence)
        assert definitions(catalogue) == before
        feed = [row.sequence for row in catalogue.questions.published(0, 10_000)]
        assert feed == there.feed() + [place + there.sequence for place in lives.feed()]
        assert (catalogue.questions.publication, catalogue.own.publication) == (
            len(feed),
            published + len(lives.feed()),
        )
        assert catalogue.questions.counts() == (
            len(there.listings()) + len(lives.listings()),
            there.sequence + lives.sequence,
        )
        issued = {
            key: there.issued.get(key, 0) + lives.issued.get(key, 0) for key in (there.issued | lives.issued)
        }
        highest = {key: catalogue.questions.series(key[0])[key[1]][1] for key in issued}
        assert list(catalogue.questions.miscounts(issued, highest)) == []
        assert list(catalogue.faults()) == []
        ((_, change),) = there.all([[Step("publish", 0, 0)]])
        catalogue.begin()
        catalogue.take(change, lives.sequence + there.sequence + 1)
        catalogue.finish(9, lives.sequence + there.sequence + 1)
        catalogue.commit()
        assert catalogue.questions.published(len(feed), 9)[0].publication == len(feed) + 1


def _moved(history: History, places: int, number: int) -> History:
    """Return a copy of a history at later places, with another identifier and other event tokens."""
    iri = NamedNode(f"{history.record.iri}-{number}")

    def again(event: Event) -> Event:
        return replace(event, about=iri.value, token=event.token + 1)

    moved_events = tuple(
        LoggedEvent(one.sequence + places, again(one.event), one.graph, one.since and one.since + places)
        for one in history.events
    )
    return History(moved_events, replace(history.record, iri=iri.value), "", (), history.issued)


def test_memory_for_counters_is_written_while_loading(tmp_path: Path) -> None:
    lives, steps = life(2, 300)
    list(lives.all(steps))
    with closing(Catalogue(tmp_path / "c", create=True)) as catalogue, portions(1):
        loading = CatalogueLoading(catalogue)
        for number, history in enumerate(lives.histories(), 1):
            loading.take(history)
            with closing(sqlite3.connect(catalogue.path)) as database:
                ((counted,),) = database.execute("SELECT SUM(issued) FROM series")
            assert counted == number
        loading.finish(1, lives.sequence)
        assert len(catalogue.questions.identifiers(Selection(None), None)) == len(lives.listings())
        assert {owner for _, owner, _, _ in catalogue.questions.tallies(None)} <= set(PARTIES)


def test_an_empty_load_leaves_an_empty_catalogue(tmp_path: Path) -> None:
    with closing(Catalogue(tmp_path / "c", create=True)) as catalogue:
        load(catalogue, [], 0)
        assert (catalogue.mark, catalogue.questions.sequence, catalogue.questions.counts()) == (1, 0, (0, 0))
        load(catalogue, [], 0)
