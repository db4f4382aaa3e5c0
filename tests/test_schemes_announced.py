"""Schemes are found as `importlib.metadata` finds entry points."""

import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from idstore.schemes._announced import GROUP, announced


def as_the_standard_library_finds_them() -> list[tuple[str, str]]:
    return sorted((point.name, point.value) for point in entry_points(group=GROUP))


def package(folder: Path, name: str, text: str | None) -> None:
    info = folder / name
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.partition('-')[0]}\nVersion: 1\n", encoding="utf-8")
    if text is not None:
        (info / "entry_points.txt").write_text(text, encoding="utf-8")


def test_the_schemes_that_come_with_idstore() -> None:
    assert announced() == as_the_standard_library_finds_them()
    assert {"handle", "pilin", "puid", "rdswip", "scholars-portal"} <= {name for name, _ in announced()}


def test_packages_in_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(
        tmp_path / "a",
        "One.Two-1.0.dist-info",
        f"# a remark\n\n[{GROUP}]\n doi = one:SCHEME \n# ark = one:ARK\n[console_scripts]\nx = y:z\n",
    )
    package(tmp_path / "a", "three-1.0.egg-info", f"[other]\nurn = three:SCHEME\n[{GROUP}]\nurn=three.of:SCHEME [extra]\n")
    package(tmp_path / "a", "silent-1.0.dist-info", None)
    package(tmp_path / "b", "one_two-2.0.dist-info", f"[{GROUP}]\nhidden = one:SCHEME\n")  # behind the other of that name
    package(tmp_path / "b", "silent-2.0.dist-info", f"[{GROUP}]\nhidden = silent:SCHEME\n")
    package(tmp_path / "b", "four-1.0.dist-info", f"[{GROUP}]\nark = four:SCHEME\n")
    (tmp_path / "b" / "five-1.0.egg-info").write_text("Metadata-Version: 1.0\nName: five\nVersion: 1.0\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "none"), str(tmp_path / "b")])
    expected = [("ark", "four:SCHEME"), ("doi", "one:SCHEME"), ("urn", "three.of:SCHEME [extra]")]
    assert announced() == as_the_standard_library_finds_them() == expected


def test_packages_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("six-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: six\nVersion: 1.0\n")
        file.writestr("six-1.0.dist-info/entry_points.txt", f"[{GROUP}]\nark = six:SCHEME\n")
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert announced() == as_the_standard_library_finds_them() == [("ark", "six:SCHEME")]


def test_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path, "seven-1.0.dist-info", f"[{GROUP}]\nark = seven:SCHEME\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [""])
    assert announced() == as_the_standard_library_finds_them() == [("ark", "seven:SCHEME")]
