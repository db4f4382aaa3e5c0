"""The feed of changes as RDF Patch: applied elsewhere, cut at any place, it gives the same state."""

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rdflib
from command_lines import Minting, Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_histories import (
    ANN,
    BEN,
    GIL,
    OUT,
    ROOT,
    Act,
    acts,
    begun,
    clock,
    exported,
    memory,
    perform,
    sound,
)

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.exchange import patch, rdf
from idstore.exchange.changes import public_changes
from idstore.model.listing import EventRow
from idstore.registry.log import LogEntry, entry
from idstore.stores.contract import View
from idstore.vocabulary import IDS

_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
_ADDED = st.sampled_from([(GIL,), (ANN, BEN, GIL)])
"""Parties that are added; the others only act."""
_TERM = r'(?:<[^<>"{}|^`\\\x00-\x20]*>|"(?:[^"\\\n\r]|\\.)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<[^<>]*>)?)'
_QUAD = re.compile(rf"([AD]) ({_TERM}) ({_TERM}) ({_TERM}) ({_TERM}) \.")


class Follower:
    """An independent plain reader of RDF Patch.

    It holds the state after some patches as lines of N-Quads.
    """

    def __init__(self, after: int = 0) -> None:
        self.quads: set[str] = set()
        self.upto = after

    def carry_out(self, text: str) -> None:
        """Apply a patch.

        Added lines must be absent before, removed lines present.
        """
        heads: dict[str, str] = {}
        pending: list[tuple[str, str]] | None = None
        for row in text.removesuffix("\n").split("\n"):
            found = _QUAD.fullmatch(row)
            if found:
                assert pending is not None, "outside a transaction"
                pending.append((found[1], " ".join(found.groups()[1:])))
            elif row == "TX .":
                assert pending is None, "a transaction in a transaction"
                pending = []
            elif row == "TC .":
                assert pending is not None
                self._commit(pending)
                pending = None
            else:
                head = re.fullmatch(r"H (\w+) (\S+) \.", row)
                assert head, row
                heads[head[1]] = head[2]
        assert pending is None
        assert int(heads["after"]) == self.upto
        self.upto = int(heads["upto"])

    def _commit(self, pending: list[tuple[str, str]]) -> None:
        for sign, quad in pending:
            assert (quad in self.quads) is (sign == "D"), f"{sign} {quad}"
            (self.quads.remove if sign == "D" else self.quads.add)(quad)


def feed(registry: Registry, party: Party, after: int) -> str:
    target = io.BytesIO()
    patch.export(registry, target, party, after)
    return target.getvalue().decode()


def visible(registry: Registry, party: Party) -> set[str]:
    """Return the lines of an export without the mark of an extract."""
    with registry.quads(party) as quads:
        return {str(quad) for quad in quads if quad.predicate != IDS.partial}


def follow(history: list[Act], cuts: set[int], added: tuple[Party, ...]) -> None:
    with clock(), memory() as folder, begun(folder / "store", added) as registry:
        followers = {ROOT: Follower(), OUT: Follower()}
        for number, act in enumerate(history):
            perform(registry, act)
            if number in cuts:
                for party, follower in followers.items():
                    follower.carry_out(feed(registry, party, follower.upto))
                    assert follower.quads == visible(registry, party)
        for party, follower in followers.items():
            follower.carry_out(feed(registry, party, follower.upto))
            whole = Follower()
            whole.carry_out(feed(registry, party, 0))
            assert follower.quads == whole.quads == visible(registry, party)
            assert feed(registry, party, whole.upto).count("\n") == 3
        assert feed(registry, ANN, 0) == feed(registry, OUT, 0)
        copied(registry, folder, cuts)


def copied(registry: Registry, folder: Path, cuts: set[int]) -> None:
    """Check that a registry that imports the patches becomes equal and remains usable."""
    with idstore.open(folder / "copy", administrator=ROOT) as copy:
        take_in(copy, folder, feed(registry, ROOT, 0))
        assert (
            exported(copy, ROOT, folder / "copy.nq").read_bytes()
            == exported(registry, ROOT, folder / "all.nq").read_bytes()
        )
        last = Follower()
        last.carry_out(feed(registry, ROOT, 0))
        for cut in sorted(cuts):
            perform(registry, Act("register", None, cut, cut))
            perform(registry, Act("fixate", None, cut, cut))
        take_in(copy, folder, feed(registry, ROOT, last.upto))
        take_in(copy, folder, feed(registry, ROOT, last.upto))
        assert visible(copy, ROOT) == visible(registry, ROOT)
        sound(copy)
    with idstore.open(folder / "public", administrator=ROOT) as public:
        take_in(public, folder, feed(registry, OUT, 0))
        assert visible(registry, OUT) <= visible(public, OUT)
        assert len(visible(public, OUT) - visible(registry, OUT)) <= 8  # its own first event
        sound(public)


