"""Changes of many identifiers in one commit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import ChangeRow, Party, Registry

ADA, BOB, EVE = Party("ada"), Party("bob"), Party("eve")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ADA) as made:
        made.add_party(BOB, ADA)
        made.add_party(EVE, ADA)
        made.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ADA)
        made.add_namespace("h", "12345", "handle", ADA)
        yield made


def test_rows_find_drafts_by_bare_label_after_each_other(registry: Registry) -> None:
    """A row that moves a draft to another grant list does not hide it from the next."""
    made = registry.register("h", "thing", BOB)
    label = "12345/thing"
    assert registry.show(label, BOB).iri == made.iri
    rows = [
        ChangeRow(2, "grant", label, grantee=EVE.name),
        ChangeRow(3, "target", label, target="http://repo.example.org/1"),
        ChangeRow(4, "grant", label, grantee="nobody known"),
        ChangeRow(5, "grant", label, grantee=ADA.name, bind=True),
        ChangeRow(6, "target", label, target="http://repo.example.org/2"),
    ]
    outcomes = registry.change_many(rows, BOB)
    assert [(one.verdict, one.id) for one in outcomes if one.line != 4] == [("new", made.iri)] * 4
    assert outcomes[2].verdict == "refused"
    assert {one.reason for one in outcomes if one.line != 4} == {"not done, because line 4 is refused"}
    assert registry.show(label, BOB).target is None  # all or none


def test_a_target_in_another_written_form_is_known(registry: Registry) -> None:
    made = registry.register("h", "thing", BOB)
    registry.register("h", "there", BOB)
    registry.target(made, "https://hdl.handle.net/12345/there", BOB)
    for target in ("http://hdl.handle.net/12345/th%65re", "hdl:12345/there", "info:hdl/12345/there"):
        row = ChangeRow(2, "target", "12345/thing", target=target)
        assert [one.verdict for one in registry.change_many([row], BOB)] == ["known"]
