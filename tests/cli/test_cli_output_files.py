"""Output files: written whole or not at all, for the same readers as before, and named in errors."""

import errno
import gzip
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from command_lines import Minting, Run

from idstore.cli import output_files


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.parametrize("old", [0o600, 0o640, 0o666, None])
def test_a_file_keeps_its_mode(run: Run, mint: Minting, tmp_path: Path, old: int | None) -> None:
    mint()
    file = tmp_path / "all.nq"
    if old is not None:
        file.touch()
        file.chmod(old)
    umask = os.umask(0o027)
    try:
        run("export", "-o", file)
    finally:
        assert os.umask(umask) == 0o027
    assert file.stat().st_size and mode(file) == (0o640 if old is None else old)


@pytest.mark.parametrize(
    ("name", "format"),
    [("all.csv.gz", "csv"), ("ALL.TTL.GZ", "turtle"), ("all.NQ", "nquads"), ("all.rdfp", "rdf-patch")],
)
def test_the_extension_of_a_file_decides_its_format(
    run: Run, mint: Minting, tmp_path: Path, name: str, format: str
) -> None:
    mint("--name", "valve")
    file, again = tmp_path / name, tmp_path / f"again-{name}"
    for one in (file, again):
        run("export", "-o", one)
    found = file.read_bytes()
    assert found == again.read_bytes()
    text = gzip.decompress(found) if name.lower().endswith(".gz") else found
    assert text.decode() == run("export", "--format", format).out


def test_only_the_owner_reads_an_unfinished_file(tmp_path: Path) -> None:
    file = tmp_path / "all.nq"
    with output_files.open_output(str(file)) as target:
        target.write(b"x" * 100_000)
        [draft] = tmp_path.iterdir()
        assert (mode(draft), draft.stat().st_size > 0) == (0o600, True)
    assert [*tmp_path.iterdir()] == [file] and file.read_bytes() == b"x" * 100_000


def break_off(file: Path) -> None:
    with output_files.open_output(str(file)) as target:
        target.write(b"x")
        raise KeyboardInterrupt


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "all.nq"
    file.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        break_off(file)
    assert [*tmp_path.iterdir()] == [file] and file.read_text() == "before"


def test_a_file_may_have_the_longest_name(run: Run, mint: Minting, tmp_path: Path) -> None:
    mint()
    file = tmp_path / ("x" * 252 + ".nq")
    run("export", "-o", file)
    assert file.stat().st_size


def test_an_impossible_file_name_is_misuse(run: Run, mint: Minting, tmp_path: Path) -> None:
    mint()
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    reasons = {"": "empty", str(tmp_path / ("x" * 300)): "too long", str(circle): "link"}
    for name, reason in reasons.items():
        assert reason in run("export", "-o", name, code=2).err


def test_a_closed_folder_is_reported_before_the_work(
    run: Run, mint: Minting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mint()
    file = tmp_path / "all.nq"

    def refuse(*_: object, **__: object) -> tuple[int, str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "draft")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    monkeypatch.setattr("idstore.registry.Registry.nquads", None)  # not reached
    message = run("export", "-o", file, code=2).err
    assert message.startswith(
        f"idstore: {file} cannot be written: no file can be made in {tmp_path} (Permission denied)"
    )


class Full:
    """A file on a full disk."""

    def write(self, _: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("place", "told"), [("all.nq", "all.nq"), (None, "TMPDIR")])
def test_a_full_disk_is_told_with_the_place(place: str | None, told: str) -> None:
    with (
        pytest.raises(OSError, match="No space left") as caught,
        output_files._buffered(Full(), place) as target,
    ):
        target.write(b"x")
    assert told in str(caught.value)


def test_what_goes_to_standard_output_is_held_on_disk(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(output_files, "_IN_MEMORY", 1 << 17)
    rolled: list[bool] = []
    real: Callable[..., IO[bytes]] = tempfile.TemporaryFile

    def on_disk(*given: Any, **more: Any) -> IO[bytes]:
        rolled.append(True)
        return real(*given, **more)

    monkeypatch.setattr(tempfile, "TemporaryFile", on_disk)
    with output_files.open_output("-") as target:
        target.writelines(b"x" * 1000 for _ in range(100))
        assert not rolled
        target.writelines(
            b"x" * 1000 if number < 900 or rolled else pytest.fail("all in memory") for number in range(1000)
        )
    assert capfdbinary.readouterr().out == b"x" * 1_100_000
