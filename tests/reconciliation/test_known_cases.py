"""Mappings and logs of real projects, compared with a plain reading of their files."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch
from urllib.parse import quote

import pytest
from command_lines import Run

import idstore
from idstore.errors import NotRegistered
from idstore.model import times
from idstore.registry.bindings import Statement

pytestmark = [pytest.mark.realdata, pytest.mark.slow]

WD = "http://www.wikidata.org/entity/"
FORMATS = "http://formats.example.org/"
CODES = "https://hdl.handle.net/10.1000/"
Pairs = set[tuple[str, str]]


def cells(place: Path) -> list[list[str]]:
    """Return the rows of a file of real data, without its header."""
    return [line.split("\t") for line in place.read_text(encoding="utf-8").split("\n")[1:] if line]


# codes of one list, and their equivalents in four others


def crowded(pairs: Pairs, kinds: dict[str, str]) -> set[tuple[str, frozenset[str]]]:
    """Return each key that is paired with several values of one kind, with these values."""
    found = defaultdict(set)
    for one, other in pairs:
        found[one, kinds[other]].add(other)
    return {(one, frozenset(others)) for (one, _), others in found.items() if len(others) > 1}


def hanging(pairs: Pairs) -> list[set[str]]:
    """Return the connected components, found by repeated steps to neighbours."""
    beside = defaultdict(set)
    for one, other in pairs:
        beside[one].add(other)
        beside[other].add(one)
    made: list[set[str]] = []
    seen: set[str] = set()
    for start in beside:
        there, ways = set(), [start] if start not in seen else []
        while ways:
            here = ways.pop()
            if here not in there:
                there.add(here)
                ways += beside[here]
        seen |= there
        made += [there] if there else []
    return made


@dataclass
class Equivalents:
    """The equivalents of CFIHOS codes as IRIs, and the kind of each end."""

    rows: list[tuple[str, str]]
    kinds: dict[str, str]
    names: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def equivalents(real_data: Path) -> Equivalents:
    made = Equivalents([], {})
    for code, name, _, source, target in cells(real_data / "cfihos_equivalents.tsv"):
        one, other = (
            CODES + code,
            f"http://{quote(source.lower().replace(' ', ''))}.example.org/{quote(target)}",
        )
        made.kinds |= {one: "CFIHOS", other: source}
        made.names[code] = name
        made.rows.append((one, other))
    return made


def judged(found: list[dict[str, object]], kind: str, end: str) -> list[tuple[str, frozenset[str]]]:
    claims = [(one["about"], one["claims"]) for one in found if one["kind"] == kind]
    return [
        (str(about), frozenset(claim[end] for claim in some))
        for about, some in claims
        if isinstance(some, list)
    ]


def test_codes_with_several_equivalents_of_one_list(
    run: Run, rdl: str, store: Path, equivalents: Equivalents, tmp_path: Path
) -> None:
    """3,091 equivalences of 1,998 codes: imported as bindings, and compared in the store."""
    assert rdl
    codes, table = tmp_path / "codes.txt", tmp_path / "equivalents.tsv"
    codes.write_text(
        "".join(f"{code}\t{name}\n" for code, name in equivalents.names.items()), encoding="utf-8"
    )
    table.write_text(
        "id\ttarget\n" + "".join(f"{one}\t{other}\n" for one, other in equivalents.rows), encoding="utf-8"
    )
    run("import", codes, "--format", "list", "--namespace", "h")
    rehearsed = run("import", table, "--dry-run", "--json").objects
    assert [(one["verdict"], one["reason"]) for one in rehearsed] == list(spoken_against(equivalents))
    run("import", table)

    found = run("reconcile", store, "--clusters", "--json").objects
    pairs = set(equivalents.rows)
    several, claimed = judged(found, "several-targets", "target"), judged(found, "claimed-twice", "id")
    assert (len(equivalents.rows), len(several), len(claimed)) == (3091, len(set(several)), len(set(claimed)))
    assert set(several) == crowded(pairs, equivalents.kinds)
    assert set(claimed) == crowded({(other, one) for one, other in pairs}, equivalents.kinds)
    clusters = hanging(pairs)
    twins = [
        members for members in clusters if len({equivalents.kinds[one] for one in members}) < len(members)
    ]
    assert sorted(one["about"] for one in found if one["kind"] == "joined") == sorted(map(min, twins))
    others = [members for members in clusters if members not in twins and len(members) > 2]
    assert sorted(one["about"] for one in found if one["kind"] == "cluster") == sorted(map(min, others))
    assert {one["kind"] for one in found} == {"several-targets", "claimed-twice", "joined", "cluster"}


def spoken_against(equivalents: Equivalents) -> Iterator[tuple[str, str]]:
    """Yield the expected conflicts of each line with earlier lines on its code and on its target.

    Ten of those on a target are named.
    """
    bound: dict[tuple[str, str], list[str]] = defaultdict(list)
    claimed: dict[str, list[str]] = defaultdict(list)
    for one, other in equivalents.rows:
        alike = bound[one, equivalents.kinds[other]]
        reasons = [f"{one} is bound to {target}" for target in sorted(alike)]
        reasons += [f"{other} is claimed by {code}" for code in sorted(claimed[other])[:10]]
        reasons += [f"{other} is claimed by others too"] if claimed[other][10:] else []
        yield ("contradictory" if reasons else "new"), "; ".join(reasons)
        alike.append(other)
        claimed[other].append(one)


def test_the_published_file_has_the_known_conflicts(run: Run, real_data: Path) -> None:
    """Both ends are plain texts, and a column gives the kind of the target.

    A text that occurs in two lists stands for two things.
    """
    words = (
        "--column",
        "subject=cfihos_code",
        "--column",
        "target=equivalent",
        "--column",
        "kind=coding_source",
    )
    found = run(
        "reconcile", real_data / "cfihos_equivalents.tsv", *words, "--relation", "skos:closeMatch", "--json"
    ).objects
    rows = cells(real_data / "cfihos_equivalents.tsv")
    kinds = {f"{source}\t{target}": source for *_, source, target in rows} | {
        code: "CFIHOS" for code, *_ in rows
    }
    pairs = {(code, f"{source}\t{target}") for code, _, _, source, target in rows}
    several = {(code, frozenset(map(bare, targets))) for code, targets in crowded(pairs, kinds)}
    claimed = [
        (bare(target), codes) for target, codes in crowded({(other, one) for one, other in pairs}, kinds)
    ]
    assert set(judged(found, "several-targets", "target")) == several
    assert Counter(judged(found, "claimed-twice", "id")) == Counter(claimed)


def bare(target: str) -> str:
    return target.partition("\t")[2]


# a log of bindings that were made, changed and taken back


@dataclass(frozen=True)
class Deed:
    """An edit of a Wikidata item: its PUID was added, changed or removed."""

    moment: int
    item: str
    action: str
    puid: str


def deeds(real_data: Path) -> list[Deed]:
    """Return the edits of the log that name a PUID, in order.

    A remark after the PUID is left out.
    """
    made = []
    for item, property, time, revision, _, action, value in cells(real_data / "wikidata_p2748_events.tsv"):
        kind, _, number = (puid := value.partition(",")[0]).partition("/")
        if property == "P2748" and kind in ("fmt", "x-fmt") and number.isdecimal():
            moment = int(datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()) * 1000
            made.append(((moment, int(revision)), Deed(moment, item, action.rpartition("-")[2], puid)))
    return [deed for _, deed in sorted(made, key=lambda one: one[0])]


@dataclass
class Bound:
    """The PUIDs of each item, and the number of edits that removed an absent one."""

    pairs: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    vain: int = 0

    def changes(self, deed: Deed) -> tuple[list[str], list[str]]:
        """Return the PUIDs to unbind and to bind.

        An update changes the PUID that the item named last.
        """
        named = self.pairs[deed.item]
        if deed.action == "remove":
            return [deed.puid], []
        gone = named[-1:] if deed.action == "update" and deed.puid not in named else []
        return gone, [deed.puid] if deed.puid not in named else []

    def follow(self, deed: Deed) -> None:
        gone, come = self.changes(deed)
        self.vain += sum(puid not in self.pairs[deed.item] for puid in gone)
        self.pairs[deed.item] = [puid for puid in self.pairs[deed.item] if puid not in gone] + come

    def by_puid(self) -> dict[str, list[str]]:
        """Return PUID → items, for bound PUIDs only."""
        made = defaultdict(list)
        for item, puids in self.pairs.items():
            for puid in puids:
                made[FORMATS + puid].append(WD + item)
        return {puid: sorted(items) for puid, items in made.items()}


def folded(done: list[Deed], until: int) -> Bound:
    """Return the state at a moment, by replay from the beginning."""
    bound = Bound()
    for deed in done:
        if deed.moment <= until:
            bound.follow(deed)
    return bound


@contextmanager
def clock(start: int) -> Iterator[list[int]]:
    """Yield a clock that shows the only number in the list."""
    shown = [start]
    with patch.object(times, "now", lambda: shown[0]):
        yield shown


ALICE = idstore.Party("alice")


@pytest.fixture
def replayed(store: Path, real_data: Path) -> list[Deed]:
    """Return the edits, after a replay at their times in a registry of the PUIDs that the log names."""
    done = deeds(real_data)
    with clock(done[0].moment - 1) as shown, idstore.open(store, administrator=ALICE) as registry:
        registry.add_namespace("own", FORMATS, "puid", ALICE)
        for puid in sorted({deed.puid for deed in done}):
            registry.register("own", puid, ALICE)
        bound, vain = Bound(), 0
        for deed in done:
            shown[0] = deed.moment
            gone, come = bound.changes(deed)
            for puid in gone:
                try:
                    registry.unbind(FORMATS + puid, Statement(WD + deed.item), ALICE)
                except NotRegistered:
                    vain += 1
            for puid in come:
                registry.bind(FORMATS + puid, Statement(WD + deed.item), ALICE)
            bound.follow(deed)
        assert vain == bound.vain
    return done


def test_the_same_log_as_a_table_of_decisions(run: Run, real_data: Path, tmp_path: Path) -> None:
    """One file of all edits ends in the same state as the log.

    The removal of an absent binding gives a warning.
    """
    done = deeds(real_data)
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("own", FORMATS, "puid", ALICE)
        for puid in sorted({deed.puid for deed in done}):
            registry.register("own", puid, ALICE)
    bound, rows = Bound(), ["action\tid\ttarget"]
    for deed in done:
        gone, come = bound.changes(deed)
        rows += [
            f"{act}\t{FORMATS}{puid}\t{WD}{deed.item}"
            for act, puids in (("unbind", gone), ("bind", come))
            for puid in puids
        ]
        bound.follow(deed)
    table = tmp_path / "decisions.tsv"
    table.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    results = run("reconcile", "--accept", table, "--json").objects
    absent = [one for one in results if one["verdict"] == "absent"]
    assert (len(absent), {one["verdict"] for one in results} - {"absent"}) == (
        bound.vain,
        {"new", "contradictory"},
    )
    assert bindings(run("list", "--limit", "2000", "--json").objects) == bound.by_puid()


def bindings(found: list[dict[str, object]]) -> dict[str, list[str]]:
    """Return identifier → its target, for bound identifiers."""
    made = {str(one["id"]): one["bindings"] for one in found}
    return {
        id: sorted(binding["target"] for binding in some)
        for id, some in made.items()
        if isinstance(some, list) and some
    }


def test_history_shows_the_bindings_of_each_moment(run: Run, replayed: list[Deed]) -> None:
    moments = sorted({deed.moment for deed in replayed})
    turns = [deed.moment for deed in replayed if deed.action == "remove"]
    for moment in {
        moments[0],
        moments[len(moments) // 3],
        moments[-1],
        *turns,
        *(turn - 1 for turn in turns),
    }:
        shown = run("history", "--at", times.iso(times.of(moment)), "--json").objects
        assert bindings(shown) == folded(replayed, moment).by_puid(), times.iso(times.of(moment))


def test_diff_shows_the_changed_bindings(run: Run, replayed: list[Deed]) -> None:
    moments = sorted({deed.moment for deed in replayed})
    chosen = [moments[len(moments) * part // 6 - 1] for part in range(1, 7)]
    pairs = [*pairwise(chosen), (chosen[0], chosen[-1])]
    for since, until in pairs:
        found = run("diff", times.iso(times.of(since)), times.iso(times.of(until)), "--json").objects
        before, after = (folded(replayed, moment).by_puid() for moment in (since, until))
        assert {one["id"] for one in found} == {
            id for id in before | after if before.get(id) != after.get(id)
        }
        assert {one["change"] for one in found} <= {"changed"}
        for one in found:
            gone, come = (set(state.get(one["id"], ())) for state in (before, after))
            results = {
                (change["field"].partition(" ")[2], change["before"], change["after"])
                for change in one["fields"]
            }
            said = "bound by alice"
            assert results == {(item, said, None) for item in gone - come} | {
                (item, None, said) for item in come - gone
            }
