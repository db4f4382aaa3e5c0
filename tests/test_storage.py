"""The storage plan: directories and file systems up to their limits, each delivery placed once."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Quad

import idstore
from idstore import Party, errors
from idstore.exchange import rdf
from idstore.model.change import Change
from idstore.model.event import Event
from idstore.model.storage import Place, Storage, apply, check_path, fold
from idstore.model.terms import integer
from idstore.registry import Registry
from idstore.stores.contract import Transaction
from idstore.validation import registries
from idstore.vocabulary import IDS, PUBLIC_LOG, STORAGE_GRAPH

GB, TB = 10**9, 10**12
ADA, BOB, CAROL = Party("ada"), Party("bob"), Party("carol")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    made = idstore.open(tmp_path / "store", administrator=ADA)
    made.add_storage("ejournals", "/mnt/pillar", ADA)
    return made


def paths(registry: Registry, *deliveries: tuple[str, int]) -> list[str]:
    return [
        registry.place("ejournals", publisher, size, ADA).path.removeprefix("/mnt/pillar/")
        for publisher, size in deliveries
    ]


def test_directories_are_closed_at_200_gb(registry: Registry) -> None:
    """The policy's kluwer1, kluwer2, kluwer3."""
    found = paths(registry, *[("kluwer", 120 * GB)] * 3, ("kluwer", 80 * GB), ("kluwer", 0))
    assert found == [
        "ejournals1/kluwer1/",
        "ejournals1/kluwer2/",
        "ejournals1/kluwer3/",
        "ejournals1/kluwer3/",
        "ejournals1/kluwer4/",
    ]


def test_file_systems_are_closed_at_2_tb_and_directories_with_them(registry: Registry) -> None:
    """The policy's ejournals2/wiley5, then ejournals3/wiley6 and ejournals3/ieee2."""
    assert (
        paths(registry, ("ieee", GB), *[("other", 200 * GB)] * 9, ("wiley", 100 * GB))[-1]
        == "ejournals1/wiley1/"
    )
    first = registry.place("ejournals", "wiley", 100 * GB, ADA)  # 2,001 GB would exceed the limit
    assert (first.path, first.read_only, first.new_file_system) == (
        "/mnt/pillar/ejournals2/wiley2/",
        "/mnt/pillar/ejournals1/",
        True,
    )
    assert paths(registry, *[("wiley", 150 * GB)] * 3)[-1] == "ejournals2/wiley5/"
    assert paths(registry, *[("other", 200 * GB)] * 8, ("wiley", 50 * GB), ("ieee", GB))[-2:] == [
        "ejournals3/wiley6/",
        "ejournals3/ieee2/",
    ]
    [storage] = registry.storages()
    assert storage.closed_file_systems() == {1, 2}
    assert [place.directory for place in storage.directories("wiley")] == [1, 2, 3, 4, 5, 6]
    closed = storage.closed_directories()
    assert [place in closed for place in storage.directories("wiley")] == [True] * 5 + [False]


def test_a_plan_goes_on_from_a_present_state(registry: Registry) -> None:
    present = {
        "books2/elsevier4": 200 * GB,
        "books3/wiley6": 150 * GB,
        "/mnt/pillar/books3/ieee2/": 1600 * GB,  # larger than any delivery that the plan would place there
    }
    made = registry.add_storage("books", "/mnt/pillar", ADA, present=present)
    assert registry.storages()[0] == made
    assert made.file_systems() == {2: 200 * GB, 3: 1750 * GB}
    steps = [("wiley", 50 * GB), ("elsevier", GB), ("ieee", GB), ("wiley", GB), ("wiley", 200 * GB)]
    found = [registry.place("books", publisher, size, ADA) for publisher, size in steps]
    assert [placed.path.removeprefix("/mnt/pillar/") for placed in found] == [
        "books3/wiley6/",
        "books3/elsevier5/",
        "books3/ieee3/",
        "books3/wiley7/",
        "books4/wiley8/",
    ]
    assert not any(placed.new_file_system for placed in found[:4])
    assert list(registry.verify(ADA)) == []
    assert registries.check(registry, ADA).conforms


