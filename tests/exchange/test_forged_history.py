"""Files with events that claim to be this registry's own, but are not in its log."""

from pathlib import Path

import pytest
from random_histories import ANN, ROOT, exported, merge, sound

import idstore
from idstore import Party, Registry, Stage
from idstore.errors import ExchangeError, NotRegistered
from idstore.exchange import rdf
from idstore.model.party import node
from idstore.validation.registries import check_file
from idstore.vocabulary import IDS, PROV, PUBLIC_LOG, RDF, XSD, event_name

NOBODY = Party("nobody")
MALLORY = Party("mallory")


@pytest.fixture
def here(tmp_path: Path) -> Registry:
    """A registry with a published identifier and a draft, both of ann."""
    registry = idstore.open(tmp_path / "here", administrator=ROOT)
    registry.add_namespace("names", "12345", "handle", ROOT)
    registry.register("names", "published", ANN)
    registry.fixate(["names:published"], ANN)
    registry.register("names", "draft", ANN)
    return registry


def forged_event(origin: str, kind: object, about: object, by: str, *arguments: str, token: int = 1) -> str:
    """Return an event as N-Quads.

    Every reader of the public log, which has the registry's UUID, can write it.
    """
    event = f"<{event_name(origin, token)}>"
    lines = [
        f"{event} {RDF.type} {kind}",
        f"{event} {IDS.about} {about}",
        f"{event} {PROV.wasAssociatedWith} {node(by)}",
        f'{event} {PROV.endedAtTime} "2026-11-20T12:00:00Z"^^{XSD.dateTime}',
        *(f"{event} {argument}" for argument in arguments),
    ]
    return "".join(f"{line} {PUBLIC_LOG} .\n" for line in lines)


def forgeries(registry: Registry) -> dict[str, str]:
    """Return the forged events by the kind of power that they would change."""
    origin = registry.store.origin
    draft, published = (registry.show(f"names:{label}", ANN).node for label in ("draft", "published"))
    party = f"{IDS.party} {node('mallory')}"
    addition = f"{IDS.type} {IDS.Administrator}"
    return {
        "parties": forged_event(origin, IDS.PartyAddition, node("mallory"), "root", addition),
        "publication": forged_event(origin, IDS.Fixation, draft, "ann"),
        "ownership": forged_event(origin, IDS.Transfer, published, "ann", party)
        + forged_event(origin, IDS.Transfer, published, "mallory", party, token=2),
        "permissions": forged_event(origin, IDS.Grant, draft, "ann", party),
    }


def file_of(text: str, folder: Path) -> Path:
    file = folder / "forged.nq"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("power", ["parties", "publication", "ownership", "permissions"])
def test_own_events_that_the_log_lacks_are_refused(
    here: Registry, tmp_path: Path, power: str, *, dry_run: bool
) -> None:
    before = exported(here, ROOT, tmp_path / "before.nq").read_bytes()
    file = file_of(forgeries(here)[power], tmp_path)
    with pytest.raises(ExchangeError, match="forged, or were lost here"):
        rdf.import_registry(here, [file], ROOT, dry_run=dry_run)
    assert exported(here, ROOT, tmp_path / "after.nq").read_bytes() == before
    sound(here)


def test_a_copy_refuses_unknown_events_of_its_original_too(here: Registry, tmp_path: Path) -> None:
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        rdf.import_registry(copy, [exported(here, ROOT, tmp_path / "all.nq")], ROOT)
        file = file_of(forgeries(here)["parties"], tmp_path)
        with pytest.raises(ExchangeError, match="forged, or were lost here"):
            rdf.import_registry(copy, [file], ROOT)
        assert "mallory" not in {party.name for party in copy.parties(ROOT)}


def test_an_empty_store_refuses_events_under_its_own_name(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "empty", administrator=ROOT) as empty:
        event = forged_event(
            empty.store.origin,
            IDS.PartyAddition,
            node("mallory"),
            "root",
            f"{IDS.type} {IDS.Administrator}",
        )
        with pytest.raises(ExchangeError, match="forged, or were lost here"):
            rdf.import_registry(empty, [file_of(event, tmp_path)], ROOT)


