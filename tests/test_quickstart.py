"""The tour of ``idstore quickstart``, run on a part of the real data."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

import idstore
from idstore.cli import app, exits
from idstore.model.party import Party
from idstore.quickstart import StepResult, Story, StoryStep, carried, steps

PREFIXES = 24
ALICE = Party("alice")


def test_the_packages_contain_the_data_of_the_tour() -> None:
    prefixes = carried.prefixes()
    bindings = {(one.prefix, uri) for one in prefixes for uri in one.entries}
    assert (len(prefixes), len(bindings), sum(len(one.entries) for one in prefixes)) == (2937, 7682, 7682)
    reports = list(carried.reports())
    types = [uri for report in reports for uri in report.types]
    assert (len(reports), len(types)) == (2246, 726)
    assert sum(uri.startswith(carried.IANA) for uri in types) == 608
    assert sum(len(report.passed_over) for report in reports) == 132


def test_every_bound_address_is_an_iri() -> None:
    for prefix in carried.prefixes():
        for uri in (prefix.page, *prefix.entries):
            idstore.Statement(uri).arguments()
    for report in carried.reports():
        for uri in report.types:
            idstore.Statement(uri, steps.BROADER).arguments()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Reduce the real data to forty formats and a few prefixes, two of which share an item of Wikidata."""
    formats = tmp_path / "formats.xml"
    with carried.signature_file() as path:
        text = path.read_text(encoding="utf-8")
    head, mark, rest = text.partition("<FileFormatCollection>")
    wanted = ("fmt/14", "fmt/15", "fmt/16", "fmt/17", "fmt/18", "x-fmt/111", "x-fmt/1")
    chosen = [
        part for part in rest.split("<FileFormat ")[1:] if any(f'PUID="{puid}"' in part for puid in wanted)
    ]
    closed = "".join(f"<FileFormat {part.partition('</FileFormatCollection>')[0]}" for part in chosen)
    root = head[: head.index("<InternalSignatureCollection>")]
    formats.write_text(f"{root}{mark}{closed}</FileFormatCollection></FFSignatureFile>", encoding="utf-8")

    @contextmanager
    def signature_file() -> Iterator[Path]:
        yield formats

    reports = [report for report in carried.reports() if report.puid in wanted]
    everything = carried.prefixes()
    some = [one for one in everything if one.prefix in ("chebi", "doi", "orcid", "icd9", "icd10")]
    prefixes = [*some, *islice((one for one in everything if one not in some), PREFIXES - len(some))]
    monkeypatch.setattr(carried, "signature_file", signature_file)
    monkeypatch.setattr(carried, "reports", lambda: reports)
    monkeypatch.setattr(carried, "prefixes", lambda: prefixes)


@pytest.mark.usefixtures("small")
def test_the_tour_runs_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "store"
    assert app.run(["quickstart", "--user", "alice", "--store", str(place)]) == exits.DONE
    captured = capsys.readouterr()
    assert f"A new store is made at {place}; its administrator is alice." in captured.err
    for number, step in enumerate(steps.STEPS, start=1):
        assert (
            f"\n{number}/{len(steps.STEPS)} {step.title}\n    {step.why}\n    $ {step.command}\n"
            in captured.err
        )
    assert "    | /00160032/v238i0003/224_br\n    | /00160032/v238i0003/224_br_1\n" in captured.err
    assert (
        "http://www.wikidata.org/entity/Q50018 by 2: International Classification of Diseases" in captured.err
    )
    assert "a visitor saw 7 identifiers, and now sees all 53" in captured.err
    lines = captured.out.splitlines()
    assert [line.partition("  ")[0] for line in lines] == [
        *(step.title for step in steps.STEPS),
        "Altogether",
    ]
    assert "0 breaches" in lines[-2]
    assert f"export IDSTORE_STORE={place}\n" in captured.err
    with idstore.open(place) as registry:
        assert registry.counts(Party("visitor")).total == 7 + PREFIXES + 15 + 7
        assert [one.scheme_name for one in registry.namespaces()] == [
            "scholars-portal",
            "pilin",
            "puid",
            "rdswip",
        ]
        assert list(registry.verify(ALICE)) == []
    assert (tmp_path / "store.ttl").read_bytes().startswith(b"@prefix")