@pytest.mark.parametrize(
    "present",
    [
        {"ejournals3/wiley6": 1},
        {"books3": 1},
        {"books0/wiley1": 1},
        {"books3/wiley": 1},
        {"books3/wiley6": -1},
        {"books3/wiley6": 1, "/mnt/pillar/books3/wiley6": 1},
        {"books3/wiley6": 2**63},
    ],
)
def test_present_states_that_are_refused(registry: Registry, present: dict[str, int]) -> None:
    with pytest.raises(errors.InvalidData):
        registry.add_storage("books", "/mnt/pillar", ADA, present=present)
    assert [storage.name for storage in registry.storages()] == ["ejournals"]


def test_a_file_system_that_is_exactly_full_is_read_only(registry: Registry) -> None:
    for more in range(10):
        placed = registry.place("ejournals", f"p{'x' * more}", 200 * GB, ADA)
    assert placed.read_only == "/mnt/pillar/ejournals1/"
    assert registry.place("ejournals", "p", 0, ADA).path == "/mnt/pillar/ejournals2/p2/"


def test_a_delivery_is_placed_once(registry: Registry) -> None:
    first = registry.place("ejournals", "wiley", GB, ADA, delivery="batch 7")
    again = registry.place("ejournals", "wiley", GB, ADA, delivery="batch 7")
    assert (first.path, first.again) == (again.path, False) and again.again
    assert registry.storages()[0].sizes == ((Place(1, "wiley", 1), GB),)
    for publisher, size in (("ieee", GB), ("wiley", 2 * GB)):
        with pytest.raises(errors.RequestConflict, match="placed as 1000000000 bytes of wiley"):
            registry.place("ejournals", publisher, size, ADA, delivery="batch 7")
    registry.add_storage("books", "/mnt/other/", ADA)
    assert registry.place("books", "ieee", GB, ADA, delivery="batch 7").path == "/mnt/other/books1/ieee1/"


def test_a_dry_run_writes_nothing(registry: Registry) -> None:
    would = registry.place("ejournals", "wiley", GB, ADA, delivery="k", dry_run=True)
    assert registry.storages()[0].sizes == ()
    assert registry.place("ejournals", "wiley", GB, ADA, delivery="k") == would


def test_administrators_and_named_parties_place_deliveries(registry: Registry) -> None:
    for dry_run in (True, False):
        with pytest.raises(errors.NotPermitted, match="ask an administrator"):
            registry.place("ejournals", "w", 1, BOB, dry_run=dry_run)
    with pytest.raises(errors.NotPermitted, match="only administrators may allow others"):
        registry.allow_storage("ejournals", ["bob"], BOB)
    with pytest.raises(errors.NotPermitted, match="only administrators may add storage"):
        registry.add_storage("books", "/", BOB)
    registry.add_party(Party("staff"), ADA, "group")
    registry.add_party(CAROL, ADA)
    registry.join(CAROL, Party("staff"), ADA)
    registry.allow_storage("ejournals", ["bob", "staff"], ADA)
    assert registry.place("ejournals", "w", 1, BOB).path == registry.place("ejournals", "w", 1, CAROL).path
    registry.suspend(BOB, "why not", ADA)
    with pytest.raises(errors.NotPermitted, match="suspended"):
        registry.place("ejournals", "w", 1, BOB)


@pytest.mark.parametrize("name", ["", "wiley5", "Wiley", "a/b", "../x", "-a", "a-", "ieee ", "é"])
def test_names_that_are_refused(registry: Registry, name: str) -> None:
    with pytest.raises(errors.InvalidData, match="not the name of a"):
        registry.place("ejournals", name, 1, ADA)
    with pytest.raises(errors.InvalidData, match="not the name of a"):
        registry.add_storage(name, "/", ADA)
    with pytest.raises(errors.NotRegistered):
        registry.place(name, "w", 1, ADA)


@pytest.mark.parametrize("path", ["", "mnt", "/mnt/../etc", "/a//b", "/a\nb"])
def test_paths_that_are_refused(path: str) -> None:
    assert check_path("/") == "/"
    with pytest.raises(errors.InvalidData, match="not an absolute path"):
        check_path(path)


