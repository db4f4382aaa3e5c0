"""RDS/WIP in a registry: growth, and refusals by its principles.

Source: RDS/WIP Identifier Generator, version 12, "Features" and "Principles".
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, Request
from idstore.errors import ExchangeError, InvalidData, NotPermitted
from idstore.exchange import identifiers
from idstore.exchange.bad_lines import Malformed
from idstore.registry.mappings import LineOutcome

ROOT, ALICE = Party("root"), Party("alice")
BASE = "http://rdl.example.org/data#"


@pytest.fixture
def registry(fast_folder: Path) -> Iterator[Registry]:
    with idstore.open(fast_folder / "store", administrator=ROOT) as registry:
        yield registry


def lengths(labels: list[str]) -> Counter[int]:
    return Counter(len(label) - 1 for label in labels)


@pytest.mark.parametrize(
    ("settings", "population"),
    [
        ({"digits": "1"}, 9),
        ({"digits": "2"}, 90),
        ({"digits": "2", "max_run": "1"}, 81),
        ({"digits": "2", "refuse_patterns": "true"}, 81),
    ],
)
def test_a_namespace_is_filled_to_the_threshold_and_then_grows(
    registry: Registry, settings: dict[str, str], population: int
) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT, settings)
    threshold = -(-80 * population // 100)
    labels = [registry.mint("rdl", ALICE).label for _ in range(threshold)]
    assert lengths(labels) == {int(settings["digits"]): threshold}
    more = [registry.mint("rdl", ALICE).label for _ in range(5)]
    assert lengths(more) == {int(settings["digits"]) + 1: 5}
    assert len({*labels, *more}) == threshold + 5
    assert not list(registry.verify(ROOT))


def test_released_identifiers_count_towards_the_threshold(registry: Registry) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT, {"digits": "1"})
    for _ in range(8):
        registry.release(registry.mint("rdl", ALICE).iri, ALICE)
    assert len(registry.mint("rdl", ALICE).label) == 3


def test_growth_continues_after_a_reopening(fast_folder: Path) -> None:
    with idstore.open(fast_folder / "store", administrator=ROOT) as registry:
        registry.add_namespace("rdl", BASE, "rdswip", ROOT, {"digits": "1"})
        assert lengths([registry.mint("rdl", ALICE).label for _ in range(7)]) == {1: 7}
    with idstore.open(fast_folder / "store") as registry:
        assert lengths([registry.mint("rdl", ALICE).label for _ in range(3)]) == {1: 1, 2: 2}


def test_labels_cannot_be_chosen(registry: Registry) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT)
    with pytest.raises(NotPermitted, match=r"identifiers in rdl cannot be chosen: .* makes them itself"):
        registry.register("rdl", "R3732211754", ROOT)
    registry.add_namespace("pil", "102.100.272", "pilin", ROOT)
    with pytest.raises(NotPermitted, match="the scheme pilin makes their suffixes from the clock; mint one"):
        registry.register("pil", "ABC", ROOT)


def test_bulk_allocation_is_refused(registry: Registry) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT)
    with pytest.raises(NotPermitted, match="allows no bulk allocation in rdl: a reserved block"):
        registry.mint_several("rdl", 2, ROOT)
    assert not registry.list(ROOT)


def test_allocation_of_a_sequence_is_refused(registry: Registry) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT)
    with pytest.raises(InvalidData, match="would be an unrecorded mapping"):
        registry.mint("rdl", ROOT, Request(metadata={"after": "R3732211754"}))
    with pytest.raises(InvalidData, match="derives nothing"):
        registry.derive("rdl", {"after": "R3732211754"})


def test_other_schemes_allocate_in_bulk(registry: Registry) -> None:
    registry.add_namespace("pilin", "102.100.272", "pilin", ROOT)
    assert len({record.label for record in registry.mint_several("pilin", 3, ALICE)}) == 3
    for count, request in ((0, Request()), (2, Request(request_key="k"))):
        with pytest.raises(InvalidData, match=r"ask for 1 or more|mint one for each key"):
            registry.mint_several("pilin", count, ALICE, request)
    keyed = Request(request_key="k")
    assert [*registry.mint_several("pilin", 1, ALICE, keyed)] == [registry.mint("pilin", ALICE, keyed)]


@pytest.fixture
def issued(tmp_path: Path) -> Path:
    path = tmp_path / "issued.txt"
    path.write_text(
        "# from the deployed service\n\nR3732211754\thttp\nhttp://rdl.example.org/data#R3847624234\n",
        encoding="utf-8",
    )
    return path


def listed(
    registry: Registry, path: Path, party: Party, namespace: str = "rdl", *, dry_run: bool = False
) -> list[LineOutcome]:
    """Import a list and return the result of each line."""
    broken: list[Malformed] = []
    with identifiers.read(path, "list") as reading:
        found = list(identifiers.valid(reading.rows, broken))
    assert not broken
    return registry.enrol(namespace, found, party, reading.name, dry_run=dry_run)


def test_administrators_import_identifiers_issued_elsewhere(registry: Registry, issued: Path) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT)
    with pytest.raises(NotPermitted):
        listed(registry, issued, ALICE)
    assert [one.verdict for one in listed(registry, issued, ROOT, dry_run=True)] == ["new", "new"]
    new = listed(registry, issued, ROOT)
    assert [(one.line, one.verdict, one.id) for one in new] == [
        (3, "new", f"{BASE}R3732211754"),
        (4, "new", f"{BASE}R3847624234"),
    ]
    assert [one.verdict for one in listed(registry, issued, ROOT)] == ["known", "known"]
    held = registry.show("R3732211754", ALICE)
    assert (held.stage.value, dict(held.names), held.owner) == ("fixated", {"und": "http"}, "root")
    assert not list(registry.verify(ROOT))


def test_a_listed_name_is_imported_if_there_is_none(registry: Registry, issued: Path) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT)
    listed(registry, issued, ROOT)
    issued.write_text("R3847624234\tvalve\nR3732211754\tpump\n", encoding="utf-8")
    assert [one.verdict for one in listed(registry, issued, ROOT)] == ["known", "contradictory"]
    assert dict(registry.show("R3847624234", ALICE).names) == {"und": "valve"}
    assert dict(registry.show("R3732211754", ALICE).names) == {"und": "http"}


@pytest.mark.parametrize(
    ("line", "reason"), [("R1222000000", "in a row .at position 4."), ("R1", "10 or more")]
)
def test_a_list_is_imported_whole_or_not_at_all(
    registry: Registry, issued: Path, line: str, reason: str
) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT)
    issued.write_text(f"R3732211754\n{line}\n", encoding="utf-8")
    good, bad = listed(registry, issued, ROOT)
    assert (good.verdict, bad.line, bad.verdict) == ("new", 2, "malformed")
    assert re.search(reason, bad.reason)
    assert not registry.list(ROOT)


def test_a_list_in_no_known_encoding_is_refused(registry: Registry, issued: Path) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT)
    issued.write_bytes(b"R3732211754\n\xff\n")
    with pytest.raises(ExchangeError, match="not UTF-8") as caught:
        listed(registry, issued, ROOT)
    assert caught.value.fields["line"] == 2


def test_imported_identifiers_fill_a_namespace(registry: Registry, issued: Path) -> None:
    registry.add_namespace("rdl", BASE, "rdswip", ROOT, {"digits": "1"})
    issued.write_text("".join(f"R{digit}\n" for digit in range(1, 9)), encoding="utf-8")
    listed(registry, issued, ROOT)
    assert len(registry.mint("rdl", ALICE).label) == 3


@pytest.mark.realdata
def test_the_deployed_service_s_identifiers_are_imported(
    registry: Registry, real_data: Path, tmp_path: Path
) -> None:
    facade = registry.add_namespace(
        "rdl", "http://rdl.rdlfacade.org/data#", "rdswip", ROOT, {"profile": "rdlfacade"}
    )
    every = (real_data / "rdswip_real_ids.txt").read_text(encoding="utf-8").split()
    fitting = [one for one in every if len(one) == 12]
    path = tmp_path / "fitting.txt"
    path.write_text("\n".join(one for one in fitting if one != "R52054275777"), encoding="utf-8")
    assert [one.verdict for one in listed(registry, path, ROOT, facade.name)] == ["new"] * 5_631
