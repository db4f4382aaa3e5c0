"""``backup`` and ``restore``, and an administrator's revocation of a party's allocations."""

import os
import stat
from pathlib import Path

import pytest
from command_lines import Minting, Run


@pytest.mark.local("backup and restore copy folders")
def test_a_restored_backup_is_the_same_registry(run: Run, mint: Minting, store: Path, tmp_path: Path) -> None:
    mint("--name", "valve")
    before = run("export", "--format", "trig").out
    assert run("backup", tmp_path / "copy").line == str(tmp_path / "copy")
    mint()
    assert run("restore", tmp_path / "copy", "--store", tmp_path / "again").line == str(tmp_path / "again")
    assert run("export", "--format", "trig", "--store", tmp_path / "again").out == before
    assert run("verify", "--store", tmp_path / "again").out.strip() == "sound"
    assert store.is_dir()


@pytest.mark.local("backup and restore copy folders")
@pytest.mark.parametrize(
    ("store_s", "umask", "copy_s"),
    [(0o700, 0o022, 0o700), (0o770, 0o022, 0o770), (0o500, 0o022, 0o700), (0o755, 0o077, 0o750)],
)
def test_a_copy_is_no_more_accessible_than_its_store(
    run: Run, mint: Minting, store: Path, tmp_path: Path, store_s: int, umask: int, copy_s: int
) -> None:
    mint()
    store.chmod(store_s)
    before = os.umask(umask)
    try:
        run("backup", tmp_path / "copy")
        run("restore", tmp_path / "copy", "--store", tmp_path / "again")
    finally:
        os.umask(before)
        store.chmod(0o700)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("copy", "again")] == [copy_s, copy_s]


@pytest.mark.local("backup and restore copy folders")
def test_impossible_backups_and_restores_are_refused(
    run: Run, mint: Minting, store: Path, tmp_path: Path
) -> None:
    mint()
    run("backup", tmp_path / "copy", by="bob", code=7)
    assert not (tmp_path / "copy").exists()
    assert (
        "there is no backup at"
        in run("restore", tmp_path / "copy", "--store", tmp_path / "again", code=6).err
    )
    run("backup", tmp_path / "copy")
    run("restore", tmp_path / "copy", code=6)
    assert f"a store exists at {store} already" in run("backup", store, code=6).err


def test_allocations_are_revoked_also_after_a_transfer(run: Run, mint: Minting) -> None:
    handed, kept, received = mint(by="eve"), mint(by="eve"), mint(by="bob")
    for iri, giver, taker in ((handed, "eve", "bob"), (received, "bob", "eve")):
        run("transfer", iri, taker, by=giver)
        run("transfer", iri, taker, by=taker)
    listed = run("revoke", "--party", "eve", "--since", "2020-01-01", "--dry-run").out.split()
    assert listed == [handed, kept]
    run("revoke", "--party", "eve", "--since", "2020-01-01", "--yes", "--reason", "bulk")
    run("show", handed, by="bob", code=4)
    assert received in run("show", received, by="eve").out


def test_validate_checks_only_changes_on_request(run: Run, mint: Minting) -> None:
    mint()
    first = run("validate", "--changed")
    assert (first.out.strip(), "checked everything" in first.err) == ("conforms", True)
    mint()
    assert "checked 2 nodes" in run("validate", "--changed").err
    run("validate", "--changed", by="bob", code=7)
    run("validate", "--changed", "a.ttl", code=2)
