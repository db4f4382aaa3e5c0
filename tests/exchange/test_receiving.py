"""Data of another registry, case by case: accepted, or held back."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from random_histories import ANN, BEGINNING, BEN, GIL, OUT, RDL, ROOT, begun, clock, exported, merge, sound

import idstore
from idstore import Party, Registry, Request, Stage, Statement
from idstore.errors import ExchangeError, NotRegistered
from idstore.exchange import patch, rdf
from idstore.model import times
from idstore.model.namespace import Namespace
from idstore.opening import restore
from idstore.registry.handle_values import Draft
from idstore.registry.imports.enroll import Listed
from idstore.validation import registries

EVE = Party("eve")
LATER = BEGINNING + 1_000_000
FORMATS = "http://formats.example.org/"


def follow(target: Registry, source: Registry, folder: Path, after: int) -> int:
    """Import the patch after a number, and return the start of the next one."""
    file = folder / "next.rdfp"
    with file.open("wb") as opened:
        last = patch.export(source, opened, ROOT, after)
    rdf.import_registry(target, [file], ROOT, own_history=True)
    return last


def register(registry: Registry, label: str, by: Party, namespace: str = "names") -> str:
    """Register a published identifier."""
    iri = registry.register(namespace, label, by, Request(target="http://example.org/")).iri
    registry.fixate([iri], by)
    return iri


# namespaces of one name


def both_have_data(here: Registry, there: Registry) -> None:
    """Create namespaces of one name in both registries; the other registry's is older."""
    there.add_namespace("data", "http://there.example.org/data#", "rdswip", ROOT)
    with clock(start=times.now() + 1000):
        here.add_namespace("data", "http://here.example.org/data#", "rdswip", ROOT)


def test_a_name_remains_with_the_local_namespace(tmp_path: Path, here: Registry, there: Registry) -> None:
    both_have_data(here, there)
    before = here.mint("data", ANN)
    foreign = there.mint("data", BEN)
    there.fixate([foreign.iri], BEN)
    merge(here, there, tmp_path)
    assert here.show(f"data:{before.label}", ANN).iri == before.iri
    assert here.mint("data", ANN).namespace == "http://here.example.org/data#"
    assert here.show(foreign.iri, OUT).iri == foreign.iri
    assert here.namespace("http://there.example.org/data#").name == "data"
    merge(there, here, tmp_path)
    assert there.namespace("data").base == "http://there.example.org/data#", "each keeps its own"
    sound(here)
    sound(there)
    assert here.mint("http://there.example.org/data#", ANN).namespace == "http://there.example.org/data#"
    report = registries.check(here, ROOT)
    assert {finding.severity for finding in report.results} == {"Warning"} and len(report.results) == 2


def test_a_copy_of_a_merged_registry_resolves_the_same_names(
    tmp_path: Path, here: Registry, there: Registry
) -> None:
    both_have_data(here, there)
    asked = Request(request_key="once")
    before = here.mint("data", ANN, asked)
    merge(here, there, tmp_path)
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        merge(copy, here, tmp_path)
        assert copy.namespace("data").base == "http://here.example.org/data#"
        assert [one.base for one in copy.namespaces()] == [one.base for one in here.namespaces()]
        assert copy.mint("data", ANN, asked).iri == before.iri
        sound(copy)


def test_the_oldest_imported_namespace_keeps_a_name(tmp_path: Path, here: Registry, there: Registry) -> None:
    both_have_data(here, there)
    with begun(tmp_path / "third") as third:
        merge(third, here, tmp_path)
        assert third.namespace("data").base == "http://here.example.org/data#"
        merge(third, there, tmp_path)
        assert third.namespace("data").base == "http://there.example.org/data#"


# values without public read


def with_an_address(registry: Registry) -> str:
    """Register a published handle with a value that only its owner may read."""
    iri = register(registry, "doc", BEN)
    registry.set_value(iri, Draft("EMAIL", "ben@example.org", permissions="1100"), BEN)
    return iri


@pytest.mark.parametrize("format", rdf.FORMATS)
def test_a_handle_is_imported_without_its_private_values(
    here: Registry, there: Registry, tmp_path: Path, format: str
) -> None:
    iri = with_an_address(there)
    assert merge(here, there, tmp_path, format=format).left.private == 0
    assert [value.type for value in here.show(iri, ROOT).values] == ["URL"]
    assert "ben@example.org" not in exported(here, ROOT, tmp_path / "all.nq").read_text(encoding="utf-8")
    assert here.show(iri, OUT) == there.show(iri, OUT)
    assert merge(here, there, tmp_path, format=format).events == 0
    sound(here)


def shared(here: Registry, there: Registry, folder: Path) -> str:
    """Register a published handle of ben, known in both registries."""
    iri = register(there, "doc", BEN)
    merge(here, there, folder)
    return iri