def take_in(registry: Registry, folder: Path, text: str) -> None:
    (folder / "one.rdfp").write_text(text, encoding="utf-8")
    rdf.import_registry(registry, [folder / "one.rdfp"], ROOT, own_history=True)


@settings(_QUIET, max_examples=4, derandomize=True)
@given(acts(5, 20), st.sets(st.integers(0, 19), max_size=3), _ADDED)
def test_a_feed_cut_anywhere_gives_the_same_state(
    history: list[Act], cuts: set[int], added: tuple[Party, ...]
) -> None:
    follow(history, cuts, added)


@pytest.mark.slow
@settings(_QUIET, max_examples=8)
@given(acts(5, 60), st.sets(st.integers(0, 59), max_size=6), _ADDED)
def test_long_feeds_give_the_same_state(history: list[Act], cuts: set[int], added: tuple[Party, ...]) -> None:
    follow(history, cuts, added)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with begun(tmp_path / "store") as registry:
        yield registry


def test_a_public_feed_reveals_no_drafts(registry: Registry) -> None:
    draft = registry.mint("rdl", BEN, Request('a "secret"\nname \\ é')).iri
    before = feed(registry, OUT, 0)
    registry.comment(draft, "secret as well", BEN, internal=True)
    registry.release(registry.mint("rdl", BEN).iri, BEN)
    assert feed(registry, OUT, 0) == before == feed(registry, BEN, 0)
    assert draft in feed(registry, ROOT, 0)
    registry.fixate([draft], BEN)
    told = feed(registry, OUT, 0)
    assert draft in told
    assert "secret as well" not in told
    assert "/access/" not in told


