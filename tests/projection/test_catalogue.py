"""Transactions of the catalogue.

Dropped changes leave no trace, questions do not see uncommitted changes, and pinned states stay.
"""

import resource
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from catalogue_lives import ACTS, CHANGES, Lives, Step, dump, rows, take, take_all
from hypothesis import given, settings

from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.model.change import Change
from idstore.model.listing import Selection, listing_of
from idstore.stores.projection.catalogue import Catalogue
from idstore.stores.projection.catalogue_questions import Questions
from idstore.vocabulary import PUBLIC_LOG


def some_changes(count: int = 60) -> list[tuple[int, Change]]:
    random = Random(5)
    kinds = ("mint", "publish", *ACTS)
    return list(
        Lives().all(
            [[Step(random.choice(kinds), random.randrange(40), random.randrange(6))] for _ in range(count)]
        )
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalogue.sqlite"


@pytest.fixture
def catalogue(path: Path) -> Iterator[Catalogue]:
    with closing(Catalogue(path, create=True)) as made:
        yield made


def read(catalogue: Catalogue, statement: str) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, read through another connection."""
    with closing(sqlite3.connect(catalogue.path)) as database:
        return database.execute(statement).fetchall()


def damage(catalogue: Catalogue, *statements: str) -> None:
    """Change the file behind the catalogue's back."""
    with closing(sqlite3.connect(catalogue.path)) as database, database:
        for statement in statements:
            database.execute(statement)


def answers(questions: Questions) -> list[object]:
    """Return the answers to all questions."""
    return [
        questions.meta(),
        questions.identifiers(Selection(None), None),
        list(questions.sorted_identifiers()),
        questions.events(Selection(None)),
        questions.published(0, 1000),
        questions.last_event(),
        questions.tallies(None),
        questions.days(None),
        questions.counts(),
        questions.series("http://rdl.example.org/data#"),
        questions.note("checked"),
        list(questions.details()),
    ]


# acts


@settings(max_examples=60)
@given(CHANGES)
def test_changes_of_an_act_that_raises_leave_no_trace(changes: list[list[Step]]) -> None:
    with TemporaryDirectory() as folder:
        made, first, second = list(Lives().all(changes)), Path(folder, "first"), Path(folder, "second")
        with (
            closing(Catalogue(first, create=True)) as plain,
            closing(Catalogue(second, create=True)) as tried,
        ):
            take_all(plain, made)
            tried.begin()
            for place, (number, change) in enumerate(made):
                before = (tried.own.sequence, tried.own.publication)
                tried.savepoint()
                for later, doomed in made[place : place + 3]:
                    tried.take(doomed, later)
                    tried.note("checked", "never")
                tried.rollback_to()
                assert (tried.own.sequence, tried.own.publication) == before
                tried.savepoint()
                tried.take(change, number)
                tried.release()
            tried.finish(len(made), plain.own.sequence)
            tried.commit()
            assert dump(second) == dump(first)


def test_a_batch_that_is_rolled_back_leaves_no_trace(catalogue: Catalogue, path: Path) -> None:
    changes = some_changes()
    take_all(catalogue, changes[:3])
    before, numbers = dump(path), (catalogue.own.sequence, catalogue.own.publication)
    for _ in range(2):
        catalogue.begin()
        for place, (first, change) in enumerate(changes[3:]):
            catalogue.savepoint()
            catalogue.take(change, first)
            if place % 3:
                catalogue.release()
            else:
                catalogue.rollback_to()
                catalogue.savepoint()
                catalogue.take(change, first)
                catalogue.release()
        catalogue.note("checked", "7")
        catalogue.finish(99, 99)
        catalogue.rollback()
        assert (catalogue.own.sequence, catalogue.own.publication) == numbers
        assert dump(path) == before
    catalogue.rollback()
    for mark, (first, change) in enumerate(changes[3:], 4):
        take(catalogue, first, change, mark)
    with TemporaryDirectory() as folder, closing(Catalogue(Path(folder, "other"), create=True)) as other:
        take_all(other, changes)
        assert dump(path) == dump(other.path)


def test_the_number_of_a_text_is_not_kept_after_an_act_raised(catalogue: Catalogue, path: Path) -> None:
    """Otherwise the second act would write rows with the number of a missing text."""
    first, change = some_changes()[0]
    catalogue.begin()
    catalogue.savepoint()
    catalogue.take(change, first)
    catalogue.rollback_to()
    catalogue.savepoint()
    catalogue.take(change, first)
    catalogue.release()
    catalogue.commit()
    assert all(row[1] and row[3] and row[5] for row in rows(path)["event"])


def test_counters_that_reach_zero_are_removed(catalogue: Catalogue) -> None:
    steps = [[Step("mint", 0, 0)], [Step("release", 0, 0)], [Step("mint", 0, 1)], [Step("fixate", 1, 0)]]
    take_all(catalogue, list(Lives().all(steps)))
    for table in ("tally", "daily"):
        assert read(catalogue, f"SELECT count FROM {table}") == [(1,)]


def test_an_identifier_has_the_place_of_the_first_event_about_it(catalogue: Catalogue) -> None:
    """This holds even if a change begins with an event about something else; no two get the same place."""
    lives = Lives()
    ((_, begun),) = lives.all([[Step("mint", 0, 0), Step("mint", 1, 1)]])
    (noted,) = [replace(event, about="urn:x:batch", token=7) for event, _ in begun.events[:1]]
    listings = tuple(listing_of(record, new=True) for record in begun.records())
    take(catalogue, 11, Change(((noted, PUBLIC_LOG), *begun.events), listings=listings[::-1]), 1)
    found = read(catalogue, "SELECT n, iri FROM identifier ORDER BY n")
    assert found == [(12, listings[0].iri), (13, listings[1].iri)]
    assert catalogue.own.sequence == 13


def test_an_event_that_is_public_already_keeps_its_number(catalogue: Catalogue) -> None:
    lives = Lives()
    ((first, begun),) = lives.all([[Step("publish", 0, 0), Step("publish", 1, 1)]])
    take(catalogue, first, begun, 1)
    ((later, noted),) = lives.all([[Step("comment", 0, 0)]])
    take(catalogue, later, replace(noted, moved=begun.events[:1]), 2)
    assert [(row.sequence, row.publication) for row in catalogue.questions.published(0, 9)] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    ((last, noted),) = lives.all([[Step("comment", 0, 0)]])
    unknown = (replace(noted.events[0][0], token=5), PUBLIC_LOG)
    take(catalogue, last, replace(noted, moved=(unknown,)), 3)
    assert (catalogue.questions.publication, catalogue.questions.counts()) == (4, (2, 4))


# visibility


def test_questions_see_committed_rows_alone_and_acts_see_all(catalogue: Catalogue) -> None:
    changes = some_changes()
    for mark, (first, change) in enumerate(changes, 1):
        before = answers(catalogue.questions)
        catalogue.begin()
        catalogue.savepoint()
        catalogue.take(change, first)
        catalogue.note("checked", str(mark))
        assert answers(catalogue.questions) == before
        event = change.events[-1][0].iri
        assert catalogue.own.knows(event)
        assert catalogue.own.sequence == catalogue.own.place_of(event)
        assert catalogue.own.note("checked") == str(mark)
        assert not catalogue.questions.knows(event)
        catalogue.release()
        catalogue.finish(mark, catalogue.own.sequence)
        assert answers(catalogue.questions) == before
        assert catalogue.mark == mark - 1
        catalogue.commit()
        assert catalogue.mark == mark
        assert answers(catalogue.questions) == answers(catalogue.own)


def test_acts_see_the_publication_number_before_it_is_written(catalogue: Catalogue) -> None:
    ((first, change),) = Lives().all([[Step("publish", 0, 0)]])
    catalogue.begin()
    catalogue.take(change, first)
    assert (catalogue.own.publication, catalogue.questions.publication) == (1, 0)
    catalogue.rollback()
    assert (catalogue.own.publication, catalogue.questions.publication) == (0, 0)


def test_a_question_that_does_not_end_does_not_hold_others_at_its_state(catalogue: Catalogue) -> None:
    """Lists leave no cursor open, so later questions on the same connection see later commits."""
    changes = some_changes()
    take_all(catalogue, changes[:50])
    catalogue.questions.identifiers(Selection(None), 1)
    catalogue.questions.events(Selection(), limit=1)
    catalogue.questions.published(0, 1)
    for mark, (first, change) in enumerate(changes[50:], 51):
        take(catalogue, first, change, mark)
    assert catalogue.mark == len(changes)
    assert read(catalogue, "PRAGMA wal_checkpoint(TRUNCATE)") == [(0, 0, 0)]


def test_many_threads_ask_while_one_writes(catalogue: Catalogue) -> None:
    changes, failures, stop = some_changes(300), [], threading.Event()

    def ask() -> None:
        try:
            last = 0
            while not stop.is_set():
                sequence = catalogue.questions.sequence
                assert sequence >= last
                last = sequence
                catalogue.questions.events(Selection(None), after=max(0, sequence - 5))
                catalogue.questions.identifiers(Selection(None), 5)
                catalogue.questions.tallies(None)
        except BaseException as error:  # noqa: BLE001 checked below
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for mark, (first, change) in enumerate(changes, 1):
        take(catalogue, first, change, mark)
        if mark % 50 == 0:
            catalogue.sync()
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


# pinned states and copies


def test_a_pinned_state_stays(catalogue: Catalogue) -> None:
    changes = some_changes()
    take_all(catalogue, changes[:30])
    catalogue.begin()
    catalogue.take(changes[30][1], changes[30][0])
    pinned = catalogue.pinned()
    before = answers(catalogue.questions)
    assert answers(pinned.questions) == before
    catalogue.finish(31, catalogue.own.sequence)
    catalogue.commit()
    for mark, (first, change) in enumerate(changes[31:], 32):
        take(catalogue, first, change, mark)
    catalogue.checkpoint()
    catalogue.sync()
    assert answers(pinned.questions) == before
    assert pinned.questions.mark == 30
    pinned.close()
    with closing(catalogue.pinned()) as later:
        assert answers(later.questions) == answers(catalogue.questions)


def test_a_copy_of_a_pinned_state_is_one_file(catalogue: Catalogue, path: Path, tmp_path: Path) -> None:
    path.chmod(0o640)
    changes = some_changes()
    take_all(catalogue, changes[:30])
    with closing(catalogue.pinned()) as pinned:
        for mark, (first, change) in enumerate(changes[30:], 31):
            take(catalogue, first, change, mark)
        copies = tmp_path / "copies"
        copies.mkdir()
        pinned.copy(copies / "copy")
        before = answers(pinned.questions)
    assert [file.name for file in copies.iterdir()] == ["copy"]
    assert (copies / "copy").stat().st_mode & 0o777 == 0o640
    with closing(Catalogue(copies / "copy", read_only=True)) as copy:
        assert answers(copy.questions) == before
        assert answers(copy.own) == before
        assert list(copy.faults()) == []
    assert [file.name for file in copies.iterdir()] == ["copy"]
    with closing(Catalogue(copies / "copy")) as copy:
        for mark, (first, change) in enumerate(changes[30:], 31):
            take(copy, first, change, mark)
        assert answers(copy.questions) == answers(catalogue.questions)


def test_a_copy_has_the_committed_state(catalogue: Catalogue, tmp_path: Path) -> None:
    changes = some_changes()
    take_all(catalogue, changes[:30])
    catalogue.begin()
    catalogue.take(changes[30][1], changes[30][0])
    catalogue.copy(tmp_path / "copy")
    with closing(Catalogue(tmp_path / "copy", read_only=True)) as copy:
        assert answers(copy.questions) == answers(catalogue.questions)
    with pytest.raises(OSError, match="exists"):
        catalogue.copy(tmp_path / "copy")


# the disk


def test_written_rows_are_there_after_closing(catalogue: Catalogue, path: Path) -> None:
    changes = some_changes()
    take_all(catalogue, changes)
    before = answers(catalogue.questions)
    catalogue.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    for options in ({"read_only": True}, {}):
        with closing(Catalogue(path, **options)) as again:
            assert answers(again.questions) == before
            assert (again.own.sequence, again.own.publication) == (
                again.questions.sequence,
                again.questions.publication,
            )


def test_the_log_does_not_grow_without_end(catalogue: Catalogue, path: Path) -> None:
    changes = some_changes(3000)
    take_all(catalogue, changes)
    assert path.with_name(f"{path.name}-wal").stat().st_size < 8 << 20


@contextmanager
def no_growth(path: Path) -> Iterator[None]:
    """Let the system refuse every write beyond the present end of the file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_log_that_failed_to_copy_once_is_not_reported_as_durable(catalogue: Catalogue) -> None:
    """Pages of the failed copy may be lost even if a later copy succeeds; the state itself is complete."""
    changes = some_changes()
    take_all(catalogue, changes[:30])
    catalogue.sync()
    with no_growth(catalogue.path):
        catalogue.checkpoint()
    take(catalogue, *changes[30], 31)
    catalogue.checkpoint()
    with pytest.raises(sqlite3.OperationalError, match="disk"):
        catalogue.sync()
    assert catalogue.mark == 31
    catalogue.close()
    with closing(Catalogue(catalogue.path)) as again:
        again.sync()


# damage


DAMAGE: dict[str, Callable[[sqlite3.Connection], object]] = {
    "no mark": lambda db: db.execute("DELETE FROM meta WHERE key = 'mark'"),
    "no sequence": lambda db: db.execute("DELETE FROM meta WHERE key = 'sequence'"),
    "no number": lambda db: db.execute("UPDATE meta SET value = 'one' WHERE key = 'publication'"),
    "nothing": lambda db: db.execute("DELETE FROM meta"),
}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("what", DAMAGE)
def test_a_catalogue_without_a_mark_is_damaged(path: Path, what: str, *, read_only: bool) -> None:
    Catalogue(path, create=True).close()
    with closing(sqlite3.connect(path)) as database, database:
        DAMAGE[what](database)
    with pytest.raises(StoreDamaged, match=f"{path} lacks its mark or its event numbers"):
        Catalogue(path, read_only=read_only)


def test_later_damage_is_reported(catalogue: Catalogue) -> None:
    damage(catalogue, "DELETE FROM meta")
    with pytest.raises(StoreDamaged):
        _ = catalogue.mark
    with pytest.raises(StoreDamaged):
        catalogue.pinned()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_foreign_file_is_damage_and_a_missing_file_is_not(path: Path, *, read_only: bool) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be opened") as refused:
        Catalogue(path, read_only=read_only)
    assert not isinstance(refused.value, StoreDamaged)
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreDamaged, match="not a database"):
        Catalogue(path, read_only=read_only)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        Catalogue(path, create=True)


def test_faults_of_the_file_are_found(catalogue: Catalogue, path: Path) -> None:
    take_all(catalogue, some_changes(300))
    assert list(catalogue.faults()) == []
    ((page,),) = read(catalogue, "SELECT rootpage FROM sqlite_master WHERE name = 'event_about'")
    ((size,),) = read(catalogue, "PRAGMA page_size")
    catalogue.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size + 8)
        file.write(b"\xff" * 200)
    with closing(Catalogue(path)) as damaged:
        try:
            found = list(damaged.faults())
        except StoreDamaged as error:
            found = [error.message]
        assert found
        assert all(str(path) in fault for fault in found)


def test_recounting_repairs_every_counter(catalogue: Catalogue, path: Path) -> None:
    lives, random = Lives(), Random(3)
    steps = [
        [Step(random.choice(("mint", "publish", *ACTS)), random.randrange(40), random.randrange(6))]
        for _ in range(200)
    ]
    take_all(catalogue, list(lives.all(steps)))
    issued, highest = (
        lives.issued,
        {key: catalogue.questions.series(key[0])[key[1]][1] for key in lives.issued},
    )
    assert list(catalogue.questions.miscounts(issued, highest)) == []
    before = rows(path)
    damage(
        catalogue,
        "UPDATE tally SET count = count + 1 WHERE audience = 0",
        "DELETE FROM daily WHERE audience = 0",
        "UPDATE series SET highest = 0",
        "INSERT INTO tally VALUES (7777, 7777, 7777, 9, 2)",
    )
    wrong = dict(catalogue.questions.miscounts(issued, highest))
    assert wrong["tally of audience 7777, namespace 7777, owner 7777, stage 9"] == "says 2, and there are 0"
    assert {place.split()[0] for place in wrong} == {"tally", "daily", "series"}
    catalogue.recount(issued, highest)
    assert list(catalogue.questions.miscounts(issued, highest)) == []
    assert rows(path) == before
