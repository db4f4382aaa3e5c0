"""Tables of requests: an identifier for each row, in one act."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import idstore
from idstore import Party, Request, RequestRow, Statement
from idstore.errors import InvalidData
from idstore.registry.batch_mint import BatchMint

ALICE, BOB = Party("alice"), Party("bob")
URI = "http://example.org/valve"


def test_what_has_a_target_is_looked_up_once_for_all_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = []
    bound_to = BatchMint.bound_to

    def counted(minting: BatchMint, text: str, *others: Any) -> object:
        looked_up.append(text)
        return bound_to(minting, text, *others)

    monkeypatch.setattr(BatchMint, "bound_to", counted)
    rows = [
        RequestRow(line, Request(target=target)) for line, target in enumerate((URI, URI, f"{URI}2", URI))
    ]
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        earlier = registry.mint("h", ALICE, Request(target=URI))
        warnings = [outcome.warning for outcome in registry.mint_many("h", rows, ALICE)]
    assert looked_up == [URI, f"{URI}2"]
    assert [earlier.iri in warning for warning in warnings] == [True, True, False, True]
    assert ["line 0" in warning for warning in warnings] == [False, True, False, True]


@pytest.mark.parametrize("dry_run", [False, True])
def test_no_identifier_is_drawn_where_a_row_is_refused(tmp_path: Path, *, dry_run: bool) -> None:
    earlier, keyed = Request(request_key="earlier"), Request(request_key="new")
    rows = [
        RequestRow(2, keyed),
        RequestRow(3, keyed),
        RequestRow(4, Request(), label="chosen"),
        RequestRow(5, earlier),
        RequestRow(6, Request(target="no address")),
    ]
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        known = registry.mint("h", ALICE, earlier)
        outcomes = registry.mint_many("h", rows, ALICE, dry_run=dry_run)
        assert registry.list(ALICE) == [known]
    undone = "not done, because line 6 is refused"
    assert [(one.verdict, one.id, one.reason) for one in outcomes[:-1]] == [
        ("new", "", undone),
        ("known", "", undone),
        ("new", "https://hdl.handle.net/10.1000/chosen", undone),
        ("known", known.iri, ""),
    ]
    assert outcomes[-1].verdict == "refused"


def test_a_request_that_is_refused_at_last_leaves_nothing(tmp_path: Path) -> None:
    bindings = [Statement(f"http://example.org/{number}") for number in range(501)]
    large = Request(request_key="k", bindings=bindings)
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        registry.allow("h", [BOB.name], ALICE)
        for _ in range(2):
            failed, made = registry.load("h", BOB, [large, Request()])
            assert "501 bindings by bob, more than the 500 allowed" in str(failed.error)
            assert failed.record is None
            assert registry.list(BOB)[0] == made.record
        assert len(registry.list(ALICE)) == 2
        assert len(registry.mint("h", BOB, replace(large, bindings=bindings[:500])).bindings) == 500


def test_a_record_has_a_limited_size(tmp_path: Path) -> None:
    def statements(first: int, end: int) -> list[Statement]:
        return [Statement(f"http://example.org/{number}") for number in range(first, end)]

    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        registry.allow("h", [BOB.name], ALICE)
        made = registry.mint("h", BOB, Request(bindings=statements(0, 500), fixate=True))
        with pytest.raises(InvalidData, match="501 bindings by bob"):
            registry.bind(made, Statement("http://example.org/more"), BOB)
        registry.bind(made, Statement("http://example.org/eve"), Party("eve"))
        registry.bind(made, Statement("http://example.org/alice"), ALICE)
        names = {f"x-a{number:03}": "n" for number in range(500)}
        other = registry.mint("h", BOB, Request(names=names))
        with pytest.raises(InvalidData, match="501 names"):
            registry.name(other, "one more", BOB, "de")
        registry.name(other, "another", BOB, "x-a000")
