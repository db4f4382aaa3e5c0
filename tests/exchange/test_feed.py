"""The feed of changes as RDF Patch: cut anywhere, carried out elsewhere, it gives the same state."""

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rdflib
from command_lines import Minting, Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_acts import ANN, BEN, OUT, ROOT, Act, acts, begun, clock, exported, memory, perform, sound

import idstore
from idstore import Party, Registry, Request
from idstore.exchange import patch, rdf
from idstore.vocabulary import IDS

_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
_TERM = r'(?:<[^<>"{}|^`\\\x00-\x20]*>|"(?:[^"\\\n\r]|\\.)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<[^<>]*>)?)'
_QUAD = re.compile(rf"([AD]) ({_TERM}) ({_TERM}) ({_TERM}) ({_TERM}) \.")


class Follower:
    """A plain reader of RDF Patch, of its own making: what is there after some patches, as lines of N-Quads."""

    def __init__(self, after: int = 0) -> None:
        self.quads: set[str] = set()
        self.upto = after

    def carry_out(self, text: str) -> None:
        """Carry a patch out; what it adds must not be there, what it removes must be."""
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
    """What an export holds, but for the mark of an extract."""
    with registry.quads(party) as quads:
        return {str(quad) for quad in quads if quad.predicate != IDS.partial}


def follow(history: list[Act], cuts: set[int]) -> None:
    with clock(), memory() as folder, begun(folder / "store") as registry:
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
    """Another registry that takes the patches in becomes the same, and goes on to be."""
    with idstore.open(folder / "copy", administrator=ROOT, durability="process") as copy:
        take_in(copy, folder, feed(registry, ROOT, 0))
        assert exported(copy, ROOT, folder / "copy.nq").read_bytes() == exported(registry, ROOT, folder / "all.nq").read_bytes()
        last = Follower()
        last.carry_out(feed(registry, ROOT, 0))
        for cut in sorted(cuts):
            perform(registry, Act("register", None, cut, cut))
            perform(registry, Act("fixate", None, cut, cut))
        take_in(copy, folder, feed(registry, ROOT, last.upto))
        take_in(copy, folder, feed(registry, ROOT, last.upto))
        assert visible(copy, ROOT) == visible(registry, ROOT)
        sound(copy)
    with idstore.open(folder / "public", administrator=ROOT, durability="process") as public:
        take_in(public, folder, feed(registry, OUT, 0))
        assert visible(registry, OUT) <= visible(public, OUT)
        assert len(visible(public, OUT) - visible(registry, OUT)) <= 8  # its own beginning
        sound(public)


def take_in(registry: Registry, folder: Path, text: str) -> None:
    (folder / "one.rdfp").write_text(text, encoding="utf-8")
    rdf.import_registry(registry, [folder / "one.rdfp"], ROOT)


@settings(_QUIET, max_examples=6, derandomize=True)
@given(acts(5, 20), st.sets(st.integers(0, 19), max_size=3))
def test_a_feed_cut_anywhere_gives_the_same_state(history: list[Act], cuts: set[int]) -> None:
    follow(history, cuts)


@pytest.mark.slow
@settings(_QUIET, max_examples=8)
@given(acts(5, 60), st.sets(st.integers(0, 59), max_size=6))
def test_long_feeds_give_the_same_state(history: list[Act], cuts: set[int]) -> None:
    follow(history, cuts)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with begun(tmp_path / "store") as registry:
        yield registry


def test_a_public_feed_tells_nothing_of_drafts(registry: Registry) -> None:
    draft = registry.mint("rdl", BEN, Request('a "secret"\nname \\ é')).iri.value
    before = feed(registry, OUT, 0)
    registry.comment(draft, "secret as well", BEN, internal=True)
    registry.release(registry.mint("rdl", BEN).iri.value, BEN)
    assert feed(registry, OUT, 0) == before == feed(registry, BEN, 0)
    assert draft in feed(registry, ROOT, 0)
    registry.fixate([draft], BEN)
    told = feed(registry, OUT, 0)
    assert draft in told
    assert "secret as well" not in told
    assert "/access/" not in told


@pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")
def test_rdflib_reads_it(registry: Registry) -> None:
    """The reader of another library, of the parts of a history."""
    dataset, upto = rdflib.Dataset(), 0
    for label in "ab":
        iri = registry.register("names", label, ANN, Request('a "quoted"\nname \\ é')).iri.value
        registry.fixate([iri], ANN)
        registry.name(iri, "another", ANN)
        text = feed(registry, ROOT, upto)
        upto = int(re.findall(r"H upto (\d+)", text)[0])
        dataset.parse(data="\n".join(row for row in text.splitlines() if not row.startswith("H ")) + "\n", format="patch")
        exported_too = rdflib.Dataset()
        with registry.quads(ROOT) as quads:
            exported_too.parse(data="".join(f"{quad} .\n" for quad in quads), format="nquads")
        assert {*dataset.quads()} == {*exported_too.quads()}


def test_commands_export_and_import_a_feed(run: Run, mint: Minting, tmp_path: Path) -> None:
    mint("--name", "draft")
    first = run("export", "--after", "0", "-o", tmp_path / "1.rdfp")
    number = int(re.findall(r"up to (\d+); the next one begins with --after \1", first.err)[0])
    run("fixate", mint("--name", "valve"))
    run("export", "--after", str(number), "-o", tmp_path / "2.rdfp")
    copy = ("--store", tmp_path / "copy")
    run("import", tmp_path / "1.rdfp", *copy)
    assert run("import", tmp_path / "2.rdfp", "--json", *copy).object["events"] == 2
    assert run("export", "--format", "nquads", *copy).out == run("export", "--format", "nquads").out
    again = run("import", "-", "--format", "rdf-patch", "--json", *copy, stdin=(tmp_path / "1.rdfp").read_bytes())
    assert again.object["events"] == 0
    assert run("export", "--after", "0", "--format", "rdf-patch", by="carol").out.startswith("H id <urn:uuid:")
    run("export", "--after", "0", "--namespace", "rdl", code=2)
    run("export", "--after", "0", "--format", "turtle", code=2)
    run("export", "--after", "-1", code=2)


@pytest.mark.parametrize(("order", "whole"), [("123", True), ("1123", True), ("13", False), ("213", False)])
def test_patches_that_are_given_together_make_a_copy_where_none_is_left_out(
    run: Run, mint: Minting, tmp_path: Path, order: str, *, whole: bool
) -> None:
    """Of a part, the registry into which it comes keeps its own beginning."""
    number = 0
    for name in "123":
        mint("--name", name)
        said = run("export", "--after", str(number), "-o", tmp_path / f"{name}.rdfp").err
        number = int(re.findall(r"up to (\d+)", said)[0])
    copy = ("--store", tmp_path / "copy")
    run("import", *(tmp_path / f"{name}.rdfp" for name in order), *copy)
    assert (run("export", "--digest", *copy).out == run("export", "--digest").out) is whole


@pytest.mark.parametrize("user", ["alice", "carol"])
@pytest.mark.parametrize("more", [1, 1 << 70])
def test_a_number_that_is_yet_to_come_is_nothing_to_follow_from(run: Run, mint: Minting, tmp_path: Path, user: str, more: int) -> None:
    run("fixate", mint("--name", "valve"))
    last = int(re.findall(r"up to (\d+);", run("export", "--after", "0", by=user).err)[0])
    place = tmp_path / "later.rdfp"
    assert run("export", "--after", str(last), by=user).out.endswith(f"H upto {last} .\n")
    found = run("export", "--after", str(last + more), "-o", place, by=user, code=3)
    assert f"nothing has the number {last + more} yet, the last is {last}" in found.err
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
