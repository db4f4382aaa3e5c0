"""Merging registries: accepted and rejected data, and the same result on all sides."""

import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_histories import (
    ANN,
    BEN,
    GIL,
    NAMES,
    OUT,
    ROOT,
    Act,
    acts,
    begun,
    clock,
    exported,
    memory,
    merge,
    perform,
    sound,
)

import idstore
from idstore import Filter, Party, Record, Registry, Request, Stage, Statement
from idstore.errors import ExchangeError, IdstoreError
from idstore.exchange import rdf
from idstore.exchange.comparison import LeftOut
from idstore.vocabulary import IDS, PROV, RDF, REGISTRY_GRAPH

_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
_OWN = {
    IDS.Initialization,
    IDS.PartyAddition,
    IDS.Joining,
    IDS.Leaving,
    IDS.NamespaceAddition,
    IDS.NamespaceFreeze,
}


def published(registry: Registry) -> set[str]:
    """Return the public statements, without those that differ by registry.

    These are parties, the governance of namespaces, and the mark of an extract.
    """
    with registry.quads(OUT) as found:
        quads = [quad for quad in found if quad.graph_name != REGISTRY_GRAPH]
    own = {quad.subject for quad in quads if quad.predicate == RDF.type and quad.object in _OWN}
    return {str(quad) for quad in quads if quad.subject not in own}


def private_texts(registry: Registry) -> set[str]:
    """Return names of everything that is not public."""
    with registry.quads(ROOT) as all_quads, registry.quads(OUT) as open_quads:
        return {str(quad.subject) for quad in all_quads} - {str(quad.subject) for quad in open_quads}


def subjects(registry: Registry) -> set[str]:
    with registry.quads(ROOT) as quads:
        return {str(quad.subject) for quad in quads}


# all sides end with the same state


def converge(histories: list[list[Act]], imports: list[tuple[int, int, bool]]) -> None:
    with clock(), ExitStack() as opened:
        folder = opened.enter_context(memory())
        registries = [
            opened.enter_context(begun(folder / f"store{number}")) for number, _ in enumerate(histories)
        ]
        for step in range(max(map(len, histories))):
            for registry, history in zip(registries, histories, strict=True):
                if step < len(history):
                    perform(registry, history[step])
        for place, source, anonymous in imports:
            if place != source:
                guarded_merge(registries[place], registries[source], folder, OUT if anonymous else ROOT)
        publish_all(registries)
        pairs = [(one, other) for one in registries for other in registries if one is not other]
        for one, other in pairs * (len(registries) - 1):  # by then each registry has received everything
            guarded_merge(one, other, folder, ROOT)
        ended = [published(registry) for registry in registries]
        again = [merge(one, other, folder) for one, other in pairs]
        assert [report.events for report in again] == [0] * len(again)
        held = {iri for report in again for iri in report.left.held}  # released on one side
        for registry, statements in zip(registries, ended, strict=True):
            sound(registry)
            assert without(statements, held) == without(ended[0], held)


def publish_all(registries: list[Registry]) -> None:
    """Publish all drafts, because a draft that exists on several sides would be held back."""
    for registry in registries:
        for record in registry.list(ROOT, limit=None):
            if record.stage is Stage.CREATED and record.namespace == NAMES:
                if registry.parties(ROOT) and any(
                    known.suspended and known.name == record.owner for known in registry.parties(ROOT)
                ):
                    registry.reinstate(Party(record.owner), ROOT)
                registry.fixate([record.iri], Party(record.owner))


def guarded_merge(target: Registry, source: Registry, folder: Path, by: Party) -> None:
    """Merge, and check that no private data is transferred and that a second merge changes nothing."""
    hidden, before, had = private_texts(source), private_texts(target), subjects(target)
    merge(target, source, folder, by)
    assert hidden.isdisjoint(subjects(target) - had)
    assert private_texts(target) == before
    assert merge(target, source, folder, by).events == 0