def test_limits_and_sizes_that_are_refused(registry: Registry) -> None:
    lower = f"limits from 1 to {2**63 - 1}, the lower one for the directory"
    large = f"give a whole number from 0 to {2**63 - 1}"
    for directory, file_system, message in ((0, 1, lower), (2, 1, lower), (1, 2**63, large)):
        with pytest.raises(errors.InvalidData, match=message):
            registry.add_storage("books", "/", ADA, directory_limit=directory, file_system_limit=file_system)
    for size, message in ((-1, "give a whole number from 0 on"), (200 * GB + 1, "split the delivery")):
        with pytest.raises(errors.InvalidData, match=message):
            registry.place("ejournals", "w", size, ADA)
    with pytest.raises(errors.AlreadyRegistered):
        registry.add_storage("ejournals", "/", ADA)


def exported(registry: Registry) -> bytes:
    target = io.BytesIO()
    rdf.export(registry, target, ADA, "trig")
    return target.getvalue()


def test_the_plan_survives_export_and_import_and_is_verified(registry: Registry, tmp_path: Path) -> None:
    registry.allow_storage("ejournals", ["bob"], ADA)
    paths(registry, *[("kluwer", 120 * GB)] * 3)
    registry.place("ejournals", "wiley", GB, BOB, delivery="batch 7")
    file = tmp_path / "all.trig"
    file.write_bytes(exported(registry))
    with idstore.open(tmp_path / "other", administrator=ADA) as other:
        rdf.import_registry(other, [file], ADA)
        assert exported(other) == file.read_bytes()
        assert other.storages() == registry.storages()
        assert list(other.verify(ADA)) == list(registry.verify(ADA)) == []
        assert str(registries.check(other, ADA)) == "conforms"
        assert other.place("ejournals", "wiley", GB, ADA, delivery="batch 7").again


@pytest.mark.parametrize("party", [ADA, CAROL], ids=str)
def test_a_follower_of_the_feed_receives_the_plan(registry: Registry, party: Party) -> None:
    registry.allow_storage("ejournals", ["bob"], ADA)
    paths(registry, *[("kluwer", 120 * GB)] * 3)
    followed: set[Quad] = set()
    for step in registry.steps(party):
        followed.difference_update(step.removed)
        followed.update(step.added)
    with registry.quads(party) as quads:
        assert followed == {quad for quad in quads if quad.predicate != IDS.partial}


def test_a_file_that_contradicts_its_log_is_refused(registry: Registry, tmp_path: Path) -> None:
    registry.place("ejournals", "wiley", GB, ADA)
    file = tmp_path / "changed.trig"
    file.write_bytes(
        exported(registry)
        .replace(b"ids:closed", b"")
        .replace(b"ids:size 1000000000", b"ids:size 1000000001", 1)
    )
    with (
        idstore.open(tmp_path / "other", administrator=ADA) as other,
        pytest.raises(errors.ExchangeError, match="does not follow"),
    ):
        rdf.import_registry(other, [file], ADA)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"ejournals/1/wiley/1>", b"ejournals/0/wiley/1>"),
        (b"ejournals/1/wiley/1>", b"ejournals/1/wiley/+1>"),
        (b"storage/ejournals/1/wiley/1>", b"storage/books/1/wiley/1>"),
        (b"ids:size 1000000000", b"ids:size -1"),
        (b"ids:size 1000000000", b'ids:size "many"'),
        (b'ids:name "ejournals"', b'ids:name "../ejournals"'),
        (b'"/mnt/pillar/"', b'"mnt/../pillar/"'),
    ],
)
def test_inconsistent_events_are_refused(registry: Registry, tmp_path: Path, old: bytes, new: bytes) -> None:
    registry.place("ejournals", "wiley", GB, ADA)
    text = exported(registry)
    assert old in text
    file = tmp_path / "changed.trig"
    file.write_bytes(text.replace(old, new))
    with idstore.open(tmp_path / "other", administrator=ADA) as other, pytest.raises(errors.ExchangeError):
        rdf.import_registry(other, [file], ADA)


