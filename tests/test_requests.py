"""Request keys: the same request gives the same identifier for ever, also under concurrent requests."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, Request
from idstore.errors import InvalidData, NotPermitted, RequestConflict
from idstore.vocabulary import IDS

ROOT, ALICE, BOB = Party("root"), Party("alice"), Party("bob")
KEYED = Request("valve", request_key="order 17")
WORKER = """
import sys, time
from pathlib import Path
import idstore
folder, ready = Path(sys.argv[1]), Path(sys.argv[2])
ready.touch()
while len(list(ready.parent.glob("ready-*"))) < int(sys.argv[3]):
    time.sleep(0.001)
for number in range(int(sys.argv[4])):
    request = idstore.Request(f"valve {number}", request_key=f"order {number}")
    with idstore.open(folder, wait=60) as registry:
        print(registry.mint("rdl", idstore.Party("alice"), request).iri, flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a store."""
    with idstore.open(tmp_path / "store", administrator=ROOT) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        registry.add_namespace("other", "http://other.example.org/data#", "rdswip", ROOT)
        registry.add_namespace("names", "20.500.1", "handle", ROOT)
        registry.add_namespace("articles", "http://journals.example.org/", "scholars-portal", ROOT)
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with idstore.open(folder) as registry:
        yield registry


def mint(registry: Registry, request: Request = KEYED, namespace: str = "rdl", by: Party = ALICE) -> str:
    return registry.mint(namespace, by, request).iri


def test_concurrent_requests_of_processes_give_the_same_identifier(folder: Path) -> None:
    processes, keys = 2, 12
    running = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                WORKER,
                str(folder),
                str(folder.parent / f"ready-{number}"),
                str(processes),
                str(keys),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    given = [process.communicate(timeout=120)[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * processes
    assert len(set(given[0])) == keys
    assert given[0] == given[1]
    with idstore.open(folder) as registry:
        assert registry.counts(ROOT).total == keys
        assert list(registry.verify(ROOT)) == []


def test_the_same_request_changes_nothing(folder: Path) -> None:
    given = []
    for _ in range(3):
        with idstore.open(folder) as registry:
            given += [mint(registry), mint(registry)]
            events = len(list(registry.log(ROOT)))
    assert len(set(given)) == 1
    with idstore.open(folder) as registry:
        assert len(list(registry.log(ROOT))) == events
        assert registry.counts(ALICE).total == 1


def test_keys_belong_to_a_party_and_a_namespace(registry: Registry) -> None:
    given = {
        mint(registry),
        mint(registry, by=BOB),
        mint(registry, namespace="other"),
        mint(registry, Request("valve", request_key="order 18")),
    }
    assert len(given) == 4
    assert mint(registry, namespace="http://rdl.example.org/data#") == mint(registry)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Request("pump", request_key="order 17"), "another name"),
        (Request("valve", lang="en", request_key="order 17"), "another name"),
        (Request("valve", comment="big", request_key="order 17"), "another comment"),
        (Request(target="http://example.org/", request_key="order 17"), "another name, target"),
    ],
)
def test_another_request_with_the_same_key_is_a_conflict_that_names_the_difference(
    registry: Registry, other: Request, said: str
) -> None:
    iri = mint(registry)
    with pytest.raises(RequestConflict, match=rf"other arguments \({said}\); use a new key") as caught:
        mint(registry, other)
    assert caught.value.fields == {"key": "order 17", "id": iri}
    assert mint(registry) == iri


@pytest.mark.parametrize("key", ["", " ", "a\x00", "\udcff"])
def test_a_malformed_key_is_refused(registry: Registry, key: str) -> None:
    article = {"issn": "1936-0851", "volume": "4", "issue": "10", "page": "6153", "title": "Dynamics"}
    requests = [Request(request_key=key, metadata=article), Request(request_key="k", metadata=article)]
    refused, made = registry.load("articles", ALICE, requests)
    assert isinstance(refused.error, InvalidData) and "request key" in refused.error.message
    assert made.fresh
    with pytest.raises(InvalidData, match="the request key"):
        mint(registry, Request(request_key=key))


def test_another_label_is_a_conflict(registry: Registry) -> None:
    registry.register("names", "a", ALICE, KEYED)
    assert registry.register("names", "20.500.1/a", ALICE, KEYED).label == "a"
    with pytest.raises(RequestConflict, match=r"\(another label\)"):
        registry.register("names", "b", ALICE, KEYED)
    with pytest.raises(RequestConflict, match=r"\(another label\)"):
        mint(registry, namespace="names")


def test_different_metadata_are_a_conflict(registry: Registry) -> None:
    article = {"issn": "1936-0851", "volume": "4", "issue": "10", "page": "6153", "title": "Dynamics"}
    iri = mint(registry, Request(request_key="k", metadata=article), "articles")
    assert (
        mint(registry, Request(request_key="k", metadata=dict(reversed(article.items()))), "articles") == iri
    )
    with pytest.raises(RequestConflict, match=r"\(another metadata\)"):
        mint(registry, Request(request_key="k", metadata=article | {"volume": "5"}), "articles")


def test_the_conflict_after_a_release_states_it(registry: Registry) -> None:
    iri = mint(registry)
    registry.release(iri, ALICE)
    with pytest.raises(RequestConflict, match=f"made {iri}, which was released since"):
        mint(registry)


def test_a_transferred_identifier_reveals_nothing_of_its_later_stage(registry: Registry) -> None:
    iri = mint(registry)
    for party in (ALICE, BOB):
        registry.transfer(iri, BOB, party)
    with pytest.raises(RequestConflict, match="alice may no longer see") as alive:
        mint(registry)
    registry.release(iri, BOB)
    with pytest.raises(RequestConflict) as gone:
        mint(registry)
    assert (gone.value.message, gone.value.fields) == (alive.value.message, alive.value.fields)


def test_a_repeated_request_is_answered_also_without_the_right_to_allocate(registry: Registry) -> None:
    iri = mint(registry)
    registry.allow("rdl", ["bob"], ROOT, per_minute=1)
    registry.freeze("rdl", ROOT)
    assert mint(registry) == iri
    registry.suspend(ALICE, "spam", ROOT)
    with pytest.raises(NotPermitted):
        mint(registry)


def test_a_repeated_request_gives_the_present_record(registry: Registry) -> None:
    iri = mint(registry)
    registry.name(iri, "better valve", ALICE)
    registry.fixate([iri], ALICE)
    found = registry.mint("rdl", ALICE, KEYED)
    assert (found.iri, found.stage.value, found.names) == (iri, "fixated", (("und", "better valve"),))


def test_keys_are_stored_as_digests(registry: Registry) -> None:
    mint(registry, Request(request_key="secret order 17"))
    with registry.quads(ROOT) as quads:
        text = "\n".join(map(str, quads))
    assert "secret order" not in text
    assert IDS.requestDigest.value in text