def without(statements: set[str], iris: set[str]) -> set[str]:
    """Return the statements that are about none of these IRIs."""
    events = {text.split(" ", 1)[0] for text in statements for iri in iris if f"<{iri}>" in text}
    return {text for text in statements if text.split(" ", 1)[0] not in events}


imports = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.booleans()), max_size=4)
triple_imports = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=5)


@settings(_QUIET, max_examples=4, derandomize=True)
@given(st.lists(acts(5), min_size=2, max_size=2), imports)
def test_two_registries_that_import_each_other_end_with_the_same(
    histories: list[list[Act]], imports: list[tuple[int, int, bool]]
) -> None:
    converge(histories, imports)


@pytest.mark.slow
@settings(_QUIET, max_examples=2, derandomize=True)
@given(st.lists(acts(5, 20), min_size=3, max_size=3), triple_imports)
def test_three_registries_that_import_each_other_end_with_the_same(
    histories: list[list[Act]], imports: list[tuple[int, int, bool]]
) -> None:
    converge(histories, imports)


@pytest.mark.slow
@settings(_QUIET, max_examples=3)
@given(
    st.integers(2, 3).flatmap(
        lambda many: st.tuples(st.lists(acts(5, 60), min_size=many, max_size=many), triple_imports)
    )
)
def test_many_registries_end_with_the_same(case: tuple[list[list[Act]], list[tuple[int, int, bool]]]) -> None:
    histories, imports = case
    converge(
        histories,
        [(one, other, anonymous) for one, other, anonymous in imports if max(one, other) < len(histories)],
    )


# accepted and rejected data


def register(
    registry: Registry,
    label: str,
    by: Party = ANN,
    *,
    fixate: bool = True,
    name: str | None = None,
    comment: str | None = None,
) -> str:
    iri = registry.register("names", label, by, Request(name, comment=comment)).iri
    if fixate:
        registry.fixate([iri], by)
    return iri


def test_events_keep_authors_and_origin(here: Registry, there: Registry, tmp_path: Path) -> None:
    iri = register(there, "x", BEN, name="valve", comment="a remark")
    there.bind(iri, Statement("http://example.org/a", note="seen"), GIL)
    report = merge(here, there, tmp_path)
    assert (report.identifiers, report.left.parties) == (1, 5)
    assert [entry.event for entry in here.log(OUT, Filter(id=iri))] == [
        entry.event for entry in there.log(OUT, Filter(id=iri))
    ]
    assert {entry.event.origin for entry in here.log(OUT, Filter(id=iri))} == {there.store.origin}
    assert here.show(iri, OUT) == there.show(iri, OUT)
    assert [one.by for one in here.remarks(iri, OUT)] == ["ben"]
    here.fixate([here.mint("rdl", ANN).iri], ANN)
    assert [*here.log(ROOT)][-1].event.at >= max(entry.event.at for entry in there.log(ROOT))


@pytest.mark.parametrize("earlier", ["here", "there"])
def test_the_earliest_creation_of_an_identifier_stands(
    here: Registry, there: Registry, tmp_path: Path, earlier: str
) -> None:
    first, second = (here, there) if earlier == "here" else (there, here)
    with clock():
        iri = register(first, "x", BEN, name="the first")
        register(second, "x", ANN, name="the second")
        second.bind(iri, Statement("http://example.org/a"), ANN)
        merge(here, there, tmp_path)
        merge(there, here, tmp_path)
    for registry in (here, there):
        found = registry.show(iri, OUT)
        assert (found.owner, found.names, len(found.bindings)) == ("ben", (("und", "the first"),), 1)
        assert {entry.event.by for entry in registry.log(OUT, Filter(id=iri, kinds=["Registration"]))} == {
            "ben",
            "ann",
        }
        sound(registry)
    assert published(here) == published(there)


