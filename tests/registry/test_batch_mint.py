"""Tables of requests: an identifier for each row, in one act."""

from pathlib import Path
from typing import Any

import pytest

import idstore
from idstore import Party, Request, RequestRow
from idstore.registry.batch_mint import BatchMint

ALICE = Party("alice")
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
def test_no_row_has_an_identifier_where_one_is_refused(tmp_path: Path, *, dry_run: bool) -> None:
    rows = [
        RequestRow(2, Request()),
        RequestRow(3, Request(), label="chosen"),
        RequestRow(4, Request(target="no address")),
    ]
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        drawn, chosen, refused = registry.mint_many("h", rows, ALICE, dry_run=dry_run)
        assert [one.verdict for one in (drawn, chosen, refused)] == ["new", "new", "refused"]
        assert drawn.id == ""
        assert chosen.id == "https://hdl.handle.net/10.1000/chosen"
        assert drawn.reason == chosen.reason == "not done, because line 4 is refused"
        assert list(registry.list(ALICE)) == []
