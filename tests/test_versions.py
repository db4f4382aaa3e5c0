"""Works and versions, authority metadata, vetting and citation by PILIN's policies, and their visibility.

Sources: PILIN policies on Identifier Association, Version Control, Authority Metadata, Citation of Handles,
Filenames.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, Request
from idstore.errors import (
    AlreadyRegistered,
    IdstoreError,
    InvalidData,
    NotPermitted,
    NotRegistered,
    StageConflict,
)
from idstore.exchange import rdf
from idstore.registry.citation import file_name

ROOT, ALICE, BOB, CAROL = (Party(name) for name in ("root", "alice", "bob", "carol"))
SITE = "http://example.org/"


@pytest.fixture
def registry(fast_folder: Path) -> Iterator[Registry]:
    with idstore.open(fast_folder / "store", administrator=ROOT) as registry:
        registry.add_namespace(
            "pilin", "102.100.272", "pilin", ROOT, {"cite_as": "PILIN", "alias": "102.100.archer"}
        )
        yield registry
        assert not list(registry.verify(ROOT))


@pytest.fixture
def work(registry: Registry) -> str:
    iri = registry.mint("pilin", ALICE, Request(name="Citation of Handles Policy", target=f"{SITE}own")).iri
    registry.fixate([iri], ALICE)
    return iri


def add(registry: Registry, work: str, number: str, *, fixate: bool = True, by: Party = ALICE) -> str:
    iri = registry.add_version(work, number, by, Request(target=SITE + number)).iri
    if fixate:
        registry.fixate([iri], by)
    return iri


def led(registry: Registry, text: str, by: Party = BOB) -> str | None:
    return registry.resolve(text, by).target


def test_a_work_leads_to_its_newest_version_and_a_version_stays(registry: Registry, work: str) -> None:
    assert led(registry, work) == f"{SITE}own"
    made = {}
    for number in ("V0.1", "V0.9", "V0.10", "V1.0", "V1.1", "V2.0"):
        made[number] = add(registry, work, number)
        assert led(registry, work) == SITE + number
    assert {number: led(registry, iri) for number, iri in made.items()} == {
        number: SITE + number for number in made
    }
    assert [record.version for record in registry.versions(work, BOB)] == list(reversed(made))
    assert registry.resolve(work, BOB).path == (work, made["V2.0"])


def test_a_version_that_is_added_late_is_not_the_newest(registry: Registry, work: str) -> None:
    add(registry, work, "V1.0")
    add(registry, work, "V0.2")
    assert led(registry, work) == f"{SITE}V1.0"


def test_ended_and_outdated_versions_are_skipped(registry: Registry, work: str) -> None:
    first, second, third = (add(registry, work, number) for number in ("V1.0", "V1.1", "V2.0"))
    registry.revoke(third, "abuse", ROOT)
    assert led(registry, work) == f"{SITE}V1.1"
    registry.deprecate(second, "in error", ALICE)
    assert led(registry, work) == f"{SITE}V1.0"
    registry.deprecate(first, "in error as well", ALICE)
    assert led(registry, work) == f"{SITE}V1.1"


def test_a_tombstone_of_a_work_leads_to_its_reason(registry: Registry, work: str) -> None:
    add(registry, work, "V1.0")
    registry.revoke(work, "abuse", ROOT)
    assert registry.resolve(work, BOB).ended is not None


@pytest.mark.parametrize("number", ["", "1", "V1", "1.0.0", "V01.0", "v1.x", "V-1.0", "V1.0 ", "V1.٠"])
def test_version_numbers_outside_the_policy_are_refused(registry: Registry, work: str, number: str) -> None:
    with pytest.raises(InvalidData, match=r"V1\.0 for a first release"):
        registry.add_version(work, number, ALICE)


def test_the_letter_before_the_number_may_be_left_out(registry: Registry, work: str) -> None:
    assert registry.add_version(work, "1.0", ALICE).version == "V1.0"
    with pytest.raises(AlreadyRegistered, match=r"already has a version V1\.0"):
        registry.add_version(work, "v1.0", ALICE)


def test_a_version_has_no_versions_and_one_work(registry: Registry, work: str) -> None:
    version = add(registry, work, "V1.0")
    other = registry.mint("pilin", ALICE).iri
    registry.fixate([other], ALICE)
    for home, existing in ((version, None), (other, version), (work, work), (other, work)):
        with pytest.raises(InvalidData):
            registry.add_version(home, "V3.0", ALICE, existing=existing)
    assert [record.iri for record in registry.versions(work, ALICE)] == [version]


def test_an_existing_identifier_can_become_a_version(registry: Registry, work: str) -> None:
    mine, theirs = registry.mint("pilin", ALICE).iri, registry.mint("pilin", BOB).iri
    registry.fixate([theirs], BOB)
    assert registry.add_version(work, "V1.0", ALICE, existing=mine).version == "V1.0"
    assert registry.add_version(work, "V1.0", ALICE, existing=mine).iri == mine  # again: nothing changes
    with pytest.raises(NotPermitted, match="only its owner"):
        registry.add_version(work, "V1.1", ALICE, existing=theirs)


def test_the_same_request_gives_the_same_version(registry: Registry, work: str) -> None:
    first, again = (registry.add_version(work, "V1.0", ALICE, Request(request_key="k")) for _ in range(2))
    assert first == again
    with pytest.raises(InvalidData, match="permanently"):
        registry.add_version(work, "V1.1", ALICE, Request(request_key="k"))


def test_only_the_owner_of_a_published_work_adds_versions(registry: Registry, work: str) -> None:
    with pytest.raises(NotPermitted, match="only its owner"):
        registry.add_version(work, "V1.0", BOB)
    draft = registry.mint("pilin", ALICE).iri
    with pytest.raises(StageConflict, match="fixate it first"):
        registry.add_version(draft, "V1.0", ALICE)
    with pytest.raises(NotRegistered):
        registry.add_version(draft, "V1.0", BOB)
    assert len(registry.list(ROOT)) == 2  # nothing was minted meanwhile


def everything(registry: Registry, party: Party) -> str:
    target = io.BytesIO()
    rdf.export(registry, target, party, "nquads")
    return target.getvalue().decode()


def test_an_unpublished_version_is_not_revealed(registry: Registry, work: str) -> None:
    before = (
        everything(registry, BOB),
        registry.authority(work, BOB),
        registry.resolve(work, BOB),
        registry.citation(work, BOB),
    )
    hidden = add(registry, work, "V1.0", fixate=False)
    assert (
        everything(registry, BOB),
        registry.authority(work, BOB),
        registry.resolve(work, BOB),
        registry.citation(work, BOB),
    ) == before
    assert led(registry, work, ALICE) == f"{SITE}own"  # the owner gets the same answer
    assert [registry.versions(work, by) for by in (BOB, CAROL)] == [[], []]
    registry.grant(hidden, BOB, ALICE)
    assert [record.iri for record in registry.versions(work, BOB)] == [hidden]
    assert registry.versions(work, CAROL) == []


def test_a_hidden_version_s_number_can_be_taken(registry: Registry, work: str) -> None:
    """A refusal would reveal that it exists."""
    theirs = add(registry, work, "V1.0", fixate=False)
    registry.transfer(theirs, BOB, ALICE)
    registry.transfer(theirs, BOB, BOB)
    assert registry.versions(work, ALICE) == []
    mine = add(registry, work, "V1.0")
    registry.transfer(theirs, ALICE, BOB)
    registry.transfer(theirs, ALICE, ALICE)
    registry.fixate([theirs], ALICE)
    assert [record.iri for record in registry.versions(work, CAROL)] == [
        theirs,
        mine,
    ]  # the elder first


def test_a_former_owner_s_draft_does_not_take_over_the_work(registry: Registry, work: str) -> None:
    kept = add(registry, work, "V9.9", fixate=False)
    registry.transfer(work, BOB, ALICE)
    registry.transfer(work, BOB, BOB)
    mine = add(registry, work, "V1.0", by=BOB)
    with pytest.raises(
        NotPermitted,
        match=f"is a version of {work}, which belongs to bob and would lead to the version;"
        " transfer the version to bob",
    ):
        registry.fixate([kept], ALICE)
    assert led(registry, work) == led(registry, mine) == f"{SITE}V1.0"
    registry.transfer(kept, BOB, ALICE)
    registry.transfer(kept, BOB, BOB)
    registry.fixate([kept], BOB)
    assert led(registry, work) == f"{SITE}V9.9"


def test_a_hidden_identifier_becomes_no_version_and_is_not_revealed(registry: Registry, work: str) -> None:
    hidden = registry.mint("pilin", BOB).iri
    answers = []
    for text in (hidden, "https://hdl.handle.net/102.100.272/Y35XYS0QH"):
        with pytest.raises(NotRegistered) as caught:
            registry.add_version(work, "V1.0", ALICE, existing=text)
        answers.append(
            (caught.value.message.replace(text, "ID"), str(caught.value.fields).replace(text, "ID"))
        )
    assert answers[0] == answers[1]


def test_a_released_version_frees_its_number(registry: Registry, work: str) -> None:
    registry.release(add(registry, work, "V0.1", fixate=False), ALICE)
    assert registry.versions(work, ALICE) == []
    add(registry, work, "V0.1")


def test_versions_and_vettings_are_exported_and_imported(
    registry: Registry, work: str, tmp_path: Path
) -> None:
    version = add(registry, work, "V1.0")
    add(registry, work, "V1.1", fixate=False)
    registry.vet(version, CAROL, "compared with the paper")
    file = tmp_path / "all.nq"
    file.write_text(everything(registry, ROOT), encoding="utf-8")
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        rdf.import_registry(copy, [file], ROOT)
        for party in (ROOT, ALICE, BOB):
            assert copy.versions(work, party) == registry.versions(work, party)
            assert copy.authority(version, party) == registry.authority(version, party)
        assert led(copy, work) == f"{SITE}V1.0"
        assert not list(copy.verify(ROOT))


def test_authority_metadata(registry: Registry, work: str) -> None:
    begun = registry.authority(work, BOB)
    assert (begun.created_by, [one.manager for one in begun.managers], begun.vettings) == (
        "alice",
        ["alice"],
        (),
    )
    registry.vet(work, CAROL, "looked up")
    registry.comment(work, "internal", ALICE, internal=True)
    assert registry.authority(work, BOB).updated == begun.updated  # remarks change nothing
    registry.transfer(work, BOB, ALICE)
    registry.transfer(work, BOB, BOB)
    registry.vet(work, ALICE)
    found = registry.authority(work, CAROL)
    assert [one.manager for one in found.managers] == ["bob", "alice"]
    assert [(one.by, one.note, one.outdated) for one in found.vettings] == [
        ("alice", None, False),
        ("carol", "looked up", True),
    ]
    assert found.updated == found.managers[0].since and found.updated_by == "bob"


def test_authority_metadata_are_as_public_as_the_identifier(registry: Registry) -> None:
    draft = registry.mint("pilin", ALICE).iri
    assert registry.authority(draft, ALICE).created_by == "alice"
    for ask in (
        lambda: registry.authority(draft, BOB),
        lambda: registry.vet(draft, BOB),
        lambda: registry.versions(draft, BOB),
    ):
        with pytest.raises(NotRegistered):
            ask()
    registry.vet(draft, ALICE)
    registry.fixate([draft], ALICE)
    assert registry.authority(draft, BOB) == registry.authority(draft, ALICE)


def test_a_tombstone_is_not_vetted(registry: Registry, work: str) -> None:
    registry.revoke(work, "abuse", ROOT)
    with pytest.raises(StageConflict):
        registry.vet(work, BOB)
    assert registry.authority(work, BOB).managers[0].manager == "alice"


def test_a_suspended_party_vets_nothing(registry: Registry, work: str) -> None:
    registry.suspend(BOB, "abuse", ROOT)
    with pytest.raises(NotPermitted):
        registry.vet(work, BOB)


def test_citations_follow_the_policy(registry: Registry, work: str) -> None:
    version = add(registry, work, "V1.0")
    suffix = version.rpartition("/")[2]
    said = registry.citation(version, BOB)
    forms = {form.text for form in said.forms}
    assert {
        f"PILIN/{suffix}",
        f"hdl:102.100.272/{suffix}",
        f"http://resolver.net.au/hdl/102.100.272/{suffix}",
    } <= forms
    assert said.this_version == f"http://resolver.net.au/hdl/102.100.272/{suffix}"
    assert said.latest == f"http://resolver.net.au/hdl/102.100.272/{work.rpartition('/')[2]}"
    assert (registry.citation(work, BOB).latest, registry.citation(work, BOB).this_version) == (
        said.latest,
        said.this_version,
    )
    assert registry.citation(registry.mint("pilin", ALICE).iri, ALICE).latest is None


def test_files_are_named_after_their_content(registry: Registry, work: str) -> None:
    version = registry.add_version(work, "V1.1", ALICE, Request(name="Citation of Handles Policy")).iri
    registry.name(version, "Zitierweise", ALICE, "de")
    assert registry.file_name(version, ALICE) == "Citation_of_Handles_Policy-v1_1"
    assert registry.file_name(version, ALICE, "de") == "Zitierweise-v1_1"
    for text, lang in ((version, "fr"), (registry.mint("pilin", ALICE).iri, None)):
        with pytest.raises(InvalidData, match="ask its owner to name it"):
            registry.file_name(text, ALICE, lang)
    with pytest.raises(NotRegistered):
        registry.file_name(version, BOB)


@pytest.mark.parametrize(
    ("title", "version", "name"),
    [
        ("PILIN Filename Policy", "V1.0", "PILIN_Filename_Policy-v1_0"),
        ('a/b: c*d?"<e>', None, "a_b_c_d_e"),
        ("Form-of Labels", "3", "Form-of_Labels-3"),
        ("日本", None, ""),
        ("word " * 100, "V1.0", "_".join(["word"] * 40) + "-v1_0"),
        ("w" * 300, None, "w" * 200),
    ],
)
def test_file_names(title: str, version: str | None, name: str) -> None:
    assert file_name(title, version) == name


@pytest.mark.parametrize("scheme", ["pilin", "handle"])
def test_an_alias_of_a_prefix_gives_the_same_names(registry: Registry, scheme: str) -> None:
    registry.add_namespace("aliased", "102.100.821", scheme, ROOT, {"alias": "hdl:102.100.Hunter 20.500"})
    iri = registry.mint("aliased", ALICE).iri
    label = iri.rpartition("/")[2]
    for text in (
        f"102.100.hunter/{label}",
        f"hdl:20.500/{label}",
        f"https://hdl.handle.net/20.500/{label}",
        f"info:hdl/20.500/{label}",
    ):
        assert registry.identify(text, ALICE) == iri
        with pytest.raises(NotRegistered):
            registry.identify(text, BOB)
    if scheme == "handle":
        with pytest.raises(AlreadyRegistered, match="is taken in aliased"):
            registry.register("aliased", f"20.500/{label}", BOB)
    assert f"hdl:102.100.Hunter/{label}" in [form.text for form in registry.cite(iri, ALICE)]


@pytest.mark.parametrize(
    ("base", "alias"),
    [
        ("102.100.archer", ""),  # an alias of another namespace
        ("102.100.ARCHER", ""),
        ("20.500", "102.100.272"),  # the base of another namespace
        ("20.500", "102.100.Archer"),  # an alias of both
    ],
)
def test_a_prefix_stands_for_one_namespace(registry: Registry, base: str, alias: str) -> None:
    with pytest.raises(AlreadyRegistered, match="namespace pilin"):
        registry.add_namespace("other", base, "handle", ROOT, {"alias": alias})
    assert [one.name for one in registry.namespaces()] == ["pilin"]


@pytest.mark.parametrize("alias", ["102.100.272", "a//b", "20..1", "102.100.archer/x"])
def test_malformed_aliases_are_refused(alias: str) -> None:
    from idstore.schemes import scheme

    with pytest.raises(IdstoreError):
        scheme("pilin").context("102.100.272", {"alias": alias})


@pytest.mark.parametrize(
    ("name", "value"),
    [("proxy", "resolver.net.au"), ("proxy", "http://a b/"), ("cite_as", "PI/LIN"), ("cite_as", "1")],
)
def test_settings_of_citations_are_checked(name: str, value: str) -> None:
    from idstore.schemes import scheme

    with pytest.raises(InvalidData) as caught:
        scheme("pilin").context("102.100.272", {name: value})
    assert caught.value.fields["setting"] == name


def test_an_old_request_key_makes_no_version_of_another_party_s_identifier(
    registry: Registry, work: str
) -> None:
    request = Request(name="thing", request_key="K")
    thing = registry.mint("pilin", ALICE, request).iri
    registry.transfer(thing, BOB, ALICE)
    registry.transfer(thing, BOB, BOB)
    with pytest.raises(NotRegistered):  # she no longer sees it
        registry.add_version(work, "V1.0", ALICE, existing=thing)
    for fixated in (False, True):
        if fixated:
            registry.fixate([thing], BOB)
        with pytest.raises(IdstoreError):
            registry.add_version(work, "V1.0", ALICE, request)
        assert registry.show(thing, BOB).version is None


def test_the_same_request_gives_the_same_version_also_after_a_transfer(registry: Registry, work: str) -> None:
    request = Request(name="thing", request_key="K")
    made = registry.add_version(work, "V1.0", ALICE, request)
    registry.fixate([made.iri], ALICE)
    registry.transfer(made.iri, BOB, ALICE)
    registry.transfer(made.iri, BOB, BOB)
    assert registry.add_version(work, "V1.0", ALICE, request).iri == made.iri