def test_lost_events_come_back_when_the_administrator_insists(here: Registry, tmp_path: Path) -> None:
    here.backup(tmp_path / "backup", ROOT)
    here.fixate(["names:draft"], ANN)
    later = exported(here, ROOT, tmp_path / "later.nq")
    idstore.opening.restore(tmp_path / "backup", tmp_path / "restored")
    with idstore.open(tmp_path / "restored") as restored:
        with pytest.raises(ExchangeError, match="lost here"):
            rdf.import_registry(restored, [later], ROOT)
        with pytest.raises(NotRegistered):
            restored.show("names:draft", MALLORY)
        report = rdf.import_registry(restored, [later], ROOT, own_history=True)
        assert [(effect.power, effect.count) for effect in report.effects] == [("publication", 1)]
        assert restored.show("names:draft", MALLORY).stage is Stage.FIXATED


def test_a_tombstone_is_named_among_what_is_published(here: Registry, tmp_path: Path) -> None:
    here.fixate(["names:draft"], ANN)
    here.revoke("names:draft", "abuse", ROOT)
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        found = {
            effect.power: [event.kind for event in effect.first]
            for effect in merge(copy, here, tmp_path).effects
        }
    assert found["publication"][-1] == IDS.Revocation


def test_an_import_names_what_it_changes_about_power(here: Registry, tmp_path: Path) -> None:
    here.grant("names:draft", MALLORY, ANN)
    here.release(here.register("names", "gone", ANN), ANN)
    here.allow("names", ["ben"], ROOT)
    here.ungrant("names:draft", MALLORY, ANN)
    here.comment("names:draft", f"no power: {IDS.grantee.value} {IDS.Fixated.value}", ANN)
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        report = merge(copy, here, tmp_path)
    found = {effect.power: [event.kind for event in effect.first] for effect in report.effects}
    assert found == {
        "parties": [IDS.Initialization],
        "permissions": [IDS.Grant, IDS.NamespaceAllowance, IDS.Ungrant],
        "ownership": [IDS.NamespaceAddition],
        "publication": [IDS.Fixation, IDS.Release],
    }


EDITS = {
    "a label": ('notation> "published"', 'notation> "another"'),
    "a stage": ("ontology#Fixated>", "ontology#Tombstone>"),
    "an owner": (f"<{IDS.owner.value}> {node('ann')}", f"<{IDS.owner.value}> {node('mallory')}"),
}


@pytest.mark.parametrize("party", [ROOT, NOBODY], ids=["complete", "public"])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_record_is_refused_by_every_registry(
    here: Registry, tmp_path: Path, edit: str, party: Party
) -> None:
    """Also where the file is partial or merged: the triples of the record have to follow from its events."""
    file = exported(here, party, tmp_path / "edited.nq")
    text, (before, after) = file.read_text(encoding="utf-8"), EDITS[edit]
    records = [line for line in text.splitlines() if "/12345/published>" in line.split(" ")[0]]
    assert any(before in line for line in records)
    edited = [line.replace(before, after) if line in records else line for line in text.splitlines()]
    file.write_text("\n".join(edited) + "\n", encoding="utf-8")
    assert not check_file(file).conforms
    with idstore.open(tmp_path / "there", administrator=ROOT) as there:
        if party == NOBODY:
            with pytest.raises(ExchangeError, match="does not follow from the events in it"):
                rdf.import_registry(there, [file], ROOT)
        there.add_namespace("own", "54321", "handle", ROOT)
        with pytest.raises(ExchangeError, match="does not follow from the events in it"):
            rdf.import_registry(there, [file], ROOT)
        with pytest.raises(NotRegistered):
            there.show("hdl:12345/published", ROOT)
    with pytest.raises(ExchangeError, match="does not follow from the events in it"):
        rdf.import_registry(here, [file], ROOT)
    sound(here)


def test_a_record_without_one_of_its_triples_is_refused_by_every_registry(
    here: Registry, tmp_path: Path
) -> None:
    """An import and `validate` of a complete export agree, whatever triple of the record is missing."""
    lines = exported(here, ROOT, tmp_path / "all.nq").read_text(encoding="utf-8").splitlines()
    records = [line for line in lines if "/12345/published>" in line.split(" ")[0]]
    assert len(records) > 5
    for number, missing in enumerate(records):
        file = tmp_path / f"{number}.nq"
        file.write_text("".join(f"{line}\n" for line in lines if line != missing), encoding="utf-8")
        assert not check_file(file).conforms
        for merged in (False, True):
            with idstore.open(tmp_path / f"there{number}{merged}", administrator=ROOT) as there:
                if merged:
                    there.add_namespace("own", "54321", "handle", ROOT)
                with pytest.raises(ExchangeError, match="follows from the events in it, and is missing"):
                    rdf.import_registry(there, [file], ROOT)