def test_bindings_merge_by_the_order_of_their_events(here: Registry, there: Registry, tmp_path: Path) -> None:
    with clock():
        iri = register(here, "x")
        merge(there, here, tmp_path)
        both, gone, again = (Statement(f"http://example.org/{name}") for name in ("both", "gone", "again"))
        for registry in (here, there):
            registry.bind(iri, both, BEN)
        here.bind(iri, gone, BEN)
        there.bind(iri, gone, BEN)
        there.unbind(iri, gone, BEN)
        there.bind(iri, again, BEN)
        here.bind(iri, again, BEN)
        there.unbind(iri, again, BEN)
        there.bind(iri, again, BEN)
        merge(here, there, tmp_path)
        merge(there, here, tmp_path)
    for registry in (here, there):
        assert sorted(one.target for one in registry.show(iri, OUT).bindings) == [
            "http://example.org/again",
            "http://example.org/both",
        ]
        sound(registry)


def test_drafts_and_internal_remarks_are_not_transferred(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    draft = there.mint("rdl", BEN, Request("a secret draft")).iri
    gone = there.mint("rdl", BEN, Request("a secret that is gone")).iri
    there.release(gone, BEN)
    public = register(there, "x", BEN)
    there.comment(public, "a secret remark", BEN, internal=True)
    there.suspend(GIL, "a secret reason", ROOT)
    for format in rdf.FORMATS:
        report = merge(here, there, tmp_path, format=format)
        assert report.left.private == 2, format
        file = exported(here, ROOT, tmp_path / "all.nq").read_text(encoding="utf-8")
        assert public in file
        assert [word for word in ("secret", draft, gone) if word in file] == [], format
    sound(here)


def test_parties_of_another_registry_get_no_power_here(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    draft = here.mint("rdl", ANN).iri
    here.grant(draft, Party("staff"), ANN)
    eve, mal = Party("eve"), Party("mal")
    there.add_party(eve, ROOT, "administrator")
    there.add_party(mal, ROOT)
    there.join(mal, Party("staff"), ROOT)
    there.suspend(ANN, "there", ROOT)
    before = here.parties(ROOT)
    merge(here, there, tmp_path)
    assert here.parties(ROOT) == before
    for party in (eve, mal):
        with pytest.raises(IdstoreError):
            here.show(draft, party)
    here.name(draft, "still mine", ANN)


def test_data_on_a_local_draft_or_released_identifier_are_held_back(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    draft, gone = (
        register(here, "draft", ANN, fixate=False, comment="not for others"),
        register(here, "gone", ANN, fixate=False),
    )
    here.release(gone, ANN)
    for label in ("draft", "gone", "free"):
        register(there, label, BEN)
    report = merge(here, there, tmp_path)
    assert (report.identifiers, sorted(report.left.held)) == (1, sorted((draft, gone)))
    with pytest.raises(IdstoreError):
        here.show(draft, OUT)
    assert here.show(draft, ANN).owner == "ann"
    with pytest.raises(IdstoreError, match="taken"):
        here.register("names", "gone", ANN)
    here.fixate([draft], ANN)
    assert merge(here, there, tmp_path).left.held == [gone]
    assert [entry.event.by for entry in here.log(OUT, Filter(id=draft, kinds=["Registration"]))] == [
        "ann",
        "ben",
    ]
    sound(here)


@pytest.mark.parametrize("fate", ["hidden", "released", "absent"])
def test_a_version_reveals_nothing_of_a_held_back_work(
    here: Registry, there: Registry, tmp_path: Path, fate: str
) -> None:
    if fate != "absent":
        work = register(here, "work", ANN, fixate=False)
    if fate == "released":
        here.release(work, ANN)
    work, version = register(there, "work", BEN), register(there, "v", BEN, fixate=False)
    there.add_version(work, "V1.0", BEN, existing=version)
    there.fixate([version], BEN)
    file = exported(there, OUT, tmp_path / "merged")
    if fate == "absent":
        of_work = {
            line.split(" ", 1)[0] for line in file.read_text().splitlines() if f"{IDS.about} <{work}>" in line
        } | {f"<{work}>"}
        file.write_text(
            "".join(
                line
                for line in file.read_text().splitlines(keepends=True)
                if line.split(" ", 1)[0] not in of_work
            )
        )
    rdf.import_registry(here, [file], ROOT, "nquads")
    said = here.citation(version, OUT)
    assert (said.latest, said.this_version) == (None, "https://hdl.handle.net/20.500.1/v")
    assert said.forms == there.cite(version, OUT)
    assert (here.citation(version, ANN).latest is None) == (fate != "hidden")
    assert there.citation(version, OUT).latest == work


def test_cycles_are_searched_among_public_successors_only(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    """Otherwise a party that names a successor would learn the replacement of a draft."""
    own, draft = register(here, "own", BEN), register(here, "draft", ANN, fixate=False)
    here.supersede(draft, [own], ANN)
    first, other = register(there, "other", BEN), register(there, "draft", BEN)
    there.supersede(first, [other], BEN)
    assert merge(here, there, tmp_path).left.held == [draft]
    here.supersede(own, [first], BEN)
    assert [one.iri for one in here.resolve(own, OUT).succession] == [own, first]


def test_a_publication_before_a_revocation_is_merged(here: Registry, there: Registry, tmp_path: Path) -> None:
    """It was still a draft here at that time."""
    with clock():
        iri = register(here, "x", ANN, fixate=False)
        register(there, "x", BEN)
        there.revoke(iri, "abuse", ROOT)
        here.fixate([iri], ANN)
        merge(here, there, tmp_path)
        merge(there, here, tmp_path)
    assert [registry.show(iri, OUT).stage for registry in (here, there)] == [Stage.TOMBSTONE] * 2
    assert published(here) == published(there)


def test_a_request_key_keeps_its_local_result(here: Registry, there: Registry, tmp_path: Path) -> None:
    request = Request("valve", request_key="order-66")
    mine, other = (registry.mint("rdl", ANN, request).iri for registry in (here, there))
    for registry, iri in ((here, mine), (there, other)):
        registry.fixate([iri], ANN)
    merge(here, there, tmp_path)
    assert here.mint("rdl", ANN, request).iri == mine
    assert here.show(other, OUT).names == (("und", "valve"),)
    sound(here)
    same = Request("valve", request_key="the same")
    for registry in (here, there):
        registry.fixate([registry.register("names", "x", ANN, same).iri], ANN)
    merge(here, there, tmp_path)
    merge(there, here, tmp_path)
    for registry in (here, there):
        assert registry.register("names", "x", ANN, same).label == "x"
        sound(registry)


# all or nothing


def state(registry: Registry) -> list[str]:
    with registry.quads(ROOT) as quads:
        return [str(quad) for quad in quads]


def test_namespaces_with_other_rules_are_not_merged(tmp_path: Path, here: Registry) -> None:
    with idstore.open(tmp_path / "other", administrator=ROOT) as there:
        there.add_namespace("names", NAMES, "handle", ROOT, {"case_sensitive": "false"})
        before = state(here)
        with pytest.raises(ExchangeError, match=r"case_sensitive=true.*and there.*case_sensitive=false"):
            merge(here, there, tmp_path)
        assert state(here) == before


def test_a_malformed_or_forged_line_refuses_the_whole_file(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    register(there, "x", BEN)
    merge(here, there, tmp_path)
    iri = register(there, "y", BEN, name="valve")
    file, before = exported(there, ROOT, tmp_path / "all.nq"), state(here)
    whole = file.read_text(encoding="utf-8")
    last = whole.rstrip().count("\n")
    for text, reason in (
        (whole + "<http://example.org/a> <http://example.org/b> .\n", f"line {last + 2}"),
        (whole[: whole.rindex('"')], "line "),
        (whole.replace(PROV.wasAssociatedWith.value, "http://example.org/by"), "not a whole event"),
        (whole.replace("party/ben>", "party/eve>"), "events never change"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(IdstoreError, match=reason):
            rdf.import_registry(here, [file], ROOT)
        assert state(here) == before
    file.write_text(whole, encoding="utf-8")
    rdf.import_registry(here, [file], ROOT)
    assert here.show(iri, OUT).names == (("und", "valve"),)


def test_only_administrators_merge(here: Registry, there: Registry, tmp_path: Path) -> None:
    register(there, "x")
    file, before = exported(there, ROOT, tmp_path / "all.nq"), state(here)
    with pytest.raises(IdstoreError, match="only administrators"):
        rdf.import_registry(here, [file], ANN)
    assert state(here) == before


_KILLED = """
import os, signal, sys
from pathlib import Path
import idstore
from idstore.exchange import rdf
from idstore.registry.imports.replay import Replay

left = int(sys.argv[3])
def counted(once):
    def step(*arguments):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return once(*arguments)
    return step
for step in ("replay", "build_history"):  # one event, and one identifier's
    setattr(Replay, step, counted(getattr(Replay, step)))
root = idstore.Party("root")
with idstore.open(sys.argv[1], administrator=root) as registry:
    rdf.import_registry(registry, [Path(sys.argv[2])], root)
"""


def test_a_killed_merge_imports_nothing_and_can_be_repeated(there: Registry, tmp_path: Path) -> None:
    for number in range(5):
        register(there, f"x{number}", BEN)
    file = exported(there, ROOT, tmp_path / "all.nq")
    with begun(tmp_path / "here") as here:
        before = state(here)
    for after in (1, 3, 5):
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, tmp_path / "here", file, str(after)], check=False
        )
        assert done.returncode == -signal.SIGKILL
        with idstore.open(tmp_path / "here", administrator=ROOT) as here:
            assert state(here) == before
            sound(here)
    with idstore.open(tmp_path / "here", administrator=ROOT) as here:
        assert rdf.import_registry(here, [file], ROOT).identifiers == 5
        sound(here)


# a copy of a registry, and later imports into it


def test_a_copy_receives_all_later_events(there: Registry, tmp_path: Path) -> None:
    there.mint("rdl", BEN, Request("draft"))
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        merge(copy, there, tmp_path)
        assert state(copy) == state(there)
        there.mint("rdl", ANN, Request("another draft"))
        there.join(BEN, Party("staff"), ROOT)
        assert merge(copy, there, tmp_path).left == LeftOut()
        assert state(copy) == state(there)
        sound(copy)


# differences of two registries


def test_a_dry_run_shows_new_and_changed_identifiers_of_both_sides(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    with clock():
        iris = {label: register(here, label, name=label) for label in ("same", "here", "there", "both")}
        merge(there, here, tmp_path)
        here.name(iris["here"], "named here", ANN)
        there.name(iris["there"], "named there", ANN)
        here.name(iris["both"], "first", ANN)
        there.name(iris["both"], "second", ANN)
        here.target(iris["both"], "http://example.org/a", ANN)
        only_here, only_there = register(here, "only here"), register(there, "only there")
        register(here, "draft", fixate=False)
        there.comment(iris["both"], "secret", ANN, internal=True)
        before = state(here)
        file = exported(there, ROOT, tmp_path / "all.nq")
        report = rdf.import_registry(here, [file], ROOT, dry_run=True)
        assert state(here) == before
        found = {one.iri: one for one in report.differences}
        sides = {
            iri: (one.side, *(named(face) for face in (one.common, one.here, one.there, one.merged)))
            for iri, one in found.items()
        }
        assert sides == {
            iris["here"]: ("here", "here", "named here", "here", "named here"),
            iris["there"]: ("there", "there", "there", "named there", "named there"),
            iris["both"]: ("both", "both", "first", "second", "second"),
            only_here: ("here", None, "", None, ""),
            only_there: ("there", None, None, "", ""),
        }
        rdf.import_registry(here, [file], ROOT)
    for iri, one in found.items():
        assert here.show(iri, ANN) == one.merged


def named(record: Record | None) -> str | None:
    return None if record is None else dict(record.names).get("und", "")