def test_verify_finds_data_without_an_event(registry: Registry) -> None:
    registry.place("ejournals", "wiley", GB, ADA)
    directory = registry.storages()[0].directory_iri(Place(1, "wiley", 1))

    def forge(transaction: Transaction) -> None:
        size = next(transaction.quads(directory, IDS.size))
        event = Event(
            transaction.origin,
            transaction.token(),
            IDS.NamespaceFreeze,
            directory.value,
            ADA.name,
            transaction.moment,
        )
        transaction.enlist(
            Change(
                ((event, PUBLIC_LOG),),
                add=(Quad(directory, IDS.size, integer(7), STORAGE_GRAPH),),
                remove=(size,),
            )
        )

    registry.store.write(forge)
    found = [(finding.kind, finding.node) for finding in registry.verify(ADA)]
    assert ("missing-triple", directory.value) in found and ("unexplained-triple", directory.value) in found


deliveries = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=60)


@given(deliveries, st.integers(1, 30), st.integers(0, 90))
def test_the_plan_keeps_its_invariants(
    given_deliveries: list[tuple[str, int]], limit: int, more: int
) -> None:
    """No limit is exceeded, numbers rise by one, and nothing is placed in a closed directory.

    The state can be read back from its triples.
    """
    storage = Storage("e", "/", limit, limit + more)
    numbers: dict[str, int] = {}
    for publisher, size in given_deliveries:
        if size > limit:
            with pytest.raises(errors.InvalidData):
                storage.plan(publisher, size)
            continue
        place = storage.plan(publisher, size)
        assert place.file_system not in storage.closed_file_systems()
        assert place not in storage.closed_directories()
        known = storage.file_systems()
        assert (
            place.file_system - max(known, default=0 if not known else 1) in (0, 1) or place.file_system == 1
        )
        assert place.directory - numbers.get(publisher, 0) in (0, 1)
        numbers[publisher] = place.directory
        sizes = dict(storage.sizes)
        sizes[place] = sizes.get(place, 0) + size
        storage = Storage("e", "/", limit, limit + more, sizes=tuple(sorted(sizes.items())))
        assert sizes[place] <= limit and storage.file_systems()[place.file_system] <= limit + more
    homes: dict[tuple[str, int], set[int]] = {}
    for place, _ in storage.sizes:
        homes.setdefault((place.publisher, place.directory), set()).add(place.file_system)
    assert all(len(systems) == 1 for systems in homes.values())


WORKER = """
import sys, idstore
path, which = sys.argv[1:]
for number in range(20):
    with idstore.open(path, wait=60) as registry:
        for key in (f"{which} {number}", f"shared {number}"):
            place = registry.place("ejournals", "wiley", 30 * 10**9, idstore.Party("ada"), delivery=key)
            print(key, place.path)
"""


def test_two_processes_at_once_place_nothing_twice(registry: Registry, tmp_path: Path) -> None:
    registry.close()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "store"), which], stdout=subprocess.PIPE, text=True
        )
        for which in "xy"
    ]
    outputs = [worker.communicate(timeout=120)[0].splitlines() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    answers = [dict(line.rsplit(" ", 1) for line in lines) for lines in outputs]
    shared = [f"shared {number}" for number in range(20)]
    assert [answers[0][key] for key in shared] == [answers[1][key] for key in shared]
    with idstore.open(tmp_path / "store") as again:
        [storage] = again.storages()
        assert sum(storage.file_systems().values()) == 60 * 30 * GB
        assert [size for _, size in sorted(storage.sizes)] == [180 * GB] * 10
        assert list(again.verify(ADA)) == []
        with again.store.snapshot() as snapshot:
            assert any(snapshot.quads())


def test_the_order_of_placements_does_not_matter(registry: Registry) -> None:
    paths(registry, *[("kluwer", 120 * GB)] * 3, ("wiley", 1))
    events = [
        entry.event for entry in registry.log(ADA) if entry.event.about == registry.storages()[0].iri.value
    ]
    begun, *rest = events
    backwards = apply(None, begun)
    for event in reversed(rest):
        backwards = apply(backwards, event)
    assert backwards == fold(events) == registry.storages()[0]