def agree(here: Registry, there: Registry, iri: str) -> None:
    """Check that both registries are sound, and tell the public the same values, also in their patches."""
    told = [one.values(iri, OUT) for one in (here, there)]
    assert told[0] == told[1]
    for one in (here, there):
        sound(one)
        changes = [step for step in one.steps(OUT) if step.event.about == iri]
        kept = {quad for step in changes for quad in step.added} - {
            quad for step in changes for quad in step.removed
        }
        with one.quads(OUT) as quads:
            assert kept <= {*quads}


@pytest.mark.parametrize("private_first", [True, False])
def test_a_public_value_of_elsewhere_does_not_take_the_place_of_a_private_one(
    here: Registry, there: Registry, tmp_path: Path, private_first: bool
) -> None:
    iri = shared(here, there, tmp_path)
    secret = Draft("EMAIL", "ben@example.org", index=2, permissions="1100")
    setters = [(here, secret), (there, Draft("EMAIL", "public@example.org", index=2))]
    for registry, draft in setters if private_first else reversed(setters):
        registry.set_value(iri, draft, BEN)
    there.comment(iri, "a remark", BEN)
    before = here.values(iri, BEN)
    assert merge(here, there, tmp_path).left.held == [iri]
    assert here.values(iri, BEN) == before
    merge(there, here, tmp_path)
    assert [value.text for value in there.values(iri, BEN, indexes=[2])] == ["public@example.org"]
    here.unset_values(iri, [2], BEN)
    here.set_value(iri, Draft("EMAIL", "ben@example.org", index=3, permissions="1100"), BEN)
    assert merge(here, there, tmp_path).left.held == []
    assert [value.text for value in here.values(iri, BEN, indexes=[2, 3])] == [
        "public@example.org",
        "ben@example.org",
    ]
    agree(here, there, iri)


def test_a_copy_follows_what_its_original_does_with_private_values(here: Registry, tmp_path: Path) -> None:
    iri = register(here, "doc", BEN)
    for index in (2, 3):
        here.set_value(iri, Draft("EMAIL", "ben@example.org", index=index, permissions="1100"), BEN)
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        last = follow(copy, here, tmp_path, 0)
        assert copy.values(iri, BEN) == here.values(iri, BEN)
        here.unset_values(iri, [2], BEN)
        here.set_value(iri, Draft("EMAIL", "public@example.org", index=3), BEN)
        follow(copy, here, tmp_path, last)
        assert copy.values(iri, BEN) == here.values(iri, BEN)
        agree(here, copy, iri)