@pytest.mark.usefixtures("small")
def test_the_summary_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        app.run(["quickstart", "--json", "--quiet", "--user", "alice", "--store", str(tmp_path / "store")])
        == exits.DONE
    )
    captured = capsys.readouterr()
    assert captured.err == ""
    summary = json.loads(captured.out)
    assert summary["store"] == str(tmp_path / "store")
    assert [step["title"] for step in summary["steps"]] == [step.title for step in steps.STEPS]
    assert summary["steps"][3]["figures"]["identifiers"] == PREFIXES


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Run the command with one step, in new folders below the test's own."""
    monkeypatch.setattr(steps, "STEPS", steps.STEPS[:1])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("IDSTORE_STORE", raising=False)
    return lambda *words: app.run(["quickstart", "--user", "alice", *words])


def test_each_run_has_a_folder_of_its_own(short: Callable[..., int], tmp_path: Path) -> None:
    assert short() == short() == exits.DONE
    assert len([*tmp_path.glob("idstore-quickstart-*/store/ledger.sqlite")]) == 2


def test_an_existing_store_is_left_alone(
    short: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idstore.open(tmp_path / "mine", administrator=ALICE).close()
    monkeypatch.setenv("IDSTORE_STORE", str(tmp_path / "mine"))
    assert short() == exits.DONE
    with idstore.open(tmp_path / "mine") as registry:
        assert registry.namespaces() == []
    monkeypatch.setenv("IDSTORE_STORE", str(tmp_path / "new"))
    assert short() == exits.DONE
    with idstore.open(tmp_path / "new") as registry:
        assert len(registry.namespaces()) == 4


def test_existing_files_are_not_overwritten(
    short: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    idstore.open(tmp_path / "mine", administrator=ALICE).close()
    (tmp_path / "other.ttl").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "letter").write_text("mine")
    assert short("--store", str(tmp_path / "mine")) == exits.CONFLICT
    assert short("--store", str(tmp_path / "other")) == exits.CONFLICT
    assert short("--store", str(tmp_path / "folder")) == exits.UNAVAILABLE
    lines = capsys.readouterr().err.splitlines()
    assert [
        line
        for line in lines
        if "exists already, and quickstart needs a new folder; name one with --store" in line
    ]
    assert not (tmp_path / "other").exists()
    assert [entry.name for entry in (tmp_path / "folder").iterdir()] == ["letter"]


def test_missing_packages_are_reported_with_a_remedy(
    short: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(carried, "find_spec", lambda name: None if name == "bioregistry" else name)
    assert short("--store", str(tmp_path / "store")) == exits.INVALID
    assert "bioregistry is not installed; run `pip install 'idstore[examples]'`" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_a_failed_check_gives_a_nonzero_exit_code(
    short: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        steps, "STEPS", [StoryStep("Break", "", "", lambda _: StepResult({"broken": 1}, broken=True))]
    )
    assert short("--store", str(tmp_path / "store")) == exits.BROKEN


def test_eight_threads_work_at_once_and_the_first_error_ends_the_work(tmp_path: Path) -> None:
    seen: list[tuple[int, str]] = []
    together = threading.Barrier(8, timeout=30)
    shown: list[tuple[int, int]] = []

    def act(item: int, party: Party) -> int:
        if item < 8:
            together.wait()
        if item == 100:
            raise ValueError(item)
        if item > 100:
            time.sleep(0.001)
        seen.append((item, party.name))
        return -item

    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        story = Story(registry, ALICE, tmp_path / "export", lambda done, total: shown.append((done, total)))
        assert dict(steps._at_once(story, range(40), act)) == {item: -item for item in range(40)}
        assert {name for _, name in seen} == {curator.name for curator in steps.CURATORS}
        assert shown == [(done, 40) for done in range(40)]
        with pytest.raises(ValueError, match="100"):
            list(steps._at_once(story, range(100, 5000), act))
    assert len(seen) < 4000