def test_a_page_reads_the_log_of_a_subject_once(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = registry.mint("rdl", BEN, Request("hub")).iri
    registry.fixate([hub], BEN)
    for number in range(60):
        registry.bind(hub, Statement(f"http://example.org/{number}"), ANN)
    read: list[EventRow] = []

    def counted(view: View, row: EventRow) -> LogEntry:
        read.append(row)
        return entry(view, row)

    monkeypatch.setattr("idstore.registry.feed.entry", counted)
    newest = public_changes(registry).newest
    assert len(read) < 3 * newest
    for after in (0, newest - 1):
        read.clear()
        assert len(public_changes(registry, after, 1).changes) == 1
        assert len(read) < newest + 10
    read.clear()
    assert len(public_changes(registry, newest - 60, 1).changes) == 1
    assert len(read) < newest - 60 + 10  # none after the page


def test_steps_one_by_one_are_those_of_the_whole_feed(tmp_path: Path) -> None:
    """The first step of a page finds out who describes a party that was not added."""
    with begun(tmp_path / "store", (GIL,)) as registry:
        for party in (BEN, ANN):
            draft = registry.mint("rdl", party, Request("draft")).iri
            registry.comment(draft, "internal", party, internal=True)
            registry.grant(draft, GIL, party)
            registry.bind(draft, Statement("http://example.org/"), party)
            registry.fixate([draft], party)
            registry.transfer(draft, GIL, party)
            registry.transfer(draft, GIL, GIL)
            registry.unbind(draft, Statement("http://example.org/"), party)
        for reader in (ROOT, OUT):
            after = 0
            for step in [*registry.steps(reader)]:
                assert [*registry.steps(reader, after, 1)] == [step]
                after = step.number
            assert [*registry.steps(reader, after, 1)] == []


def test_a_triple_of_two_bindings_goes_with_the_last(registry: Registry) -> None:
    hub, statement = registry.mint("rdl", BEN, Request("hub")).iri, Statement("http://example.org/")
    registry.fixate([hub], BEN)
    followers = {ROOT: Follower(), OUT: Follower()}
    for act, party in (("bind", ANN), ("bind", BEN), ("unbind", ANN), ("bind", ANN), ("unbind", BEN)):
        getattr(registry, act)(hub, statement, party)
        for reader, follower in followers.items():
            follower.carry_out(feed(registry, reader, follower.upto))
            assert follower.quads == visible(registry, reader)
            whole = Follower()
            whole.carry_out(feed(registry, reader, 0))
            assert whole.quads == follower.quads


@pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")
def test_rdflib_reads_the_parts_of_a_feed(registry: Registry) -> None:
    """Read the parts of a history with another library's reader."""
    dataset, upto = rdflib.Dataset(), 0
    for label in "ab":
        iri = registry.register("names", label, ANN, Request('a "quoted"\nname \\ é')).iri
        registry.fixate([iri], ANN)
        registry.name(iri, "another", ANN)
        text = feed(registry, ROOT, upto)
        upto = int(re.findall(r"H upto (\d+)", text)[0])
        dataset.parse(
            data="\n".join(row for row in text.splitlines() if not row.startswith("H ")) + "\n",
            format="patch",
        )
        exported_too = rdflib.Dataset()
        with registry.quads(ROOT) as quads:
            exported_too.parse(data="".join(f"{quad} .\n" for quad in quads), format="nquads")
        assert {*dataset.quads()} == {*exported_too.quads()}


def test_commands_export_and_import_a_feed(run: Run, mint: Minting, tmp_path: Path) -> None:
    mint("--name", "draft")
    first = run("export", "--after", "0", "-o", tmp_path / "1.rdfp")
    number = int(re.findall(r"exported up to (\d+); continue with --after \1", first.err)[0])
    run("fixate", mint("--name", "valve"))
    run("export", "--after", str(number), "-o", tmp_path / "2.rdfp")
    copy = ("--store", tmp_path / "copy")
    run("import", tmp_path / "1.rdfp", *copy)
    assert run("import", tmp_path / "2.rdfp", "--own-history", "--json", *copy).object["events"] == 2
    assert run("export", "--format", "nquads", *copy).out == run("export", "--format", "nquads").out
    again = run(
        "import", "-", "--format", "rdf-patch", "--json", *copy, stdin=(tmp_path / "1.rdfp").read_bytes()
    )
    assert again.object["events"] == 0
    assert run("export", "--after", "0", "--format", "rdf-patch", by="carol").out.startswith(
        "H id <urn:uuid:"
    )
    run("export", "--after", "0", "--namespace", "rdl", code=2)
    run("export", "--after", "0", "--format", "turtle", code=2)
    run("export", "--after", "-1", code=2)


@pytest.mark.parametrize(("order", "whole"), [("123", True), ("1123", True), ("13", False), ("213", False)])
def test_only_a_gapless_series_of_patches_in_order_makes_a_copy(
    run: Run, mint: Minting, tmp_path: Path, order: str, *, whole: bool
) -> None:
    """If only a part is applied, the importing registry keeps its own first event."""
    number = 0
    for name in "123":
        mint("--name", name)
        message = run("export", "--after", str(number), "-o", tmp_path / f"{name}.rdfp").err
        number = int(re.findall(r"up to (\d+)", message)[0])
    copy = ("--store", tmp_path / "copy")
    run("import", *(tmp_path / f"{name}.rdfp" for name in order), *copy)
    assert (run("export", "--digest", *copy).out == run("export", "--digest").out) is whole


@pytest.mark.parametrize("user", ["alice", "carol"])
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (1, "no event has the number {after} yet, the last is {last}"),
        (1 << 70, "after is {after}; give a whole number from 0 to"),
    ],
)
def test_a_feed_after_a_future_number_is_refused(
    run: Run, mint: Minting, tmp_path: Path, user: str, more: int, message: str
) -> None:
    run("fixate", mint("--name", "valve"))
    last = int(re.findall(r"up to (\d+);", run("export", "--after", "0", by=user).err)[0])
    place = tmp_path / "later.rdfp"
    assert run("export", "--after", str(last), by=user).out.endswith(f"H upto {last} .\n")
    found = run("export", "--after", str(last + more), "-o", place, by=user, code=3)
    assert message.format(after=last + more, last=last) in found.err
    assert not place.exists()


FLAWS: dict[str, tuple[Callable[[str], str], str]] = {
    "cut off": (lambda text: text[: text.rindex("TX")], "ends too soon"),
    "cut off in a row": (lambda text: text[: text.rindex('"')], "not a quad"),
    "a row of another kind": (lambda text: text.replace("TX .", "TA .", 1), "line 4: 'TA' is no row"),
    "a prefix": (lambda text: text.replace("TX .", "PA ex: <http://example.org/> .", 1), "'PA' is no row"),
    "no transaction": (lambda text: text.replace("TX .\n", "", 1), "line 4: A outside a transaction"),
    "no end": (lambda text: text.replace("TC .\n", "", 1), "TX inside a transaction"),
    "two quads": (lambda text: text.replace("A ", "A <a:a> <a:a> <a:a> . ", 1), "line 5"),
    "no quad": (lambda text: text.replace("A ", "A # ", 1), "not one quad"),
    "nothing": (lambda text: "", "ends too soon"),
    "not UTF-8": (lambda text: text + "\udcff", "cannot be read"),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_malformed_patch_is_refused_whole(run: Run, mint: Minting, tmp_path: Path, flaw: str) -> None:
    run("fixate", mint())
    text = run("export", "--after", "0").out
    change, reason = FLAWS[flaw]
    file = tmp_path / "flawed.rdfp"
    file.write_bytes(change(text).encode("utf-8", "surrogateescape"))
    found = run("import", file, "--store", tmp_path / "copy", code=3)
    assert reason in found.err
    assert str(file) in found.err
    assert not (tmp_path / "copy").exists()