def test_values_that_were_private_for_a_time_change_nothing_for_the_public(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    iri = shared(here, there, tmp_path)
    there.set_value(iri, Draft("EMAIL", "public@example.org", index=2), BEN)
    here.set_value(iri, Draft("EMAIL", "ben@example.org", index=2, permissions="1100"), BEN)
    here.unset_values(iri, [2], BEN)
    there.set_value(iri, Draft("EMAIL", "public@example.org", index=4), BEN)
    there.unset_values(iri, [4], BEN)
    here.set_value(iri, Draft("EMAIL", "ben@example.org", index=4, permissions="1100"), BEN)
    assert merge(here, there, tmp_path).left.held == []
    merge(there, here, tmp_path)
    assert [value.text for value in here.values(iri, BEN, indexes=[2, 4])] == [
        "public@example.org",
        "ben@example.org",
    ]
    agree(here, there, iri)


def test_a_feed_continues_after_a_handle_with_a_private_value(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    iri = with_an_address(there)
    last = follow(here, there, tmp_path, 0)
    there.name(iri, "a name", BEN)
    there.unset_values(iri, [2], BEN)
    follow(here, there, tmp_path, last)
    assert here.show(iri, OUT).names == (("und", "a name"),)
    assert here.show(iri, OUT) == there.show(iri, OUT)
    sound(here)


# namespaces


def governed(registry: Registry) -> list[Namespace]:
    return [replace(one, settings=()) for one in registry.namespaces()]


def test_an_import_changes_no_owner_or_allocator_of_a_namespace(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    before = governed(here)
    there.freeze("names", ROOT)
    there.allow("rdl", ["ben"], ROOT, per_minute=1)
    there.transfer_namespace("names", GIL, ROOT)
    there.transfer_namespace("names", GIL, GIL)
    there.comment_namespace("rdl", "a remark", ROOT)
    iri = there.mint("rdl", BEN).iri
    there.fixate([iri], BEN)
    report = merge(here, there, tmp_path)
    assert (report.events, report.identifiers) == (3, 1)
    assert governed(here) == before
    assert [remark.text for remark in here.remarks(RDL, OUT)] == ["a remark"]
    assert [here.mint("rdl", GIL).namespace for _ in range(2)] == [RDL, RDL]
    assert merge(here, there, tmp_path).events == 0
    sound(here)


def earlier(folder: Path) -> Registry:
    """Return a registry that added a namespace and published in it before others did."""
    with clock(start=BEGINNING - 1000):
        registry = idstore.open(folder, administrator=EVE)
        registry.add_namespace("formats", FORMATS, "puid", EVE)
        registry.add_type("formats", "lan", "programming language", EVE)
        registry.comment_namespace("formats", "a remark", EVE)
        registry.fixate([registry.register("formats", "lan/1", BEN).iri], BEN)
        registry.freeze("formats", EVE)
    return registry


def test_an_earlier_creator_elsewhere_does_not_get_a_namespace(tmp_path: Path) -> None:
    with clock(), earlier(tmp_path / "there") as there, begun(tmp_path / "here") as here:
        here.add_namespace("formats", FORMATS, "puid", ROOT)
        merge(here, there, tmp_path, by=EVE)
        found = here.namespace("formats")
        assert (found.owner, found.frozen) == ("root", False)
        assert here.register("formats", "lan/2", ANN).label == "lan/2"
        sound(here)
        last = exported(here, ROOT, tmp_path / "all.nq")
        with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
            rdf.import_registry(copy, [last], ROOT)
            assert exported(copy, ROOT, tmp_path / "again.nq").read_bytes() == last.read_bytes()
            sound(copy)
            here.freeze("formats", ROOT)
            merge(copy, here, tmp_path)
            assert copy.namespace("formats").frozen
            sound(copy)
            assert rdf.import_registry(copy, [exported(there, EVE, tmp_path / "there.nq")], ROOT).events == 0


def test_a_new_namespace_is_imported_unchanged_and_remains_so(tmp_path: Path) -> None:
    with clock(), earlier(tmp_path / "there") as there, begun(tmp_path / "here") as here:
        merge(here, there, tmp_path, by=EVE)
        assert (here.namespace("formats").owner, here.namespace("formats").frozen) == ("eve", True)
        there.freeze("formats", EVE, frozen=False)
        assert merge(here, there, tmp_path, by=EVE).events == 0
        assert here.namespace("formats").frozen
        sound(here)


# a copy that continues on its own


def test_events_on_a_party_count_in_the_order_of_time(here: Registry, tmp_path: Path) -> None:
    with clock(), idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        merge(copy, here, tmp_path)
        here.suspend(BEN, "here, and not for long", ROOT)
        here.reinstate(BEN, ROOT)
        here.leave(GIL, Party("staff"), ROOT)
        copy.suspend(BEN, "in the copy", ROOT)
        merge(copy, here, tmp_path)
        assert {one.name: one.suspended for one in copy.parties(ROOT) if one.suspended} == {
            "ben": "in the copy"
        }
        assert all(not one.groups for one in copy.parties(ROOT))
        sound(copy)


def test_a_local_publication_outlasts_an_earlier_imported_release(here: Registry, tmp_path: Path) -> None:
    """As when a backup is restored and used, and a later export is imported."""
    with clock(start=LATER):
        iri = here.register("names", "x", ANN).iri
        here.backup(tmp_path / "backup", ROOT)
        here.release(iri, ANN)
        other = here.register("names", "y", ANN).iri
        later = exported(here, ROOT, tmp_path / "later.nq")
        restore(tmp_path / "backup", tmp_path / "restored")
        with idstore.open(tmp_path / "restored") as restored:
            restored.fixate([iri], ANN)
            for _ in range(2):
                assert rdf.import_registry(restored, [later], ROOT, own_history=True).left.held == [iri]
                assert restored.show(iri, OUT).stage is Stage.FIXATED
            assert restored.show(other, ANN).owner == "ann"
            sound(restored)


def test_an_identifier_released_in_a_copy_does_not_return(here: Registry, tmp_path: Path) -> None:
    with clock(start=LATER), idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        iri = here.register("names", "x", ANN).iri
        merge(copy, here, tmp_path)
        here.fixate([iri], ANN)
        copy.release(iri, ANN)
        for _ in range(2):
            assert merge(copy, here, tmp_path).left.held == [iri]
            with pytest.raises(NotRegistered):
                copy.show(iri, ROOT)
        sound(copy)


def test_a_copy_accepts_published_and_imported_data_of_its_original_at_once(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    with clock(start=LATER), idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        iri = here.register("names", "x", ANN).iri
        merge(copy, here, tmp_path)
        register(there, "x", BEN)
        here.fixate([iri], ANN)
        merge(here, there, tmp_path)
        assert merge(copy, here, tmp_path).left.held == []
        assert (
            exported(copy, ROOT, tmp_path / "copy.nq").read_bytes()
            == exported(here, ROOT, tmp_path / "here.nq").read_bytes()
        )
        assert merge(copy, here, tmp_path).events == 0
        sound(copy)


# the same name in another spelling


@pytest.mark.parametrize("fate", ["draft", "released", "published"])
def test_only_the_same_name_in_another_spelling_is_held_back(
    here: Registry, there: Registry, tmp_path: Path, fate: str
) -> None:
    for registry in (here, there):
        registry.add_namespace(
            "loose", "https://hdl.handle.net/20.500.9/", "handle", ROOT, {"case_sensitive": "false"}
        )
    mine = here.register("loose", "doc", ANN).iri
    if fate != "draft":
        (here.release if fate == "released" else lambda iri, party: here.fixate([iri], party))(mine, ANN)
    theirs, other = register(there, "DOC", BEN, "loose"), register(there, "other", BEN, "loose")
    for created in (1, 0):
        report = merge(here, there, tmp_path)
        assert (report.identifiers, report.left.held) == (created, [theirs])
    assert here.show(other, OUT).owner == "ben"
    sound(here)


def test_a_version_is_imported_although_its_work_is_held_back(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    work = here.register("names", "work", ANN).iri
    here.release(work, ANN)
    register(there, "work", BEN)
    version = register(there, "version", BEN)
    there.add_version(work, "V1.0", BEN, existing=version)
    assert merge(here, there, tmp_path).left.held == [work]
    assert here.show(version, OUT).work == work
    assert here.resolve(version, OUT).target is not None
    assert registries.check(here, ROOT).conforms
    sound(here)


@pytest.mark.parametrize(
    ("original", "forged"), [('"0.9"', '"0.1"'), ('"2026-11-20T', '"2026-11-21T'), ('"86400"', '"86401"')]
)
def test_an_existing_event_with_another_number_or_time_is_refused(
    here: Registry, there: Registry, tmp_path: Path, original: str, forged: str
) -> None:
    iri = register(there, "doc", BEN)
    there.bind(iri, Statement("http://example.org/a", confidence=Decimal("0.9")), BEN)
    there.set_value(iri, Draft("DESC", "a text", until=times.parse("2026-11-20T00:00:00Z")), BEN)
    there.set_value(iri, Draft("DESC", "a text", ttl=86400), BEN)
    file = exported(there, ROOT, tmp_path / "all.nq")
    rdf.import_registry(here, [file], ROOT)
    whole = file.read_text(encoding="utf-8")
    assert original in whole
    file.write_text(whole.replace(original, forged), encoding="utf-8")
    with pytest.raises(ExchangeError, match="events never change"):
        rdf.import_registry(here, [file], ROOT)
    file.write_text(
        whole.replace('"0.9"', '"0.90"').replace(f'{original}00:00:00Z"', f'{original}00:00:00.000Z"'),
        encoding="utf-8",
    )
    assert rdf.import_registry(here, [file], ROOT).events == 0


# a clock that was ahead


def test_events_dated_in_the_future_can_be_restored_but_not_merged(
    here: Registry, there: Registry, tmp_path: Path
) -> None:
    with clock(start=times.now() + 2 * times.DAY):
        register(there, "doc", BEN)
        there.freeze("rdl", ROOT)
    file = exported(there, ROOT, tmp_path / "all.nq")
    with pytest.raises(ExchangeError, match="in the future"):
        rdf.import_registry(here, [file], ROOT)
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        rdf.import_registry(copy, [file], ROOT)
        there.comment_namespace("rdl", "the clock is right again", ROOT)
        merge(copy, there, tmp_path)
        assert (
            exported(copy, ROOT, tmp_path / "copy.nq").read_bytes()
            == exported(there, ROOT, tmp_path / "there.nq").read_bytes()
        )
        sound(copy)


# lists of drafts


@pytest.mark.parametrize("known", [True, False])
def test_the_import_event_of_a_list_of_drafts_is_not_transferred(
    here: Registry, there: Registry, tmp_path: Path, known: bool
) -> None:
    base = "names"
    if not known:
        base = there.add_namespace("more", "20.500.9", "handle", ROOT).name
    prefix = "20.500.9" if not known else there.namespace("names").base.split("/")[-2]
    there.enrol(base, [Listed(line=1, id=f"{prefix}/aa", stage=Stage.CREATED)], ROOT, "list of drafts")
    file = exported(there, ROOT, tmp_path / "all.nq")
    assert "list of drafts" in file.read_text(encoding="utf-8")
    rdf.import_registry(here, [file], ROOT)
    assert rdf.import_registry(here, [file], ROOT).events == 0
    assert "list of drafts" not in exported(here, ROOT, tmp_path / "here.nq").read_text(encoding="utf-8")
    sound(here)
